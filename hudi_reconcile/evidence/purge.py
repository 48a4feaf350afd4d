"""Removes old runs, and says so in the audit log: a line names each run that goes, so that the chain still holds.

The line comes first: a purge that was killed has said what it removes, and the next one finishes it. Runs go by age alone,
the oldest first and without gaps, so that nothing older than a run that is gone is ever gone on from.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.files import EvidenceError, lock_file, sync_folder
from hudi_reconcile.evidence.run_folder import AUDIT_FILE, PURGE, STORE_LOCK, build_run_id
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import Verified, verify


@dataclass(frozen=True, slots=True)
class Old:
    """What a purge would remove: runs, oldest first; `unfinished` of them an earlier purge has named already."""

    runs: tuple[str, ...]
    unfinished: tuple[str, ...]
    bytes: int


def find_old_runs(store: Store, before_micros: int) -> Old:
    """The runs that began before a moment, and what a killed purge left. Removes nothing.

    Raises:
        RefusedError: the evidence is not what it was; to remove some of it would remove the proof of that.
        AuditKeyError: the log is sealed with a key that was not given.
    """
    verification = verify(store.reports, keys=store.keys)
    there = sorted(store.folder_ids())
    unfinished = tuple(run_id for run_id in there if run_id in verification.purged)
    _refuse_flaws(store, verification)
    end = build_run_id(before_micros, 0)
    runs = tuple(run_id for run_id in there if run_id < end and run_id not in verification.purged)
    sizes = (_bytes(path) for run_id in runs + unfinished for path in (store.reports / run_id).rglob("*"))
    return Old(runs, unfinished, sum(sizes))


def _bytes(path: Path) -> int:
    try:
        return path.lstat().st_size  # of a link itself: it may lead nowhere
    except FileNotFoundError:  # another purge removes the same runs
        return 0


def purge(store: Store, old: Old, facts: Mapping[str, Any]) -> str:
    """Log the runs, then remove them. Returns the log's head. `facts` are what the line says beside: who, when, how old.

    Runs that another purge has taken since are its own, and not named again.

    Raises:
        EvidenceError: the log or a folder could not be written; what was logged is finished by the next purge.
        LockHeldError: another process held the lock; nothing was removed.
    """
    path = store.reports / AUDIT_FILE
    with lock_file(store.reports / STORE_LOCK, wait_seconds=store.lock_seconds):
        lines, named = _read_logged(path)
        runs = [run_id for run_id in old.runs if run_id in lines and run_id not in named]
        if runs:
            gone = [{"run_id": run_id, "hash": lines[run_id]} for run_id in runs]
            audit_log.append(
                path, {**facts, "command": PURGE, "run_id": None, "tables": [], "purged": gone}, store.keys
            )
        for run_id in (*old.unfinished, *runs):
            _remove(store.reports / run_id)
        sync_folder(store.reports)
        return audit_log.read_tail(path).head


def _read_logged(path: Path) -> tuple[dict[str, str], frozenset[str]]:
    """The hash of each run's line, and the runs that lines of purges name."""
    lines = list(audit_log.read_records(path))
    purges = (line["purged"] for line in lines if line.get("command") == PURGE)
    named = frozenset(str(run["run_id"]) for purged in purges for run in purged)
    return {str(line["run_id"]): str(line["hash"]) for line in lines if line.get("run_id")}, named


def _remove(run: Path) -> None:
    try:
        shutil.rmtree(run)
    except FileNotFoundError:
        return  # another purge finished what a killed one left
    except OSError as error:
        raise EvidenceError(
            f"run {run.name} could not be removed: {error.strerror}",
            fix="make the folder writable, then: hudi-reconcile audit purge --yes",
        ) from error


def _refuse_flaws(store: Store, verification: Verified) -> None:
    """Folders that a killed purge left, whole or in part, are none; lines about them that are not right are."""
    flaws = [flaw for flaw in verification.flaws if flaw.line is not None or flaw.run_id not in verification.purged]
    if flaws:
        raise RefusedError(
            f"{store.reports} is not what it was ({len(flaws)} flaws): a purge would remove the proof of it",
            fix="look: hudi-reconcile audit verify",
        )
