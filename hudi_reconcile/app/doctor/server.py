"""What `doctor` says of a database: facts judged ok, warn or fail, each in one line with its fix.

The judging is pure. Beside it, a few counts of rows that the watermark hides from pulls; no row is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hudi_reconcile.app.jobs import build_job, build_table_request, derive_masking
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ReconcileError, UsageError
from hudi_reconcile.core.rules.rules import RuleSet, list_named_columns
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, INCREMENTING_KINDS, WATERMARK_KINDS, Column, Kind
from hudi_reconcile.core.tables.values import READ_SEQ, SourceTable
from hudi_reconcile.databases.base import Engine, ServerFacts, TableFacts, TableRequest
from hudi_reconcile.databases.postgres import dialect as postgres
from hudi_reconcile.lake.schema import find_names_fault
from hudi_reconcile.source.table_source import TableSource
from hudi_reconcile.sql.dialect import Dialect
from hudi_reconcile.stages.comparison import refuse_masked_key, refuse_tolerance
from hudi_reconcile.stages.pull.start import note_signs, note_zone
from hudi_reconcile.stages.watermark import choose_watermark

_VERIFY = "verify the server: ?sslmode=verify-full in source.url, over jdbc: the driver's own setting (docs/jdbc.md)"
Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One precondition. `fix` is empty where nothing is to be done."""

    name: str
    status: Status
    detail: str
    fix: str = ""


def build_failed_check(name: str, error: ReconcileError) -> Check:
    """A precondition that ended in a named error."""
    return Check(name, "fail", "; ".join(error.message.splitlines()), error.fix)


def check_server(server: ServerFacts) -> Iterator[Check]:
    """Server, role and what the role lets us know."""
    place, role = server.place, server.role
    yield Check(
        "source",
        "ok" if server.is_link_safe else "warn",
        f"{server.product} {server.version} at {place}, user {role}, {server.link}",
        "" if server.is_link_safe else _VERIFY,
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
    if server.unproven:
        yield Check("read only", "warn", server.unproven, f"let {role} have nothing but SELECT")
    if server.is_replica:
        yield Check(
            "replica",
            "warn",
            "the server is a replica: the primary's open transactions cannot be seen, and replay can lag"
            + (f"; {server.replica_says}" if server.replica_says else ""),
            "read from the primary, or set pull.overlap above the longest transaction plus the lag",
        )


def check_table(name: str, facts: TableFacts, request: TableRequest, dialect: Dialect = postgres) -> Iterator[Check]:
    """One source table: whether it can be read, its key, its watermark, and columns that cannot be compared."""
    table = facts.table
    if not facts.can_read:
        yield Check(
            f"{name}: source", "fail", f"SELECT on {table.name} is not granted", f"GRANT SELECT ON {table.name}"
        )
        return
    rows = f"{table.rows_estimate:,} rows counted" if facts.are_rows_counted else f"about {table.rows_estimate:,} rows"
    yield Check(f"{name}: source", "ok", f"{table.name}, {len(table.columns)} columns, {rows}")
    if facts.can_write:
        yield Check(
            f"{name}: role", "warn", f"the role can write {table.name}; reading is enough", "use a SELECT-only role"
        )
    if facts.asks:
        detail = f"{table.name} is a view that may show other rows to others: it calls {', '.join(facts.asks)}"
        fix = "read a view without it: a row that is not shown to this role looks deleted"
        yield Check(f"{name}: rows", "warn", detail, fix)
    if facts.runs:
        detail = f"PostgreSQL may run {', '.join(facts.runs)} as this role when it plans a read of {table.name}"
        fix = (
            "an index, statistics, a partition key or a constraint calls it: trust its owner, or let a superuser own it"
        )
        yield Check(f"{name}: functions", "warn", detail, fix)
    yield _key_check(name, facts, dialect)
    yield from _watermark_checks(name, facts, request, dialect)
    unread = [column for column in table.columns if column.kind is Kind.OTHER and column.name not in request.exclude]
    if unread:
        names = ", ".join(column.name for column in unread)
        every = ", ".join((*request.exclude, *(column.name for column in unread)))
        why = "; ".join(f"{column.name}: {column.why}" for column in unread)
        fix = f"compare: {{exclude: [{every}]}}"
        yield Check(f"{name}: columns", "warn", f"{names} cannot be compared, a sweep will exit 3 ({why})", fix)


def check_names(table: TableConfig, source: SourceTable, rules: RuleSet | None, *, is_new: bool) -> Iterator[Check]:
    """Names: columns that the lake cannot hold, and masks and rules that name a column which the source does not have.

    Where this machine shows that no lake table is there yet these fail, as the pull that makes it would. A table may have names
    of its own, and may still have a column that the source lost: then, and where a store is not asked, they are warnings.
    """
    status: Status = "fail" if is_new else "warn"
    fault = find_names_fault([column.lake_name for column in source.columns])
    if fault is not None:
        yield Check(f"{table.name}: columns", status, *fault)
    where = "the source has no such column" + ("" if is_new else "; a sweep refuses it unless the lake has one")
    columns = [column.name for column in source.columns]
    if absent := derive_masking(table).name_absent(columns):
        yield Check(
            f"{table.name}: mask", status, f"mask names {absent}: {where}", f"columns are: {', '.join(columns)}"
        )
    yield from _settings_checks(table, source)
    derived = {field.lake_name for field in table.lake.partition_by}
    known = {name.lower() for name in ({column.lake_name for column in source.columns} | derived | {READ_SEQ})}
    for rule in rules.rules if rules is not None else ():
        # A total is asked of the source, all others of the lake's rows.
        legal = {name.lower() for name in columns} | known if rule.kind == "total" else known
        unknown = [name for name in list_named_columns(rule.check) if name.lower() not in legal and not is_hudis(name)]
        if unknown:
            detail = (
                f"rule {rule.id} names {', '.join(unknown)}: {where.replace('a sweep refuses', 'a check cannot run')}"
            )
            fix = f"correct {table.rules}, by the names of the lake: {', '.join(column.lake_name for column in source.columns)}"
            yield Check(f"{table.name}: rules", status, detail, fix)


def _settings_checks(table: TableConfig, source: SourceTable) -> Iterator[Check]:
    """What a sweep refuses by the columns alone: masked keys and tolerances."""
    job = build_job(table, "doctor")
    for refuse, what in ((refuse_masked_key, "mask"), (refuse_tolerance, "tolerance")):
        try:
            refuse(job, source)
        except UsageError as error:
            yield build_failed_check(f"{table.name}: {what}", error)


def is_hudis(name: str) -> bool:
    """Whether a column is one that Hudi keeps in every table."""
    return name.lower().startswith("_hoodie_")


def check_jars(missing: Sequence[str], present: int) -> Check:
    """The jars, whose bytes have been checked where they are here."""
    if missing:
        detail = f"{', '.join(missing)} will be fetched at the first start"
        return Check("jars", "warn", detail, "fetch now: hudi-reconcile jars fetch")
    return Check("jars", "ok", f"{present} here, sha256 as locked")


def _key_check(name: str, facts: TableFacts, dialect: Dialect) -> Check:
    key = ", ".join(facts.table.key)
    if facts.key_proven:
        return Check(f"{name}: key", "ok", f"{key}, unique and NOT NULL by an index")
    quoted = ", ".join(map(dialect.quote, facts.table.key))
    detail = f"{key}: no index proves it unique and NOT NULL, so every pull and sweep reads all keys to check"
    fix = f"create a unique index on ({quoted}) over NOT NULL columns"
    if not facts.has_indexes:
        fix = "read a table instead, of which an index proves the key; this one has no indexes of its own"
    return Check(f"{name}: key", "warn", detail, fix)


def _watermark_checks(name: str, facts: TableFacts, request: TableRequest, dialect: Dialect) -> Iterator[Check]:
    if request.by_version:
        detail = "xmin, the database's own number of a row's version: exact; every pull scans the whole table"
        yield Check(f"{name}: watermark", "ok", detail)
    elif not request.moving and request.query is not None:
        fix = "for pulls by watermark: source.table instead of source.query"
        yield Check(f"{name}: watermark", "warn", "a query: every pull reads all of its rows", fix)
    elif not request.moving:
        yield Check(f"{name}: watermark", "warn", "none: every pull reads the whole table", "name one: pull.watermark")
    texts = {Kind.TEXT} if request.is_text_watermark else set()
    for column in (facts.table.column(column_name) for column_name in request.watermark):
        if column.kind in WATERMARK_KINDS | texts:
            yield _moving_check(f"{name}: watermark", column, facts, dialect)
            continue
        detail = f"{column.name} is {column.declared}; date, timestamp, timestamptz, integer and decimal are read"
        yield Check(f"{name}: watermark", "fail", detail, "choose another pull.watermark, or strategy: full")
    if request.incrementing is not None:
        yield _incrementing_check(f"{name}: incrementing", facts.table.column(request.incrementing), facts, dialect)


def _incrementing_check(label: str, column: Column, facts: TableFacts, dialect: Dialect) -> Check:
    if column.kind not in INCREMENTING_KINDS:
        detail = f"{column.name} is {column.declared}; an integer or a decimal with declared digits is read"
        return Check(label, "fail", detail, "choose another pull.incrementing, or strategy: timestamp")
    cache = facts.id_cache.get(column.name)
    if cache is None:
        return _moving_check(label, column, facts, dialect)
    detail = f"{column.name} comes from a sequence with CACHE {cache}: sessions commit ids below those already pulled"
    return Check(label, "warn", detail, "needs sweep: run sweeps after pulls, or ALTER SEQUENCE … CACHE 1")


def _moving_check(label: str, column: Column, facts: TableFacts, dialect: Dialect) -> Check:
    if column.nullable:
        detail = f"{column.name} may be NULL: pulls after the first never bring such rows, sweeps do"
        return Check(label, "warn", detail, _advise_not_null(label, column, facts, dialect))
    if column.name not in facts.indexed:
        detail = f"{column.name} leads no index: every pull scans the whole table"
        return Check(label, "warn", detail, _index(label, column, facts, dialect))
    late = "" if column.kind in CALENDAR_KINDS else "; no clock: rows that commit late are found by sweeps only"
    return Check(label, "ok", f"{column.name}, {column.declared}, NOT NULL, indexed{late}")


def _advise_not_null(label: str, column: Column, facts: TableFacts, dialect: Dialect) -> str:
    if facts.has_indexes and dialect is postgres:
        return f"ALTER TABLE {facts.table.name} ALTER {dialect.quote(column.name)} SET NOT NULL"
    after = f"after pulls: hudi-reconcile sweep -t {label.partition(':')[0]}"
    return (
        f"make {dialect.quote(column.name)} of {facts.table.name} NOT NULL, or {after}" if facts.has_indexes else after
    )


def _index(label: str, column: Column, facts: TableFacts, dialect: Dialect) -> str:
    if not facts.has_indexes:
        return f"index {dialect.quote(column.name)} in the tables that {facts.table.name} reads"
    named = "" if dialect is postgres else dialect.quote(f"{label.partition(':')[0]}_{column.name}") + " "
    return f"CREATE INDEX {named}ON {facts.table.name} ({dialect.quote(column.name)})"


_MOST_SCANNED_ROWS = 1_000_000


def check_rows(engine: Engine, table: TableConfig, source_table: SourceTable, *, zone: str) -> Iterator[Check]:
    """NULL watermarks and times ahead of the clock, with their numbers; nothing where the config's columns are refused."""
    job, request = build_job(table, "doctor"), build_table_request(table)
    name = f"{table.name}: rows"
    try:
        watermark = choose_watermark(job, source_table)
    except UsageError:
        return  # said by the checks of the table
    if not watermark.moving or job.pull.strategy == "xmin":  # which is never NULL, and no clock
        return
    try:
        indexes = engine.indexes(request)
        is_indexed = indexes is not None and bool(indexes.leading & set(watermark.order.columns))
        if not is_indexed and source_table.rows_estimate > _MOST_SCANNED_ROWS:
            detail = (
                f"NULLs and times ahead were not counted: no known index, about {source_table.rows_estimate:,} rows"
            )
            yield Check(name, "warn", detail, "the next pull counts them and says so")
            return
        source = TableSource(engine, request, None, zone=zone)
        source.describe()  # from here on the filter's tables have their schemas
        moment = engine.moment()
        now = watermark.convert_clock(moment, source.zone_offset_micros)
        signs = source.count_signs(source_table, watermark.order, reached=None, now=now)
    except ReconcileError as error:
        yield build_failed_check(name, error)
        return
    fix = f"after pulls: hudi-reconcile sweep -t {table.name}"
    # Index and sequence have their own lines.
    for note in note_signs(watermark, replace(signs, is_indexed=None, id_cache=1)):
        yield Check(name, "warn", note, fix)
    for note in note_zone(watermark, signs, None, moment, source.zone_offset_micros):
        yield Check(f"{table.name}: time zone", "warn", note, "set source.time_zone to the zone that the writers keep")
