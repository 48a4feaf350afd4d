"""Rows into and out of Parquet files in a folder of this machine, wherever Spark's executors run.

In one JVM Spark writes and reads them itself. Executors of a cluster have disks of their own: there rows come through the
driver, a part of them at a time, and a plan goes back to the executors as Arrow batches. None of it needs Python on an
executor.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pyarrow as pa
from pyarrow import parquet

from hudi_reconcile.ports import Frame, RowFiles
from hudi_reconcile.spark.session import Session, get_jvm
from hudi_reconcile.spark.settings import is_local

ROWS_PER_FILE = 200_000
# What the driver holds at a time: a task's rows in Java, a batch of them in Python.
ROWS_PER_TASK = 20_000
ROWS_PER_BATCH = 1_000
_CLOCKS = ("timestamp", "timestamp_ntz")
_SCHEME = "file://"


def choose_files(session: Session) -> RowFiles:
    """How rows get to this machine's disk in a session: by Spark itself where the tasks run in its one JVM."""
    spark = session.spark
    return SparkFiles(spark) if is_local(str(spark.sparkContext.master)) else DriverFiles(spark)


@dataclass(frozen=True, slots=True)
class SparkFiles:
    """Implements `ports.RowFiles` where Spark's tasks see this machine's disk."""

    spark: Any

    def save(self, rows: Frame, folder: str, count: int, order: Sequence[str] = ()) -> int:
        """Spark writes them."""
        spread_rows(rows, count, ROWS_PER_FILE, order).write.mode("append").parquet(folder)
        return count_stored_rows(folder)

    def load(self, files: Collection[str]) -> Frame:
        """Spark reads them in no more parts than files: each part more costs every job over them."""
        return Frame(self.spark.read.parquet(*files).coalesce(len(files)))


@dataclass(frozen=True, slots=True)
class DriverFiles:
    """Implements `ports.RowFiles` where Spark's tasks run on other machines."""

    spark: Any

    def save(self, rows: Frame, folder: str, count: int, order: Sequence[str] = ()) -> int:
        """One task's rows at a time come to the driver's Java, and from there to Python in batches."""
        frame = spread_rows(rows, count, ROWS_PER_TASK, order)
        schema = _arrow_schema(frame)
        path = Path(folder.removeprefix(_SCHEME))
        path.mkdir(parents=True, exist_ok=True)
        # Python would show a timestamp in its own zone, where an hour may come twice: it travels as a number.
        row_iterator = frame.selectExpr(*(_travelling(name, kind) for name, kind in frame.dtypes)).toLocalIterator()
        batches, is_more = _batches(row_iterator, schema), True
        while is_more:
            with parquet.ParquetWriter(path / f"part-{uuid4()}.snappy.parquet", schema, compression="snappy") as writer:
                is_more = _write_some(writer, batches)
        return count_stored_rows(folder)

    def load(self, files: Collection[str]) -> Frame:
        """The driver sends them as Arrow batches; it holds them once, without their compression."""
        paths = [Path(file.removeprefix(_SCHEME)) for file in files]
        schema = parquet.read_schema(paths[0])
        descriptor, name = tempfile.mkstemp(prefix="hudi-reconcile-rows-")  # 0600
        try:
            with os.fdopen(descriptor, "wb") as stream, pa.ipc.new_stream(stream, schema) as writer:
                for path in paths:
                    with parquet.ParquetFile(path) as parquet_file:
                        for batch in parquet_file.iter_batches(ROWS_PER_BATCH):
                            writer.write_batch(batch.cast(schema))
            return Frame(self._frame(name, schema))
        finally:
            with suppress(OSError):
                Path(name).unlink()

    def _frame(self, name: str, schema: pa.Schema) -> Any:
        from pyspark.sql import DataFrame
        from pyspark.sql.pandas.types import from_arrow_schema

        door = get_jvm(self.spark).org.apache.spark.sql.api.python.PythonSQLUtils  # as pyspark's own createDataFrame
        kinds = from_arrow_schema(schema, prefer_timestamp_ntz=True).json()
        java = door.toDataFrame(door.readArrowStreamFromFile(name), kinds, self.spark._jsparkSession)  # noqa: SLF001
        return DataFrame(java, self.spark)


def spread_rows(rows: Frame, count: int, most: int, order: Sequence[str]) -> Any:
    """The frame in as many partitions as its rows need, in order over all of them."""
    frame, parts = cast("Any", rows), max(1, -(-count // most))
    columns = [f"`{name.replace('`', '``')}`" for name in order]
    if parts == 1:
        spread = frame.coalesce(1)
    else:
        spread = frame.repartitionByRange(parts, *columns) if columns else frame.repartition(parts)
    return spread.sortWithinPartitions(*columns) if columns else spread


def count_stored_rows(folder: str) -> int:
    """How many rows the files of a folder of this machine hold, by their footers."""
    paths = Path(folder.removeprefix(_SCHEME)).glob("*.parquet")
    return sum(parquet.read_metadata(path).num_rows for path in paths)


def _arrow_schema(frame: Any) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema)


def _travelling(name: str, kind: str) -> str:
    quoted = f"`{name.replace('`', '``')}`"
    return f"unix_micros(cast({quoted} as timestamp)) as {quoted}" if kind in _CLOCKS else quoted


def _write_some(writer: parquet.ParquetWriter, batches: Iterator[pa.RecordBatch]) -> bool:
    """Fill one file; whether there may be rows left."""
    rows = 0
    for batch in batches:
        writer.write_batch(batch)
        rows += batch.num_rows
        if rows >= ROWS_PER_FILE:
            return True
    return False


def _batches(rows: Iterator[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while chunk := list(islice(rows, ROWS_PER_BATCH)):
        columns = zip(*chunk, strict=True)
        yield pa.RecordBatch.from_arrays(
            [_array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)
