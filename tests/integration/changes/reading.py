"""What the lake answers of a small table's history, held against the snapshots that were seen while it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.changefeed.query import answer_query, list_rows, pair_images, read_log, select_touched
from hudi_reconcile.core.changes.queries import QUERY_TYPES, Change, answer, apply_changes
from hudi_reconcile.core.changes.range import Commit, Span, select_span
from hudi_reconcile.core.tables.values import READ_SEQ, TableType
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.ports import Frame
from tests.integration.changes.lakes import Lake


def whole_log(history: HudiHistory, start: str = "earliest", end: str = "latest") -> tuple[Change, ...]:
    span = span_between(history, start, end)
    return told(answer_query("full-delta", in_pairs(history, span.commits), span.commits))


def in_pairs(history: HudiHistory, commits: Sequence[Commit]) -> Frame:
    """The log from the rows just before and just after each commit: the way that all others are held against."""
    rows = Frame(cast("DataFrame", history.versions(commits)).localCheckpoint())
    return pair_images(select_touched(rows, few=True), commits)


def otherwise(history: HudiHistory, commits: Sequence[Commit]) -> list[Frame]:
    """The log in each other way that tells it: from one reading of the files, and by Hudi's own change log."""
    chained, own = history.read_touched(commits), own_log(history, commits)
    return [*([] if chained is None else [pair_images(chained, commits)]), *([] if own is None else [own])]


def own_log(history: HudiHistory, commits: Sequence[Commit]) -> Frame | None:
    """By Hudi's own change log; None where that is not to be had or not to be believed."""
    counted = history.list_log_counts(commits)
    if counted is None:
        return None
    with history.read_log(commits, counted) as own:
        return None if own is None else read_log(own, history.table.record_key, counted)


def at_once(history: HudiHistory, commits: Sequence[Commit]) -> tuple[Change, ...] | None:
    """The log from one reading of the files; None where that tells none."""
    chained = history.read_touched(commits)
    return None if chained is None else told(answer_query("full-delta", pair_images(chained, commits), commits))


def alive_of(history: HudiHistory, commits: Sequence[Commit]) -> tuple[Change, ...]:
    return told(list_rows(history.read_alive_upserts(commits)))


def told(rows: Frame) -> tuple[Change, ...]:
    return tuple(
        Change(row["n"], row["key"]["id"], image(row["before"]), image(row["after"]), row["op"])
        for row in cast("DataFrame", rows).collect()
    )


def span_between(history: HudiHistory, start: str, end: str) -> Span:
    commits = history.commits()
    return select_span(start, end, commits, history.cut(commits))


def image(row: Any) -> dict[str, Any] | None:
    return None if row is None else row.asDict()


def told_alike(changes: Iterable[Change]) -> list[str]:
    """What two answers are compared by, whatever the order that they came in."""
    return sorted(map(repr, changes))


def renumbered(log: Sequence[Change], by: int) -> Iterator[Change]:
    return (Change(one.commit + by, one.key, one.before, one.after, one.op) for one in log)


def assert_ranges(lake: Lake, log: tuple[Change, ...]) -> None:
    """Both deltas lead from every state to every later one; full-delta has one change a key and commit."""
    assert len({(one.commit, one.key) for one in log}) == len(log)
    for first in range(len(lake.states)):
        for last in range(first, len(lake.states)):
            part = [one for one in log if first <= one.commit < last]
            for query in ("full-delta", "min-delta"):
                reached = apply_changes(lake.states[first], answer(query, part))
                assert bare(reached) == bare(lake.states[last]), (query, first, last)


def bare(state: Any) -> Any:
    return {key: {name: value for name, value in row.items() if name != READ_SEQ} for key, row in state.items()}


def service(spark: SparkSession, lake: Lake, kind: TableType) -> bool:
    """What rewrites files and changes no row; True where there was something to rewrite."""
    path = lake.lake._path
    before = len(Timeline(spark, path).list_completed())
    if kind == "merge_on_read":
        soon = "options => 'hoodie.compact.inline.max.delta.commits=1'"
        spark.sql(f"call run_compaction(op => 'schedule', path => '{path}', {soon})").collect()
        spark.sql(f"call run_compaction(op => 'run', path => '{path}')").collect()
    else:
        spark.sql(f"call run_clustering(path => '{path}', op => 'scheduleAndExecute')").collect()
    lake.lake.pin()
    return len(Timeline(spark, path).list_completed()) > before


def assert_part(lake: Lake, log: tuple[Change, ...], first: int, last: int) -> None:
    """A range that is asked of the lake by itself is that part of the whole log, and all four queries are those over it."""
    history = lake.history()
    start = lake.completed[first - 1] if first else "earliest"
    span = span_between(history, start, lake.completed[last - 1])
    ways = [in_pairs(history, span.commits), *otherwise(history, span.commits)]
    part = [one for one in log if first <= one.commit < last]
    for query, way in product(QUERY_TYPES, ways):
        rows = told(answer_query(query, way, span.commits))
        assert Counter(map(repr, renumbered(rows, first))) == Counter(map(repr, answer(query, part))), (
            query,
            first,
            last,
        )
    if history.can_list_alive(span.commits):
        rows = told(list_rows(history.read_alive_upserts(span.commits)))
        assert Counter(map(repr, renumbered(rows, first))) == Counter(map(repr, answer("upsert", part))), (first, last)
