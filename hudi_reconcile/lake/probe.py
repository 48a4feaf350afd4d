"""What a table of another tool does not record, found from its own rows: how their keys, paths and buckets were made.

Our next commit must make the very same; so Hudi's own key generator is run on a sample with the options that we would
write with, and its answers are held against what the rows carry. Nothing is written on a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.values import LakeTable
from hudi_reconcile.lake.foreign import CONSISTENT

SAMPLE_ROWS = 100
_KEY, _PATH, _FILE = "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"
_ENCODING = "hoodie.write.complex.keygen.new.encoding"
# A bucket's number leads the file's name; in eight random digits of a UUID it would not start with so many zeros.
_BUCKET = re.compile(r"^(000\d{5})-")
BUCKETS = "hoodie.bucket.index.num.buckets"
_HASHED = "hoodie.bucket.index.hash.field"
_MOST_BUCKETS = 4_096
_HASH_RANGE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a table as Java rows, and what each carries: record key, partition path, file."""

    java_rows: tuple[Any, ...]
    schema: Any
    carried: tuple[tuple[str, str, str], ...]


def sample_of(rows: DataFrame, table: LakeTable) -> Sample:
    """Up to 100 rows, spread over the table by the hash of their keys."""
    needed = {*table.record_key, *table.partition_fields}  # of a wide table, no more is read
    columns = [F.col(f"`{column.name}`") for column in table.columns if column.name in needed]
    chosen = rows.orderBy(F.xxhash64(_KEY), _KEY).limit(SAMPLE_ROWS).select(*columns, _KEY, _PATH, _FILE)
    java: Any = chosen._jdf  # noqa: SLF001  Hudi's key generators take Java rows
    listed = java.collectAsList()
    found = tuple(listed.get(place) for place in range(listed.size()))
    names = (_KEY, _PATH, _FILE)
    carried = tuple(tuple(str(row.getAs(name)) for name in names) for row in found)
    return Sample(found, java.schema(), carried)  # type: ignore[arg-type]


def key_options(spark: SparkSession, table: LakeTable, options: Mapping[str, str], sample: Sample) -> dict[str, str]:
    """The settings with which our keys and partition paths are the table's own.

    Raises RefusedError where no known setting makes them: every commit of ours would double rows.
    """
    for further in _candidates(table):
        made = _made(spark, {**options, **further}, sample)
        if all(ours == theirs[:2] for ours, theirs in zip(made, sample.carried, strict=True)):
            return further
    generator = "" if table.foreign is None else table.foreign.key_generator
    raise RefusedError(
        f"Hudi table {table.path}: {generator} does not make the record keys or partition paths that its rows carry, so a "
        "commit of ours would double rows",
        fix="let the tool that made the table write it, or pull into a new lake.path",
    )


def _candidates(table: LakeTable) -> Iterator[dict[str, str]]:
    complex_one = (
        table.foreign is not None and table.foreign.key_generator.startswith("Complex") and len(table.record_key) == 1
    )
    for consistent in ("false", "true"):
        for encoding in ("false", "true") if complex_one else ("false",):
            yield {CONSISTENT: consistent, _ENCODING: encoding}


def _made(spark: SparkSession, options: Mapping[str, str], sample: Sample) -> list[tuple[str, str]]:
    jvm: Any = spark._jvm  # noqa: SLF001
    properties = jvm.org.apache.hudi.common.config.TypedProperties()
    for key, value in options.items():
        properties.setProperty(key, value)
    generator = jvm.org.apache.hudi.keygen.factory.HoodieSparkKeyGeneratorFactory.createKeyGenerator(properties)
    to_avro = jvm.org.apache.hudi.AvroConversionUtils.createConverterToAvro(sample.schema, "row", "hoodie")
    keys = [generator.getKey(to_avro.apply(row)) for row in sample.java_rows]
    return [(str(key.getRecordKey()), str(key.getPartitionPath())) for key in keys]


def bucket_options(
    spark: SparkSession, table: LakeTable, overrides: Mapping[str, str], sample: Sample
) -> dict[str, str]:
    """Options of a table whose files are buckets; empty for any other.

    Hudi records their number nowhere. Raises RefusedError where `lake.options` does not say it, or says another one.
    """
    placed = [(key, _BUCKET.match(file)) for key, _, file in sample.carried]
    if not placed or not all(match for _, match in placed):
        return {}
    fields = overrides.get(_HASHED, ",".join(table.record_key))
    identify = spark._jvm.org.apache.hudi.index.bucket.BucketIdentifier.getBucketId  # type: ignore[union-attr]  # noqa: SLF001
    hashes = [(int(identify(key, fields, _HASH_RANGE)), int(match[1])) for key, match in placed if match]
    named = overrides.get(BUCKETS, "")
    if not named.isdecimal() or not _fits(hashes, int(named)):
        fitting = [count for count in range(1, _MOST_BUCKETS) if _fits(hashes, count)]
        said = f"lake.options says {named}, which its files contradict" if named else "no property of it says how many"
        likely = fitting[0] if len(fitting) == 1 else "N"
        raise RefusedError(
            f"Hudi table {table.path}: its files are buckets; {said}",
            fix=f'lake: {{options: {{{BUCKETS}: "{likely}"}}}}, as its other writer has it',
        )
    return {"hoodie.index.type": "BUCKET", "hoodie.index.bucket.engine": "SIMPLE", BUCKETS: named, _HASHED: fields}


def _fits(hashes: Sequence[tuple[int, int]], count: int) -> bool:
    return count > 0 and all(code % count == bucket for code, bucket in hashes)
