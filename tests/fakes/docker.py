"""A container engine that speaks as much of Docker's API as testcontainers asks, and runs PostgreSQL's image by local binaries.

What it cannot run it only notes: image, environment and command are what a test looks at.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Start = Callable[[dict[str, Any], int], "subprocess.Popen[bytes] | None"]
_VERSION = {"ApiVersion": "1.45", "MinAPIVersion": "1.24", "Version": "fake"}


@dataclass(slots=True)
class FakeDocker:
    """What was asked of it: the body of each `create`. `start` runs a container at a port, or gives None."""

    start: Start
    port: int
    created: list[dict[str, Any]] = field(default_factory=list)
    removed: int = 0
    process: subprocess.Popen[bytes] | None = None

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Status and document of a request; text stands for itself."""
        plain = re.sub(r"^/v[0-9.]+", "", path.partition("?")[0])
        found = next(
            (answer for route, answer in self._routes(body).items() if re.fullmatch(route, f"{method} {plain}")), None
        )
        return (404, {"message": f"{method} {plain} is not known to this fake"}) if found is None else found()

    def _routes(self, body: bytes) -> dict[str, Callable[[], tuple[int, Any]]]:
        return {
            "GET /(version|info|_ping)": lambda: (200, _VERSION),
            "GET /images/.*/json": lambda: (200, {"Id": "i1", "RepoTags": [], "Config": {}}),
            "POST /containers/create": lambda: self._create(body),
            "POST /containers/c1/start": self._run,
            "POST /containers/c1/exec": lambda: (201, {"Id": "e1"}),
            "POST /exec/e1/start": lambda: (200, ""),
            "GET /exec/e1/json": lambda: (200, {"ExitCode": 0, "Running": False}),
            "GET /containers/c1/logs": lambda: (200, "mysqld: ready for connections.\n" * 2),
            "GET /containers/c1/json": self._inspect,
            "DELETE /containers/c1": self._remove,
        }

    def _create(self, body: bytes) -> tuple[int, Any]:
        self.created.append(json.loads(body))
        return 201, {"Id": "c1", "Warnings": []}

    def _run(self) -> tuple[int, Any]:
        self.process = self.start(self.created[-1], self.port)
        return 204, ""

    def _inspect(self) -> tuple[int, Any]:
        ports = {name: [{"HostIp": "", "HostPort": str(self.port)}] for name in self.created[-1]["ExposedPorts"]}
        network = {"Ports": ports, "Networks": {}}
        state = {"Status": "running", "Running": True}
        return 200, {"Id": "c1", "Name": "/c1", "Config": {"Tty": True}, "State": state, "NetworkSettings": network}

    def _remove(self) -> tuple[int, Any]:
        self.removed += 1
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)
        return 204, ""


@contextmanager
def fake_docker(start: Start, port: int) -> Iterator[tuple[FakeDocker, str]]:
    """The engine and its DOCKER_HOST, for the length of a block."""
    fake = FakeDocker(start, port)

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, found = fake.answer(self.command, self.path, body)
            content = found.encode() if isinstance(found, str) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(found, str) else "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = _handle  # noqa: N815 - the base class calls them so

        def log_message(self, *_: object) -> None:
            """Nothing: the test says what went wrong."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield fake, f"tcp://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
