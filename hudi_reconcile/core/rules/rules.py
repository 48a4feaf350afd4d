"""Rules as values: what a rules file says about one table. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any, Literal

Severity = Literal["warn", "error"]
Scalar = str | int | bool | Decimal
_DIGITS = 500  # of a share as a file may write it, and of its product with a number of rows
_SHOWN = 5  # of a list of values, in a sentence
_UNITS = (
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("min", timedelta(minutes=1)),
    ("s", timedelta(seconds=1)),
)


@dataclass(frozen=True, slots=True)
class Allow:
    """How many failed rows a rule bears: a count, or a share of the rows that it judges."""

    rows: int = 0
    share: Decimal | None = None

    def bears(self, failed_rows: int, judged_rows: int) -> bool:
        """True where so many failed rows of so many are still within the allowance.

        >>> Allow(share=Decimal("0.1")).bears(1, 10), Allow(share=Decimal("0.1")).bears(2, 10), Allow(2).bears(2, 2)
        (True, False, True)
        """
        if self.share is None:
            return failed_rows <= self.rows
        with localcontext(prec=_DIGITS):
            return failed_rows <= self.share * judged_rows

    def __str__(self) -> str:
        with localcontext(prec=_DIGITS):
            return str(self.rows) if self.share is None else f"{(self.share * 100).normalize():f}%"


@dataclass(frozen=True, slots=True)
class NotNull:
    """The column holds a value in every row."""

    column: str


@dataclass(frozen=True, slots=True)
class Unique:
    """No two rows hold the same values. A row with a NULL among them equals no other."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Values lie between the ends, both included; an end that is None is open."""

    column: str
    min: Scalar | None = None
    max: Scalar | None = None


@dataclass(frozen=True, slots=True)
class InSet:
    """Values are among these."""

    column: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """Texts hold a match of the regular expression (Java's), anywhere unless it is anchored."""

    column: str
    regex: str


@dataclass(frozen=True, slots=True)
class Sql:
    """A Spark SELECT over `{batch}` that returns the rows that are wrong."""

    query: str


@dataclass(frozen=True, slots=True)
class Gx:
    """Any expectation of Great Expectations, by its type and keyword arguments."""

    type: str
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drift:
    """The newest comparison found no drift of these kinds, and is no older than `max_age`, where that is said."""

    kinds: tuple[str, ...]
    max_age: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """The column's sum in the source and in the lake differ by no more than the tolerance."""

    column: str
    tolerance: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Freshness:
    """The greatest watermark pulled so far is no older than this."""

    max_age: timedelta


OnBatch = NotNull | Unique | ValueRange | InSet | Matches | Sql | Gx
Check = OnBatch | Drift | Total | Freshness


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a table. `quarantine`: corrections that break it are not applied. `why` is the author's own note."""

    id: str
    check: Check
    severity: Severity = "error"
    allow: Allow = Allow()
    quarantine: bool = False
    why: str = ""

    @property
    def kind(self) -> str:
        """The check's name as rules files write it."""
        return _NAMES[type(self.check)]


_NAMES: Mapping[type, str] = {
    NotNull: "not_null",
    Unique: "unique",
    ValueRange: "between",
    InSet: "in_set",
    Matches: "matches",
    Sql: "sql",
    Gx: "gx",
    Drift: "drift",
    Total: "total",
    Freshness: "freshness",
}


@dataclass(frozen=True, slots=True)
class Waiver:
    """A failure that somebody answers for. It holds before the day `expires` begins (UTC), and never from then on."""

    rule: str
    reason: str
    expires: date
    owner: str = ""

    def holds(self, today: date) -> bool:
        """True while it waives."""
        return today < self.expires


def find_day(utc_micros: int) -> date:
    """The day, in UTC, on which waivers are judged."""
    return datetime.fromtimestamp(utc_micros / 1e6, tz=UTC).date()


def list_named_columns(check: Check) -> tuple[str, ...]:
    """The columns that a check names as such; of a query, and of what needs none, nothing.

    >>> list_named_columns(Unique(("a", "b"))), list_named_columns(Gx("expect_x", {"column": "c", "min_value": 1}))
    (('a', 'b'), ('c',))
    """
    match check:
        case NotNull(column) | ValueRange(column) | InSet(column) | Matches(column) | Total(column):
            return (column,)
        case Unique(columns):
            return columns
        case Gx(_, kwargs):
            single = [kwargs[name] for name in ("column", "column_A", "column_B") if isinstance(kwargs.get(name), str)]
            several = kwargs.get("column_list")
            return (*single, *(several if isinstance(several, list) else ()))
        case _:
            return ()


ON_ONE_ROW = NotNull | ValueRange | InSet | Matches


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of one table, in the file's order. `file` is its name as people typed it."""

    table: str
    rules: tuple[Rule, ...]
    waivers: tuple[Waiver, ...] = ()
    file: str = ""


def describe_check(check: Check, *, hidden: bool = False) -> str:
    """What a check asks for, in a few words. Holds what the rules file holds and no value of a row.

    `hidden`: the column is masked, so the rule's own values, which may be those of rows, are counted and not told.

    >>> describe_check(ValueRange("amount", min=0, max=None)), describe_check(Unique(("a", "b")))
    ('amount is at least 0', 'a, b together are unique')
    >>> describe_check(InSet("email", ("a@x.org", "b@x.org")), hidden=True)
    'email is one of 2 values'
    """
    match check:
        case Sql():
            return "the query returns no row"
        case Gx(kind, kwargs):
            names = [str(kwargs[name]) for name in ("column", "column_A", "column_B", "column_list") if name in kwargs]
            return f"{kind} ({', '.join(names)})" if names else kind
        case Drift(kinds, max_age):
            fresh = "" if max_age is None else f" by a comparison at most {write_duration(max_age)} old"
            return f"no drift ({', '.join(kinds)}){fresh}"
        case Total(column, tolerance):
            return f"sum of {column} is the same on both sides{f', give or take {tolerance}' if tolerance else ''}"
        case Freshness(max_age):
            return f"newest watermark is at most {write_duration(max_age)} old"
        case _:
            return _describe_without_values(check) if hidden else _describe_with_values(check)


def write_duration(duration: timedelta) -> str:
    """A duration in the largest unit that is exact, as rules files write it.

    >>> write_duration(timedelta(hours=26)), write_duration(timedelta(days=7))
    ('26 h', '7 d')
    """
    for unit, size in _UNITS:
        if duration and not duration % size:
            return f"{duration // size} {unit}"
    return f"{duration // timedelta(milliseconds=1)} ms" if duration else "0 s"


def _describe_without_values(check: NotNull | Unique | ValueRange | InSet | Matches) -> str:
    match check:
        case ValueRange(column, low, high):
            ends = ["at least a value"] * (low is not None) + ["at most a value"] * (high is not None)
            return f"{column} is {' and '.join(ends)}"
        case InSet(column, values):
            return f"{column} is one of {len(values)} value{'s' * (len(values) != 1)}"
        case Matches(column):
            return f"{column} matches a pattern"
        case _:
            return _describe_with_values(check)


def _describe_with_values(check: NotNull | Unique | ValueRange | InSet | Matches) -> str:
    match check:
        case NotNull(column):
            return f"{column} is not null"
        case Unique(columns):
            return f"{', '.join(columns)} together are unique" if len(columns) > 1 else f"{columns[0]} is unique"
        case ValueRange(column, low, high):
            ends = [f"at least {_text(low)}"] * (low is not None) + [f"at most {_text(high)}"] * (high is not None)
            return f"{column} is {' and '.join(ends)}"
        case InSet(column, values):
            more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
            return f"{column} is one of {', '.join(map(_text, values[:_SHOWN]))}{more}"
        case Matches(column, regex):
            return f"{column} matches {regex}"


def _text(value: Scalar | None) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
