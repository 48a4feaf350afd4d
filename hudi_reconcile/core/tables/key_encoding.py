"""Key values as numbers or bytes in the database's own order, and keys that leave Spark, as canonical texts. Pure.

Only kinds whose order is the same everywhere are known: integers, decimals, dates, timestamps without zone, and uuids and text
where the database sorts them by their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from uuid import UUID

from hudi_reconcile.core.tables.kinds import Column, Kind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_EXACT = Context(prec=200)
_TEXT_CHARS = 48  # of an edge: it only has to lie between keys
DAY_MICROS = 86_400_000_000
_OPEN_TEXT = frozenset({Kind.TEXT, Kind.CHAR, Kind.OWN_TEXT})
BYTEWISE_KINDS = frozenset({Kind.UUID, Kind.TEXT})  # ordered where the database sorts them by their bytes
ORDERED_KINDS = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.UUID, Kind.TEXT})


def parse_key(column: Column, text: str) -> KeyValue | None:
    """A key as its database writes it, in an order that Python has too; None where it is no edge (infinity, BC, NaN).

    >>> parse_key(Column("d", Kind.DATE, "date"), "1970-01-03"), parse_key(Column("d", Kind.DATE, "date"), "infinity")
    (2, None)
    """
    try:
        return _value(column, text)
    except (ValueError, InvalidOperation, OverflowError):
        return None


def needs_spelling(key: Sequence[Column]) -> bool:
    """Whether a key may hold texts of which Hudi's own record key is not one of a kind: empty, or like NULL or a joint.

    >>> needs_spelling([Column("code", Kind.TEXT, "text")]), needs_spelling([Column("id", Kind.UUID, "uuid")])
    (True, False)
    """
    return any(column.kind in _OPEN_TEXT for column in key)


def write_edge(column: Column, value: KeyValue) -> str:
    """An edge as a decimal, a uuid or text reads; calendar values are the dialect's to write."""
    if isinstance(value, bytes):
        return value.decode()
    if column.kind is Kind.UUID:
        return str(UUID(int=min(max(value, 0), 2**128 - 1)))
    if column.kind is Kind.DECIMAL:
        return f"{Decimal(value).scaleb(-(column.scale or 0), _EXACT):f}"
    return str(value)


def convert_to_micros(column: Column, value: int) -> int:
    """An edge of a calendar column in microseconds."""
    return value * DAY_MICROS if column.kind is Kind.DATE else value


def _value(column: Column, text: str) -> KeyValue | None:
    match column.kind:
        case Kind.INTEGER:
            return int(text)
        case Kind.DECIMAL:
            digits = Decimal(text).scaleb(column.scale or 0, _EXACT)
            return int(digits) if digits == digits.to_integral_value() else None
        case Kind.DATE:
            return date.fromisoformat(text).toordinal() - _FIRST_DAY
        case Kind.TIMESTAMP:
            moment = datetime.fromisoformat(text)
            return (
                None
                if moment.tzinfo is not None
                else (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
            )
        case Kind.UUID:
            return UUID(text).int
        case Kind.TEXT:
            # Backslashes and control characters mean something to some literals.
            is_plain = "\\" not in text and text.isprintable()
            return text[:_TEXT_CHARS].encode() if is_plain and text else None
        case _:
            return None


KeyValue = int | bytes


Key = tuple[str | None, ...]
"""One part a key column, None for NULL: days and microseconds for calendar kinds, digits for numbers, hex for
bytes, text for the rest."""

MOST_ASKED = 100_000
ASKED_AT_ONCE = 500
ASKED = "hr_asked"
"""In rows that several statements gave: which of them. A row whose key two of them are near to comes with both."""
