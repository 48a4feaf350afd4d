"""PURE: durations (`500ms 30s 10m 2h 7d`) and shares (`0.1%`) as the config writes them, both ways.

Messages never repeat the text that they refuse: it may have come from a secret.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from hudi_reconcile.config.numbers import plain_number

DURATION_PATTERN = r"^[0-9]{1,9}(ms|s|m|h|d)$"
SHARE_PATTERN = r"^[0-9]{1,3}(\.[0-9]{1,9})?%$"

_UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_LONGEST = timedelta(days=36_500)


def parse_duration(text: str) -> timedelta:
    """The duration of a text such as `30s`.

    Raises:
        ValueError: not a whole number with one of the five units, or longer than 36500 days.

    >>> parse_duration("10m").total_seconds()
    600.0
    """
    match = re.fullmatch(DURATION_PATTERN, text, re.ASCII)
    if match is None:
        raise ValueError("not a duration; write a whole number and a unit: 500ms 30s 10m 2h 7d")
    unit = match.group(1)
    count = int(text[: -len(unit)])
    if count > _LONGEST // _UNITS[unit]:
        raise ValueError("longer than 36500d")
    return count * _UNITS[unit]


def format_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back as the same duration; whole milliseconds only."""
    for unit, size in _UNITS.items():
        if duration and duration % size == timedelta(0):
            return f"{duration // size}{unit}"
    if duration:
        raise ValueError(f"not a whole number of milliseconds: {duration!r}")
    return "0s"


def parse_share(value: str | float) -> Decimal:
    """A share as a fraction between 0 and 1: `5%` is 0.05. A bare number is a fraction below 1.

    Bare numbers from 1 up are refused, since `1` may have been meant as 1% or as 100%.

    Raises:
        ValueError: not a share, or outside 0% to 100%.
    """
    if isinstance(value, str):
        if re.fullmatch(SHARE_PATTERN, value, re.ASCII) is None:
            raise ValueError("not a share; write a percentage: 0.1% 5% 100%")
        fraction = Decimal(value[:-1]) / 100
        if fraction > 1:
            raise ValueError("more than 100%")
        return fraction
    fraction = Decimal(value) if type(value) is int else plain_number(value)
    if not 0 <= fraction < 1:
        raise ValueError("not a share; write a percentage: 0.1% 5% 100%")
    return fraction


def format_share(fraction: Decimal) -> str:
    """The percentage that `parse_share` reads back as the same fraction."""
    return f"{(fraction * 100).normalize():f}%"
