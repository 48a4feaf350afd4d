"""Reads the corrections that an apply left unmade back from Parquet, a batch at a time, and holds them against its result."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.uncorrected import REASONS
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.findings import stored_rows

_FIX = "compare anew: hudi-reconcile sweep"


def chosen_reasons(reasons: Collection[str]) -> tuple[str, ...]:
    """The reasons to list: those named, or all where none is. Raises UsageError for an unknown one."""
    unknown = sorted(set(reasons) - set(REASONS))
    if unknown:
        raise UsageError(f"unknown reason: {', '.join(unknown)}", fix=f"use one of {', '.join(REASONS)}")
    return tuple(reasons) or tuple(REASONS)


def read_uncorrected(
    folder: Path, told: Mapping[str, Any], *, kinds: Collection[str], reasons: Collection[str]
) -> Iterator[str]:
    """The lines of these kinds and reasons, in the order stored. `told` is what the result says of the list.

    Raises:
        EvidenceError: the files are missing or damaged, or hold more or fewer rows than `told`. This shows only at the end.
    """
    found = 0
    for kind, reason, line in _stored(folder):
        found += 1
        if kind in kinds and reason in reasons:
            yield line
    if found != told["listed_rows"]:
        raise EvidenceError(
            f"{folder} holds {found} of {told['listed_rows']} rows that result.json counts: the list is not complete",
            fix=_FIX,
        )


def sample_uncorrected(folder: Path, *, limit: int) -> list[str]:
    """The first lines of a list; none where there is no list. Raises EvidenceError where the files are damaged."""
    return [line for _, _, line in islice(_stored(folder), limit)]


def _stored(folder: Path) -> Iterator[tuple[str, ...]]:
    return stored_rows(folder, ("kind", "reason", "line"), "as a list of what was not corrected", _FIX)
