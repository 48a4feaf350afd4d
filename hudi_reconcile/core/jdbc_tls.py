"""What a `jdbc:` URL says of TLS: a database in this machine's files, a server that is verified, one that is not, or not known.

Every driver has its own words; those of the vendors' manuals are here (docs/jdbc.md names them), and what is not here is "not
known" and never taken for verified. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from hudi_reconcile.core.jdbc_url import PREFIX, product_of
from hudi_reconcile.core.transport import is_loopback


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


def jdbc_tls(url: str, options: Mapping[str, str]) -> JdbcTls:
    """What the URL and the driver's options together say. A setting that is there twice must say the same both times.

    >>> jdbc_tls("jdbc:sap://hana:39015/?encrypt=true&validateCertificate=true", {})
    <JdbcTls.VERIFIED: "TLS, certificate verified by the driver's own setting">
    >>> jdbc_tls("jdbc:sap://hana:39015/?encrypt=true", {}), jdbc_tls("jdbc:h2:/data/shop", {})
    (<JdbcTls.UNKNOWN: 'TLS not known (jdbc)'>, <JdbcTls.LOCAL: 'this machine'>)
    """
    product = product_of(url)
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


def unchecked_settings(url: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """The settings by which the server is left unchecked, by their names in lower case."""
    said = _settings(url, options)
    return tuple(sorted(name for name, values in said.items() if values & _UNCHECKED.get(name, frozenset())))


def _settings(text: str, options: Mapping[str, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    pairs = [(one["name"], one["value"]) for one in _SETTING.finditer(text)]
    for name, value in (*pairs, *options.items()):
        found.setdefault(name.lower(), set()).add(value.strip().lower())
    return found


def _is_local(product: str, rest: str) -> bool:
    if product in _EMBEDDED and _REMOTE.match(rest) is None:
        return True
    found = _HOST.match(rest)
    if found is None or not is_loopback(found["host"]):
        return False
    # Where more hosts follow (`//localhost:1;far:2/`, `//localhost,far/`), any of them may answer.
    authority = re.split(r"[/?]", found["more"], maxsplit=1)[0]
    return all("=" in part for part in re.split(r"[;,&]", authority)[1:])
