"""Finished runs in a store: whole, verified there, and never copied twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.evidence.copies import copy_runs, fetch_runs, find_place
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import verify

NOON_MICROS = 1_795_262_400_000_000
TOLD = {
    "version": 1,
    "command": "sweep",
    "outcome": "clean",
    "exit_code": 0,
    "started_utc": "",
    "ended_utc": "",
    "tables": [],
}


def leave_run(reports: Path, number: int) -> str:
    with Store(reports).begin(NOON_MICROS + number * 1_000_000) as building:
        building.write_text("report.html", f"<p>{number}</p>")
        building.write_result(TOLD)
        building.finish()
    return building.run_id


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    return tmp_path / "reports"


def test_runs_and_log_are_copied_once_and_the_copies_verify_like_the_runs(reports: Path, tmp_path: Path) -> None:
    place = find_place(f"file://{tmp_path}/far/away")
    first = leave_run(reports, 1)
    assert copy_runs(reports, place) == (first,)
    second = leave_run(reports, 2)
    assert copy_runs(reports, place) == (second,)
    assert copy_runs(reports, place) == ()

    fetch_runs(place, tmp_path / "back")

    here, there = verify(reports), verify(tmp_path / "back")
    assert (there.flaws, there.lines, there.files, there.head) == ([], 2, 4, here.head)


def test_run_whose_copy_was_cut_off_is_copied_again(reports: Path, tmp_path: Path) -> None:
    place = find_place(f"file://{tmp_path}/far")
    run_id = leave_run(reports, 1)
    copy_runs(reports, place)
    (tmp_path / "far" / run_id / "result.json").unlink()
    (tmp_path / "far" / run_id / "report.html").write_text("half")

    assert copy_runs(reports, place) == (run_id,)
    assert (tmp_path / "far" / run_id / "report.html").read_text() == "<p>1</p>"


def test_copy_that_was_changed_in_the_store_is_a_flaw(reports: Path, tmp_path: Path) -> None:
    place = find_place(f"file://{tmp_path}/far")
    run_id = leave_run(reports, 1)
    copy_runs(reports, place)
    (tmp_path / "far" / run_id / "report.html").write_text("<p>forged</p>")

    fetch_runs(place, tmp_path / "back")

    assert [(flaw.run_id, "report.html" in flaw.what) for flaw in verify(tmp_path / "back").flaws] == [(run_id, True)]


def test_log_that_another_reports_copied_or_that_holds_lines_lost_here_stays_as_it_is(
    reports: Path, tmp_path: Path
) -> None:
    place = find_place(f"file://{tmp_path}/far")
    leave_run(reports, 1)
    leave_run(reports, 2)
    copy_runs(reports, place)
    kept = (tmp_path / "far" / "audit.jsonl").read_bytes()
    reports.rename(tmp_path / "lost")
    other = leave_run(reports, 3)

    with pytest.raises(EvidenceError, match="not the beginning of"):
        copy_runs(reports, place)

    assert (tmp_path / "far" / "audit.jsonl").read_bytes() == kept
    assert not (tmp_path / "far" / other).exists()
    fetch_runs(place, tmp_path / "back")
    assert verify(tmp_path / "back").flaws == []


def test_store_that_cannot_be_written_is_named_without_its_address(reports: Path, tmp_path: Path) -> None:
    leave_run(reports, 1)
    (tmp_path / "far").write_text("a file in the way")

    with pytest.raises(EvidenceError, match=r"outputs\.copy_to") as raised:
        copy_runs(reports, find_place(f"file://{tmp_path}/far/away"))

    assert str(tmp_path) not in raised.value.message
    with pytest.raises(EvidenceError):
        find_place("nothing://x/y")
