"""From the facts of a key to its finding: kind, action, differing columns, and its NDJSON line with masked values.

The decision table is that of `core/sweep/drift.py`, as SQL. Facts: `in_source`, `lake_copies`, `equal`, `unchanged` (never
NULL); `source_micros`, `lake_micros`, `source_id` (NULL where none).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.columns import (
    ComparisonShape,
    list_key_columns,
    list_lake_values,
    list_source_values,
    name_columns,
)
from hudi_reconcile.compare.equality import is_same, write_from_canonical
from hudi_reconcile.core.errors import UnverifiedError
from hudi_reconcile.core.pull.cursor import Value
from hudi_reconcile.core.sweep.drift import NOT_DRIFT, FindingKind, PendingRange
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Kind
from hudi_reconcile.core.tables.odd_keys import KeyMixing
from hudi_reconcile.ports import Frame, KeysOf, RowFiles
from hudi_reconcile.sql.record_keys import render_misplaced, render_odd, render_worded, render_words
from hudi_reconcile.sql.spark_text import quote_name, text_literal


def build_findings(
    facts: DataFrame, shape: ComparisonShape, *, table: str, pending: PendingRange | None, masks: Masks
) -> DataFrame:
    """One row per candidate key: what was found, and what apply needs to know of it."""
    items = shape.agreement.columns
    kind = write_kind(pending)
    # As few frames on the way as can be: Spark analyses each of them anew.
    judged = facts.select(
        "*",
        F.expr(f"{kind} as kind"),
        F.expr(f"{write_action(kind)} as action"),
        F.expr(f"{write_differing_columns(items)} as columns"),
        mask_values(items, list_source_values(items), masks).alias("source_values"),
        mask_values(items, list_lake_values(items), masks).alias("lake_values"),
    )
    line = _struct(
        [
            ("table", text_literal(table)),
            ("kind", "kind"),
            ("key", write_key(shape)),
            ("action", "action"),
            ("columns", "columns"),
            ("source", _source_image(shape, masks)),
            ("lake", _lake_image(shape, masks)),
        ]
    )
    return judged.selectExpr(
        *("kind", "action", "segment", *shape.key_names, "columns", "source_digest", "lake_digest"),
        *("lake_copies", "lake_seqnos", "source_micros", "lake_micros"),
        f"{_IS_SILENT} as silent",
        f"{_is_odd(shape)} as {ODD_KEY}",
        f"to_json({line}, map('ignoreNullFields', 'false')) as line",
    )


CHOSEN: Final[Mapping[KeysOf, str]] = {
    "moving": f"kind = '{FindingKind.MOVING.value}'",
    "deleted": f"kind = '{FindingKind.DELETED.value}'",
    "absent": f"(kind = '{FindingKind.SETTLED.value}' and lake_copies = 0)",
}


def relabel(findings: DataFrame, which: str, kind: FindingKind, shape: ComparisonShape, table: str) -> DataFrame:
    """The findings, some of them (by SQL) of a kind that nothing is done about, in their lines too. Lazy."""
    named = f"'{kind.value}'"
    fields = [("table", text_literal(table)), ("kind", named), ("key", write_key(shape)), ("action", "'none'")]
    line = _struct([*fields, ("columns", "columns"), ("source", "null"), ("lake", "null")])
    changed = {"kind": named, "action": "'none'", "line": f"to_json({line}, map('ignoreNullFields', 'false'))"}
    return findings.selectExpr(
        *[
            f"if({which}, {changed[name]}, {name}) as {name}" if name in changed else quote_name(name)
            for name in findings.columns
        ]
    )


# The column by which a finding says that its key is odd (`core/tables/odd_keys.py`); what follows of it, the stages know.
ODD_KEY = FindingKind.ODD_KEY.value


def _is_odd(shape: ComparisonShape) -> str:
    """Whether the key is odd as the lake has it, or else as it would be written, or the place that it would have; as SQL."""
    key = shape.agreement.key
    pairs = zip(key, list_lake_values(key), list_source_values(key), strict=True)
    parts = [(f"if(lake_row is null, cast({ours} as {item.written_type}), {theirs})", item.lake_type)
             for item, theirs, ours in pairs]  # fmt: skip
    odd = render_odd([item.column.lake_name for item in key], parts, shape.agreement.mixing)
    return f"({odd} or {render_misplaced(list_source_values(shape.agreement.places))})"


# What is equal needs nothing, and what moves is not judged.
_IS_OPEN = f"kind not in ('{FindingKind.SETTLED.value}', '{FindingKind.MOVING.value}')"
_WORDS, _ALIKE = "hr_words", "hr_alike"


def hold_odd(findings: DataFrame, lake: Callable[[], DataFrame], shape: ComparisonShape, table: str) -> DataFrame:
    """The findings, those of odd keys and places, and of keys that are spelled like an odd one, of kind `odd_key`.

    Materialised where it changed.

    `lake` gives all the lake's rows: called only where a finding's key is written with one of Hudi's words.
    """
    mixing = shape.agreement.mixing
    if mixing is KeyMixing.NONE and not shape.agreement.places:
        return findings
    worded = f"{_IS_OPEN} and not {ODD_KEY} and ({render_worded(shape.key_names)})"
    odd_rows, worded_rows = findings.selectExpr(f"count_if({_IS_OPEN} and {ODD_KEY})", f"count_if({worded})").collect()[
        0
    ]
    alike = mixing is not KeyMixing.NONE and worded_rows and (odd_rows or mixing is KeyMixing.SHARED)
    if not odd_rows and not alike:
        return findings
    marked = _mark_alike(findings, lake, shape) if alike else findings.withColumn(_ALIKE, F.lit(False))
    rows = relabel(marked, f"{_IS_OPEN} and ({ODD_KEY} or {_ALIKE})", FindingKind.ODD_KEY, shape, table)
    return rows.drop(_ALIKE, _WORDS).localCheckpoint(eager=True)


def _mark_alike(findings: DataFrame, lake: Callable[[], DataFrame], shape: ComparisonShape) -> DataFrame:
    """The findings, each saying whether an odd row is spelled like it."""
    words = render_words(shape.key_names)
    odd = findings.where(ODD_KEY).selectExpr(f"{words} as {_WORDS}")
    if shape.agreement.mixing is KeyMixing.SHARED:
        odd = odd.union(_odd_rows(lake(), shape).selectExpr(f"{words} as {_WORDS}"))
    known = F.broadcast(odd.distinct().localCheckpoint(eager=True))
    return findings.join(known, F.expr(f"{words} = {_WORDS}"), "left").withColumn(
        _ALIKE, F.expr(f"{_WORDS} is not null")
    )


def _odd_rows(rows: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The keys of the lake's rows that are odd, in the comparison's form."""
    key = shape.agreement.key
    values = name_columns("lake", key)
    parts = [(value, item.lake_type) for item, value in zip(key, values, strict=True)]
    odd = rows.where(render_odd([item.column.lake_name for item in key], parts, shape.agreement.mixing))
    return odd.selectExpr(*list_key_columns("lake", shape))


# True where the row was seen to change without its watermark; a pull may still bring what is pending or settled.
_IS_SILENT = (
    "(coalesce(was_silent, false)"
    f" or (silently and kind not in ('{FindingKind.PENDING.value}', '{FindingKind.SETTLED.value}')))"
)


def write_differing_columns(items: tuple[ComparedColumn, ...]) -> str:
    """Source names of the columns that differ, as SQL, where both sides hold the row; empty otherwise."""
    pairs = zip(items, list_source_values(items), list_lake_values(items), strict=True)
    names = [
        f"case when not {is_same(item, ours, theirs)} then {text_literal(item.column.name)} end"
        for item, ours, theirs in pairs
    ]
    listed = f"array_compact(array({', '.join(names)}))" if names else _NO_NAMES
    return f"case when in_source and lake_copies > 0 then {listed} else {_NO_NAMES} end"


_NO_NAMES = "cast(array() as array<string>)"


def write_key(shape: ComparisonShape) -> str:
    """The key under the source's names; from its canonical form, so that a key that vanished on both sides has its name."""
    pairs = zip(shape.agreement.key, shape.key_names, strict=True)
    return _struct(
        [(item.column.name, write_json_value(item, write_from_canonical(item, name))) for item, name in pairs]
    )


def _source_image(shape: ComparisonShape, masks: Masks) -> str:
    image = _struct(
        [
            ("watermark", write_watermark_text(shape.agreement.moving, "source_micros", masks)),
            ("digest", write_hex_digest("source_digest")),
            ("values", "source_values"),
        ]
    )
    return f"case when in_source then {image} end"


def _lake_image(shape: ComparisonShape, masks: Masks) -> str:
    image = _struct(
        [
            ("watermark", write_watermark_text(shape.agreement.watermark, "lake_micros", masks)),
            ("digest", write_hex_digest("lake_digest")),
            ("commit_time", "lake_commit_time"),
            ("partition_path", "lake_partition_path"),
            ("copies", "lake_copies"),
            ("values", "lake_values"),
        ]
    )
    return f"case when lake_copies > 0 then {image} end"


def save(findings: DataFrame, path: str, *, rows: int, shape: ComparisonShape, files: RowFiles) -> None:
    """Write the findings as Parquet, ordered by kind and key, in as many files as their number asks for.

    `path` is a folder of this machine, as `file://`. Raises UnverifiedError where it does not hold all of them then: executors
    on other machines have written to disks of their own, and a plan of files that are not here could never be applied.
    """
    kept_rows = files.save(Frame(findings), path, rows, ("kind", *shape.key_names))
    if kept_rows != rows:
        raise UnverifiedError(
            f"{rows:,} findings were found, and this machine's evidence folder holds {kept_rows:,} of them",
            fix="see that reports: names a local folder with room, then sweep again",
        )


def write_kind(pending: PendingRange | None) -> str:
    """The kind of each row as SQL, exactly as `classify` decides it."""
    in_next_window = "false" if pending is None else f"in_source and {_is_in_next_window(pending)}"
    rules = (
        ("if(in_source, lake_copies = 1 and equal, lake_copies = 0)", FindingKind.SETTLED),
        ("in_source and lake_copies > 1 and unchanged", FindingKind.DUPLICATE_KEY),
        ("in_source and lake_copies > 1", FindingKind.MOVING),
        (in_next_window, FindingKind.PENDING),
        ("not unchanged", FindingKind.MOVING),
        ("not in_source", FindingKind.DELETED),
        ("lake_copies = 0", FindingKind.LATE_ARRIVING),
        ("source_micros is null or source_micros = lake_micros", FindingKind.UPDATED_WITHOUT_WATERMARK),
        ("source_micros < lake_micros", FindingKind.REGRESSED),
    )
    cases = " ".join(f"when {condition} then '{kind.value}'" for condition, kind in rules)
    return f"case {cases} else '{FindingKind.LATE_ARRIVING.value}' end"


def _is_in_next_window(pending: PendingRange) -> str:
    """Whether the next pull reads the row; NULL where it has no watermark."""
    value = "case when lake_copies = 0 then source_id end" if pending.by_id else "source_micros"
    limits = [f"{value} is not null"]
    if pending.after is not None:
        after, after_id = _literal(pending.after.value), pending.after.id
        later_id = "source_id is not null" if after_id is None else f"source_id > {_literal(after_id)}"
        if pending.with_ties:
            later_id = "true" if after_id is None else f"source_id >= {_literal(after_id)}"
        tied = "false" if pending.by_id else f"{value} = {after} and {later_id}"
        limits.append(f"({value} > {after} or ({tied}))")
    if pending.until_micros is not None:
        limits.append(f"{value} <= {_literal(pending.until_micros)}")
    return " and ".join(limits)


def _literal(mark: Value) -> str:
    if isinstance(mark, str):
        return text_literal(mark)
    return f"{mark:f}BD" if isinstance(mark, Decimal) else str(mark)


def write_action(kind: str) -> str:
    """What would repair a row of this kind, both as SQL, as `choose_repair` decides it."""
    none = ", ".join(sorted(f"'{item.value}'" for item in NOT_DRIFT))
    return f"case when {kind} in ({none}) then 'none' when {kind} = '{FindingKind.DELETED.value}' then 'delete' else 'upsert' end"


_BLOCK_BYTES = 64


@dataclass(frozen=True, slots=True)
class Masks:
    """Which columns are not shown, by source name: `hmac` (keyed hash, key of this run) or `redact` (nothing)."""

    columns: Mapping[str, str]
    key: bytes

    def hides(self, name: str) -> bool:
        """True where the column's values must not be shown."""
        return name in self.columns


def write_json_value(item: ComparedColumn, value: str) -> str:
    """The value for JSON, both as SQL: integers and booleans as such, all else as text; NULL stays NULL."""
    kind = item.column.kind
    if kind in (Kind.INTEGER, Kind.BOOLEAN):
        return value
    if kind is Kind.DECIMAL and item.digits is not None:
        # cast to string would write 1E-7; format_number prints all digits, with commas.
        exact = f"cast({value} as decimal({item.digits[0]},{item.digits[1]}))"
        return f"replace(format_number({exact}, {item.digits[1]}), ',', '')"
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        return _iso(f"cast({value} as timestamp)", is_utc=kind is Kind.TIMESTAMPTZ)
    if kind is Kind.BYTES:
        return f"lower(hex({value}))"
    if kind is Kind.CHAR:
        return f"rtrim({value})"
    if kind is Kind.UUID:
        return f"lower({value})"
    return f"cast({value} as string)"


def _iso(timestamp: str, *, is_utc: bool) -> str:
    # No quote stands in the pattern: how one is escaped in SQL text depends on a setting of Spark's.
    text = f"replace(date_format({timestamp}, 'yyyy-MM-dd HH:mm:ss.SSSSSS'), ' ', 'T')"
    return f"concat({text}, 'Z')" if is_utc else text


def _struct(fields: list[tuple[str, str]]) -> str:
    return f"struct({', '.join(f'{value} as {quote_name(name)}' for name, value in fields)})"


def mask_values(items: tuple[ComparedColumn, ...], values: list[str], masks: Masks) -> SparkColumn:
    """A struct of the values (SQL) that may be shown, under the source's names; NULL where there is none to show."""
    pairs = zip(items, values, strict=True)
    texts = {item.column.name: write_json_value(item, value) for item, value in pairs}
    shown = [(name, text) for name, text in texts.items() if masks.columns.get(name) != "redact"]
    if not shown:
        return F.lit(None).cast("struct<none:string>")
    if not any(masks.hides(name) for name, _ in shown):
        return F.expr(_struct(shown))
    # The key of a hash stands in no text: Spark shows a text that it cannot read.
    return F.struct(*[_hash_masked(name, text, masks).alias(name) for name, text in shown])


def _hash_masked(name: str, text: str, masks: Masks) -> SparkColumn:
    return hmac_column(F.expr(f"cast({text} as string)"), masks.key) if masks.hides(name) else F.expr(text)


def hmac_column(text: SparkColumn, key: bytes) -> SparkColumn:
    """HMAC-SHA256 (RFC 2104) of the text under a key, as hex; NULL stays NULL. Spark has sha2 only."""
    block = (sha256(key).digest() if len(key) > _BLOCK_BYTES else key).ljust(_BLOCK_BYTES, b"\0")
    inner = F.lit(bytearray(byte ^ 0x36 for byte in block))
    outer = F.lit(bytearray(byte ^ 0x5C for byte in block))
    return F.sha2(F.concat(outer, F.unhex(F.sha2(F.concat(inner, F.encode(text, "UTF-8")), 256))), 256)


def write_hex_digest(digest: str) -> str:
    """A row digest as 16 hex digits, both as SQL."""
    return f"lpad(lower(hex({digest})), 16, '0')"


def write_watermark_text(items: tuple[ComparedColumn, ...], micros: str, masks: Masks) -> str:
    """The watermark of this name as ISO text, `Z` where its kind has a zone, or as it is; NULL where it is masked. As SQL."""
    if not items or any(masks.hides(item.column.name) for item in items):
        return "cast(null as string)"
    kinds = {item.column.kind for item in items}
    if not kinds <= CALENDAR_KINDS:
        return f"cast({write_json_value(items[0], micros)} as string)"
    if kinds == {Kind.DATE}:
        return f"date_format(timestamp_micros({micros}), 'yyyy-MM-dd')"
    return _iso(f"timestamp_micros({micros})", is_utc=kinds == {Kind.TIMESTAMPTZ})
