"""A PostgreSQL primary and a replica of it, whose log goes through a wire of ours that can be held."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from hudi_reconcile.demo import postgres as demo
from hudi_reconcile.demo.postgres import PostgresServer, run_postgres, wheel_bin_dir
from tests.support.postgres import installed_bin_dir

_INSTALLED = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class Wire:
    """Carries bytes from a port of its own to another, both ways, while it is not held."""

    port: int
    _open: threading.Event = field(default_factory=threading.Event)

    def hold(self) -> None:
        """Carry nothing until `release`; the connections stay."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def carry(self, come: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := come.recv(65_536):
                self._open.wait()
                to.sendall(data)


@contextmanager
def run_wire(to_port: int) -> Iterator[Wire]:
    with ExitStack() as open_ends, socket.create_server(("127.0.0.1", 0)) as listener:
        wire = Wire(listener.getsockname()[1])
        wire.release()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    near = open_ends.enter_context(listener.accept()[0])
                    far = open_ends.enter_context(socket.create_connection(("127.0.0.1", to_port)))
                    for pair in ((near, far), (far, near)):
                        threading.Thread(target=wire.carry, args=pair, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield wire
        finally:
            wire.release()
            listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def replicated_postgres() -> Iterator[tuple[PostgresServer, PostgresServer, Wire]]:
    """A primary, a replica that streams from it, and the wire between them."""
    binaries = installed_bin_dir(_INSTALLED) or wheel_bin_dir()
    home = Path(tempfile.mkdtemp(prefix="hr-replica-"))
    try:
        with run_postgres(bin_dir=binaries) as primary, run_wire(primary.port) as wire:
            owner = demo._Owner.pick()
            owner.own(home)
            server = demo._Server(home=home, binaries=owner.reachable(binaries, home), owner=owner)
            login = f"host=127.0.0.1 port={wire.port} user={primary.user} password={primary.password}"
            command = [
                str(server.binaries / "pg_basebackup"),
                "-D",
                str(home / "data"),
                "-R",
                "-X",
                "stream",
                "-d",
                login,
            ]
            if owner.run(command, cwd=home, env={"PATH": os.environ["PATH"], "HOME": str(home)}).wait() != 0:
                raise AssertionError("pg_basebackup failed")
            process, port = server.start(primary.password)
            try:
                yield primary, PostgresServer(
                    host="127.0.0.1", port=port, user=primary.user, password=primary.password,
                    database=primary.database, version=primary.version,
                ), wire  # fmt: skip
            finally:
                stop(process)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=20)
    process.kill()
    process.wait()
