"""Digests are equal exactly where the data are equal; Spark's segments are Python's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from hudi_reconcile.compare.columns import ComparisonShape, name_columns, write_segment, write_segment_test
from hudi_reconcile.compare.equality import write_row_digest
from hudi_reconcile.compare.findings import write_action, write_kind
from hudi_reconcile.core.pull.cursor import Mark
from hudi_reconcile.core.sweep.drift import Facts, PendingRange, choose_repair, classify
from hudi_reconcile.core.sweep.segments import MAX_SEGMENTS, HashSegments, KeyExtent, RangeSegments, SegmentSet, choose
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.ports import Frame
from tests.integration.compare.support import (
    COLUMNS,
    UUID,
    agreement,
    comparer,
    lake_frame,
    look,
    row,
    source_frame,
    spark_frame,
)

NAN = float("nan")
NTZ = datetime(2026, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001
ONE_STEP: list[dict[str, Any]] = [
    {"id": 2},
    {"id": 2**53 + 1},
    {"small": 8},
    {"num": Decimal("10.26")},
    {"num": Decimal("-10.25")},
    {"flag": False},
    {"flag": None},
    {"a.b": "Dot"},
    {"txt": ""},
    {"txt": None},
    {"txt": "text "},
    {"txt": "te\u0301xt"},
    {"txt": "t\u00e9xt"},
    {"txt": " text"},
    {"a.b": None, "txt": "dot"},
    {"a.b": "text", "txt": None},
    {"a.b": "dott", "txt": "ext"},
    {"ch": "abc"},
    {"ch": " ab"},
    {"ch": None},
    {"uid": UUID[:-1] + "c"},
    {"raw": bytearray(b"\x00")},
    {"raw": bytearray(b"")},
    {"raw": bytearray(b"\xff\x00")},
    {"raw": None},
    {"day": date(2026, 1, 3)},
    {"day": None},
    {"ts": NTZ.replace(microsecond=7)},
    {"ts": None},
    {"tz": datetime(2026, 1, 2, 3, 4, 5, 7, tzinfo=UTC)},
    {"re": 1.5000001192092896},
    {"re": 0.0},
    {"re": NAN},
    {"re": None},
    {"dbl": 2.5000000000000004},
    {"dbl": 0.0},
    {"dbl": NAN},
    {"dbl": float("inf")},
    {"dbl": float("-inf")},
    {"dbl": None},
    {"small": None},
    {"num": None},
]


def digests(side: Any, frame: Any, found: Agreement) -> list[int]:
    shape = ComparisonShape(found, HashSegments(("id",), 1))
    digest = write_row_digest(shape.agreement.columns, name_columns(side, shape.agreement.columns))
    return [item["digest"] for item in spark_frame(frame).coalesce(1).selectExpr(f"{digest} as digest").collect()]


def test_digest_changes_with_every_smallest_change_and_is_the_same_on_both_sides(spark: SparkSession) -> None:
    rows = [row(), *(row(**change) for change in ONE_STEP)]

    ours = digests("source", source_frame(spark, *rows), agreement())
    theirs = digests("lake", lake_frame(spark, *rows), agreement())

    assert ours == theirs
    same = {str(ONE_STEP[place - 1]): value for place, value in enumerate(ours) if ours.count(value) > 1}
    assert same == {}


def test_values_that_are_equal_have_one_digest_however_they_are_kept(spark: SparkSession) -> None:
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"dbl": -0.0}, {"dbl": 0.0}),
        ({"re": -0.0}, {"re": 0.0}),
        ({"dbl": NAN}, {"dbl": -NAN}),
        ({"ch": "ab"}, {"ch": "ab   "}),
        ({"ch": ""}, {"ch": "     "}),
        ({"uid": UUID}, {"uid": UUID.upper()}),
        ({"num": Decimal("1.10")}, {"num": Decimal("1.1")}),
        ({"num": Decimal("0.00")}, {"num": Decimal("-0.0")}),
        ({"small": 7}, {"small": 7}),
        ({"ts": NTZ}, {"ts": NTZ.replace(tzinfo=UTC)}),
    ]
    types: dict[str, T.DataType] = {
        "num": T.DecimalType(20, 5), "small": T.LongType(), "id": T.IntegerType(), "ts": T.TimestampType(),
    }  # fmt: skip
    found = agreement(digits=(20, 5))
    theirs = [row(**{"ts": NTZ.replace(tzinfo=UTC), **right}) for _, right in pairs]

    source = digests("source", source_frame(spark, *(row(**left) for left, _ in pairs)), found)
    lake = digests("lake", lake_frame(spark, *theirs, types=types), found)

    assert [pairs[i] for i, (one, other) in enumerate(zip(source, lake, strict=True)) if one != other] == []


def test_null_of_the_lake_in_a_column_that_is_not_null_at_the_source_is_seen(spark: SparkSession) -> None:
    strict = agreement()
    columns = tuple(replace(item, column=replace(item.column, nullable=False)) for item in strict.columns)
    found = replace(strict, columns=columns)
    names = [column.name for column, _, _ in COLUMNS if column.name != "id"]

    ours = digests("source", source_frame(spark, row()), found)
    theirs = digests("lake", lake_frame(spark, row(), *(row(**{name: None}) for name in names)), found)

    assert theirs[0] == ours[0]
    assert ours[0] not in theirs[1:]


def test_segments_that_differ_in_one_row_are_unequal_and_no_others(spark: SparkSession) -> None:
    ids = range(40)
    cut = RangeSegments("id", 0, 10, 4)
    changed = [row(id=i, txt="changed" if i == 15 else "text") for i in ids if i != 31]

    found = comparer(spark, cut).compare_digests(
        look(source_frame(spark, *(row(id=i) for i in ids)), lake_frame(spark, *changed)), None
    )

    assert [(d.segment, d.source_rows, d.lake_rows, d.equal) for d in found] == [
        (0, 10, 10, True), (1, 10, 10, False), (2, 10, 10, True), (3, 10, 9, False),
    ]  # fmt: skip


def test_values_swapped_between_two_rows_of_a_segment_do_not_cancel(spark: SparkSession) -> None:
    source = source_frame(spark, row(id=1, txt="a"), row(id=2, txt="b"))
    lake = lake_frame(spark, row(id=1, txt="b"), row(id=2, txt="a"))

    (found,) = comparer(spark, RangeSegments("id", 0, 10, 1)).compare_digests(look(source, lake), None)

    assert not found.equal


def _quoted(frame: DataFrame) -> list[str]:
    return [f"`{name}`" for name in frame.columns]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_segment_of_many_rows_is_summed_without_overflow(spark: SparkSession, ansi: str) -> None:
    rows = 2**16 + 5_000
    one, other = spark_frame(source_frame(spark, row(id=1))), spark_frame(lake_frame(spark, row(id=1)))
    source = one.drop("c0").crossJoin(spark.range(rows).toDF("c0")).select(*_quoted(one))
    lake = other.drop("id").crossJoin(spark.range(rows).toDF("id")).select(*_quoted(other))
    changed = lake.where("id <> 77").unionByName(spark_frame(lake_frame(spark, row(id=77, txt="changed"))))
    compare, before = comparer(spark, RangeSegments("id", 0, 2**20, 1)), spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        (equal,) = compare.compare_digests(look(Frame(source), Frame(lake)), None)
        (unequal,) = compare.compare_digests(look(Frame(source), Frame(changed)), None)
        (whole,) = compare.digest_texts(Frame(lake))
        quarters = [compare.digest_texts(Frame(lake.where(f"id % 4 = {rest}")))[0] for rest in range(4)]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))

    # What wraps in the whole does not in its quarters.
    assert (whole.high, whole.low) == (sum(one.high for one in quarters), sum(one.low for one in quarters))
    assert (equal.source_rows, equal.lake_rows, equal.equal) == (rows, rows, True)
    assert (unequal.source_rows, unequal.lake_rows, unequal.equal) == (rows, rows, False)


def test_row_that_the_lake_holds_twice_and_the_source_lacks_elsewhere_does_not_cancel(spark: SparkSession) -> None:
    source = source_frame(spark, row(id=1), row(id=2))
    lake = lake_frame(spark, row(id=1), row(id=1))

    (found,) = comparer(spark, RangeSegments("id", 0, 10, 1)).compare_digests(look(source, lake), None)

    assert (found.source_rows, found.lake_rows, found.equal) == (2, 2, False)


def test_segment_of_a_key_in_spark_is_the_one_in_python(spark: SparkSession) -> None:
    least, greatest = -(2**63), 2**63 - 1
    keys = [
        None, least, least + 1, -(2**62), -(10**9), -65, -64, -63, -1, 0, 1, 63, 64, 65, 10**9, 2**53 + 1, 2**62,
        greatest - 1, greatest,
    ]  # fmt: skip
    extents = [
        (least, greatest),
        (0, 100),
        (-100, -1),
        (least, least),
        (greatest, greatest),
        (-5, greatest),
        (least, 7),
    ]
    cuts = [
        choose(("id",), KeyExtent(low, high, 1), integer_key=True, wanted=wanted)
        for (low, high), wanted in product(extents, (1, 3, 64, 16_384))
    ]
    frame = spark.createDataFrame([(key,) for key in keys], "k0 bigint").coalesce(1)

    found = frame.selectExpr(*[write_segment(ComparisonShape(agreement(), cut)) for cut in cuts]).collect()

    for place, cut in enumerate(cuts):
        assert isinstance(cut, RangeSegments)
        assert [item[place] for item in found] == [cut.find_segment(key) for key in keys], cut


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(
    "ids",
    [
        (),
        (7,),
        range(0, 200, 2),
        range(101),
        range(0, 16_385, 2),
        range(1, 16_384),
        (*range(59, 300, 60), *range(900, 1020)),
        range(0, 16_384, 100),
    ],
    ids=lambda ids: f"{len(ids)}",
)
def test_rows_of_some_segments_are_those_rows_and_no_others(spark: SparkSession, ids: Sequence[int], ansi: str) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        rows = spark.range(MAX_SEGMENTS + 1).selectExpr("cast(id as int) as segment")
        found = rows.where(write_segment_test("segment", SegmentSet.of(ids))).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))

    assert [item.segment for item in found] == list(ids)


ENDS = (
    None, PendingRange(None), PendingRange(Mark(10)), PendingRange(Mark(10), 12), PendingRange(Mark(4), 10),
    PendingRange(Mark(10, 5)), PendingRange(Mark(10, 5), 12), PendingRange(Mark(5), by_id=True),
    PendingRange(None, by_id=True), PendingRange(Mark(10), with_ties=True), PendingRange(Mark(10, 5), 12, with_ties=True),
)  # fmt: skip


def test_kinds_and_actions_in_spark_are_those_of_the_decision_table(spark: SparkSession) -> None:
    micros = (None, 5, 10, 15)
    grid = [
        Facts(*values, end, source_id)
        for values in product((True, False), (0, 1, 2), (True, False), (True, False), micros, micros)
        for end, source_id in product(ENDS, (None, 4, 5, 6))
    ]
    schema = "in_source boolean, lake_copies bigint, equal boolean, unchanged boolean, source_micros bigint, lake_micros bigint"
    for end in ENDS:
        facts = [item for item in grid if item.pending == end]
        rows = [
            (f.in_source, f.lake_copies, f.equal, f.unchanged, f.source_micros, f.lake_micros, f.source_id)
            for f in facts
        ]
        judged = spark.createDataFrame(rows, f"{schema}, source_id bigint").coalesce(1)

        found = judged.selectExpr(f"{write_kind(end)} as kind", f"{write_action(write_kind(end))} as action").collect()

        expected = [(classify(item).value, choose_repair(classify(item)).value) for item in facts]
        wrong = {str(f): (tuple(got), e) for f, got, e in zip(facts, found, expected, strict=True) if tuple(got) != e}
        assert wrong == {}
