"""What a JDBC driver tells, and what a `jdbc:` URL says: the product, the address without secrets, and its TLS. Pure.

Every driver has its own grammar (`;k=v`, `?k=v&…`, `/K=v,K=v`, `:k=v;`, `user/password@host`), so what is shown is what is
left when everything that looks like a setting or a login is cut away. TLS is told by the words of the vendors' manuals
(docs/jdbc.md names them); what is not among them is "not known" and never taken for verified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final

from hudi_reconcile.core.safe_text import HIDDEN_SETTINGS
from hudi_reconcile.core.source.connection import is_loopback

Cell = int | Decimal | str | None
_SIZED_CODES = frozenset({1, 12, -15, -9})
_DECIMAL_CODES = frozenset({2, 3})


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcLogin:
    """How the driver is called. Nothing of it is ever printed but its place."""

    url: str = field(repr=False)
    driver: str
    properties: Mapping[str, str] = field(repr=False)
    timeout_seconds: int = 0

    @property
    def place(self) -> str:
        """The URL without login and settings."""
        return strip_url(self.url)


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view as the driver lists it."""

    catalog: str | None
    schema: str | None
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Reported:
    """A column as the driver reports it: `code` is of java.sql.Types, `digits` are those after the point.

    `numbered`: the database hands out its numbers, by the driver's word.
    """

    name: str
    code: int
    type_name: str
    size: int | None = None
    digits: int | None = None
    nullable: bool = True
    numbered: bool = False

    @property
    def declared(self) -> str:
        """The type for people.

        >>> Reported("a", 3, "DECIMAL", 10, 2).declared, Reported("a", 12, "VARCHAR", 20).declared
        ('DECIMAL(10,2)', 'VARCHAR(20)')
        """
        if "(" in self.type_name or self.size is None:
            return self.type_name
        if self.code in _DECIMAL_CODES:
            return f"{self.type_name}({self.size},{self.digits or 0})"
        return f"{self.type_name}({self.size})" if self.code in _SIZED_CODES else self.type_name


@dataclass(frozen=True, slots=True)
class DriverIndex:
    """An index over whole columns; `is_partial` where it holds some rows only."""

    columns: tuple[str, ...]
    is_unique: bool
    is_partial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFacts:
    """What the driver says of the database. `folds` is what becomes of an unquoted name: upper, lower or none."""

    product: str
    version: str
    user: str
    folds: str
    catalog: str | None
    schema: str | None


PREFIX = "jdbc:"
_SETTINGS = re.compile(r"[?;].*$|[/:,&][A-Za-z_][\w. -]*=.*$", re.DOTALL)
_SECRET = re.compile(rf"((?:{HIDDEN_SETTINGS})[\w.-]*\s*=\s*)[^;&,\s]+", re.IGNORECASE)
_LEAST_SECRET_CHARS = 4  # shorter ones would blank out half of a message


def is_jdbc(url: str) -> bool:
    """Whether it is a `jdbc:` URL."""
    return url[: len(PREFIX)].lower() == PREFIX


def read_product(url: str) -> str:
    """The driver's own word after `jdbc:`, in lower case.

    >>> read_product("jdbc:H2:file:/data/shop")
    'h2'
    """
    return url[len(PREFIX) :].split(":", 1)[0].lower()


def strip_url(url: str) -> str:
    """The URL without login, query and properties: for messages, results and reports.

    >>> strip_url("jdbc:sap://reader:secret@hana:39015/?databaseName=SHOP&password=secret")
    'jdbc:sap://hana:39015'
    >>> strip_url("jdbc:tibero:thin:reader/secret@host:8629:tibero")
    'jdbc:tibero:host:8629:tibero'
    >>> strip_url("jdbc:teradata://host/USER=reader,PASSWORD=secret")
    'jdbc:teradata://host'
    """
    bare = _SETTINGS.sub("", url)
    product = f"{PREFIX}{read_product(bare)}:"
    rest = bare[len(product) :]
    if "@" in rest:
        slashes = "//" if rest.startswith("//") else ""
        rest = slashes + rest.rsplit("@", 1)[1].lstrip("/")
    return (product + rest).rstrip("/:")


def redact_secrets(text: str, url: str, password: str) -> str:
    """A driver's message with the URL shortened to its place and the password taken out."""
    shown = text.replace(url, strip_url(url))
    if len(password) >= _LEAST_SECRET_CHARS:
        shown = shown.replace(password, "***")
    return redact_settings(shown)


def redact_settings(text: str) -> str:
    """The text without the values of settings that are secrets by name.

    >>> redact_settings("fs.s3a.secret.key=abc, region=eu")
    'fs.s3a.secret.key=***, region=eu'
    >>> redact_settings("fs.s3a.access.key=abc; sslPassphrase = d")
    'fs.s3a.access.key=***; sslPassphrase = ***'
    """
    return _SECRET.sub(r"\1***", text)


class JdbcTls(StrEnum):
    """What is known of the way to a database whose driver we do not set up."""

    LOCAL = "this machine"
    VERIFIED = "TLS, certificate verified by the driver's own setting"
    UNCHECKED = "TLS off or not checked"
    UNKNOWN = "TLS not known (jdbc)"


_EMBEDDED: Final = frozenset({"h2", "derby", "duckdb", "sqlite"})
_REMOTE = re.compile(r"//|[a-z0-9]+://|tcp:|ssl:|md:|motherduck:", re.IGNORECASE)
_HOST = re.compile(
    r"(?:[a-z0-9]+:)?@?(?://)?(?P<host>\[[^\]]*\]|[^\[\]:/;,?&@\\]+)(?::[0-9]+)?(?P<more>.*)", re.IGNORECASE | re.DOTALL
)
_SETTING = re.compile(r"(?:^|[?&;,:/(\s])\s*(?P<name>[a-z_][\w.]*)\s*=\s*(?P<value>[^?&;,:/()\s]*)", re.IGNORECASE)
_YES: Final = frozenset({"true", "yes", "on"})
_NO: Final = frozenset({"false", "no", "off", "optional"})
# All of a product's settings must be there, each with one of these values.
_VERIFIED: Mapping[str, Mapping[str, frozenset[str]]] = {
    "sap": {"encrypt": _YES, "validatecertificate": _YES},
    "sqlserver": {"encrypt": _YES | {"strict", "mandatory"}, "trustservercertificate": _NO},
    "db2": {"sslconnection": _YES, "sslclienthostnamevalidation": frozenset({"basic"})},
    "teradata": {"sslmode": frozenset({"verify-full"})},
}
_UNCHECKED: Mapping[str, frozenset[str]] = {
    "encrypt": _NO,
    "oracle.net.ssl_server_dn_match": _NO,
    "ssl": _NO,
    "ssl_server_dn_match": _NO,
    "sslconnection": _NO,
    "sslclienthostnamevalidation": _NO,
    "sslmode": frozenset({"disable", "allow", "prefer", "require"}),
    "trustservercertificate": _YES,
    "usessl": _NO,
    "validatecertificate": _NO,
}


def read_jdbc_tls(url: str, options: Mapping[str, str]) -> JdbcTls:
    """What the URL and the driver's options together say. A setting that is there twice must say the same both times.

    >>> read_jdbc_tls("jdbc:sap://hana:39015/?encrypt=true&validateCertificate=true", {})
    <JdbcTls.VERIFIED: "TLS, certificate verified by the driver's own setting">
    >>> read_jdbc_tls("jdbc:sap://hana:39015/?encrypt=true", {}), read_jdbc_tls("jdbc:h2:/data/shop", {})
    (<JdbcTls.UNKNOWN: 'TLS not known (jdbc)'>, <JdbcTls.LOCAL: 'this machine'>)
    """
    product = read_product(url)
    rest = url[len(PREFIX) + len(product) + 1 :]
    if _is_local(product, rest):
        return JdbcTls.LOCAL
    said = _settings(rest, options)
    if any(values & _UNCHECKED.get(name, frozenset()) for name, values in said.items()):
        return JdbcTls.UNCHECKED
    needed = _VERIFIED.get(product)
    if needed and all(said.get(name) and said[name] <= legal for name, legal in needed.items()):
        return JdbcTls.VERIFIED
    return JdbcTls.UNKNOWN


def list_unchecked_settings(url: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """The settings by which the server is left unchecked, by their names in lower case."""
    said = _settings(url, options)
    return tuple(sorted(name for name, values in said.items() if values & _UNCHECKED.get(name, frozenset())))


def _settings(text: str, options: Mapping[str, str]) -> dict[str, set[str]]:
    settings: dict[str, set[str]] = {}
    pairs = [(match["name"], match["value"]) for match in _SETTING.finditer(text)]
    for name, value in (*pairs, *options.items()):
        settings.setdefault(name.lower(), set()).add(value.strip().lower())
    return settings


def _is_local(product: str, rest: str) -> bool:
    if product in _EMBEDDED and _REMOTE.match(rest) is None:
        return True
    match = _HOST.match(rest)
    if match is None or not is_loopback(match["host"]):
        return False
    # Where more hosts follow (`//localhost:1;far:2/`, `//localhost,far/`), any of them may answer.
    authority = re.split(r"[/?]", match["more"], maxsplit=1)[0]
    return all("=" in part for part in re.split(r"[;,&]", authority)[1:])
