"""The runs under `<reports>/`: begins a run, finds one by id or `latest`, reads its documents and plans back.

Decides what is a run (a folder with a run id's name and a `result.json`) and what a dead process left behind. A plan is
held against the log and its own id before anybody shows, approves or applies it. Knows nothing of tables' contents, Spark
or HTML.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from hudi_reconcile.core.changes.queries import UNDONE_PLANS
from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.plan.plan import Plan, parse
from hudi_reconcile.core.sweep.segments import parse as parse_segments
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.audit_log import NO_KEYS, KeyRing
from hudi_reconcile.evidence.documents import check_result, parse_document
from hudi_reconcile.evidence.files import (
    LOCK_SECONDS,
    OWNERS_MODE,
    EvidenceError,
    hash_file,
    lock_file,
    make_folder,
    read_bytes,
    try_lock,
)
from hudi_reconcile.evidence.run_folder import (
    AUDIT_FILE,
    BUILDING_PREFIX,
    COVERAGE_FILE,
    FINDINGS_FOLDER,
    PLAN_FILE,
    PROOF_FILE,
    RESULT_FILE,
    STORE_LOCK,
    UNCORRECTED_FOLDER,
    RunFolder,
    build_next_run_id,
    is_run_id,
    lock_path,
    name_building_folder,
    name_table_folder,
    tidy,
)
from hudi_reconcile.evidence.trust import CHANGED, LOOK, Log, LogReader, UntrustedError

LATEST = "latest"
COMPARED = frozenset({"sweep", "run"})
APPLIED = frozenset({"apply", "run"})
RESULT_VERSION = 1
PLAN_VERSION = 1
COVERAGE_VERSION = 1
PROOF_VERSION = 1
LEFT_VERSIONS = {COVERAGE_FILE: COVERAGE_VERSION, PROOF_FILE: PROOF_VERSION}
_SHOWN_IDS = 5

Document = Mapping[str, Any]
UNUSABLE = (EvidenceError, UntrustedError)  # a run that cannot be read, or must not be believed


@dataclass(frozen=True, slots=True)
class Store:
    """All runs of one reports folder. The folder is made by `begin`; reading never writes. `keys` seal the audit log.

    `mode` is that of new folders. A reports folder that is there keeps its own. Whatever takes the folder's lock raises
    LockHeldError where another process holds it for longer than `lock_seconds`.
    Whatever is read of a run is held against the log first: `UntrustedError` where it is not what the log has of it, where
    no line proves the run though there is a key, or where the log was cut. A folder that was copied by itself is taken.
    """

    reports: Path
    keys: KeyRing = NO_KEYS
    mode: int = OWNERS_MODE
    lock_seconds: float = field(default=LOCK_SECONDS, kw_only=True)
    _reader: LogReader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_reader", LogReader(self.reports / AUDIT_FILE, self.keys))

    def begin(self, now_micros: int) -> RunFolder:
        """Start a run folder, after ending what dead processes left.

        Raises:
            UsageError: the reports folder cannot be made or written.
            EvidenceError: the audit log is damaged, or sealed with another key; said before any work is done.
        """
        try:
            self.reports.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                make_folder(self.reports, self.mode)
            with lock_file(self.reports / STORE_LOCK, self.mode, wait_seconds=self.lock_seconds):
                path = self.reports / AUDIT_FILE
                audit_log.refuse_to_unseal(path, audit_log.read_tail(path).last, self.keys)
                tidy(self.reports, self.keys, self.mode)
                return self._make(now_micros, audit_log.read_tail(path).head)
        except OSError as error:
            raise UsageError(
                f"the reports folder {self.reports} cannot be written: {error.strerror}",
                fix="make it writable, or set another one under 'reports:' in the config",
            ) from error

    def run_ids(self) -> list[str]:
        """The ids of all runs, newest first, with those that the log names and that are missing. None yet: an empty list.

        What a purge removed is no run any more. A run that is missing raises when it is read: who removed its folder shall
        not make an older run the newest.
        """
        lock = self.reports / STORE_LOCK
        known_ids = self._known_ids()
        if known_ids.difference(self.folder_ids()) and lock.is_file():
            # After whoever was between a line and its folder, or purging.
            with suppress(OSError), lock_file(lock, wait_seconds=self.lock_seconds):
                known_ids = self._known_ids()
        return sorted(known_ids, reverse=True)

    def folder_ids(self) -> list[str]:
        """The ids of the runs whose folders are there, newest first."""
        if not self.reports.is_dir():
            return []
        names = (entry.name for entry in os.scandir(self.reports) if entry.is_dir(follow_symlinks=False))
        return sorted(filter(is_run_id, names), reverse=True)

    def list_open(self, *, wait_seconds: float | None = None) -> OpenRuns:
        """The runs whose folders are unfinished. Waits at most so long for the store's lock; None: as long as a run does."""
        if not (self.reports / STORE_LOCK).exists():
            return OpenRuns((), ())
        with lock_file(
            self.reports / STORE_LOCK, wait_seconds=self.lock_seconds if wait_seconds is None else wait_seconds
        ):
            run_ids = self._list_building_ids()
            live = tuple(filter(self._is_built, run_ids))
        return OpenRuns(live, tuple(run_id for run_id in run_ids if run_id not in live))

    def resolve(self, run: str, *, commands: Collection[str] | None = None) -> str:
        """The id that `run` means: itself, or for `latest` the newest run of one of these commands (None: of any).

        Raises:
            UsageError: there is no such run, or it is of another command; lists the newest that would do.
        """
        candidates = (
            self._filter_run_ids(commands) if run == LATEST else (run_id for run_id in self.run_ids() if run_id == run)
        )
        run_id = next(iter(candidates), None)
        if run_id is None:
            raise UsageError(self._missing(run, commands), fix=self._instead(commands))
        if commands is not None and self.result(run_id)["command"] not in commands:
            command = self.result(run_id)["command"]
            article, lacks = "an" if command[0] in "aeiou" else "a", "compared" if commands == COMPARED else "applied"
            raise UsageError(
                f"run {run_id} is {article} {command}, which {lacks} nothing: a {_either(commands)} is needed",
                fix=self._instead(commands),
            )
        return run_id

    def log(self) -> Log:
        """The audit log as it is now. Raises EvidenceError where it cannot be read."""
        return self._reader.read_now()

    def result(self, run_id: str) -> Document:
        """A run's `result.json`.

        Raises:
            UntrustedError: it is not to be believed, by the log.
            EvidenceError: it is missing, damaged or of an unknown version.
        """
        document = self._document(run_id, RESULT_FILE, RESULT_VERSION)
        path = self.reports / run_id / RESULT_FILE
        if document is None:
            raise EvidenceError(f"{path} is missing", fix="choose another run: hudi-reconcile history")
        return check_result(document, run_id, path)

    def plan(self, run_id: str, table: str) -> Document | None:
        """A table's `plan.json`; None where the run made no plan for it. Raises as `result` does."""
        return self._document(run_id, f"{name_table_folder(table)}/{PLAN_FILE}", PLAN_VERSION)

    def read_left(self, run_id: str, table: str, name: str) -> Document | None:
        """What a run left for later sweeps of a table, `coverage.json` or `proof.json`; None where it left none.

        Raises as `result` does.
        """
        return self._document(run_id, f"{name_table_folder(table)}/{name}", LEFT_VERSIONS[name])

    def refuse_changed(self, run_id: str, *, is_shown: Callable[[str], bool]) -> None:
        """Hold the files of a run that a command shows against the run's line. `is_shown` takes a name inside its folder.

        Raises UntrustedError where one was changed, added or removed, or the run is not to be believed.
        """
        log = self._believing(run_id)
        folder = self.reports / run_id
        there = {
            path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
        }
        for name in sorted(filter(is_shown, there | set(log.files(run_id)))):
            _refuse_other(log, run_id, name, hash_file(folder / name) if name in there else None)

    def refuse_changed_findings(self, run_id: str, table: str) -> None:
        """Hold a table's findings, and the result that counts them, against the run's line. Raises as `refuse_changed`."""
        shown = f"{name_table_folder(table)}/{FINDINGS_FOLDER}/"
        self.refuse_changed(run_id, is_shown=lambda name: name == RESULT_FILE or name.startswith(shown))

    def findings_dir(self, run_id: str, table: str) -> Path:
        """Where the table's findings are, whether or not there are any."""
        return self.reports / run_id / name_table_folder(table) / FINDINGS_FOLDER

    def uncorrected_dir(self, run_id: str, table: str) -> Path:
        """Where the corrections that an apply left unmade are listed, whether or not there are any."""
        return self.reports / run_id / name_table_folder(table) / UNCORRECTED_FOLDER

    def _known_ids(self) -> set[str]:
        log = self.log()
        return {*self.folder_ids(), *(run_id for run_id in log.runs if is_run_id(run_id) and run_id not in log.purged)}

    def _believing(self, run_id: str) -> Log:
        log = self.log()
        doubt = log.doubt(run_id)
        if doubt:
            raise UntrustedError(f"run {run_id} cannot be trusted: {doubt}", doubt=doubt)
        is_gone = run_id in log.runs and not (self.reports / run_id).is_dir()
        if is_gone and run_id not in self.log().purged:  # read after the look: a purge's line comes before it removes
            raise self._build_gone_error(run_id)
        return log

    def _build_gone_error(self, run_id: str) -> UntrustedError:
        if name_building_folder(self.reports, run_id).is_dir():
            doubt = "its folder is missing: it was killed before that had its name, or somebody took the name away"
            fix = f"the next run gives it, unless its files were changed; look: {LOOK}"
        else:
            doubt = "its folder is missing, and no purge removed it"
            fix = (
                f"restore it from a copy, or name another run, or make a newer one: hudi-reconcile sweep; look: {LOOK}"
            )
        return UntrustedError(f"run {run_id} is missing: the audit log names it; {doubt}", doubt, fix)

    def _document(self, run_id: str, name: str, version: int) -> Document | None:
        """A document of a run: the bytes that were held against the log are those that are read. None where it is missing."""
        log = self._believing(run_id)
        path = self.reports / run_id / name
        try:
            data = read_bytes(path)
        except FileNotFoundError:
            _refuse_other(log, run_id, name, None)
            return None
        _refuse_other(log, run_id, name, hashlib.sha256(data).hexdigest())
        return parse_document(data, path, version)

    def _filter_run_ids(self, commands: Collection[str] | None) -> Iterator[str]:
        return (run_id for run_id in self.run_ids() if commands is None or self._command(run_id) in commands)

    def _command(self, run_id: str) -> str:
        log = self.log()
        if run_id in log.runs and not log.doubt(run_id) and not (self.reports / run_id).is_dir():
            return log.runs[run_id][-1].command
        return str(self.result(run_id)["command"])

    def _readable(self, commands: Collection[str] | None) -> Iterator[str]:
        for run_id in self.run_ids():
            with suppress(*UNUSABLE):
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

    def _list_building_ids(self) -> list[str]:
        """The ids of unfinished runs, of living processes and of dead ones; newest first."""
        folders = (path.name.removeprefix(BUILDING_PREFIX) for path in self.reports.glob(f"{BUILDING_PREFIX}*"))
        return sorted(filter(is_run_id, folders), reverse=True)

    def _make(self, now_micros: int, head: str) -> RunFolder:
        known = (*self.folder_ids(), *self._list_building_ids())
        run_id = build_next_run_id(now_micros, known, secrets.randbits(12))
        descriptor = try_lock(lock_path(self.reports, run_id), self.mode)
        if descriptor is None:
            raise BlockingIOError(errno.EAGAIN, "a run of this id is being built", str(self.reports))
        make_folder(name_building_folder(self.reports, run_id), self.mode)
        return RunFolder(
            self.reports,
            run_id,
            lock_descriptor=descriptor,
            lock_seconds=self.lock_seconds,
            keys=self.keys,
            head_before=head,
            mode=self.mode,
        )

    def _is_built(self, run_id: str) -> bool:
        path = lock_path(self.reports, run_id)
        if not path.exists():
            return False
        if (descriptor := try_lock(path)) is not None:
            os.close(descriptor)
        return descriptor is None


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """Runs whose folders are unfinished, newest first: `live` ones are being built on this host, `dead` ones were killed."""

    live: tuple[str, ...]
    dead: tuple[str, ...]


def _refuse_other(log: Log, run_id: str, name: str, sha256: str | None) -> None:
    if log.differs(run_id, name, sha256):
        raise UntrustedError(
            f"{name} of run {run_id} was changed since: it is not what the audit log has of it", doubt=CHANGED
        )


def _either(commands: Collection[str] | None) -> str:
    return "run yet" if commands is None else " or ".join(sorted(commands, reverse=True))


def find_undo(store: Store, plan: Plan) -> str | None:
    """The newest run that took commits of the plan back; None where no run says so, as undos of earlier versions."""
    for run_id in store.run_ids():
        if run_id <= plan.run_id:
            return None
        with suppress(*UNUSABLE):  # of whichever run: the apply asks the lake itself
            result = store.result(run_id)
            undone_plans = [table.get("provenance", {}).get(UNDONE_PLANS, "") for table in result["tables"]]
            if result["command"] == "undo" and any(plan.plan_id in text.split(", ") for text in undone_plans):
                return run_id
    return None


def read_plan(store: Store, run_id: str, table: str) -> Plan | None:
    """The plan of a run for a table; None where it made none.

    The id covers what a plan does, the run's line in the log every byte of the file: the times and sentences too. Where no
    line names the run and none has to, such as in a folder that was copied by itself, there is the id alone.

    Raises:
        RefusedError: the file is not the one that the run made, whatever it is now: edited, damaged, removed, a link, the
            plan of another run or table; or the log does not prove the run.
    """
    try:
        document = store.plan(run_id, table)
    except UNUSABLE as error:
        raise _build_refusal(table, error.message) from error
    if document is None:
        return None
    plan = parse(document)
    if (plan.run_id, plan.table) != (run_id, table):
        raise _build_refusal(table, f"plan.json of run {run_id} was changed: it is the plan of run {plan.run_id}")
    try:
        parse_segments(plan.segmentation)
    except (KeyError, TypeError, ValueError) as error:  # its id is right: made by somebody who can compute it
        raise _build_refusal(table, f"plan.json of run {run_id} cuts the table in a way that no sweep does") from error
    if not plan.files or not all(name.endswith(".parquet") for name in plan.files):
        what = f"holds {plan.upserts + plan.deletes} corrections and names no Parquet file of theirs"
        raise _build_refusal(table, f"plan.json of run {run_id} {what}, or a file of another kind")
    if doubt := store.log().doubt_to_act(store.run_ids()):
        raise _build_refusal(table, f"the plan of run {run_id} cannot be trusted: {doubt}")
    return plan


def _build_refusal(table: str, why: str) -> RefusedError:
    return RefusedError(
        f"table {table}: {why}", fix=f"look: hudi-reconcile audit verify; then: hudi-reconcile sweep -t {table}"
    )


def read_proof(store: Store, run_id: str, table: str) -> Document | None:
    """A table's `proof.json`, which the run's line must name: of a folder that was copied by itself none counts. Or None.

    Raises as `Store.result` does.
    """
    name = f"{name_table_folder(table)}/{PROOF_FILE}"
    if name in store.log().files(run_id):
        return store.read_left(run_id, table, PROOF_FILE)
    if (store.reports / run_id / name).exists():
        doubt = "no line of the audit log names it"
        raise UntrustedError(f"{name} of run {run_id} cannot be trusted: {doubt}", doubt=doubt)
    return None
