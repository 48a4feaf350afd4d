"""Facts into findings: kind, action, differing columns, and the finished NDJSON line, one row per key.

The decision table of `core/sweep/drift.py` as Spark columns. Reads the facts of a key, says its kind and its action.

Facts: `in_source`, `lake_copies`, `equal`, `unchanged` (never NULL); `source_micros`, `lake_micros`, `source_id` (NULL
where none).

Values as people and scripts read them in a finding: text per kind, masks applied, one JSON line per row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pyarrow import parquet
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.columns import ComparisonShape, lake_values, source_values
from hudi_reconcile.compare.equality import column_named, is_same, value_of
from hudi_reconcile.core.errors import UnverifiedError
from hudi_reconcile.core.sweep.drift import NOT_DRIFT, FindingKind, PendingRange
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Kind

ROWS_PER_FILE = 200_000


def findings_of(
    facts: DataFrame, shape: ComparisonShape, *, table: str, pending: PendingRange | None, masks: Masks
) -> DataFrame:
    """One row per candidate key: what was found, and what apply needs to know of it."""
    judged = facts.withColumn("kind", kind_column(pending)).withColumn("action", action_column(F.col("kind")))
    judged = judged.withColumn("columns", differing_columns(shape.agreement.columns))
    line = F.to_json(
        F.struct(
            F.lit(table).alias("table"),
            F.col("kind"),
            key_struct(shape).alias("key"),
            F.col("action"),
            F.col("columns"),
            _source_image(shape, masks).alias("source"),
            _lake_image(shape, masks).alias("lake"),
        ),
        {"ignoreNullFields": "false"},
    )
    return judged.select(
        "kind",
        "action",
        "segment",
        *shape.key_names,
        "columns",
        "source_digest",
        "lake_digest",
        "lake_copies",
        "lake_seqnos",
        "source_micros",
        "lake_micros",
        _silent_column().alias("silent"),
        line.alias("line"),
    )


def _silent_column() -> SparkColumn:
    """True where the row was seen to change without its watermark; a pull may still bring what is pending or settled."""
    return F.expr(
        f"coalesce(was_silent, false) or (silently and kind not in"
        f" ('{FindingKind.PENDING.value}', '{FindingKind.SETTLED.value}'))"
    )


def differing_columns(items: tuple[ComparedColumn, ...]) -> SparkColumn:
    """Source names of the columns that differ, where both sides hold the row; empty otherwise."""
    names = [
        F.when(~is_same(item, source, lake), F.lit(item.column.name))
        for item, source, lake in zip(items, source_values(items), lake_values(items), strict=True)
    ]
    listed = F.array_compact(F.array(*names)) if names else F.array().cast("array<string>")
    both = F.col("in_source") & (F.col("lake_copies") > 0)
    return F.when(both, listed).otherwise(F.array().cast("array<string>"))


def key_struct(shape: ComparisonShape) -> SparkColumn:
    """The key under the source's names; from its canonical form, so that a key that vanished on both sides has its name."""
    pairs = zip(shape.agreement.key, shape.key_names, strict=True)
    return F.struct(*[json_value(item, value_of(item, F.col(name))).alias(item.column.name) for item, name in pairs])


def _source_image(shape: ComparisonShape, masks: Masks) -> SparkColumn:
    image = F.struct(
        watermark_text(shape.agreement.moving, F.col("source_micros"), masks).alias("watermark"),
        hex_digest(F.col("source_digest")).alias("digest"),
        shown_values(shape.agreement.columns, source_values(shape.agreement.columns), masks).alias("values"),
    )
    return F.when(F.col("in_source"), image)


def _lake_image(shape: ComparisonShape, masks: Masks) -> SparkColumn:
    image = F.struct(
        watermark_text(shape.agreement.watermark, F.col("lake_micros"), masks).alias("watermark"),
        hex_digest(F.col("lake_digest")).alias("digest"),
        F.col("lake_commit_time").alias("commit_time"),
        F.col("lake_partition_path").alias("partition_path"),
        F.col("lake_copies").alias("copies"),
        shown_values(shape.agreement.columns, lake_values(shape.agreement.columns), masks).alias("values"),
    )
    return F.when(F.col("lake_copies") > 0, image)


def save(findings: DataFrame, path: str, *, rows: int, shape: ComparisonShape) -> None:
    """Write the findings as Parquet, ordered by kind and key, in as many files as their number asks for.

    `path` is a folder of this machine, as `file://`. Raises UnverifiedError where it does not hold all of them then: executors
    on other machines have written to disks of their own, and a plan of files that are not here could never be applied.
    """
    order = [column_named(name) for name in ("kind", *shape.key_names)]
    if rows <= ROWS_PER_FILE:
        ordered = findings.coalesce(1).sortWithinPartitions(*order)
    else:
        ordered = findings.repartitionByRange(-(-rows // ROWS_PER_FILE), *order).sortWithinPartitions(*order)
    ordered.write.mode("errorifexists").parquet(path)
    kept_rows = _rows_in(Path(path.removeprefix("file://")))
    if kept_rows != rows:
        raise UnverifiedError(
            f"{rows:,} findings were written, and this machine's evidence folder holds {kept_rows:,} of them: Spark's executors"
            " write to their own disks",
            fix="set reports: to a folder that the driver and all executors share, then sweep again",
        )


def _rows_in(folder: Path) -> int:
    return sum(parquet.read_metadata(path).num_rows for path in folder.glob("*.parquet"))


def kind_column(pending_range: PendingRange | None) -> SparkColumn:
    """The kind of each row, exactly as `classify` decides it."""
    in_source, copies = F.col("in_source"), F.col("lake_copies")
    micros, lake_micros = F.col("source_micros"), F.col("lake_micros")
    equal_now = F.when(in_source, (copies == 1) & F.col("equal")).otherwise(copies == 0)
    pending = F.lit(False) if pending_range is None else in_source & _in_next_window(pending_range)
    silent = micros.isNull() | (lake_micros.isNotNull() & (micros == lake_micros))
    older = lake_micros.isNotNull() & (micros < lake_micros)
    return (
        F.when(equal_now, FindingKind.SETTLED.value)
        .when(
            in_source & (copies > 1),
            F.when(F.col("unchanged"), FindingKind.DUPLICATE_KEY.value).otherwise(FindingKind.MOVING.value),
        )
        .when(pending, FindingKind.PENDING.value)
        .when(~F.col("unchanged"), FindingKind.MOVING.value)
        .when(~in_source, FindingKind.DELETED.value)
        .when(copies == 0, FindingKind.LATE_ARRIVING.value)
        .when(silent, FindingKind.UPDATED_WITHOUT_WATERMARK.value)
        .when(older, FindingKind.REGRESSED.value)
        .otherwise(FindingKind.LATE_ARRIVING.value)
    )


def _in_next_window(pending: PendingRange) -> SparkColumn:
    value, source_id = F.col("source_micros"), F.col("source_id")
    if pending.by_id:
        value = F.when(F.col("lake_copies") == 0, source_id)
    found = value.isNotNull()
    if pending.after is not None:
        after, after_id = F.lit(pending.after.value), pending.after.id
        later_id = source_id.isNotNull() if after_id is None else F.coalesce(source_id > F.lit(after_id), F.lit(False))
        tied = F.lit(False) if pending.by_id else (value == after) & later_id
        found = found & ((value > after) | tied)
    if pending.until_micros is not None:
        found = found & (value <= F.lit(pending.until_micros))
    return found


def action_column(kind: SparkColumn) -> SparkColumn:
    """What would repair a row of this kind, as `action_for` decides it."""
    return (
        F.when(kind.isin([item.value for item in NOT_DRIFT]), "none")
        .when(kind == FindingKind.DELETED.value, "delete")
        .otherwise("upsert")
    )


_BLOCK_BYTES = 64


@dataclass(frozen=True, slots=True)
class Masks:
    """Which columns are not shown, by source name: `hmac` (keyed hash, key of this run) or `redact` (nothing)."""

    columns: Mapping[str, str]
    key: bytes

    def hides(self, name: str) -> bool:
        """True where the column's values must not be shown."""
        return name in self.columns


def json_value(item: ComparedColumn, value: SparkColumn) -> SparkColumn:
    """The value for JSON: integers and booleans as such, all else as text; NULL stays NULL."""
    kind = item.column.kind
    if kind in (Kind.INTEGER, Kind.BOOLEAN):
        return value
    if kind is Kind.DECIMAL and item.digits is not None:
        # cast to string would write 1E-7; format_number prints all digits, with commas.
        exact = value.cast(f"decimal({item.digits[0]},{item.digits[1]})")
        return F.regexp_replace(F.format_number(exact, item.digits[1]), ",", "")
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        pattern = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS" + ("'Z'" if kind is Kind.TIMESTAMPTZ else "")
        return F.date_format(value.cast("timestamp"), pattern)
    if kind is Kind.BYTES:
        return F.lower(F.hex(value))
    if kind is Kind.CHAR:
        return F.rtrim(value)
    if kind is Kind.UUID:
        return F.lower(value)
    return value.cast("string")


def shown_values(items: tuple[ComparedColumn, ...], values: list[SparkColumn], masks: Masks) -> SparkColumn:
    """A struct of the values that may be shown, under the source's names; NULL where there is none to show."""
    fields = []
    for item, value in zip(items, values, strict=True):
        how = masks.columns.get(item.column.name)
        if how == "redact":
            continue
        text = json_value(item, value)
        fields.append((text if how is None else hmac_column(text.cast("string"), masks.key)).alias(item.column.name))
    return F.struct(*fields) if fields else F.lit(None).cast("struct<none:string>")


def hmac_column(text: SparkColumn, key: bytes) -> SparkColumn:
    """HMAC-SHA256 (RFC 2104) of the text under a key, as hex; NULL stays NULL. Spark has sha2 only."""
    block = (sha256(key).digest() if len(key) > _BLOCK_BYTES else key).ljust(_BLOCK_BYTES, b"\0")
    inner = F.lit(bytearray(byte ^ 0x36 for byte in block))
    outer = F.lit(bytearray(byte ^ 0x5C for byte in block))
    return F.sha2(F.concat(outer, F.unhex(F.sha2(F.concat(inner, F.encode(text, "UTF-8")), 256))), 256)


def hex_digest(digest: SparkColumn) -> SparkColumn:
    """A row digest as 16 hex digits."""
    return F.lpad(F.lower(F.hex(digest)), 16, "0")


def watermark_text(items: tuple[ComparedColumn, ...], micros: SparkColumn, masks: Masks) -> SparkColumn:
    """The watermark as ISO text, `Z` where its kind has a zone, or as it is; NULL where it is masked."""
    if not items or any(masks.hides(item.column.name) for item in items):
        return F.lit(None).cast("string")
    kinds = {item.column.kind for item in items}
    if not kinds <= CALENDAR_KINDS:
        return json_value(items[0], micros).cast("string")
    if kinds == {Kind.DATE}:
        return F.date_format(F.timestamp_micros(micros), "yyyy-MM-dd")
    zone = "'Z'" if kinds == {Kind.TIMESTAMPTZ} else ""
    return F.date_format(F.timestamp_micros(micros), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS" + zone)
