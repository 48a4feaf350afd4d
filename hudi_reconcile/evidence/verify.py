"""Is the evidence what it was? Holds every line of the audit log against its chain, and every file against its line.

Whoever edits, removes, reorders or adds a line breaks the chain after it. Cutting lines off the end leaves a whole chain:
only a head that was published elsewhere (printed by `audit verify`, carried by the lake's commits) tells that. Runs that a
line says were purged have no files to check, but the purge names each by the hash of its line. Reads only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hudi_reconcile.evidence.audit_log import (
    FIRST_PREVIOUS,
    NO_KEYS,
    KeyRing,
    Link,
    Record,
    build_missing_key_error,
    read_links,
)
from hudi_reconcile.evidence.files import LOCK_SECONDS, EvidenceError, LockHeldError, hash_tree, lock_file
from hudi_reconcile.evidence.run_folder import AUDIT_FILE, PURGE, STORE_LOCK, is_run_id, name_building_folder
from hudi_reconcile.evidence.trust import prove_unsealed_lines

_LOOKS_AGAIN = 3


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is not as it was. `line` counts from 1; None where no line is concerned."""

    line: int | None
    run_id: str | None
    what: str


@dataclass(frozen=True, slots=True)
class PurgeLine:
    """One line that says that runs were removed: which, by whom, when."""

    line: int
    by: str
    at_utc: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Named:
    """A run as its line names it."""

    line: int
    digest: str
    files: Mapping[str, str]


@dataclass(slots=True)
class Verified:
    """What was looked at, the hash of the last line (`head`), and what is wrong.

    `sealed` lines were checked with a key; `unproven` are those from before it that neither a seal nor the config's
    `audit.unsealed_head` proves, and `unproven_head` is the hash of the last of them. `published_line` is where the published
    head stands, 0 where the log was empty.
    """

    lines: int = 0
    files: int = 0
    head: str = FIRST_PREVIOUS
    sealed: int = 0
    unproven: int = 0
    unproven_head: str | None = None
    published_line: int | None = None
    purges: list[PurgeLine] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)

    @property
    def purged(self) -> frozenset[str]:
        """The runs that were removed, or should have been."""
        return frozenset(run_id for purge in self.purges for run_id in purge.runs)


def verify(
    reports: Path, published: str | None = None, keys: KeyRing = NO_KEYS, *, lock_seconds: float = LOCK_SECONDS
) -> Verified:
    """Check the whole log, then every file of every run. `published` is a head that must be in the chain.

    A log that does not exist has no lines; runs that no line names are flaws. A flaw is told once it was seen twice, the
    second time after whoever was writing the log or removing runs: they are not caught half way.

    Raises:
        AuditKeyError: nothing is wrong as far as can be seen, but lines are sealed with a key that was not given.
    """
    verification = _look(reports, published, keys)
    for _ in range(_LOOKS_AGAIN):
        if not verification.flaws:
            break
        _wait_for_writer(reports, lock_seconds)
        before, verification = verification.flaws, _look(reports, published, keys)
        if verification.flaws == before:
            break
    return verification


def _wait_for_writer(reports: Path, lock_seconds: float) -> None:
    # Whoever may only read cannot wait, and looks again at once. A writer that hangs hides no flaw.
    if (reports / STORE_LOCK).is_file():
        with suppress(OSError, LockHeldError), lock_file(reports / STORE_LOCK, wait_seconds=lock_seconds):
            pass


def _look(reports: Path, published: str | None, keys: KeyRing) -> Verified:
    verification = Verified()
    there = _runs(reports)  # before the log: the line of a run comes before its folder
    heads, named = {FIRST_PREVIOUS: 0}, dict[str, _Named]()
    before_key = (
        prove_unsealed_lines(reports / AUDIT_FILE, keys) if keys.unsealed_head is not None else frozenset[int]()
    )
    if keys.unsealed_head is not None and not before_key:
        what = "the head that audit.unsealed_head names is not in the log: its lines were rewritten or removed"
        verification.flaws.append(Flaw(None, None, what))
    unchecked: Link | None = None
    last: Link | None = None
    for link in read_links(reports / AUDIT_FILE, keys):
        verification.lines = link.number
        last = link
        verification.flaws += [Flaw(link.number, _find_run(link.record), what) for what in link.flaws]
        if link.record is None:
            continue
        verification.sealed += link.sealed_by is not None and not link.unchecked
        if link.sealed_by is None and keys.current is not None and link.number not in before_key:
            verification.unproven, verification.unproven_head = verification.unproven + 1, str(link.record.get("hash"))
        unchecked = unchecked or (link if link.unchecked else None)
        verification.head = str(link.record.get("hash"))
        heads[verification.head] = link.number
        _read(link.number, link.record, named, verification)
    verification.published_line = None if published is None else heads.get(published)
    verification.flaws += _end_flaws(last, keys, published, verification, before_key)
    _check_files(reports, there, named, verification)
    if unchecked is not None:
        missing = build_missing_key_error(
            unchecked.sealed_by, keys, f"line {unchecked.number} of {reports / AUDIT_FILE}"
        )
        if not verification.flaws:
            raise missing
        verification.flaws.append(Flaw(unchecked.number, _find_run(unchecked.record), missing.message))
    return verification


def _read(number: int, record: Record, named: dict[str, _Named], verification: Verified) -> None:
    """Take in what a line says: a run with its files, or runs that are gone."""
    if record.get("command") == PURGE:
        gone = _list_purged_lines(record)
        if not gone:
            verification.flaws.append(Flaw(number, None, "is a purge that names no runs"))
            return
        verification.purges.append(
            PurgeLine(number, str(record.get("by")), str(record.get("ended_utc")), tuple(run_id for run_id, _ in gone))
        )
        verification.flaws += [Flaw(number, run_id, what) for run_id, what in _purge_flaws(gone, named)]
        return
    files = record.get("files")
    if isinstance(files, dict):
        named[str(record.get("run_id"))] = _Named(number, str(record.get("hash")), files)


def _list_purged_lines(record: Record) -> list[tuple[str, object]]:
    """The runs that a purge's line names, in its order, each with the hash of its line; none where it is not made as ours are."""
    runs = record.get("purged")
    if not isinstance(runs, list) or not all(isinstance(run, dict) and "run_id" in run for run in runs):
        return []
    return [(str(run["run_id"]), run.get("hash")) for run in runs]


def _purge_flaws(gone: list[tuple[str, object]], named: dict[str, _Named]) -> Iterator[tuple[str, str]]:
    """A purge names runs of lines before it, the oldest first, each once and by the hash of its line. Takes them from `named`."""
    previous = ""
    for run_id, digest in gone:
        if run_id < previous:
            yield run_id, "says that a run was purged after a newer one: a purge takes the oldest first"
        previous = run_id
        line = named.pop(run_id, None)
        if line is None:
            yield run_id, "says that a run was purged which no line before names, or another purge does"
        elif digest != line.digest:
            yield run_id, f"says that a run was purged by another hash than that of line {line.line}, which names it"


def _end_flaws(
    last: Link | None, keys: KeyRing, published: str | None, verification: Verified, before_key: Collection[int]
) -> Iterator[Flaw]:
    if published is not None and verification.published_line is None:
        what = f"the published head {published} is not in the log: lines were cut off or rewritten"
        yield Flaw(None, None, what)
    if last is None or last.record is None or last.number in before_key:
        return
    if keys.current is not None and last.sealed_by is None:
        what = "is not sealed though a key is given: written before there was one (the next run seals), or forged without it"
        yield Flaw(last.number, _find_run(last.record), what)


def _check_files(reports: Path, there: Collection[str], named: Mapping[str, _Named], verification: Verified) -> None:
    for run_id, run in named.items():
        verification.files += len(run.files)
        verification.flaws += [Flaw(run.line, run_id, what) for what in _file_flaws(reports, run_id, run.files)]
    for run_id in sorted(set(there) - named.keys()):
        if run_id in verification.purged:
            what = "was purged, and its folder is there: finish it with hudi-reconcile audit purge --yes"
        else:
            what = "no line of the log names this run"
        verification.flaws.append(Flaw(None, run_id, what))


def _file_flaws(reports: Path, run_id: str, files: Mapping[str, str]) -> Iterator[str]:
    if not is_run_id(run_id):
        yield "the line names no run: no run has such an id"  # and no file is looked at under it
        return
    folder = reports / run_id
    if not folder.is_dir():
        killed = name_building_folder(reports, run_id).is_dir()
        yield (
            "was killed before its folder had its name: the next run gives it"
            if killed
            else "the run's folder is missing"
        )
        return
    try:
        there = hash_tree(folder)
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


def _find_run(record: Mapping[str, Any] | None) -> str | None:
    run_id = None if record is None else record.get("run_id")
    return None if run_id is None else str(run_id)


def _runs(reports: Path) -> set[str]:
    return {path.name for path in reports.iterdir() if is_run_id(path.name)} if reports.is_dir() else set()
