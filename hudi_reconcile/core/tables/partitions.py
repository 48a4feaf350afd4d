"""Partition paths: how a table's rule makes them of a row, which rows a path can hold, and which paths there can be. Pure.

A path is what Hudi stores in `_hoodie_partition_path`, such as `2025-01` or `region=eu/day=2025-01-03`. What a database is
asked to leave out must never belong to the path: where that is not sure, nothing is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, PARTITION_KINDS, Column, Kind
from hudi_reconcile.core.tables.values import LakeTable, PartitionField, SourceTable

DEFAULT = "__HIVE_DEFAULT_PARTITION__"  # Hudi's word for NULL and for empty text
ESCAPED = "\x01-\x1f\"#%'*/:=?\\\\\x7f{\\[\\]^"  # inside a regular expression's brackets
_FAR_DATE = r"\+[0-9]{5,6}(-[0-9]{2}){0,2}"
_DATES = {"day": r"\d{4}-\d\d-\d\d", "month": r"\d{4}-\d\d", "year": r"\d{4}"}
_FIRST_YEAR, _LAST_YEAR = 1600, 9000  # calendars, drivers and databases agree on these
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_.@+-]+(?: [A-Za-z0-9_.@+-]+)*")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DECEMBER = 12
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PathField:
    """One part of a path: the lake's partition column, and the source's column (`c<index>` of a read) that gives it."""

    lake_name: str
    lake_type: str
    column: Column
    index: int
    transform: Literal["identity", "day", "month", "year"]


@dataclass(frozen=True, slots=True)
class PathRule:
    """How a table's paths are made of a row."""

    fields: tuple[PathField, ...]
    hive_style: bool
    encoded: bool


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """One partition of the lake at a pin. `unlike` are those of its rows whose path the rule does not give.

    `astray` are those whose derived column is not what the lake's own column, of which it is derived, gives.
    """

    path: str
    rows: int
    unlike: int = 0
    astray: int = 0


@dataclass(frozen=True, slots=True)
class IsEmpty:
    """The column is NULL, or empty text."""

    column: Column


@dataclass(frozen=True, slots=True)
class Equals:
    """The column equals this value, whatever the database's collation makes of that. Text holds no quote."""

    column: Column
    value: str | int


@dataclass(frozen=True, slots=True)
class CalendarRange:
    """The calendar column lies in `[low, high)`, microseconds of its own clock."""

    column: Column
    low_micros: int
    high_micros: int


_IN_FULL = ("identity", "day")
_CALENDAR_TYPES = frozenset({"date", "timestamp", "timestamp_ntz", "string"})

Condition = IsEmpty | Equals | CalendarRange
Near = tuple[tuple[Condition, ...], ...]


def list_whole_columns(partition_by: Sequence[PartitionField]) -> tuple[str, ...]:
    """The columns whose values the paths hold, a date by its day; of others a month or a year alone."""
    return tuple(field.column for field in partition_by if field.transform in _IN_FULL)


@dataclass(frozen=True, slots=True)
class PartitionScope:
    """The partitions that a comparison is about. `near`: which source rows may belong to them; None: any."""

    rule: PathRule
    paths: tuple[str, ...]
    near: Near | None


def derive_path_rule(
    name: str,
    source: SourceTable,
    lake: LakeTable,
    partition_by: Sequence[PartitionField],
    *,
    masked: Collection[str] = (),
) -> PathRule:
    """How the lake's paths are made of a source row.

    Raises UsageError where the table has no partitions, or where a row's path cannot be told or may not be shown.
    """
    whole = f"sweep the whole table: hudi-reconcile sweep -t {name}"
    if not lake.partition_fields:
        raise UsageError(f"table {name} has no partitions: --where-partition means nothing there", fix=whole)
    fields = tuple(_field(lake_name, source, lake, partition_by) for lake_name in lake.partition_fields)
    known = tuple(field for field in fields if field is not None)
    if len(known) < len(fields):
        unknown = ", ".join(n for n, field in zip(lake.partition_fields, fields, strict=True) if field is None)
        raise UsageError(
            f"table {name}: no source column tells a row's {unknown}, by which the lake is partitioned",
            fix=f"say how it is made with lake.partition_by, such as [month(created_at)], or {whole}",
        )
    hidden = ", ".join(
        field.column.name for field in known if field.transform in _IN_FULL and field.column.name in masked
    )
    if hidden:
        raise UsageError(f"table {name}: partitions would show values of {hidden}, which is masked", fix=whole)
    return PathRule(known, lake.path_form.hive_style, lake.path_form.encoded)


def select_derived(
    source: SourceTable, lake: LakeTable, partition_by: Sequence[PartitionField], exclude: Collection[str]
) -> PathRule | None:
    """The derived partition columns whose origin the lake holds too, as a date, a time or text; None where there is none."""
    origins = {column.name for column in lake.columns if column.type in _CALENDAR_TYPES}
    derived = (field.lake_name for field in partition_by if field.transform != "identity")
    fields = tuple(_find_field(name, source, lake, partition_by) for name in derived if name not in exclude)
    known = tuple(field for field in fields if field is not None and field.column.lake_name in origins)
    return PathRule(known, lake.path_form.hive_style, lake.path_form.encoded) if known else None


def scope_of_paths(name: str, rule: PathRule, asked: Sequence[str], lake: Sequence[PartitionRows]) -> PartitionScope:
    """The asked partitions. Raises UsageError for one that neither the lake has nor any row could have."""
    unlike = [partition for partition in lake if partition.unlike]
    whole = f"sweep the whole table: hudi-reconcile sweep -t {name}"
    if unlike:
        rows = sum(partition.unlike for partition in unlike)
        raise UsageError(
            f"table {name}: {rows} lake rows lie in other partitions than their columns tell, such as in {unlike[0].path}: "
            "it is not known how this table's paths are made",
            fix=whole,
        )
    there = {partition.path for partition in lake}
    unknown = [path for path in asked if path not in there and _values(rule, path) is None]
    if unknown:
        legal = sorted(there, reverse=True)
        shown = ", ".join(legal[:_MOST_SHOWN]) + (f" and {len(legal) - _MOST_SHOWN} more" * (len(legal) > _MOST_SHOWN))
        raise UsageError(
            f"table {name}: no row can lie in partition {', '.join(map(repr, unknown))}",
            fix=f"--where-partition takes paths as Hudi stores them: {shown or 'the lake has none yet'}",
        )
    paths = tuple(sorted(set(asked)))
    return PartitionScope(rule, paths, build_near(rule, paths))


def build_near(rule: PathRule, paths: Sequence[str]) -> Near | None:
    """Conditions (any of several, each all of its parts) that hold for every source row of these paths; None: unknown."""
    alternatives = []
    for path in paths:
        values = _values(rule, path)
        conditions = [] if values is None else [_condition(*pair) for pair in zip(rule.fields, values, strict=True)]
        known = tuple(condition for condition in conditions if condition is not None)
        if not known:
            return None
        alternatives.append(known)
    return tuple(alternatives)


def _field(
    lake_name: str, source: SourceTable, lake: LakeTable, partition_by: Sequence[PartitionField]
) -> PathField | None:
    """The part of a path as a source row tells it."""
    field = _find_field(lake_name, source, lake, partition_by)
    return field if field is not None and field.column.kind in PARTITION_KINDS else None


def _find_field(
    lake_name: str, source: SourceTable, lake: LakeTable, partition_by: Sequence[PartitionField]
) -> PathField | None:
    types = {column.name: column.type for column in lake.columns if column.stored is None}
    derived = next(
        (field for field in partition_by if field.transform != "identity" and field.lake_name == lake_name), None
    )
    for index, column in enumerate(source.columns):
        is_match = column.lake_name == lake_name if derived is None else column.name == derived.column
        if is_match and lake_name in types:
            return PathField(lake_name, types[lake_name], column, index, derived.transform if derived else "identity")
    return None


def _values(rule: PathRule, path: str) -> tuple[str | None, ...] | None:
    """The value of each field as the path writes it, None for an empty one; None where no row can have this path."""
    parts = path.split("/")
    if len(parts) != len(rule.fields):
        return None
    values: list[str | None] = []
    for field, part in zip(rule.fields, parts, strict=True):
        prefix = f"{field.lake_name}=" if rule.hive_style else ""
        if not part.startswith(prefix):
            return None
        text = part.removeprefix(prefix)
        if text == DEFAULT:
            values.append(None)
            continue
        if rule.encoded:
            if escape_value(unescape_value(text)) != text:
                return None
            text = unescape_value(text)
        if not _is_legal(field, text):
            return None
        values.append(text)
    return tuple(values)


def escape_value(text: str) -> str:
    """A value as it stands in a path that is encoded: characters that folders do not bear as `%` and two hex digits.

    >>> escape_value("a=b/c"), unescape_value("a%3Db%2Fc")
    ('a%3Db%2Fc', 'a=b/c')
    """
    return re.sub(f"[{ESCAPED}]", lambda match: f"%{ord(match[0]):02X}", text)


def unescape_value(text: str) -> str:
    """The value that `escape_value` wrote."""
    return re.sub("%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), text)


def _is_legal(field: PathField, text: str) -> bool:
    """False where no value of the column is written like this."""
    if field.transform != "identity":
        return _is_date(_DATES[field.transform], text)
    match field.column.kind:
        case Kind.INTEGER:
            return re.fullmatch(r"-?[0-9]+", text) is not None
        case Kind.BOOLEAN:
            return text in ("true", "false")
        case Kind.DATE:
            return _is_date(_DATES["day"], text)
        case _:
            return text != ""


def _is_date(shape: str, text: str) -> bool:
    """True for the text of a day, month or year, whatever the calendar's millennium."""
    if re.fullmatch(_FAR_DATE, text):
        return True
    return re.fullmatch(shape, text) is not None and _calendar(text) is not None


def _condition(field: PathField, text: str | None) -> Condition | None:
    """What the database can be asked without losing a row; None where it cannot be asked."""
    column, is_identity = field.column, field.transform == "identity"
    if text is None:
        return IsEmpty(column) if not is_identity or column.kind in _CONDITIONED else None
    if column.kind in CALENDAR_KINDS and (not is_identity or column.kind is Kind.DATE):
        shape = _DATES["day" if is_identity else field.transform]
        dates = _calendar(text) if re.fullmatch(shape, text) else None
        return None if dates is None else _build_range(column, *dates)
    if is_identity and column.kind is Kind.INTEGER and _INTEGER.fullmatch(text):
        return Equals(column, int(text))
    if is_identity and column.kind in (Kind.TEXT, Kind.CHAR) and _PLAIN_TEXT.fullmatch(text):
        return Equals(column, text)
    return None


_CONDITIONED = frozenset({Kind.INTEGER, Kind.TEXT, Kind.CHAR, Kind.DATE})


def _calendar(text: str) -> tuple[date, date] | None:
    """First day and the day after the last of a day, month or year; None where the calendar has no such thing."""
    year, month, day = (int(part) for part in [*text.split("-"), "0", "0"][:3])
    try:
        low = date(year, month or 1, day or 1)
    except ValueError:
        return None
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return (low, low)
    if day:
        return low, date.fromordinal(low.toordinal() + 1)
    if month:
        return low, date(year + month // _DECEMBER, month % _DECEMBER + 1, 1)
    return low, date(year + 1, 1, 1)


def _build_range(column: Column, low: date, high: date) -> CalendarRange | None:
    if low == high:
        return None
    first, after = (datetime(day.year, day.month, day.day, tzinfo=UTC) for day in (low, high))
    micros = [int((moment - _EPOCH).total_seconds()) * 1_000_000 for moment in (first, after)]
    return CalendarRange(column, *micros)
