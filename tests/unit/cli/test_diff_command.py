"""`diff` of two runs: what came, went and stayed, in each format; nothing is opened but the runs."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.cli.main import run
from tests.unit.cli.test_evidence_commands import STORED, reports, write_run
from tests.unit.report.stories import Story, all_stories, finding, in_lake

__all__ = ["reports"]

NEW = finding("deleted", {"order_id": 5}, [], None, in_lake())


def swept(reports: Path, at: int, stored: list[Any], *, whole: bool = True, table: str = "orders", **more: Any) -> str:
    story = all_stories()["drift"]
    document = copy.deepcopy(dict(story.run))
    document["tables"] = [one for one in document["tables"] if one["name"] == "orders"]
    (mine,) = document["tables"]
    mine |= {"name": table, "whole": whole, **more}
    mine["findings"] = {kind: sum(one["kind"] == kind for one in stored) for kind in mine["findings"]}
    mine["not_drift"] = {kind: sum(one["kind"] == kind for one in stored) for kind in mine["not_drift"]}
    return write_run(reports, Story(document, {}, {}), at=at, stored=stored)


@pytest.fixture
def pair(reports: Path) -> tuple[str, str]:
    """The later run lost the first finding and has a new one."""
    return swept(reports, 0, STORED), swept(reports, 1, [*STORED[1:], NEW])


def test_diff_counts_by_table_and_kind_as_one_document(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", pair[0], "latest", "--format", "json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert {name: document[name] for name in ("version", "command", "outcome", "exit_code", "error")} == {
        "version": 1, "command": "diff", "outcome": "clean", "exit_code": 0, "error": None,
    }  # fmt: skip
    assert (document["runs"], document["notes"]) == ([*pair], [])
    (table,) = document["tables"]
    assert (table["name"], table["notes"]) == ("orders", [])
    assert (table["gained"], table["lost"]) == ({"deleted": 1}, {STORED[0]["kind"]: 1})
    assert sum(table["kept"].values()) == 8


def test_diff_as_ndjson_lists_each_finding_with_what_became_of_it(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", *pair, "--format", "ndjson"]) == 0

    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["change"] for one in listed] == ["kept"] * 8 + ["gained", "lost"]
    assert listed[-2:] == [{"change": "gained", **NEW}, {"change": "lost", **STORED[0]}]


def test_diff_as_text_shows_what_came_and_went(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", *pair, "--kind", "deleted", "--kind", STORED[0]["kind"]]) == 0

    out, err = capsys.readouterr()
    assert out.startswith("orders: 1 gained, 1 lost, ")
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [
        ["+", "deleted", "order_id=5"],
        ["-", STORED[0]["kind"], f"order_id={STORED[0]['key']['order_id']}"],
    ]
    assert err == ""


def test_diff_says_where_a_run_saw_only_a_part(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = swept(reports, 0, STORED, whole=False), swept(reports, 1, [], whole=False)

    assert run(["diff", first, second]) == 0

    out, err = capsys.readouterr()
    assert out.startswith("orders: 0 gained, 9 lost, 0 kept")
    assert f"{first} did not compare all of orders: what was gained may have been there before" in err
    assert f"{second} did not compare all of orders: what was lost may be there still" in err


def test_diff_says_where_a_column_was_not_compared_and_where_settings_changed(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = {"what": "column", "name": "note", "why": "odd type", "fix": "x"}
    first = swept(reports, 0, STORED, provenance={"lake_path": "/lake"})
    second = swept(reports, 1, [], unverified=[odd])
    third = swept(reports, 2, [], compare={"exclude": ["note"], "rename": {}, "tolerance": {}})
    fourth = swept(reports, 3, [], provenance={"lake_path": "/elsewhere"})

    notes = []
    for later in (second, third, fourth):
        assert run(["diff", first, later]) == 0
        notes.append(capsys.readouterr().err)

    assert f"{second} did not compare all of orders: what was lost may be there still" in notes[0]
    assert all("by other settings, or with another source or lake" in note for note in notes[1:])
    assert "other settings" not in notes[0]


def test_diff_of_runs_without_a_common_table_or_with_a_damaged_one_is_no_success(
    pair: tuple[str, str], reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = swept(reports, 2, [], table="items")
    assert run(["diff", pair[0], other]) == 2
    assert "have no table in common" in capsys.readouterr().err
    assert run(["diff", *pair, "-t", "items"]) == 2
    assert "use one of orders" in capsys.readouterr().err
    (reports / pair[0] / "orders" / "findings" / "part-00000.parquet").unlink()
    assert run(["diff", *pair, "--format", "json"]) == 5
    assert "not what the audit log has of it" in capsys.readouterr().err
    (reports / "audit.jsonl").unlink()

    assert run(["diff", *pair, "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["outcome"] == "unverified"
