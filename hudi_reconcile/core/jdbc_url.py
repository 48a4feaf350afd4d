"""What a `jdbc:` URL says: which product it names, and where it leads without anything that may be a secret. Pure.

Every driver has its own grammar (`;k=v`, `?k=v&…`, `/K=v,K=v`, `:k=v;`, `user/password@host`), so what is shown is what is
left when everything that looks like a setting or a login is cut away.
"""

from __future__ import annotations

import re

PREFIX = "jdbc:"
_SETTINGS = re.compile(r"[?;].*$|[/:,&][A-Za-z_][\w. -]*=.*$", re.DOTALL)
_SECRET = re.compile(r"((?:password|passwd|pwd|secret|token)\w*\s*=\s*)[^;&,\s]+", re.IGNORECASE)
_LEAST_SECRET_CHARS = 4  # shorter ones would blank out half of a message


def is_jdbc(url: str) -> bool:
    """Whether it is a `jdbc:` URL."""
    return url[: len(PREFIX)].lower() == PREFIX


def product_of(url: str) -> str:
    """The driver's own word after `jdbc:`, in lower case.

    >>> product_of("jdbc:H2:file:/data/shop")
    'h2'
    """
    return url[len(PREFIX) :].split(":", 1)[0].lower()


def place_of(url: str) -> str:
    """The URL without login, query and properties: for messages, results and reports.

    >>> place_of("jdbc:sap://reader:secret@hana:39015/?databaseName=SHOP&password=secret")
    'jdbc:sap://hana:39015'
    >>> place_of("jdbc:tibero:thin:reader/secret@host:8629:tibero")
    'jdbc:tibero:host:8629:tibero'
    >>> place_of("jdbc:teradata://host/USER=reader,PASSWORD=secret")
    'jdbc:teradata://host'
    """
    bare = _SETTINGS.sub("", url)
    product = f"{PREFIX}{product_of(bare)}:"
    rest = bare[len(product) :]
    if "@" in rest:
        slashes = "//" if rest.startswith("//") else ""
        rest = slashes + rest.rsplit("@", 1)[1].lstrip("/")
    return (product + rest).rstrip("/:")


def without_secrets(text: str, url: str, password: str) -> str:
    """A driver's message with the URL shortened to its place and the password taken out."""
    shown = text.replace(url, place_of(url))
    if len(password) >= _LEAST_SECRET_CHARS:
        shown = shown.replace(password, "***")
    return _SECRET.sub(r"\1***", shown)
