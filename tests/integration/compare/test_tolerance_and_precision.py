"""Numbers that are close enough, and values that meet on fewer digits, as Spark sees them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, localcontext
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from hudi_reconcile.compare.comparer import count_hidden_rows
from hudi_reconcile.compare.equality import is_same, write_canonical
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Column, Kind
from tests.contracts.comparer import unread_lake
from tests.integration.compare.support import ALL, agreement, comparer, lake_frame, look, row, source_frame, spark_frame

INFINITY, NAN = float("inf"), float("nan")


def item(kind: Kind, lake: str, tolerance: str | None = None, **more: Any) -> ComparedColumn:
    limit = None if tolerance is None else Decimal(tolerance)
    return ComparedColumn(0, Column("c", kind, "declared"), lake, tolerance=limit, **more)


def money(tolerance: str, digits: tuple[int, int] = (12, 4)) -> ComparedColumn:
    return item(Kind.DECIMAL, "decimal", tolerance, digits=digits)


def big(tolerance: str) -> ComparedColumn:
    return item(Kind.INTEGER, "bigint", tolerance)


def double(tolerance: str, lake: str = "double") -> ComparedColumn:
    return item(Kind.DOUBLE, lake, tolerance)


def number(tolerance: str) -> ComparedColumn:
    return item(Kind.NUMBER, "string", tolerance)


D = Decimal
CASES: tuple[tuple[ComparedColumn, str, Any, str, Any, bool], ...] = (
    (money("0.01"), "decimal(12,4)", D("1.2345"), "decimal(12,2)", D("1.24"), True),
    (money("0.01"), "decimal(12,4)", D("1.00"), "decimal(12,2)", D("1.01"), True),
    (money("0.01"), "decimal(12,4)", D("-1.00"), "decimal(12,2)", D("-1.01"), True),
    (money("0.01"), "decimal(12,4)", D("1.0101"), "decimal(12,2)", D("1.00"), False),
    (money("0.010099"), "decimal(12,4)", D("1.0101"), "decimal(12,2)", D("1.00"), False),
    (money("1E+60"), "decimal(12,4)", D("1.0101"), "decimal(12,2)", D("1.0101"), True),
    (money("0"), "decimal(12,4)", D("1.10"), "decimal(12,2)", D("1.1"), True),
    (money("0.01"), "decimal(12,4)", None, "decimal(12,2)", None, True),
    (money("0.01"), "decimal(12,4)", None, "decimal(12,2)", D(0), False),
    (money("0.01"), "decimal(12,4)", D(0), "decimal(12,2)", None, False),
    (money("1", (38, 0)), "decimal(38,0)", D(10**38 - 1), "decimal(38,0)", D(10**38 - 2), True),
    (money("1", (38, 0)), "decimal(38,0)", D(10**38 - 1), "decimal(38,0)", D(10**38 - 3), False),
    (money("1", (38, 0)), "decimal(38,0)", D(10**38 - 1), "decimal(38,0)", D(1 - 10**38), False),
    (money("1E-10", (38, 10)), "decimal(38,10)", D("2E-10"), "decimal(38,10)", D("1E-10"), True),
    (money("1E-10", (38, 10)), "decimal(38,10)", D("3E-10"), "decimal(38,10)", D("1E-10"), False),
    (money("1", (38, 10)), "decimal(38,10)", D(10**28 - 1), "decimal(38,10)", D(10**28 - 2), True),
    (money("1", (38, 10)), "decimal(38,10)", D(10**28 - 1), "decimal(38,10)", D(10**28 - 3), False),
    (big("2"), "bigint", 5, "int", 7, True),
    (big("2.9"), "bigint", 5, "int", 8, False),
    (big("10"), "bigint", 2**63 - 1, "bigint", -(2**63), False),
    (double("0.01"), "double", 1.0, "double", 1.01, True),
    (double("0.01"), "double", 1.0, "double", 1.0100001, False),
    (double("0.01"), "double", INFINITY, "double", INFINITY, True),
    (double("0.01"), "double", INFINITY, "double", 1.0, False),
    (double("0.01"), "double", INFINITY, "double", -INFINITY, False),
    (double("0.01"), "double", NAN, "double", NAN, True),
    (double("0.01"), "double", NAN, "double", 1.0, False),
    (double("0.01"), "double", None, "double", 0.0, False),
    (double("0", "float"), "double", 0.1, "float", 0.1, True),
    (double("0", "float"), "double", 0.1001, "float", 0.1, False),
    (item(Kind.REAL, "float", "0.01"), "float", 0.1, "float", 0.11, True),
    (number("0.005"), "string", "1.005", "string", "1.0", True),
    (number("0.005"), "string", "1.0051", "string", "1.0", False),
    (number("0.005"), "string", "1e3", "string", "1000", False),
    (number("0.005"), "string", "NaN", "string", "NaN", True),
    (number("5"), "string", "NaN", "string", "1", False),
    (item(Kind.OWN_TEXT, "string", "2"), "string", "5", "string", "7", True),
    (item(Kind.OWN_TEXT, "string", "2"), "string", "5", "string", "8", False),
    (item(Kind.REAL, "double"), "float", 0.5, "double", 0.5, True),
    (item(Kind.DOUBLE, "float"), "double", 0.1, "float", 0.1, True),
    (item(Kind.DOUBLE, "float"), "double", 0.10001, "float", 0.1, False),
)


def test_numbers_are_the_same_within_their_tolerance_only(spark: SparkSession) -> None:
    # One query: the values come as literals, cast to the types that both sides have.
    verdicts = [
        F.expr(is_same(one, f"a{index}", f"b{index}")).alias(f"v{index}") for index, (one, *_) in enumerate(CASES)
    ]
    values = [
        F.lit(value).cast(kind).alias(f"{side}{index}")
        for index, (_, source_type, source, lake_type, lake, _) in enumerate(CASES)
        for side, value, kind in (("a", source, source_type), ("b", lake, lake_type))
    ]

    found = spark.range(1).select(*values).select(*verdicts).collect()[0]

    wrong = [case for index, case in enumerate(CASES) if found[f"v{index}"] is not case[-1]]
    assert wrong == []


@pytest.mark.parametrize(("precision", "scale", "limit"), [(38, 12, "0.000000000001"), (20, 4, "0.5")])
def test_closeness_of_decimals_is_exact(spark: SparkSession, precision: int, scale: int, limit: str) -> None:
    chance = random.Random(7)  # noqa: S311 - the same cases each time
    step = Decimal(1).scaleb(-scale)
    near = (Decimal(limit) - step, Decimal(limit), Decimal(limit) + step, -Decimal(limit), -Decimal(limit) - step)
    pairs = []
    with localcontext() as context:
        context.prec = 60
        for _ in range(100):
            first = chance.randrange(-(10 ** (precision - 1)), 10 ** (precision - 1)) * step
            pairs.append((first, first + chance.choice(near)))
        wanted = [abs(a - b) <= Decimal(limit) for a, b in pairs]
    kind = T.DecimalType(precision, scale)
    frame = spark.createDataFrame(pairs, T.StructType([T.StructField("a", kind), T.StructField("b", kind)]))
    met = is_same(money(limit, (precision, scale)), "a", "b")

    found = frame.select(F.expr(met).alias("met")).collect()

    assert [r.met for r in found] == wanted
    assert set(wanted) == {True, False}


def test_values_are_cut_never_rounded_and_rows_that_lose_by_it_are_counted(spark: SparkSession) -> None:
    numeric = Column("n", Kind.DECIMAL, "numeric(12,4)", precision=12, scale=4)
    items = (
        ComparedColumn(0, numeric, "decimal(12,2)", (14, 4), 2),
        ComparedColumn(1, Column("d", Kind.DOUBLE, "double precision"), "float"),
        ComparedColumn(2, Column("t", Kind.TIMESTAMP, "timestamp", precision=6), "timestamp_ntz", fraction_digits=3),
    )
    rows: Sequence[tuple[Any, ...]] = [
        (Decimal("1.2399"), 0.1, datetime(1969, 12, 31, 23, 59, 59, 123_900)),  # noqa: DTZ001
        (Decimal("-1.2399"), 0.5, datetime(2026, 1, 1, 0, 0, 0, 123_000)),  # noqa: DTZ001
        (Decimal("-0.0099"), NAN, datetime(2026, 1, 1, 0, 0, 0, 999_999)),  # noqa: DTZ001
        (Decimal("7.2500"), 1e300, datetime(2026, 1, 1)),  # noqa: DTZ001
        (None, None, None),
    ]
    schema = T.StructType(
        [
            T.StructField("c0", T.DecimalType(12, 4)),
            T.StructField("c1", T.DoubleType()),
            T.StructField("c2", T.TimestampNTZType()),
        ]
    )
    frame = spark.createDataFrame(rows, schema)

    cut = frame.selectExpr(*[f"{write_canonical(one, f'c{one.index}')} as v{one.index}" for one in items]).collect()

    assert [r.v0 for r in cut] == [Decimal("1.23"), Decimal("-1.23"), Decimal(0), Decimal("7.25"), None]
    assert [r.v2 and r.v2 % 1_000_000 for r in cut] == [123_000, 123_000, 999_000, 0, None]
    assert count_hidden_rows(frame, items) == {"n": 3, "d": 2, "t": 2}
    assert count_hidden_rows(frame, ()) == {}


def tolerant(**limits: str) -> Agreement:
    found = agreement()
    items = tuple(
        replace(one, tolerance=Decimal(limits[one.column.name])) if one.column.name in limits else one
        for one in found.columns
    )
    return replace(found, columns=items)


def test_findings_hold_rows_and_columns_that_are_beyond_tolerance_only(spark: SparkSession) -> None:
    source = source_frame(
        spark,
        row(id=1, num=Decimal("10.26")),
        row(id=2, num=Decimal("10.30"), dbl=2.5001),
        row(id=3, num=None),
        row(id=4, num=Decimal("10.26"), txt="other"),
        row(id=5),
    )
    lake = lake_frame(spark, *(row(id=key) for key in range(1, 6)))
    cut = HashSegments(("id",), 2)
    compares = comparer(spark, cut, tolerant(num="0.02", dbl="0.001"))
    seen = look(source, lake)

    candidates = compares.find_candidates(seen, ALL)
    judged = (
        spark_frame(compares.judge_candidates(candidates, seen, ALL, None, whole_lake=unread_lake))
        .orderBy("k0")
        .collect()
    )

    assert [(r.k0, r["columns"]) for r in judged] == [(2, ["num"]), (3, ["num"]), (4, ["txt"])]
    assert {r.kind for r in judged} == {"updated_without_watermark"}


def test_row_that_moves_within_its_tolerance_between_the_looks_was_not_unchanged(spark: SparkSession) -> None:
    lake = lake_frame(spark, row(id=1))
    compares = comparer(spark, HashSegments(("id",), 2), tolerant(num="0.02"))

    candidates = compares.find_candidates(
        look(source_frame(spark, row(id=1, txt="a", num=Decimal("10.26"))), lake), ALL
    )
    later = look(source_frame(spark, row(id=1, txt="a", num=Decimal("10.27"))), lake)

    assert compares.count(compares.judge_candidates(candidates, later, ALL, None, whole_lake=unread_lake), "kind") == {
        "moving": 1
    }
