"""HoodieStreamer's JDBC checkpoint as a watermark, and back: the text of the greatest value, read by `column > 'text'`. Pure.

Its text of a zoned time has no zone: it is that of the streamer's session, which nobody recorded. So such a text is read
as the earliest time that it can mean, and written as one that no zone reads as later: rows are read twice, none is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation, localcontext

from hudi_reconcile.core.pull.cursor import Value, watermark_micros
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Kind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR_MICROS = 3_600_000_000
_MOST_DIGITS = 150
_EAST_MICROS, _WEST_MICROS = 14 * _HOUR_MICROS, 12 * _HOUR_MICROS  # no zone is farther from UTC


@dataclass(frozen=True, slots=True)
class StreamerPosition:
    """How far HoodieStreamer read, in the watermark's own values: every row below `earliest`, none above `latest`."""

    earliest: Value
    latest: Value


def read_position(kind: Kind, text: str) -> StreamerPosition | None:
    """What a checkpoint's text can mean; None for one that is no watermark of this kind, as those of Kafka and files.

    >>> read_position(Kind.TIMESTAMP, "1970-01-01 00:00:01.5"), read_position(Kind.DATE, "orders,0:7")
    (StreamerPosition(earliest=1499999, latest=1500000), None)
    """
    try:
        if kind in (Kind.INTEGER, Kind.DECIMAL):
            number = Decimal(text.strip())
            # No database has greater numbers, and written out in full they would fill the memory.
            if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS or len(text) > _MOST_DIGITS:
                return None
            with localcontext(prec=4 * _MOST_DIGITS):
                return StreamerPosition(number - 1, number)
        if kind not in CALENDAR_KINDS:
            return None
        shown = text.strip()
        if kind is Kind.DATE:
            shown = shown.removesuffix(" 00:00:00")
        micros = watermark_micros(Kind.TIMESTAMP if kind is Kind.TIMESTAMPTZ else kind, shown)
    except (ValueError, InvalidOperation):
        return None
    east, west = (_EAST_MICROS, _WEST_MICROS) if kind is Kind.TIMESTAMPTZ else (0, 0)
    # Rows that share the last watermark may have been committed after they were read, and `>` passes them over.
    return StreamerPosition(micros - 1 - east, micros + west)


def spell_checkpoint(kind: Kind, value: Value) -> str | None:
    """What HoodieStreamer would have written for this value; None for a kind that it cannot go on from.

    >>> spell_checkpoint(Kind.TIMESTAMP, 1_500_000), spell_checkpoint(Kind.INTEGER, Decimal(42))
    ('1970-01-01 00:00:01.5', '42')
    >>> spell_checkpoint(Kind.TIMESTAMPTZ, 0)
    '1969-12-31 12:00:00'
    """
    if isinstance(value, Decimal):
        return f"{value:f}"
    if not isinstance(value, int):
        return None
    moment = _EPOCH + timedelta(microseconds=value - (_WEST_MICROS if kind is Kind.TIMESTAMPTZ else 0))
    if kind is Kind.DATE:
        return moment.date().isoformat()
    fraction = f"{moment.microsecond:06d}".rstrip("0")
    seconds = moment.replace(tzinfo=None, microsecond=0).isoformat(" ")
    return f"{seconds}.{fraction}" if fraction else seconds
