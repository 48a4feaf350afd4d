"""What a Hudi table cannot hold exactly: types as keys or partitions, and values of text keys and partitions.

Found out before a commit, by name: Hudi itself mixes such rows up in silence (research: record keys are text).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.values import LakeColumn

# As a record key Hudi cuts a zoned timestamp to milliseconds and writes the address of a binary value.
_KEY_TYPES = ("int", "bigint", "string", "boolean", "date", "timestamp_ntz", "decimal")
# A timestamp_ntz partition value cannot be read back; floats have more texts than values.
_PARTITION_TYPES = ("int", "bigint", "string", "boolean", "date", "timestamp", "decimal")
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_FIX = "leave these rows out with source.where, or choose another key or partition_by"


def check_types(columns: Sequence[LakeColumn], keys: Sequence[str], partitions: Sequence[str]) -> None:
    """Raises RefusedError for a key or partition column that is missing or of a type Hudi cannot carry exactly."""
    types = {column.name: column.type for column in columns}
    wrong = [f"key {name} {types.get(name, 'is missing')}" for name in keys if not _is(types.get(name), _KEY_TYPES)]
    wrong += [
        f"partition {name} {types.get(name, 'is missing')}"
        for name in partitions
        if not _is(types.get(name), _PARTITION_TYPES)
    ]
    if wrong:
        raise RefusedError(
            f"Hudi cannot carry these columns exactly: {', '.join(wrong)}; keys may be {', '.join(_KEY_TYPES)}, "
            f"partitions {', '.join(_PARTITION_TYPES)}",
            fix="choose another source.key or lake.partition_by",
        )


def check_values(rows: DataFrame, keys: Sequence[str], partitions: Sequence[str]) -> None:
    """Raises RefusedError with counts for key and partition values that Hudi would mix up. Reads rows only if it must."""
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    counts = {
        **{f"key {name}: {why}": when for name in keys for why, when in _key_faults(name, keys, types).items()},
        **{
            f"partition {name}: {why}": when
            for name in partitions
            for why, when in _partition_faults(name, types).items()
        },
    }
    if not counts:
        return
    found = rows.agg(*(F.count(F.when(when, 1)) for when in counts.values())).collect()[0]
    wrong = [f"{text} in {found[place]} rows" for place, text in enumerate(counts) if found[place]]
    if wrong:
        raise RefusedError(f"Hudi cannot tell these values from others: {'; '.join(wrong)}", fix=_FIX)


def _key_faults(name: str, keys: Sequence[str], types: dict[str, str]) -> dict[str, SparkColumn]:
    """A single key may be neither NULL nor empty. Parts of a composite key are joined as `a:1,b:2` without any escape."""
    column = F.col(f"`{name}`")
    if len(keys) == 1:
        empty = {"empty text": column == ""} if types[name] == "string" else {}
        return {"NULL": column.isNull(), **empty}
    order = list(keys)
    blank = reduce(
        SparkColumn.__and__, (F.coalesce(F.col(f"`{key}`").cast("string"), F.lit("")) == "" for key in order)
    )
    faults = {"NULL or empty in every part": blank} if name == order[0] else {}
    if types[name] != "string":
        return faults
    faults["the text __null__ or __empty__"] = column.isin("__null__", "__empty__")
    if name != order[-1]:
        # The first `,next:` ends this part's text, so only the next name can be mistaken.
        faults["text like the joint of a composite key"] = column.contains(f",{order[order.index(name) + 1]}:")
    return faults


def _partition_faults(name: str, types: dict[str, str]) -> dict[str, SparkColumn]:
    if types[name] != "string":
        return {}
    return {"empty text or Hive's word for NULL": F.col(f"`{name}`").isin("", _NULL_FOLDER)}


def _is(found: str | None, legal: tuple[str, ...]) -> bool:
    return found is not None and (found in legal or found.split("(", 1)[0] in legal)
