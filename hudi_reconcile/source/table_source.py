"""One source table as the stages see it, whatever the database: description, moment, faults, rows (`ports.Source`)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from typing import Any
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.pull.cursor import Ahead, Mark, Order, Value, Window
from hudi_reconcile.core.pull.read_plan import Limits, ReadPlan
from hudi_reconcile.core.pull.source_lineage import SourceLineage, digest_filter
from hudi_reconcile.core.rules.verdict import TotalTexts
from hudi_reconcile.core.sweep.segments import (
    GREATEST_KEY,
    LEAST_KEY,
    HashSegments,
    KeyExtent,
    Probe,
    RangeSegments,
    Segmentation,
    SegmentSet,
    choose_part,
)
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.key_encoding import ASKED, ASKED_AT_ONCE, Key
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.partitions import Near
from hudi_reconcile.core.tables.values import Moment, SourceTable
from hudi_reconcile.databases.base import Engine, TableRequest, log_statement
from hudi_reconcile.ports import Frame, Inside, KeyFaults, NamedRows, ReadCost, RowVersions, Signs, Staged, Survey
from hudi_reconcile.source import pull_reads, pushdown
from hudi_reconcile.source.pull_reads import ReadWork, add_cost, read_parts, read_warnings, union_parts
from hudi_reconcile.source.reads import JdbcRead, RowRequest, build_range_reads, plan_read, read
from hudi_reconcile.sql import reads, windows
from hudi_reconcile.sql.dialect import Dialect
from hudi_reconcile.sql.digests import bucket_predicate
from hudi_reconcile.sql.reads import ALL, hide_keys, keys_predicate, partition_predicate

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TableSource:
    """Reads one table. Small queries go through the engine, rows through Spark; nothing is ever written."""

    def __init__(self, engine: Engine, request: TableRequest, spark: SparkSession | None, *, zone: str) -> None:
        self._engine = engine
        self._request, self._filter = request, digest_filter(request.where)
        self._spark = spark
        self._zone = ZoneInfo(zone)
        self._reads: list[str] = []
        self._spent = ReadCost()
        self._plans: dict[tuple[SourceTable, str | None, bool], ReadPlan] = {}
        self._proven_key = False

    def describe(self) -> SourceTable:
        """Columns, key and identity as they are now."""
        description = self._engine.describe(self._request)
        self._proven_key, self._request = description.key_proven, replace(self._request, where=description.where)
        return description.table

    def read_moment(self) -> Moment:
        """The database's clock and the safe bound, in one statement of its own before any row is read."""
        return self._engine.moment()

    def read_lineage(self) -> SourceLineage:
        """The configured filter's digest, the server's timeline, and its transactions' ids."""
        timeline, position = self._engine.timeline(), self._engine.position()
        return SourceLineage(
            self._filter, timeline, *((None, None) if position is None else (position.ids, position.started_micros))
        )

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at once."""
        return int(self._session().sparkContext.defaultParallelism)

    @property
    def connections(self) -> int:
        """How many statements the source is sent at once, at most."""
        return self._engine.max_connections

    def freeze(self) -> AbstractContextManager[str | None]:
        """One snapshot for all reads, where the database can."""
        return self._engine.one_snapshot()

    def find_hindrance(self, table: SourceTable, agreement: Agreement) -> str:
        """Why the source cannot digest its own rows; empty where it can."""
        return pushdown.find_pushdown_blocker(self._engine, table, agreement)

    def tells_buckets(self, table: SourceTable, agreement: Agreement) -> bool:
        """True where some md5 buckets of the key can be read alone."""
        return pushdown.tells_buckets(self._engine, table, agreement)

    def probe(self, table: SourceTable, agreement: Agreement) -> Probe:
        """Measure link and digest on a sample of rows."""
        return pushdown.probe(self._engine, table, agreement, self._request.predicates)

    def digest_inside(self, table: SourceTable, agreement: Agreement, cut: Segmentation) -> Inside:
        """Begin to digest all rows inside the source."""
        return pushdown.begin(self._engine, table, agreement, cut, self._request.predicates)

    def row_versions(self, table: SourceTable, agreement: Agreement) -> RowVersions:
        """The versions of the rows that are read."""
        return pushdown.read_row_versions(self._engine, table, agreement, self._request.predicates)

    def zone_offset_micros(self, utc_micros: int) -> int:
        """How far the configured zone is ahead of UTC at that time."""
        moment = (_EPOCH + timedelta(microseconds=utc_micros)).astimezone(self._zone)
        return (moment.utcoffset() or timedelta(0)) // timedelta(microseconds=1)

    def measure_extent(self, table: SourceTable) -> KeyExtent:
        """The integer key's range, and how many rows to expect."""
        first = table.key_columns[0]
        if first.kind is not Kind.INTEGER:
            return KeyExtent(None, None, table.rows_estimate)
        row = self._one(reads.extent_query(self._dialect, table.name, first.name, self._request.predicates))
        low, high = row["low"], row["high"]
        if low is None or not LEAST_KEY <= low <= high <= GREATEST_KEY:  # an unsigned key beyond 64 bits is hashed
            return KeyExtent(None, None, table.rows_estimate)
        return KeyExtent(int(low), int(high), table.rows_estimate)

    def count_rows(
        self,
        table: SourceTable,
        cut: Segmentation | None = None,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> int:
        """The table's own count of the rows that are compared, or of a part of them."""
        where = (*self._request.predicates, *self._write_near(near))
        if cut is not None and segments is not None:
            cut, segments = choose_part(cut, segments)
        if cut is None or segments is None:
            return self._count(table, where)
        if (bucket := self._buckets(table, cut, segments)) is not None:
            return self._count(table, (*where, bucket))
        if not isinstance(cut, RangeSegments):
            raise ValueError("segments of Spark's own hash cannot be counted by the source")
        counts = reads.segment_counts(self._dialect, table.name, cut, segments, where)
        return sum(int(self._one(sql)["hr_rows"]) for sql in counts)

    def count_segments(self, table: SourceTable, cut: Segmentation) -> Mapping[int, int] | None:
        """The table's own count by segment, in one scan."""
        place = pushdown.place_in_segments(self._engine, table, cut)
        if place is None:
            return None
        counts = Counter[int]()
        for row in self._engine.rows(reads.grouped_counts(place.sql, table.name, self._request.predicates)):
            counts[place.segment_of(row["hr_place"])] += int(row["hr_rows"])
        return counts

    def find_named_rows(self, table: SourceTable, keys: Sequence[Key]) -> NamedRows | None:
        """The rows that may have one of these keys: counted some hundred keys at a time, by the key's index."""
        return count_named(self._engine, self._request.predicates, table, keys, read=self._read)

    def sum_column(self, table: SourceTable, column: str) -> TotalTexts:
        """The column's sum and ends as the database's own text, so that no driver rounds them."""
        row = self._one(reads.total_query(self._dialect, table.name, column, self._request.predicates))
        values = (row[name] for name in ("hr_total", "hr_least", "hr_greatest"))
        return TotalTexts(*(None if value is None else str(value) for value in values))

    def find_key_faults(self, table: SourceTable) -> KeyFaults:
        """No query where a unique index over NOT NULL columns already rules faults out."""
        if self._proven_key:
            return KeyFaults(0, 0, ())
        what = (self._dialect, table.name, table.key_columns, self._request.predicates)
        row = self._one(reads.key_faults_query(*what))
        rows = self._engine.rows(reads.key_sample_query(*what)) if row["duplicated"] else ()
        sample = ("(" + ", ".join("NULL" if part is None else str(part) for part in r.values()) + ")" for r in rows)
        return KeyFaults(int(row["duplicated"] or 0), int(row["null_keys"] or 0), tuple(sample))

    def find_altered(self, table: SourceTable, window: Window | None = None) -> tuple[str, ...]:
        """Columns with values that the JDBC read would alter."""
        query = reads.altered_query(self._dialect, table.name, table.columns, self._where(table, window))
        if query is None:
            return ()
        sql, names = query
        return tuple(name for name, count in zip(names, self._one(sql).values(), strict=True) if count)

    def survey(self, table: SourceTable, cut: Segmentation, segments: SegmentSet | None = None) -> Callable[[], Survey]:
        """Count all rows, and those of values that the JDBC read would alter, by one scan in a thread of its own.

        Of some segments the altered values alone; where these are of a hash, the whole table is searched.
        """
        where = self._request.predicates
        part = (cut, segments) if segments is not None and isinstance(cut, RangeSegments) else None
        sql, names = reads.survey_query(self._dialect, table, where, part)
        if part is not None and not names:
            return lambda: Survey(None, ())
        answer = pushdown.ask_beside(lambda: self._one(sql), "survey")

        def wait() -> Survey:
            row = answer.result()
            altered = tuple(name for place, name in enumerate(names) if row[f"n{place}"])
            return Survey(int(row["hr_rows"]) if segments is None else None, altered)

        return wait

    def read_rows(
        self,
        table: SourceTable,
        segmentation: Segmentation,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> Frame:
        """Rows of all segments, or of some; of those, at least the ones near some partitions."""
        where = (*self._request.predicates, *self._write_near(near))
        cut, wanted = (segmentation, None) if segments is None else choose_part(segmentation, segments)
        if (bucket := self._buckets(table, cut, wanted)) is not None:
            query = reads.rows_query(self._dialect, table.name, table.read_columns, (*where, bucket))
            return Frame(self._read(JdbcRead(query, (ALL,)), table.read_columns))
        if wanted is not None and isinstance(cut, RangeSegments):
            lanes = self._limits(waits=False).lanes
            parts = build_range_reads(self._dialect, table, cut, wanted, where, lanes=lanes)
            return Frame(reduce(DataFrame.unionAll, [self._read(part, table.read_columns) for part in parts]))
        # Some hash segments of Spark's own: the source cannot serve one alone, the whole table comes and Spark filters.
        plan = JdbcRead.of(
            self._plan_once(table, segmentation, waits=False, sieve=next(iter(self._write_near(near)), None))
        )
        return Frame(self._read(plan, table.read_columns))

    def plan_read(self, table: SourceTable, segmentation: Segmentation, window: Window) -> ReadPlan:
        """How a pull's window would be read; reads no row."""
        return self._plan_once(table, segmentation, window)

    def stage_rows(self, table: SourceTable, segmentation: Segmentation, window: Window, below: Value | None) -> Staged:
        """Read a pull's window exactly once: rows, count and checkpoint come from the same materialised read.

        A part whose read breaks is read again, alone. Rows that are here are never read a second time: if Spark loses
        them, the pull fails.
        """
        begun = time.monotonic()
        plan = self._plan_once(table, segmentation, window)
        ready = time.monotonic()
        whole, session, target = JdbcRead.of(plan), self._session(), self._engine.jdbc()
        self._record(whole.statements)
        work = ReadWork(
            table.name,
            len(plan.parts),
            lanes=self._limits(waits=True).lanes,
            read=lambda number: read(session, target, whole.part(number), table.read_columns),
            expected_rows=plan.rows,
        )
        parts = read_parts(session, work)
        seconds = {"plan": ready - begun, "read": time.monotonic() - ready}
        self._spent = add_cost(self._spent, parts, plan.row_bytes, seconds)
        frame = union_parts(parts)
        staged_rows = pull_reads.count_staged(frame, table.read_columns, window.order, below)
        return replace(staged_rows, parts=tuple(part.rows for part in parts))

    def report_cost(self) -> ReadCost:
        """What the pulls' reads took."""
        return self._spent

    def look_ahead(self, table: SourceTable, window: Window, rows: int | None, at: Value | None) -> Ahead:
        """One small read: an index on the watermark answers it."""
        order, columns = window.order, table.columns_by_name
        where = self._where(table, window)
        if at is None or order.id_column is None:
            column, value = pull_reads.mark_column(table, order), windows.greatest_query(self._dialect, order, columns)
            where += (windows.marked_predicate(self._dialect, order, columns),)
        else:
            column, value = columns[order.id_column], self._dialect.quote(order.id_column)
            where += (windows.equal_predicate(self._dialect, order, columns, at), f"{value} is not null")
        if rows is not None and self._dialect.limit_rows("x", rows) == "x":
            raise UsageError(
                f"pull.limit: it is not known how {self._dialect.NAME} limits rows", fix="remove pull.limit"
            )
        query, selected = windows.ahead_query(self._dialect, table.name, column, value, predicates=where, rows=rows)
        return pull_reads.parse_peek(self._read(JdbcRead(query, (ALL,)), selected), selected)

    def count_signs(self, table: SourceTable, order: Order, *, reached: Mark | None, now: Value | None) -> Signs:
        """NULLs only where a column may hold them, the greatest only where no row stands at or above the checkpoint."""
        return read_warnings(self._engine, self._request, table, order, reached=reached, now=now)

    def list_statements(self) -> tuple[str, ...]:
        """Every SQL text sent so far: small queries, then row reads."""
        return tuple(hide_keys(statement) for statement in (*self._engine.sent, *self._reads))

    def _buckets(self, table: SourceTable, cut: Segmentation, segments: SegmentSet | None) -> str | None:
        """Some md5 buckets as a predicate that the source itself decides; None where Spark filters."""
        if segments is None or not isinstance(cut, HashSegments) or cut.by != "md5":
            return None
        known = pushdown.choose_buckets(self._engine, table)
        return None if known is None else bucket_predicate(known, pushdown.list_key_items(table), cut.count, segments)

    def _write_near(self, near: Near | None) -> tuple[str, ...]:
        return () if near is None else (partition_predicate(self._dialect, near),)

    def _where(self, table: SourceTable, window: Window | None) -> tuple[str, ...]:
        predicates = self._request.predicates
        if window is None:
            return predicates
        return predicates if (predicate := self._window(table, window)) is None else (*predicates, predicate)

    def _window(self, table: SourceTable, window: Window) -> str | None:
        return windows.window_predicate(self._dialect, window, table.columns_by_name)

    def _plan_once(
        self,
        table: SourceTable,
        cut: Segmentation,
        window: Window | None = None,
        *,
        waits: bool = True,
        sieve: str | None = None,
    ) -> ReadPlan:
        predicate = sieve if window is None else self._window(table, window)
        asked = (table, predicate, waits)
        if asked not in self._plans:
            hidden = self._request.hidden
            wanted = RowRequest(table, cut, self._request.predicates, predicate, hidden)
            self._plans[asked] = plan_read(self._engine, wanted, self._limits(waits=waits))
        return self._plans[asked]

    def _limits(self, *, waits: bool) -> Limits:
        return Limits(self._engine.max_connections, self.cores, waits)

    def _count(self, table: SourceTable, predicates: tuple[str, ...]) -> int:
        return int(self._one(reads.count_query(table.name, predicates))["hr_rows"])

    def _read(self, plan: JdbcRead, columns: tuple[Column, ...]) -> DataFrame:
        self._record(plan.statements)
        return read(self._session(), self._engine.jdbc(), plan, columns)

    def _record(self, statements: Sequence[str]) -> None:
        self._reads += statements
        quote = self._dialect.quote("x")[0]
        for statement in statements:
            log_statement(statement, quote)

    @property
    def _dialect(self) -> Dialect:
        return self._engine.dialect

    def _one(self, sql: str) -> Mapping[str, Any]:
        return self._engine.rows(sql)[0]

    def _session(self) -> SparkSession:
        if self._spark is None:
            raise SourceError("rows were asked for without a Spark session", fix="this is a bug: please report it")
        return self._spark


Read = Callable[[JdbcRead, tuple[Column, ...]], DataFrame]


def count_named(
    engine: Engine, where: tuple[str, ...], table: SourceTable, keys: Sequence[Key], *, read: Read
) -> NamedRows | None:
    """The rows counted; None where a key of these cannot be said in SQL. Only what holds rows is read."""
    tests = [
        keys_predicate(engine.dialect, table.key_columns, keys[first : first + ASKED_AT_ONCE])
        for first in range(0, len(keys), ASKED_AT_ONCE)
    ]
    counts = {}
    for test in tests:
        if test is None:
            return None
        counts[test] = int(engine.rows(reads.count_query(table.name, (*where, test)))[0]["hr_rows"])
    hits = [test for test, rows in counts.items() if rows] or list(counts)[:1]
    return NamedRows(sum(counts.values()), partial(_rows, engine, where, table, hits, read))


def _rows(engine: Engine, where: tuple[str, ...], table: SourceTable, tests: Sequence[str], read: Read) -> Frame:
    columns = table.read_columns
    queries = [reads.rows_query(engine.dialect, table.name, columns, (*where, test)) for test in tests]
    frames = [read(JdbcRead(query, (ALL,)), columns) for query in queries]
    if len(frames) > 1:
        frames = [frame.selectExpr("*", f"{place} as {ASKED}") for place, frame in enumerate(frames)]
    return Frame(reduce(DataFrame.unionByName, frames))
