"""PURE: a `jdbc:` URL as HoodieStreamer has it, as the `source` of a config: PostgreSQL and MySQL by their own engines here.

Other products keep their URL. Messages never repeat a URL: it may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode

from hudi_reconcile.core.errors import fold
from hudi_reconcile.core.source.jdbc import read_product

_URL = re.compile(
    r"jdbc:(?P<product>postgresql|mysql|mariadb)://"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?:,\[\]@]*)(?::(?P<port>[0-9]{1,5}))?/(?P<database>[^?/]*)(?:\?(?P<query>.*))?",
    re.IGNORECASE,
)
_ENGINES = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}
_POSTGRES_TLS = frozenset({"sslmode", "sslrootcert", "sslcert", "sslkey"})
_MYSQL_MODES: Mapping[str, str | None] = {
    "disable": "disable", "disabled": "disable", "preferred": None, "required": "require", "trust": "require",
    "verify_ca": "verify-ca", "verify-ca": "verify-ca", "verify_identity": "verify-full", "verify-full": "verify-full",
}  # fmt: skip
# What other programs set and this one settles itself, or never does: in lower case.
_UNUSED = {
    "postgresql": frozenset({
        "adaptivefetch", "assumeminserverversion", "binarytransfer", "cleanupsavepoints", "defaultrowfetchsize",
        "disablecolumnsanitiser", "loadbalancehosts", "logunclosedconnections", "preparedstatementcachequeries",
        "preparedstatementcachesizemib", "preparethreshold", "quotereturningidentifiers", "readonly", "readonlymode",
        "rewritebatchedinserts", "stringtype",
    }),
    "mysql": frozenset({
        "allowpublickeyretrieval", "autoreconnect", "cacheprepstmts", "characterencoding", "connectiontimezone",
        "defaultfetchsize", "elidesetautocommits", "maintaintimestats", "noaccesstoprocedurebodies", "nullcatalogmeanscurrent",
        "nullnamepatternmatchesall", "prepstmtcachesize", "prepstmtcachesqllimit", "rewritebatchedstatements", "servertimezone",
        "tinyint1isbit", "transformedbitisboolean", "usecursorfetch", "usejdbccomplianttimezoneshift", "uselegacydatetimecode",
        "uselocalsessionstate", "useserverprepstmts", "usetimezone", "useunicode", "yearisdatetype", "zerodatetimebehavior",
    }),
}  # fmt: skip
_EXAMPLES = {
    "postgresql": "jdbc:postgresql://host:5432/database",
    "mysql": "jdbc:mysql://host:3306/database",
    "mariadb": "jdbc:mariadb://host:3306/database",
}


@dataclass(frozen=True, slots=True)
class SourceUrl:
    """Where the source is. `user` and `password` are those that stood in the URL; `options` are for the JDBC reader."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_jdbc: bool = False


def is_unused(word: str, parameter: str) -> bool:
    """Whether a parameter of the URL changes nothing here: it is for writing, or settled by the tool."""
    return fold(parameter) in _UNUSED.get(word, ())


def source_url(text: str, user: str | None) -> SourceUrl:
    """What `source.url` is for a JDBC URL and its user.

    Raises:
        ValueError: no JDBC URL, or one of PostgreSQL or MySQL that does not name one host and one database.

    >>> source_url("jdbc:postgresql://db/shop?ssl=true", "reader").url
    'postgresql+psycopg://reader@db:5432/shop?sslmode=verify-full'
    """
    if not text.lower().startswith("jdbc:"):
        raise ValueError("not a JDBC URL, such as jdbc:postgresql://host:5432/database")
    product = read_product(text)
    if product not in _ENGINES:
        return SourceUrl(text, is_jdbc=True)
    match = _URL.fullmatch(text)
    if match is None or not match["database"]:
        raise ValueError(f"not a URL of one host and one database, such as {_EXAMPLES[product]}")
    given = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    login, password = given.pop("user", None), given.pop("password", None)
    tls = _postgres_tls(given) if product == "postgresql" else _mysql_tls(given)
    name = user or login or ""
    port = match["port"] or ("5432" if product == "postgresql" else "3306")
    query = f"?{urlencode(tls, safe='/')}" if tls else ""
    where = f"{match['host'] or '127.0.0.1'}:{port}/{quote(unquote(match['database']), safe='')}"
    url = f"{_ENGINES[product]}://{quote(name, safe='')}@{where}{query}"
    return SourceUrl(url, user=login, password=password, options=given)


def _postgres_tls(given: dict[str, str]) -> dict[str, str]:
    tls = {name: given.pop(name) for name in sorted(_POSTGRES_TLS & set(given))}
    ssl = given.pop("ssl", "false").lower()
    if ssl in ("", "true"):  # the driver's own meaning of it
        tls.setdefault("sslmode", "verify-full")
    return tls


def _mysql_tls(given: dict[str, str]) -> dict[str, str]:
    mode = given.pop("sslMode", given.pop("sslmode", None))
    wanted, required = given.pop("useSSL", None), given.pop("requireSSL", None)
    verified = given.pop("verifyServerCertificate", None)
    if mode is not None:
        if mode.lower() not in _MYSQL_MODES:
            raise ValueError(f"holds an sslMode that is not known (legal: {', '.join(_MYSQL_MODES)})")
        ssl_mode = _MYSQL_MODES[mode.lower()]
    else:
        ssl_mode = "disable" if wanted == "false" else "require" if "true" in (wanted, required) else None
        ssl_mode = "verify-ca" if (ssl_mode, verified) == ("require", "true") else ssl_mode
    tls = {} if ssl_mode is None else {"sslmode": ssl_mode}
    if (root := given.pop("serverSslCert", None)) is not None:
        tls["sslrootcert"] = root
    return tls
