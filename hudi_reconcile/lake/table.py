"""What the table at a path is, from its own properties. Pure but for the last function, which reads them.

Names of properties differ between table versions 6, 8 and 9. Whatever is not known here is refused by name, never assumed.
Of a key generator that makes partition paths of times, Hudi hands the partition fields to Spark as text, whatever they are
(measured: Hudi 1.2.0): a commit with that text would change the column for every reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.safe_text import avro_fields
from hudi_reconcile.core.tables.values import (
    MADE_KEY,
    READ_SEQ,
    RECORD_KEY,
    ChangeLog,
    LakeColumn,
    LakeTable,
    Ordering,
    PathForm,
    TableType,
)
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.foreign import read_foreign

_Value = TypeVar("_Value")
VERSIONS = (6, 8, 9)
CREATE_SCHEMA = "hoodie.table.create.schema"
METADATA_PARTITIONS = "hoodie.table.metadata.partitions"
HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
URL_ENCODED = "hoodie.datasource.write.partitionpath.urlencode"
_TYPES: Mapping[str, TableType] = {"COPY_ON_WRITE": "copy_on_write", "MERGE_ON_READ": "merge_on_read"}
_KEY_FIELDS = "hoodie.table.recordkey.fields"
_MODES: Mapping[str, Ordering] = {"EVENT_TIME_ORDERING": "event_time", "COMMIT_TIME_ORDERING": "commit_time"}
_CHANGE_LOGS: Mapping[str, ChangeLog] = {
    "OP_KEY_ONLY": "op_key_only",
    "DATA_BEFORE": "data_before",
    "DATA_BEFORE_AFTER": "data_before_after",
}
# Version 6 has no merge mode: the payload class decides.
_PAYLOADS: Mapping[str, Ordering] = {
    "OverwriteWithLatestAvroPayload": "commit_time",
    "DefaultHoodieRecordPayload": "event_time",
    "EventTimeAvroPayload": "event_time",
}
_FIX = "sweep another table, or rewrite this one with a supported setting"


def build_lake_table(path: str, properties: Mapping[str, str], columns: tuple[LakeColumn, ...]) -> LakeTable:
    """The table that these properties describe. Raises LakeError for what this tool cannot read or write with certainty."""
    table = build_history_table(path, properties, columns)
    if table.has_made_keys:
        raise LakeError(f"Hudi table {path} has no record key fields (keys are generated)", fix=_FIX)
    _check_ordering(path, properties, table.ordering)
    return table


def build_history_table(path: str, properties: Mapping[str, str], columns: tuple[LakeColumn, ...]) -> LakeTable:
    """The same for a table that is only asked for its history: Hudi may make its keys, and any rule may merge its rows.

    Raises LakeError where no row has a version, or where a property is not known.
    """
    ordering_fields = _names(properties, "hoodie.table.ordering.fields", "hoodie.table.precombine.field")
    key = tuple(name for name in _names(properties, _KEY_FIELDS) if name != RECORD_KEY) or (MADE_KEY,)
    if properties.get("hoodie.populate.meta.fields", "true").lower() == "false":
        raise LakeError(f"Hudi table {path} has no meta fields, so that no row has a version", fix=_FIX)
    return LakeTable(
        path=path,
        name=_one(path, properties, "hoodie.table.name"),
        type=_legal(path, "hoodie.table.type", _one(path, properties, "hoodie.table.type"), _TYPES),
        version=_version(path, properties),
        columns=_as_stored(columns, properties.get(CREATE_SCHEMA, "")),
        record_key=key,
        partition_fields=_names(properties, "hoodie.table.partition.fields"),
        ordering_fields=ordering_fields,
        ordering=_ordering(properties, ordering_fields),
        path_form=PathForm(_is_true(properties, HIVE_STYLE), _is_true(properties, URL_ENCODED)),
        foreign=None if ordering_fields == (READ_SEQ,) else read_foreign(properties),
        change_log=_change_log(path, properties),
        spelled=_is_spelled(properties),
    )


def _as_stored(columns: tuple[LakeColumn, ...], avro: str) -> tuple[LakeColumn, ...]:
    """Spark shows microseconds whatever is stored; the schema that the table was made with may tell of milliseconds."""
    coarse = frozenset(_millis_fields(avro))
    return tuple(replace(column, fraction_digits=3) if column.name in coarse else column for column in columns)


def _millis_fields(avro: str) -> Iterator[str]:
    for name, types in avro_fields(avro):
        if any(isinstance(one, dict) and str(one.get("logicalType")).endswith("timestamp-millis") for one in types):
            yield name


def is_ours(properties: Mapping[str, str]) -> bool:
    """True where this tool made the table."""
    return _names(properties, "hoodie.table.ordering.fields", "hoodie.table.precombine.field") == (READ_SEQ,)


def _is_spelled(properties: Mapping[str, str]) -> bool:
    """True where the tool's own column stands before the key's, so that no two keys make one record key."""
    return RECORD_KEY in _names(properties, _KEY_FIELDS)


def has_table(files: Files, path: str) -> bool:
    """True where a Hudi table is; False where nothing is, or only the remains of one that was never made.

    Raises LakeError where other files are.
    """
    if files.exists(f"{path}/.hoodie/hoodie.properties"):
        return True  # without a listing of what may be many files
    names = {entry.name for entry in files.list(path)}
    if not names:
        return False
    if ".hoodie" not in names:
        raise LakeError(
            f"lake path {path} holds {len(names)} files or folders but no Hudi table (no .hoodie)",
            fix="set lake.path to an empty folder or to a Hudi table",
        )
    inside = {entry.name for entry in files.list(f"{path}/.hoodie")}
    if inside & {"hoodie.properties", "hoodie.properties.backup"}:
        return True
    if names == {".hoodie"}:
        return False  # killed while the folders were made; nothing can be in it
    raise LakeError(
        f"lake path {path}: .hoodie holds no hoodie.properties, beside data",
        fix="restore hoodie.properties from a backup",
    )


def read_properties(timeline: Timeline, path: str) -> dict[str, str]:
    """The table's properties. Raises LakeError where they are empty."""
    found = timeline.properties()
    if not found:
        raise LakeError(f"Hudi table {path}: hoodie.properties is empty", fix="restore hoodie.properties from a backup")
    return found


def _is_true(properties: Mapping[str, str], key: str) -> bool:
    return properties.get(key, "false").lower() == "true"


def _version(path: str, properties: Mapping[str, str]) -> int:
    text = _one(path, properties, "hoodie.table.version")
    return _legal(path, "hoodie.table.version", text, {str(version): version for version in VERSIONS})


def _ordering(properties: Mapping[str, str], fields: tuple[str, ...]) -> Ordering:
    mode = properties.get("hoodie.record.merge.mode")
    found = _PAYLOADS.get(_payload(properties, fields), "other") if mode is None else _MODES.get(mode, "other")
    return "tool" if fields == (READ_SEQ,) and found == "event_time" else found


def _payload(properties: Mapping[str, str], fields: tuple[str, ...]) -> str:
    # Without either, releases differ in what they do; what is right for event time is right for both.
    unnamed = "DefaultHoodieRecordPayload" if fields else "OverwriteWithLatestAvroPayload"
    return properties.get("hoodie.compaction.payload.class", unnamed).rsplit(".", 1)[-1]


def _check_ordering(path: str, properties: Mapping[str, str], found: Ordering) -> None:
    if found != "other":
        return
    mode = properties.get("hoodie.record.merge.mode")
    if mode is not None:
        _legal(path, "hoodie.record.merge.mode", mode, _MODES)
    _legal(path, "hoodie.compaction.payload.class", _payload(properties, ()), _PAYLOADS)


def _change_log(path: str, properties: Mapping[str, str]) -> ChangeLog | None:
    if properties.get("hoodie.table.cdc.enabled", "false").lower() != "true":
        return None
    key = "hoodie.table.cdc.supplemental.logging.mode"
    return _legal(path, key, properties.get(key, "DATA_BEFORE_AFTER").upper(), _CHANGE_LOGS)


def _names(properties: Mapping[str, str], *keys: str) -> tuple[str, ...]:
    for key in keys:
        text = properties.get(key, "")
        if text:
            # Custom key generators write `field:TYPE`.
            return tuple(name.split(":", 1)[0].strip() for name in text.split(","))
    return ()


def _one(path: str, properties: Mapping[str, str], key: str) -> str:
    found = properties.get(key)
    if found is None:
        raise LakeError(
            f"Hudi table {path}: hoodie.properties has no {key}", fix="restore hoodie.properties from a backup"
        )
    return found


def _legal(path: str, key: str, found: str, legal: Mapping[str, _Value]) -> _Value:
    if found not in legal:
        raise LakeError(f"Hudi table {path}: {key} is {found}, supported are {', '.join(sorted(legal))}", fix=_FIX)
    return legal[found]


SCHEMA = "schema"  # where a commit's metadata keep the table's Avro schema
_GENERATORS = ("hoodie.table.keygenerator.class", "hoodie.table.keygenerator.type")
_OF_TIMES = ("timestamp", "custom")
UNKNOWN = "an unknown type"


def add_file_types(
    columns: tuple[LakeColumn, ...],
    properties: Mapping[str, str],
    partition_fields: tuple[str, ...],
    schemas: Iterator[str],
) -> tuple[LakeColumn, ...]:
    """The columns, each saying what the files hold where Spark shows text for it. `schemas`: newest first."""
    named = " ".join(properties.get(key, "").rsplit(".", 1)[-1].lower() for key in _GENERATORS)
    if not any(one in named for one in _OF_TIMES):
        return columns
    held = dict(_types(next(schemas, "")))
    return tuple(
        replace(column, stored=held.get(column.name, UNKNOWN))
        if column.name in partition_fields and column.type == "string" and held.get(column.name) != "string"
        else column
        for column in columns
    )


def _types(avro: str) -> Iterator[tuple[str, str]]:
    for name, types in avro_fields(avro):
        known = [one for one in types if one != "null"]
        one = known[0] if len(known) == 1 else UNKNOWN
        yield name, str(one.get("logicalType", one.get("type"))) if isinstance(one, dict) else str(one)
