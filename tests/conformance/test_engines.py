"""Every kind on every engine that runs here: equal after a pull in each mode, and each change of one value found as what it is.

One table an engine: row r holds one value in one column and NULL in all others (two columns of text hold pairs), and there are
as many segments as rows, so that a segment whose digests agree is one cell that agrees, with no row compared one by one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.conformance.case import Case, case_of, unfriendly
from tests.conformance.fields import PRODUCTS
from tests.conformance.product import Product
from tests.conformance.tally import TRIED, Tried

ANSI = "spark.sql.ansi.enabled"


@pytest.mark.timeout(1800)  # nine runs of the command line, on whatever machine
@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_every_cell_is_equal_after_a_pull_and_each_change_of_one_is_found(
    product: Product, spark: SparkSession, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    case = case_of(product, request, tmp_path)
    case.fill()
    with unfriendly(case.database):
        pulled = case.project.json("pull")
        assert (pulled.code, pulled.table["pull"]["rows"]) == (0, len(product.rows())), pulled
        before = [swept(case, spark, mode, ansi) for mode, ansi in ways(product)]
    for (mode, ansi), (unequal, found) in zip(ways(product), before, strict=True):
        assert (unequal, found) == (0, {}), (mode, ansi, blamed(product, found))
    case.change()
    with unfriendly(case.database):
        after = [swept(case, spark, mode, ansi) for mode, ansi in ways(product)]
    expected = {number: sorted(changed) for number, (_, changed) in enumerate(product.rows())}
    for (mode, ansi), (unequal, found) in zip(ways(product), after, strict=True):
        assert wrong(product, found, expected) == [], (mode, ansi)
        assert unequal == len(expected), (mode, ansi)
    for (mode, ansi), (clean, _), (changed, _) in zip(ways(product), before, after, strict=True):
        TRIED.append(Tried(product.name, mode, ansi, len(expected), len(expected) - clean, changed))


def ways(product: Product) -> list[tuple[str, str]]:
    return [(mode, ansi) for mode in product.modes for ansi in ("true", "false")]


def swept(case: Case, spark: SparkSession, mode: str, ansi: str) -> tuple[int, dict[int, list[str]]]:
    """How many segments were unequal, and the columns of each finding by its key. Nothing may be left unverified."""
    case.project.settings["sweep"] = {"mode": mode, "segments": len(case.product.rows())}
    spark.conf.set(ANSI, ansi)
    try:
        ran = case.project.json("sweep")
        assert spark.conf.get(ANSI) == ansi
    finally:
        spark.conf.set(ANSI, "false")
    assert ran.code in (0, 1), ran
    table = ran.table
    assert table["unverified"] == [], table["unverified"]
    assert table["segments"]["compared"] == len(case.product.rows())
    findings = case.project.findings() if ran.code else []
    assert {item["kind"] for item in findings} <= {"updated_without_watermark"}
    return table["segments"]["unequal"], {item["key"]["id"]: sorted(item["columns"]) for item in findings}


def wrong(product: Product, found: dict[int, list[str]], expected: dict[int, list[str]]) -> list[Any]:
    rows = product.rows()
    return [(rows[n], found.get(n)) for n in sorted(expected.keys() | found.keys()) if found.get(n) != expected.get(n)]


def blamed(product: Product, found: dict[int, list[str]]) -> Sequence[Any]:
    rows = product.rows()
    return [(rows[number][0], columns) for number, columns in found.items()]


def test_java_runs_in_utc_whatever_the_zone_of_the_machine(spark: SparkSession) -> None:
    assert os.environ["TZ"] == "Europe/Berlin"
    jvm: Any = spark._jvm
    assert jvm.java.util.TimeZone.getDefault().getID() == "UTC"


def test_no_engine_is_missing() -> None:
    if os.environ.get("REQUIRE_MARIADB") or os.environ.get("CI"):
        assert {tried.engine for tried in TRIED} == {product.name for product in PRODUCTS}
