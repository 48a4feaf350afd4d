"""Row texts as Spark columns, and the md5 numbers of them: the same bytes as core/canon.py, which holds the table."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from hudi_reconcile.core import canon
from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.kinds import Kind

_SHORT_SCALE = 6  # up to here Spark never writes a decimal with an exponent


def row_text(texts: list[SparkColumn]) -> SparkColumn:
    """Canonical texts as one; each is named twice, so they are to be columns of an inner select."""
    fields = [F.coalesce(F.concat(F.octet_length(t), F.lit(":"), t), F.lit(canon.NULL_FIELD)) for t in texts]
    return F.concat(*fields)


def text_digest(row: SparkColumn) -> SparkColumn:
    """60 bits of the row text as a bigint; summed as halves, for a sum of such numbers wraps after eight."""
    return _md5_number(row, canon.DIGEST_HEX_DIGITS)


def text_bucket(key_row: SparkColumn, count: int) -> SparkColumn:
    """The hash segment of a key's row text."""
    return (_md5_number(key_row, canon.BUCKET_HEX_DIGITS) % F.lit(count)).cast("int")


def _md5_number(text: SparkColumn, hex_digits: int) -> SparkColumn:
    return F.conv(F.substring(F.md5(text.cast("binary")), 1, hex_digits), 16, 10).cast("bigint")


def plain_text(item: Compared, form: SparkColumn) -> SparkColumn:
    """The text of a canonical form (compare/canonical.py) of any kind but floats."""
    kind = item.column.kind
    if kind is Kind.BOOLEAN:
        return form.cast("int").cast("string")
    if kind is Kind.BYTES:
        return F.lower(F.hex(form))
    if kind is Kind.DECIMAL and item.digits is not None:
        return _fixed(form.cast("string"), item.digits[1])
    return form.cast("string")


def _fixed(text: SparkColumn, scale: int) -> SparkColumn:
    """Fixed notation. Without ANSI Spark writes 1E-18: then all digits are the value's, the last at the scale's place."""
    if scale <= _SHORT_SCALE:
        return text
    digits = F.regexp_replace(F.substring_index(text, "E", 1), "[-.]", "")
    sign = F.when(text.startswith("-"), "-").otherwise("")
    return F.when(text.contains("E"), F.concat(sign, F.lit("0."), F.lpad(digits, scale, "0"))).otherwise(text)
