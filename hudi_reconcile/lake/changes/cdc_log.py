"""Reads a copy_on_write table's `data_before_after` log by Hudi's CDC query, and turns its images into the table's types.

The query gives an image as the JSON that Avro makes of a record: a decimal as the bytes of its unscaled value, a time as
microseconds and a date as days since 1970, bytes as characters of ISO 8859-1, numbers that are none as text. That tells
each value exactly where the record's schema is known. Types whose text would not are not read from a log at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.changes.range import LoggedCommit, find_log_span
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable
from hudi_reconcile.lake.reads import read_cdc, redact_failures

_BATCHES = "spark.sql.parquet.enableVectorizedReader"


@contextmanager
def read_logged_changes(
    spark: SparkSession, table: LakeTable, commits: Sequence[LoggedCommit], avro: str, new_rows: DataFrame
) -> Iterator[DataFrame | None]:
    """What the commits did by their log: `n`, `op`, `before`, `after`; to be evaluated once, and inside.

    Nothing of it is held against anything. `avro` is the schema that all of them wrote with, `new_rows` those of the file groups
    that they began, which have no log: `n` and `row`. None where the table has columns whose values its log does not tell.
    Raises LakeError, also for what fails to be read inside.
    """
    with _rows_one_by_one(spark), redact_failures(table.path):
        yield _changes(spark, table, commits, avro, new_rows) if holds_values(avro, table.columns) else None


def _changes(
    spark: SparkSession, table: LakeTable, commits: Sequence[LoggedCommit], avro: str, new_rows: DataFrame
) -> DataFrame:
    nothing = F.lit(None).cast(new_rows.schema["row"].dataType)
    new = new_rows.select("n", F.lit("i").alias("op"), nothing.alias("before"), F.col("row").alias("after"))
    span = find_log_span(commits)
    if span is None:
        return new
    places = F.create_map(*[F.lit(part) for commit in commits for part in (commit.requested, commit.n)])
    rows = read_cdc(spark, table.path, *span).withColumn("n", places[F.col("ts_ms")])
    logged = parse_images(rows.where(F.col("n").isNotNull() & ~is_inferred("after")), avro, table.columns)
    return logged.select("n", "op", "before", "after").unionByName(new)


@contextmanager
def _rows_one_by_one(spark: SparkSession) -> Iterator[None]:
    """Hudi's CDC query switches Spark's batches of Parquet rows off, and never on again: files in one plan with it would fail."""
    was = spark.conf.get(_BATCHES)
    spark.conf.set(_BATCHES, "false")
    try:
        yield
    finally:
        spark.conf.set(_BATCHES, was or "true")


# What Hudi infers from a new file holds its own columns first, and decimals that say nothing; it has no log.
_INFERRED = '{"_hoodie_commit_time":'
_LONG_BYTES = 8
_IMAGES = ("before", "after")  # an absent one is NULL, or the text `null` where a log file was read


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A column of the type `kind`: how Spark is to read it from JSON, and what its value is then, as SQL of what was read."""

    kind: str
    raw: str
    value: str = "{0}"


def holds_values(avro: str, columns: Sequence[LakeColumn]) -> bool:
    """False where a column is of a type whose text does not tell its value, or is not in the schema as it is in the table."""
    spelled = _spellings(avro)
    return all(column.name in spelled and spelled[column.name].kind == column.type for column in columns)


def parse_images(changes: DataFrame, avro: str, columns: Sequence[LakeColumn]) -> DataFrame:
    """The changes with `before` and `after` as structs of the table's columns, NULL where there is none.

    `avro` is the schema that the images were written with, and `holds_values` was asked of it. A text that is no such
    image ends the reading with an error.
    """
    spelled = _spellings(avro)
    raw = ", ".join(f"`{column.name}` {spelled[column.name].raw}" for column in columns)
    # In a step of its own: Spark would read the text anew for each column.
    texts = {name: F.nullif(F.col(name), F.lit("null")) for name in _IMAGES}
    parsed = changes.withColumns({name: F.from_json(text, raw, {"mode": "FAILFAST"}) for name, text in texts.items()})
    values = {
        name: [
            F.expr(spelled[column.name].value.format(f"`{name}`.`{column.name}`")).alias(column.name)
            for column in columns
        ]
        for name in _IMAGES
    }
    return parsed.withColumns({name: F.when(F.col(name).isNotNull(), F.struct(*values[name])) for name in _IMAGES})


def is_inferred(name: str) -> SparkColumn:
    """True where Hudi made the image of a file's row and not of a log's."""
    return F.coalesce(F.col(name).startswith(_INFERRED), F.lit(False))


def _spellings(avro: str) -> Mapping[str, _Spelling]:
    spellings = {field["name"]: _spelling(field["type"]) for field in json.loads(avro)["fields"]}
    return {name: spelling for name, spelling in spellings.items() if spelling is not None}


def _spelling(kind: Any) -> _Spelling | None:
    if isinstance(kind, list):
        kinds = [branch for branch in kind if branch != "null"]
        return _spelling(kinds[0]) if len(kinds) == 1 else None
    if not isinstance(kind, dict):
        return _PLAIN.get(kind)
    name, logical = kind.get("type"), kind.get("logicalType")
    if name == "fixed" and logical == "decimal":
        return _decimal(kind["precision"], kind.get("scale", 0), kind["size"])
    if logical is None and isinstance(name, str):
        return _PLAIN.get(name)
    return _LOGICAL.get((str(name), str(logical)))


def _decimal(precision: int, scale: int, size_bytes: int) -> _Spelling:
    kind = f"decimal({precision},{scale})"
    whole = "bigint" if size_bytes <= _LONG_BYTES else "decimal(38,0)"
    # Big-endian, two's complement. Of a negative one the complement is added up, which is never further from 0.
    is_negative = "element_at({0}, 1) < 0"
    bits = f"transform({{0}}, one -> (one & 255) ^ if({is_negative}, 255, 0))"
    added = f"aggregate({bits}, cast(0 as {whole}), (so_far, one) -> cast(so_far * 256 + one as {whole}))"
    unscaled = f"cast(if({is_negative}, -{added} - 1, {added}) as {whole})"
    return _Spelling(kind, "array<int>", f"cast(concat(cast({unscaled} as string), 'E-{scale}') as {kind})")


_PLAIN: Mapping[str, _Spelling] = {
    "boolean": _Spelling("boolean", "boolean"),
    "int": _Spelling("int", "int"),
    "long": _Spelling("bigint", "bigint"),
    "string": _Spelling("string", "string"),
    # As text: Spark would make a float of the double that is nearest to it.
    "float": _Spelling("float", "string", "cast({0} as float)"),
    "double": _Spelling("double", "string", "cast({0} as double)"),
    "bytes": _Spelling("binary", "string", "encode({0}, 'ISO-8859-1')"),
}
_LOGICAL: Mapping[tuple[str, str], _Spelling] = {
    ("int", "date"): _Spelling("date", "int", "date_from_unix_date({0})"),
    ("long", "timestamp-micros"): _Spelling("timestamp", "bigint", "timestamp_micros({0})"),
    # The session's zone is UTC, so that the cast changes nothing.
    ("long", "local-timestamp-micros"): _Spelling(
        "timestamp_ntz", "bigint", "cast(timestamp_micros({0}) as timestamp_ntz)"
    ),
}
