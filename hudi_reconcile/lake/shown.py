"""Columns that Spark shows otherwise than the table's files hold them. Pure.

Of a key generator that makes partition paths of times, Hudi hands the partition fields to Spark as text, whatever they are
(measured: Hudi 1.2.0, versions 6, 8 and 9). A commit of ours with that text would change the column for every reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hudi_reconcile.core.json_text import avro_fields
from hudi_reconcile.core.values import LakeColumn

SCHEMA = "schema"  # where a commit's metadata keep the table's Avro schema
_GENERATORS = ("hoodie.table.keygenerator.class", "hoodie.table.keygenerator.type")
_OF_TIMES = ("timestamp", "custom")
UNKNOWN = "an unknown type"


def as_held(
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
