"""Source rows as lake rows: every batch has exactly the table's columns, name, case and type, all nullable.

Hudi evolves a table without a word (an int column becomes a string for all readers), mixes rows up whose keys or partitions
it cannot hold, and refuses batches for reasons that name no column. So differences end here, listed, before a commit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import LakeError, RefusedError, UsageError
from hudi_reconcile.core.tables.kinds import Column, choose_stored_type, holds, widen_type
from hudi_reconcile.core.tables.values import READ_SEQ, RECORD_KEY, LakeColumn, PartitionField, is_lake_name
from hudi_reconcile.ports import AS_SOURCE, BatchShape
from hudi_reconcile.sql.spark_text import quote_name

# Hudi has no integers below 32 bits: bulk_insert writes them, then no reader can read the file.
_STORED_AS = {"tinyint": "int", "smallint": "int"}
_TEXT = re.compile(r"(var)?char\(\d+\)")


def find_hudi_type(type_text: str) -> str:
    """The type a column of this Spark type has in a Hudi table."""
    return "string" if _TEXT.fullmatch(type_text) else _STORED_AS.get(type_text, type_text)


def list_columns(frame: DataFrame) -> tuple[LakeColumn, ...]:
    """The frame's columns without Hudi's own, and without the spelling of the record key, which each write makes from them."""
    fields = [f for f in frame.schema.fields if f.name != RECORD_KEY and not f.name.startswith("_hoodie_")]
    return tuple(LakeColumn(f.name, f.dataType.simpleString()) for f in fields)


def list_differences(batch: Sequence[LakeColumn], table: Sequence[LakeColumn]) -> tuple[str, ...]:
    """One sentence per column that is missing, unknown, or of a type whose values the table's does not all hold."""
    batch_types = {column.name: find_hudi_type(column.type) for column in batch}
    wanted = {column.name: column.type for column in table}
    missing = [f"{name} {kind}: missing in the batch" for name, kind in wanted.items() if name not in batch_types]
    unknown = [f"{name} {kind}: not in the lake table" for name, kind in batch_types.items() if name not in wanted]
    other = [
        f"{name}: {kind} in the lake table, {batch_types[name]} in the batch"
        for name, kind in wanted.items()
        if name in batch_types and not holds(kind, batch_types[name])
    ]
    return (*missing, *unknown, *other)


def fit_to_table(frame: DataFrame, table: Sequence[LakeColumn], path: str) -> DataFrame:
    """The frame with the table's columns in the table's order, all nullable. Raises LakeError that lists differences."""
    differences = list_differences(list_columns(frame), table)
    if differences:
        raise LakeError(
            f"rows do not have the schema of Hudi table {path}: {'; '.join(differences)}",
            fix="compare.exclude or compare.rename the columns, or create the table anew",
        )
    return frame.selectExpr(*map(_nullable, table))


def fit_to_new_table(frame: DataFrame, partition_by: Sequence[PartitionField] = ()) -> DataFrame:
    """The frame as a new table stores it: small integers widened, all columns nullable. Raises RefusedError for names.

    A derived partition column is named after its own, so that a name for that is a name for both.
    """
    derived = {field.lake_name for field in partition_by if field.transform != "identity"}
    names = tuple(field.name for field in frame.schema.fields)
    fault = find_names_fault([name for name in names if name not in derived]) or find_names_fault(names)
    if fault is not None:
        raise RefusedError(fault[0], fix=fault[1])
    columns = [LakeColumn(column.name, find_hudi_type(column.type)) for column in list_columns(frame)]
    return frame.selectExpr(*map(_nullable, columns))


def find_names_fault(names: Sequence[str]) -> tuple[str, str] | None:
    """Which of a table's columns the lake cannot hold under their names, and the line that renames them; None where it can."""
    wrong = list_unholdable_names(names)
    if not wrong:
        return None
    taken = [name for name in names if name not in wrong]
    renames = ", ".join(f"{_quote(name)}: {new}" for name, new in propose_names(wrong, taken).items())
    return (
        f"the lake cannot hold columns of these names: {', '.join(map(_quote, wrong))}",
        f"compare: {{rename: {{{renames}}}}}, or leave them out with source.columns",
    )


def propose_names(names: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """For each name one that the lake can hold and that no other column has; case does not count.

    >>> propose_names(["a b", "a-b", "1st"], ["A_B"])
    {'a b': 'a_b_', 'a-b': 'a_b__', '1st': '_1st'}
    """
    seen = {name.lower() for name in taken}
    lake_names = {}
    for name in names:
        new = re.sub(r"[^A-Za-z0-9_]", "_", name)
        new = f"c{new}" if new.startswith("_hoodie_") else f"_{new}" if new[:1].isdigit() else new
        while new.lower() in seen:
            new += "_"
        seen.add(new.lower())
        lake_names[name] = new
    return lake_names


def _quote(name: str) -> str:
    """The name in double quotes as YAML reads them, a control character as its escape."""
    return json.dumps(name, ensure_ascii=False)


def list_unholdable_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names that Hudi's Avro schema cannot hold, or that are Hudi's own."""
    return tuple(name for name in names if not is_lake_name(name))


def _nullable(column: LakeColumn) -> str:
    # A non-nullable column in the table would refuse the NULLs of a delete's row; `case` without `else` is nullable.
    name = quote_name(column.name)
    return f"case when true then cast({name} as {column.type}) end as {name}"


def cast_to_newest(earlier: DataFrame, table: Sequence[LakeColumn], path: str) -> tuple[SparkColumn, ...]:
    """Columns of the table as it was, as the table has them now: those that came later are NULL, widened ones are cast.

    Raises UsageError for a column of a type that Hudi does not widen exactly to what it is now.
    """
    was = {column.name: column.type for column in list_columns(earlier)}
    other = [
        f"{column.name} was {was[column.name]}, is {column.type}"
        for column in table
        if column.name in was and widen_type(was[column.name], column.type) != column.type
    ]
    if other:
        raise UsageError(
            f"columns of Hudi table {path} had other types in this range: {'; '.join(other)}",
            fix="begin the range after the commit that changed them",
        )
    return tuple(_cast_column(column, was.get(column.name)) for column in table)


def _cast_column(column: LakeColumn, was: str | None) -> SparkColumn:
    value = F.lit(None) if was is None else F.col(f"`{column.name}`")
    return value if was == column.type else value.cast(column.type).alias(column.name)


_PATTERNS = {"day": "yyyy-MM-dd", "month": "yyyy-MM", "year": "yyyy"}


def build_lake_rows(
    rows: DataFrame,
    columns: tuple[Column, ...],
    partition_by: tuple[PartitionField, ...],
    read_seq: int,
    shape: BatchShape = AS_SOURCE,
) -> DataFrame:
    """Rows `c0, c1, …` in the order of `columns`, as full images for the lake. A NULL partition source stays NULL."""
    stored = [
        f"cast(c{i} as {choose_stored_type(c)}) as {quote_name(c.lake_name)}"
        for i, c in enumerate(columns)
        if c.lake_name not in shape.left_out
    ]
    stored += [f"cast(null as {column.type}) as {quote_name(column.name)}" for column in shape.dropped]
    places = {column.name: f"c{index}" for index, column in enumerate(columns)}
    derived = [
        f"{derive_value(field.transform, places[field.column])} as {quote_name(field.lake_name)}"
        for field in partition_by
        if field.transform != "identity"
    ]
    return rows.selectExpr(*stored, *derived, f"cast({read_seq} as bigint) as {READ_SEQ}")


def derive_value(transform: str, value: str, *, cast: Literal["cast", "try_cast"] = "cast") -> str:
    """What a derived partition column holds for a value of its source column, as SQL of that."""
    return f"date_format({cast}({value} as timestamp), '{_PATTERNS[transform]}')"
