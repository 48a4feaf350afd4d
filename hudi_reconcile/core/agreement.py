"""Which columns of the two sides meet, and on what type. What cannot meet is named, never skipped.

Two types may meet only if the pair is in the table below; any other pair is `unverified` by name (contract §4).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hudi_reconcile.core.kinds import Column, Kind
from hudi_reconcile.core.result import Unverified
from hudi_reconcile.core.values import READ_SEQ, LakeTable, PartitionField, SourceTable

_MEETS = {
    Kind.INTEGER: frozenset({"tinyint", "smallint", "int", "bigint"}),
    Kind.BOOLEAN: frozenset({"boolean"}),
    Kind.TEXT: frozenset({"string"}),
    Kind.CHAR: frozenset({"string"}),
    Kind.UUID: frozenset({"string"}),
    Kind.BYTES: frozenset({"binary"}),
    Kind.DATE: frozenset({"date"}),
    Kind.TIMESTAMP: frozenset({"timestamp", "timestamp_ntz"}),
    Kind.TIMESTAMPTZ: frozenset({"timestamp"}),
    Kind.REAL: frozenset({"float"}),
    Kind.DOUBLE: frozenset({"double"}),
    Kind.NUMBER: frozenset({"string"}),
    Kind.OWN_TEXT: frozenset({"string"}),
}
MOST_DIGITS = 38  # of a Spark and a Parquet decimal
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class Compared:
    """One column on which both sides are compared. `index` is its place in the source read (`c0, c1, …`).

    `digits` is the agreed (precision, scale) of a DECIMAL, wide enough for both sides: 1.10 meets 1.1 exactly.
    """

    index: int
    column: Column
    lake_type: str
    digits: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """What is compared, what names the row, and what is not compared and why."""

    columns: tuple[Compared, ...]
    key: tuple[Compared, ...]
    watermark: tuple[Compared, ...]
    unverified: tuple[Unverified, ...]


def agree(
    source: SourceTable,
    lake: LakeTable,
    *,
    watermark: tuple[str, ...],
    exclude: frozenset[str],
    partition_by: tuple[PartitionField, ...],
) -> Agreement:
    """Match the source's columns with the lake's. Excluded columns are left out on both sides and are not unverified.

    A watermark column that is excluded still tells why a row drifted; it is just not compared.
    """
    lake_types = {column.name: column.type for column in lake.columns}
    met: dict[str, Compared] = {}
    unverified: list[Unverified] = []
    for index, column in enumerate(source.columns):
        found = _meet(index, column, lake_types)
        if isinstance(found, Compared):
            met[column.name] = found
        elif column.name not in exclude:
            unverified.append(found)
    unverified += _only_in_lake(source, lake, exclude=exclude, partition_by=partition_by)
    return Agreement(
        columns=tuple(item for name, item in met.items() if name not in exclude),
        key=tuple(met[name] for name in source.key if name in met),
        watermark=tuple(met[name] for name in watermark if name in met),
        unverified=tuple(unverified),
    )


def without(source: SourceTable, excluded: frozenset[str]) -> SourceTable:
    """The source table without some columns: they are not even read. Key columns always stay."""
    kept = tuple(c for c in source.columns if c.name not in excluded or c.name in source.key)
    return replace(source, columns=kept)


def _meet(index: int, column: Column, lake_types: dict[str, str]) -> Compared | Unverified:
    if column.kind is Kind.OTHER:
        return Unverified("column", column.name, column.why, _exclude_fix(column.name))
    found = lake_types.get(column.lake_name)
    if found is None:
        why = f"the lake table has no column {column.lake_name}"
        return Unverified("column", column.name, why, f"pull again, or: {_exclude_fix(column.name)}")
    if column.kind is Kind.DECIMAL:
        return _meet_decimal(index, column, found)
    if found not in _MEETS[column.kind]:
        legal = ", ".join(sorted(_MEETS[column.kind]))
        why = f"source {column.declared} cannot be compared with lake {found} (comparable: {legal})"
        return Unverified("column", column.name, why, _exclude_fix(column.name))
    return Compared(index, column, found)


def _meet_decimal(index: int, column: Column, found: str) -> Compared | Unverified:
    match = _DECIMAL.fullmatch(found)
    if match is None:
        why = f"source {column.declared} cannot be compared with lake {found} (comparable: decimal)"
        return Unverified("column", column.name, why, _exclude_fix(column.name))
    precision, scale = int(match[1]), int(match[2])
    own_precision, own_scale = column.precision or 0, column.scale or 0
    whole = max(precision - scale, own_precision - own_scale)
    agreed = max(scale, own_scale)
    if whole + agreed > MOST_DIGITS:
        why = f"source {column.declared} and lake {found} together need more than 38 digits"
        return Unverified("column", column.name, why, _exclude_fix(column.name))
    return Compared(index, column, found, (whole + agreed, agreed))


def _only_in_lake(
    source: SourceTable, lake: LakeTable, *, exclude: frozenset[str], partition_by: tuple[PartitionField, ...]
) -> list[Unverified]:
    known = {column.lake_name for column in source.columns}
    ours = {READ_SEQ} | {field.lake_name for field in partition_by if field.transform != "identity"}
    return [
        Unverified("column", column.name, "the lake has this column, the source does not", _exclude_fix(column.name))
        for column in lake.columns
        if column.name not in known | ours | exclude and not column.name.startswith("_hoodie_")
    ]


def _exclude_fix(name: str) -> str:
    return f"leave it out on purpose: compare: {{exclude: [{name}]}}"
