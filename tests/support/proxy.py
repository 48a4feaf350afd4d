"""A network that misbehaves: a port that leads to a server's, with delays, cut connections, swallowed answers."""

from __future__ import annotations

import math
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 65_536


@dataclass(slots=True)
class Network:
    """What it does to connections; may be changed while it runs. `opened` counts them.

    `delay_seconds`: least and greatest delay of every answer. `cuts`: so many connections are still to be reset, each
    after `cut_after_bytes` of answers. What a connection answers beyond `swallowed_after_bytes` is taken and never handed on.
    """

    port: int = 0
    delay_seconds: tuple[float, float] = (0.0, 0.0)
    cut_after_bytes: int = 0
    cuts: int = 0
    swallowed_after_bytes: float = math.inf
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


def _serve(network: Network, server: socket.socket, there: tuple[str, int]) -> None:
    with suppress(OSError):  # closed at the end of the test
        while True:
            client, _ = server.accept()
            network.opened += 1
            onward = socket.create_connection(there)
            threading.Thread(target=_ask, args=(client, onward), daemon=True).start()
            threading.Thread(target=_answer, args=(network, client, onward), daemon=True).start()


def _ask(client: socket.socket, onward: socket.socket) -> None:
    with suppress(OSError):
        while data := client.recv(_CHUNK):
            onward.sendall(data)
    _end(onward)


def _answer(network: Network, client: socket.socket, onward: socket.socket) -> None:
    answered = 0
    with suppress(OSError):
        while data := onward.recv(_CHUNK):
            if any(network.delay_seconds):
                time.sleep(random.uniform(*network.delay_seconds))  # noqa: S311 - nothing secret
            answered += len(data)
            if answered > network.swallowed_after_bytes:
                continue
            if network.cuts_now(answered):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no goodbye
                client.close()
                break
            client.sendall(data)
    _end(client)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
