"""What `source.url`, `source.where` and `source.query` may say. Decides; reads nothing.

Condition and query are judged by the SQL of the database that the URL names. Messages never repeat a URL, since a wrong one
may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote

from hudi_reconcile.config.fields import Finding, Raw
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.source.connection import SYSTEM, Transport, read_transport
from hudi_reconcile.core.source.jdbc import JdbcTls, is_jdbc, list_unchecked_settings, read_jdbc_tls
from hudi_reconcile.databases.registry import find_database, read_scheme


def source_sql_findings(raw: Raw) -> Iterator[Finding]:
    """Every text of SQL in the tables' sources that is not one condition, or one SELECT. No finding repeats such a text."""
    for index, table in enumerate(raw.sections("tables")):
        source = table.section("source")
        where, query = source.text("where"), source.text("query")
        if where is None and query is None:
            continue
        # It takes a fifth of a second to load, which most configs need not wait for.
        from hudi_reconcile.sql import user_sql  # noqa: PLC0415

        product = _product(raw.section("source").text("url") or "")
        if where is not None and (fault := user_sql.predicate_fault(where, product)):
            yield ("tables", index, "source", "where"), fault
        if query is not None and (fault := user_sql.query_fault(query, product)):
            yield ("tables", index, "source", "query"), fault


def _product(url: str) -> str:
    database = find_database(url)
    return database.sql if database else read_scheme(url)


_SHAPE = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://\S*|jdbc:[a-z0-9]+:\S+", re.IGNORECASE)
_ADDRESS = re.compile(r"[^:/]+://(?:[^/?]*@)?(?P<host>\[[^/?\]]*\]|[^:/?]*)[^?]*(?:\?(?P<query>.*))?", re.DOTALL)
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


def find_transport(url: str, *, insecure: bool) -> Transport | None:
    """How the server of a SQLAlchemy URL is verified; None for a `jdbc:` URL, and for what is no URL.

    Raises:
        UsageError: it would not be verified, and the config does not say `insecure`.
    """
    match = None if is_jdbc(url) else _ADDRESS.fullmatch(url)
    if match is None:
        return None
    given = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    return read_transport(match["host"] or "127.0.0.1", given, insecure=insecure, roots=SYSTEM)


def unverified_findings(url: str, options: Mapping[str, str], *, insecure: bool) -> Iterator[str]:
    """Why the server would be left unchecked although the config does not say `insecure`."""
    try:
        find_transport(url, insecure=insecure)
    except UsageError as error:
        yield f"{error.message.removeprefix('source.url: ')}; {error.fix}"
    if is_jdbc(url) and not insecure and read_jdbc_tls(url, options) is JdbcTls.UNCHECKED:
        names = ", ".join(list_unchecked_settings(url, options))
        yield f"leaves the server unchecked ({names}), which is not this machine; verify it, or source: {{insecure: true}}"


def transport_warning(url: str, options: Mapping[str, str], *, insecure: bool) -> str:
    """What every face of a run says of the way to the database; empty where it is verified, or does not leave this machine."""
    transport = find_transport(url, insecure=insecure)
    if transport is not None:
        return f"source.insecure is true: {transport.warning}" if transport.warning else ""
    said = read_jdbc_tls(url, options) if is_jdbc(url) else JdbcTls.LOCAL
    if said is JdbcTls.UNCHECKED:
        return f"source.insecure is true: {said}; nothing proves that what answers is the database"
    if said is JdbcTls.UNKNOWN:
        return f"source.url: {said}: nothing in it shows that the driver verifies the server"
    return ""
