"""Copies of finished runs in a store: each run that is not there yet, then the log, and every file read back.

A copy is a run whose `result.json` is there: it is written last. What a store has is never changed, but for the log, which
grows: one that is not the beginning of ours is another's, or holds what ours lost, and stays as it is. Stores are reached by
Arrow's file systems (pyarrow.fs), with the credentials that the machine gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyarrow import ArrowException, fs

from hudi_reconcile.evidence.audit_log import read_records
from hudi_reconcile.evidence.files import EvidenceError, lock_file
from hudi_reconcile.evidence.run_folder import AUDIT_FILE, RESULT_FILE, STORE_LOCK, is_run_id

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """A folder in a store."""

    store: fs.FileSystem
    folder: str

    def build_address(self, name: str) -> str:
        """The address of a file or folder below it, within the store."""
        return f"{self.folder}/{name}"

    def names(self) -> frozenset[str]:
        """What lies in the folder."""
        entries = self.store.get_file_info(fs.FileSelector(self.folder, allow_not_found=True))
        return frozenset(entry.base_name for entry in entries)


def find_place(address: str) -> CopyPlace:
    """The folder that an address means. Raises EvidenceError for one that no file system of Arrow takes."""
    try:
        store, folder = fs.FileSystem.from_uri(address)
    except (ArrowException, OSError, ValueError) as error:
        raise _build_store_error(error) from error
    return CopyPlace(store, folder.rstrip("/"))


def copy_runs(reports: Path, place: CopyPlace) -> tuple[str, ...]:
    """Copy each finished run that the place lacks, then the log; returns the runs' ids. Done twice it copies the log alone.

    Raises EvidenceError where the store does not answer or has a log that does not lead to this one, and nothing is copied,
    or where a file reads back as other bytes than were written.
    """
    try:
        with lock_file(reports / STORE_LOCK):  # a purge removes no run half way, and the log is whole
            log = (reports / AUDIT_FILE).read_bytes()
            there = place.names()
            if not log.startswith(_read_log(place, there)):
                raise EvidenceError(
                    f"the log there is not the beginning of {reports / AUDIT_FILE}; nothing was copied",
                    fix="name a folder of its own for each `reports`, and a new one where this log lost lines",
                )
            named = [str(line.get("run_id", "")) for line in read_records(reports / AUDIT_FILE)]
            missing = list(_missing(reports, place, named, there))
            for run_id in missing:
                _copy_run(reports / run_id, run_id, place)
            _write(place, AUDIT_FILE, log)
    except (ArrowException, OSError) as error:
        raise _build_store_error(error) from error
    return tuple(missing)


def fetch_runs(place: CopyPlace, folder: Path) -> None:
    """Bring all copies into an empty folder of this machine, as `reports` that can be verified.

    Raises EvidenceError where the store does not answer or holds no log.
    """
    try:
        if AUDIT_FILE not in place.names():
            raise EvidenceError("the store holds no copy of the log there", fix="check outputs.copy_to")
        fs.copy_files(
            place.folder, str(folder), source_filesystem=place.store, destination_filesystem=fs.LocalFileSystem()
        )
    except (ArrowException, OSError) as error:
        raise _build_store_error(error) from error


def _read_log(place: CopyPlace, names: frozenset[str]) -> bytes:
    """The whole lines of the log there: a copy that was cut off ends within one."""
    if AUDIT_FILE not in names:
        return b""
    with place.store.open_input_stream(place.build_address(AUDIT_FILE)) as stream:
        there = bytes(stream.read())
    return there[: there.rfind(b"\n") + 1]


def _missing(reports: Path, place: CopyPlace, named: list[str], there: frozenset[str]) -> Iterator[str]:
    for run_id in dict.fromkeys(named):
        if is_run_id(run_id) and (reports / run_id).is_dir() and not _is_whole(place, run_id, there):
            yield run_id


def _is_whole(place: CopyPlace, run_id: str, there: frozenset[str]) -> bool:
    if run_id not in there:
        return False
    entry = place.store.get_file_info(place.build_address(f"{run_id}/{RESULT_FILE}"))
    return bool(entry.type == fs.FileType.File)


def _copy_run(run: Path, run_id: str, place: CopyPlace) -> None:
    files = sorted(path for path in run.rglob("*") if path.is_file() and path != run / RESULT_FILE)
    for path in (*files, run / RESULT_FILE):
        name = f"{run_id}/{path.relative_to(run).as_posix()}"
        place.store.create_dir(place.build_address(name).rpartition("/")[0])
        with path.open("rb") as source, place.store.open_output_stream(place.build_address(name)) as target:
            while chunk := source.read(_CHUNK_BYTES):
                target.write(chunk)
        with path.open("rb") as source:
            _refuse_other(place, name, hashlib.file_digest(source, "sha256").hexdigest())


def _write(place: CopyPlace, name: str, data: bytes) -> None:
    place.store.create_dir(place.folder)
    with place.store.open_output_stream(place.build_address(name)) as target:
        target.write(data)
    _refuse_other(place, name, hashlib.sha256(data).hexdigest())


def _refuse_other(place: CopyPlace, name: str, expected: str) -> None:
    digest = hashlib.sha256()
    with place.store.open_input_stream(place.build_address(name)) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    if digest.hexdigest() != expected:
        raise EvidenceError(f"the copy of {name} reads back as other bytes", fix="run the same command again")


def _build_store_error(error: BaseException) -> EvidenceError:
    # The words of a store may hold its whole address.
    return EvidenceError(
        f"the store of outputs.copy_to does not answer ({type(error).__name__})",
        fix="check the address and what this machine may do there; runs that are not there are copied by the next run",
    )
