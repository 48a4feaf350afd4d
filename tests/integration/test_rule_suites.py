"""The suites of `rules/` on the demo's shop: every rule passes on its good rows, and fails on those planted for it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.demo.shop import DATABASE, Shop, make_drift, open_late_order, open_shop
from tests.integration.project import Project, Ran
from tests.support.canaries import artefacts_below, held_in, spellings
from tests.support.docs import ROOT, blocks
from tests.support.postgres import Database

RULES = ROOT / "rules"
ROWS = 500
# What a row of the shop looks like but for what is planted, new enough for the next pull and old enough to be below its bound.
PLANT = """insert into orders select {id}, customer_id, {status}, {amount}, paid, {note}, {country}, due_on, placed_at,
    {receipt}, signature, weight_kg, {rating}, now() - interval '5 seconds' from orders where order_id = 3"""
GOOD = {
    "status": "status",
    "amount": "amount",
    "note": "note",
    "country": "country",
    "receipt": "gen_random_uuid()",
    "rating": "rating",
}
MAIL = "jane.canary@example.org"


@pytest.fixture
def shop() -> Iterator[Shop]:
    with run_postgres() as server:
        yield open_shop(server, ROWS)


@pytest.fixture
def project(shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    shutil.copytree(RULES, tmp_path / "rules")
    return Project.of(tmp_path, Database(shop.server, DATABASE), capsys)


def planted(number: int, **columns: str) -> str:
    return PLANT.format(id=ROWS + number, **{**GOOD, **columns})


def failed(ran: Ran) -> dict[str, int]:
    """Failed rows of each rule that failed; the others must have passed."""
    assert {rule["status"] for rule in ran.table["rules"]} <= {"pass", "fail"}, ran
    return {rule["id"]: rule["failed_rows"] for rule in ran.table["rules"] if rule["status"] == "fail"}


@pytest.mark.usefixtures("spark")
def test_orders_suite_passes_good_rows_and_names_each_planted_one(project: Project) -> None:
    project.settings["rules"] = "rules/orders.yaml"
    assert project.json("pull").code == 0
    good = project.json("check", "--fail-on", "warn")
    assert (good.code, failed(good), len(good.table["rules"])) == (0, {}, 10), good
    project.database.execute(
        planted(1, receipt="receipt", amount="null"),
        planted(2, country="'XX'", status="'LOST'"),
        planted(3, status="'PAID'", amount="-1"),
        planted(4, rating="9"),
        "update orders set amount = amount + 1 where order_id = 10",
    )
    assert project.json("pull").table["pull"]["rows"] == 4

    bad = project.json("check")

    assert (bad.code, bad.document["outcome"]) == (1, "drift")
    assert failed(bad) == {
        "ord-receipt": 2, "ord-amount-set": 1, "ord-status": 1, "ord-country": 1, "ord-paid": 1, "ord-amount": 1,
        "ord-rating": 1, "ord-total": 1,
    }  # fmt: skip
    keys = {
        rule["id"]: [key["order_id"] for key in rule["keys"]["sample"]] for rule in bad.table["rules"] if rule["keys"]
    }
    assert keys == {
        "ord-receipt": [3, 501], "ord-amount-set": [501], "ord-status": [502], "ord-country": [502], "ord-paid": [503],
        "ord-amount": [503], "ord-rating": [504],
    }  # fmt: skip


@pytest.mark.usefixtures("spark")
def test_drift_suite_fails_until_the_plan_is_applied(project: Project, shop: Shop) -> None:
    project.settings["rules"] = "rules/drift.yaml"
    with open_late_order(shop):
        assert project.json("pull").code == 0
    unswept = project.json("check")
    assert (unswept.code, {rule["status"] for rule in unswept.table["rules"]}) == (3, {"error"})
    make_drift(shop)
    assert project.json("sweep").code == 1

    drifted = project.json("check")

    assert drifted.code == 1
    assert failed(drifted) == {"drift-deleted": 3, "drift-silent": 5, "drift-late": 1}
    assert project.json("apply", "latest", "--yes").code == 0
    corrected = project.json("check", "--fail-on", "warn")
    assert (corrected.code, failed(corrected)) == (0, {})


@pytest.mark.usefixtures("spark")
def test_pii_suite_finds_personal_data_and_tells_none_of_it(project: Project) -> None:
    (block,) = blocks(RULES / "README.md", "yaml")
    (project.settings,) = YAML(typ="safe").load(block)["tables"]
    assert project.json("pull").code == 0
    good = project.json("check", "--fail-on", "warn")
    assert (good.code, failed(good)) == (0, {}), good
    project.database.execute(
        planted(1, note=f"E'call\\n{MAIL}'"),
        planted(2, note="'paid with 4111 1111-11111111'"),
        planted(3, note="'from AT61 1904 3002 3457 3201'", country="'at'"),
        planted(4, note="'call her'"),
        "update orders set note = 'changed by hand' where order_id = 20",
    )
    assert project.json("pull").table["pull"]["rows"] == 4
    assert project.json("sweep").drift == {"updated_without_watermark": 1}

    bad = project.json("check")

    assert bad.code == 1
    assert failed(bad) == {"pii-note": 4, "pii-country": 1, "pii-note-email": 1, "pii-note-card": 2, "pii-note-iban": 1}
    told = {**dict(artefacts_below(project.folder / "reports")), "stdout": bad.out, "stderr": bad.err}
    assert held_in(told, spellings(MAIL) | spellings("changed by hand")) == []
