"""Every batch has exactly the table's columns: name, case and type, all nullable. Decides what differs and casts what may.

Hudi evolves a table without a word (an int column becomes a string for all readers) and refuses batches for reasons that
name no column; so differences end here, listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    wrong = unholdable(tuple(field.name for field in frame.schema.fields))
    if wrong:
        renames = ", ".join(f'"{name}": {re.sub(r"[^A-Za-z0-9_]", "_", name)}' for name in wrong)
        raise RefusedError(
            f"the lake cannot hold columns of these names: {', '.join(wrong)}",
            fix=f"compare: {{rename: {{{renames}}}}}",
        )
    columns = [LakeColumn(column.name, stored_type(column.type)) for column in columns_of(frame)]
    return frame.select(*(_nullable(F.col(f"`{column.name}`").cast(column.type), column) for column in columns))


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
