"""PURE: what `source.url` may look like. Messages never repeat a URL, since a wrong one may hold a password."""

from __future__ import annotations

import re
from urllib.parse import unquote

_SHAPE = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://\S*|jdbc:[a-z0-9]+:\S+", re.IGNORECASE)
_PASSWORDS = (
    re.compile(r"://[^:/@]*:[^@]*@"),
    re.compile(r"^jdbc:(oracle|tibero):[^:]+:[^/@]*/[^@]*@", re.IGNORECASE),
    re.compile(r"[?&;,:/]\s*[a-z0-9_.-]*(password|passwd|pwd|secret|token)\s*=", re.IGNORECASE),
)


def check_url(url: str) -> str:
    """The URL itself.

    Raises:
        ValueError: neither a SQLAlchemy nor a jdbc: URL, or one with a password in it.
    """
    if any(pattern.search(text) for text in (url, unquote(url)) for pattern in _PASSWORDS):
        raise ValueError("holds a password; take it out and use `password: ${env:NAME}` or `password: ${file:PATH}`")
    if _SHAPE.fullmatch(url) is None:
        raise ValueError("not a database URL, such as postgresql+psycopg://user@host:5432/database or jdbc:<engine>:…")
    return url
