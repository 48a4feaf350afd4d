"""`pytest --faults`: only the tests of `tests/faults.py`, and at the end which faults are proven and which mutants killed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import faults

GOOD = "passed"


def entries() -> frozenset[str]:
    """Every test that a fault or a mutant names."""
    named = (*faults.FAULTS.values(), *faults.MUTANTS.values())
    return frozenset(entry for tests in named for entry in tests)


def files() -> list[str]:
    """The files that they are in."""
    return sorted({entry.split("::")[0] for entry in entries()})


def chosen(items: Sequence[pytest.Item], root: Path) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Those that are named, and the others."""
    wanted = entries()
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        path = item.path.relative_to(root).as_posix()
        nodeid = f"{path}::{item.nodeid.split('::', 1)[1]}"
        (kept if any(faults.names(nodeid, entry) for entry in wanted) else others).append(item)
    return kept, others


def verdict(tests: Sequence[str], outcomes: dict[str, str]) -> str:
    """`passed` where every named test ran and passed, else what was not so."""
    wrong = [] if tests else ["no test"]
    for entry in tests:
        found = {outcome for nodeid, outcome in outcomes.items() if faults.names(nodeid, entry)}
        if found != {GOOD}:
            wrong.append(f"{', '.join(sorted(found)) or 'not run'}: {entry}")
    return "; ".join(wrong) or GOOD


def lines(outcomes: dict[str, str]) -> tuple[list[str], bool]:
    """What to print, and whether everything that is planned and not named as missing passed."""
    listed, told, good, passed = faults.planned(), [], True, 0
    for number, name in listed.faults.items():
        found, missing = verdict(faults.FAULTS[number], outcomes), faults.MISSING.get(number)
        good = good and (found == GOOD or missing is not None)
        passed += found == GOOD and missing is None
        said = f"{found}; missing: {missing}" if missing else found
        told.append(f"{number:4} {name}: {said}")
    killed = 0
    for rule, tests in faults.MUTANTS.items():
        found = verdict(tests, outcomes)
        killed += found == GOOD
        good = good and found == GOOD
        told.append(f"mutant, {rule}: {'killed' if found == GOOD else found}")
    told.append(f"faults: {passed} passed / {len(listed.faults)} planned; {len(faults.MISSING)} with a part missing")
    told.append(f"mutants: {killed} killed / {len(faults.MUTANTS)} planted")
    return told, good
