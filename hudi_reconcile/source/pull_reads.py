"""The reads of a pull: parts with a connection, a retry and a line of progress each, and what is counted on their rows.

A part that fails is read again, alone, into a new frame; only finished frames are joined, so that nothing is in twice.
Never more parts at a time than lanes, whatever Spark's cores. Before it begins: signs that the watermark cannot be trusted.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.pull.cursor import Ahead, Edge, Mark, Order, Value, Window
from hudi_reconcile.core.pull.retry import (
    Passing,
    advise_on_read,
    classify_error_text,
    count_tries,
    find_driver_reason,
    wait_seconds,
)
from hudi_reconcile.core.pull.zone_offset import MOST_AHEAD_MICROS
from hudi_reconcile.core.safe_text import UNREADABLE, redact_message
from hudi_reconcile.core.tables.key_encoding import parse_key
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.base import Engine, TableRequest
from hudi_reconcile.ports import Frame, ReadCost, Signs, Staged
from hudi_reconcile.source.reads import mark_value, order_value
from hudi_reconcile.sql import reads, windows
from hudi_reconcile.sql.reads import ALL

_MOST_SHAPES = 3


def count_staged(frame: DataFrame, columns: tuple[Column, ...], order: Order, below: Value | None) -> Staged:
    """Count a materialised read: rows, those without a watermark, and the greatest mark below the bound."""
    value = mark_value(columns, order.columns)
    ids = [F.col(f"c{i}") for i, column in enumerate(columns) if column.name == order.id_column]
    mark = F.struct(value.alias("value"), (ids[0] if ids else F.lit(None).cast("bigint")).alias("id"))
    usable = value.isNotNull() if below is None else value < F.lit(below)
    row = frame.agg(
        F.count(F.lit(1)).alias("rows"),
        F.max(F.when(usable, mark)).alias("greatest"),  # a NULL id is the least
        F.sum(F.when(value.isNull(), 1).otherwise(0)).alias("nulls"),
    ).collect()[0]
    top_mark = row["greatest"]
    greatest = None if top_mark is None else Mark(top_mark["value"], top_mark["id"])
    nulls = int(row["nulls"] or 0) if order.columns else 0
    is_text = any(column.kind is Kind.TEXT for column in columns if column.name in order.columns)
    shapes: tuple[str, ...] = ()
    if is_text:
        shaped = frame.select(F.regexp_replace(value, "[0-9]", "0").alias("shape")).where("shape is not null")
        shapes = tuple(str(shape_row["shape"]) for shape_row in shaped.distinct().limit(_MOST_SHAPES).collect())
    return Staged(Frame(frame), int(row["rows"]), greatest, nulls, shapes=shapes)


def mark_column(table: SourceTable, order: Order) -> Column:
    """A column as the greatest of the watermark columns would be declared."""
    columns = [table.column(name) for name in order.columns]
    if len({column.kind for column in columns}) == 1:
        return max(columns, key=lambda column: (column.precision or 0, column.bits or 0))
    return replace(next(column for column in columns if column.kind is not Kind.DATE), name="hr_at")


def parse_peek(frame: DataFrame, columns: tuple[Column, ...]) -> Ahead:
    """The one row of a look ahead."""
    values = [order_value(F.col(f"c{i}"), column).alias(f"v{i}") for i, column in enumerate(columns)]
    low, high, rows = frame.select(*values).collect()[0]
    return Ahead(int(rows), low, high)


def read_warnings(
    engine: Engine, request: TableRequest, table: SourceTable, order: Order, *, reached: Mark | None, now: Value | None
) -> Signs:
    """Ask only what can be: NULLs where a column may hold them, the greatest where no row stands at the checkpoint or above."""
    columns = table.columns_by_name
    unmarked = future = 0
    if all(columns[name].nullable for name in order.columns):
        unmarked = _count(engine, request, table, windows.unmarked_predicate(engine.dialect, order, columns))
    if now is not None:
        above = windows.window_predicate(engine.dialect, Window(Order(order.columns), Edge(Mark(now))), columns)
        future = _count(engine, request, table, above or ALL)
    indexes, last = engine.indexes(request), order.id_column or order.columns[-1]
    return Signs(
        unmarked,
        future,
        None if reached is None else _fallen(engine, request, table, order, reached),
        None if indexes is None else bool(indexes.leading & set(order.columns)),
        1 if indexes is None else indexes.id_cache.get(last, 1),
        None if now is None else _newest(engine, request, table, order, now),
    )


def _count(engine: Engine, request: TableRequest, table: SourceTable, predicate: str) -> int:
    return int(engine.rows(reads.count_query(table.name, (*request.predicates, predicate)))[0]["hr_rows"])


def _fallen(engine: Engine, request: TableRequest, table: SourceTable, order: Order, reached: Mark) -> str | None:
    """The greatest watermark as text where it lies below the checkpoint."""
    dialect, mine, columns = engine.dialect, request.predicates, table.columns_by_name
    lower = Window(Order(order.columns), Edge(Mark(reached.value), inclusive=True))
    here = windows.window_predicate(dialect, lower, columns) or ALL
    some = f"select 1 as hr_one from {table.name}{reads.where_clause((*mine, here))}"
    if engine.rows(dialect.limit_rows(some, 1)):
        return None
    top = dialect.text(f"max({windows.greatest_query(dialect, order, columns)})")
    greatest = engine.rows(f"select {top} as hr_top from {table.name}{reads.where_clause(mine)}")[0]["hr_top"]
    return None if greatest is None else str(greatest)


def _newest(engine: Engine, request: TableRequest, table: SourceTable, order: Order, now: Value) -> int | None:
    """The greatest watermark of a clock without zone that any zone's clock can show now; None of another kind, or without one."""
    dialect, columns = engine.dialect, table.columns_by_name
    if any(columns[name].kind is not Kind.TIMESTAMP for name in order.columns) or not isinstance(now, int):
        return None
    upper = Edge(Mark(now + MOST_AHEAD_MICROS), inclusive=True)
    shown = windows.window_predicate(dialect, Window(Order(order.columns), None, upper), columns) or ALL
    top = dialect.text(f"max({windows.greatest_query(dialect, order, columns)})")
    where = reads.where_clause((*request.predicates, shown))
    greatest = engine.rows(f"select {top} as hr_top from {table.name}{where}")[0]["hr_top"]
    value = None if greatest is None else parse_key(columns[order.columns[0]], str(greatest))
    return value if isinstance(value, int) else None


log = logging.getLogger("hudi_reconcile")
progress = logging.getLogger("hudi_reconcile.progress")  # the command line may show it as a bar
_GROUP = "spark.jobGroup.id"
_TAGS = "spark.job.tags"
_REASON_CHARS = 300
ReadPart = Callable[[int], DataFrame]
Marks = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PartRead:
    """A part that has been read: its rows are held by Spark. `attempts` above 1: it was repeated."""

    number: int
    frame: DataFrame
    rows: int
    attempts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ReadWork:
    """What is read: the table's name for messages, how many parts, how many at a time, and how one is read.

    `expected_rows` is an estimate, None where there is none.
    """

    table: str
    parts: int
    lanes: int
    read: ReadPart
    expected_rows: int | None = None


def read_parts(spark: SparkSession, work: ReadWork) -> tuple[PartRead, ...]:
    """Every part once, in order. Raises SourceError with part, attempts and reason where one cannot be read; the others stop."""
    group, begun = f"hudi-reconcile-{uuid.uuid4().hex}", time.monotonic()
    tags = spark.sparkContext.getLocalProperty(_TAGS)
    marks = {_GROUP: group} | ({_TAGS: tags} if tags else {})
    over = threading.Event()
    parts_by_number: dict[int, PartRead] = {}
    with ThreadPoolExecutor(max(1, min(work.lanes, work.parts))) as pool:
        futures = [
            pool.submit(copy_context().run, _one, spark, work, number, marks, over) for number in range(work.parts)
        ]
        try:
            for future in as_completed(futures):
                part = future.result()
                parts_by_number[part.number] = part
                _tell_progress(work, part, parts_by_number, time.monotonic() - begun)
        except BaseException:
            over.set()
            for future in futures:
                future.cancel()
            spark.sparkContext.cancelJobGroup(group)
            raise
    return tuple(parts_by_number[number] for number in range(work.parts))


def union_parts(parts: tuple[PartRead, ...]) -> DataFrame:
    """All rows, each part's once. Joined in pairs: a plan of five hundred nested unions would be too deep."""
    frames = [part.frame for part in parts]
    while len(frames) > 1:
        pairs = zip(frames[::2], frames[1::2], strict=False)
        frames = [frame.unionAll(other) for frame, other in pairs] + ([frames[-1]] if len(frames) % 2 else [])
    return frames[0]


def add_cost(
    before: ReadCost, parts: tuple[PartRead, ...], row_bytes: float | None, seconds: Mapping[str, float]
) -> ReadCost:
    """The cost of all reads, this one included."""
    size = None if row_bytes is None else round(sum(part.rows for part in parts) * row_bytes)
    sizes = [estimate for estimate in (before.bytes_estimate, size) if estimate is not None]
    return ReadCost(
        parts=before.parts + len(parts),
        repeated=before.repeated + sum(part.attempts > 1 for part in parts),
        bytes_estimate=sum(sizes) if sizes else None,
        seconds={name: before.seconds.get(name, 0.0) + took for name, took in seconds.items()},
    )


def _one(spark: SparkSession, work: ReadWork, number: int, marks: Marks, over: threading.Event) -> PartRead:
    for key, value in marks.items():
        spark.sparkContext.setLocalProperty(key, value)  # of this thread alone
    begun, attempt = time.monotonic(), 0
    while True:
        attempt += 1
        try:
            # The rows are held and the lineage is cut: a part is never read a second time once it is here.
            frame = work.read(number).localCheckpoint(eager=True)
            return PartRead(number, frame, frame.count(), attempt, time.monotonic() - begun)
        except Exception as error:
            if not type(error).__module__.startswith(("py4j.", "pyspark.")):
                raise
            passing, reason = _judge_error(error)
            if attempt >= count_tries(passing) or over.is_set():
                raise _build_failure(work, number, attempt, error, judged=(passing, reason)) from None
            wait = wait_seconds(attempt)
            log.warning(
                "%s: part %d of %d failed (%s); read again in %.1f s", work.table, number + 1, work.parts, reason, wait
            )
            over.wait(wait)


def _judge_error(error: Exception) -> tuple[Passing, str]:
    text = str(error)
    driver_reason = find_driver_reason(text)
    if driver_reason is None:
        return classify_error_text(text), type(error).__name__
    reason = redact_message(driver_reason[1], kind=driver_reason[0], whole=text)
    return Passing.STAYS if reason == UNREADABLE else classify_error_text(text), reason[:_REASON_CHARS]


def _build_failure(
    work: ReadWork, number: int, attempts: int, error: Exception, *, judged: tuple[Passing, str]
) -> Exception:
    passing, reason = judged
    if passing is Passing.STAYS and find_driver_reason(str(error)) is None:
        return error  # not the database's doing: the caller knows it or it is a bug
    what = "part" if work.parts == 1 else f"part {number + 1} of {work.parts}"
    times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    fix = "raise source.statement_timeout, then run again" if passing is Passing.CUT else advise_on_read(reason)
    return SourceError(
        f"the source failed while rows were read: {work.table}, {what}, {times}: {reason}; nothing was written", fix=fix
    )


def _tell_progress(work: ReadWork, part: PartRead, parts_by_number: dict[int, PartRead], seconds: float) -> None:
    done, rows = len(parts_by_number), sum(part_read.rows for part_read in parts_by_number.values())
    again = "" if part.attempts == 1 else f", {part.attempts} attempts"
    progress.info(
        "%s: part %d of %d: %s rows in %.1f s%s",
        work.table, part.number + 1, work.parts, f"{part.rows:,}", part.seconds, again,
        extra={"bar": describe_progress(work, done, rows, seconds), "is_last": done == work.parts},
    )  # fmt: skip


def describe_progress(work: ReadWork, done: int, rows: int, seconds: float) -> str:
    """How far a read is, in one line: parts, rows of about how many, and rows a second."""
    expected = "" if not work.expected_rows else f" of about {work.expected_rows:,}"
    rate = f", {rows / seconds:,.0f} rows/s" if seconds > 0 else ""
    return f"{work.table}: {done} of {work.parts} parts, {rows:,}{expected} rows{rate}"
