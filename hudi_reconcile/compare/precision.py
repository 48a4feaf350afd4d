"""What a comparison on fewer digits cuts off: from each value, and in how many source rows. Cuts, never rounds."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.canonical import canonical, source_value
from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.kinds import Kind


def hidden_rows(source: DataFrame, items: tuple[Compared, ...]) -> dict[str, int]:
    """Rows whose value is more than what is left of it, by column. One job that reads these columns only."""
    if not items:
        return {}
    counts = [F.count(F.when(_hides(item, source_value(item)), 1)).alias(f"n{i}") for i, item in enumerate(items)]
    row = source.agg(*counts).collect()[0]
    return {item.column.name: int(row[f"n{i}"]) for i, item in enumerate(items)}


def _hides(item: Compared, value: SparkColumn) -> SparkColumn:
    """True where something is cut off; NULL hides nothing, and NaN is NaN in any width."""
    left = canonical(item, value)
    if item.as_float:
        return left.cast("double") != value
    if item.column.kind is Kind.DECIMAL:
        return left != value
    return left != F.unix_micros(value.cast("timestamp"))
