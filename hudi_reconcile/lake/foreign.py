"""How a table of another tool has to be written, and what forbids it: by `hoodie.properties`, and by its own rows.

What the properties do not record (how keys, paths and buckets were made) our next commit must make the very same. So Hudi's
own key generator is run on a sample with the options that we would write with, and its answers are held against what the
rows carry. Nothing is written on a guess.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.tables.values import Foreign, LakeTable, Ordering

# JDBC, Kafka and file sources keep the first on every table version; the second is for Hudi's own incremental source.
STREAMER_KEYS = ("deltastreamer.checkpoint.key", "streamer.checkpoint.key.v2")
OPERATION = "_hoodie_operation"
CONSISTENT = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled"
_KEYGEN = "org.apache.hudi.keygen."
_CLASSES = {
    "SIMPLE": "SimpleKeyGenerator",
    "COMPLEX": "ComplexKeyGenerator",
    "NON_PARTITION": "NonpartitionedKeyGenerator",
    "TIMESTAMP": "TimestampBasedKeyGenerator",
}
# Of the properties, those that say how keys and partition paths are made; a writer that leaves one out makes others.
_CARRIED = ("hoodie.datasource.write.", "hoodie.keygen.", "hoodie.deltastreamer.keygen.", "hoodie.streamer.keygen.")
_NOT_CARRIED = ("hoodie.datasource.write.drop.partition.columns",)
# Types of partition columns that Hudi reads from the path as they were written; a timestamp of one with `=` is NULL.
_TOLD_BY_PATH = frozenset({"string", "int", "bigint", "date", "boolean"})
_UNKNOWN_VALUE = frozenset({"", "default"})  # of early releases
_PAYLOADS = frozenset({"OverwriteWithLatestAvroPayload", "DefaultHoodieRecordPayload", "EventTimeAvroPayload"})
_PAYLOAD_KEYS = ("hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class")
# Switched off in a commit, an index would be dropped from the table for everybody.
_INDEX_OPTIONS = {
    "column_stats": "hoodie.metadata.index.column.stats.enable",
    "partition_stats": "hoodie.metadata.index.partition.stats.enable",
    "bloom_filters": "hoodie.metadata.index.bloom.filter.enable",
    "record_index": "hoodie.metadata.record.index.enable",
}
_WHOLE_ROWS = {"hoodie.table.partial.update.mode": ("NONE", "it merges parts of rows")}
_ONLY = {
    "hoodie.datasource.write.drop.partition.columns": ("false", "its files hold no partition columns"),
    "hoodie.table.base.file.format": ("PARQUET", "its base files are no Parquet"),
    "hoodie.table.multiple.base.file.formats.enable": ("false", "its base files are of several formats"),
    "hoodie.table.format": ("native", "its timeline is kept by another table format"),
}


def read_foreign(properties: Mapping[str, str]) -> Foreign:
    """What these properties ask of every commit."""
    generator = _generator(properties)
    indexes = tuple(index for index in properties.get("hoodie.table.metadata.partitions", "").split(",") if index)
    return Foreign(
        generator, _options(properties, generator, indexes), indexes, tuple(_hindrances(properties, generator))
    )


def hinder_changelog(table: LakeTable, shown: Collection[str]) -> LakeTable:
    """The table, hindered where the columns that Spark shows of it tell of Flink's changelog mode."""
    if table.foreign is None or OPERATION not in shown:
        return table
    why = f"its rows are changes (Flink's changelog mode, {OPERATION}), and a commit of Spark's tells no operation of a row"
    return replace(table, foreign=replace(table.foreign, hindrances=(*table.foreign.hindrances, why)))


def has_exact_rows(table: LakeTable) -> bool:
    """True where each base file of a table holds its rows as Hudi shows them, whatever it tells by the path instead."""
    foreign = table.foreign
    plain = foreign is None or (not foreign.hindrances and foreign.key_generator != _CLASSES["TIMESTAMP"])
    types = {column.name.lower(): column.type for column in table.columns}
    has_exact_paths = all(types.get(name.lower()) in _TOLD_BY_PATH for name in table.partition_fields)
    return table.type == "copy_on_write" and plain and has_exact_paths and "_metadata" not in types


def merges_whole_rows(ordering: Ordering, properties: Mapping[str, str]) -> bool:
    """True where rows are merged whole: only then is a changed row known to have the version of the commit that changed it.

    A late update that fills in what was NULL leaves the row its old version (measured: Hudi 1.2.0, PartialUpdateAvroPayload).
    """
    return ordering != "other" and not any(_list_own_merges(properties))


def has_exact_partition(table: LakeTable, path: str) -> bool:
    """True where Hudi shows the partition of a file, from its path below the table's, with the values that are in the file.

    But for folders without a value, which Hudi shows as NULL whatever text is in the file.
    """
    folders = path.split("/")[:-1]
    values = [folder.partition("=")[2] if table.path_form.hive_style else folder for folder in folders]
    is_plain = table.path_form.encoded or not any(set(value) & set("%=") for value in values)
    return is_plain and len(folders) == len(table.partition_fields) and not _UNKNOWN_VALUE & set(values)


def _generator(properties: Mapping[str, str]) -> str:
    named = properties.get("hoodie.table.keygenerator.class", "").rsplit(".", 1)[-1].replace("AvroKeyG", "KeyG")
    if named:
        return {"NonpartitionedAvroKeyGenerator": "NonpartitionedKeyGenerator"}.get(named, named)
    kind = properties.get("hoodie.table.keygenerator.type", "").removesuffix("_AVRO")
    if kind:
        return _CLASSES.get(kind, kind)
    # Old tables name none: then Hudi itself goes by the number of fields.
    keys, partitions = (_list_names(properties, f"hoodie.table.{name}.fields") for name in ("recordkey", "partition"))
    if not partitions:
        return _CLASSES["NON_PARTITION"]
    return _CLASSES["SIMPLE" if len(keys) == len(partitions) == 1 else "COMPLEX"]


def _spell(properties: Mapping[str, str], generator: str) -> str:
    """As the table spells it: Flink's writer names the Avro form, and Hudi refuses a commit that names the other one."""
    named = [properties.get(f"hoodie.table.keygenerator.{suffix}", "") for suffix in ("class", "type")]
    is_avro = "AvroKeyGenerator" in named[0] or named[1].endswith("_AVRO")
    return generator.replace("KeyGenerator", "AvroKeyGenerator") if is_avro else generator


def _options(properties: Mapping[str, str], generator: str, indexes: tuple[str, ...]) -> dict[str, str]:
    options = {
        key: value
        for key, value in properties.items()
        if key.startswith(_CARRIED) and key not in _NOT_CARRIED and value
    }
    options |= {
        "hoodie.datasource.write.keygenerator.class": _KEYGEN + _spell(properties, generator),
        "hoodie.datasource.write.partitionpath.field": properties.get("hoodie.table.partition.fields", ""),
        # Hudi refuses one key column under the complex generator, whose text some releases wrote otherwise; the probe
        # holds our text against that of the table's own rows.
        "hoodie.write.complex.keygen.validation.enable": "false",
        "hoodie.metadata.auto.delete.partitions": "false",
        "hoodie.compact.inline": "false",  # compaction stays with the table's own tool
        # The other tool's progress stays findable, whatever is archived.
        "hoodie.write.rolling.metadata.keys": ",".join(STREAMER_KEYS),
        "hoodie.write.rolling.metadata.timeline.lookback.commits": "1000",
    }
    return {**options, **{_INDEX_OPTIONS[index]: "true" for index in indexes if index in _INDEX_OPTIONS}}


def _hindrances(properties: Mapping[str, str], generator: str) -> list[str]:
    hindrances = list(_list_others(_ONLY, properties))
    if generator not in _CLASSES.values():
        legal = ", ".join(sorted(_CLASSES.values()))
        hindrances.append(f"its keys are made by {generator}; known are {legal}")
    if generator == _CLASSES["TIMESTAMP"] and not any(key.endswith("timebased.timestamp.type") for key in properties):
        hindrances.append(
            "its properties do not say how partition paths are made of timestamps (hoodie.keygen.timebased.*)"
        )
    if properties.get("hoodie.bootstrap.base.path"):
        hindrances.append("it stands on files of a table that is no Hudi table (bootstrap)")
    return [*hindrances, *_list_own_merges(properties)]


def _list_own_merges(properties: Mapping[str, str]) -> Iterator[str]:
    yield from _list_others(_WHOLE_ROWS, properties)
    for key in _PAYLOAD_KEYS:
        payload = properties.get(key, "").rsplit(".", 1)[-1]
        if payload and payload not in _PAYLOADS:
            yield f"its rows are merged by {payload}; known are {', '.join(sorted(_PAYLOADS))}"
    if any(key.startswith("hoodie.record.merge.property.") for key in properties):
        yield "it has merge properties of its own (hoodie.record.merge.property.*)"


def _list_others(only: Mapping[str, tuple[str, str]], properties: Mapping[str, str]) -> Iterator[str]:
    for key, (value, why) in only.items():
        if properties.get(key, value).lower() != value.lower():
            yield f"{why} ({key}={properties[key]})"


def _list_names(properties: Mapping[str, str], key: str) -> list[str]:
    return [name for name in properties.get(key, "").split(",") if name]


SAMPLE_ROWS = 100
_KEY, _PATH, _FILE = "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"
_ENCODING = "hoodie.write.complex.keygen.new.encoding"


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a table as Java rows, and what each carries: record key, partition path, file."""

    java_rows: tuple[Any, ...]
    schema: Any
    carried: tuple[tuple[str, str, str], ...]


def take_sample(rows: DataFrame, table: LakeTable) -> Sample:
    """Up to 100 rows, spread over the table by the hash of their keys."""
    needed = {*table.record_key, *table.partition_fields}  # of a wide table, no more is read
    columns = [F.col(f"`{column.name}`") for column in table.columns if column.name in needed]
    chosen = rows.orderBy(F.xxhash64(_KEY), _KEY).limit(SAMPLE_ROWS).select(*columns, _KEY, _PATH, _FILE)
    java: Any = chosen._jdf  # noqa: SLF001  Hudi's key generators take Java rows
    listed = java.collectAsList()
    java_rows = tuple(listed.get(place) for place in range(listed.size()))
    names = (_KEY, _PATH, _FILE)
    carried = tuple(tuple(str(row.getAs(name)) for name in names) for row in java_rows)
    return Sample(java_rows, java.schema(), carried)  # type: ignore[arg-type]


def choose_key_options(
    spark: SparkSession, table: LakeTable, options: Mapping[str, str], sample: Sample
) -> dict[str, str]:
    """The settings with which our keys and partition paths are the table's own.

    Raises RefusedError where no known setting makes them: every commit of ours would double rows.
    """
    for further in _candidates(table):
        made = _make_paths(spark, {**options, **further}, sample)
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


def _make_paths(spark: SparkSession, options: Mapping[str, str], sample: Sample) -> list[tuple[str, str]]:
    jvm: Any = spark._jvm  # noqa: SLF001
    properties = jvm.org.apache.hudi.common.config.TypedProperties()
    for key, value in options.items():
        properties.setProperty(key, value)
    generator = jvm.org.apache.hudi.keygen.factory.HoodieSparkKeyGeneratorFactory.createKeyGenerator(properties)
    to_avro = jvm.org.apache.hudi.AvroConversionUtils.createConverterToAvro(sample.schema, "row", "hoodie")
    keys = [generator.getKey(to_avro.apply(row)) for row in sample.java_rows]
    return [(str(key.getRecordKey()), str(key.getPartitionPath())) for key in keys]
