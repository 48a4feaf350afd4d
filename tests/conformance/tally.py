"""What was tried and what was found, for the lines at the end of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.conformance.product import Product


@dataclass(frozen=True, slots=True)
class Tried:
    """One engine in one mode: how many cells, how many were equal untouched, how many changes were found."""

    engine: str
    mode: str
    ansi: str
    cells: int
    equal: int
    found: int
    product: Product
    version: str
    named: Mapping[str, str]


TRIED: list[Tried] = []
MUTANTS: dict[str, str] = {}
"""Each planted fault and the check that found it; empty where none did."""
KEY = "conformance"
_TOLD: list[str] = []
"""What other processes tried, as lines."""


def counts() -> dict[str, Any]:
    """What this process has tried and found so far, as xdist carries it."""
    return {"tried": _tried(), "mutants": dict(MUTANTS)}


def add(more: Mapping[str, Any]) -> None:
    """The counts of another process; the engines are all one file's, so that one process alone tried them."""
    _TOLD.extend(more.get("tried", ()))
    MUTANTS.update(more.get("mutants", {}))


def lines() -> list[str]:
    found = [*_TOLD, *_tried()]
    if MUTANTS:
        found += [f"mutant {name}: {by or 'SURVIVED'}" for name, by in MUTANTS.items()]
        found.append(f"mutants killed: {sum(map(bool, MUTANTS.values()))} of {len(MUTANTS)}")
    return found


def _tried() -> list[str]:
    if not TRIED:
        return []
    found = [f"{'engine':32}{'mode':10}{'ANSI':7}{'cells':>7}{'equal':>7}{'changes found':>15}"]
    found += [f"{t.engine:32}{t.mode:10}{t.ansi:7}{t.cells:7}{t.equal:7}{t.found:15}" for t in TRIED]
    sums = [sum(getattr(t, name) for t in TRIED) for name in ("cells", "equal", "found")]
    return [*found, f"{'in all':49}{sums[0]:7}{sums[1]:7}{sums[2]:15}"]
