"""Thousands of scattered segments: what the source is asked for them, and what its plan examines to answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.sweep.segments import RangeSegments, SegmentSet, choose, merge_ranges
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.source.reads import build_range_reads
from hudi_reconcile.sql import reads
from tests.integration.source.support import source
from tests.support.postgres import Database

ROWS = 200_000
_EXAMINED = ("Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck")


@pytest.mark.parametrize("is_analyzed", [True, False], ids=["with statistics", "without statistics"])
def test_rows_of_every_other_segment_are_counted_and_read_in_few_statements_by_the_keys_index(
    spark: SparkSession, pg: Database, *, is_analyzed: bool
) -> None:
    pg.execute(
        "create table t (id bigint primary key, note text) with (autovacuum_enabled = off)",
        f"insert into t select i, 'n' || i from (select generate_series(1, {ROWS}) i order by random()) r",
    )
    if is_analyzed:
        pg.execute("analyze t")

    with source(pg, "t", spark) as found:
        table = found.describe()
        cut = choose(("id",), found.measure_extent(table), integer_key=True, wanted=ROWS // 64)
        assert isinstance(cut, RangeSegments)
        chosen = SegmentSet.of(range(0, cut.count, 2))
        expected = sum(cut.find_segment(key) % 2 == 0 for key in range(1, ROWS + 1))
        before = len(found.list_statements())

        counted, frame = found.count_rows(table, cut, chosen), found.read_rows(table, cut, chosen)

        assert isinstance(frame, DataFrame)
        assert counted == frame.count() == expected
        sent = found.list_statements()[before:]
        counts = -(-len(merge_ranges(cut, chosen)) // dialect.RANGES_AT_ONCE)
        assert len(sent) == counts + min(found.cores, found.connections) > counts + 1
    assert not any(" or " in one for one in sent)
    statements = reads.segment_counts(dialect, table.name, cut, chosen, ())
    halves = build_range_reads(dialect, table, cut, chosen, (), lanes=2)
    for sql in (*statements, *(half.query for half in halves)):
        with pg.connect() as opened:
            opened.execute("set jit = off")
            ((plan,),) = opened.execute(f"explain (analyze, format json) {sql}").fetchall()
        assert sum(examined(plan[0]["Plan"])) <= ROWS, plan


def examined(node: Mapping[str, Any]) -> Iterator[int]:
    """Rows that each node of a plan looked at in vain."""
    yield from (node.get(name, 0) * node["Actual Loops"] for name in _EXAMINED)
    for child in node.get("Plans", ()):
        yield from examined(child)
