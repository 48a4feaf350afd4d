"""Values of every kind, and for each the values that are one step away: what must be equal, and what must be found."""

from __future__ import annotations

import math
import random
import struct
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.kinds import Kind

SEED = 20261121
EXACT = Context(prec=100)
MICRO = timedelta(microseconds=1)
Step = tuple[Any, Any]
"""A value and one that is a single step away from it."""


@dataclass(frozen=True, slots=True)
class Sql:
    """A value of a kind that Python has no value for, as the engine's own SQL."""

    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """A column: how its type is declared, its kind, and its values with their steps."""

    name: str
    declared: str
    kind: Kind
    steps: tuple[Step, ...]
    scale: int = 0

    @property
    def is_sql(self) -> bool:
        """Python has no values for it, so that no reference has either."""
        return any(isinstance(was, Sql) for was, _ in self.steps)

    def cells(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Rows before and after; a NULL that gets a value and a value that becomes NULL are among them."""
        first = self.steps[0][0]
        pairs = (*self.steps, (None, first), (first, None))
        return [({self.name: was}, {self.name: now}) for was, now in pairs]


def golden(kind: Kind) -> tuple[Any, ...]:
    return tuple(one.value for one in canonical_text.FORMS[kind].golden)


def integers(low: int, high: int) -> tuple[Step, ...]:
    tens = [sign * 10**n for n in range(1, 20, 3) for sign in (1, -1)]
    edges = {0, 1, -1, 7, -7, 2**53 + 1, -(2**53) - 1, low, low + 1, high, high - 1, *tens}
    values = sorted(value for value in edges if low <= value <= high)
    return tuple((value, value + 1 if value < high else value - 1) for value in values)


def signed(bits: int) -> tuple[Step, ...]:
    return integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(precision: int, scale: int, *, unsigned: bool = False) -> tuple[Step, ...]:
    """The last digit changes, and the sign."""
    most, drawn = 10**precision - 1, random.Random(SEED)  # noqa: S311 - test data
    whole = {0, 1, -1, 10, 7 * 10**scale, most, -most, *(drawn.randint(-most, most) for _ in range(6))}
    kept = sorted(n for n in whole if abs(n) <= most and not (unsigned and n < 0))
    turned = [(n, -n) for n in kept if n > 0 and not unsigned]
    return tuple(
        (Decimal(was).scaleb(-scale, EXACT), Decimal(now).scaleb(-scale, EXACT))
        for was, now in (*((n, n - 1 if n == most else n + 1) for n in kept), *turned)
    )


def numbers(texts: Iterable[tuple[str, str]]) -> tuple[Step, ...]:
    return tuple(texts)


TEXTS = (
    "a", "", " ", "a ", "ab", "~", "NULL", "null", "1:a", "0:", "3:a:b", "a|b", "é", "e\u0301", "ß", "İ", "中文", "😀",
    "\t", "a\n", "\x01\r\x7f", "'\"\\`", "%s :x {}", "x" * 300, "é" * 100,
)  # fmt: skip


def texts(values: Sequence[str] = TEXTS, *, most: int = 400, holds: str = "utf-8") -> tuple[Step, ...]:
    """A blank at the end, another case, another Unicode form, a letter less."""
    steps: list[Step] = []
    for value in values:
        decomposed = unicodedata.normalize("NFD", value)
        others = {value + " ": None, value.swapcase(): None, decomposed: None, value[:-1]: None}
        steps += [(value, other) for other in others if other != value and len(other) <= most]
    return tuple(step for step in steps if all(_encodable(one, holds) for one in step))


def _encodable(value: str, encoding: str) -> bool:
    try:
        return value.encode(encoding).decode(encoding) == value
    except UnicodeError:
        return False


def padded(holds: str = "utf-8") -> tuple[Step, ...]:
    """char(8): blanks at the end are padding, so no step is one of them."""
    steps = [("ab", "aB"), ("ab  ", "ac"), ("", "a"), (" a", "a"), ("é", "e"), ("12345678", "12345679"), ("\t", "")]
    return tuple(step for step in steps if all(_encodable(one, holds) for one in step))


def days(holds: Callable[[date], bool] = lambda _: True) -> tuple[Step, ...]:
    values = (*golden(Kind.DATE), date(1582, 10, 4), date(1582, 10, 10), date(1582, 10, 15), date(1900, 2, 28),
              date(1969, 12, 31), date(2000, 2, 29), date(2026, 11, 21))  # fmt: skip
    steps = [(day, day - timedelta(1) if day == date.max else day + timedelta(1)) for day in values]
    return tuple(step for step in steps if holds(step[0]) and holds(step[1]))


def times(
    holds: Callable[[datetime], bool] = lambda _: True, *, step: timedelta = MICRO, zoned: bool = False
) -> tuple[Step, ...]:
    """Beside the golden ones: the hours that zones repeat and skip, ends of centuries and of days, and old zones."""
    spring, autumn = datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 2, 30)  # noqa: DTZ001 - wall clock
    usual = [
        datetime(year, month, day, 23, 59, 59, micros)  # noqa: DTZ001
        for year, month, day in ((1, 1, 1), (1500, 3, 1), (1582, 10, 9), (1883, 11, 18), (1969, 12, 31), (2038, 1, 18))
        for micros in (0, 1, 499_999, 999_999)
    ]
    known = [value.replace(tzinfo=None) for kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ) for value in golden(kind)]
    values = [value for value in (*known, *usual, spring, autumn) if step == MICRO or not value.microsecond]
    pairs = [(v, v - step if v.year == date.max.year else v + step) for v in values]
    held = [pair for pair in pairs if holds(pair[0]) and holds(pair[1])]
    return tuple((was.replace(tzinfo=UTC), now.replace(tzinfo=UTC)) for was, now in held) if zoned else tuple(held)


def uuids() -> tuple[Step, ...]:
    return tuple((value.lower(), value.lower()[:-1] + "0") for value in golden(Kind.UUID))


def binary() -> tuple[Step, ...]:
    values = (*golden(Kind.BYTES), b"\xff\xfe", bytes(range(256)), b"ab")
    longer = [(value, value + b"\x00") for value in values]
    return (*longer, (b"ab", b"aB"), (b"\x7f", b"\x80"), (b"\x00", b""))


def doubles(holds: Callable[[float], bool] = lambda _: True) -> tuple[Step, ...]:
    """One unit in the last place up and down, and the sign; zero has none."""
    powers = [
        math.ldexp(1.0, e) for e in (-1074, -1073, -1023, -1022, -1021, -149, -1, 0, 1, 52, 53, 62, 63, 127, 1023)
    ]
    bits = random.Random(SEED)  # noqa: S311 - test data
    drawn = [struct.unpack(">d", struct.pack(">Q", bits.getrandbits(64)))[0] for _ in range(20)]
    values = [*golden(Kind.DOUBLE), 0.1 + 0.2, 2e23, *powers, *(math.nextafter(p, 0) for p in powers[3:]), *drawn]
    return _floats(values, math.nextafter, holds)


def reals(holds: Callable[[float], bool] = lambda _: True) -> tuple[Step, ...]:
    bits = random.Random(SEED)  # noqa: S311 - test data
    drawn = [struct.unpack(">f", struct.pack(">I", bits.getrandbits(32)))[0] for _ in range(20)]
    values = [*golden(Kind.REAL), single(0.1), single(123456.789), 2.0**-126, single(3.4028234663852886e38), *drawn]
    return _floats(values, next_single, holds)


def single(value: float) -> float:
    (found,) = struct.unpack(">f", struct.pack(">f", value))
    return float(found)


def next_single(value: float, toward: float) -> float:
    if value == 0:
        return math.copysign(2.0**-149, toward)
    (bits,) = struct.unpack(">i", struct.pack(">f", abs(value)))
    grows = (toward > value) == (value > 0)
    (found,) = struct.unpack(">f", struct.pack(">i", bits + (1 if grows else -1)))
    return math.copysign(found, value)


def _floats(
    values: Iterable[float], near: Callable[[float, float], float], holds: Callable[[float], bool]
) -> tuple[Step, ...]:
    steps: list[Step] = []
    for value in values:
        if value != value:  # noqa: PLR0124 - the definition of NaN
            steps.append((value, math.inf))
            continue
        others = [] if math.isinf(value) else [near(value, math.inf), near(value, -math.inf)]
        steps += [(value, other) for other in (*others, -value) if other != value]
    return tuple(step for step in steps if holds(step[0]) and holds(step[1]))


PAIR = ("left", "right")
# Rows that a careless row text takes for one another: each field must say where it ends, and NULL must be no word.
_TWINS: tuple[tuple[tuple[str | None, str | None], tuple[str | None, str | None]], ...] = (
    ((None, "x"), ("x", None)),
    (("a|b", "c"), ("a", "b|c")),
    (("a,b", "c"), ("a", "b,c")),
    (("ab", "c"), ("a", "bc")),
    (("1:a", "b"), ("1", "a:b")),
    (("a1:b", ""), ("a", "1:b")),
    (("a", "1:b"), ("a1:b", "")),
    (("", "a"), ("a", "")),
    ((canonical_text.NULL_FIELD, None), (None, canonical_text.NULL_FIELD)),
    ((canonical_text.NULL_FIELD, "NULL"), (None, None)),
    ((None, None), ("", "")),
    (("", None), (None, "")),
    (("NULL", "~"), (None, None)),
    (("\\N", "0:"), (None, "")),
    (("x", "y"), ("y", "x")),
    (("x", "x"), ("y", "y")),
    (("é", "e"), ("e", "é")),
)


def twins(holds: str = "utf-8") -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows of two text columns; only the columns that change stand in the second part."""
    found = []
    for was, now in _TWINS:
        if all(_encodable(text, holds) for text in (*was, *now) if text):
            after = {name: b for name, a, b in zip(PAIR, was, now, strict=True) if a != b}
            found.append((dict(zip(PAIR, was, strict=True)), after))
    return found
