"""Runs appear complete or not at all, and are found again by id, by `latest` and by command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.purge import Old, purge
from hudi_reconcile.evidence.store import APPLIED, COMPARED, OpenRuns, Store
from hudi_reconcile.evidence.trust import UntrustedError

NOON_MICROS = 1_795_262_400_000_000

RunWriter = Callable[..., str]
ResultOf = Callable[..., Mapping[str, Any]]

BEGIN = """
import os, sys
from pathlib import Path
from hudi_reconcile.evidence import run_folder
from hudi_reconcile.evidence.trust import UntrustedError
from hudi_reconcile.evidence.store import Store
folder = Store(Path(sys.argv[1])).begin(1)
"""
LOG_AND_DIE = """
run_folder.publish = lambda *_: os.kill(os.getpid(), 9)
result = {"command": "sweep", "outcome": "clean", "exit_code": 0, "started_utc": "", "ended_utc": "", "tables": []}
folder.write_result({"version": 1, **result})
folder.finish()
"""


def run_and_die(store: Store, program: str) -> None:
    """Begin a run in a process of its own, which must end by SIGKILL."""
    killed = subprocess.run([sys.executable, "-c", BEGIN + program, str(store.reports)], check=False, cwd=Path.cwd())
    assert killed.returncode == -signal.SIGKILL


def die_between_log_and_rename(store: Store) -> Path:
    run_and_die(store, LOG_AND_DIE)
    return next(path for path in store.reports.glob(".tmp-*") if path.is_dir())


def write_and_fail(store: Store, result: Mapping[str, Any]) -> None:
    with store.begin(NOON_MICROS) as folder:
        folder.write_result(result)
        raise KeyError


def write_symlink_and_finish(store: Store, result: Mapping[str, Any]) -> None:
    with store.begin(NOON_MICROS) as folder:
        folder.write_result(result)
        (folder.path / "report.html").symlink_to("/etc/hostname")
        folder.finish()


def test_run_before_it_is_finished_is_not_visible(store: Store, result_of: ResultOf) -> None:
    with store.begin(NOON_MICROS) as folder:
        folder.write_result(result_of())
        seen_before = store.run_ids()
        folder.finish()

    assert seen_before == []
    assert store.run_ids() == [folder.run_id]


def test_run_that_is_finished_holds_every_file_and_leaves_no_other(store: Store, result_of: ResultOf) -> None:
    with store.begin(NOON_MICROS) as folder:
        folder.write_result(result_of())
        folder.write_plan("orders", {"version": 1, "upserts": 2})
        folder.findings_dir("orders").mkdir()
        (folder.findings_dir("orders") / "part-0.parquet").write_bytes(b"rows")
        final = folder.finish()

    files = {path.relative_to(store.reports).as_posix() for path in store.reports.rglob("*") if path.is_file()}
    inside = {f"{final.name}/{name}" for name in ("result.json", "orders/plan.json", "orders/findings/part-0.parquet")}
    assert files == inside | {"audit.jsonl", ".lock"}
    assert store.plan(final.name, "orders") == {"version": 1, "upserts": 2}


def test_run_that_fails_leaves_nothing_behind(store: Store, result_of: ResultOf) -> None:
    with pytest.raises(KeyError):
        write_and_fail(store, result_of())

    assert {path.name for path in store.reports.iterdir()} == {".lock"}


def test_run_of_a_killed_process_is_cleaned_up_by_the_next_and_never_seen(store: Store) -> None:
    run_and_die(store, "folder.write_text('report.html', 'half')\nos.kill(os.getpid(), 9)")
    left = [path.name for path in store.reports.glob(".tmp-*")]
    (killed,) = store.list_open().dead

    with store.begin(NOON_MICROS) as folder:
        assert store.list_open() == OpenRuns((folder.run_id,), ())
        seen = store.run_ids()
        remaining = [path.name for path in store.reports.glob(".tmp-1970*")]

    assert len(left) == 2
    assert f".tmp-{killed}" in left
    assert seen == []
    assert remaining == []


def test_run_of_a_living_process_survives_the_start_of_another(store: Store, result_of: ResultOf) -> None:
    with store.begin(NOON_MICROS) as first, store.begin(NOON_MICROS) as second:
        first.write_result(result_of())
        second.write_result(result_of())
        second.finish()
        first.finish()

    assert set(store.run_ids()) == {first.run_id, second.run_id}


def test_run_that_dies_between_log_and_rename_is_published_by_the_next(store: Store) -> None:
    run_id = die_between_log_and_rename(store).name.removeprefix(".tmp-")

    assert (store.run_ids(), store.folder_ids()) == ([run_id], [])
    with pytest.raises(UntrustedError, match=f"{run_id} is missing.*killed before") as refused:
        store.result(run_id)
    assert "the next run gives it" in refused.value.fix
    with store.begin(NOON_MICROS):
        seen_after = store.folder_ids()

    assert seen_after == [line["run_id"] for line in audit_log.read_records(store.reports / "audit.jsonl")] == [run_id]
    with pytest.raises(EvidenceError, match="damaged"):  # it is read again, and says no more than it was given
        store.result(run_id)


def test_reader_never_takes_a_run_that_is_being_named_or_purged_for_a_missing_one(
    store: Store, write_run: RunWriter
) -> None:
    first, done = write_run("sweep"), threading.Event()

    def write() -> None:
        for _ in range(60):
            old = write_run("sweep")
            purge(store, Old((old,), (), 0), {"by": "a", "ended_utc": "e"})
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    reader, seen, told = Store(store.reports), 0, list[str]()
    while not done.is_set():
        seen += 1
        for run_id in reader.run_ids():
            try:
                reader.result(run_id)
            except (EvidenceError, UntrustedError) as error:  # its files go one by one
                told.append(error.message)
    writer.join()

    assert (reader.run_ids(), seen > 1) == ([first], True)
    assert [message for message in told if "folder is missing" in message] == []


def test_run_changed_between_its_death_and_the_next_is_not_published(store: Store) -> None:
    building = die_between_log_and_rename(store)
    (building / "result.json").write_text("{}")

    with store.begin(NOON_MICROS):
        seen = store.folder_ids()

    assert seen == []
    assert (building / "result.json").read_text() == "{}"  # what a line names is nobody's to remove


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/"), lambda path: path.mkdir()])
def test_run_that_somebody_took_the_name_of_and_put_something_in_stops_no_later_run(
    store: Store, write_run: RunWriter, put: Callable[[Path], None]
) -> None:
    first = write_run()
    hidden = (store.reports / first).rename(store.reports / f".tmp-{first}")
    put(hidden / "put")

    later = write_run()

    assert store.resolve("latest") == later
    assert (hidden / "result.json").exists() or store.result(first)
    (store.reports / first).mkdir(exist_ok=True)  # and a name that is taken stops none either
    assert write_run() > later


def test_run_without_result_cannot_be_finished(store: Store) -> None:
    with pytest.raises(ValueError, match=r"result\.json"), store.begin(NOON_MICROS) as folder:
        folder.finish()


def test_tables_that_would_share_a_folder_are_refused(store: Store) -> None:
    with store.begin(NOON_MICROS) as folder:
        folder.table_dir("orders")

        with pytest.raises(UsageError, match="share the folder"):
            folder.table_dir("Orders")


def test_table_name_that_climbs_stays_inside_the_run(store: Store) -> None:
    with store.begin(NOON_MICROS) as folder:
        assert folder.table_dir("../../etc").parent == folder.path


def test_latest_is_the_newest_run_of_the_commands_asked_for(store: Store, write_run: RunWriter) -> None:
    write_run("sweep")
    swept, pulled = write_run("sweep"), write_run("pull")

    assert store.resolve("latest") == pulled
    assert store.resolve("latest", commands=COMPARED) == swept


def test_unknown_run_is_refused_with_the_newest_ids(store: Store, write_run: RunWriter) -> None:
    ids = [write_run() for _ in range(7)]

    with pytest.raises(UsageError) as refused:
        store.resolve("20200101T000000Z-000000")

    assert "20200101T000000Z-000000" in refused.value.message
    assert ", ".join(reversed(ids[2:])) in refused.value.fix
    assert ids[1] not in refused.value.fix


def test_run_of_another_command_is_refused_where_a_comparison_is_needed(store: Store, write_run: RunWriter) -> None:
    swept, pulled = write_run("sweep"), write_run("pull")

    with pytest.raises(UsageError, match="is a pull") as refused:
        store.resolve(pulled, commands=COMPARED)

    assert swept in refused.value.fix


def test_latest_without_any_run_says_what_to_run_first(store: Store) -> None:
    with pytest.raises(UsageError) as refused:
        store.resolve("latest", commands=COMPARED)

    assert "hudi-reconcile sweep" in refused.value.fix
    assert not store.reports.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"version": 2}', "version 2"), ("{", "no JSON document of this"), ("[1]", "version None")],
)
def test_result_of_an_unknown_version_is_a_named_error(
    store: Store, write_run: RunWriter, text: str, said: str
) -> None:
    run_id = write_run()
    (store.reports / run_id / "result.json").write_text(text)
    with pytest.raises(UntrustedError, match="changed since"):
        store.result(run_id)
    (store.reports / "audit.jsonl").unlink()

    with pytest.raises(EvidenceError, match=said):
        store.result(run_id)


def test_plan_of_an_unknown_version_is_a_named_error_and_a_missing_one_is_none(
    store: Store, write_run: RunWriter
) -> None:
    run_id = write_run()
    absent = store.plan(run_id, "orders")
    (store.reports / run_id / "orders").mkdir()
    (store.reports / run_id / "orders" / "plan.json").write_text(json.dumps({"version": 9}))
    with pytest.raises(UntrustedError, match=r"plan\.json of run .* was changed since"):
        store.plan(run_id, "orders")
    (store.reports / "audit.jsonl").unlink()

    with pytest.raises(EvidenceError, match="version 9"):
        store.plan(run_id, "orders")
    assert absent is None


def test_reports_folder_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(UsageError, match="cannot be written"):
        Store(tmp_path / "file" / "reports").begin(NOON_MICROS)


def test_symlink_in_a_run_is_refused_and_the_run_stays_invisible(store: Store, result_of: ResultOf) -> None:
    with pytest.raises(EvidenceError, match="neither a file"):
        write_symlink_and_finish(store, result_of())

    assert store.run_ids() == []


def test_run_of_another_command_is_named_with_what_it_lacks(store: Store, write_run: RunWriter) -> None:
    applied, swept = write_run("apply"), write_run("sweep")

    with pytest.raises(
        UsageError, match=f"run {applied} is an apply, which compared nothing: a sweep or run is needed"
    ):
        store.resolve(applied, commands=COMPARED)
    with pytest.raises(UsageError, match=f"run {swept} is a sweep, which applied nothing: a run or apply is needed"):
        store.resolve(swept, commands=APPLIED)
