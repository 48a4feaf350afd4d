"""What the lake tells of corrections, on the page: before and after, whether it agrees, and nothing as markup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hudi_reconcile.core.tables.values import READ_SEQ
from hudi_reconcile.report.page.html import render_report
from hudi_reconcile.report.page.sample import build_corrected_view
from tests.unit.report.stories import Story


def change(op: str, number: int, before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    key = {"order_id": number}
    images = {
        name: row and {**key, **row, READ_SEQ: n}
        for n, (name, row) in enumerate([("before", before), ("after", after)])
    }
    return {
        "op": op,
        "key": key,
        **images,
        "instant": "20261121145222344",
        "correction": {"run_id": "r", "kind": "deleted"},
    }


def document(*changes: dict[str, Any], disagreements: tuple[str, ...] = ()) -> dict[str, Any]:
    counts = {op: sum(one["op"] == op for one in changes) for op in "iud"}
    return {
        "counts": counts,
        "keys": len(changes),
        "changes": list(changes),
        "held_against": ["20261121T132616Z-3f9a1c"],
        "disagreements": list(disagreements),
    }


UPDATE = change("u", 2, {"amount": "2.20", "status": "NEW"}, {"amount": "99.00", "status": "NEW"})
DELETE = change("d", 3, {"amount": "3.30", "status": None}, None)


def test_update_is_shown_by_what_differs_before_and_after_and_a_delete_by_its_row() -> None:
    view = build_corrected_view(document(UPDATE, DELETE))

    assert view is not None
    shown = [
        (one.op, one.key, [(c.name, c.before and c.before.text, c.after and c.after.text) for c in one.columns])
        for one in view.changes
    ]
    assert shown == [
        ("updated", "order_id=2", [("amount", "2.20", "99.00")]),
        ("deleted", "order_id=3", [("amount", "3.30", None), ("status", "NULL", None)]),
    ]
    assert view.counts == "1 row updated, 1 row deleted"
    assert "agrees" in view.agreement
    assert build_corrected_view(None) is None


def test_page_says_that_lake_and_files_disagree_and_never_that_they_agree_then(stories: Mapping[str, Story]) -> None:
    story = stories["corrected"]

    def page(told: dict[str, Any]) -> str:
        return render_report(story.run, replace(story.kept, corrected=told))

    quiet, loud = (page({"orders": document(UPDATE, disagreements=lines)}) for lines in ((), ("<b>2 keys</b>",)))
    untold = page({"orders": {"untold": "older commits are archived"}})

    assert "It agrees with this run" in quiet
    assert "20261121T132616Z-3f9a1c" in quiet
    assert "disagree" not in quiet
    assert "files disagree.</b> &lt;b&gt;2 keys" in loud
    assert "It agrees" not in loud
    assert "The lake cannot tell it.</b> older commits are archived" in untold
    assert "as the lake tells it" not in page({})
