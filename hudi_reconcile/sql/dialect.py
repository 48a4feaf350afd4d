"""What a database's SQL dialect must answer. Each module of `sql/dialects` is one: siblings, one database, one file.

Pure text: a dialect sends nothing. Statements that read the same everywhere are in `sql/statements.py`.
"""

from __future__ import annotations

from typing import Protocol

from hudi_reconcile.core.kinds import Column
from hudi_reconcile.core.segments import KeyRange


class Dialect(Protocol):
    """One database's SQL. `table` and `names` are already quoted; predicates are SQL of the user's or of ours."""

    NAME: str

    def quote(self, name: str, /) -> str:
        """An identifier, quoted. Raises ValueError for a name that cannot be one."""
        ...

    def read(self, column: Column, /) -> str:
        """The expression that hands the column's value to the JDBC driver without altering it."""
        ...

    def literal(self, column: Column, micros: int, /) -> str:
        """A watermark of that column's kind."""
        ...

    def text(self, expression: str, /) -> str:
        """The expression as text, to show a key to people."""
        ...

    def exact(self, name: str, column: Column, /) -> str:
        """The quoted column as it is grouped and compared: by its bytes, whatever its collation."""
        ...

    def limited(self, select: str, rows: int, /) -> str:
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

    def uncarried(self, column: Column, /) -> str | None:
        """True for the column's values that the JDBC read would alter; None where there can be none."""
        ...
