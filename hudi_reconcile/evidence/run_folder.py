"""A run folder while it is being built: the files of one run appear together, under their names, or not at all.

Order of `finish`: files to the disk, line in the audit log, rename. A crash between the last two is rolled forward by the
next `Store.begin`, so that no run is ever seen that the log does not name. A run that was killed before is ended then by
its draft, with the tables that were done. Knows nothing of what the files say.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.audit_log import NO_KEYS, KeyRing
from hudi_reconcile.evidence.draft import Draft
from hudi_reconcile.evidence.files import (
    LOCK_SECONDS,
    OWNERS_MODE,
    EvidenceError,
    LockHeldError,
    build_spark_address,
    hash_tree,
    lock_file,
    make_folder,
    set_modes,
    sync_folder,
    sync_tree,
    try_lock,
    write_new,
)

STORE_LOCK = ".lock"


class RunFolder:
    """One run's files, invisible until `finish`. A context manager: leaving it unfinished removes everything.

    `draft` keeps what is told of a run that may be killed: once it was begun, the next run ends this one by it.

    Fulfils `ports.Evidence`. Made by `Store.begin`. `head_before` is the head of the audit log when the run began; `head`,
    once it is finished, the hash of the run's own line.
    """

    def __init__(
        self,
        reports: Path,
        run_id: str,
        *,
        lock_descriptor: int,
        lock_seconds: float = LOCK_SECONDS,
        keys: KeyRing = NO_KEYS,
        head_before: str = "",
        mode: int = OWNERS_MODE,
    ) -> None:
        self.run_id = run_id
        self.head_before = head_before
        self.head: str | None = None
        self._keys = keys
        self._mode = mode
        self.path = name_building_folder(reports, run_id)
        self._reports = reports
        self.draft = build_draft(reports, run_id, keys, mode)
        self._lock_descriptor = lock_descriptor
        self._lock_seconds = lock_seconds
        self._tables: dict[str, str] = {}
        self._result: Mapping[str, Any] | None = None
        self._open = True
        self._logged = False

    def table_dir(self, table: str) -> Path:
        """The folder of a table, made if absent. Raises UsageError where another table has the same folder."""
        folder = name_table_folder(table)
        owner = self._tables.setdefault(folder.casefold(), table)
        if owner != table:
            raise UsageError(
                f"tables {owner!r} and {table!r} would share the folder {folder!r}",
                fix="rename one of them in the config",
            )
        path = self.path / folder
        with suppress(FileExistsError):
            make_folder(path, self._mode)
        return path

    def clear_table(self, table: str) -> None:
        """Remove what was written of a table, which is begun again."""
        folder = self.path / name_table_folder(table)
        if folder.is_dir():
            shutil.rmtree(folder)

    def findings_dir(self, table: str) -> Path:
        """Where Spark writes the table's findings; does not exist yet, as Spark wants it."""
        return self.table_dir(table) / FINDINGS_FOLDER

    def rule_keys(self, table: str, rule: str) -> tuple[str, str]:
        """Where Spark writes the keys of a rule's failed rows (not there yet), and its path below the run's folder."""
        folder = self.table_dir(table) / RULES_FOLDER / rule
        return build_spark_address(folder), folder.relative_to(self.path).as_posix()

    def build_held_path(self, table: str) -> str:
        """Where Spark lists the corrections that rules held back; not there yet."""
        return build_spark_address(self.table_dir(table) / HELD_FOLDER)

    def build_uncorrected_path(self, table: str) -> tuple[str, str]:
        """Where Spark lists the corrections that an apply left unmade (not there yet), and its path below the run's folder."""
        folder = self.table_dir(table) / UNCORRECTED_FOLDER
        return build_spark_address(folder), folder.relative_to(self.path).as_posix()

    def write_text(self, name: str, text: str) -> None:
        """Write a new file at the top of the run, as UTF-8. FileExistsError on a second time."""
        if Path(name).name != name:
            raise ValueError(f"{name!r} is no plain file name")
        write_new(self.path / name, text.encode())

    def write_plan(self, table: str, document: Mapping[str, Any]) -> None:
        """Write the table's `plan.json`."""
        write_new(self.table_dir(table) / PLAN_FILE, _json_bytes(document))

    def write_coverage(self, table: str, document: Mapping[str, Any]) -> None:
        """Write the table's `coverage.json`: with the run it appears, and an interrupted run leaves none."""
        write_new(self.table_dir(table) / COVERAGE_FILE, _json_bytes(document))

    def write_result(self, document: Mapping[str, Any]) -> None:
        """Write `result.json`; `finish` takes from it what the audit log says about the run."""
        write_new(self.path / RESULT_FILE, _json_bytes(document))
        self._result = document

    def finish(self) -> Path:
        """Make the run visible and name it in the audit log. Nothing can be added after. Returns the final folder.

        Raises:
            EvidenceError: the disk or the audit log refused, or somebody held its lock; the run stays invisible.
            ValueError: no result was written.
        """
        if self._result is None:
            raise ValueError("a run folder without result.json cannot be finished")
        facts = _audit_facts(self.run_id, self._result)
        try:
            set_modes(self.path, self._mode)
            sync_tree(self.path)
            facts["files"] = hash_tree(self.path)
            with lock_file(self._reports / STORE_LOCK, self._mode, wait_seconds=self._lock_seconds):
                self.head = str(audit_log.append(self._reports / AUDIT_FILE, facts, self._keys, self._mode)["hash"])
                self._logged = True
                final = publish(self._reports, self.run_id)
        except LockHeldError as error:  # no refusal: by now the run may have written to the lake
            raise EvidenceError(f"run {self.run_id} could not be logged: {error.message}", fix=error.fix) from error
        except OSError as error:
            raise EvidenceError(
                f"run {self.run_id} could not be written to {self._reports}: {error.strerror}",
                fix="make the folder writable or free space there, then run the command again",
            ) from error
        self._release()
        return final

    def abandon(self) -> None:
        """Remove what was built; repeats and calls after `finish` do nothing. What the log names already is kept."""
        if not self._open:
            return
        if not self._logged:
            shutil.rmtree(self.path, ignore_errors=True)
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abandon()

    def _release(self) -> None:
        self._open = False
        self.draft.remove()
        lock_path(self._reports, self.run_id).unlink(missing_ok=True)
        os.close(self._lock_descriptor)


def write_proof(folder: RunFolder, table: str, document: Mapping[str, Any]) -> None:
    """Write the table's `proof.json`, on one line: it is read by later sweeps."""
    write_new(folder.table_dir(table) / PROOF_FILE, (json.dumps(document, separators=(",", ":")) + "\n").encode())


def publish(reports: Path, run_id: str) -> Path:
    """Rename a complete run into place; the caller holds the store's lock. Never replaces a run."""
    final = reports / run_id
    if final.exists():
        raise FileExistsError(17, "there is such a run already", str(final))
    name_building_folder(reports, run_id).rename(final)
    sync_folder(reports)
    return final


def tidy(reports: Path, keys: KeyRing = NO_KEYS, mode: int = OWNERS_MODE) -> None:
    """Publish what died between its audit line and its rename, and what died before by its draft; remove what has none.

    What a line names and is not as the line has it is evidence of that: it stays, and `audit verify` tells of it. The caller
    holds the store's lock. `keys` seal the lines of killed runs.
    """
    for entry in sorted(reports.glob(f"{BUILDING_PREFIX}*")):
        run_id = entry.name.removeprefix(BUILDING_PREFIX).removesuffix(".lock").removesuffix(_DRAFT_SUFFIX)
        if not is_run_id(run_id):
            continue
        try:
            descriptor = try_lock(lock_path(reports, run_id))
        except EvidenceError:  # no lock of ours: a link, a FIFO; it is in nobody's way
            continue
        if descriptor is None:
            continue
        try:
            _settle(reports, run_id, keys, mode)
        finally:
            lock_path(reports, run_id).unlink(missing_ok=True)
            os.close(descriptor)


def _settle(reports: Path, run_id: str, keys: KeyRing, mode: int) -> None:
    building, draft = name_building_folder(reports, run_id), build_draft(reports, run_id, keys, mode)
    if building.is_symlink() or draft.folder.is_symlink():
        return
    lines = audit_log.read_records(reports / AUDIT_FILE)
    logged = next((line for line in lines if line.get("run_id") == run_id), None)
    if logged is not None:
        with suppress(EvidenceError, FileExistsError):
            if building.is_dir() and logged.get("files") == hash_tree(building):
                publish(reports, run_id)
    elif building.is_dir():
        try:
            _end_killed(reports, draft)
        except OSError:  # another user's, and in nobody's way; or the disk refused, and a later run ends it
            return
    draft.remove()


def _end_killed(reports: Path, draft: Draft) -> None:
    """Publish a run that was killed, with the tables that were done; remove it where its draft proves nothing."""
    result = draft.compose_result(name_table_folder)
    if result is None:
        shutil.rmtree(draft.building)
        return
    document, folders = result
    for entry in draft.building.iterdir():
        if entry.name not in folders:
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    write_new(draft.building / RESULT_FILE, _json_bytes(document))
    set_modes(draft.building, draft.mode)
    sync_tree(draft.building)
    facts = {**_audit_facts(draft.run_id, document), "files": hash_tree(draft.building)}
    audit_log.append(reports / AUDIT_FILE, facts, draft.keys, draft.mode)
    publish(reports, draft.run_id)


def build_draft(reports: Path, run_id: str, keys: KeyRing, mode: int) -> Draft:
    """Where a run that is being built keeps what it has told so far."""
    building = name_building_folder(reports, run_id)
    return Draft(run_id, building.with_name(building.name + _DRAFT_SUFFIX), building, keys, mode)


def name_building_folder(reports: Path, run_id: str) -> Path:
    """Where a run is built."""
    return reports / f"{BUILDING_PREFIX}{run_id}"


_DAY_MICROS = 86_400_000_000


def build_next_run_id(now_micros: int, known: Iterable[str], entropy: int) -> str:
    """A run's id after the newest of the known ids, so that runs sort as they began whatever their hosts' clocks say.

    An id that lies more than a day ahead is of a clock that was wrong, and is not followed.

    >>> build_next_run_id(1_795_267_576_250_000, ["20261121T132616Z-400a1c"], 7)
    '20261121T132616Z-401007'
    >>> build_next_run_id(1_795_267_576_250_000, ["20261122T000000Z-fff00a", "20361122T000000Z-000000"], 7)
    '20261122T000001Z-000007'
    """
    end = build_run_id(now_micros + _DAY_MICROS, 0)
    newest = max((run_id for run_id in known if run_id < end), default=None)
    if newest is not None:
        with suppress(ValueError):  # a name that no clock gave
            second = datetime.strptime(newest[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            ticks = (second - _EPOCH) // timedelta(seconds=1) * 4096 + int(newest[17:20], 16) + 1
            now_micros = max(now_micros, -(-ticks * 1_000_000 // 4096))
    return build_run_id(now_micros, entropy)


def lock_path(reports: Path, run_id: str) -> Path:
    """The file whose lock says that the builder of a run lives."""
    return reports / f"{BUILDING_PREFIX}{run_id}.lock"


def _audit_facts(run_id: str, result: Mapping[str, Any]) -> dict[str, Any]:
    facts = {key: result[key] for key in ("command", "outcome", "exit_code", "started_utc", "ended_utc")}
    tables = [_build_table_facts(table) for table in result["tables"]]
    return {"run_id": run_id, **facts, "tables": tables}


def _build_table_facts(table: Mapping[str, Any]) -> dict[str, Any]:
    """What the log says of a table: how it ended, who approved the plan, and where rules ran how many ended how."""
    facts = {"name": table["name"], "outcome": table["outcome"]}
    if "approval" in table:
        facts["approval"] = dict(table["approval"])
    rules = table.get("rules", ())
    return {**facts, "rules": dict(sorted(Counter(rule["status"] for rule in rules).items()))} if rules else facts


def _json_bytes(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


AUDIT_FILE = "audit.jsonl"
RESULT_FILE = "result.json"
PLAN_FILE = "plan.json"
COVERAGE_FILE = "coverage.json"
PROOF_FILE = "proof.json"
REPORT_FILE = "report.html"
FINDINGS_FOLDER = "findings"
HELD_FOLDER = "held"
UNCORRECTED_FOLDER = "uncorrected"
RULES_FOLDER = "rules"
BUILDING_PREFIX = ".tmp-"
_DRAFT_SUFFIX = ".draft"
PURGE = "purge"  # the command of lines that name runs which are gone

_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_RESERVED = frozenset({RESULT_FILE, REPORT_FILE, AUDIT_FILE})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SLUG_LETTERS = 40


def build_run_id(now_micros: int, entropy: int) -> str:
    """The id of a run that starts now: UTC second, then three hex digits of its fraction and three of `entropy`.

    Ids of runs more than a quarter of a millisecond apart sort as the runs did.

    >>> build_run_id(1_795_267_576_250_000, 0xA1C)
    '20261121T132616Z-400a1c'
    """
    second = _EPOCH + timedelta(seconds=now_micros // 1_000_000)
    fraction = now_micros % 1_000_000 * 4096 // 1_000_000
    return f"{second:%Y%m%dT%H%M%SZ}-{fraction:03x}{entropy & 0xFFF:03x}"


def is_run_id(text: str) -> bool:
    """True where the text has the form of a run id; says nothing about whether there is such a run."""
    return _RUN_ID.fullmatch(text) is not None


def name_table_folder(table: str) -> str:
    """The folder of a table inside a run: its name where that is safe as a file name, else a readable part and a hash.

    >>> name_table_folder("orders")
    'orders'
    >>> name_table_folder("../Order Items")
    'Order-Items-400c621e'
    """
    if _SAFE_NAME.fullmatch(table) and table not in _RESERVED:
        return table
    readable = re.sub(r"[^A-Za-z0-9_]+", "-", table).strip("-")[:_SLUG_LETTERS] or "table"
    return f"{readable}-{hashlib.sha256(table.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
