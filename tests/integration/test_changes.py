"""`changes` through the command line: pulls, drift, its correction, and what the lake says of it all; nothing masked is shown."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import hudi_reconcile
from hudi_reconcile.core.errors import UsageError
from tests.integration.project import Project
from tests.support.docs import ROOT, commands
from tests.support.postgres import Database

TABLE = """create table orders (order_id bigint primary key, status varchar(10), amount numeric(12,2), note text, secret text,
                                paid boolean, placed_on date, updated_at timestamptz)"""
HIDDEN = ("private", "classified")


ROWS = 40


def insert(numbers: str, status: str, at: str) -> str:
    return (
        f"insert into orders select i, '{status}', i * 1.1, 'private' || i, 'classified' || i, true, date '2025-01-01' + i,"
        f" timestamptz '{at}+00' from {numbers} i"
    )


def changes(project: Project, *arguments: str) -> list[dict[str, Any]]:
    ran = project.run("changes", "-t", "orders", *arguments, "--format", "ndjson")
    assert ran.code == 0, ran
    assert not any(word in ran.out + ran.err for word in HIDDEN)
    return [json.loads(line) for line in ran.out.splitlines()]


@pytest.mark.usefixtures("spark")
def test_changes_tell_pulls_from_corrections_and_each_correction_by_its_run_plan_and_finding(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"] = {
        "path": "lake/orders",
        "type": "merge_on_read",
        "cdc": True,
        "cdc_logging": "op_key_only",
    }
    project.settings["mask"] = {"note": "hmac", "secret": "redact"}
    pg.execute(TABLE, insert(f"generate_series(1, {ROWS})", "NEW", "2025-01-01 00:01:00"))
    first = project.json("pull").table["pull"]["instant"]
    pg.execute(
        "update orders set status = 'PAID', updated_at = timestamptz '2025-01-02 00:00:00.5+00' where order_id = 1",
        insert("unnest(array[41])", "NEW", "2025-01-02 00:00:01"),
    )
    second = project.json("pull").table["pull"]["instant"]
    pg.execute(
        "update orders set amount = 99 where order_id = 2",
        "delete from orders where order_id = 3",
        insert("unnest(array[42])", "LATE", "2025-01-01 00:00:30"),
    )
    assert project.json("sweep").code == 1
    applied = project.json("apply", "latest", "--yes")
    (third,) = applied.table["corrections"]["instants"]

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
    plan = applied.table["plan_id"] or corrected[0]["correction"]["plan_id"]
    run_id = applied.document["run_id"]
    assert [one["correction"] for one in corrected] == [
        {"run_id": run_id, "plan_id": plan, "kind": kind}
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
    assert len(paid["after"]["note"]) == 64
    assert paid["before"]["note"] == paid["after"]["note"]
    assert (corrected[1]["after"], corrected[2]["before"]) == (None, None)

    assert project.run("changes", "-t", "orders", "--type", "upsert", "--from", "latest").out == ""
    assert project.run("changes", "-t", "orders", "--type", "upsert", "--from", third, "--to", first).code == 2
    assert_frame_is_typed(project, first, third)
    printed = documented(project)
    assert "amount: 2.20 -> 99.00" in printed["--type full-delta"]
    (late,) = printed["--type append-only --corrections-only"].splitlines()[1:]
    assert "order_id=42" in late
    assert "late_arriving" in late

    assert_corrections_are_shown((tmp_path / "corrected.html").read_text())

    bring = in_step_with(project, monkeypatch)
    bring()
    assert copied(project) == copied(project, "orders")  # which is what the lake is equal to, since apply
    assert project.json("undo", run_id, "--yes").code == 0
    undone = changes(project, "--type", "full-delta", "--from", third, "--corrections-only")
    assert {(one["op"], one["key"]["order_id"], one["correction"]["kind"]) for one in undone} == {
        ("u", 2, "undo"),
        ("i", 3, "undo"),
        ("d", 42, "undo"),
    }
    bring()
    rows = {row[0]: row for row in copied(project)}
    assert set(rows) == set(range(1, ROWS + 2))
    assert rows[2][2] == Decimal("2.20")


def assert_corrections_are_shown(page: str) -> None:
    (told,) = re.findall(r"as the lake tells it</h3>(.*?)</ol>", page, re.DOTALL)
    assert "It agrees with this run" in told
    cells = re.findall(r'<th scope="row">amount</th>(.*?)</tr>', re.sub("</?mark>", "", told))
    assert [re.findall(r"<code>(.*?)</code>", one) for one in cells] == [["2.20", "99.00"], ["3.30"], ["46.20"]]
    assert not any(word in page for word in HIDDEN)


def documented(project: Project) -> dict[str, str]:
    """What each command of docs/change-queries.md prints, by its arguments after the table's."""
    printed = {}
    for line in commands(ROOT / "docs" / "change-queries.md"):
        ran = project.run(*shlex.split(line)[1:])
        assert ran.code == 0, (line, ran)
        assert not any(word in ran.out + ran.err for word in HIDDEN)
        printed[line.partition("-t orders ")[2].strip()] = ran.out
    return printed


def assert_frame_is_typed(project: Project, first: str, third: str) -> None:
    iso = datetime.strptime(first + "+0000", "%Y%m%d%H%M%S%f%z").astimezone(UTC).isoformat()
    frame = hudi_reconcile.changes("orders", "min-delta", iso, third, config=project.folder / "reconcile.yaml")
    found = {one["key"]["order_id"]: one for one in frame.collect()}
    assert {key: (one["op"], one["after"] and one["after"]["amount"]) for key, one in found.items()} == {
        1: ("u", Decimal("1.10")),
        2: ("u", Decimal("99.00")),
        3: ("d", None),
        41: ("i", Decimal("45.10")),
        42: ("i", Decimal("46.20")),
    }
    assert {key for key, one in found.items() if one["correction"]} == {2, 3, 42}
    with pytest.raises(UsageError, match="all-of-it"):
        hudi_reconcile.changes("orders", "all-of-it", config=project.folder / "reconcile.yaml")


def in_step_with(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What brings a copy of the lake in PostgreSQL in step with it."""
    server = project.database.server
    monkeypatch.setenv("PGPASSWORD", server.password)
    project.database.execute("create table copy (like orders including all)")
    url = f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{project.database.name}"
    call = ("changes", "-t", "orders", "--type", "min-delta", "--consumer", "copy", "--commit-position")

    def bring(*to: str) -> None:
        ran = project.run(*call, "--into", url, "--into-table", "copy", *to)
        assert (ran.code, ran.out) == (0, ""), ran
        assert not any(word in ran.err for word in HIDDEN)

    return bring


def copied(project: Project, table: str = "copy") -> list[tuple[object, ...]]:
    return sorted(project.database.query(f"select * from {table}"))
