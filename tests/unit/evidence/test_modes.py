"""Everything below `reports` is its owner's alone whatever the umask, and as wide as `reports.mode` where that is said."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hudi_reconcile.evidence.files import lock_file
from hudi_reconcile.evidence.run_folder import STORE_LOCK
from hudi_reconcile.evidence.store import Store

RESULT = {
    "version": 1, "command": "sweep", "outcome": "clean", "exit_code": 0, "started_utc": "", "ended_utc": "", "tables": []
}  # fmt: skip


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def write_run(store: Store, at: int = 1) -> Path:
    """A run with a file of each kind, one of them as Spark makes it: by the umask."""
    with store.begin(at) as folder:
        findings = folder.findings_dir("orders")
        findings.mkdir()
        (findings / "part-0.parquet").write_bytes(b"rows")
        folder.write_plan("orders", {})
        folder.write_coverage("orders", {})
        folder.write_text("report.html", "")
        folder.write_result(RESULT)
        return folder.finish()


def modes(root: Path) -> Mapping[str, set[int]]:
    found = [one for one in (root, *root.rglob("*")) if one.name != STORE_LOCK]  # its own test below
    return {
        "folders": {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()},
        "files": {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()},
    }


@pytest.mark.usefixtures("_umask")
@pytest.mark.parametrize(("mode", "files"), [(0o700, 0o600), (0o750, 0o640), (0o2770, 0o660)])
def test_folders_and_files_of_evidence_have_the_mode_that_the_config_says_whatever_the_umask(
    tmp_path: Path, mode: int, files: int
) -> None:
    store = Store(tmp_path / "reports", mode=mode)

    write_run(store)

    assert (store.reports / "audit.jsonl").is_file()
    assert modes(store.reports) == {"folders": {mode}, "files": {files}}


def test_reports_folder_that_is_there_keeps_its_mode_and_what_is_new_in_it_is_its_owners(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    reports.chmod(0o755)
    (reports / "audit.jsonl").touch(0o644)
    (reports / "audit.jsonl").chmod(0o644)

    run = write_run(Store(reports))

    assert stat.S_IMODE(reports.stat().st_mode) == 0o755
    assert stat.S_IMODE((reports / "audit.jsonl").stat().st_mode) == 0o644
    assert modes(run) == {"folders": {0o700}, "files": {0o600}}


def test_run_is_nobody_elses_while_it_is_built(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Store(tmp_path / "reports").begin(1) as folder:
            folder.write_result(RESULT)
            assert modes(tmp_path / "reports") == {"folders": {0o700}, "files": {0o600}}
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("mode", "lock"), [(0o700, 0o600), (0o755, 0o600), (0o750, 0o600), (0o2770, 0o660), (0o775, 0o660)]
)
def test_lock_is_opened_by_those_alone_who_may_write_the_folder(tmp_path: Path, mode: int, lock: int) -> None:
    with lock_file(tmp_path / "lock", mode):
        assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == lock
