"""Any database that is read through `jdbc:`: the SQL-92 that all speak, and the product's own forms. Sends nothing.

Type facts: `java.sql.Types`, and what Spark 3.5's reader makes of each (docs/jdbc.md has the measured table).
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from hudi_reconcile.core.pull.cursor import watermark_text
from hudi_reconcile.core.source.jdbc import Reported
from hudi_reconcile.core.sweep.segments import KeyRange
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.databases.jdbc.products import Product
from hudi_reconcile.sql import reads

MOST_DIGITS = 38  # of a Spark and a Parquet decimal
MICRO_DIGITS = 6
_LAST = "9999-12-31"
_BIT, _FLOAT = -7, 6
_LONG = 64
_PRIME, _HASHED = 31, 4
_INTEGER_BITS = {-6: 32, 5: 32, 4: 32, -5: _LONG}
_TEXT_CODES = frozenset({12, -1, -9, -16, 2005, 2011})
_KINDS: Final = {
    **dict.fromkeys(_INTEGER_BITS, Kind.INTEGER),
    **dict.fromkeys(_TEXT_CODES, Kind.TEXT),
    **dict.fromkeys((2, 3), Kind.DECIMAL),
    **dict.fromkeys((1, -15), Kind.CHAR),
    **dict.fromkeys((-2, -3, -4, 2004), Kind.BYTES),
    7: Kind.REAL, 8: Kind.DOUBLE, 16: Kind.BOOLEAN, 91: Kind.DATE, 93: Kind.TIMESTAMP, 2014: Kind.TIMESTAMPTZ,
}  # fmt: skip
_XML = re.compile(r'(\w+\.)?"?XML(TYPE)?\b', re.IGNORECASE)
_NUMBERS = frozenset({Kind.INTEGER.value, Kind.DECIMAL.value, Kind.NUMBER.value})


class GenericDialect:
    """The SQL of one product; implements `sql/dialect.py:Dialect`."""

    RANGES_AT_ONCE = 100  # OR-ed ranges nest a parser's stack

    def __init__(self, product: Product) -> None:
        self.NAME = product.name
        self.MODULO = product.keys.modulo if product.proven else None
        self.product = product

    def describe_column(self, driver_column: Reported) -> Column:
        """The column's kind. OTHER, with the reason, where driver or Spark are known to alter its values."""
        kind = self._kind(driver_column)
        column = Column(
            driver_column.name, kind, driver_column.declared, nullable=driver_column.nullable, native=kind.value
        )
        ambiguous = self.product.texts.ambiguous
        if ambiguous is not None and re.match(ambiguous, driver_column.type_name, re.IGNORECASE):
            why = f"different values of {driver_column.type_name} have the same text in {self.product.title}"
            return _change_kind(column, Kind.OTHER, why=why)
        if kind is Kind.DECIMAL:
            return _decimal(column, driver_column)
        if kind is Kind.INTEGER:
            return _integer(column, driver_column)
        if kind in CALENDAR_KINDS and kind is not Kind.DATE:
            return self._timestamp(column, driver_column)
        if kind is Kind.OTHER:
            why = f"{driver_column.type_name} is JDBC FLOAT, of which Spark's reader keeps 24 of 53 bits"
            return _change_kind(column, Kind.OTHER, why=why)
        return column

    def _kind(self, driver_column: Reported) -> Kind:
        word = re.match(r"\w*", driver_column.type_name)
        own = self.product.kinds.get(word[0].upper() if word else "")
        is_array = driver_column.type_name.endswith("]") or driver_column.type_name.upper().endswith("ARRAY")
        if is_array:
            return Kind.OWN_TEXT
        if own is not None:
            return own
        if driver_column.code in self.product.codes:
            return self.product.codes[driver_column.code]
        if driver_column.code == _FLOAT:
            return Kind.OTHER
        if driver_column.code == _BIT:
            return Kind.BOOLEAN if (driver_column.size or 1) == 1 else Kind.OWN_TEXT
        return _KINDS.get(driver_column.code, Kind.OWN_TEXT)

    def _timestamp(self, column: Column, driver_column: Reported) -> Column:
        driver_digits = MICRO_DIGITS if driver_column.digits is None else driver_column.digits
        digits = self.product.digits.get(driver_column.type_name.upper(), driver_digits)
        has_no_utc = column.kind is Kind.TIMESTAMPTZ and self.product.utc is None
        if has_no_utc or (digits > MICRO_DIGITS and self.product.finer is None):
            return _change_kind(column, Kind.OWN_TEXT)
        return _change_kind(column, column.kind, precision=digits)

    def quote(self, name: str) -> str:
        """An identifier, quoted. Raises ValueError for NUL, which no SQL name can hold."""
        if "\0" in name:
            raise ValueError("an identifier cannot hold NUL")
        mark = self.product.quote
        return mark + name.replace(mark, mark * 2) + mark

    def read(self, column: Column) -> str:
        """The column as the JDBC driver is to read it: typed, or as the database's own text."""
        name = self.quote(column.name)
        if column.kind is Kind.TIMESTAMPTZ:
            name = (self.product.utc or "{c}").format(c=name)
        if column.kind in self.product.by_text:
            return self.product.texts.plain.format(c=name)
        is_text = column.kind in (Kind.OWN_TEXT, Kind.NUMBER, Kind.UUID, Kind.OTHER)
        return self._text(name, column) if is_text else name

    def _text(self, name: str, column: Column) -> str:
        if _XML.match(column.declared):
            return self.product.texts.xml.format(c=name)
        form = self.product.texts.plain
        if column.native in _NUMBERS and self.product.texts.number is not None:
            form = self.product.texts.number
        elif column.native == Kind.BYTES and self.product.texts.hex is not None:
            form = self.product.texts.hex
        elif column.native in CALENDAR_KINDS:
            form = self.product.texts.calendar.get(Kind(column.native), form)
            if column.native == Kind.TIMESTAMPTZ and self.product.utc is not None:
                form = form.format(c=self.product.utc)
        return form.format(c=name)

    def literal(self, column: Column, micros: int) -> str:
        """A watermark of that column's kind."""
        value = watermark_text(column.kind, micros).replace("T", " ").removesuffix("Z")
        own = self.product.literals.own.get(column.declared.split("(", 1)[0].upper())
        return self._literal(column.kind, value) if own is None else own.format(v=value)

    def _literal(self, kind: Kind, value: str) -> str:
        forms = {Kind.DATE: self.product.literals.date, Kind.TIMESTAMPTZ: self.product.literals.zoned}
        return forms.get(kind, self.product.literals.timestamp).format(v=value)

    def bytes_literal(self, hexed: str) -> str | None:  # noqa: ARG002 - the signature is the dialects'
        """Products do not agree on it."""
        return None

    def says(self, column: Column, quoted: str) -> str:
        """By the column itself, or by the text that it is read as."""
        name = self.read(column) if column.kind is Kind.OWN_TEXT else self.quote(column.name)
        return f"{name} = {self.product.literals.mark_text(quoted)}"

    def text(self, expression: str) -> str:
        """As it is: the driver hands out any value as text, and not every product casts any type."""
        return expression

    def exact(self, name: str, column: Column) -> str:
        """By its own text where the type may have no equality; text in the product's most exact order."""
        if column.kind in (Kind.TEXT, Kind.CHAR):
            return self.product.exact.format(c=name)
        return self._text(name, column) if column.kind in (Kind.OWN_TEXT, Kind.OTHER) else name

    def limit_rows(self, select: str, rows: int) -> str:
        """The select with at most that many rows; where the product takes no form of it, all of them."""
        if self.product.limit is None:
            return select
        return self.product.limit.format(select=select, rest=select.removeprefix("select "), rows=rows)

    def ranges_query(
        self, select: str, table: str, key: str, ranges: tuple[KeyRange, ...], predicates: tuple[str, ...]
    ) -> str:
        """SELECT of the rows whose integer key lies in any of the ranges, each row once.

        Many ranges are joined over their smallest gaps into at most a hundred: more rows come, and Spark drops them.
        """
        tests = [
            f"({reads.range_predicate(self.quote(key), key_range)})"
            for key_range in merge_ranges(ranges, self.RANGES_AT_ONCE)
        ]
        return f"select {select} from {table}{reads.where_clause((*predicates, ' or '.join(tests)))}"

    def hash_predicate(self, columns: tuple[tuple[str, Column], ...], part: int, parts: int) -> str | None:
        """One of `parts` disjoint shares of the rows by a hash of each key column; None where the product has no hash."""
        if self.product.keys.hash is None:
            return None
        each = [f"coalesce({self.product.keys.hash.format(c=name)}, 0)" for name, _ in columns]
        # Below 2^53 for four columns; a fifth and further one would add nothing to the balance of shares.
        summed = " + ".join(f"{_PRIME**index} * {term}" if index else term for index, term in enumerate(each[:_HASHED]))
        return f"{self.product.keys.modulo.format(a=summed, b=parts)} = {part}"

    def find_altered(self, column: Column) -> str | None:
        """Days outside the Gregorian calendar and year 9999, digits below microseconds, texts that the cast may cut."""
        name = self.quote(column.name)
        if column.kind in CALENDAR_KINDS:
            return " or ".join(self._list_altered_tests(name, column)) or None
        chars = self.product.texts.most_chars
        if (
            column.kind is Kind.OWN_TEXT
            and column.native == Kind.OWN_TEXT
            and chars
            and not _XML.match(column.declared)
        ):
            return f"{self.product.texts.length.format(c=self._text(name, column))} >= {chars}"
        return None

    def _list_altered_tests(self, name: str, column: Column) -> list[str]:
        tests = []
        if self.product.first_day is not None:
            is_day = column.kind is Kind.DATE
            first = self._literal(column.kind, self.product.first_day + ("" if is_day else " 00:00:00"))
            last = self._literal(column.kind, _LAST + ("" if is_day else " 23:59:59.999999"))
            value = self.product.plain_time.format(c=name) if column.kind is Kind.TIMESTAMP else name
            tests = [f"{value} < {first}", f"{value} > {last}"]
        if (column.precision or 0) > MICRO_DIGITS and self.product.finer is not None:
            tests.append(self.product.finer.format(c=name))
        return tests


def merge_ranges(ranges: tuple[KeyRange, ...], most: int) -> tuple[KeyRange, ...]:
    """At most that many ranges that hold all of these; ascending ranges with the smallest gaps are joined."""
    keyed = sorted((r for r in ranges if r.keys), key=lambda r: (r.low is not None, r.low or 0))
    gaps = [
        ((upper.low or 0) - (lower.high or 0), index) for index, (lower, upper) in enumerate(itertools.pairwise(keyed))
    ]
    spare = len(ranges) - most
    joined = {index for _, index in sorted(gaps)[:spare]} if spare > 0 else set()
    spans: list[KeyRange] = []
    for index, key_range in enumerate(keyed):
        if spans and index - 1 in joined:
            spans[-1] = KeyRange(spans[-1].low, key_range.high, nulls=spans[-1].nulls or key_range.nulls)
        else:
            spans.append(key_range)
    return (*spans, *(r for r in ranges if not r.keys))


def _decimal(column: Column, driver_column: Reported) -> Column:
    size, digits = driver_column.size or 0, -1 if driver_column.digits is None else driver_column.digits
    if not (1 <= size <= MOST_DIGITS and 0 <= digits <= size):
        return _change_kind(column, Kind.NUMBER)
    return _change_kind(column, Kind.DECIMAL, precision=size, scale=digits)


def _integer(column: Column, driver_column: Reported) -> Column:
    is_unsigned = "UNSIGNED" in driver_column.type_name.upper() or driver_column.type_name.upper().startswith("U")
    bits = _INTEGER_BITS.get(driver_column.code, _LONG)
    if is_unsigned and driver_column.type_name.upper() != "UINTEGER" and bits == _LONG:
        return _change_kind(column, Kind.NUMBER)
    return _change_kind(column, Kind.INTEGER, bits=_LONG if is_unsigned else bits)


def _change_kind(column: Column, kind: Kind, **changes: object) -> Column:
    settings: dict[str, object] = {
        "native": column.native, "nullable": column.nullable, "precision": None, "scale": None, "bits": None, "why": "",
        **changes,
    }  # fmt: skip
    return Column(column.name, kind, column.declared, **settings)  # type: ignore[arg-type]
