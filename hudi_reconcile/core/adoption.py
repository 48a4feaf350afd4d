"""Whether this tool writes a table that another tool made, and how: from what the table and the source are. Pure.

A table is adopted on purpose (`lake.adopt: true`), never because a pull was pointed at it. What cannot be written right is
refused by name before a row is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hudi_reconcile.core.agreement import comparable
from hudi_reconcile.core.carry import carried
from hudi_reconcile.core.values import READ_SEQ, LakeTable, PartitionField, SourceTable

_ORDERINGS = {
    "tool": f"event time, by {READ_SEQ} of this tool",
    "event_time": "event time: of two versions the one with the greater {fields} stays, whichever was written last",
    "commit_time": "commit time: the version that was written last stays",
}
_OLDER_LATER = (
    "rows whose {fields} is older than the lake's are corrected by writing their partitions anew (insert_overwrite), in the "
    "same one commit: an upsert would be dropped in silence"
)
# Hudi's record key is text: it cuts a zoned timestamp to milliseconds, writes the address of a binary value, and has
# several texts for one float.
_NO_KEYS = frozenset({"timestamp", "binary", "float", "double"})


@dataclass(frozen=True, slots=True)
class Adoption:
    """Why a pull and why an apply is refused, in words; empty where it is not. `apply` also holds for undo."""

    pull: tuple[str, ...] = ()
    apply: tuple[str, ...] = ()


def adoption(table: LakeTable, source: SourceTable, partition_by: tuple[PartitionField, ...]) -> Adoption:
    """What stands against writing the table with rows of this source; nothing does where the table is ours.

    Columns are compared where the table's are known.
    """
    if table.foreign is None:
        return Adoption()
    derived = {field.lake_name: field.column for field in partition_by}
    named = {column.lake_name for column in source.columns} | set(derived)
    both = (
        *table.foreign.hindrances,
        *_unfilled("ordering field", table.ordering_fields, named),
        *_unfilled("partition field", table.partition_fields, named),
        *_unwritable(table, source),
        *(
            f"lake.partition_by makes {name}, which it does not have"
            for name in derived
            if name in _unknown(table, derived)
        ),
    )
    extra = [column.name for column in table.columns if column.name not in named]
    emptied = (f"a pull would empty {', '.join(extra)}, which the source does not have",) if extra else ()
    return Adoption(pull=(*both, *emptied), apply=both)


def _unfilled(what: str, fields: tuple[str, ...], named: set[str]) -> list[str]:
    return [f"its {what} {name} is no column of the source" for name in fields if name not in named]


def _unknown(table: LakeTable, names: Iterable[str]) -> set[str]:
    """Names that the table's columns are known to lack."""
    return set(names) - {column.name for column in table.columns} if table.columns else set()


def _unwritable(table: LakeTable, source: SourceTable) -> list[str]:
    lake = {column.name: column for column in table.columns}
    found = []
    for column in carried(source, table).columns:
        there = lake.get(column.lake_name)
        if there is None:
            if table.columns:
                found.append(f"it has no column {column.lake_name} (leave it out with source.columns)")
        elif there.stored is not None:
            found.append(f"Spark shows its partition field {there.name} as {there.type}, its files hold {there.stored}")
        elif not comparable(column.kind, there.type):
            found.append(f"{column.name} {column.declared} cannot be held by its {there.type}")
        elif there.fraction_digits is not None:
            found.append(f"its {there.name} holds milliseconds, and a write by Spark would make them microseconds")
        elif column.name in source.key and there.type in _NO_KEYS:
            found.append(f"its key {there.name} is a {there.type}, which a Hudi record key does not hold exactly")
    return found


def what_it_is(table: LakeTable) -> tuple[str, ...]:
    """The table in plain lines: version and type, ordering, keys, indexes."""
    fields = ", ".join(table.ordering_fields) or "nothing"
    lines = [
        f"table version {table.version}, {table.type}; never upgraded by this tool",
        f"ordering: {_ORDERINGS[table.ordering].format(fields=fields)}",
    ]
    if table.foreign is None:
        return tuple(lines)
    by = f", partitioned by {', '.join(table.partition_fields)}" if table.partition_fields else ", not partitioned"
    lines.append(f"keys: {table.foreign.key_generator} from {', '.join(table.record_key)}{by}")
    kept = ", ".join(table.foreign.indexes)
    lines.append(
        f"index: {f'metadata table with {kept}; ' if kept else ''}Hudi records no index type (buckets are told from the file "
        "names); our commits find rows by a scan of all keys (SIMPLE, global where partitioned)"
    )
    return tuple(lines)


def what_is_done(table: LakeTable, found: Adoption, *, adopt: bool) -> tuple[str, ...]:
    """What sweep, pull and apply do with a table of another tool, or why not."""
    lines = ["sweep: reads it"]
    for command, reasons in (("pull", found.pull), ("apply", found.apply)):
        if reasons:
            lines.append(f"{command}: refused: {'; '.join(reasons)}")
        elif not adopt:
            lines.append(f"{command}: refused until lake.adopt: true")
        else:
            lines.append(f"{command}: {_DONE[command]}")
    if adopt and not found.apply and table.ordering == "event_time":
        lines.append("apply: " + _OLDER_LATER.format(fields=", ".join(table.ordering_fields)))
    if not table.columns:
        lines.append("columns: not looked at here; the first pull or apply refuses by name what they cannot hold")
    return tuple(lines)


_DONE = {
    "pull": "upserts with the table's own key generator and ordering field, its version kept",
    "apply": "one commit of upserts and deletes, if no key changed since and nobody else writes",
}
