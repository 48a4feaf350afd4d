r"""PURE: settings as the text of a Java properties file, which has an escape for every character."""

from __future__ import annotations

import re
from collections.abc import Mapping

_ESCAPED = re.compile(r"[^A-Za-z0-9._/,-]")


def as_properties(settings: Mapping[str, str]) -> str:
    r"""One line a setting, ASCII alone.

    >>> as_properties({"spark.a": "x=\ny"})
    'spark.a=x\\u003d\\u000ay\n'
    """
    return "".join(f"{_escape(key)}={_escape(value)}\n" for key, value in settings.items())


def _escape(text: str) -> str:
    return _ESCAPED.sub(_units, text)


def _units(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
