"""Posts JSON to services of others. Addresses and keys are secrets: no message of ours repeats them.

A socket's timeout holds for one read, so a service that drips a byte a second could hold a run for ever. A post has a
deadline for all of it: name look-up, connection, TLS, request and answer.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Lock, Thread
from urllib.error import HTTPError, URLError
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

TIMEOUT_SECONDS = 10.0
_TOO_MANY, _SERVER_ERROR = 429, 500


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Why a document was not taken. `may_pass`: the other side may take it later."""

    why: str
    may_pass: bool


def post(
    url: str, document: str, headers: Mapping[str, str] | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
) -> NotTaken | None:
    """Send one JSON document, once; None where the other side took it in time. Never raises, never names the address.

    An answer is its status and headers; a body is not read.
    """
    call = _Call(timeout_seconds)
    request = partial(Request, url, document.encode(), {**(headers or {}), "Content-Type": "application/json"})
    # Daemon: neither a name look-up, which nothing can interrupt, nor a service keeps the process from ending.
    thread = Thread(target=call.make, args=(request,), name="post", daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    return call.end()


# --- helpers ---


class _NoRedirect(HTTPRedirectHandler):
    """What is sent is meant for the address of the config, and for no other."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Never."""


@dataclass(slots=True)
class _Call:
    """One post in a thread of its own. `end` says what came of it by then, and breaks off what is still under way."""

    timeout_seconds: float
    _connections: list[HTTPConnection] = field(default_factory=list)
    _found: NotTaken | None = None
    _is_over: bool = False
    _lock: Lock = field(default_factory=Lock)

    def make(self, request: partial[Request]) -> None:
        found = self._sent(request)
        with self._lock:
            if not self._is_over:
                self._is_over, self._found = True, found

    def end(self) -> NotTaken | None:
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._found = NotTaken(f"no answer within {self.timeout_seconds:g} s", may_pass=True)
        for connection in self._connections:
            if (line := connection.sock) is not None:
                with suppress(OSError):  # closed by now
                    line.shutdown(socket.SHUT_RDWR)
        return self._found

    def _sent(self, request: partial[Request]) -> NotTaken | None:
        try:
            opener = build_opener(_NoRedirect, _Plain(self._connections), _Secure(self._connections))
            with opener.open(request(method="POST"), timeout=self.timeout_seconds):
                return None
        except HTTPError as error:
            error.close()
            may_pass = error.code == _TOO_MANY or error.code >= _SERVER_ERROR
            return NotTaken(f"the other side answered {error.code}", may_pass)
        except (URLError, HTTPException, OSError, ValueError) as error:
            reason = getattr(error, "reason", None)
            name = type(reason if isinstance(reason, Exception) else error).__name__
            return NotTaken(f"no answer ({name})", may_pass=not isinstance(error, ValueError))


class _Plain(HTTPHandler):
    """Keeps the connection that it opens, so that somebody else can break it off."""

    def __init__(self, opened: list[HTTPConnection]) -> None:
        super().__init__()
        self._opened = opened

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_kept, self._opened, HTTPConnection), req)


class _Secure(HTTPSHandler):
    """As `_Plain`, with TLS that verifies certificate and name: the default of Python's."""

    def __init__(self, opened: list[HTTPConnection]) -> None:
        super().__init__()
        self._opened = opened

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_kept, self._opened, HTTPSConnection), req)


def _kept(opened: list[HTTPConnection], kind: type[HTTPConnection], host: str, **settings: float) -> HTTPConnection:
    opened.append(kind(host, **settings))  # type: ignore[arg-type]
    return opened[-1]
