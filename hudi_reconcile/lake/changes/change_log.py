"""Reading of a copy_on_write table's `data_before_after` log, by Hudi's CDC query, for some commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.change_log import LoggedCommit, span_of_log
from hudi_reconcile.core.values import LakeTable
from hudi_reconcile.lake.changes.logged_images import is_inferred, tells, typed
from hudi_reconcile.lake.frames import cdc, evaluating

_BATCHES = "spark.sql.parquet.enableVectorizedReader"


@contextmanager
def logged_changes(
    spark: SparkSession, table: LakeTable, commits: Sequence[LoggedCommit], avro: str, new_rows: DataFrame
) -> Iterator[DataFrame | None]:
    """What the commits did by their log: `n`, `op`, `before`, `after`; to be evaluated once, and inside.

    Nothing of it is held against anything. `avro` is the schema that all of them wrote with, `new_rows` those of the file groups
    that they began, which have no log: `n` and `row`. None where the table has columns whose values its log does not tell.
    Raises LakeError, also for what fails to be read inside.
    """
    with _rows_one_by_one(spark), evaluating(table.path):
        yield _changes(spark, table, commits, avro, new_rows) if tells(avro, table.columns) else None


def _changes(
    spark: SparkSession, table: LakeTable, commits: Sequence[LoggedCommit], avro: str, new_rows: DataFrame
) -> DataFrame:
    nothing = F.lit(None).cast(new_rows.schema["row"].dataType)
    new = new_rows.select("n", F.lit("i").alias("op"), nothing.alias("before"), F.col("row").alias("after"))
    span = span_of_log(commits)
    if span is None:
        return new
    places = F.create_map(*[F.lit(part) for one in commits for part in (one.requested, one.n)])
    rows = cdc(spark, table.path, *span).withColumn("n", places[F.col("ts_ms")])
    logged = typed(rows.where(F.col("n").isNotNull() & ~is_inferred("after")), avro, table.columns)
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
