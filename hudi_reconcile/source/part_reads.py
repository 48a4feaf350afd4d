"""Reads the parts of a pull, each by itself: its own connection, its own retry, its own line of progress.

A part that fails is read again, alone, into a new frame; only finished frames are ever joined, so that nothing is in twice.
Not more parts than lanes are read at a time, whatever Spark's cores.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.repeatable import UNREADABLE, of_message
from hudi_reconcile.core.retry import Passing, driver_reason, fix_of_read, of_text, rounds, wait_seconds
from hudi_reconcile.ports import ReadCost

log = logging.getLogger("hudi_reconcile")
progress = logging.getLogger("hudi_reconcile.progress")  # the command line may show it as a bar
_GROUP = "spark.jobGroup.id"
_REASON_CHARS = 300
ReadPart = Callable[[int], DataFrame]


@dataclass(frozen=True, slots=True)
class PartRead:
    """A part that has been read: its rows are held by Spark. `attempts` above 1: it was repeated."""

    number: int
    frame: DataFrame
    rows: int
    attempts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """What is read: the table's name for messages, how many parts, how many at a time, and how one is read.

    `expected_rows` is an estimate, None where there is none.
    """

    table: str
    parts: int
    lanes: int
    read: ReadPart
    expected_rows: int | None = None


def read_parts(spark: SparkSession, work: Work) -> tuple[PartRead, ...]:
    """Every part once, in order. Raises SourceError with part, attempts and reason where one cannot be read; the others stop."""
    group, begun = f"hudi-reconcile-{uuid.uuid4().hex}", time.monotonic()
    over = threading.Event()
    found: dict[int, PartRead] = {}
    with ThreadPoolExecutor(max(1, min(work.lanes, work.parts))) as pool:
        futures = [pool.submit(_one, spark, work, number, group, over) for number in range(work.parts)]
        try:
            for future in as_completed(futures):
                part = future.result()
                found[part.number] = part
                _told(work, part, found, time.monotonic() - begun)
        except BaseException:
            over.set()
            for future in futures:
                future.cancel()
            spark.sparkContext.cancelJobGroup(group)
            raise
    return tuple(found[number] for number in range(work.parts))


def joined(parts: tuple[PartRead, ...]) -> DataFrame:
    """All rows, each part's once. Joined in pairs: a plan of five hundred nested unions would be too deep."""
    frames = [part.frame for part in parts]
    while len(frames) > 1:
        pairs = zip(frames[::2], frames[1::2], strict=False)
        frames = [left.unionAll(right) for left, right in pairs] + ([frames[-1]] if len(frames) % 2 else [])
    return frames[0]


def added(
    before: ReadCost, parts: tuple[PartRead, ...], row_bytes: float | None, seconds: Mapping[str, float]
) -> ReadCost:
    """The cost of all reads, this one included."""
    size = None if row_bytes is None else round(sum(part.rows for part in parts) * row_bytes)
    sizes = [one for one in (before.bytes_estimate, size) if one is not None]
    return ReadCost(
        parts=before.parts + len(parts),
        repeated=before.repeated + sum(part.attempts > 1 for part in parts),
        bytes_estimate=sum(sizes) if sizes else None,
        seconds={name: before.seconds.get(name, 0.0) + took for name, took in seconds.items()},
    )


def _one(spark: SparkSession, work: Work, number: int, group: str, over: threading.Event) -> PartRead:
    spark.sparkContext.setLocalProperty(_GROUP, group)  # of this thread alone
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
            passing, reason = _judged(error)
            if attempt >= rounds(passing) or over.is_set():
                raise _failed(work, number, attempt, error, judged=(passing, reason)) from None
            wait = wait_seconds(attempt)
            log.warning(
                "%s: part %d of %d failed (%s); read again in %.1f s", work.table, number + 1, work.parts, reason, wait
            )
            over.wait(wait)


def _judged(error: Exception) -> tuple[Passing, str]:
    text = str(error)
    found = driver_reason(text)
    if found is None:
        return of_text(text), type(error).__name__
    reason = of_message(found[1], kind=found[0], whole=text)
    return Passing.STAYS if reason == UNREADABLE else of_text(text), reason[:_REASON_CHARS]


def _failed(work: Work, number: int, attempts: int, error: Exception, *, judged: tuple[Passing, str]) -> Exception:
    passing, reason = judged
    if passing is Passing.STAYS and driver_reason(str(error)) is None:
        return error  # not the database's doing: the caller knows it or it is a bug
    what = "part" if work.parts == 1 else f"part {number + 1} of {work.parts}"
    times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    fix = "raise source.statement_timeout, then run again" if passing is Passing.CUT else fix_of_read(reason)
    return SourceError(
        f"the source failed while rows were read: {work.table}, {what}, {times}: {reason}; nothing was written", fix=fix
    )


def _told(work: Work, part: PartRead, found: dict[int, PartRead], seconds: float) -> None:
    done, rows = len(found), sum(one.rows for one in found.values())
    again = "" if part.attempts == 1 else f", {part.attempts} attempts"
    progress.info(
        "%s: part %d of %d: %s rows in %.1f s%s",
        work.table, part.number + 1, work.parts, f"{part.rows:,}", part.seconds, again,
        extra={"bar": bar(work, done, rows, seconds), "is_last": done == work.parts},
    )  # fmt: skip


def bar(work: Work, done: int, rows: int, seconds: float) -> str:
    """How far a read is, in one line: parts, rows of about how many, and rows a second."""
    expected = "" if not work.expected_rows else f" of about {work.expected_rows:,}"
    rate = f", {rows / seconds:,.0f} rows/s" if seconds > 0 else ""
    return f"{work.table}: {done} of {work.parts} parts, {rows:,}{expected} rows{rate}"
