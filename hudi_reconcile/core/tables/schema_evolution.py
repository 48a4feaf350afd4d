"""How a lake table's columns follow the source's: added, widened, kept after a drop; what cannot follow is refused by name. Pure.

Nothing is ever narrowed, and a column that the lake has never leaves it. A column is carried typed, or as its own text
where the lake holds text or no lake type is exact; what an existing lake table says wins. Pull, sweep and apply ask here,
so that both sides hold the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.result_parts import SchemaChange
from hudi_reconcile.core.tables.agreement import is_comparable, list_lake_only
from hudi_reconcile.core.tables.kinds import TEXT_KINDS, Column, Kind, choose_stored_type, widen_type
from hudi_reconcile.core.tables.values import (
    READ_SEQ,
    Checkpoint,
    LakeColumn,
    LakeTable,
    PartitionField,
    SourceTable,
    is_lake_name,
)


@dataclass(frozen=True, slots=True)
class PullRecord:
    """What the last pull left on record, by lake names: the source's columns, and the lake's that the source had dropped.

    No `columns`: it was a pull of an earlier version, which kept no record.
    """

    columns: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()

    @staticmethod
    def of(checkpoint: Checkpoint | None) -> PullRecord:
        """The record in a checkpoint."""
        if checkpoint is None:
            return NOTHING_PULLED
        return PullRecord(frozenset(checkpoint.columns), frozenset(checkpoint.dropped))


NOTHING_PULLED = PullRecord()


@dataclass(frozen=True, slots=True)
class RefusedColumn:
    """A column that cannot be taken over, why, and what would settle it."""

    column: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Evolution:
    """The lake's columns as the next commit has them, and what that changes; `dropped` are those without a source column.

    A drop and an addition that may be one column under a new name are refused together.
    """

    columns: tuple[LakeColumn, ...]
    dropped: tuple[LakeColumn, ...] = ()
    changes: tuple[SchemaChange, ...] = ()
    refused: tuple[RefusedColumn, ...] = ()


def evolve(
    source: SourceTable,
    lake: LakeTable,
    past: PullRecord,
    *,
    partition_by: tuple[PartitionField, ...] = (),
    exclude: frozenset[str] = frozenset(),
) -> Evolution:
    """Decide it. The order of the source's columns does not matter, and a second call after the first changes nothing.

    `source` is as the lake carries it. A lake column named in `exclude` is never taken for one that was
    renamed.
    """
    lake_columns = {column.name: column for column in lake.columns}
    refused: list[RefusedColumn] = []
    types: dict[str, str] = {}
    changes: list[SchemaChange] = []
    for column in source.columns:
        lake_column = lake_columns.get(column.lake_name)
        if lake_column is not None and lake_column.name not in _ours(partition_by):
            outcome = _follow(column, lake_column, lake)
            if isinstance(outcome, RefusedColumn):
                refused.append(outcome)
            elif outcome is not None:
                types[lake_column.name] = outcome.lake_type or lake_column.type
                changes.append(outcome)
    new = [
        column
        for column in source.columns
        if column.lake_name not in lake_columns or column.lake_name in _ours(partition_by)
    ]
    gone = list_lake_only(source, lake, exclude=frozenset(), partition_by=partition_by)
    refused += _gone_amiss(gone, new, lake, past, exclude)
    refused += _unfit(new, lake_columns, partition_by)
    changes += [_build_added(column) for column in new]
    changes += [_build_dropped(column) for column in gone if column.name not in past.dropped]
    kept = tuple(replace(column, type=types.get(column.name, column.type)) for column in lake.columns)
    added = tuple(LakeColumn(column.lake_name, choose_stored_type(column)) for column in new)
    return Evolution((*kept, *added), gone, tuple(changes), tuple(refused))


def describe_change(change: SchemaChange, was: str | None) -> str:
    """What a pull did about a change, for people. `was` is the lake's type before."""
    if change.what == "added":
        return (
            f"column {change.column} ({change.source_type}) is new: the lake has it now, as {change.lake_type}; rows pulled "
            "before hold NULL there, and where the source filled them a sweep finds them (pull --full writes all anew)"
        )
    if change.what == "dropped":
        return (
            f"column {change.column} is gone at the source, or left out by source.columns: the lake keeps it, NULL in every "
            "row written from now on; "
            "sweeps name it and do not compare it"
        )
    return f"column {change.column} ({change.source_type}): the lake's type is now {change.lake_type}, it was {was}"


def note_returned_column(name: str) -> Note:
    """What a pull says of a column that the source had dropped, or the config left out, and that is read again."""
    text = (
        f"column {name} is at the source again: rows pulled while it was gone hold NULL in the lake, older ones their earlier "
        "value; sweeps find those that differ, pull --full writes all anew"
    )
    return Note(Stake.ROWS, text)


def _ours(partition_by: tuple[PartitionField, ...]) -> frozenset[str]:
    return frozenset({READ_SEQ, *(field.lake_name for field in partition_by if field.transform != "identity")})


def _follow(column: Column, lake_column: LakeColumn, lake: LakeTable) -> SchemaChange | RefusedColumn | None:
    """How the lake's column follows; None where it holds the source's values as it is, and be it for being wider."""
    wanted = choose_stored_type(column)
    becomes = widen_type(lake_column.type, wanted)
    if becomes == lake_column.type:
        return None
    if becomes is None:
        why = f"the source's {column.declared} does not fit the lake's {lake_column.type}, which cannot be widened to hold both"
        return RefusedColumn(column.name, why, _leave_out(column.name))
    if lake_column.name in lake.partition_fields:
        why = f"the lake is partitioned by it as {lake_column.type}, and the source's {column.declared} needs {becomes}"
        return RefusedColumn(column.name, why, "pull into a new lake.path")
    return SchemaChange(
        "widened", "source", column.name, column.declared, becomes, None,
        compared=True, fix="nothing to do: the lake's column was widened", lake_column=lake_column.name,
    )  # fmt: skip


def _build_added(column: Column) -> SchemaChange:
    return SchemaChange(
        "added", "source", column.name, column.declared, choose_stored_type(column), None,
        compared=True, fix="where the source filled old rows: hudi-reconcile sweep, then apply; or pull --full",
        lake_column=column.lake_name,
    )  # fmt: skip


def _build_dropped(column: LakeColumn) -> SchemaChange:
    return SchemaChange(
        "dropped", "source", column.name, None, column.type, None,
        compared=False, fix="nothing to do: the lake keeps it, NULL in rows written since", lake_column=column.name,
    )  # fmt: skip


def _gone_amiss(
    gone: Collection[LakeColumn], new: Collection[Column], lake: LakeTable, past: PullRecord, exclude: frozenset[str]
) -> Iterator[RefusedColumn]:
    """Columns without a source column that are not simply dropped."""
    yield from _placing(gone, lake)
    fresh = [column for column in gone if column.name not in {*past.dropped, *lake.partition_fields}]
    yield from _foreign(fresh, lake, past)
    yield from _renames([column for column in fresh if column.name not in exclude], new)


def _placing(gone: Collection[LakeColumn], lake: LakeTable) -> Iterator[RefusedColumn]:
    """Columns by which the lake is partitioned, and which no row would have: NULL would move every row that is written."""
    why = f"the lake is partitioned by it ({', '.join(lake.partition_fields)}), and rows would come without it"
    fix = "set lake.partition_by as it was when the table was made; where the source has the column no more: a new lake.path"
    return (RefusedColumn(column.name, why, fix) for column in gone if column.name in lake.partition_fields)


def _foreign(fresh: Collection[LakeColumn], lake: LakeTable, past: PullRecord) -> Iterator[RefusedColumn]:
    """Columns of the lake that no pull ever wrote: rows written without them would lose what somebody else put there."""
    for column in fresh:
        known = column.name in past.columns or (lake.owned and not past.columns)
        if not known:
            why = f"the lake has it ({column.type}), the source never had: a pulled row would lose its value there"
            yield RefusedColumn(column.name, why, "drop it from the lake table, or pull into a new lake.path")


def _renames(fresh: Collection[LakeColumn], new: Collection[Column]) -> Iterator[RefusedColumn]:
    for was in fresh:
        pairs = [column.name for column in new if is_comparable(column.kind, was.type)]
        if pairs:
            why = f"gone at the source, where {', '.join(pairs)} came in: that may be one column under a new name"
            rename = f"compare: {{rename: {{{_yaml(pairs[0])}: {_yaml(was.name)}}}}}"
            yield RefusedColumn(was.name, why, f"if so: {rename}; if not: compare: {{exclude: [{was.name}]}}")


def _unfit(
    new: Collection[Column], lake_names: Collection[str], partition_by: tuple[PartitionField, ...]
) -> Iterator[RefusedColumn]:
    """New columns whose name the lake cannot hold beside those it has."""
    folded = {name.lower(): name for name in lake_names}
    for column in new:
        name = column.lake_name
        rename = f"compare: {{rename: {{{_yaml(column.name)}: {re.sub('[^A-Za-z0-9_]', '_', name)}_2}}}}"
        if name in _ours(partition_by):
            yield RefusedColumn(column.name, "the tool itself keeps a column of this name in the lake", rename)
        elif not is_lake_name(name):
            yield RefusedColumn(column.name, "the lake cannot hold a column of this name", rename)
        elif name.lower() in folded:
            other = folded[name.lower()]
            fix = f"if they are one column: compare: {{rename: {{{_yaml(column.name)}: {other}}}}}; else {rename}"
            yield RefusedColumn(column.name, f"the lake has {other}, which differs by case only", fix)


def _leave_out(name: str) -> str:
    return (
        f"pull into a new lake.path; or cast {_yaml(name)} in a view and pull that; or leave it out, NULL in every row that "
        "is written from then on: list the other columns in source.columns"
    )


def _yaml(name: str) -> str:
    return name if is_lake_name(name) else f'"{name}"'


# Hudi's record key is text: it cuts a zoned timestamp to milliseconds and writes the address of a binary value.
_NO_RECORD_KEY = frozenset({Kind.TIMESTAMPTZ, Kind.BYTES})
# The text of a float depends on who writes it.
_NO_TEXT = frozenset({Kind.REAL, Kind.DOUBLE})


def encode_columns(table: SourceTable, lake: LakeTable) -> SourceTable:
    """The source table as it meets an existing lake table: typed columns that the lake holds as text become text."""
    types = {column.name: column.type for column in lake.columns if column.stored is None}
    return encode_as_text(table, frozenset(c.name for c in table.columns if types.get(c.lake_name) == "string"))


def encode_new_columns(table: SourceTable, uncarried: frozenset[str]) -> SourceTable:
    """The source table as a new lake table holds it.

    Text are key columns that Hudi's record key would alter, and columns with values that no lake type holds (`uncarried`).
    """
    keys = frozenset(column.name for column in table.key_columns if column.kind in _NO_RECORD_KEY)
    return encode_as_text(table, keys | uncarried)


def turn_to_text(column: Column) -> Column:
    """The column's text twin: a number by value, anything else in the source's own spelling."""
    if column.kind in TEXT_KINDS or column.kind in _NO_TEXT:
        return column
    kind = Kind.NUMBER if column.kind is Kind.DECIMAL else Kind.OWN_TEXT
    return replace(column, kind=kind, precision=None, scale=None, bits=None)


def encode_as_text(table: SourceTable, names: frozenset[str]) -> SourceTable:
    """The source table with these columns carried as text."""
    return replace(table, columns=tuple(turn_to_text(c) if c.name in names else c for c in table.columns))
