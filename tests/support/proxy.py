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
    ended: threading.Event = field(default_factory=threading.Event)

    def cuts_now(self, answered: int) -> bool:
        """Whether this connection is reset here; counts it."""
        with self.lock:
            if not self.cuts or answered < self.cut_after_bytes:
                return False
            self.cuts -= 1
            return True


@contextmanager
def network(host: str, port: int) -> Iterator[Network]:
    """A network that leads to one server, sound until told otherwise; at the end nothing of it is open."""
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Network(port=server.getsockname()[1])
        threads.append(threading.Thread(target=_serve, args=(found, server, (host, port), threads), daemon=True))
        threads[0].start()
        try:
            yield found
        finally:
            found.ended.set()
            _end(server)
    for thread in threads:
        thread.join(10)


def _serve(network: Network, server: socket.socket, there: tuple[str, int], threads: list[threading.Thread]) -> None:
    with suppress(OSError):  # shut down at the end of the test
        while True:
            client, _ = server.accept()
            network.opened += 1
            threads.append(threading.Thread(target=_link, args=(network, client, there), daemon=True))
            threads[-1].start()


def _link(network: Network, client: socket.socket, there: tuple[str, int]) -> None:
    """One connection, until one of its ends or the network goes."""
    with client, socket.create_connection(there) as onward:
        asks = threading.Thread(target=_ask, args=(client, onward), daemon=True)
        reset = threading.Event()
        answers = threading.Thread(target=_answer, args=(network, client, onward, reset), daemon=True)
        asks.start()
        answers.start()
        while asks.is_alive() and answers.is_alive() and not network.ended.is_set():
            answers.join(0.05)
        if reset.is_set():
            # A reset, no goodbye: so ends what is closed with a lingering time of zero, once nobody reads it any more.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            _end(client, socket.SHUT_RD)
        else:
            _end(client)
        _end(onward)
        asks.join(10)
        answers.join(10)


def _ask(client: socket.socket, onward: socket.socket) -> None:
    with suppress(OSError):
        while data := client.recv(_CHUNK):
            onward.sendall(data)


def _answer(network: Network, client: socket.socket, onward: socket.socket, reset: threading.Event) -> None:
    answered = 0
    with suppress(OSError):
        while data := onward.recv(_CHUNK):
            if any(network.delay_seconds):
                time.sleep(random.uniform(*network.delay_seconds))  # noqa: S311 - nothing secret
            answered += len(data)
            if answered > network.swallowed_after_bytes:
                continue
            if network.cuts_now(answered):
                reset.set()
                return
            client.sendall(data)


def _end(one: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    with suppress(OSError):
        one.shutdown(how)
