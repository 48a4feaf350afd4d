"""What a JDBC driver is asked and what it tells, as plain values: a login, tables, columns, indexes, the database. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from hudi_reconcile.core.jdbc_url import place_of

Cell = int | Decimal | str | None
_SIZED_CODES = frozenset({1, 12, -15, -9})
_DECIMAL_CODES = frozenset({2, 3})


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How the driver is called. Nothing of it is ever printed but its place."""

    url: str = field(repr=False)
    driver: str
    properties: Mapping[str, str] = field(repr=False)
    timeout_seconds: int = 0

    @property
    def place(self) -> str:
        """The URL without login and settings."""
        return place_of(self.url)


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view as the driver lists it."""

    catalog: str | None
    schema: str | None
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Reported:
    """A column as the driver reports it: `code` is of java.sql.Types, `digits` are those after the point."""

    name: str
    code: int
    type_name: str
    size: int | None = None
    digits: int | None = None
    nullable: bool = True

    @property
    def declared(self) -> str:
        """The type for people.

        >>> Reported("a", 3, "DECIMAL", 10, 2).declared, Reported("a", 12, "VARCHAR", 20).declared
        ('DECIMAL(10,2)', 'VARCHAR(20)')
        """
        if "(" in self.type_name or self.size is None:
            return self.type_name
        if self.code in _DECIMAL_CODES:
            return f"{self.type_name}({self.size},{self.digits or 0})"
        return f"{self.type_name}({self.size})" if self.code in _SIZED_CODES else self.type_name


@dataclass(frozen=True, slots=True)
class DriverIndex:
    """An index over whole columns; `is_partial` where it holds some rows only."""

    columns: tuple[str, ...]
    is_unique: bool
    is_partial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFacts:
    """What the driver says of the database. `folds` is what becomes of an unquoted name: upper, lower or none."""

    product: str
    version: str
    user: str
    folds: str
    catalog: str | None
    schema: str | None
