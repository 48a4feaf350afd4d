"""Images of rows in a `data_before_after` change log, back in the table's types. Spark expressions only.

Hudi's CDC query gives an image as the JSON that Avro makes of a record: a decimal as the bytes of its unscaled value, a time
as microseconds and a date as days since 1970, bytes as characters of ISO 8859-1, numbers that are none as text. That tells
each value exactly where the record's schema is known. Types whose text would not are not read from a log at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.values import LakeColumn

# What Hudi infers from a new file holds its own columns first, and decimals that say nothing; it has no log.
_INFERRED = '{"_hoodie_commit_time":'
_LONG_BYTES = 8
_IMAGES = ("before", "after")  # an absent one is NULL, or the text `null` where a log file was read
Value = Callable[[SparkColumn], SparkColumn]


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A column of the type `kind`: how Spark is to read it from JSON, and what its value is then."""

    kind: str
    raw: str
    value: Value


def tells(avro: str, columns: Sequence[LakeColumn]) -> bool:
    """False where a column is of a type whose text does not tell its value, or is not in the schema as it is in the table."""
    spelled = _spellings(avro)
    return all(column.name in spelled and spelled[column.name].kind == column.type for column in columns)


def typed(changes: DataFrame, avro: str, columns: Sequence[LakeColumn]) -> DataFrame:
    """The changes with `before` and `after` as structs of the table's columns, NULL where there is none.

    `avro` is the schema that the images were written with, which `tells` the columns. A text that is no such image ends the
    reading with an error.
    """
    spelled = _spellings(avro)
    raw = ", ".join(f"`{column.name}` {spelled[column.name].raw}" for column in columns)
    # In a step of its own: Spark would read the text anew for each column.
    texts = {name: F.nullif(F.col(name), F.lit("null")) for name in _IMAGES}
    parsed = changes.withColumns({name: F.from_json(text, raw, {"mode": "FAILFAST"}) for name, text in texts.items()})
    values = {
        name: [spelled[one.name].value(F.col(name)[one.name]).alias(one.name) for one in columns] for name in _IMAGES
    }
    return parsed.withColumns({name: F.when(F.col(name).isNotNull(), F.struct(*values[name])) for name in _IMAGES})


def is_inferred(name: str) -> SparkColumn:
    """True where Hudi made the image of a file's row and not of a log's."""
    return F.coalesce(F.col(name).startswith(_INFERRED), F.lit(False))


def _spellings(avro: str) -> Mapping[str, _Spelling]:
    found = {field["name"]: _spelling(field["type"]) for field in json.loads(avro)["fields"]}
    return {name: one for name, one in found.items() if one is not None}


def _spelling(kind: Any) -> _Spelling | None:
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
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

    def value(found: SparkColumn) -> SparkColumn:
        # Big-endian, two's complement. Of a negative one the complement is added up, which is never further from 0.
        is_negative = F.element_at(found, 1) < 0
        bits = F.when(is_negative, F.lit(255)).otherwise(F.lit(0))
        summed = F.aggregate(
            F.transform(found, lambda one: one.bitwiseAND(F.lit(255)).bitwiseXOR(bits)),
            F.lit(0).cast(whole),
            lambda so_far, one: (so_far * F.lit(256) + one).cast(whole),
        )
        unscaled = F.when(is_negative, -summed - 1).otherwise(summed).cast(whole)
        return F.concat(unscaled.cast("string"), F.lit(f"E-{scale}")).cast(kind)

    return _Spelling(kind, "array<int>", value)


def _as_it_is(found: SparkColumn) -> SparkColumn:
    return found


_PLAIN: Mapping[str, _Spelling] = {
    "boolean": _Spelling("boolean", "boolean", _as_it_is),
    "int": _Spelling("int", "int", _as_it_is),
    "long": _Spelling("bigint", "bigint", _as_it_is),
    "string": _Spelling("string", "string", _as_it_is),
    # As text: Spark would make a float of the double that is nearest to it.
    "float": _Spelling("float", "string", lambda found: found.cast("float")),
    "double": _Spelling("double", "string", lambda found: found.cast("double")),
    "bytes": _Spelling("binary", "string", lambda found: F.encode(found, "ISO-8859-1")),
}
_LOGICAL: Mapping[tuple[str, str], _Spelling] = {
    ("int", "date"): _Spelling("date", "int", F.date_from_unix_date),
    ("long", "timestamp-micros"): _Spelling("timestamp", "bigint", F.timestamp_micros),
    # The session's zone is UTC, so that the cast changes nothing.
    ("long", "local-timestamp-micros"): _Spelling(
        "timestamp_ntz", "bigint", lambda found: F.timestamp_micros(found).cast("timestamp_ntz")
    ),
}
