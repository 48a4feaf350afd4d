"""What stands in the place of a file of ours is not followed, waited for or overwritten; it is named, and stops nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.audit_log import KeyRing, audit_key
from hudi_reconcile.evidence.files import EvidenceError, lock_file, try_lock
from hudi_reconcile.evidence.history import find_known_columns, list_history
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import verify
from tests.unit.evidence.conftest import NOON_MICROS, RunWriter

LINE = {"run_id": "r", "command": "sweep", "tables": []}
Put = Callable[[Path, Path], object]


def link(path: Path, precious: Path) -> None:
    path.symlink_to(precious)


def hard_link(path: Path, precious: Path) -> None:
    path.hardlink_to(precious)


def fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def folder(path: Path, _: Path) -> None:
    path.mkdir()


def loop(path: Path, _: Path) -> None:
    path.symlink_to(path)


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious.txt"
    path.write_text("everything I know")
    return path


@pytest.mark.parametrize("put", [link, hard_link, fifo, folder, loop])
def test_log_that_is_no_file_of_its_own_is_neither_written_nor_followed(
    tmp_path: Path, precious: Path, put: Put
) -> None:
    put(tmp_path / "audit.jsonl", precious)

    with pytest.raises(EvidenceError):
        audit_log.append(tmp_path / "audit.jsonl", LINE)
    with pytest.raises(EvidenceError):
        Store(tmp_path).begin(NOON_MICROS)
    assert precious.read_text() == "everything I know"


@pytest.mark.parametrize("put", [link, fifo, folder, loop])
def test_log_that_cannot_be_read_is_a_named_error_of_whoever_reads_it(
    store: Store, write_run: RunWriter, precious: Path, put: Put
) -> None:
    run_id = write_run()
    (store.reports / "audit.jsonl").unlink()
    put(store.reports / "audit.jsonl", precious)

    for read in (
        lambda: store.result(run_id),
        lambda: verify(store.reports),
        lambda: audit_log.read_tail(store.reports / "audit.jsonl"),
    ):
        with pytest.raises(EvidenceError, match="is no regular file"):
            read()


@pytest.mark.parametrize("put", [link, hard_link, fifo, folder, loop])
def test_lock_that_is_no_file_of_its_own_is_not_taken(tmp_path: Path, precious: Path, put: Put) -> None:
    put(tmp_path / ".lock", precious)

    with pytest.raises(EvidenceError), lock_file(tmp_path / ".lock"):
        pass
    with pytest.raises(EvidenceError):
        try_lock(tmp_path / ".lock")


@pytest.mark.parametrize("text", [b"everything I know", b"[1, 2", b"x" * 200_000])
def test_end_that_never_was_the_beginning_of_a_line_of_ours_is_not_cut_off(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "audit.jsonl"
    audit_log.append(path, LINE)
    path.write_bytes(path.read_bytes() + text)
    before = path.read_bytes()

    with pytest.raises(EvidenceError, match="no audit record"):
        audit_log.append(path, LINE)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", [b"{", b'{"', b'{"command":"sw', b"\0" * 4096])
def test_line_that_a_crash_or_a_power_cut_left_is_cut_off_and_told(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "audit.jsonl"
    audit_log.append(path, LINE)
    path.write_bytes(path.read_bytes() + text)

    audit_log.append(path, LINE)

    first, second = map(json.loads, path.read_bytes().splitlines())
    assert (second["previous"], second["torn"]["bytes"]) == (first["hash"], len(text))
    assert verify(tmp_path).flaws == []


@pytest.mark.parametrize("put", [link, fifo, folder])
def test_odd_file_named_as_a_run_that_is_being_built_stops_no_run(store: Store, precious: Path, put: Put) -> None:
    store.reports.mkdir()
    put(store.reports / ".tmp-20200101T000000Z-000000.lock", precious)
    put(store.reports / ".tmp-20200101T000000Z-000001", precious)

    with store.begin(NOON_MICROS) as building:
        building.abandon()
    assert precious.read_text() == "everything I know"


def test_reports_folder_may_be_a_link_as_a_mount_is(tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    (tmp_path / "reports").symlink_to(tmp_path / "mount")

    with Store(tmp_path / "reports").begin(NOON_MICROS) as building:
        building.abandon()


ODD: dict[str, Callable[[Path, Path], object]] = {
    "link": link,
    "fifo": fifo,
    "folder": folder,
    "deep": lambda path, _: path.write_text("[" * 200_000),
    "deep object": lambda path, _: path.write_text('{"a":' * 200_000),
    "deep and whole": lambda path, _: path.write_text('{"version":1,"tables":' + "[" * 900 + "]" * 900 + "}"),
    "long number": lambda path, _: path.write_text('{"version": ' + "9" * 5_000 + "}"),
    "number that is none": lambda path, _: path.write_text('{"version": NaN}'),
    "endless number": lambda path, _: path.write_text('{"version": 1e999}'),
    "half a surrogate": lambda path, _: path.write_text('{"version": 1, "run_id": "\\ud800"}'),
    "doubled key": lambda path, _: path.write_text('{"version": 2, "version": 1}'),
    "another encoding": lambda path, _: path.write_bytes('{"version": 1}'.encode("utf-16")),
    "NUL": lambda path, _: path.write_bytes(b"\0" * 100),
    "nothing": lambda path, _: path.write_bytes(b""),
    "true for one": lambda path, _: path.write_text('{"version": true}'),
    "sparse": lambda path, _: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 1 << 40),
}


@pytest.mark.parametrize("odd", ODD)
def test_result_that_is_none_is_listed_as_unreadable_and_stops_no_other_run(
    store: Store, write_run: RunWriter, precious: Path, odd: str
) -> None:
    damaged, whole = write_run(), write_run()
    path = store.reports / damaged / "result.json"
    path.unlink()
    ODD[odd](path, precious)

    for log in ("there", "not there"):
        if log == "not there":
            (store.reports / "audit.jsonl").unlink()
        assert [(run.run_id, run.outcome) for run in list_history(store)] == [(whole, "drift"), (damaged, "unreadable")]
        find_known_columns(store, "orders")
        with store.begin(NOON_MICROS) as building:
            building.abandon()


def test_line_nested_as_deep_as_the_stack_is_a_flaw_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for depth in (*range(20, 60, 13), *range(930, 1010), 5_000):
        path.write_text('{"a":' * depth + "1" + "}" * depth + "\n")
        assert verify(tmp_path).flaws


def test_seal_with_letters_that_no_hash_has_is_a_flaw(tmp_path: Path) -> None:
    key = KeyRing(audit_key("k" * 32, "test"))
    line = dict(audit_log.append(tmp_path / "audit.jsonl", LINE, key)) | {"mac": "\u00e9\ud800"}
    (tmp_path / "audit.jsonl").write_bytes(
        audit_log.write_canonical({**line, "hash": audit_log.record_hash(line)}) + b"\n"
    )

    assert any("forged" in flaw.what for flaw in verify(tmp_path, keys=key).flaws)
