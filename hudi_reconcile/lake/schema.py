"""Source rows as lake rows: every batch has exactly the table's columns, name, case and type, all nullable.

Hudi evolves a table without a word (an int column becomes a string for all readers), mixes rows up whose keys or partitions
it cannot hold, and refuses batches for reasons that name no column. So differences end here, listed, before a commit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import LakeError, RefusedError, UsageError
from hudi_reconcile.core.tables.kinds import Column, holds, stored_type, widen_type
from hudi_reconcile.core.tables.odd_keys import KeyMixing
from hudi_reconcile.core.tables.values import READ_SEQ, RECORD_KEY, LakeColumn, LakeTable, PartitionField, is_lake_name
from hudi_reconcile.ports import AS_SOURCE, Batch, BatchShape, Frame
from hudi_reconcile.sql.record_keys import render_odd, render_worded, render_words

# Hudi has no integers below 32 bits: bulk_insert writes them, then no reader can read the file.
_STORED_AS = {"tinyint": "int", "smallint": "int"}
_TEXT = re.compile(r"(var)?char\(\d+\)")


def widest_type(type_text: str) -> str:
    """The type a column of this Spark type has in a Hudi table."""
    return "string" if _TEXT.fullmatch(type_text) else _STORED_AS.get(type_text, type_text)


def list_columns(frame: DataFrame) -> tuple[LakeColumn, ...]:
    """The frame's columns without Hudi's own, and without the spelling of the record key, which each write makes from them."""
    fields = [f for f in frame.schema.fields if f.name != RECORD_KEY and not f.name.startswith("_hoodie_")]
    return tuple(LakeColumn(f.name, f.dataType.simpleString()) for f in fields)


def differences(batch: Sequence[LakeColumn], table: Sequence[LakeColumn]) -> tuple[str, ...]:
    """One sentence per column that is missing, unknown, or of a type whose values the table's does not all hold."""
    found = {column.name: widest_type(column.type) for column in batch}
    wanted = {column.name: column.type for column in table}
    missing = [f"{name} {kind}: missing in the batch" for name, kind in wanted.items() if name not in found]
    unknown = [f"{name} {kind}: not in the lake table" for name, kind in found.items() if name not in wanted]
    other = [
        f"{name}: {kind} in the lake table, {found[name]} in the batch"
        for name, kind in wanted.items()
        if name in found and not holds(kind, found[name])
    ]
    return (*missing, *unknown, *other)


def as_table(frame: DataFrame, table: Sequence[LakeColumn], path: str) -> DataFrame:
    """The frame with the table's columns in the table's order, all nullable. Raises LakeError that lists differences."""
    found = differences(list_columns(frame), table)
    if found:
        raise LakeError(
            f"rows do not have the schema of Hudi table {path}: {'; '.join(found)}",
            fix="compare.exclude or compare.rename the columns, or create the table anew",
        )
    return frame.select(*(_nullable(F.col(f"`{column.name}`").cast(column.type), column) for column in table))


def as_new_table(frame: DataFrame, partition_by: Sequence[PartitionField] = ()) -> DataFrame:
    """The frame as a new table stores it: small integers widened, all columns nullable. Raises RefusedError for names.

    A derived partition column is named after its own, so that a name for that is a name for both.
    """
    derived = {field.lake_name for field in partition_by if field.transform != "identity"}
    names = tuple(field.name for field in frame.schema.fields)
    fault = names_fault([name for name in names if name not in derived]) or names_fault(names)
    if fault is not None:
        raise RefusedError(fault[0], fix=fault[1])
    columns = [LakeColumn(column.name, widest_type(column.type)) for column in list_columns(frame)]
    return frame.select(*(_nullable(F.col(f"`{column.name}`").cast(column.type), column) for column in columns))


def names_fault(names: Sequence[str]) -> tuple[str, str] | None:
    """Which of a table's columns the lake cannot hold under their names, and the line that renames them; None where it can."""
    wrong = unholdable_names(names)
    if not wrong:
        return None
    taken = [name for name in names if name not in wrong]
    renames = ", ".join(f"{_quoted(name)}: {new}" for name, new in proposed_names(wrong, taken).items())
    return (
        f"the lake cannot hold columns of these names: {', '.join(map(_quoted, wrong))}",
        f"compare: {{rename: {{{renames}}}}}, or leave them out with source.columns",
    )


def proposed_names(names: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """For each name one that the lake can hold and that no other column has; case does not count.

    >>> proposed_names(["a b", "a-b", "1st"], ["A_B"])
    {'a b': 'a_b_', 'a-b': 'a_b__', '1st': '_1st'}
    """
    seen = {name.lower() for name in taken}
    found = {}
    for name in names:
        new = re.sub(r"[^A-Za-z0-9_]", "_", name)
        new = f"c{new}" if new.startswith("_hoodie_") else f"_{new}" if new[:1].isdigit() else new
        while new.lower() in seen:
            new += "_"
        seen.add(new.lower())
        found[name] = new
    return found


def _quoted(name: str) -> str:
    """The name in double quotes as YAML reads them, a control character as its escape."""
    return json.dumps(name, ensure_ascii=False)


def unholdable_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names that Hudi's Avro schema cannot hold, or that are Hudi's own."""
    return tuple(name for name in names if not is_lake_name(name))


def _nullable(column: SparkColumn, target: LakeColumn) -> SparkColumn:
    # A non-nullable column in the table would refuse the NULLs of a delete's row; `when` without otherwise is nullable.
    return F.when(F.expr("true"), column).alias(target.name)


def as_newest_columns(earlier: DataFrame, table: Sequence[LakeColumn], path: str) -> tuple[SparkColumn, ...]:
    """Columns of the table as it was, as the table has them now: those that came later are NULL, widened ones are cast.

    Raises UsageError for a column of a type that Hudi does not widen exactly to what it is now.
    """
    was = {column.name: column.type for column in list_columns(earlier)}
    other = [
        f"{column.name} was {was[column.name]}, is {column.type}"
        for column in table
        if column.name in was and widen_type(was[column.name], column.type) != column.type
    ]
    if other:
        raise UsageError(
            f"columns of Hudi table {path} had other types in this range: {'; '.join(other)}",
            fix="begin the range after the commit that changed them",
        )
    return tuple(_as_now(column, was.get(column.name)) for column in table)


def _as_now(column: LakeColumn, was: str | None) -> SparkColumn:
    found = F.lit(None) if was is None else F.col(f"`{column.name}`")
    return found if was == column.type else found.cast(column.type).alias(column.name)


# As a record key Hudi cuts a zoned timestamp to milliseconds and writes the address of a binary value.
_KEY_TYPES = ("int", "bigint", "string", "boolean", "date", "timestamp_ntz", "decimal")
# A timestamp_ntz partition value cannot be read back; floats have more texts than values.
_PARTITION_TYPES = ("int", "bigint", "string", "boolean", "date", "timestamp", "decimal")
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
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
    found = rows.agg(*(F.count(F.when(when, 1)) for when in counts.values())).collect()[0]
    wrong = [f"{text} in {found[place]} rows" for place, text in enumerate(counts) if found[place]]
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


def spelled_key(keys: tuple[str, ...]) -> tuple[str, ...]:
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


def leave_out_odd(images: DataFrame, table: LakeTable, lake: Callable[[], DataFrame]) -> Batch:
    """The images that may be written, and how many may not. `lake` is read only where a key is written with Hudi's words.

    An odd row of the lake, which another tool wrote, has the record key of such a key: to write this one is to lose that one.
    """
    mixing = KeyMixing.SHARED if not table.owned else KeyMixing.NONE if table.spelled else KeyMixing.ALONE
    odd, names = _render_odd(images, table.record_key, mixing), [f"`{name}`" for name in table.record_key]
    marked = images.withColumn(_HELD, F.expr(odd))
    if mixing is KeyMixing.SHARED and len(names) > 1 and not images.where(render_worded(names)).isEmpty():
        there = lake()
        held = (
            there.where(_render_odd(there, table.record_key, mixing))
            .selectExpr(f"{render_words(names)} as {_WORDS}")
            .distinct()
        )
        alike = marked.join(F.broadcast(held), F.expr(f"{render_words(names)} = {_WORDS}"), "left")
        marked = alike.withColumn(_HELD, F.expr(f"{_HELD} or {_WORDS} is not null")).drop(_WORDS)
    elif odd == "false":
        return Batch(Frame(images))
    held_rows = marked.where(_HELD).count()
    if not held_rows:
        return Batch(Frame(images))
    texts = ", ".join(f"cast({name} as string)" for name in names)
    shown = marked.where(_HELD).selectExpr(f"to_json(array({texts})) as shown").limit(_MOST_NAMED).collect()
    left = marked.where(f"not {_HELD}").drop(_HELD)
    return Batch(Frame(left), held_rows, tuple(sorted(row["shown"] for row in shown)))


def _render_odd(rows: DataFrame, keys: Sequence[str], mixing: KeyMixing) -> str:
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    return render_odd(keys, [(f"`{name}`", types[name]) for name in keys], mixing)


def _partition_faults(name: str, types: dict[str, str]) -> dict[str, SparkColumn]:
    if types[name] != "string":
        return {}
    return {"empty text or Hive's word for NULL": F.col(f"`{name}`").isin("", _NULL_FOLDER)}


def _is(found: str | None, legal: tuple[str, ...]) -> bool:
    return found is not None and (found in legal or found.split("(", 1)[0] in legal)


_PATTERNS = {"day": "yyyy-MM-dd", "month": "yyyy-MM", "year": "yyyy"}


def lake_rows(
    rows: DataFrame,
    columns: tuple[Column, ...],
    partition_by: tuple[PartitionField, ...],
    read_seq: int,
    shape: BatchShape = AS_SOURCE,
) -> DataFrame:
    """Rows `c0, c1, …` in the order of `columns`, as full images for the lake. A NULL partition source stays NULL."""
    stored = [
        F.col(f"c{i}").cast(stored_type(c)).alias(c.lake_name)
        for i, c in enumerate(columns)
        if c.lake_name not in shape.left_out
    ]
    stored += [F.lit(None).cast(column.type).alias(column.name) for column in shape.dropped]
    by_name = {column.name: index for index, column in enumerate(columns)}
    derived = [
        _derived(field, F.col(f"c{by_name[field.column]}")) for field in partition_by if field.transform != "identity"
    ]
    return rows.select(*stored, *derived, F.lit(read_seq).cast("bigint").alias(READ_SEQ))


def _derived(field: PartitionField, value: SparkColumn) -> SparkColumn:
    return derived_value(field.transform, value).alias(field.lake_name)


def derived_value(transform: str, value: SparkColumn) -> SparkColumn:
    """What a derived partition column holds for a value of its source column."""
    return F.date_format(value.cast("timestamp"), _PATTERNS[transform])
