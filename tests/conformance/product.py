"""An engine as the tests of conformance see it, and the columns that most engines have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from hudi_reconcile.core.tables.kinds import Kind
from tests.conformance.cells import PAIR, Field, Sql, Step, decimals, padded, texts, twins

Rows = list[tuple[dict[str, Any], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Product:
    """An engine: its columns and two more of text, how it writes a value; `latin` is the encoding that its text keeps to.

    `nameless` are types whose text does not say what a value is.
    """

    name: str
    fields: tuple[Field, ...]
    literal: Callable[[Field, Any], str]
    text: str = "varchar(400)"
    latin: str = "utf-8"
    quote: str = '"'
    modes: tuple[str, ...] = ("stream",)
    nameless: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[Field, ...]:
        """All of them; twin columns have no steps of their own."""
        return (*self.fields, *(Field(name, self.text, Kind.TEXT, ()) for name in PAIR))

    def rows(self) -> Rows:
        """Every row before and after, in the order of their keys."""
        return [row for field in self.fields for row in field.cells()] + twins(self.latin)


def _sql(*pairs: tuple[str, str]) -> tuple[Step, ...]:
    return tuple((Sql(was), Sql(now)) for was, now in pairs)


def own(name: str, declared: str, *pairs: tuple[str, str]) -> Field:
    """A column that is carried as the source's own text; values as SQL."""
    return Field(name, declared, Kind.OWN_TEXT, _sql(*pairs))


def finite(value: float) -> bool:
    return math.isfinite(value)


def plain(value: Any) -> str:
    """Text without a type, as most engines read it in a literal."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ") + ("+00:00" if value.tzinfo else "")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity" if math.isinf(value) else repr(value)
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def quoted(value: Any) -> str:
    return "'" + plain(value).replace("'", "''") + "'"


def common(text: str, char: str, holds: str) -> tuple[Field, ...]:
    return (Field("txt", text, Kind.TEXT, texts(holds=holds)), Field("ch", char, Kind.CHAR, padded(holds)))


def amounts() -> tuple[Field, ...]:
    return (
        Field("money", "decimal(12,2)", Kind.DECIMAL, decimals(12, 2), 2),
        Field("tiny", "decimal(38,18)", Kind.DECIMAL, decimals(38, 18), 18),
        Field("seven", "decimal(9,7)", Kind.DECIMAL, decimals(9, 7), 7),
        Field("whole", "decimal(38,0)", Kind.DECIMAL, decimals(38, 0)),
    )
