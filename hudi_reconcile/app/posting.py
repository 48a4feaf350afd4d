"""Posts JSON to services of others. Addresses and keys are secrets: no message of ours repeats them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

TIMEOUT_SECONDS = 10.0
_TOO_MANY, _SERVER_ERROR = 429, 500


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Why a document was not taken. `may_pass`: the other side may take it later."""

    why: str
    may_pass: bool


class _NoRedirect(HTTPRedirectHandler):
    """What is sent is meant for the address of the config, and for no other."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Never."""


def post(
    url: str, document: str, headers: Mapping[str, str] | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
) -> NotTaken | None:
    """Send one JSON document, once; None where the other side took it. Never raises, never names the address."""
    try:
        sent = {**(headers or {}), "Content-Type": "application/json"}
        request = Request(url, document.encode(), sent, method="POST")  # noqa: S310 - http(s) by the config
        with build_opener(_NoRedirect).open(request, timeout=timeout_seconds):
            return None
    except HTTPError as error:
        may_pass = error.code == _TOO_MANY or error.code >= _SERVER_ERROR
        return NotTaken(f"the other side answered {error.code}", may_pass)
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None)
        name = type(reason if isinstance(reason, Exception) else error).__name__
        return NotTaken(f"no answer ({name})", may_pass=not isinstance(error, ValueError))
