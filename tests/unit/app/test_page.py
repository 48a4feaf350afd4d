"""The index looks back until it knows every table of the store, and no further than it must."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.app import pages
from hudi_reconcile.app.pages import compose_index
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import SideState
from hudi_reconcile.evidence.run_folder import AUDIT_FILE
from hudi_reconcile.evidence.store import Store

NOON_MICROS = 1_795_262_400_000_000
Writer = Callable[[str, str], str]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(pages, "MOST_RUNS", 3)
    return Store(tmp_path / "reports")


@pytest.fixture
def write(store: Store) -> Writer:
    """Write a finished run of a table: drift of three rows where it compares, else only what ran."""
    calls = iter(range(1_000))

    def run(command: str, table: str) -> str:
        both = SideState(5, "s"), SideState(8, "l")
        done = TableResult(table, Outcome.PULLED)
        if command == "sweep":
            done = TableResult(table, Outcome.DRIFT, *both, findings={"deleted": 3}, whole=True)
        with store.begin(NOON_MICROS + next(calls) * 1_000_000) as folder:
            times = "2026-11-21T12:00:00Z", "2026-11-21T12:00:09Z"
            folder.write_result(run_document(RunResult(folder.run_id, command, *times, (done,))))
            folder.finish()
        return folder.run_id

    return run


def read_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs whose results are read from now on."""
    read: list[str] = []
    result = Store.result

    def counted(store: Store, run_id: str) -> Any:
        read.append(run_id)
        return result(store, run_id)

    monkeypatch.setattr(Store, "result", counted)
    return read


def test_table_whose_last_run_lies_far_back_is_on_the_index(store: Store, write: Writer, tmp_path: Path) -> None:
    write("sweep", "orders")
    last = [write("sweep", "items") for _ in range(3)][-1]

    found = compose_index(store, last, tmp_path)

    assert "2 of 2 tables need a look." in found
    assert ">orders</a>" in found


def test_table_that_only_other_commands_touched_of_late_stands_as_its_last_comparison(
    store: Store, write: Writer, tmp_path: Path
) -> None:
    write("sweep", "orders")
    last = [write("pull", "orders") for _ in range(9)][-1]

    assert "not compared" not in compose_index(store, last, tmp_path)


def test_only_runs_that_say_something_of_such_tables_are_read(
    store: Store, write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = write("sweep", "orders")
    pulled = [write("pull", table) for table in ("orders", "items", "orders", "never") for _ in range(9)]
    last = [write("sweep", "items") for _ in range(4)]
    read = read_runs(monkeypatch)

    found = compose_index(store, last[-1], tmp_path)

    assert sorted(read) == sorted([*last[1:], swept, pulled[26], pulled[35]])
    assert all(f">{table}</a>" in found for table in ("orders", "items", "never"))


@pytest.mark.parametrize("damage", ["gone", "damaged"])
def test_runs_that_the_log_does_not_name_are_read_one_by_one(
    damage: str, store: Store, write: Writer, tmp_path: Path
) -> None:
    write("sweep", "orders")
    last = [write("sweep", "items") for _ in range(5)][-1]
    log = store.reports / AUDIT_FILE
    log.unlink() if damage == "gone" else log.write_text("no record\n" + log.read_text())

    assert ">orders</a>" in compose_index(store, last, tmp_path)


def test_older_run_that_cannot_be_read_is_named(store: Store, write: Writer, tmp_path: Path) -> None:
    lost = write("sweep", "orders")
    last = [write("sweep", "items") for _ in range(3)][-1]
    (store.reports / lost / "result.json").write_text("?")

    assert f"{lost}: " in compose_index(store, last, tmp_path)
