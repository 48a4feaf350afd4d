"""How a table of another tool has to be written, and what forbids it: from `hoodie.properties` alone. Pure.

What a table does not record (index, number of buckets, how timestamps become keys) is found by looking at its rows and
files (`probe.py`), never assumed here.
"""

from __future__ import annotations

from collections.abc import Mapping

from hudi_reconcile.core.values import Foreign, LakeTable

# JDBC, Kafka and file sources keep the first on every table version; the second is for Hudi's own incremental source.
STREAMER_KEYS = ("deltastreamer.checkpoint.key", "streamer.checkpoint.key.v2")
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
_NO_VALUE = frozenset({"", "__HIVE_DEFAULT_PARTITION__", "default"})  # in the file it may be NULL or an empty text
_PAYLOADS = frozenset({"OverwriteWithLatestAvroPayload", "DefaultHoodieRecordPayload", "EventTimeAvroPayload"})
_PAYLOAD_KEYS = ("hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class")
# Switched off in a commit, an index would be dropped from the table for everybody.
_INDEX_OPTIONS = {
    "column_stats": "hoodie.metadata.index.column.stats.enable",
    "partition_stats": "hoodie.metadata.index.partition.stats.enable",
    "bloom_filters": "hoodie.metadata.index.bloom.filter.enable",
    "record_index": "hoodie.metadata.record.index.enable",
}
_ONLY = {
    "hoodie.datasource.write.drop.partition.columns": ("false", "its files hold no partition columns"),
    "hoodie.table.base.file.format": ("PARQUET", "its base files are no Parquet"),
    "hoodie.table.multiple.base.file.formats.enable": ("false", "its base files are of several formats"),
    "hoodie.table.partial.update.mode": ("NONE", "it merges parts of rows"),
    "hoodie.table.format": ("native", "its timeline is kept by another table format"),
}


def foreign_of(properties: Mapping[str, str]) -> Foreign:
    """What these properties ask of every commit."""
    generator = _generator(properties)
    indexes = tuple(one for one in properties.get("hoodie.table.metadata.partitions", "").split(",") if one)
    return Foreign(
        generator, _options(properties, generator, indexes), indexes, tuple(_hindrances(properties, generator))
    )


def files_hold_rows(table: LakeTable) -> bool:
    """True where each base file of a table holds its rows as Hudi shows them, whatever it tells by the path instead."""
    foreign = table.foreign
    plain = foreign is None or (not foreign.hindrances and foreign.key_generator != _CLASSES["TIMESTAMP"])
    types = {column.name.lower(): column.type for column in table.columns}
    told = all(types.get(name.lower()) in _TOLD_BY_PATH for name in table.partition_fields)
    return table.type == "copy_on_write" and plain and told and "_metadata" not in types


def path_tells_values(table: LakeTable, path: str) -> bool:
    """True where Hudi shows the partition of a file, from its path below the table's, with the values that are in the file."""
    folders = path.split("/")[:-1]
    values = [folder.partition("=")[2] if table.hive_style else folder for folder in folders]
    is_plain = table.encoded or not any(set(value) & set("%=") for value in values)
    return is_plain and len(folders) == len(table.partition_fields) and not _NO_VALUE & set(values)


def _generator(properties: Mapping[str, str]) -> str:
    named = properties.get("hoodie.table.keygenerator.class", "").rsplit(".", 1)[-1].replace("AvroKeyG", "KeyG")
    if named:
        return {"NonpartitionedAvroKeyGenerator": "NonpartitionedKeyGenerator"}.get(named, named)
    kind = properties.get("hoodie.table.keygenerator.type", "").removesuffix("_AVRO")
    if kind:
        return _CLASSES.get(kind, kind)
    # Old tables name none: then Hudi itself goes by the number of fields.
    keys, partitions = (_listed(properties, f"hoodie.table.{name}.fields") for name in ("recordkey", "partition"))
    if not partitions:
        return _CLASSES["NON_PARTITION"]
    return _CLASSES["SIMPLE" if len(keys) == len(partitions) == 1 else "COMPLEX"]


def _options(properties: Mapping[str, str], generator: str, indexes: tuple[str, ...]) -> dict[str, str]:
    found = {
        key: value
        for key, value in properties.items()
        if key.startswith(_CARRIED) and key not in _NOT_CARRIED and value
    }
    found |= {
        "hoodie.datasource.write.keygenerator.class": _KEYGEN + generator,
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
    return {**found, **{_INDEX_OPTIONS[one]: "true" for one in indexes if one in _INDEX_OPTIONS}}


def _hindrances(properties: Mapping[str, str], generator: str) -> list[str]:
    found = [
        f"{why} ({key}={properties[key]})"
        for key, (only, why) in _ONLY.items()
        if properties.get(key, only).lower() != only.lower()
    ]
    if generator not in _CLASSES.values():
        legal = ", ".join(sorted(_CLASSES.values()))
        found.append(f"its keys are made by {generator}; known are {legal}")
    if generator == _CLASSES["TIMESTAMP"] and not any(key.endswith("timebased.timestamp.type") for key in properties):
        found.append("its properties do not say how partition paths are made of timestamps (hoodie.keygen.timebased.*)")
    for key in _PAYLOAD_KEYS:
        payload = properties.get(key, "").rsplit(".", 1)[-1]
        if payload and payload not in _PAYLOADS:
            found.append(f"its rows are merged by {payload}; known are {', '.join(sorted(_PAYLOADS))}")
    if properties.get("hoodie.bootstrap.base.path"):
        found.append("it stands on files of a table that is no Hudi table (bootstrap)")
    if any(key.startswith("hoodie.record.merge.property.") for key in properties):
        found.append("it has merge properties of its own (hoodie.record.merge.property.*)")
    return found


def _listed(properties: Mapping[str, str], key: str) -> list[str]:
    return [name for name in properties.get(key, "").split(",") if name]
