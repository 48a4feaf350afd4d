"""A column's sum, least and greatest value on both sides: control totals of the columns that `total` rules name. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import NamedTuple

_DIGITS = 100  # for a difference of two sums


class TotalTexts(NamedTuple):
    """What a database says of a column, as its own text; None of no value."""

    sum: str | None = None
    least: str | None = None
    greatest: str | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """One side's; NULLs are left out. The sum of nothing is 0, its ends are None."""

    sum: Decimal
    least: Decimal | None = None
    greatest: Decimal | None = None

    @staticmethod
    def parse(texts: TotalTexts) -> Totals:
        """From a database's texts. Raises decimal.InvalidOperation where one is no number."""
        ends = [None if text is None else Decimal(text) for text in (texts.least, texts.greatest)]
        return Totals(Decimal(0) if texts.sum is None else Decimal(texts.sum), *ends)

    @property
    def document(self) -> dict[str, str | None]:
        """As texts, in full."""
        texts = {"sum": self.sum, "min": self.least, "max": self.greatest}
        return {name: None if value is None else f"{value:f}" for name, value in texts.items()}


@dataclass(frozen=True, slots=True)
class BothTotals:
    """A column of both sides, under its name in the lake."""

    column: str
    source: Totals
    lake: Totals

    @property
    def difference(self) -> Decimal:
        """Of the sums, source less lake, exactly."""
        return difference(self.source.sum, self.lake.sum)

    @property
    def document(self) -> Mapping[str, object]:
        """As `result.json` has it."""
        return {"column": self.column, "source": self.source.document, "lake": self.lake.document}


def difference(one: Decimal, other: Decimal) -> Decimal:
    """Exact, however many digits both have.

    >>> difference(Decimal("12345678901234567890123456789.01"), Decimal("0.01"))
    Decimal('12345678901234567890123456789.00')
    """
    with localcontext(prec=_DIGITS):
        return one - other
