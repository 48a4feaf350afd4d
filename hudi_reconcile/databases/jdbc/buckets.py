"""Which md5 bucket a key is in, computed by a product of `jdbc:` as Spark computes it. Pure text, sends nothing.

A bucket that the product told otherwise would leave rows out of a part, and they would look deleted. So there are buckets only
of kinds whose canonical text the product was seen to write (`products.py`), and only where it has md5.
"""

from __future__ import annotations

from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.jdbc.products import BucketSql
from hudi_reconcile.sql.dialect import Dialect

_PLAIN_SCALE = 6  # a decimal with more digits after the point may be written with an exponent


class KeyBuckets:
    """How one product tells buckets; implements `sql/dialect.py:Buckets`."""

    def __init__(self, dialect: Dialect, sql: BucketSql) -> None:
        self.DIALECT = dialect
        self._sql = sql

    def canonical(self, item: ComparedColumn) -> str:
        """The canonical text of the key's column."""
        return self._sql.texts[item.column.kind].format(c=self.DIALECT.quote(item.column.name))

    def octets(self, text: str, _column: Column) -> str:
        """Its length in UTF-8."""
        return self._sql.octets.format(t=text)

    def join_texts(self, texts: tuple[str, ...]) -> str:
        """Texts, one after the other."""
        return f"({' || '.join(texts)})"

    def md5_number(self, text: str, hex_digits: int) -> str:
        """The first 8 hex digits, all that a bucket takes."""
        if hex_digits != self._sql.hex_digits:
            raise ValueError(
                f"{hex_digits} hex digits of an md5 are for digests of rows, which this product does not make"
            )
        return self._sql.md5.format(t=text)

    def remainder(self, number: str, divisor: int) -> str:
        """What is left of a number that is not negative."""
        return f"mod({number}, {divisor})"

    def write_null_test(self, value: str) -> str:
        """True where the value is NULL, as SQL."""
        return f"{value} is null"


def find_buckets(dialect: Dialect, sql: BucketSql | None, key: tuple[Column, ...]) -> KeyBuckets | None:
    """The product's buckets of such a key; None where the text of one of its columns is not known."""
    if sql is None or not all(_is_written(sql, column) for column in key):
        return None
    return KeyBuckets(dialect, sql)


def _is_written(sql: BucketSql, column: Column) -> bool:
    return column.kind in sql.texts and (column.kind is not Kind.DECIMAL or (column.scale or 0) <= _PLAIN_SCALE)
