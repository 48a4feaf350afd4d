"""PURE: plain scalars as YAML 1.2's core schema reads them, and numbers to the last digit that the file has.

One thing is added: digits in groups of three (`1_000`), which people write and YAML 1.1 knew.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation

LONGEST_NUMBER = 400
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_THOUSANDS = re.compile(r"(?<![0-9_.])([0-9]{1,3}(?:_[0-9]{3})+)(?![0-9_])")
# Numbers to readers of YAML 1.1; to YAML 1.2 they are text.
_ELSEWHERE = re.compile(
    r"[-+]?0b[01_]+|[-+]0o[0-7_]+|[-+]0x[0-9a-fA-F_]+|0o[0-7_]+|0x[0-9a-fA-F_]+"
    r"|[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9_]+(?:[eE][-+]?[0-9]+)?"
)

# What YAML's scalars become; texts that look like dates stay texts, since no key takes a date.
Scalar = str | int | float | bool | None


class AmbiguousError(ValueError):
    """A scalar that could mean more than one thing, or costs more than it could mean."""


class Written(float):
    """A float that says less than the file: `exact` is the number as it is written there."""

    exact: Decimal


def scalar_of(text: str) -> Scalar:
    """What a scalar without quotes means.

    Raises:
        AmbiguousError: a number to some readers and a text to others, or a number longer than any that is of use. Python
            refuses integers of more than 4,300 digits (CVE-2020-10735), whose conversion takes quadratic time.

    >>> scalar_of("010"), scalar_of("0x1F"), scalar_of("yes"), scalar_of("~"), scalar_of("1e3"), scalar_of("1_000")
    (10, 31, 'yes', None, 1000.0, 1000)
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    text, written = _THOUSANDS.sub(lambda found: found[0].replace("_", ""), text), text
    is_int = _INT.fullmatch(text) is not None
    if not is_int and _FLOAT.fullmatch(text) is None:
        if _ELSEWHERE.fullmatch(text) is None:
            return written
        raise AmbiguousError(
            "is a number to some readers of YAML and text to others: put it in quotes, or write plain digits (1_000 is read)"
        )
    if len(text) > LONGEST_NUMBER:
        raise AmbiguousError(f"is a number of more than {LONGEST_NUMBER} characters; put it in quotes if it is text")
    if is_int:
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    return number_of(text, float(text.replace(".inf", "inf").replace(".nan", "nan") if text[-1] in "fFnN" else text))


def number_of(text: str, rounded: float) -> float:
    """The float that YAML reads, as `Written` where the text says more than it.

    >>> number_of("0.10", 0.1), number_of("0.12345678901234567891", 0.12345678901234568).exact
    (0.1, Decimal('0.12345678901234567891'))
    """
    if not math.isfinite(rounded) and "n" in text.lower():
        return rounded
    try:
        exact = Decimal(text)
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
    if not found.is_finite() or not math.isfinite(number) or (found and not number):
        raise ValueError("must be a finite number, and no nearer to 0 than 1e-300")
    return found


def plain_number(number: float) -> Decimal:
    """The number as the file has it, which a float holds to the last digit, so that it can be shown as it was written.

    Raises:
        ValueError: more digits than that, infinite, or no number.
    """
    found = Decimal(repr(float(number))) if math.isfinite(number) else Decimal("NaN")
    if isinstance(number, Written) or found != Decimal(number if isinstance(number, int) else repr(number)):
        raise ValueError("must be a finite number of at most 17 digits")
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
