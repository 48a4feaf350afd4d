"""Is the evidence what it was? Holds every line of the audit log against its chain, and every file against its line.

Whoever edits, removes, reorders or adds a line breaks the chain after it. Cutting lines off the end leaves a whole chain:
only a head that was published elsewhere (printed by `audit verify`) tells that. Reads only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hudi_reconcile.evidence.audit import FIRST_PREVIOUS, Record, canonical, record_hash
from hudi_reconcile.evidence.files import EvidenceError, tree_hashes
from hudi_reconcile.evidence.names import AUDIT_FILE, is_run_id


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is not as it was. `line` counts from 1; None where no line is concerned."""

    line: int | None
    run_id: str | None
    what: str


@dataclass(slots=True)
class Verified:
    """What was looked at, the hash of the last line (`head`), and what is wrong."""

    lines: int = 0
    files: int = 0
    head: str = FIRST_PREVIOUS
    flaws: list[Flaw] = field(default_factory=list)


def verify(reports: Path, published: str | None = None) -> Verified:
    """Check the whole log, then every file of every run. `published` is a head that must be in the chain.

    A log that does not exist has no lines; runs that no line names are flaws.
    """
    found = Verified()
    heads, named = {FIRST_PREVIOUS}, {}
    for number, line in enumerate(_lines(reports / AUDIT_FILE), start=1):
        found.lines = number
        record = _record(line)
        if record is None:
            found.flaws.append(Flaw(number, None, "is no audit record: edited, or cut by a crash"))
            continue
        run_id = str(record.get("run_id"))
        found.flaws += [Flaw(number, run_id, what) for what in _chain_flaws(record, line, number, found.head)]
        found.head = str(record.get("hash"))
        heads.add(found.head)
        files = record.get("files")
        if isinstance(files, dict):
            named[run_id] = (number, files)
    if published is not None and published not in heads:
        what = f"the published head {published} is not in the log: lines were cut off or rewritten"
        found.flaws.append(Flaw(None, None, what))
    for run_id, (number, files) in named.items():
        found.files += len(files)
        found.flaws += [Flaw(number, run_id, what) for what in _file_flaws(reports / run_id, files)]
    found.flaws += [Flaw(None, run_id, "no line of the log names this run") for run_id in _runs(reports) - named.keys()]
    return found


def _lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        with path.open("rb") as stream:
            yield from stream


def _record(line: bytes) -> Record | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _chain_flaws(record: Record, line: bytes, number: int, previous: str) -> Iterator[str]:
    if record.get("hash") != record_hash(record) or line != canonical(record) + b"\n":
        yield "was edited: its hash is not that of what it says"
    if record.get("previous") != previous:
        yield "does not follow the line before: one was edited, removed, added or moved"
    if record.get("seq") != number:
        yield f"says that it is line {record.get('seq')}"


def _file_flaws(folder: Path, files: dict[str, str]) -> Iterator[str]:
    if not folder.is_dir():
        yield "the run's folder is missing"
        return
    try:
        there = tree_hashes(folder)
    except EvidenceError as error:
        yield error.message
        return
    for name in sorted(files.keys() | there.keys()):
        if name not in there:
            yield f"{name} is missing"
        elif name not in files:
            yield f"{name} was added"
        elif files[name] != there[name]:
            yield f"{name} was changed"


def _runs(reports: Path) -> set[str]:
    return {path.name for path in reports.iterdir() if is_run_id(path.name)} if reports.is_dir() else set()
