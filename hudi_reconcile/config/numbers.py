"""PURE: numbers with a point, to the last digit that the file has: a float holds 17 of them."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation


class Written(float):
    """A float that says less than the file: `exact` is the number as it is written there."""

    exact: Decimal


def number_of(text: str, rounded: float) -> float:
    """The float that YAML reads, as `Written` where the text says more than it.

    >>> number_of("0.10", 0.1), number_of("0.12345678901234567891", 0.12345678901234568).exact
    (0.1, Decimal('0.12345678901234567891'))
    """
    if not math.isfinite(rounded):
        return rounded
    try:
        exact = Decimal(text.replace("_", ""))
    except InvalidOperation:  # an exponent that no decimal has either
        exact = Decimal("NaN")
    if exact == Decimal(repr(rounded)):
        return rounded
    found = Written(rounded)
    found.exact = exact
    return found


def exact_number(number: float) -> Decimal:
    """The number as the file has it.

    Raises:
        ValueError: infinite, no number, or nearer to 0 than any float.
    """
    found = number.exact if isinstance(number, Written) else Decimal(repr(number))
    if not found.is_finite() or (found and not number):
        raise ValueError("must be a finite number, and no nearer to 0 than 1e-300")
    return found


def refuse_rounding(value: object) -> None:
    """Raises ValueError where a number in a value, or in lists and mappings below it, has more digits than a float holds."""
    if isinstance(value, Written):
        raise ValueError(
            "a number has more than the 17 digits that Great Expectations keeps: use check: between or sql"
        )
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in below:
        refuse_rounding(one)
