"""Partition paths: whatever a row holds, its own path is legal, and the database is never told to leave the row out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.partitions import (
    DEFAULT,
    CalendarRange,
    Condition,
    Equals,
    IsEmpty,
    PathField,
    PathRule,
    build_near,
    escape_value,
    scope_of_paths,
    unescape_value,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CUT = {"day": 10, "month": 7, "year": 4}
FIRST, LAST = EPOCH.replace(year=1, tzinfo=None), EPOCH.replace(year=9999, month=12, day=31, tzinfo=None)
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.TEXT: st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8),
    Kind.CHAR: st.text("ab =/%'", max_size=4),
    Kind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Kind.BOOLEAN: st.booleans(),
    Kind.DATE: st.datetimes(FIRST, LAST).map(lambda found: found.replace(hour=0, minute=0, second=0, microsecond=0)),
    Kind.TIMESTAMP: st.datetimes(FIRST, LAST),
}


def field(index: int, kind: Kind, transform: Any) -> PathField:
    return PathField(f"p{index}", "string", Column(f"c{index}", kind, kind.value), index, transform)


@st.composite
def placed(draw: st.DrawFn) -> tuple[PathRule, tuple[Any, ...]]:
    """A rule, and a row's values of its columns; None is NULL."""
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    fields = []
    for index, kind in enumerate(kinds):
        derived = kind is Kind.TIMESTAMP or (kind is Kind.DATE and draw(st.booleans()))
        fields.append(field(index, kind, draw(st.sampled_from(["day", "month", "year"])) if derived else "identity"))
    values = tuple(draw(st.none() | VALUES[kind]) for kind in kinds)
    return PathRule(tuple(fields), draw(st.booleans()), draw(st.booleans())), values


def path_of(rule: PathRule, values: tuple[Any, ...]) -> str:
    """The model: what `lake/hudi_lake.py` says in Spark."""
    parts = []
    for one, value in zip(rule.fields, values, strict=True):
        text = spelled(one, value)
        shown = DEFAULT if not text else escape_value(text) if rule.encoded else text
        parts.append(f"{one.lake_name}={shown}" if rule.hive_style else shown)
    return "/".join(parts)


def spelled(one: PathField, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()[: CUT.get(one.transform, 10)]
    return str(value).lower() if isinstance(value, bool) else str(value)


def holds(condition: Condition, value: Any) -> bool:
    """The condition as a database answers it."""
    if isinstance(value, datetime):
        value = (value.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    match condition:
        case IsEmpty():
            return value in (None, "")
        case Equals(_, wanted):
            return bool(value == wanted)
        case CalendarRange(_, low, high):
            return value is not None and low <= value < high


@given(placed())
def test_row_is_never_left_out_of_its_own_partition(found: tuple[PathRule, tuple[Any, ...]]) -> None:
    rule, values = found

    conditions = build_near(rule, (path_of(rule, values),))

    if conditions is not None:
        by_column = {one.column.name: value for one, value in zip(rule.fields, values, strict=True)}
        assert all(holds(one, by_column[one.column.name]) for one in conditions[0]), (conditions, values)


@given(placed())
def test_path_of_a_row_is_one_that_may_be_asked_for(found: tuple[PathRule, tuple[Any, ...]]) -> None:
    rule, values = found
    path = path_of(rule, values)

    # Without encoding a slash in a value makes a path of more parts; the lake lists such a one.
    if rule.encoded or path.count("/") == len(rule.fields) - 1:
        assert scope_of_paths("t", rule, [path], ()).paths == (path,)


@given(st.text(st.characters(codec="utf-8")))
def test_escaped_text_is_one_folder_and_comes_back(text: str) -> None:
    assert unescape_value(escape_value(text)) == text
    assert not set(escape_value(text)) & set("/=:")
