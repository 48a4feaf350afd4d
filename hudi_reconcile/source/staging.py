"""What a pull counts on rows that it has read: the greatest mark, rows without one, and the look ahead of a page."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.kinds import Column, Kind
from hudi_reconcile.core.marks import Mark, Order, Value
from hudi_reconcile.core.pages import Ahead
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.ports import Frame, Staged
from hudi_reconcile.source.frames import in_order, mark_value

_MOST_SHAPES = 3


def counted(frame: DataFrame, columns: tuple[Column, ...], order: Order, below: Value | None) -> Staged:
    """Count a materialised read: rows, those without a watermark, and the greatest mark below the bound."""
    value = mark_value(columns, order.columns)
    ids = [F.col(f"c{i}") for i, column in enumerate(columns) if column.name == order.id_column]
    mark = F.struct(value.alias("value"), (ids[0] if ids else F.lit(None).cast("bigint")).alias("id"))
    usable = value.isNotNull() if below is None else value < F.lit(below)
    row = frame.agg(
        F.count(F.lit(1)).alias("rows"),
        F.max(F.when(usable, mark)).alias("greatest"),  # a NULL id is the least
        F.sum(F.when(value.isNull(), 1).otherwise(0)).alias("nulls"),
    ).collect()[0]
    found = row["greatest"]
    greatest = None if found is None else Mark(found["value"], found["id"])
    nulls = int(row["nulls"] or 0) if order.columns else 0
    is_text = any(column.kind is Kind.TEXT for column in columns if column.name in order.columns)
    shapes: tuple[str, ...] = ()
    if is_text:
        shaped = frame.select(F.regexp_replace(value, "[0-9]", "0").alias("shape")).where("shape is not null")
        shapes = tuple(str(one["shape"]) for one in shaped.distinct().limit(_MOST_SHAPES).collect())
    return Staged(Frame(frame), int(row["rows"]), greatest, nulls, shapes=shapes)


def mark_column(table: SourceTable, order: Order) -> Column:
    """A column as the greatest of the watermark columns would be declared."""
    columns = [table.column(name) for name in order.columns]
    if len({column.kind for column in columns}) == 1:
        return max(columns, key=lambda column: (column.precision or 0, column.bits or 0))
    return replace(next(column for column in columns if column.kind is not Kind.DATE), name="hr_at")


def looked(frame: DataFrame, columns: tuple[Column, ...]) -> Ahead:
    """The one row of a look ahead."""
    values = [in_order(F.col(f"c{i}"), column).alias(f"v{i}") for i, column in enumerate(columns)]
    low, high, rows = frame.select(*values).collect()[0]
    return Ahead(int(rows), low, high)
