"""Every batch has exactly the table's columns: name, case and type, all nullable. Decides what differs and casts what may.

Hudi evolves a table without a word (an int column becomes a string for all readers) and refuses batches for reasons that
name no column; so differences end here, listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import LakeError, RefusedError, UsageError
from hudi_reconcile.core.stored import holds, widened
from hudi_reconcile.core.values import LakeColumn

# Hudi has no integers below 32 bits: bulk_insert writes them, then no reader can read the file.
_STORED_AS = {"tinyint": "int", "smallint": "int"}
_TEXT = re.compile(r"(var)?char\(\d+\)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def stored_type(type_text: str) -> str:
    """The type a column of this Spark type has in a Hudi table."""
    return "string" if _TEXT.fullmatch(type_text) else _STORED_AS.get(type_text, type_text)


def columns_of(frame: DataFrame) -> tuple[LakeColumn, ...]:
    """The frame's columns without Hudi's own."""
    fields = frame.schema.fields
    return tuple(LakeColumn(f.name, f.dataType.simpleString()) for f in fields if not f.name.startswith("_hoodie_"))


def differences(batch: Sequence[LakeColumn], table: Sequence[LakeColumn]) -> tuple[str, ...]:
    """One sentence per column that is missing, unknown, or of a type whose values the table's does not all hold."""
    found = {column.name: stored_type(column.type) for column in batch}
    wanted = {column.name: column.type for column in table}
    missing = [f"{name} {kind}: missing in the batch" for name, kind in wanted.items() if name not in found]
    unknown = [f"{name} {kind}: not in the lake table" for name, kind in found.items() if name not in wanted]
    other = [
        f"{name}: {kind} in the lake table, {found[name]} in the batch"
        for name, kind in wanted.items()
        if name in found and not holds(kind, found[name])
    ]
    return (*missing, *unknown, *other)


def as_table(frame: DataFrame, table: Sequence[LakeColumn], path: str) -> DataFrame:
    """The frame with the table's columns in the table's order, all nullable. Raises LakeError that lists differences."""
    found = differences(columns_of(frame), table)
    if found:
        raise LakeError(
            f"rows do not have the schema of Hudi table {path}: {'; '.join(found)}",
            fix="compare.exclude or compare.rename the columns, or create the table anew",
        )
    return frame.select(*(_nullable(F.col(f"`{column.name}`").cast(column.type), column) for column in table))


def as_new_table(frame: DataFrame) -> DataFrame:
    """The frame as a new table stores it: small integers widened, all columns nullable. Raises RefusedError for names."""
    fault = names_fault(tuple(field.name for field in frame.schema.fields))
    if fault is not None:
        raise RefusedError(fault[0], fix=fault[1])
    columns = [LakeColumn(column.name, stored_type(column.type)) for column in columns_of(frame)]
    return frame.select(*(_nullable(F.col(f"`{column.name}`").cast(column.type), column) for column in columns))


def names_fault(names: Sequence[str]) -> tuple[str, str] | None:
    """Which of a table's columns the lake cannot hold under their names, and the line that renames them; None where it can."""
    wrong = unholdable(names)
    if not wrong:
        return None
    taken = [name for name in names if name not in wrong]
    renames = ", ".join(f"{_quoted(name)}: {new}" for name, new in proposed_names(wrong, taken).items())
    return (
        f"the lake cannot hold columns of these names: {', '.join(map(_quoted, wrong))}",
        f"compare: {{rename: {{{renames}}}}}, or leave them out with source.columns",
    )


def proposed_names(names: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """For each name one that the lake can hold and that no other column has; case does not count.

    >>> proposed_names(["a b", "a-b", "1st"], ["A_B"])
    {'a b': 'a_b_', 'a-b': 'a_b__', '1st': '_1st'}
    """
    seen = {name.lower() for name in taken}
    found = {}
    for name in names:
        new = re.sub(r"[^A-Za-z0-9_]", "_", name)
        new = f"c{new}" if new.startswith("_hoodie_") else f"_{new}" if new[:1].isdigit() else new
        while new.lower() in seen:
            new += "_"
        seen.add(new.lower())
        found[name] = new
    return found


def _quoted(name: str) -> str:
    """The name in double quotes as YAML reads them, a control character as its escape."""
    return json.dumps(name, ensure_ascii=False)


def unholdable(names: Sequence[str]) -> tuple[str, ...]:
    """Names that Hudi's Avro schema cannot hold, or that are Hudi's own."""
    return tuple(name for name in names if not _NAME.fullmatch(name) or name.startswith("_hoodie_"))


def _nullable(column: SparkColumn, target: LakeColumn) -> SparkColumn:
    # A non-nullable column in the table would refuse the NULLs of a delete's row; `when` without otherwise is nullable.
    return F.when(F.expr("true"), column).alias(target.name)


def as_now(earlier: DataFrame, table: Sequence[LakeColumn], path: str) -> tuple[SparkColumn, ...]:
    """Columns of the table as it was, as the table has them now: those that came later are NULL, widened ones are cast.

    Raises UsageError for a column of a type that Hudi does not widen exactly to what it is now.
    """
    was = {column.name: column.type for column in columns_of(earlier)}
    other = [
        f"{column.name} was {was[column.name]}, is {column.type}"
        for column in table
        if column.name in was and widened(was[column.name], column.type) != column.type
    ]
    if other:
        raise UsageError(
            f"columns of Hudi table {path} had other types in this range: {'; '.join(other)}",
            fix="begin the range after the commit that changed them",
        )
    return tuple(_as_now(column, was.get(column.name)) for column in table)


def _as_now(column: LakeColumn, was: str | None) -> SparkColumn:
    found = F.lit(None) if was is None else F.col(f"`{column.name}`")
    return found if was == column.type else found.cast(column.type).alias(column.name)
