"""Every way to change evidence is found: lines edited, removed, moved, added or cut off, files changed, added or gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest

from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence import verify as verifying
from hudi_reconcile.evidence.files import EvidenceError, hash_tree, lock_file
from hudi_reconcile.evidence.run_folder import STORE_LOCK, name_building_folder
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import Verified, verify
from tests.unit.evidence.conftest import NOON_MICROS, SECOND, RunWriter

RUNS = [f"20261121T10000{number}Z-00000{number}" for number in range(4)]


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Four runs, each with a result and a finding, as the log names them."""
    for run_id in RUNS:
        folder = tmp_path / run_id
        (folder / "orders").mkdir(parents=True)
        (folder / "result.json").write_text("{}")
        (folder / "orders" / "plan.json").write_text(run_id)
        audit_log.append(tmp_path / "audit.jsonl", {"run_id": run_id, "files": hash_tree(folder)})
    return tmp_path


def lines(reports: Path) -> list[bytes]:
    return (reports / "audit.jsonl").read_bytes().splitlines(keepends=True)


def rewrite(reports: Path, found: list[bytes]) -> None:
    (reports / "audit.jsonl").write_bytes(b"".join(found))


def said(found: Verified) -> str:
    return "; ".join(f"{flaw.line}: {flaw.what}" for flaw in found.flaws)


def test_evidence_that_nobody_touched_is_intact_and_has_the_last_hash_as_its_head(reports: Path) -> None:
    found = verify(reports)

    assert (found.flaws, found.lines, found.files) == ([], 4, 8)
    assert found.head == json.loads(lines(reports)[-1])["hash"]
    assert verify(reports, found.head).flaws == []


def edited(found: list[bytes]) -> list[bytes]:
    return [found[0], found[1].replace(b"result.json", b"resolt.json"), *found[2:]]


def edited_with_its_hash_renewed(found: list[bytes]) -> list[bytes]:
    record = {**json.loads(found[1]), "run_id": RUNS[0]}
    return [found[0], audit_log.write_canonical({**record, "hash": audit_log.record_hash(record)}) + b"\n", *found[2:]]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (edited, "2: was edited"),
        (edited_with_its_hash_renewed, "3: does not follow the line before"),
        (lambda found: [found[0], *found[2:]], "2: does not follow the line before"),
        (lambda found: [found[1], found[0], *found[2:]], "1: does not follow the line before"),
        (lambda found: [*found, found[-1]], "5: does not follow the line before"),
        (lambda found: found[1:], "1: does not follow the line before"),
        (lambda found: [*found[:3], found[3][:-9]], "4: is no audit record"),
        (lambda found: [*found[:3], found[3][:-1]], "4: has no line end: it was cut off after the line was written"),
        (lambda found: [found[0].replace(b":", b": ", 1), *found[1:]], "1: was edited"),
        (lambda found: found[:3], "None: no line of the log names this run"),
    ],
)
def test_changed_line_is_named(reports: Path, change: Callable[[list[bytes]], list[bytes]], line: str) -> None:
    rewrite(reports, change(lines(reports)))

    assert line in said(verify(reports))


def test_lines_cut_off_with_their_runs_are_found_by_a_head_that_was_published(reports: Path) -> None:
    published = verify(reports).head
    rewrite(reports, lines(reports)[:3])
    for path in (reports / RUNS[3] / "orders" / "plan.json", reports / RUNS[3] / "result.json"):
        path.unlink()
    (reports / RUNS[3] / "orders").rmdir()
    (reports / RUNS[3]).rmdir()

    assert verify(reports).flaws == []
    assert "the published head" in said(verify(reports, published))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda folder: (folder / "result.json").write_text("{ }"), "result.json was changed"),
        (lambda folder: (folder / "result.json").unlink(), "result.json is missing"),
        (lambda folder: (folder / "orders" / "more").write_text("x"), "orders/more was added"),
        (lambda folder: folder.rename(folder.parent / "elsewhere"), "the run's folder is missing"),
        (lambda folder: (folder / "link").symlink_to(folder), "neither a file nor a folder"),
    ],
)
def test_changed_file_is_named_with_its_run(reports: Path, change: Callable[[Path], object], what: str) -> None:
    change(reports / RUNS[2])

    (flaw,) = verify(reports).flaws
    assert (flaw.line, flaw.run_id) == (3, RUNS[2])
    assert what in flaw.what


@pytest.mark.parametrize("name", ["9" * 5_000, "../elsewhere", ""])
def test_line_that_names_what_no_run_is_called_is_named_and_no_file_is_looked_at(reports: Path, name: str) -> None:
    newest = lines(reports)[-1]
    rewrite(reports, [*lines(reports)[:-1], newest.replace(RUNS[3].encode(), name.encode())])

    assert "names no run: no run has such an id" in said(verify(reports))


def test_folder_without_a_log_and_without_runs_is_intact(tmp_path: Path) -> None:
    assert verify(tmp_path / "none").flaws == []


@pytest.mark.parametrize("seq", [b"NaN", b"-Infinity", b"1e400", b"[" * 100_000 + b"]" * 100_000])
def test_line_that_no_json_of_ours_spells_is_named(store: Store, write_run: RunWriter, seq: bytes) -> None:
    write_run()
    write_run()
    found = lines(store.reports)
    rewrite(store.reports, [found[0].replace(b'"seq":1', b'"seq":' + seq), found[1]])

    assert verify(store.reports).flaws[0].line == 1
    rewrite(store.reports, [found[1].replace(b'"seq":2', b'"seq":' + seq)])
    with pytest.raises(EvidenceError, match="no audit record"):
        store.begin(NOON_MICROS + 9 * SECOND)


def test_run_that_ends_while_files_are_looked_at_is_no_flaw(
    store: Store, write_run: RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_run()

    def slow(folder: Path) -> dict[str, str]:
        if folder.name == first and len(store.run_ids()) == 1:
            write_run()
        return hash_tree(folder)

    monkeypatch.setattr(verifying, "hash_tree", slow)

    assert verify(store.reports).flaws == []


def test_run_whose_folder_gets_its_name_meanwhile_is_no_flaw_and_one_that_died_before_is_told(
    store: Store, write_run: RunWriter
) -> None:
    run_id = write_run()
    building = name_building_folder(store.reports, run_id)
    (store.reports / run_id).rename(building)
    locked = Event()

    def publishing() -> None:
        with lock_file(store.reports / STORE_LOCK):
            locked.set()
            sleep(0.2)
            building.rename(store.reports / run_id)

    seen = [flaw.what for flaw in verify(store.reports).flaws]
    other = Thread(target=publishing)
    other.start()
    locked.wait()

    assert seen == ["was killed before its folder had its name: the next run gives it"]
    assert verify(store.reports).flaws == []
    other.join()
