"""`changes` through the command line: pulls, drift, its correction, and what the lake says of it all; nothing masked is shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

import hudi_reconcile
from hudi_reconcile.core.errors import UsageError
from tests.integration.changes.story import HIDDEN, ROWS, Story, changes, copied, in_step_with, told_story
from tests.support.postgres import Database


@pytest.mark.usefixtures("spark")
def test_changes_tell_pulls_from_corrections_and_each_correction_by_its_run_plan_and_finding(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = told_story(pg, tmp_path, capsys, monkeypatch)
    project, first, second, third = story.project, story.first, story.second, story.third

    found = changes(project, "--type", "full-delta")

    assert [(one["instant"], one["op"], one["key"]["order_id"]) for one in found] == [
        *[(first, "i", number) for number in range(1, ROWS + 1)],
        (second, "u", 1),
        (second, "i", 41),
        (third, "u", 2),
        (third, "d", 3),
        (third, "i", 42),
    ]
    pulled, corrected = found[:-3], found[-3:]
    assert {str(one["correction"]) for one in pulled} == {"None"}
    plan = story.applied["tables"][0]["plan_id"] or corrected[0]["correction"]["plan_id"]
    assert [one["correction"] for one in corrected] == [
        {"run_id": story.run_id, "plan_id": plan, "kind": kind}
        for kind in ("updated_without_watermark", "deleted", "late_arriving")
    ]
    paid = pulled[ROWS]
    assert {
        name: paid["after"][name] for name in ("order_id", "status", "amount", "paid", "placed_on", "updated_at")
    } == {
        "order_id": 1,
        "status": "PAID",
        "amount": "1.10",
        "paid": True,
        "placed_on": "2025-01-02",
        "updated_at": "2025-01-02T00:00:00.500000Z",
    }
    assert not any(name.startswith("_hoodie") for name in paid["after"])
    assert "secret" not in paid["after"]
    assert [one["masked"] for one in found] == [["note", "secret"]] * len(found)
    events = changes(project, "--type", "full-delta", "--format", "debezium")
    assert [one["source"]["masked"] for one in events] == [["note", "secret"]] * len(found)
    assert len(paid["after"]["note"]) == 64
    assert paid["before"]["note"] == paid["after"]["note"]
    assert (corrected[1]["after"], corrected[2]["before"]) == (None, None)

    assert project.run("changes", "-t", "orders", "--type", "upsert", "--from", third, "--to", first).code == 2
    assert_frame_is_typed(story)
    page = tmp_path / "page.html"
    assert project.run("report", story.run_id, "--changes", "-o", str(page)).code == 0
    assert_corrections_are_shown(page.read_text())
    in_step_with(project, monkeypatch)()
    assert copied(project) == copied(project, "orders")  # which is what the lake is equal to, since apply


def assert_corrections_are_shown(page: str) -> None:
    (told,) = re.findall(r"as the lake tells it</h3>(.*?)</ol>", page, re.DOTALL)
    assert "It agrees with this run" in told
    cells = re.findall(r'<th scope="row">amount</th>(.*?)</tr>', re.sub("</?mark>", "", told))
    assert [re.findall(r"<code>(.*?)</code>", one) for one in cells] == [["2.20", "99.00"], ["3.30"], ["46.20"]]
    assert not any(word in page for word in HIDDEN)


def assert_frame_is_typed(story: Story) -> None:
    iso = datetime.strptime(story.first + "+0000", "%Y%m%d%H%M%S%f%z").astimezone(UTC).isoformat()
    config = story.project.folder / "reconcile.yaml"
    frame = hudi_reconcile.changes("orders", "min-delta", iso, story.third, config=config, corrections_only=True)
    found = {one["key"]["order_id"]: (one["op"], one["after"] and one["after"]["amount"]) for one in frame.collect()}
    assert found == {2: ("u", Decimal("99.00")), 3: ("d", None), 42: ("i", Decimal("46.20"))}
    with pytest.raises(UsageError, match="all-of-it"):
        hudi_reconcile.changes("orders", "all-of-it", config=config)
