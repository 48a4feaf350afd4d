from __future__ import annotations

import json

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, is_whole_comparison, run_document
from hudi_reconcile.core.result_parts import (
    Corrections,
    Cost,
    CoverageSummary,
    Failure,
    Guard,
    Pulled,
    SideState,
    Unverified,
)

EMPTY = TableResult("orders", Outcome.CLEAN)


def run(*tables: TableResult) -> RunResult:
    return RunResult("r1", "sweep", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z", tables, {"spark": "3.5"})


def test_document_holds_the_contracts_keys_even_where_nothing_was_found() -> None:
    found = run_document(run(EMPTY))
    (table,) = found["tables"]

    assert list(found)[:8] == [
        "version", "run_id", "command", "outcome", "exit_code", "started_utc", "ended_utc", "tables",
    ]  # fmt: skip
    assert {
        "name", "outcome", "source", "lake", "checkpoint", "findings", "not_drift", "unverified", "error", "guards",
        "corrections", "rules", "cost",
    } <= table.keys()  # fmt: skip
    assert table["findings"] == {
        "late_arriving": 0, "updated_without_watermark": 0, "deleted": 0, "regressed": 0, "duplicate_key": 0,
    }  # fmt: skip
    assert table["not_drift"] == {"pending": 0, "settled": 0, "moving": 0, "odd_key": 0}
    assert table["corrections"] == {
        "upserts": 0, "deletes": 0, "applied": 0, "superseded": 0, "moved": 0, "failed": 0, "instants": [], "savepoint": None,
            "held": 0, "applied_before": 0, "steps": [],
    }  # fmt: skip
    assert {
        "seconds", "session_seconds", "source_statements", "source_rows_fetched", "lake_files_read",
    } <= table["cost"].keys()  # fmt: skip
    assert "pull" not in table


def test_document_spells_what_was_found_as_the_contract_does() -> None:
    table = TableResult(
        "orders",
        Outcome.UNVERIFIED,
        source=SideState(5, "1:1:"),
        lake=SideState(4, "20260101000000000"),
        checkpoint="2026-01-01",
        findings={"deleted": 3},
        not_drift={"pending": 2},
        unverified=(Unverified("column", "x", "why", "fix"),),
        error=Failure("SourceError", "message", "fix"),
        guards=(Guard("max_deletes", 1000, 3, ok=True),),
        corrections=Corrections(upserts=3, deletes=3, applied=6, instants=("20260101000000001",)),
        pull=Pulled(5, "full", None, "2026-01-01", "20260101000000000"),
        cost=Cost(seconds=1.5, phases_seconds={"digest": 1.0}),
    )

    (found,) = json.loads(json.dumps(run_document(run(table))))["tables"]

    assert found["source"] == {"rows": 5, "snapshot": "1:1:"}
    assert found["lake"] == {"rows": 4, "instant": "20260101000000000"}
    assert (found["findings"]["deleted"], found["not_drift"]["pending"]) == (3, 2)
    assert found["unverified"] == [{"what": "column", "name": "x", "why": "why", "fix": "fix"}]
    assert found["error"] == {"type": "SourceError", "message": "message", "fix": "fix"}
    assert found["guards"][0].items() >= {"name": "max_deletes", "limit": 1000, "found": 3, "ok": True}.items()
    assert found["corrections"]["instants"] == ["20260101000000001"]
    expected = {"rows": 5, "mode": "full", "checkpoint_before": None, "checkpoint_after": "2026-01-01"}
    assert found["pull"].items() >= expected.items()
    assert found["pull"]["instant"] == "20260101000000000"


def test_run_ends_as_its_gravest_table() -> None:
    found = run_document(run(EMPTY, TableResult("items", Outcome.REFUSED), TableResult("carts", Outcome.DRIFT)))

    assert (found["outcome"], found["exit_code"]) == ("refused", 5)


@pytest.mark.parametrize(
    ("table", "whole"),
    [
        ({"whole": True}, True),
        ({"whole": False, "segments": {"compared": 3}, "source": {}}, False),
        ({"segments": {"compared": 3}, "source": {"rows": 1}}, True),  # from before partial sweeps
        ({"segments": {"verified": 3}, "source": {"rows": 1}}, False),
        ({"segments": {}, "source": None}, False),
    ],
)
def test_only_a_comparison_of_every_row_proves_a_table(table: dict[str, object], *, whole: bool) -> None:
    assert is_whole_comparison(table) is whole


def test_result_says_whether_the_whole_table_was_compared_and_how_much_of_it() -> None:
    covered = CoverageSummary(segments=9, compared=4, never_compared=5, oldest_utc=None, partitions=("a=b",))
    table = TableResult("orders", Outcome.UNVERIFIED, coverage=covered)

    document = run_document(RunResult("r", "sweep", "s", "e", (table,)))["tables"][0]

    assert document["whole"] is False
    assert document["coverage"] == {
        "segments": 9, "compared": 4, "never_compared": 5, "oldest_utc": None, "budget": None, "budget_seconds": None,
        "partitions": ["a=b"], "lake_rows_left_out": None, "source_rows_left_out": None,
        "proven": 0, "proven_rows": 0, "proven_since_utc": None,
    }  # fmt: skip
