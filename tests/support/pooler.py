"""A stand-in for a connection pooler before PostgreSQL: it turns sessions with settings away, or drops the settings.

Both is what pgbouncer does, by its `ignore_startup_parameters`.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

_ENCRYPTION = {80877103, 80877104}
_CHUNK = 65536


@contextmanager
def pooler(host: str, port: int, does: Literal["refuses", "drops"]) -> Iterator[int]:
    """The port at which it listens, for the length of a block."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    threading.Thread(target=_serve, args=(client, (host, port), does), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


def _serve(client: socket.socket, address: tuple[str, int], does: str) -> None:
    with client, suppress(OSError):
        body = _startup(client)
        while len(body) == 4 and struct.unpack("!I", body)[0] in _ENCRYPTION:
            client.sendall(b"N")
            body = _startup(client)
        words = body[4:].split(b"\0")
        pairs = [pair for pair in zip(words[::2], words[1::2], strict=False) if pair[0]]
        if does == "refuses" and any(name == b"options" for name, _ in pairs):
            fields = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
            client.sendall(b"E" + struct.pack("!I", len(fields) + 4) + fields)
            return
        kept = b"".join(name + b"\0" + value + b"\0" for name, value in pairs if name != b"options") + b"\0"
        with socket.create_connection(address) as server:
            server.sendall(struct.pack("!I", len(kept) + 8) + body[:4] + kept)
            back = threading.Thread(target=_pipe, args=(server, client), daemon=True)
            back.start()
            _pipe(client, server)
            back.join()


def _startup(client: socket.socket) -> bytes:
    (length,) = struct.unpack("!I", _exactly(client, 4))
    return _exactly(client, length - 4)


def _exactly(client: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = client.recv(count - len(found))
        if not more:
            raise OSError("closed")
        found += more
    return found


def _pipe(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(_CHUNK):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)
