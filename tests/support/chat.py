"""A webhook's other side: a real HTTP server that keeps what arrives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

SECRET = "T0-canary-path"


@dataclass
class Chat:
    """A server that answers each message with one status."""

    port: int
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{SECRET}"


@contextmanager
def chat(status: int) -> Iterator[Chat]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Location", f"http://127.0.0.1:{found.port}/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            found.bodies.append(b"redirected")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    found = Chat(server.server_port)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
