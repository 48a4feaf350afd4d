"""How the columns of the two sides came apart: added, dropped, renamed, widened, narrowed, retyped. Pure.

What the types alone cannot tell (which side changed, a varchar that became text) comes from what earlier runs saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from hudi_reconcile.core.result_parts import ChangeKind, SchemaChange
from hudi_reconcile.core.tables.agreement import Agreement, exclude_fix, is_comparable, list_lake_only, read_lake_digits
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable, PartitionField, SourceTable

_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_LEAST_STORED_BITS, _MOST_STORED_BITS = 32, 64  # Hudi keeps no smaller integers
_SIZE = re.compile(r"\((\d+)\)")
# From narrow to wide: what the left holds, the right holds too.
_FAMILIES = (
    ("smallint", "int2", "mediumint", "integer", "int", "int4", "bigint", "int8"),
    ("real", "float4", "double precision", "double", "float8"),
    ("varchar", "text"),
)
_LONG_TEXT = frozenset({"tinytext", "mediumtext", "longtext", "clob", "nclob"})
_OPPOSITE: Mapping[ChangeKind, ChangeKind] = {"widened": "narrowed", "narrowed": "widened"}
_ANEW = "evolve the lake's column, or pull into a new lake.path"


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """What earlier runs saw: declared types by name, the source's at the last pull, the lake's at the last comparison.

    `changes` are those that the last comparison listed. All empty where there is no earlier run.
    """

    source: Mapping[str, str] = field(default_factory=dict)
    lake: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[SchemaChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """Both sides' columns, and how they were matched.

    `source` is as the database declares it, without the excluded columns. `text_on_purpose` names typed columns that the
    lake holds as text because it cannot hold their values otherwise. `dropped` names lake columns that the source had, as a
    pull has taken over.
    """

    source: SourceTable
    lake: LakeTable
    agreement: Agreement
    partition_by: tuple[PartitionField, ...] = ()
    exclude: frozenset[str] = frozenset()
    text_on_purpose: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()


def list_changes(columns: Columns, known: KnownColumns) -> tuple[SchemaChange, ...]:
    """Every difference between the two sides' columns, and every type of the source that changed since the last pull.

    `since_utc` is None for what no earlier run saw.
    """
    lake_types = {column.name: column.type for column in columns.lake.columns}
    met = {item.column.name for item in columns.agreement.columns}
    missing = [c for c in columns.source.columns if c.lake_name not in lake_types and c.name not in columns.exclude]
    extra = list(
        list_lake_only(columns.source, columns.lake, exclude=columns.exclude, partition_by=columns.partition_by)
    )
    changes: list[SchemaChange] = []
    kept = [column for column in extra if column.name in columns.dropped]
    extra = [column for column in extra if column.name not in columns.dropped]
    if len(missing) == len(extra) == 1 and is_comparable(missing[0].kind, extra[0].type):
        changes.append(_build_renamed(missing.pop(), extra.pop()))
    changes += [_missing(column, known) for column in missing]
    changes += [_extra(column, columns.lake, known) for column in extra]
    changes += [_build_kept(column) for column in kept]
    for column in columns.source.columns:
        if column.lake_name in lake_types and column.name not in columns.exclude:
            changes += _build_altered(column, columns, known, lake_types[column.lake_name], compared=column.name in met)
    return tuple(_keep_earlier_words(change, known.changes) for change in changes)


def _keep_earlier_words(change: SchemaChange, earlier: tuple[SchemaChange, ...]) -> SchemaChange:
    """What an earlier run said of the same two types stands: it was nearer to the change."""
    for past in earlier:
        if (past.column, past.lake_column) == (change.column, change.lake_column) and (
            past.source_type == change.source_type and past.lake_type == change.lake_type
        ):
            return replace(change, what=past.what, side=past.side, since_utc=past.since_utc)
    return change


def _build_renamed(column: Column, was: LakeColumn) -> SchemaChange:
    fix = f"if they are one column: compare: {{rename: {{{_yaml(column.name)}: {_yaml(was.name)}}}}}"
    return SchemaChange(
        "renamed", "source", column.name, column.declared, was.type, None, compared=False, fix=fix, lake_column=was.name
    )


def _missing(column: Column, known: KnownColumns) -> SchemaChange:
    in_lake_before = column.name in known.source or column.lake_name in known.lake
    fix = f"{_ANEW}; or {exclude_fix(column.name)}"
    if in_lake_before:
        return SchemaChange("dropped", "lake", column.name, column.declared, None, None, compared=False, fix=fix)
    return SchemaChange("added", "source", column.name, column.declared, None, None, compared=False, fix=fix)


def _extra(column: LakeColumn, lake: LakeTable, known: KnownColumns) -> SchemaChange:
    name, fix = column.name, exclude_fix(column.name)
    # All columns of a table of our own came from the source once.
    from_source = name in known.source or (lake.owned and not known.source)
    if from_source:
        return SchemaChange(
            "dropped", "source", name, None, column.type, None, compared=False, fix=fix, lake_column=name
        )
    return SchemaChange("added", "lake", name, None, column.type, None, compared=False, fix=fix, lake_column=name)


def _build_kept(column: LakeColumn) -> SchemaChange:
    fix = "nothing to do: the source has it no more; rows written since then hold NULL"
    return SchemaChange(
        "dropped", "source", column.name, None, column.type, None, compared=False, fix=fix, lake_column=column.name
    )


def _build_altered(
    column: Column, columns: Columns, known: KnownColumns, lake_type: str, *, compared: bool
) -> Iterator[SchemaChange]:
    lake_was = known.lake.get(column.lake_name, lake_type)
    source_was = known.source.get(column.name, column.declared)
    on_purpose = _is_text_on_purpose(column, columns, lake_type) or _was_text(column, known, lake_type)
    what = None if on_purpose else compare_with_lake(column, lake_type)
    on_lake = source_was == column.declared and lake_was != lake_type
    if what is None:
        # The lake's type holds both: only an earlier run knows that the source's was another.
        what = compare_declared(source_was, column.declared)
    elif on_lake:
        what = _OPPOSITE.get(what, what)
    if what is not None:
        fix = "nothing to do: it is compared exactly" if compared else f"{_ANEW}; or {exclude_fix(column.name)}"
        yield SchemaChange(
            what, "lake" if on_lake else "source", column.name, column.declared, lake_type, None,
            compared=compared, fix=fix, lake_column=column.lake_name,
        )  # fmt: skip


def _is_text_on_purpose(column: Column, columns: Columns, lake_type: str) -> bool:
    zoned_or_bytes_key = column.name in columns.source.key and column.kind in (Kind.TIMESTAMPTZ, Kind.BYTES)
    return lake_type == "string" and (zoned_or_bytes_key or column.name in columns.text_on_purpose)


def _was_text(column: Column, known: KnownColumns, lake_type: str) -> bool:
    """True where the last pull already brought this type as text, for values that may be gone by now."""
    unchanged = (
        known.source.get(column.name) == column.declared and known.lake.get(column.lake_name, "string") == "string"
    )
    return lake_type == "string" and unchanged and all(past.column != column.name for past in known.changes)


def compare_with_lake(column: Column, lake_type: str) -> ChangeKind | None:
    """How the source's type differs from the lake's; None where the lake's is the one that a pull would make."""
    if column.kind is Kind.INTEGER and lake_type in _INTEGER_BITS:
        wanted = _MOST_STORED_BITS if column.bits == _MOST_STORED_BITS else _LEAST_STORED_BITS
        lake_bits = _INTEGER_BITS[lake_type]
        return None if lake_bits == column.bits else _compared_sizes(wanted, lake_bits)
    digits = read_lake_digits(lake_type)
    if column.kind is Kind.DECIMAL and digits is not None:
        own_scale = column.scale or 0
        return _both_ways(_compared_sizes((column.precision or 0) - own_scale, digits[0] - digits[1]),
                          _compared_sizes(own_scale, digits[1]))  # fmt: skip
    if (column.kind, lake_type) == (Kind.REAL, "double"):
        return "narrowed"
    if (column.kind, lake_type) == (Kind.DOUBLE, "float") or (column.kind is Kind.NUMBER and digits is not None):
        return "widened"
    fits = column.kind is Kind.OTHER and lake_type == "string"
    return None if fits or is_comparable(column.kind, lake_type) else "retyped"


def compare_declared(was: str, now: str) -> ChangeKind | None:
    """How a declared type changed, by its text; None where it did not.

    >>> compare_declared("character varying(20)", "text"), compare_declared("varchar(40)", "varchar(20)")
    ('widened', 'narrowed')
    >>> compare_declared("date", "text")
    'retyped'
    """
    if was == now:
        return None
    (before, size_before), (after, size_after) = _read_size(was), _read_size(now)
    if before == after:
        return _compared_sizes(size_after, size_before) or "retyped"
    for family in _FAMILIES:
        if before in family and after in family:
            return _compared_sizes(family.index(after), family.index(before))
    return "retyped"


def _read_size(declared: str) -> tuple[str, float]:
    size = _SIZE.search(declared)
    base = " ".join(_SIZE.sub(" ", declared.lower()).split()).replace("character varying", "varchar")
    return "text" if base in _LONG_TEXT else base, float("inf") if size is None else int(size[1])


def _compared_sizes(source: float, lake: float) -> ChangeKind | None:
    if source == lake:
        return None
    return "widened" if source > lake else "narrowed"


def _both_ways(first: ChangeKind | None, second: ChangeKind | None) -> ChangeKind | None:
    if first is None or second is None:
        return first or second
    return first if first == second else "retyped"


def _yaml(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f'"{name}"'
