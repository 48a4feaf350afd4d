"""A watermark as people type it, as microseconds of its own clock: the way back from `core/window.watermark_text`. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hudi_reconcile.core.kinds import Kind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


def watermark_micros(kind: Kind, text: str) -> int:
    """Microseconds since 1970-01-01 of the watermark's own wall clock, UTC for a kind with a zone.

    Raises:
        ValueError: no ISO text of the kind: a date, a time without zone, or a time with one.

    >>> watermark_micros(Kind.TIMESTAMPTZ, "1970-01-01T01:00:01+01:00"), watermark_micros(Kind.DATE, "1970-01-02")
    (1000000, 86400000000)
    """
    if kind is Kind.DATE:
        return (datetime.combine(_date(text), datetime.min.time(), tzinfo=UTC) - _EPOCH) // _MICRO
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("expected an ISO time, such as 2026-03-01T10:08:00.000000") from None
    if kind is Kind.TIMESTAMPTZ and found.tzinfo is None:
        raise ValueError("expected a time with its zone, such as 2026-03-01T10:08:00Z")
    if kind is not Kind.TIMESTAMPTZ and found.tzinfo is not None:
        raise ValueError("expected a time without zone, as the column has none")
    return (found.replace(tzinfo=found.tzinfo or UTC) - _EPOCH) // _MICRO


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("expected a date, such as 2026-03-01") from None
