"""Values as people and scripts read them in a finding (contract §6): text per kind, masks applied, one JSON line per row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.kinds import CALENDAR_KINDS, Kind

_BLOCK_BYTES = 64


@dataclass(frozen=True, slots=True)
class Masks:
    """Which columns are not shown, by source name: `hmac` (keyed hash, key of this run) or `redact` (nothing)."""

    columns: Mapping[str, str]
    key: bytes

    def hides(self, name: str) -> bool:
        """True where the column's values must not be shown."""
        return name in self.columns


def spelled(item: Compared, value: SparkColumn) -> SparkColumn:
    """The value for JSON: integers and booleans as such, all else as text; NULL stays NULL."""
    kind = item.column.kind
    if kind in (Kind.INTEGER, Kind.BOOLEAN):
        return value
    if kind is Kind.DECIMAL and item.digits is not None:
        # cast to string would write 1E-7; format_number prints all digits, with commas.
        exact = value.cast(f"decimal({item.digits[0]},{item.digits[1]})")
        return F.regexp_replace(F.format_number(exact, item.digits[1]), ",", "")
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        pattern = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS" + ("'Z'" if kind is Kind.TIMESTAMPTZ else "")
        return F.date_format(value.cast("timestamp"), pattern)
    if kind is Kind.BYTES:
        return F.lower(F.hex(value))
    if kind is Kind.CHAR:
        return F.rtrim(value)
    if kind is Kind.UUID:
        return F.lower(value)
    return value.cast("string")


def shown(items: tuple[Compared, ...], values: list[SparkColumn], masks: Masks) -> SparkColumn:
    """A struct of the values that may be shown, under the source's names; NULL where there is none to show."""
    fields = []
    for item, value in zip(items, values, strict=True):
        how = masks.columns.get(item.column.name)
        if how == "redact":
            continue
        text = spelled(item, value)
        fields.append((text if how is None else hmac_column(text.cast("string"), masks.key)).alias(item.column.name))
    return F.struct(*fields) if fields else F.lit(None).cast("struct<none:string>")


def hmac_column(text: SparkColumn, key: bytes) -> SparkColumn:
    """HMAC-SHA256 (RFC 2104) of the text under a key, as hex; NULL stays NULL. Spark has sha2 only."""
    block = (sha256(key).digest() if len(key) > _BLOCK_BYTES else key).ljust(_BLOCK_BYTES, b"\0")
    inner = F.lit(bytearray(byte ^ 0x36 for byte in block))
    outer = F.lit(bytearray(byte ^ 0x5C for byte in block))
    return F.sha2(F.concat(outer, F.unhex(F.sha2(F.concat(inner, F.encode(text, "UTF-8")), 256))), 256)


def hex_digest(digest: SparkColumn) -> SparkColumn:
    """A row digest as 16 hex digits."""
    return F.lpad(F.lower(F.hex(digest)), 16, "0")


def watermark_text(items: tuple[Compared, ...], micros: SparkColumn, masks: Masks) -> SparkColumn:
    """The watermark as ISO text, `Z` where its kind has a zone, or as it is; NULL where it is masked."""
    if not items or any(masks.hides(item.column.name) for item in items):
        return F.lit(None).cast("string")
    kinds = {item.column.kind for item in items}
    if not kinds <= CALENDAR_KINDS:
        return spelled(items[0], micros).cast("string")
    if kinds == {Kind.DATE}:
        return F.date_format(F.timestamp_micros(micros), "yyyy-MM-dd")
    zone = "'Z'" if kinds == {Kind.TIMESTAMPTZ} else ""
    return F.date_format(F.timestamp_micros(micros), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS" + zone)
