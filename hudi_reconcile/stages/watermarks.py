"""The watermark of one table: its columns, its clock, the bound in that clock, and its text. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.kinds import WATERMARK_KINDS, Column, Kind
from hudi_reconcile.core.values import Moment, SourceTable
from hudi_reconcile.core.window import bound_for, watermark_text

_DAY_MICROS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Watermark:
    """The watermark columns of a table, empty where it has none."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' source names."""
        return tuple(column.name for column in self.columns)

    @property
    def kind(self) -> Kind:
        """The kind whose text and clock the greatest watermark has."""
        kinds = {column.kind for column in self.columns}
        return self.columns[0].kind if len(kinds) == 1 else Kind.TIMESTAMP

    def bound(self, moment: Moment, offset_at: Callable[[int], int]) -> int | None:
        """The safe bound in the watermark's clock, cut to the coarsest precision; None without a watermark."""
        if not self.columns:
            return None
        offset = offset_at(moment.bound_micros)
        return min(
            bound_for(c.kind, moment.bound_micros, zone_offset_micros=offset, precision=c.precision)
            for c in self.columns
        )

    def horizon(self, moment: Moment, offset_at: Callable[[int], int]) -> int:
        """The watermark's own clock now, plus a day: nothing above it can be waited for."""
        zoned = self.kind is Kind.TIMESTAMPTZ
        return moment.clock_micros + (0 if zoned else offset_at(moment.clock_micros)) + _DAY_MICROS

    def text(self, micros: int | None) -> str | None:
        """ISO text of a watermark; None where there is none."""
        return None if micros is None or not self.columns else watermark_text(self.kind, micros)


def watermark_of(table_name: str, names: tuple[str, ...], table: SourceTable) -> Watermark:
    """The table's watermark. Raises UsageError for columns that cannot be one, or that keep different clocks."""
    columns = tuple(table.column(name) for name in names)
    for column in columns:
        if column.kind not in WATERMARK_KINDS:
            raise UsageError(
                f"table {table_name}: watermark {column.name} is {column.declared}; "
                "this version reads date, timestamp and timestamptz watermarks",
                fix=f"choose another tables[{table_name}].pull.watermark, or strategy: full",
            )
    if len({column.kind is Kind.TIMESTAMPTZ for column in columns}) > 1:
        raise UsageError(
            f"table {table_name}: watermarks {', '.join(names)} mix columns with and without time zone",
            fix="name watermark columns of one kind",
        )
    return Watermark(columns)
