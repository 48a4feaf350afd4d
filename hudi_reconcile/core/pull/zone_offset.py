"""What a zone's hours do to a watermark without zone: those that come twice, and those by which its writers are off. Pure."""

from __future__ import annotations

from collections.abc import Callable

MOST_AHEAD_MICROS = 14 * 3_600_000_000  # of any zone; what is dated beyond is no row of a writer's clock
_HALF_HOUR_MICROS, _SLACK_MICROS = 1_800_000_000, 60_000_000
_MOST_HALF_HOURS = 28
_QUARTER_MICROS, _QUARTERS = 900_000_000, 12  # clocks go back at a quarter, and by three hours at most


def find_least_offset(bound_micros: int, offset_at: Callable[[int], int]) -> int:
    """What to add to a bound in UTC so that no wall time below it comes once more.

    Where clocks go back within three hours, wall times after the lesser one come a second time: rows of the second hour
    would lie below the checkpoint that the first one left.

    >>> hour = 3_600_000_000
    >>> find_least_offset(hour // 2, lambda at: 2 * hour if at < hour else hour) / hour
    1.5
    """
    quarter = bound_micros // _QUARTER_MICROS
    moments = (bound_micros, *((quarter + ahead) * _QUARTER_MICROS for ahead in range(1, _QUARTERS + 1)))
    return min(at + offset_at(at) for at in moments) - bound_micros


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
