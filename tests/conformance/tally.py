"""What was tried and what was found, for the lines at the end of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


def lines() -> list[str]:
    found = [f"{'engine':32}{'mode':10}{'ANSI':7}{'cells':>7}{'equal':>7}{'changes found':>15}"] if TRIED else []
    found += [f"{t.engine:32}{t.mode:10}{t.ansi:7}{t.cells:7}{t.equal:7}{t.found:15}" for t in TRIED]
    if TRIED:
        sums = [sum(getattr(t, name) for t in TRIED) for name in ("cells", "equal", "found")]
        found.append(f"{'in all':49}{sums[0]:7}{sums[1]:7}{sums[2]:15}")
    if MUTANTS:
        found += [f"mutant {name}: {by or 'SURVIVED'}" for name, by in MUTANTS.items()]
        found.append(f"mutants killed: {sum(map(bool, MUTANTS.values()))} of {len(MUTANTS)}")
    return found
