"""PURE: rules between the keys of one table's entry, and the spelling of `lake.partition_by`.

They report beside wrong values, so that everything that is wrong is shown at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

from hudi_reconcile.config.fields import Finding, Raw
from hudi_reconcile.core.tables.partitions import list_whole_columns
from hudi_reconcile.core.tables.values import PartitionField

Strategy = Literal["incrementing", "timestamp", "timestamp+incrementing", "full", "xmin"]
_NEEDS_WATERMARK = ("timestamp", "timestamp+incrementing")
_NEEDS_INCREMENTING = ("incrementing", "timestamp+incrementing")
_BY_VERSION = "xmin"
# What a strategy does not look at: beside it such a key would be a promise that is not kept.
_NUMBERS = "goes by the database's own numbers"
_IDLE = {
    _BY_VERSION: dict.fromkeys(("watermark", "incrementing", "overlap"), _NUMBERS),
    "timestamp": {"incrementing": "goes by `watermark` alone (timestamp+incrementing goes by both)"},
    "incrementing": {"watermark": "goes by `incrementing` alone (timestamp+incrementing goes by both)",
                     "overlap": "goes by a number, and an overlap is a time"},
    "full": {"incrementing": "reads every row", "overlap": "reads every row"},
}  # fmt: skip


def default_strategy(watermark: object, incrementing: object) -> Strategy:
    """The strategy that the given columns allow: what is there is used, `full` where there is none."""
    if watermark:
        return "timestamp+incrementing" if incrementing else "timestamp"
    return "incrementing" if incrementing else "full"


def pull_findings(pull: Raw) -> Iterator[Finding]:
    """A named strategy needs its columns."""
    strategy = pull.text("strategy")
    if strategy in _NEEDS_WATERMARK and not pull.get("watermark"):
        yield ("strategy",), f"{strategy} needs `watermark`, the columns that hold a row's change time"
    if strategy in _NEEDS_INCREMENTING and not pull.get("incrementing"):
        yield ("strategy",), f"{strategy} needs `incrementing`, the column that only grows"
    # A strategy that lacks its own column is wrong itself: what is idle beside it may be what is meant.
    lacks = strategy == "incrementing" and not pull.get("incrementing")
    for name, why in () if lacks else _IDLE.get(strategy or "", {}).items():
        if pull.get(name) and not _is_no_time(pull.get(name)):
            yield (name,), f"says nothing beside strategy {strategy}, which {why}; remove it, or change the strategy"
    ordered = pull.get("watermark") or pull.get("incrementing") or strategy == _BY_VERSION
    if pull.get("limit") is not None and not ordered:
        yield ("limit",), "needs an order: name `watermark` or `incrementing`"
    lone = [key for key in ("most_pages", "stop_after") if pull.get(key) is not None and pull.get("limit") is None]
    yield from (((name,), "needs `limit`: a pull ends between two pages") for name in lone)


_BESIDE, _WITHOUT = "says nothing beside", "says nothing without"


def _is_no_time(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"0+(ms|s|m|h|d)", value) is not None


def table_findings(table: Raw) -> Iterator[Finding]:
    """A query is fetched in full; columns that the tool must show or read are carried, compared and unmasked."""
    source, pull = table.section("source"), table.section("pull")
    yield from idle_findings(table)
    yield from _query_findings(source, pull)
    yield from _quarantine_findings(table)
    keys = {name.lower(): "a key column" for name in source.texts("key")}
    needed = {**_moving_columns(pull), **keys}
    places = set(_partition_columns(table.section("lake")))
    for column in (name for name in table.keys("mask") if table.section("mask").get(name) != "show"):
        # Findings show keys and partition paths, the result shows the checkpoint: a mask on one would be a promise not kept.
        if role := needed.get(column.lower()):
            yield ("mask", column), f"is {role}, which findings and checkpoints show; it cannot be masked"
        elif column.lower() in places:
            yield (
                ("mask", column),
                "is a partition column, which the lake's paths and findings show; it cannot be masked",
            )
    yield from _mask_findings(table.keys("mask"))
    for index, column in enumerate(table.section("compare").texts("exclude")):
        if column.lower() in keys:
            yield ("compare", "exclude", index), "is a key column; rows are found by it"
    yield from _tolerance_findings(table.section("compare"), needed)
    columns = {name.lower() for name in source.texts("columns")}
    for column, role in needed.items() if columns else ():
        if column not in columns:
            yield ("source", "columns"), f"leaves out `{column}`, {role}"
    yield from _find_absent_masks(table, columns | set(needed) | places if columns else set())


def idle_findings(table: Raw) -> Iterator[Finding]:
    """Keys that say nothing without another key. Of `defaults` a table inherits none of them: they are for the other tables."""
    pull, lake, policy = table.section("pull"), table.section("lake"), table.section("policy")
    if pull.get("overlap") and not pull.get("strategy") and not _is_no_time(pull.get("overlap")):
        strategy = default_strategy(pull.get("watermark"), pull.get("incrementing"))
        if why := _IDLE.get(strategy, {}).get("overlap"):
            yield (
                ("pull", "overlap"),
                f"{_BESIDE} strategy {strategy}, which {why}; remove it, or name `pull.watermark`",
            )
    if pull.get("watermark_text") is True and pull.get("strategy") not in _NEEDS_WATERMARK:
        if pull.get("strategy") == _BY_VERSION:
            yield ("pull", "watermark_text"), f"{_BESIDE} strategy {_BY_VERSION}, which {_NUMBERS}; remove it"
        elif not pull.get("watermark"):
            yield ("pull", "watermark_text"), f"{_WITHOUT} `pull.watermark`; remove it, or name the text column there"
    if lake.get("cdc_logging") not in (None, "data_before_after") and lake.get("cdc") is not True:
        yield ("lake", "cdc_logging"), f"{_WITHOUT} `lake.cdc`; remove it, or add `cdc: true`"
    if policy.get("approver") not in (None, "other") and policy.get("require_approval") is not True:
        needed = "`policy.require_approval`; remove it, or add `require_approval: true`"
        yield ("policy", "approver"), f"{_WITHOUT} {needed}"
    yield from _uncarried_tolerances(table)


def _uncarried_tolerances(table: Raw) -> Iterator[Finding]:
    """Tolerances of columns that are not read. What moves pulls, finds rows or makes partitions is read all the same."""
    columns = {name.lower() for name in table.section("source").texts("columns")}
    carried = columns | set(_moving_columns(table.section("pull"))) | set(_place_columns(table.section("lake")))
    carried |= {name.lower() for name in table.section("source").texts("key")}
    # Defaults are laid out before references are filled in: what one of those names is not known yet.
    is_known = bool(columns) and not any("${" in name for name in carried)
    for column in table.section("compare").keys("tolerance") if is_known else ():
        if column.lower() not in carried:
            said = "is for a column that `source.columns` leaves out; remove it, or add the column there"
            yield ("compare", "tolerance", column), said


def _find_absent_masks(table: Raw, known: set[str]) -> Iterator[Finding]:
    """Masks on columns that `source.columns` leaves out: they would hide nothing. Where none is known, nothing is said."""
    for column in table.keys("mask"):
        if known and column.lower() not in known:
            yield (
                ("mask", column),
                "is none of the columns that `source.columns` carries; correct the name, or remove it",
            )


def _mask_findings(masked: tuple[str, ...]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for column in masked:
        if (first := seen.setdefault(column.lower(), column)) != column:
            yield ("mask", column), f"is {first} once more, for case does not count; say one of the two"


def _query_findings(source: Raw, pull: Raw) -> Iterator[Finding]:
    if not source.text("query"):
        return
    implied = "incremental" if pull.get("watermark") or pull.get("incrementing") else "full"
    if (pull.get("strategy") or implied) != "full":
        yield ("source", "query"), "is read in full only; say `strategy: full` under `pull`"


def _quarantine_findings(table: Raw) -> Iterator[Finding]:
    if table.section("policy").get("quarantine") is True and not table.text("rules"):
        yield ("policy", "quarantine"), "holds nothing back: name the rules file under `rules`, or remove it"


def _partition_columns(lake: Raw) -> Iterator[str]:
    yield from (column.lower() for column in list_whole_columns(list(_partition_fields(lake))))


def _place_columns(lake: Raw) -> Iterator[str]:
    yield from (field.column.lower() for field in _partition_fields(lake))


def _partition_fields(lake: Raw) -> Iterator[PartitionField]:
    for text in lake.texts("partition_by"):
        with suppress(ValueError):  # a wrong entry is told where it is read
            yield parse_partition(text)


def _tolerance_findings(compare: Raw, needed: dict[str, str]) -> Iterator[Finding]:
    excluded = {name.lower() for name in compare.texts("exclude")}
    for column in compare.keys("tolerance"):
        if role := needed.get(column.lower()):
            yield ("compare", "tolerance", column), f"is {role}; it is compared exactly"
        if column.lower() in excluded:
            yield ("compare", "tolerance", column), "is left out by `exclude`; say one of the two"


def _moving_columns(pull: Raw) -> dict[str, str]:
    roles = {name.lower(): "a watermark column" for name in pull.texts("watermark")}
    incrementing = pull.text("incrementing")
    return {**roles, incrementing.lower(): "the incrementing column"} if incrementing else roles


_CALL = re.compile(r"(?P<transform>[^()]*)\((?P<column>[^()]*)\)")


def parse_partition(text: str) -> PartitionField:
    """The partition field of an entry.

    Raises:
        ValueError: an unknown transform, or no column.

    >>> parse_partition("month(created_at)").lake_name
    'created_at_month'
    """
    call = _CALL.fullmatch(text)
    column = (call["column"] if call else text).strip()
    if not column or (call is None and ("(" in text or ")" in text)):
        raise ValueError("names no column; legal: column, day(column), month(column), year(column)")
    match call["transform"].strip() if call else "identity":
        case ("day" | "month" | "year" | "identity") as transform if call is None or transform != "identity":
            return PartitionField(column, transform)
        case _:
            raise ValueError("unknown transform; legal: column, day(column), month(column), year(column)")


def format_partition(field: PartitionField) -> str:
    """The entry that `parse_partition` reads back as the same field."""
    return field.column if field.transform == "identity" else f"{field.transform}({field.column})"
