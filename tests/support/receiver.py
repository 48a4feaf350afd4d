"""An HTTP server that takes what is posted to it, and answers as it is told."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

SECRET = "T0-canary-path"


@dataclass(slots=True)
class Receiver:
    """What came: the paths, the headers and the bodies, in order."""

    port: int
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        """An address that must not be printed."""
        return f"http://127.0.0.1:{self.port}/{SECRET}"


@contextmanager
def receiver(*statuses: int) -> Iterator[Receiver]:
    """One that answers with these statuses in turn, and with the last one from then on."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status = statuses[min(len(found.bodies), len(statuses) - 1)]
            found.paths.append(self.path)
            found.headers.append({name.lower(): value for name, value in self.headers.items()})
            found.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Location", f"http://127.0.0.1:{found.port}/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            found.bodies.append(b"redirected")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    found = Receiver(server.server_port)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def dripping(start: bytes, drip: bytes, *, every_seconds: float = 0.05) -> Iterator[int]:
    """The port of a service that answers with `start` and then sends `drip` again and again, and never ends."""
    over = Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):  # the listener is closed, or the other side went away
            line, _ = listener.accept()
            with line:
                line.sendall(start)
                while not over.wait(every_seconds):
                    line.sendall(drip)

    thread = Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
