"""Command lines on hostile input, in this process, and the count of them: what `make hunt` prints at its end.

Each process counts for itself; with xdist the counts come home with the worker.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TypeVar

from hudi_reconcile.cli.main import run
from hudi_reconcile.core.errors import ReconcileError

LEGAL_CODES = frozenset({0, 1, 2, 3, 4, 5})
KEY = "fuzzed"
_CONTROLS = [chr(one) for one in (*range(0x09), *range(0x0B, 0x20), 0x7F, *range(0x80, 0xA0))]
_COUNTS: defaultdict[str, Counter[str]] = defaultdict(Counter)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Told:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def told(subject: str, *words: str, legal: Iterable[int] = LEGAL_CODES) -> Told:
    """Run a command line. No traceback, no exit code outside of `legal`, no control character for a terminal to obey."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(list(words))
    ran = Told(code, out.getvalue(), err.getvalue())
    _COUNTS[subject][f"exit {code}"] += 1
    assert "Traceback" not in ran.err, ran.err
    assert code in legal, ran
    obeyed = {one for one in _CONTROLS if one in ran.out or one in ran.err}
    assert not obeyed, ran
    return ran


def parsed(subject: str, parse: Callable[[], _Value]) -> _Value | None:
    """What a pure reader makes of hostile input: a value, or None for a named error. Any other exception is a fault."""
    try:
        found = parse()
    except ReconcileError:
        _COUNTS[subject]["refused"] += 1
        return None
    _COUNTS[subject]["read"] += 1
    return found


def count(subject: str, ending: str) -> None:
    """One command on hostile input that a test runs itself, and how it ended."""
    _COUNTS[subject][ending] += 1


def counts() -> dict[str, dict[str, int]]:
    """What this process has counted so far."""
    return {subject: dict(found) for subject, found in _COUNTS.items()}


def add(more: Mapping[str, Mapping[str, int]]) -> None:
    """The counts of another process."""
    for subject, found in more.items():
        _COUNTS[subject].update(found)


def table() -> list[str]:
    """Lines that say how many inputs each subject got and how they ended. A traceback fails its test, so none is counted."""
    width = max((len(subject) for subject in _COUNTS), default=0)
    return [
        f"{subject:<{width}}  {sum(found.values()):>8,} inputs, 0 tracebacks: "
        + ", ".join(f"{ending} {count:,}" for ending, count in sorted(found.items()))
        for subject, found in sorted(_COUNTS.items())
    ]
