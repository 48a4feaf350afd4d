"""Changes as NDJSON lines: values spelled by their lake type, masks applied, and when two images are the same. Lazy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from hudi_reconcile.core.changes.queries import Envelope
from hudi_reconcile.core.tables.values import READ_SEQ

# What is shown of a masked column's text; None: the column is left out.
Mask = Callable[[SparkColumn], SparkColumn] | None
_AS_THEY_ARE = (BooleanType, ByteType, ShortType, IntegerType, LongType)
_MICROS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"


def render_lines(changes: DataFrame, masks: Mapping[str, Mask], envelope: Envelope | None = None) -> DataFrame:
    """One finished JSON text per change, as column `line`, ordered by instant and key. `masks` are by lake column.

    Columns that are masked are named in each line that could show them. With an `envelope` the line is an event as Debezium's.
    """
    hidden = {name.lower(): mask for name, mask in masks.items()}
    shown = {name: _image(changes, name, hidden).alias(name) for name in ("key", "before", "after")}
    masked = [F.array(*[F.lit(name) for name in sorted(masks)]).alias("masked")] if masks else []
    fields = (
        [F.col("op"), *shown.values(), F.col("instant"), F.col("correction"), *masked]
        if envelope is None
        else _event_fields(shown, masked, envelope)
    )
    line = F.to_json(F.struct(*fields), {"ignoreNullFields": "false"})
    return changes.orderBy("n", "key").select(line.alias("line"))


# A row that `upsert` lists was inserted or updated; Debezium's updates may lack the row before.
_DEBEZIUM_OP = "case op when 'i' then 'c' when 'd' then 'd' else 'u' end as op"
_ISO = r"regexp_replace(instant, r'^(....)(..)(..)(..)(..)(..)(...)$', '$1-$2-$3T$4:$5:$6.$7Z')"
_COMPLETED_MILLIS = f"unix_millis(cast({_ISO} as timestamp)) as ts_ms"


def _event_fields(
    shown: Mapping[str, SparkColumn], masked: Sequence[SparkColumn], envelope: Envelope
) -> list[SparkColumn]:
    """An event in Debezium's envelope. Both times are when the commit completed, so that a repeated delivery is the same text."""
    constants = {
        "version": envelope.version,
        "connector": "hudi-reconcile",
        "name": envelope.table,
        "snapshot": "false",
        "db": "",
        "table": envelope.table,
    }
    origin = [F.expr(f"correction.{name} as {name}") for name in ("run_id", "plan_id", "kind")]
    source = F.struct(
        *[F.lit(value).alias(name) for name, value in constants.items()],
        F.expr(_COMPLETED_MILLIS),
        F.col("instant"),
        shown["key"],
        *origin,
        *masked,
    )
    return [
        shown["before"],
        shown["after"],
        source.alias("source"),
        F.expr(_DEBEZIUM_OP),
        F.expr(_COMPLETED_MILLIS),
        F.lit(None).cast("string").alias("transaction"),
    ]


def render_json_value(value: SparkColumn, kind: DataType) -> SparkColumn:
    """The value for JSON: integers and booleans as such, all else as text; NULL stays NULL."""
    if isinstance(kind, _AS_THEY_ARE):
        return value
    if isinstance(kind, DecimalType):
        # cast to string would write 1E-7; format_number prints all digits, with commas.
        return F.regexp_replace(F.format_number(value, kind.scale), ",", "")
    if isinstance(kind, TimestampType):
        return F.date_format(value, f"{_MICROS}'Z'")
    if isinstance(kind, TimestampNTZType):
        return F.date_format(value.cast("timestamp"), _MICROS)
    if isinstance(kind, DateType):
        return F.date_format(value, "yyyy-MM-dd")
    if isinstance(kind, BinaryType):
        return F.lower(F.hex(value))
    if kind.typeName() in ("array", "map", "struct"):
        return F.to_json(value, EXACT_TIMES)
    return value.cast("string")


def require_struct(kind: DataType) -> StructType:
    """The type of a key or an image, which is a struct."""
    if not isinstance(kind, StructType):
        raise TypeError(f"{kind.simpleString()} is no struct")
    return kind


def _image(changes: DataFrame, name: str, hidden: Mapping[str, Mask]) -> SparkColumn:
    """A struct column with its values spelled; NULL where it is NULL."""
    fields = []
    for field in require_struct(changes.schema[name].dataType).fields:
        text = render_json_value(F.col(name)[field.name], field.dataType)
        if field.name.lower() not in hidden:
            fields.append(text.alias(field.name))
        elif (mask := hidden[field.name.lower()]) is not None:
            fields.append(mask(text.cast("string")).alias(field.name))
    return F.when(F.col(name).isNotNull(), F.struct(*fields))


# Spark's own JSON cuts times to milliseconds.
EXACT_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def is_same_row(row: SparkColumn, other: SparkColumn, image: StructType) -> SparkColumn:
    """True where two structs hold the same row, but for the tool's own read sequence. Neither may be NULL."""
    pairs = [
        _comparable(row[field.name], field.dataType).eqNullSafe(_comparable(other[field.name], field.dataType))
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
