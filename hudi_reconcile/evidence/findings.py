"""Reads findings, and corrections that were not made, back from Parquet a batch at a time: memory does not grow with the drift.

What was read is held against the counts in `result.json`: rows that are missing on disk are an error, never a short list.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.plan.apply_outcome import REASONS
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.evidence.files import EvidenceError

_BATCH_ROWS = 4096
_BUFFER_BYTES = 1 << 20
_SHAPE: Mapping[str, type] = {"kind": str, "key": dict, "action": str}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding as stored. `line` is the finished JSON text."""

    kind: str
    action: str
    line: str


def choose_kinds(kinds: Collection[str]) -> tuple[str, ...]:
    """The kinds to list: those named, or every kind of drift where none is. Raises UsageError for an unknown one."""
    unknown = sorted(set(kinds) - set(DRIFT_KINDS) - set(NOT_DRIFT_KINDS))
    if unknown:
        raise UsageError(
            f"unknown kind of finding: {', '.join(unknown)}",
            fix=f"use one of {', '.join(DRIFT_KINDS + NOT_DRIFT_KINDS)}",
        )
    return tuple(kinds) or DRIFT_KINDS


def read_findings(folder: Path, counts: Mapping[str, int], *, kinds: Collection[str]) -> Iterator[Finding]:
    """Every finding of these kinds, in the order stored.

    `counts` are the findings by kind that the run reported; a folder may be missing where they are all zero.

    Raises:
        EvidenceError: the files are missing or damaged, or hold more or fewer findings than `counts` says. This shows
            only at the end of the stream.
    """
    expected = {kind: counts.get(kind, 0) for kind in kinds}
    tally: Counter[str] = Counter()
    for finding in _read_stored(folder, kinds):
        tally[finding.kind] += 1
        yield finding
    wrong = [f"{tally[kind]} {kind} of {rows}" for kind, rows in expected.items() if tally[kind] != rows]
    if wrong:
        raise EvidenceError(
            f"{folder} holds {', '.join(wrong)} that result.json counts: the list is not complete",
            fix="sweep again: hudi-reconcile sweep",
        )


def sample_findings(folder: Path, counts: Mapping[str, int], *, limit: int) -> list[Finding]:
    """At most `limit` findings of drift, spread over the kinds that occur, in the order of the kinds.

    Stops reading as soon as it has them.

    Raises:
        EvidenceError: the files are missing or damaged.
    """
    missing = sample_quotas(counts, limit)
    taken: list[Finding] = []
    if missing:
        for finding in _read_stored(folder, tuple(missing)):
            if missing.get(finding.kind, 0):
                missing[finding.kind] -= 1
                taken.append(finding)
                if not any(missing.values()):
                    break
    return sorted(taken, key=lambda finding: DRIFT_KINDS.index(finding.kind))


def sample_quotas(counts: Mapping[str, int], limit: int) -> dict[str, int]:
    """How many findings of each kind a sample holds: one of each in turn until `limit` or all are taken.

    >>> sample_quotas({"late_arriving": 1, "deleted": 500}, 4)
    {'late_arriving': 1, 'deleted': 3}
    """
    quotas = {kind: 0 for kind in DRIFT_KINDS if counts.get(kind, 0)}
    while sum(quotas.values()) < min(limit, sum(counts.get(kind, 0) for kind in quotas)):
        for kind, quota in quotas.items():
            if quota < counts[kind] and sum(quotas.values()) < limit:
                quotas[kind] = quota + 1
    return quotas


def parse_finding(line: str, folder: Path) -> Mapping[str, Any]:
    """The finding of a stored line. Raises EvidenceError where it is none: the file was made by somebody else."""
    try:
        finding = json.loads(line)
        if isinstance(finding, dict) and all(isinstance(finding.get(name), kind) for name, kind in _SHAPE.items()):
            return finding
    except (ValueError, RecursionError):
        pass
    raise EvidenceError(f"{folder} holds a line that is no finding", fix="sweep again: hudi-reconcile sweep")


def _read_stored(folder: Path, kinds: Collection[str]) -> Iterator[Finding]:
    rows = read_stored_rows(folder, ("kind", "action", "line"), "as findings", "sweep again: hudi-reconcile sweep")
    yield from (Finding(*row) for row in rows if row[0] in kinds)


def read_stored_rows(folder: Path, columns: tuple[str, ...], what: str, fix: str) -> Iterator[tuple[str, ...]]:
    """These columns of every row below a folder, in the order stored. Raises EvidenceError where they cannot be read."""
    import pyarrow as pa  # noqa: PLC0415 - `--help` answers without it
    import pyarrow.parquet as pq  # noqa: PLC0415

    for path in sorted(folder.glob("*.parquet")):
        try:
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
                for name in columns:  # an empty table would load pandas, for half a second
                    pa.nulls(0, file.schema_arrow.field(name).type).cast(pa.string())
                for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=[*columns]):
                    yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
        # ValueError and TypeError: columns of another number or type, and text that is no UTF-8.
        except (pa.ArrowException, KeyError, OSError, TypeError, ValueError) as error:
            raise EvidenceError(f"{path} cannot be read {what}", fix=fix) from error


_FIX = "compare anew: hudi-reconcile sweep"


def choose_reasons(reasons: Collection[str]) -> tuple[str, ...]:
    """The reasons to list: those named, or all where none is. Raises UsageError for an unknown one."""
    unknown = sorted(set(reasons) - set(REASONS))
    if unknown:
        raise UsageError(f"unknown reason: {', '.join(unknown)}", fix=f"use one of {', '.join(REASONS)}")
    return tuple(reasons) or tuple(REASONS)


def read_uncorrected(
    folder: Path, summary: Mapping[str, Any], *, kinds: Collection[str], reasons: Collection[str]
) -> Iterator[str]:
    """The lines of these kinds and reasons, in the order stored. `summary` is what the result says of the list.

    Raises:
        EvidenceError: the files are missing or damaged, or hold more or fewer rows than `summary`. This shows only at the end.
    """
    rows = 0
    for kind, reason, line in _stored_lines(folder):
        rows += 1
        if kind in kinds and reason in reasons:
            yield line
    if rows != summary["listed_rows"]:
        raise EvidenceError(
            f"{folder} holds {rows} of {summary['listed_rows']} rows that result.json counts: the list is not complete",
            fix=_FIX,
        )


def sample_uncorrected(folder: Path, *, limit: int) -> list[str]:
    """The first lines of a list; none where there is no list. Raises EvidenceError where the files are damaged."""
    return [line for _, _, line in islice(_stored_lines(folder), limit)]


def _stored_lines(folder: Path) -> Iterator[tuple[str, ...]]:
    return read_stored_rows(folder, ("kind", "reason", "line"), "as a list of what was not corrected", _FIX)
