"""The runs under `<reports>/`: begins a run, finds one by id or `latest`, reads its documents back.

Decides what is a run (a folder with a run id's name and a `result.json`) and what a dead process left behind. Knows
nothing of tables' contents, Spark or HTML.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.evidence import audit
from hudi_reconcile.evidence.files import EvidenceError, file_lock, tree_hashes, try_lock
from hudi_reconcile.evidence.keys import NO_KEYS, KeyRing
from hudi_reconcile.evidence.names import (
    AUDIT_FILE,
    BUILDING_PREFIX,
    COVERAGE_FILE,
    FINDINGS_FOLDER,
    PLAN_FILE,
    RESULT_FILE,
    UNCORRECTED_FOLDER,
    is_run_id,
    run_id_at,
    table_folder,
)
from hudi_reconcile.evidence.run_folder import STORE_LOCK, RunFolder, building_path, lock_path, publish

LATEST = "latest"
COMPARED = frozenset({"sweep", "run"})
APPLIED = frozenset({"apply", "run"})
RESULT_VERSION = 1
PLAN_VERSION = 1
COVERAGE_VERSION = 1
_SHOWN_IDS = 5

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Store:
    """All runs of one reports folder. The folder is made by `begin`; reading never writes. `keys` seal the audit log."""

    reports: Path
    keys: KeyRing = NO_KEYS

    def begin(self, now_micros: int) -> RunFolder:
        """Start a run folder, after tidying up what dead processes left.

        Raises:
            UsageError: the reports folder cannot be made or written.
            EvidenceError: the audit log is damaged, or sealed with another key; said before any work is done.
        """
        try:
            self.reports.mkdir(parents=True, exist_ok=True)
            with file_lock(self.reports / STORE_LOCK):
                path = self.reports / AUDIT_FILE
                tail = audit.read_tail(path)
                audit.refuse_to_unseal(path, tail.last, self.keys)
                self._tidy()
                return self._make(now_micros, tail.head)
        except OSError as error:
            raise UsageError(
                f"the reports folder {self.reports} cannot be written: {error.strerror}",
                fix="make it writable, or set another one under 'reports:' in the config",
            ) from error

    def run_ids(self) -> list[str]:
        """The ids of all runs, newest first. None yet: an empty list."""
        if not self.reports.is_dir():
            return []
        names = (entry.name for entry in os.scandir(self.reports) if entry.is_dir(follow_symlinks=False))
        return sorted(filter(is_run_id, names), reverse=True)

    def under_way(self) -> list[str]:
        """The ids of the runs that live processes of this host are building, newest first. What dead ones left is none."""
        if not (self.reports / STORE_LOCK).exists():
            return []
        with file_lock(self.reports / STORE_LOCK):
            folders = (path.name.removeprefix(BUILDING_PREFIX) for path in self.reports.glob(f"{BUILDING_PREFIX}*"))
            return sorted((one for one in folders if is_run_id(one) and self._is_built(one)), reverse=True)

    def resolve(self, run: str, *, commands: Collection[str] | None = None) -> str:
        """The id that `run` means: itself, or for `latest` the newest run of one of these commands (None: of any).

        Raises:
            UsageError: there is no such run, or it is of another command; lists the newest that would do.
        """
        candidates = self._of(commands) if run == LATEST else (one for one in self.run_ids() if one == run)
        found = next(iter(candidates), None)
        if found is None:
            raise UsageError(self._missing(run, commands), fix=self._instead(commands))
        if commands is not None and self.result(found)["command"] not in commands:
            command = self.result(found)["command"]
            article, lacks = "an" if command[0] in "aeiou" else "a", "compared" if commands == COMPARED else "applied"
            raise UsageError(
                f"run {found} is {article} {command}, which {lacks} nothing: a {_either(commands)} is needed",
                fix=self._instead(commands),
            )
        return found

    def result(self, run_id: str) -> Document:
        """A run's `result.json`. Raises EvidenceError where it is missing, damaged or of an unknown version."""
        return _document(self.reports / run_id / RESULT_FILE, RESULT_VERSION)

    def plan(self, run_id: str, table: str) -> Document | None:
        """A table's `plan.json`; None where the run made no plan for it. Raises EvidenceError as `result` does."""
        path = self.reports / run_id / table_folder(table) / PLAN_FILE
        return _document(path, PLAN_VERSION) if path.exists() else None

    def coverage(self, run_id: str, table: str) -> Document | None:
        """A table's `coverage.json`; None where the run left none. Raises EvidenceError as `result` does."""
        path = self.reports / run_id / table_folder(table) / COVERAGE_FILE
        return _document(path, COVERAGE_VERSION) if path.exists() else None

    def findings_dir(self, run_id: str, table: str) -> Path:
        """Where the table's findings are, whether or not there are any."""
        return self.reports / run_id / table_folder(table) / FINDINGS_FOLDER

    def uncorrected_dir(self, run_id: str, table: str) -> Path:
        """Where the corrections that an apply left unmade are listed, whether or not there are any."""
        return self.reports / run_id / table_folder(table) / UNCORRECTED_FOLDER

    def _of(self, commands: Collection[str] | None) -> Iterator[str]:
        return (run_id for run_id in self.run_ids() if commands is None or self.result(run_id)["command"] in commands)

    def _readable(self, commands: Collection[str] | None) -> Iterator[str]:
        for run_id in self.run_ids():
            with suppress(EvidenceError):
                if commands is None or self.result(run_id)["command"] in commands:
                    yield run_id

    def _missing(self, run: str, commands: Collection[str] | None) -> str:
        if run == LATEST:
            return f"{self.reports} holds no {_either(commands)}"
        return f"there is no run {run!r} in {self.reports}"

    def _instead(self, commands: Collection[str] | None) -> str:
        newest = list(islice(self._readable(commands), _SHOWN_IDS))
        if newest:
            return f"use one of the newest: {', '.join(newest)}, or 'latest'"
        return "run hudi-reconcile sweep first" if commands is not None else "run hudi-reconcile pull or sweep first"

    def _make(self, now_micros: int, head: str) -> RunFolder:
        run_id = run_id_at(now_micros, secrets.randbits(12))
        while (self.reports / run_id).exists() or building_path(self.reports, run_id).exists():
            run_id = run_id_at(now_micros, secrets.randbits(12))
        descriptor = try_lock(lock_path(self.reports, run_id))
        if descriptor is None:
            raise BlockingIOError(errno.EAGAIN, "a run of this id is being built", str(self.reports))
        building_path(self.reports, run_id).mkdir()
        return RunFolder(self.reports, run_id, lock_descriptor=descriptor, keys=self.keys, head_before=head)

    def _is_built(self, run_id: str) -> bool:
        path = lock_path(self.reports, run_id)
        if not path.exists():
            return False
        if (descriptor := try_lock(path)) is not None:
            os.close(descriptor)
        return descriptor is None

    def _tidy(self) -> None:
        for entry in list(self.reports.glob(f"{BUILDING_PREFIX}*")):
            run_id = entry.name.removeprefix(BUILDING_PREFIX).removesuffix(".lock")
            if not is_run_id(run_id):
                continue
            descriptor = try_lock(lock_path(self.reports, run_id))
            if descriptor is None:
                continue
            try:
                self._settle(run_id)
            finally:
                lock_path(self.reports, run_id).unlink(missing_ok=True)
                os.close(descriptor)

    def _settle(self, run_id: str) -> None:
        """Publish what died between its audit line and its rename; remove what died before."""
        building = building_path(self.reports, run_id)
        if not building.exists():
            return
        logged = next((line for line in audit.records(self.reports / AUDIT_FILE) if line["run_id"] == run_id), None)
        if logged is not None and logged["files"] == tree_hashes(building):
            publish(self.reports, run_id)
        else:
            shutil.rmtree(building)


def _document(path: Path, version: int) -> Document:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise EvidenceError(f"{path} is missing", fix="choose another run: hudi-reconcile history") from error
    except ValueError as error:
        raise EvidenceError(f"{path} is no JSON document", fix="choose another run: hudi-reconcile history") from error
    found = document.get("version") if isinstance(document, dict) else None
    if found != version:
        raise EvidenceError(
            f"{path} is of version {found!r}, this hudi-reconcile reads version {version}",
            fix="use the hudi-reconcile that wrote the run, or sweep again: hudi-reconcile sweep",
        )
    return dict(document)


def _either(commands: Collection[str] | None) -> str:
    return "run yet" if commands is None else " or ".join(sorted(commands, reverse=True))
