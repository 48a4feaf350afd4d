"""Posts a message to a webhook. The address is a secret: no message of ours repeats it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

TIMEOUT_SECONDS = 10.0


class _NoRedirect(HTTPRedirectHandler):
    """What is sent is meant for the address of the config, and for no other."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Never."""


def post(url: str, payload: Mapping[str, str], *, timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """Send one JSON document; empty where the other side took it, else why not. Never raises, never names the address."""
    body = json.dumps(payload).encode()
    try:
        request = Request(url, body, {"Content-Type": "application/json"}, method="POST")  # noqa: S310 - http(s) by the config
        with build_opener(_NoRedirect).open(request, timeout=timeout_seconds):
            return ""
    except HTTPError as error:
        return f"the other side answered {error.code}"
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None)
        return f"no answer ({type(reason if isinstance(reason, Exception) else error).__name__})"
