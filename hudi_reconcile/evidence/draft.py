"""What a run has told so far, kept beside its unfinished folder: if its process is killed, the next run ends the folder by it.

A folder `.tmp-RUN.draft` holds `run.json`, written when the run begins, and a file for each table that is done, which binds
the table's files by their hashes. Where the audit log has a key, each file is sealed with it, as a line of the log is: else
whoever can write the reports folder could lay down a draft, and the next run would seal it into the log.
"""

from __future__ import annotations

import hmac
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hudi_reconcile.core.outcome import Outcome, find_gravest
from hudi_reconcile.core.result import TableResult, build_table_document
from hudi_reconcile.core.result_parts import KILLED, Failure
from hudi_reconcile.evidence.audit_log import KeyRing, write_canonical
from hudi_reconcile.evidence.documents import check_result, parse_document
from hudi_reconcile.evidence.files import EvidenceError, hash_tree, make_folder, read_bytes, replace_file

KILLED_EXIT_CODE = 137  # of SIGKILL, as shells tell it
_HEAD_FILE = "run.json"
_VERSION = 1
_FIX = "run the same command again, that is safe; the commits of the killed run: hudi-reconcile audit lake"

Document = Mapping[str, Any]
Facts = TypeVar("Facts", bound=BaseModel)


class _Head(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    command: str
    started_utc: str
    names: list[str] = Field(min_length=1)
    provenance: dict[str, Any]
    trust: list[str]


class _Done(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    table: dict[str, Any]
    at_utc: str
    provenance: dict[str, Any]
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft of one run that is being built. `folder` is its own, `building` the run's; `keys` seal it."""

    run_id: str
    folder: Path
    building: Path
    keys: KeyRing
    mode: int

    def begin(self, facts: Document) -> None:
        """Write down what is known at the start: `command`, `started_utc`, `names` of the tables, `provenance` and `trust`."""
        make_folder(self.folder, self.mode)
        self._write(_HEAD_FILE, _Head.model_validate(facts).model_dump())

    def keep_table(self, folder: str, table: Document, *, at_utc: str, provenance: Document) -> None:
        """Write down a table that is done, with what its folder holds now. A second time replaces the first."""
        files = hash_tree(self.building / folder)
        self._write(_name_file(folder), {"table": table, "at_utc": at_utc, "provenance": provenance, "files": files})

    def remove(self) -> None:
        """Remove the draft, where there is one."""
        with suppress(OSError):  # another user's: in nobody's way
            shutil.rmtree(self.folder)

    def compose_result(self, folder_of: Callable[[str], str]) -> tuple[Document, frozenset[str]] | None:
        """The run's `result.json` as the kill left it, and the folders of tables that were done; None where nothing is proven.

        A table whose files are not those that it was done with, and one that was not done, has the error `Killed`.
        `folder_of` gives a table's folder.
        """
        head = self._read(_HEAD_FILE, _Head)
        if head is None:
            return None
        done = {name: self._read_done(name, folder_of(name)) for name in head.names}
        tables = [_describe_killed(name) if entry is None else entry.table for name, entry in done.items()]
        kept = [entry for entry in done.values() if entry is not None]
        document = {
            "version": _VERSION,
            "run_id": self.run_id,
            "command": head.command,
            "outcome": find_gravest(Outcome(table["outcome"]) for table in tables).value,
            "exit_code": KILLED_EXIT_CODE,
            "started_utc": head.started_utc,
            "ended_utc": max((entry.at_utc for entry in kept), default=head.started_utc),
            "tables": tables,
            "provenance": {
                **head.provenance,
                **{key: value for entry in kept for key, value in entry.provenance.items()},
            },
            "trust": head.trust,
        }
        with suppress(EvidenceError):
            check_result(document, self.run_id, self.folder)
            return document, frozenset(folder_of(name) for name, entry in done.items() if entry is not None)
        return None

    def _read_done(self, name: str, folder: str) -> _Done | None:
        entry = self._read(_name_file(folder), _Done)
        if entry is None or entry.table.get("name") != name or entry.table.get("outcome") not in set(Outcome):
            return None
        with suppress(EvidenceError):
            return entry if hash_tree(self.building / folder) == entry.files else None
        return None

    def _write(self, name: str, facts: Document) -> None:
        key = self.keys.current
        seal = {} if key is None else {"key_id": key.key_id, "mac": key.mac(self._sealed_text(name, facts))}
        replace_file(self.folder / name, write_canonical({"version": _VERSION, "facts": facts, **seal}))

    def _read(self, name: str, shape: type[Facts]) -> Facts | None:
        """The facts of a file; None where it is missing, damaged, or not sealed with a key of the log that has one."""
        try:
            document = parse_document(read_bytes(self.folder / name), self.folder / name, _VERSION)
            facts = shape.model_validate(document.get("facts"))
        except (EvidenceError, FileNotFoundError, ValidationError):
            return None
        if self.keys.current is None:
            return None if "mac" in document else facts
        key = self.keys.find(document.get("key_id"))
        made = "" if key is None else key.mac(self._sealed_text(name, document["facts"]))
        is_sealed = key is not None and hmac.compare_digest(
            made.encode(), str(document.get("mac")).encode("utf-8", "replace")
        )
        return facts if is_sealed else None

    def _sealed_text(self, name: str, facts: Document) -> bytes:
        return write_canonical({"run_id": self.run_id, "file": name, "facts": facts})


def _name_file(folder: str) -> str:
    return f"table-{folder}.json"


def _describe_killed(name: str) -> Document:
    failure = Failure(KILLED, "the run was killed before the table was done", _FIX)
    return build_table_document(TableResult(name, Outcome.UNVERIFIED, error=failure))
