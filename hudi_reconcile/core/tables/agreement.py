"""Which columns of the two sides meet, and on what type. What cannot meet is named, never skipped.

Two types may meet only if the kind's row in `kinds.py` names the other; any other pair is `unverified` by name.
Where the lake holds fewer digits than the source, both meet on the lake's: the rest is cut off, never rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from hudi_reconcile.core.result_parts import Unverified
from hudi_reconcile.core.tables.kinds import (
    MOST_DIGITS,
    TRAITS,
    Column,
    Kind,
    choose_stored_type,
    read_decimal_digits,
    widen_type,
)
from hudi_reconcile.core.tables.odd_keys import KeyMixing, choose_mixing
from hudi_reconcile.core.tables.values import READ_SEQ, LakeColumn, LakeTable, PartitionField, SourceTable

MICROS_DIGITS = 6  # of a second, in Spark and where a lake column says nothing else
NO_TOLERANCE: Mapping[str, Decimal] = {}


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """One column on which both sides are compared. `index` is its place in the source read (`c0, c1, …`).

    `digits` is the (precision, scale) of a DECIMAL wide enough for both sides: 1.10 meets 1.1 exactly. `fraction_digits`
    is how many digits after the point both sides keep when they meet, None where nothing is cut. `tolerance` is the
    greatest difference that still counts as equal; a column with tolerance is never cut.
    """

    index: int
    column: Column
    lake_type: str
    digits: tuple[int, int] | None = None
    fraction_digits: int | None = None
    tolerance: Decimal | None = None

    @property
    def written_type(self) -> str:
        """The lake's type once a correction has widened it: a source value in it is the value that the correction writes."""
        return widen_type(self.lake_type, choose_stored_type(self.column)) or self.lake_type

    @property
    def as_float(self) -> bool:
        """True where a double of the source is compared as the lake's float."""
        return self.column.kind is Kind.DOUBLE and self.lake_type == "float" and self.tolerance is None

    @property
    def cut_to(self) -> str:
        """What is left of a source value when both sides meet, in words; empty where nothing is cut."""
        if self.as_float:
            return "a 4-byte float"
        if self.fraction_digits is None:
            return ""
        noun = "digit" if self.fraction_digits == 1 else "digits"
        return f"{self.fraction_digits} {noun} after the point"


@dataclass(frozen=True, slots=True)
class Agreement:
    """What is compared, what names the row and whether Hudi mixes such names up, and what is not compared and why.

    `places` are the texts that the row's partition path is made of.
    """

    columns: tuple[ComparedColumn, ...]
    key: tuple[ComparedColumn, ...]
    watermark: tuple[ComparedColumn, ...]
    unverified: tuple[Unverified, ...]
    incrementing: ComparedColumn | None = None
    version: ComparedColumn | None = None
    mixing: KeyMixing = KeyMixing.NONE
    places: tuple[ComparedColumn, ...] = ()

    @property
    def moving(self) -> tuple[ComparedColumn, ...]:
        """What tells when the source's row changed: its watermark, or the database's own number of its version."""
        return self.watermark if self.version is None else (self.version,)

    @property
    def cut(self) -> tuple[ComparedColumn, ...]:
        """The columns that meet on fewer digits than the source has."""
        return tuple(item for item in self.columns if item.cut_to)

    @property
    def is_tolerant(self) -> bool:
        """Whether rows of different digests may be equal: a column has a tolerance."""
        return any(item.tolerance is not None for item in self.columns)


def agree(
    source: SourceTable,
    lake: LakeTable,
    *,
    watermark: tuple[str, ...],
    incrementing: str | None = None,
    exclude: frozenset[str],
    partition_by: tuple[PartitionField, ...],
    tolerance: Mapping[str, Decimal] = NO_TOLERANCE,
    dropped: frozenset[str] = frozenset(),
) -> Agreement:
    """Match the source's columns with the lake's. Excluded columns are left out on both sides and are not unverified.

    Columns that only the lake has are unverified but for `dropped`: the source had them, and a pull took that over.
    A watermark column that is excluded still tells why a row drifted; it is just not compared. Key columns are never cut:
    two keys would become one. Nor are they left out: digests without them are the same where two keys have swapped their rows.
    """
    lake_columns = {column.name: column for column in lake.columns}
    met: dict[str, ComparedColumn] = {}
    unverified: list[Unverified] = []
    for index, column in enumerate(source.columns):
        pairing = _meet(index, column, lake_columns.get(column.lake_name))
        if isinstance(pairing, ComparedColumn):
            met[column.name] = _exactness(pairing, tolerance.get(column.name), is_key=column.name in source.key)
        elif column.name not in exclude:
            unverified.append(pairing)
    unverified += [
        Unverified("column", column.name, "the lake has this column, the source does not", exclude_fix(column.name))
        for column in list_lake_only(source, lake, exclude=exclude | dropped, partition_by=partition_by)
    ]
    return Agreement(
        columns=tuple(item for name, item in met.items() if name not in exclude or name in source.key),
        key=tuple(met[name] for name in source.key if name in met),
        watermark=tuple(met[name] for name in watermark if name in met),
        unverified=tuple(unverified),
        incrementing=None if incrementing is None else met.get(incrementing),
        version=None if source.version is None else ComparedColumn(len(source.columns), source.version, ""),
        mixing=choose_mixing(source.key_columns, is_owned=lake.owned, is_spelled=lake.spelled),
        places=_places(met.values(), lake),
    )


def _places(met: Iterable[ComparedColumn], lake: LakeTable) -> tuple[ComparedColumn, ...]:
    return tuple(item for item in met if item.column.lake_name in lake.partition_fields and item.lake_type == "string")


def drop_columns(source: SourceTable, excluded: frozenset[str]) -> SourceTable:
    """The source table without some columns: they are not even read. Key columns always stay."""
    kept = tuple(c for c in source.columns if c.name not in excluded or c.name in source.key)
    return replace(source, columns=kept)


def is_comparable(kind: Kind, lake_type: str) -> bool:
    """True where values of this kind can be held against a lake column of this type."""
    if kind is Kind.DECIMAL:
        return read_lake_digits(lake_type) is not None
    return lake_type in TRAITS[kind].meets


def read_lake_digits(lake_type: str) -> tuple[int, int] | None:
    """(precision, scale) of a decimal lake column; None for any other type."""
    return read_decimal_digits(lake_type)


def list_lake_only(
    source: SourceTable, lake: LakeTable, *, exclude: frozenset[str], partition_by: tuple[PartitionField, ...]
) -> tuple[LakeColumn, ...]:
    """The lake's columns that no source column meets, without Hudi's, the tool's and the excluded ones."""
    known = {column.lake_name for column in source.columns}
    ours = {READ_SEQ} | {field.lake_name for field in partition_by if field.transform != "identity"}
    return tuple(
        column
        for column in lake.columns
        if column.name not in known | ours | exclude and not column.name.startswith("_hoodie_")
    )


def exclude_fix(name: str) -> str:
    """The config line that leaves a column out."""
    return f"leave it out on purpose: compare: {{exclude: [{name}]}}"


def _meet(index: int, column: Column, lake: LakeColumn | None) -> ComparedColumn | Unverified:
    if column.kind is Kind.OTHER:
        return Unverified("column", column.name, column.why, exclude_fix(column.name))
    if lake is None:
        why = f"the lake table has no column {column.lake_name}"
        return Unverified("column", column.name, why, f"pull again, or: {exclude_fix(column.name)}")
    if lake.stored is not None:
        why = f"Spark shows the lake's {lake.name} as {lake.type}, its files hold {lake.stored} (it makes partition paths)"
        return Unverified("column", column.name, why, exclude_fix(column.name))
    if not is_comparable(column.kind, lake.type):
        legal = "decimal" if column.kind is Kind.DECIMAL else ", ".join(sorted(TRAITS[column.kind].meets))
        why = f"source {column.declared} cannot be compared with lake {lake.type} (comparable: {legal})"
        return Unverified("column", column.name, why, exclude_fix(column.name))
    if column.kind is Kind.DECIMAL:
        return _meet_decimal(index, column, lake)
    own = MICROS_DIGITS if column.precision is None else column.precision
    lake_digits = lake.fraction_digits
    zoned = column.kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
    return ComparedColumn(
        index,
        column,
        lake.type,
        fraction_digits=lake_digits if zoned and lake_digits is not None and lake_digits < own else None,
    )


def _meet_decimal(index: int, column: Column, lake: LakeColumn) -> ComparedColumn | Unverified:
    precision, scale = read_lake_digits(lake.type) or (0, 0)
    own_precision, own_scale = column.precision or 0, column.scale or 0
    whole = max(precision - scale, own_precision - own_scale)
    widest = max(scale, own_scale)
    if whole + widest > MOST_DIGITS:
        why = f"source {column.declared} and lake {lake.type} together need more than 38 digits"
        return Unverified("column", column.name, why, exclude_fix(column.name))
    return ComparedColumn(index, column, lake.type, (whole + widest, widest), scale if own_scale > scale else None)


def _exactness(item: ComparedColumn, tolerance: Decimal | None, *, is_key: bool) -> ComparedColumn:
    exact = is_key or tolerance is not None
    return replace(item, tolerance=tolerance, fraction_digits=None if exact else item.fraction_digits)
