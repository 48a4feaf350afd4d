"""When a table's catalog is brought up to date, and what becomes of the table's result by that."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.core.errors import RefusedError, Terminated
from hudi_reconcile.core.lake.catalog_sync import SyncOutcome
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Pulled
from tests.unit.app.test_time_limit import Spark, performed

PULLED = Pulled(7, "incremental", "1", "8", "20260101000000000", pages=1)
FAILED = SyncOutcome("shop.b", ("HiveSyncTool: ConnectException",))


def pull(one: TableRun, _: Spark) -> TableResult:
    """Of the tables `a`, `b` and `c` the second is refused."""
    if one.table.name == "b":
        raise RefusedError("a guard said no", fix="look")
    return TableResult(one.table.name, Outcome.PULLED, pull=PULLED)


@pytest.mark.parametrize(("command", "syncs"), [("pull", 3), ("apply", 3), ("undo", 3), ("sweep", 0), ("check", 0)])
def test_catalog_is_synced_once_for_each_table_after_commands_that_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, syncs: int
) -> None:
    asked: list[bool] = []

    performed(tmp_path, monkeypatch, "", pull, command=command, sync=lambda: asked.append(True))

    assert len(asked) == syncs


def test_failed_sync_ends_a_run_with_3_and_leaves_a_refusal_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = performed(tmp_path, monkeypatch, "", pull, command="pull", sync=lambda: FAILED)

    a, b, _ = run.tables
    assert run.exit_code == 3
    assert (a.error and a.error.type, a.pull) == ("CatalogSyncError", PULLED)
    assert (b.outcome, b.error and b.error.message) == (Outcome.REFUSED, "a guard said no")
    assert "was not brought up to date" in b.notes[0]


def test_stop_while_the_catalog_is_synced_takes_nothing_from_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise Terminated

    run, _ = performed(tmp_path, monkeypatch, "", pull, command="pull", sync=stop)

    a, _, c = run.tables
    assert run.exit_code == 143
    assert (a.pull, a.error and a.error.type) == (PULLED, "Interrupted")
    assert a.error is not None
    assert "catalog" in a.error.message
    assert c.pull is None
