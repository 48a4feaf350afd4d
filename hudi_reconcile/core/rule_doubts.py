"""What is certainly wrong in a rule, as far as the rule alone can tell. Pure; Spark and the lake may find more."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

from hudi_reconcile.core.rules import Between, Check, Matches, Scalar

# Where these stand, brackets are counted otherwise, or not at all: only Java can tell.
_ONLY_JAVA_TELLS = re.compile(r"\\[Qc]|\(\?[a-zA-Z]*x|&&|\[\^?\]")
_ESCAPED = re.compile(r"\\.", re.DOTALL)


def doubt(check: Check) -> str | None:
    """Why no run of the check can be what its author means; None where nothing is certainly wrong."""
    match check:
        case Between(_, low, high) if low is not None and high is not None and _is_above(low, high):
            return "min is above max: no value lies between them"
        case Matches(_, regex) if why := _unbalanced(regex):
            return f"regex: {why}"
        case _:
            return None


def _is_above(low: Scalar, high: Scalar) -> bool:
    """True for two numbers, or two times in ISO text, in the wrong order; other texts have the order of their column."""
    if isinstance(low, int | Decimal) and isinstance(high, int | Decimal):
        return low > high
    if not isinstance(low, str) or not isinstance(high, str):
        return False
    try:
        first, last = datetime.fromisoformat(low), datetime.fromisoformat(high)
    except ValueError:
        return False
    return first.replace(tzinfo=first.tzinfo or UTC) > last.replace(tzinfo=last.tzinfo or UTC)


def _unbalanced(regex: str) -> str:
    r"""What Java's syntax cannot make anything of; empty where brackets are even, or only Java can tell.

    >>> _unbalanced("(["), _unbalanced("a)"), _unbalanced(r"[\[(](a|\))"), _unbalanced("[a-z[0-9]]")
    ("'[' is not closed", "')' closes nothing", '', '')
    """
    if _ONLY_JAVA_TELLS.search(regex):
        return ""
    plain = _ESCAPED.sub("", regex)
    if "\\" in plain:
        return "ends in a backslash that escapes nothing"
    groups = classes = 0
    for char in plain:
        if char == "[":
            classes += 1
        elif classes:
            classes -= char == "]"
        elif char in "()":
            groups += 1 if char == "(" else -1
            if groups < 0:
                return "')' closes nothing"
    return "'[' is not closed" if classes else "'(' is not closed" if groups else ""
