"""By how many hours the writers of a watermark without zone are off the clock that it is read by. Pure."""

from __future__ import annotations

MOST_AHEAD_MICROS = 14 * 3_600_000_000  # of any zone; what is dated beyond is no row of a writer's clock
_HALF_HOUR_MICROS, _SLACK_MICROS = 1_800_000_000, 60_000_000
_MOST_HALF_HOURS = 28


def find_zone_hours(newest_micros: int, now_micros: int, age_micros: int) -> tuple[float, ...]:
    """The hours that a zone may be off for a row that is so old at most, ascending; none where it may well be right.

    Zones lie whole or half hours apart, and a clock is right to the minute.

    >>> hour = 3_600_000_000
    >>> find_zone_hours(2 * hour, 0, 0), find_zone_hours(-5 * hour - hour // 2, 0, hour // 2), find_zone_hours(-hour, 0, hour)
    ((2.0,), (-5.5, -5.0), ())
    """
    off = newest_micros - now_micros
    least = -((_SLACK_MICROS - off) // _HALF_HOUR_MICROS)
    most = (off + age_micros + _SLACK_MICROS) // _HALF_HOUR_MICROS
    if least <= 0 <= most or off > MOST_AHEAD_MICROS or off < -MOST_AHEAD_MICROS - age_micros:
        return ()
    return tuple(halves / 2 for halves in range(least, most + 1) if abs(halves) <= _MOST_HALF_HOURS)
