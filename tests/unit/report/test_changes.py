"""Changes as text and NDJSON."""

from __future__ import annotations

import json
from typing import Any

from hudi_reconcile.report.text import format_changes


def change(op: str, before: Any, after: Any, correction: Any = None) -> str:
    found = {"op": op, "key": {"id": 7}, "before": before, "after": after, "instant": "20261121145100499"}
    return json.dumps({**found, "correction": correction})


def table(*lines: str) -> list[str]:
    return list(format_changes(lines, "table", {}))


def test_update_is_told_by_its_differing_columns_and_others_by_their_row() -> None:
    row, later = {"id": 7, "v": "a", "n": 1}, {"id": 7, "v": "b ", "n": 1}

    head, insert, update, delete = table(change("i", None, row), change("u", row, later), change("d", later, None))

    assert head.split() == ["instant", "op", "key", "correction", "change"]
    assert insert.endswith("v=a, n=1")
    assert update.endswith("v: a -> b␣")
    assert delete.endswith("v=b␣, n=1")


def test_update_without_a_visible_difference_says_so_and_does_not_say_that_nothing_changed() -> None:
    (_, line) = table(change("u", {"id": 7}, {"id": 7}))

    assert line.endswith("no shown column differs")


def test_correction_is_told_by_kind_and_run_and_a_kind_that_is_not_known_by_a_question_mark() -> None:
    known, unknown = ({"run_id": "r", "plan_id": "p", "kind": kind} for kind in ("deleted", None))

    _, first, second = table(change("d", {"id": 7}, None, known), change("d", {"id": 7}, None, unknown))

    assert ("deleted (r)" in first, "? (r)" in second) == (True, True)


def test_control_characters_of_a_value_reach_no_terminal() -> None:
    line = change("i", None, {"id": 7, "v": "\x1b[2J\u202e\x9b"})

    assert not set("\x1b\u202e\x9b") & set("".join(table(line)))
    assert not set("\x1b\u202e\x9b") & set("".join(format_changes([line], "ndjson", {})))


def test_nothing_is_nothing() -> None:
    assert (table(), list(format_changes([], "ndjson", {}))) == ([], [])


def test_json_is_one_document_with_its_head_and_every_change_even_for_none() -> None:
    lines = [change("i", None, {"id": 7, "v": number}) for number in range(3)]

    for some in (lines, lines[:1], []):
        document = json.loads("\n".join(format_changes(some, "json", {"version": 1, "error": None})))
        assert document == {"version": 1, "error": None, "changes": [json.loads(line) for line in some]}
