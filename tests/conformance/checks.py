"""The checks that a broken encoder or digest must not pass, each by its name. They read the real functions at each call."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from hashlib import md5
from itertools import count
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from hudi_reconcile.compare import canonical_text, columns
from hudi_reconcile.core.sweep.segments import HashSegments, RangeSegments, Segmentation
from hudi_reconcile.core.tables import canonical_text as canon
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Column, Kind
from tests.conformance.cells import PAIR, twins

LEAST, GREATEST = -(2**63), 2**63 - 1
ONE_SEGMENT = HashSegments(("id",), 1, "md5")


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of the lake, values with their steps, and pairs that are the same value written in two ways."""

    name: str
    kind: Kind
    lake: T.DataType
    steps: tuple[tuple[Any, Any], ...]
    same: tuple[tuple[Any, Any], ...] = ()
    digits: tuple[int, int] | None = None

    def item(self, index: int) -> ComparedColumn:
        scale = self.digits[1] if self.digits else None
        return ComparedColumn(
            index, Column(self.name, self.kind, "", scale=scale), self.lake.simpleString(), self.digits
        )


_NOON = datetime(2024, 3, 31, 2, 30)  # noqa: DTZ001 - wall clock, in an hour that Berlin does not have
_BELOW = 2.0**1000 * (1 - 2.0**-47)  # its logarithm rounds to 1000
_SMALL = Decimal("0.000000000000000001")
_LARGE, _LARGE_NEXT = (
    Decimal("12345678901234567890.000000000000000001"),
    Decimal("12345678901234567890.000000000000000002"),
)
TYPED = (
    Typed("i8", Kind.INTEGER, T.LongType(), ((2**53, 2**53 + 1), (LEAST, LEAST + 1), (GREATEST, GREATEST - 1))),
    Typed("dec", Kind.DECIMAL, T.DecimalType(38, 18), ((_SMALL, Decimal(0)), (_LARGE, _LARGE_NEXT)), (), (38, 18)),
    Typed("txt", Kind.TEXT, T.StringType(), (("a", "A"), ("a", "a "), ("é", "e\u0301"), ("~", None), ("", None))),
    Typed("ch", Kind.CHAR, T.StringType(), (("ab", "ac"), (" a", "a")), (("ab", "ab   "), ("", "  "))),
    Typed("num", Kind.NUMBER, T.StringType(), (("1.10", "1.11"), ("10", "1")), (("1.10", "1.1"), ("-0.0", "0"), ("+1", "01"))),
    Typed("day", Kind.DATE, T.DateType(), ((date(1, 1, 1), date(1, 1, 2)), (date(9999, 12, 31), None))),
    Typed("ts", Kind.TIMESTAMP, T.TimestampNTZType(), ((_NOON, _NOON.replace(microsecond=1)),
          (datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1970, 1, 1)))),  # noqa: DTZ001
    Typed("dbl", Kind.DOUBLE, T.DoubleType(), ((5e-324, 0.0), (1.0, -1.0), (2e23, math.nextafter(2e23, 0)), (0.1, 0.1 + 2**-56),
          (_BELOW, math.nextafter(_BELOW, 0)), (2.0**-1000, math.nextafter(2.0**-1000, 0))),
          ((0.0, -0.0),)),
    Typed("flag", Kind.BOOLEAN, T.BooleanType(), ((True, False), (False, None))),
    Typed("uid", Kind.UUID, T.StringType(), (("0a", "0b"),), (("0A", "0a"),)),
    Typed("raw", Kind.BYTES, T.BinaryType(), ((b"", None), (b"\x00", b""), (b"\x7f", b"\xff"))),
)  # fmt: skip
ITEMS = tuple(typed.item(index) for index, typed in enumerate(TYPED))
ID = ComparedColumn(len(TYPED), Column("id", Kind.INTEGER, "bigint"), "bigint")
_SCHEMA = T.StructType([T.StructField("id", T.LongType()), *(T.StructField(t.name, t.lake) for t in TYPED)])


@dataclass(slots=True)
class World:
    """Where the checks run; the lake's rows are made once."""

    spark: SparkSession
    frame: Any = None
    pairs: Any = None

    def rows(self) -> Any:
        if self.frame is None:
            rows = [(n, *(_spark_value(v) for v in row)) for n, row in enumerate(all_rows())]
            self.frame = self.spark.createDataFrame(rows, _SCHEMA).coalesce(1).cache()
        return self.frame

    def twins(self) -> Any:
        if self.pairs is None:
            rows = [(n, *(row[name] for name in PAIR)) for n, row in enumerate(twin_rows())]
            self.pairs = self.spark.createDataFrame(rows, "id long, left string, right string").coalesce(1).cache()
        return self.pairs


def _spark_value(value: Any) -> Any:
    return bytearray(value) if isinstance(value, bytes) else value


def pairs() -> list[tuple[Typed, Any, Any, bool]]:
    """Column, two values, and whether they are the same value."""
    steps = [(typed, a, b, False) for typed in TYPED for a, b in typed.steps]
    return steps + [(typed, a, b, True) for typed in TYPED for a, b in typed.same]


def all_rows() -> list[tuple[Any, ...]]:
    """Two rows a pair, all else NULL."""
    return [
        tuple(value if typed is column else None for column in TYPED) for typed, a, b, _ in pairs() for value in (a, b)
    ]


def reference_texts() -> list[list[str | None]]:
    return [
        [
            canon.render_canonical_text(t.kind, v, t.digits[1] if t.digits else 0)
            for t, v in zip(TYPED, row, strict=True)
        ]
        for row in all_rows()
    ]


def twin_rows() -> list[dict[str, Any]]:
    return [row for before, after in twins() for row in (before, before | after)]


def _shape(items: tuple[ComparedColumn, ...], cut: Segmentation = ONE_SEGMENT) -> columns.ComparisonShape:
    return columns.ComparisonShape(Agreement(items, (ID,), (), ()), cut)


def _digests(frame: Any, digested: Callable[..., Any], items: tuple[ComparedColumn, ...]) -> list[int]:
    rows = digested(frame, "lake", _shape(items)).select("k0", "digest").collect()
    return [int(row["digest"]) for row in sorted(rows, key=lambda row: int(row["k0"]))]


_TWINS = tuple(ComparedColumn(place, Column(name, Kind.TEXT, "text"), "string") for place, name in enumerate(PAIR))


def _apart(digests: list[int]) -> None:
    taken = [place // 2 for place in range(0, len(digests), 2) if digests[place] == digests[place + 1]]
    assert taken == [], "different rows have one digest"


def golden_vectors(_: World) -> None:
    """The reference gives the texts that are written down."""
    for kind, form in canon.FORMS.items():
        for one in form.golden:
            assert canon.render_canonical_text(kind, one.value, one.scale) == one.text


def reference_rows_apart(_: World) -> None:
    _apart([canon.row_digest(row[name] for name in PAIR) for row in twin_rows()])


def reference_sums_apart(_: World) -> None:
    """Rows twice, rows that agree in the upper half of the digest, and rows that are missing."""
    one, two = _alike_above()
    for a, b in (([one], [two]), ([one, one], [two, two]), ([one, one], []), ([one], [one, one])):
        assert canon.sum_digests((0, n) for n in a) != canon.sum_digests((0, n) for n in b)


def spark_texts(world: World) -> None:
    found = canonical_text.add_texts(world.rows(), ITEMS, columns.name_columns("lake", ITEMS), "id").collect()
    assert [list(row)[1:] for row in sorted(found, key=lambda row: int(row["id"]))] == reference_texts()


def spark_sums(world: World) -> None:
    """Sums over many rows, among them some twice, and some that agree in the upper half."""
    frame = world.rows().unionAll(world.rows()).unionAll(world.rows())
    found = canonical_text.collect_digests(canonical_text.digest_texts(frame, "lake", _shape(ITEMS)))
    assert found == canon.sum_digests((0, canon.row_digest(texts)) for texts in reference_texts() * 3)


def spark_rows_apart(world: World) -> None:
    _apart(_digests(world.twins(), canonical_text.digest_texts, _TWINS))


def stream_rows_apart(world: World) -> None:
    _apart(_digests(world.twins(), columns.digest_rows, _TWINS))


def stream_values(world: World) -> None:
    """A step changes the digest that Spark hashes, another spelling of the same value does not."""
    digests = _digests(world.rows(), columns.digest_rows, ITEMS)
    wrong = [
        (typed.name, a, b)
        for place, (typed, a, b, same) in enumerate(pairs())
        if (digests[2 * place] == digests[2 * place + 1]) != same
    ]
    assert wrong == [], wrong


KEYS = (LEAST, LEAST + 1, -(10**18) - 1, -75, -74, -38, -37, -36, -1, 0, 1, 36, 37, 74, 10**18, GREATEST - 1, GREATEST)
CUTS = (
    RangeSegments("id", -370, 37, 20),
    RangeSegments("id", LEAST // 10**18 * 10**18, 10**18, 20),
)


def spark_segments(world: World) -> None:
    """Each key lies where the reference puts it, below zero too."""
    frame = world.spark.createDataFrame([(key,) for key in KEYS], "k0 bigint").coalesce(1)
    for cut in CUTS:
        rows = columns.add_segment(frame.select("k0"), _shape((), cut)).collect()
        assert {row["k0"]: row["segment"] for row in rows} == {key: cut.find_segment(key) for key in KEYS}


def _alike_above() -> tuple[int, int]:
    """Two digests with the same upper 30 bits, as two rows of 2^15 or so have by accident."""
    seen: dict[int, int] = {}
    for number in count():
        digest = int(md5(str(number).encode(), usedforsecurity=False).hexdigest()[: canon.DIGEST_HEX_DIGITS], 16)
        if digest >> canon.HALF_BITS in seen:
            return seen[digest >> canon.HALF_BITS], digest
        seen[digest >> canon.HALF_BITS] = digest
    raise AssertionError


CHECKS: tuple[Callable[[World], None], ...] = (
    golden_vectors, reference_rows_apart, reference_sums_apart, spark_texts, spark_sums, spark_rows_apart, stream_rows_apart,
    stream_values, spark_segments,
)  # fmt: skip
