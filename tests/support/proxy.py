"""A network that misbehaves: a port that leads to a server's, with delays, cut connections, swallowed answers.

Everything is bytes; `first` may rewrite what a client sends first, as a pooler between does.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 65_536
_PROTOCOL_3 = 196_608


@dataclass(slots=True)
class Network:
    """What it does to connections; may be changed while it runs. `opened` counts them.

    `delay_seconds`: least and greatest delay of every answer. `cuts`: so many connections are still to be reset, each
    after `cut_after_bytes` of answers. `swallows`: answers are taken and never handed on.
    """

    port: int = 0
    delay_seconds: tuple[float, float] = (0.0, 0.0)
    cut_after_bytes: int = 0
    cuts: int = 0
    swallows: bool = False
    first: Callable[[bytes], bytes] = bytes
    opened: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def cuts_now(self, answered: int) -> bool:
        """Whether this connection is reset here; counts it."""
        with self.lock:
            if not self.cuts or answered < self.cut_after_bytes:
                return False
            self.cuts -= 1
            return True


@contextmanager
def network(host: str, port: int) -> Iterator[Network]:
    """A network that leads to one server, sound until told otherwise."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Network(port=server.getsockname()[1])
        threading.Thread(target=_serve, args=(found, server, (host, port)), daemon=True).start()
        yield found
        found.swallows = False


def _serve(network: Network, server: socket.socket, there: tuple[str, int]) -> None:
    with suppress(OSError):  # closed at the end of the test
        while True:
            client, _ = server.accept()
            network.opened += 1
            onward = socket.create_connection(there)
            for work in (_ask, _answer):
                threading.Thread(target=work, args=(network, client, onward), daemon=True).start()


def _ask(network: Network, client: socket.socket, onward: socket.socket) -> None:
    with suppress(OSError):
        while data := client.recv(_CHUNK):
            onward.sendall(network.first(data))
    _end(onward)


def _answer(network: Network, client: socket.socket, onward: socket.socket) -> None:
    answered = 0
    with suppress(OSError):
        while data := onward.recv(_CHUNK):
            if any(network.delay_seconds):
                time.sleep(random.uniform(*network.delay_seconds))  # noqa: S311 - nothing secret
            if network.swallows:
                continue
            answered += len(data)
            if network.cuts_now(answered):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no goodbye
                client.close()
                break
            client.sendall(data)
    _end(client)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


def without_options(data: bytes) -> bytes:
    """PostgreSQL's first message without `options`, as a pooler hands it on that is told to ignore them."""
    if len(data) < 8 or struct.unpack("!i", data[4:8]) != (_PROTOCOL_3,):
        return data
    words = data[8:].rstrip(b"\0").split(b"\0")
    pairs = zip(words[::2], words[1::2], strict=True)
    kept = b"".join(name + b"\0" + value + b"\0" for name, value in pairs if name != b"options") + b"\0"
    return struct.pack("!ii", len(kept) + 8, _PROTOCOL_3) + kept
