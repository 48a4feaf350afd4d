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
from tests.conformance.servers import EngineVersion, engine_versions, served, version_of
from tests.conformance.tally import TRIED, Tried
from tests.support.real_parts import ZONE

ANSI = "spark.sql.ansi.enabled"


@pytest.mark.timeout(1800)  # nine runs of the command line, on whatever machine
@pytest.mark.parametrize("one", engine_versions(), ids=lambda one: one.name)
def test_every_cell_is_equal_after_a_pull_and_each_change_of_one_is_found(
    one: EngineVersion, spark: SparkSession, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with served(one) as server:
        case = case_of(one.product, request, tmp_path, server)
        try_every_cell(one, case, spark)


def try_every_cell(one: EngineVersion, case: Case, spark: SparkSession) -> None:
    product, ways = one.product, one.ways
    case.fill()
    with unfriendly(case.database):
        pulled = case.project.json("pull")
        assert (pulled.code, pulled.table["pull"]["rows"]) == (0, len(product.rows())), pulled
        before = [swept(case, spark, mode, ansi) for mode, ansi in ways]
    for (mode, ansi), (unequal, found) in zip(ways, before, strict=True):
        assert (unequal, found) == (0, {}), (mode, ansi, blamed(product, found))
    case.change()
    with unfriendly(case.database):
        after = [swept(case, spark, mode, ansi) for mode, ansi in ways]
    version = version_of(case.database)
    expected = {number: sorted(changed) for number, (_, changed) in enumerate(product.rows())}
    for (mode, ansi), (unequal, found) in zip(ways, after, strict=True):
        assert wrong(product, found, expected) == [], (mode, ansi)
        assert unequal == len(expected), (mode, ansi)
    named = named_as_not_compared(case)
    assert set(named) == set(product.nameless)
    for (mode, ansi), (clean, _), (changed, _) in zip(ways, before, after, strict=True):
        TRIED.append(
            Tried(one.name, mode, ansi, len(expected), len(expected) - clean, changed, product, version, named)
        )


def named_as_not_compared(case: Case) -> dict[str, str]:
    """What a sweep says of a table with columns of types whose text means nothing by itself, by type."""
    types = case.product.nameless
    if not types:
        return {}
    added = ", ".join(f"add column n{place} {declared}" for place, declared in enumerate(types))
    case.database.execute(f"alter table {case.table} {added}")
    case.project.settings["sweep"] = {"mode": "stream"}
    ran = case.project.json("sweep")
    assert ran.code == 3, ran
    return {types[int(item["name"][1:])]: item["why"] for item in ran.table["unverified"]}


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
    jvm: Any = spark._jvm
    assert (os.environ["TZ"], jvm.java.lang.System.getenv("TZ")) == (ZONE, ZONE)
    assert jvm.java.util.TimeZone.getDefault().getID() == "UTC"


def test_no_engine_is_missing() -> None:
    if os.environ.get("REQUIRE_MARIADB") or os.environ.get("CI"):
        assert {tried.engine for tried in TRIED} >= {product.name for product in PRODUCTS}
