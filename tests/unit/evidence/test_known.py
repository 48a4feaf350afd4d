"""What earlier runs saw of a table's columns is found in their results."""

from __future__ import annotations

from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Pulled, SchemaChange
from hudi_reconcile.core.tables.schema_drift import KnownColumns
from hudi_reconcile.evidence.history import find_known_columns
from hudi_reconcile.evidence.store import Store
from tests.unit.evidence.conftest import NOON_MICROS, SECOND

CHANGE = SchemaChange(
    "added", "source", "note", "text", None, "2026-11-21T12:00:00Z", compared=False, fix="leave it out"
)  # fmt: skip
PULLED = Pulled(1, "full", None, None, None)


def write(store: Store, number: int, *, name: str = "orders", **said: Any) -> str:
    done = TableResult(name, Outcome.CLEAN, **said)
    with store.begin(NOON_MICROS + number * SECOND) as folder:
        folder.write_result(run_document(RunResult(folder.run_id, "sweep", "s", "e", (done,))))
        folder.finish()
    return folder.run_id


def test_source_types_are_those_of_the_last_pull_and_lake_types_those_of_the_last_comparison(store: Store) -> None:
    write(store, 0, columns={"source": {"a": "old"}}, pull=PULLED)
    write(store, 1, columns={"source": {"a": "int"}}, pull=PULLED)
    write(store, 2, columns={"source": {"a": "x"}, "lake": {"a": "stale"}})
    write(store, 3, columns={"source": {"a": "bigint"}, "lake": {"a": "int"}}, schema=(CHANGE,))
    write(store, 4, name="items", columns={"source": {"a": "other"}}, pull=PULLED)
    write(store, 5)

    assert find_known_columns(store, "orders") == KnownColumns({"a": "int"}, {"a": "int"}, (CHANGE,))


def test_without_a_pull_the_oldest_comparison_tells_the_source_types(store: Store) -> None:
    write(store, 0, columns={"source": {"a": "int"}, "lake": {"a": "int"}})
    write(store, 1, columns={"source": {"a": "bigint"}, "lake": {"a": "bigint"}})

    assert find_known_columns(store, "orders") == KnownColumns({"a": "int"}, {"a": "bigint"}, ())


def test_no_runs_or_unreadable_ones_know_nothing(store: Store) -> None:
    assert find_known_columns(store, "orders") == KnownColumns()
    run_id = write(store, 0, columns={"source": {"a": "int"}})
    (store.reports / run_id / "result.json").write_text("{")

    assert find_known_columns(store, "orders") == KnownColumns()
