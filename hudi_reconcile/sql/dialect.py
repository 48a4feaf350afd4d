"""What a database's SQL dialect must answer; each `databases/<name>/dialect.py` is one. Pure text: a dialect sends nothing.

Statements that read the same everywhere are in `sql/reads.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from hudi_reconcile.core.sweep.segments import KeyRange
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import Column


class Ranks(Protocol):
    """Keys cut by their rank in the database's own order, for databases whose catalog tells nothing of them.

    An edge is a literal for each key column.
    """

    def columns(self, key: tuple[Column, ...], /) -> tuple[Column, ...]:
        """The first key columns, as far as their values can be named in SQL; empty where not even the first can."""
        ...

    def query(
        self, table: str, key: tuple[Column, ...], where: tuple[str, ...], *, step: int, sieve: str | None
    ) -> str:
        """SELECT of each `step`-th key in the database's own order; with a `sieve`, of the rows that it lets through."""
        ...

    def edge(self, key: tuple[Column, ...], row: Mapping[str, Any], /) -> tuple[str, ...] | None:
        """A ranked key as literals; None where it cannot be said."""
        ...

    def predicate(self, key: tuple[Column, ...], edges: tuple[tuple[str, ...], ...], part: int, /) -> str:
        """The rows of part 0 to len(edges): each row, NULL or not, is in exactly one, whatever order the edges have."""
        ...


class Dialect(Protocol):
    """One database's SQL. `table` and `names` are already quoted; predicates are SQL of the user's or of ours."""

    NAME: str
    RANGES_AT_ONCE: int  # as many ranges of keys as one statement may name, each by the index
    MODULO: str | None  # what is left of a whole number {a} that is divided by {b}; None where that was never run

    def quote(self, name: str, /) -> str:
        """An identifier, quoted. Raises ValueError for a name that cannot be one."""
        ...

    def read(self, column: Column, /) -> str:
        """The expression that hands the column's value to the JDBC driver without altering it."""
        ...

    def literal(self, column: Column, micros: int, /) -> str:
        """A watermark of that column's kind."""
        ...

    def says(self, column: Column, quoted: str, /) -> str:
        """True for the rows whose column reads as this text, which is in single quotes; perhaps for others, as it compares."""
        ...

    def bytes_literal(self, hexed: str, /) -> str | None:
        """Bytes, of their hex digits; None where it is not known how they are written."""
        ...

    def text(self, expression: str, /) -> str:
        """The expression as text, to show a key to people."""
        ...

    def exact(self, name: str, column: Column, /) -> str:
        """The quoted column as it is grouped and compared: by its bytes, whatever its collation."""
        ...

    def limit_rows(self, select: str, rows: int, /) -> str:
        """The select with at most that many rows."""
        ...

    def ranges_query(
        self, select: str, table: str, key: str, ranges: tuple[KeyRange, ...], predicates: tuple[str, ...]
    ) -> str:
        """SELECT of the rows whose integer key lies in any of many ranges, each row once, served by the key's index."""
        ...

    def hash_predicate(self, columns: tuple[tuple[str, Column], ...], part: int, parts: int) -> str | None:
        """One of `parts` disjoint shares of the rows by a hash of (name, column); None where the engine has no hash."""
        ...

    def find_altered(self, column: Column, /) -> str | None:
        """True for the column's values that the JDBC read would alter; None where there can be none."""
        ...


class Buckets(Protocol):
    """What a database needs beside its dialect to tell by itself which md5 bucket a key is in.

    The texts are those of core/tables/canonical_text.py. `text` and `number` are SQL expressions.
    """

    DIALECT: Dialect

    def canonical(self, item: ComparedColumn, /) -> str:
        """The canonical text of the column's value, cut to the digits on which both sides meet."""
        ...

    def octets(self, text: str, column: Column, /) -> str:
        """How many bytes the column's canonical text has in UTF-8, itself as text."""
        ...

    def join_texts(self, texts: tuple[str, ...], /) -> str:
        """Texts that are not NULL, one after the other."""
        ...

    def md5_number(self, text: str, hex_digits: int, /) -> str:
        """The first 8 or 15 hex digits of the md5 of the text in UTF-8, as an integer that is not negative."""
        ...

    def remainder(self, number: str, divisor: int, /) -> str:
        """What is left of a number that is not negative."""
        ...

    def write_null_test(self, value: str, /) -> str:
        """True where the value is NULL and nothing else."""
        ...


class Digests(Buckets, Protocol):
    """What a database needs to digest its own rows: `sql/digests.py` makes the statements.

    The rows of a database without these are digested in Spark.
    """

    def divide_down(self, number: str, divisor: int, /) -> str:
        """Integer division that rounds down, exact for every signed 64-bit number."""
        ...

    def filler(self, octets: int, /) -> str:
        """A SELECT of one text of that length, to time the link with."""
        ...

    def keep_apart(self, select: str, /, *, narrow: bool) -> str:
        """The select, such that its expressions are computed once however often an outer select names them.

        `narrow`: it has two numbers a row. Otherwise whole texts, and computing them twice may cost less than keeping them.
        """
        ...

    def version_facts(self, table: str, columns: tuple[str, ...], /) -> str | None:
        """A SELECT of what the versions of a table's rows hang on, one row; None where rows have none that could be known again.

        `hr_odd` are reasons why these columns' rows may read otherwise though their versions stay; `hr_transactions` counts.
        Of the others each is a fact by its name without `hr_`: where one is another, no earlier version means anything.
        """
        ...

    def version_number(self) -> str:
        """The number of the row's version, by a hash that spreads it over 64 bits. A row that changes gets one it never had."""
        ...
