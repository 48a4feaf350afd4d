"""What is asked of one source table, as the config says it, without the config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from hudi_reconcile.core.kinds import Column


@dataclass(frozen=True, slots=True)
class TableRequest:
    """One table to read. `table` is a SQL-quoted name, `where` a predicate for pull and sweep alike.

    With a `query` its answer is the table, and there is no other.
    `hidden` are masked columns: none of their values may stand in a statement. `by_version`: pulls go by the database's own
    number of each row's version.
    """

    name: str
    table: str
    key: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    where: str | None = None
    query: str | None = None
    watermark: tuple[str, ...] = ()
    incrementing: str | None = None
    is_text_watermark: bool = False
    by_version: bool = False
    partition_columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """What is read, for messages."""
        return self.table if self.query is None else "source.query"

    @property
    def query_id(self) -> str:
        """The query's part of the source's identity: another text is another source."""
        return f"query:{sha256((self.query or '').encode()).hexdigest()[:16]}"

    @property
    def predicates(self) -> tuple[str, ...]:
        """The configured predicate, if any."""
        return () if self.where is None else (self.where,)

    @property
    def moving(self) -> tuple[str, ...]:
        """The columns by which pulls go forward."""
        return self.watermark if self.incrementing is None else (*self.watermark, self.incrementing)

    def named_columns(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every setting that names source columns, with what it names."""
        return (
            ("source.columns", self.columns or ()),
            ("pull.watermark", self.watermark),
            ("pull.incrementing", self.moving[len(self.watermark) :]),
            ("lake.partition_by", self.partition_columns),
            ("compare.rename", tuple(self.rename)),
        )

    def renamed(self, column: Column) -> Column:
        """The column under the name that it has in the lake."""
        return replace(column, lake_name=self.rename.get(column.name, column.name))
