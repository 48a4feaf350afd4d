"""The audit log is a chain: every line and every file of a run can be held against it, by other code than ours."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.files import EvidenceError, lock_file
from hudi_reconcile.evidence.store import Store

RunWriter = Callable[..., str]


def first_fault(log: Path) -> int | None:
    """Number of the first line that does not fit the chain, recomputed from the format's description alone."""
    previous = "0" * 64
    for number, line in enumerate(log.read_bytes().splitlines(), start=1):
        record = json.loads(line)
        stated = record.pop("hash")
        body = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
        if record["previous"] != previous or record["seq"] != number or hashlib.sha256(body).hexdigest() != stated:
            return number
        previous = stated
    return None


def append_many(log: Path, name: str, times: int) -> None:
    for turn in range(times):
        with lock_file(log.with_name(".lock")):
            audit_log.append(log, {"run_id": f"{name}-{turn}", "files": {}})


def test_log_names_every_file_of_every_run_with_its_hash(store: Store, write_run: RunWriter) -> None:
    ids = [write_run(), write_run("pull")]
    lines = [json.loads(line) for line in (store.reports / "audit.jsonl").read_text().splitlines()]

    assert [line["run_id"] for line in lines] == ids
    assert [line["command"] for line in lines] == ["sweep", "pull"]
    for line in lines:
        folder = store.reports / line["run_id"]
        assert line["files"] == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    assert first_fault(store.reports / "audit.jsonl") is None


@pytest.mark.parametrize(
    ("old", "new"), [('"outcome":"drift"', '"outcome":"clean"'), ('"seq":2', '"seq":3'), ("deadbeef", "feedbeef")]
)
def test_line_that_was_tampered_with_is_detectable(tmp_path: Path, old: str, new: str) -> None:
    log = tmp_path / "audit.jsonl"
    for _ in range(3):
        audit_log.append(log, {"run_id": "r", "outcome": "drift", "files": {"result.json": "deadbeef"}})
    whole = first_fault(log)
    lines = log.read_text().splitlines()
    lines[1] = lines[1].replace(old, new)
    log.write_text("\n".join(lines) + "\n")

    assert whole is None
    assert first_fault(log) == 2


def test_line_that_was_removed_is_detectable(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    append_many(log, "r", 3)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text(lines[0] + lines[2])

    assert first_fault(log) == 2


def test_line_cut_by_a_crash_is_recognised_removed_and_remembered(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    append_many(log, "r", 2)
    whole = log.read_bytes()
    torn = whole.splitlines()[1][:40]
    log.write_bytes(whole + torn)
    read_while_torn = [line["run_id"] for line in audit_log.read_records(log)]

    written = audit_log.append(log, {"run_id": "next", "files": {}})

    assert read_while_torn == ["r-0", "r-1"]
    assert written["torn"] == {"bytes": 40, "sha256": hashlib.sha256(torn).hexdigest()}
    assert [line["run_id"] for line in audit_log.read_records(log)] == ["r-0", "r-1", "next"]
    assert first_fault(log) is None


def test_whole_line_without_its_line_end_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    append_many(log, "r", 2)
    log.write_bytes(log.read_bytes().removesuffix(b"\n"))
    read = [line["run_id"] for line in audit_log.read_records(log)]

    audit_log.append(log, {"run_id": "next", "files": {}})

    assert read == ["r-0", "r-1"]
    assert [line["run_id"] for line in audit_log.read_records(log)] == ["r-0", "r-1", "next"]
    assert first_fault(log) is None


@pytest.mark.parametrize("size", [10, 70_000, 200_000])
def test_log_with_lines_longer_than_a_block_is_chained(tmp_path: Path, size: int) -> None:
    log = tmp_path / "audit.jsonl"
    for turn in range(3):
        audit_log.append(log, {"run_id": f"r-{turn}", "files": {"x" * size: ""}})

    assert first_fault(log) is None


def test_log_cut_at_any_byte_takes_the_next_line_without_a_fault(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    append_many(log, "r", 2)
    whole = log.read_bytes()
    for cut in range(len(whole) + 1):
        log.write_bytes(whole[:cut])

        audit_log.append(log, {"run_id": "next", "files": {}})

        assert first_fault(log) is None, cut


def test_log_whose_last_line_is_no_record_is_refused_before_any_work(store: Store, write_run: RunWriter) -> None:
    write_run()
    with (store.reports / "audit.jsonl").open("a") as log:
        log.write('{"run_id": "forged"}\n')

    with pytest.raises(EvidenceError, match="no audit record"):
        store.begin(1)
    assert len(store.run_ids()) == 1


def test_processes_that_append_at_once_make_one_chain(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    spawn: Any = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=append_many, args=(log, f"p{number}", 20)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0, 0]
    assert len(list(audit_log.read_records(log))) == 40
    assert first_fault(log) is None


def test_threads_that_append_at_once_make_one_chain(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    threads = [threading.Thread(target=append_many, args=(log, f"t{number}", 20)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(list(audit_log.read_records(log))) == 80
    assert first_fault(log) is None
