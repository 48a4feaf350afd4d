"""Calls from Python to the JVM, and Spark's jobs: exact numbers, so they may be held to ceilings.

A sweep adds one job, by which Hudi lists the table's files: at most 3 where both sides agree, 8 where they do not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.compare.comparer import SparkComparer
from hudi_reconcile.compare.findings import Masks
from hudi_reconcile.core.sweep.segments import RangeSegments, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import READ_SEQ, LakeColumn, LakeTable
from hudi_reconcile.lake.correct import prepare
from hudi_reconcile.lake.schema import build_lake_rows
from hudi_reconcile.ports import Frame, Look
from hudi_reconcile.spark.evidence_files import SparkFiles
from tests.contracts.comparer import unread_lake
from tests.support.jvm_calls import counted_calls

KINDS = ((Kind.INTEGER, "bigint"), (Kind.TEXT, "string"), (Kind.TIMESTAMP, "timestamp_ntz"), (Kind.BOOLEAN, "boolean"))


def items(width: int) -> tuple[ComparedColumn, ...]:
    """A table's columns, each kind in turn; the first is the key."""
    kinds = [KINDS[place % len(KINDS)] for place in range(width)]
    return tuple(
        ComparedColumn(place, Column(f"col {place}", kind, "", nullable=place > 0), lake)
        for place, (kind, lake) in enumerate(kinds)
    )


def look_at(spark: SparkSession, columns: tuple[ComparedColumn, ...], *, changed: bool) -> Look:
    types = [item.lake_type for item in columns]
    ours = [f"cast(null as {kind}) as c{place}" for place, kind in enumerate(types) if place]
    theirs = [f"cast(null as {kind}) as `col {place}`" for place, kind in enumerate(types) if place]
    hudi = [f"'1' as _hoodie_{name}" for name in ("commit_seqno", "commit_time", "partition_path")]
    lake = spark.range(1, 6 if changed else 5).selectExpr("id as `col 0`", *theirs, *hudi)
    return Look(Frame(spark.range(1, 5).selectExpr("id as c0", *ours)), Frame(lake))


@pytest.mark.parametrize(("width", "clean", "dirty"), [(8, 150, 500), (50, 150, 500), (200, 150, 500)])
def test_calls_and_jobs_of_a_comparison_stay_under_their_ceiling(
    spark: SparkSession, width: int, clean: int, dirty: int
) -> None:
    columns, cut = items(width), RangeSegments("col 0", 0, 4, 2)
    agreement = Agreement(columns, columns[:1], columns[2:3], ())
    compare = SparkComparer(spark, "t", Masks({}, b""), agreement=agreement, cut=cut, files=SparkFiles(spark))
    same, other = look_at(spark, columns, changed=False), look_at(spark, columns, changed=True)

    with counted_calls(spark) as of_clean:
        assert all(one.equal for one in compare.compare_digests(same, None))
    with counted_calls(spark) as of_dirty:
        unequal = SegmentSet.of(one.segment for one in compare.compare_digests(other, None) if not one.equal)
        kept = Look(other.source, compare.keep(other.lake, unequal))
        found = compare.judge_candidates(
            compare.find_candidates(kept, unequal), kept, unequal, None, whole_lake=unread_lake
        )
        assert compare.count(found, "kind") == {"deleted": 1}
        compare.profile_drift(found, 1, timed=True, reached_micros=0)

    assert of_clean["calls"] <= clean
    assert of_dirty["calls"] <= dirty
    assert (of_clean["jobs"], of_dirty["jobs"]) == (1, 7)


@pytest.mark.parametrize(("width", "calls"), [(8, 460), (200, 1_040)])
def test_calls_of_a_correction_grow_by_three_a_column_and_its_jobs_do_not(
    spark: SparkSession, width: int, calls: int
) -> None:
    columns, cut = items(width), RangeSegments("col 0", 0, 4, 2)
    agreement = Agreement(columns, columns[:1], columns[2:3], ())
    compare = SparkComparer(spark, "t", Masks({}, b""), agreement=agreement, cut=cut, files=SparkFiles(spark))
    look, segments = look_at(spark, columns, changed=True), SegmentSet.of([0, 1, 2, 3])
    found = compare.find_candidates(look, segments)
    plan = compare.select_corrections(
        compare.judge_candidates(found, look, segments, None, whole_lake=unread_lake), None
    )
    stored = (*(LakeColumn(one.column.name, one.lake_type) for one in columns), LakeColumn(READ_SEQ, "bigint"))
    table = LakeTable("/t", "t", "copy_on_write", 9, stored, ("col 0",), (), (READ_SEQ,), "event_time")

    with counted_calls(spark) as seen:
        rechecked = compare.recheck(plan, look, segments, rows=1)
        counts = compare.count_statuses(rechecked)
        ready = compare.build_corrective(rechecked, rows=1)
        deletes = cast("DataFrame", ready.deletes).selectExpr("*", f"7L as {READ_SEQ}")
        upserts = build_lake_rows(cast("DataFrame", ready.upserts), tuple(one.column for one in columns), (), 8)
        batch = prepare(replace(ready, upserts=Frame(upserts), deletes=Frame(deletes)), table, 8)
        ends = compare.read_back(rechecked, look.lake, segments)
        assert compare.count(ends, "status") == {"failed": 1}

    assert (counts.rows, counts.deletes, counts.newest_seq) == ({"ready": 1}, 1, None)
    assert (batch.keys.there, batch.keys.new, batch.mark.text) == (1, 0, "9")
    assert seen["calls"] <= calls
    assert seen["jobs"] == 5
