"""Rows of the table as images in a change: when two of them are the same. Spark expressions only."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from hudi_reconcile.core.values import READ_SEQ

# Spark's own JSON cuts times to milliseconds.
EXACT_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def same_row(left: SparkColumn, right: SparkColumn, image: StructType) -> SparkColumn:
    """True where two structs hold the same row, but for the tool's own read sequence. Neither may be NULL."""
    pairs = [
        _comparable(left[field.name], field.dataType).eqNullSafe(_comparable(right[field.name], field.dataType))
        for field in image.fields
        if field.name != READ_SEQ
    ]
    return reduce(SparkColumn.__and__, pairs, F.lit(True))


def _comparable(value: SparkColumn, kind: DataType) -> SparkColumn:
    # Spark compares no maps; as text they are at worst called different, never equal by mistake.
    return F.to_json(F.struct(value), EXACT_TIMES) if _holds_map(kind) else value


def _holds_map(kind: DataType) -> bool:
    if isinstance(kind, MapType):
        return True
    if isinstance(kind, ArrayType):
        return _holds_map(kind.elementType)
    return isinstance(kind, StructType) and any(_holds_map(field.dataType) for field in kind.fields)
