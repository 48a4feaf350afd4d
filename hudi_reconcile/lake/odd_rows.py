"""Rows that Hudi would mix up, by their record key or partition path: refused, spelled apart, or left out of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.tables.odd_keys import NULL_PLACES, KeyMixing
from hudi_reconcile.core.tables.values import RECORD_KEY, LakeColumn, LakeTable
from hudi_reconcile.ports import Batch, Frame, NewTable
from hudi_reconcile.sql.record_keys import render_misplaced, render_odd, render_worded, render_words

# As a record key Hudi cuts a zoned timestamp to milliseconds and writes the address of a binary value.
_KEY_TYPES = ("int", "bigint", "string", "boolean", "date", "timestamp_ntz", "decimal")
# A timestamp_ntz partition value cannot be read back; floats have more texts than values.
_PARTITION_TYPES = ("int", "bigint", "string", "boolean", "date", "timestamp", "decimal")
_NULL_KEY = "NULL"
_FIX = "leave these rows out with source.where, or choose another key or partition_by; a new lake.path takes any text as a key"


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


def check_values(rows: DataFrame, keys: Sequence[str], partitions: Sequence[str], *, spelled: bool = False) -> None:
    """Raises RefusedError with counts for key and partition values that Hudi would mix up. Reads rows only if it must.

    Where record keys are `spelled` no two keys are mixed up, and only a single key that is NULL names no row.
    """
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    counts = {
        **{
            f"key {name}: {why}": when
            for name in keys
            for why, when in _key_faults(name, keys, types).items()
            if not spelled or why == _NULL_KEY
        },
        **{
            f"partition {name}: {why}": when
            for name in partitions
            for why, when in _partition_faults(name, types).items()
        },
    }
    if not counts:
        return
    row_counts = rows.agg(*(F.count(F.when(when, 1)) for when in counts.values())).collect()[0]
    wrong = [f"{text} in {row_counts[place]} rows" for place, text in enumerate(counts) if row_counts[place]]
    if wrong:
        raise RefusedError(f"Hudi cannot tell these values from others: {'; '.join(wrong)}", fix=_FIX)


def has_mixed_keys(rows: DataFrame, keys: Sequence[str]) -> bool:
    """Whether Hudi would mix up keys of these rows that have a name. Reads rows only if it must."""
    odd = _render_odd(rows, keys, KeyMixing.ALONE)
    return odd != "false" and not rows.where(odd).isEmpty()


def _key_faults(name: str, keys: Sequence[str], types: dict[str, str]) -> dict[str, SparkColumn]:
    """A single key may be neither NULL nor empty. Parts of a composite key are joined as `a:1,b:2` without any escape."""
    column = F.col(f"`{name}`")
    if len(keys) == 1:
        empty = {"empty text": column == ""} if types[name] == "string" else {}
        return {_NULL_KEY: column.isNull(), **empty}
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


def list_spelled_key(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The record key's fields of a table that spells its keys."""
    return (RECORD_KEY, *keys)


def spell_keys(rows: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """The rows as these write options name their record key: with the spelling of each key that Hudi would mix up.

    Hudi joins the parts of a key as `a:1,b:2` without any escape, and writes NULL and empty parts as words. The spelling comes
    first, has neither a comma nor those words, and tells all texts apart; it is NULL where the parts do that by themselves.
    """
    first, *keys = options.get("hoodie.datasource.write.recordkey.field", "").split(",")
    if first != RECORD_KEY:
        return rows
    odd = F.expr(_render_odd(rows, keys, KeyMixing.ALONE))
    texts = [F.col(f"`{name}`").cast("string") for name in keys]
    parts = [F.when(text.isNull(), F.lit("")).otherwise(F.concat(F.lit("="), F.url_encode(text))) for text in texts]
    return rows.withColumn(RECORD_KEY, F.when(odd, F.concat_ws("&", *parts)))


_MOST_NAMED = 5
_HELD, _WORDS = "_hr_held", "_hr_words"


def leave_out_odd(images: DataFrame, table: LakeTable | NewTable, lake: Callable[[], DataFrame]) -> Batch:
    """The images that may be written, and how many may not. `lake` is read only where a key is written with Hudi's words.

    An odd row of the lake, which another tool wrote, has the record key of such a key: to write this one is to lose that one.
    """
    names, mixing = [f"`{name}`" for name in table.record_key], _mixing(table)
    odd = _render_odd(images, table.record_key, mixing)
    places = [f"`{name}`" for name in _partitions(table) if images.schema[name].dataType.simpleString() == "string"]
    marked = images.withColumn(_HELD, F.expr(f"{odd} or {render_misplaced(places)}"))
    if mixing is KeyMixing.SHARED and len(names) > 1 and not images.where(render_worded(names)).isEmpty():
        there = lake()
        words = (
            there.where(_render_odd(there, table.record_key, mixing))
            .selectExpr(f"{render_words(names)} as {_WORDS}")
            .distinct()
        )
        alike = marked.join(F.broadcast(words), F.expr(f"{render_words(names)} = {_WORDS}"), "left")
        marked = alike.withColumn(_HELD, F.expr(f"{_HELD} or {_WORDS} is not null")).drop(_WORDS)
    elif odd == "false" and not places:
        return Batch(Frame(images))
    held_rows = marked.where(_HELD).count()
    if not held_rows:
        return Batch(Frame(images))
    texts = ", ".join(f"cast({name} as string)" for name in names)
    shown = marked.where(_HELD).selectExpr(f"to_json(array({texts})) as shown").limit(_MOST_NAMED).collect()
    writable_rows = marked.where(f"not {_HELD}").drop(_HELD)
    return Batch(Frame(writable_rows), held_rows, tuple(sorted(row["shown"] for row in shown)))


def _mixing(table: LakeTable | NewTable) -> KeyMixing:
    """A new table spells its keys where they need it, as one of ours may."""
    if isinstance(table, LakeTable) and not table.owned:
        return KeyMixing.SHARED
    return KeyMixing.NONE if table.spelled else KeyMixing.ALONE


def _partitions(table: LakeTable | NewTable) -> tuple[str, ...]:
    """The columns that a row's partition path is made of, by lake name."""
    return (
        table.partition_fields
        if isinstance(table, LakeTable)
        else tuple(field.lake_name for field in table.partition_by)
    )


def _render_odd(rows: DataFrame, keys: Sequence[str], mixing: KeyMixing) -> str:
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    return render_odd(keys, [(f"`{name}`", types[name]) for name in keys], mixing)


def _partition_faults(name: str, types: dict[str, str]) -> dict[str, SparkColumn]:
    if types[name] != "string":
        return {}
    return {"empty text or Hive's word for NULL": F.col(f"`{name}`").isin(*NULL_PLACES)}


def _is(type_name: str | None, legal: tuple[str, ...]) -> bool:
    return type_name is not None and (type_name in legal or type_name.split("(", 1)[0] in legal)
