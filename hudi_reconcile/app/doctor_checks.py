"""PURE: what facts mean for `doctor`: ok, warn or fail, in one line, with the fix. Asks nobody anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.kinds import CALENDAR_KINDS, INCREMENTING_KINDS, WATERMARK_KINDS, Column, Kind
from hudi_reconcile.source.facts import ServerFacts, TableFacts
from hudi_reconcile.source.request import TableRequest
from hudi_reconcile.sql.dialects.postgres import quote

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One precondition. `fix` is empty where nothing is to be done."""

    name: str
    status: Status
    detail: str
    fix: str = ""


def failed(name: str, error: ReconcileError) -> Check:
    """A precondition that ended in a named error."""
    return Check(name, "fail", "; ".join(error.message.splitlines()), error.fix)


def server_checks(server: ServerFacts) -> Iterator[Check]:
    """Server, role and what the role lets us know."""
    place, role = server.place, server.role
    tls = {True: ", TLS", False: ", no TLS", None: ""}[server.has_tls]
    exposed = server.has_tls is False and not server.is_local
    yield Check(
        "source",
        "warn" if exposed else "ok",
        f"{server.product} {server.version} at {place}, user {role}{tls}",
        "add ?sslmode=verify-full to source.url" if exposed else "",
    )
    if server.sees_all:
        yield Check("safe bound", "ok", f"{role} sees all open transactions")
    else:
        yield Check(
            "safe bound",
            "warn",
            f"{role} cannot see other sessions' open transactions: a pull trusts the clock minus "
            f"{server.blind_seconds:g} s instead",
            f"as administrator: {server.grant_to_see}"
            if server.grant_to_see
            else "set pull.overlap above the longest transaction",
        )
    if server.is_superuser:
        yield Check("role", "warn", f"{role} is a superuser; reading is enough", "use a role with SELECT only")
    if server.is_replica:
        yield Check(
            "replica",
            "warn",
            "the server is a replica: the primary's open transactions cannot be seen, and replay can lag"
            + (f"; {server.replica_says}" if server.replica_says else ""),
            "read from the primary, or set pull.overlap above the longest transaction plus the lag",
        )


def table_checks(name: str, facts: TableFacts, request: TableRequest) -> Iterator[Check]:
    """One source table: readable, key, watermark, columns that cannot be compared."""
    table = facts.table
    if not facts.can_read:
        yield Check(
            f"{name}: source", "fail", f"SELECT on {table.name} is not granted", f"GRANT SELECT ON {table.name}"
        )
        return
    yield Check(
        f"{name}: source", "ok", f"{table.name}, {len(table.columns)} columns, about {table.rows_estimate:,} rows"
    )
    if facts.can_write:
        yield Check(
            f"{name}: role", "warn", f"the role can write {table.name}; reading is enough", "use a SELECT-only role"
        )
    yield _key_check(name, facts)
    yield from _watermark_checks(name, facts, request)
    unread = [column for column in table.columns if column.kind is Kind.OTHER and column.name not in request.exclude]
    if unread:
        names = ", ".join(column.name for column in unread)
        every = ", ".join((*request.exclude, *(column.name for column in unread)))
        why = "; ".join(f"{column.name}: {column.why}" for column in unread)
        fix = f"compare: {{exclude: [{every}]}}"
        yield Check(f"{name}: columns", "warn", f"{names} cannot be compared, a sweep will exit 3 ({why})", fix)


def jar_check(missing: Sequence[str], present: int) -> Check:
    """The jars, whose bytes have been checked where they are here."""
    if missing:
        detail = f"{', '.join(missing)} will be fetched at the first start"
        return Check("jars", "warn", detail, "fetch now: hudi-reconcile jars fetch")
    return Check("jars", "ok", f"{present} here, sha256 as locked")


def _key_check(name: str, facts: TableFacts) -> Check:
    key = ", ".join(facts.table.key)
    if facts.key_proven:
        return Check(f"{name}: key", "ok", f"{key}, unique and NOT NULL by an index")
    quoted = ", ".join(quote(one) for one in facts.table.key)
    detail = f"{key}: no index proves it unique and NOT NULL, so every pull and sweep reads all keys to check"
    return Check(f"{name}: key", "warn", detail, f"create a unique index on ({quoted}) over NOT NULL columns")


def _watermark_checks(name: str, facts: TableFacts, request: TableRequest) -> Iterator[Check]:
    if request.by_version:
        detail = "xmin, the database's own number of a row's version: exact; every pull scans the whole table"
        yield Check(f"{name}: watermark", "ok", detail)
    elif not request.moving and request.query is not None:
        fix = "for pulls by watermark: source.table instead of source.query"
        yield Check(f"{name}: watermark", "warn", "a query: every pull reads all of its rows", fix)
    elif not request.moving:
        yield Check(f"{name}: watermark", "warn", "none: every pull reads the whole table", "name one: pull.watermark")
    texts = {Kind.TEXT} if request.is_text_watermark else set()
    for column in (facts.table.column(one) for one in request.watermark):
        if column.kind in WATERMARK_KINDS | texts:
            yield _moving_check(f"{name}: watermark", column, facts)
            continue
        detail = f"{column.name} is {column.declared}; date, timestamp, timestamptz, integer and decimal are read"
        yield Check(f"{name}: watermark", "fail", detail, "choose another pull.watermark, or strategy: full")
    if request.incrementing is not None:
        yield _incrementing_check(f"{name}: incrementing", facts.table.column(request.incrementing), facts)


def _incrementing_check(label: str, column: Column, facts: TableFacts) -> Check:
    if column.kind not in INCREMENTING_KINDS:
        detail = f"{column.name} is {column.declared}; an integer or a decimal with declared digits is read"
        return Check(label, "fail", detail, "choose another pull.incrementing, or strategy: timestamp")
    cache = facts.id_cache.get(column.name)
    if cache is None:
        return _moving_check(label, column, facts)
    detail = f"{column.name} comes from a sequence with CACHE {cache}: sessions commit ids below those already pulled"
    return Check(label, "warn", detail, "needs sweep: run sweeps after pulls, or ALTER SEQUENCE … CACHE 1")


def _moving_check(label: str, column: Column, facts: TableFacts) -> Check:
    if column.nullable:
        detail = f"{column.name} may be NULL: pulls after the first never bring such rows, sweeps do"
        return Check(label, "warn", detail, f"ALTER TABLE {facts.table.name} ALTER {quote(column.name)} SET NOT NULL")
    if column.name not in facts.indexed:
        detail = f"{column.name} leads no index: every pull scans the whole table"
        return Check(label, "warn", detail, f"CREATE INDEX ON {facts.table.name} ({quote(column.name)})")
    late = "" if column.kind in CALENDAR_KINDS else "; no clock: rows that commit late are found by sweeps only"
    return Check(label, "ok", f"{column.name}, {column.declared}, NOT NULL, indexed{late}")
