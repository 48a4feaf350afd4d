"""The history lists every run, newest first, the damaged ones too."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from hudi_reconcile.core.rules.verdict import RuleResult
from hudi_reconcile.evidence.history import UNREADABLE, list_history
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.report.page.trend import build_history_line
from hudi_reconcile.report.text import describe_past_tables

RunWriter = Callable[..., str]


def test_history_lists_runs_newest_first_with_their_outcomes(store: Store, write_run: RunWriter) -> None:
    ids = [write_run("pull"), write_run("sweep")]

    runs = list(list_history(store))

    assert [run.run_id for run in runs] == list(reversed(ids))
    assert [(run.command, run.outcome) for run in runs] == [("sweep", "drift"), ("pull", "drift")]
    assert runs[0].tables[0].findings["deleted"] == 3


def test_history_of_a_table_leaves_out_runs_that_did_not_touch_it(store: Store, write_run: RunWriter) -> None:
    write_run(table="orders")
    items = write_run(table="items")

    assert [run.run_id for run in list_history(store, tables=["items"])] == [items]


def test_history_names_a_run_that_cannot_be_read(store: Store, write_run: RunWriter) -> None:
    damaged, newer = write_run(), write_run()
    (store.reports / damaged / "result.json").write_text('{"version": 1, "command": "sweep"}')

    runs = list(list_history(store, tables=["orders"]))

    assert [(run.run_id, run.outcome) for run in runs] == [(newer, "drift"), (damaged, UNREADABLE)]
    assert "changed since" in runs[1].why
    (store.reports / "audit.jsonl").unlink()
    assert "result.json is damaged: run_id: Field required" in list(list_history(store))[1].why


def test_history_says_how_much_of_a_table_was_compared(store: Store, write_run: RunWriter) -> None:
    run_id = write_run()
    path = store.reports / run_id / "result.json"
    document = json.loads(path.read_text())
    part = {"segments": 9, "compared": 4, "never_compared": 0, "oldest_utc": "2026-03-01T10:00:00Z"}
    document["tables"][0]["coverage"] = part
    path.write_text(json.dumps(document))
    (store.reports / "audit.jsonl").unlink()

    (run,) = list_history(store)

    assert (run.tables[0].whole, run.tables[0].coverage) == (False, part)
    assert describe_past_tables(run.document["tables"]) == (
        "orders drift (deleted 3, 4 of 9 segments compared, oldest comparison 2026-03-01T10:00:00Z)"
    )


def test_line_of_the_history_says_of_a_table_what_the_run_itself_says_in_its_trend(
    store: Store, write_run: RunWriter
) -> None:
    run_id = write_run()
    path = store.reports / run_id / "result.json"
    document = json.loads(path.read_text())
    document["tables"][0] |= {"plan_id": "p", "rules": [asdict(RuleResult("one", "error", "fail", 3))]}
    document["tables"][0]["corrections"]["applied_before"] = 2
    path.write_text(json.dumps(document))
    (store.reports / "audit.jsonl").unlink()

    (run,) = list_history(store)

    (told,) = run.document["tables"]
    assert build_history_line(document)["tables"] == [told]
    assert (told["applied_before"], told["plan_id"], told["open_rules"]) == (2, "p", 1)


def test_history_of_no_runs_is_empty(store: Store) -> None:
    assert list(list_history(store)) == []
