"""The JSON documents of a run's folder: read once, strictly, so that no two readers can take one for two things.

JSON says nothing of doubled keys, and Python's reader takes more than JSON (NaN, UTF-16, lone surrogates): what this tool did
not write is no document of its own, and is refused here by name, never by a traceback in whoever shows it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hudi_reconcile.evidence.files import EvidenceError

Document = Mapping[str, Any]

_MOST_DIGITS = (
    40  # a decimal(38), its sign and point: more is no number of ours, and costs the square of its digits to read
)
_FIX = "choose another run: hudi-reconcile history"


def parsed(data: bytes, path: Path, version: int) -> Document:
    """The document of a file's bytes.

    Raises:
        EvidenceError: it is no JSON object as this tool writes them, or of another version.
    """
    try:
        text = data.decode("utf-8")
        document = json.loads(
            text, object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite, parse_int=_integer
        )
        if "\\u" in text:  # the one way to spell half a surrogate pair, which no file, terminal or database can take
            json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:  # a UnicodeError is a ValueError
        raise EvidenceError(f"{path} is no JSON document of this tool: {_said(error)}", fix=_FIX) from error
    found = document.get("version") if isinstance(document, dict) else None
    if type(found) is not int or found != version:
        raise EvidenceError(
            f"{path} is of version {str(found)[:20]}, this hudi-reconcile reads version {version}",
            fix="use the hudi-reconcile that wrote the run, or sweep again: hudi-reconcile sweep",
        )
    return dict(document)


def _said(error: Exception) -> str:
    """What is wrong, without the words of the document: they may be of a row."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeError):
        return "its text is no UTF-8"
    return f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands in it twice")
    return found


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("a number in it is too long")
    return int(text)


def _finite(text: str) -> float:
    number = float(text) if len(text) <= 10 * _MOST_DIGITS else math.inf
    if not math.isfinite(number):
        raise ValueError("a number in it is not finite")
    return number
