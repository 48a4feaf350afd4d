"""`make flink`: Flink reads what `changes` prints as a changelog, and ends with the rows of the lake."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from tests.integration.project import in_table
from tests.support.docs import ROOT, blocks
from tests.support.flink import Change, Flink, any_flink

SQL = blocks(ROOT / "docs" / "change-queries.md", "sql")
COLUMNS = ("order_id", "region", "amount", "updated_at")


@pytest.fixture(scope="module")
def flink() -> Iterator[Flink]:
    with any_flink() as found:
        yield found


def fold(changes: list[Change]) -> list[tuple[Any, ...]]:
    """The rows that a changelog ends with. Fails where it takes away a row that is not there."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for kind, row in changes:
        assert kind in {"+I", "+U"} or rows[row] > 0, (kind, row)
        rows[row] += 1 if kind in {"+I", "+U"} else -1
    return sorted(rows.elements(), key=str)


def documented(folder: Path) -> str:
    """The table of the document, over this folder."""
    return SQL[0].replace("/changes/orders", folder.as_uri())


def test_changes_as_debeziums_events_are_a_changelog_that_flink_follows_to_the_rows_of_the_lake(
    flink: Flink,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake, deliveries = tmp_path / "lake" / "orders", tmp_path / "changes"
    deliveries.mkdir()
    monkeypatch.chdir(tmp_path)
    spark.sql(
        "create table orders_for_flink (order_id bigint, region string, amount decimal(10,2), updated_at timestamp)"
        f" using hudi tblproperties (type = 'mor', primaryKey = 'order_id') location '{lake}'"
    )

    def write(*statements: str) -> None:
        for statement in statements:
            spark.sql(statement)

    def deliver(name: str) -> int:
        """How many rows of a changelog the delivery is."""
        capsys.readouterr()
        asked = ("--type", "min-delta", "--consumer", "flink", "--commit-position", "--format", "debezium")
        assert run(["changes", "--path", str(lake), *asked]) == 0
        out = capsys.readouterr().out
        (deliveries / ".next").write_text(out)
        (deliveries / ".next").rename(deliveries / name)
        return sum(2 if json.loads(line)["op"] == "u" else 1 for line in out.splitlines())

    try:
        write(
            "insert into orders_for_flink values (1, 'nörth \"1\"', 1.10, timestamp'2025-01-01 00:00:01.000001'),"
            " (2, null, -0.01, null), (3, 'south', null, timestamp'1969-12-31 23:59:59.999999'), (4, 'gone', 4, null)",
            "update orders_for_flink set amount = 99999999.99 where order_id = 1",
        )
        with flink.follow(documented(deliveries), SQL[1]) as changes:
            seen = list(islice(changes, deliver("1.json")))
            first = in_table(spark, lake, *COLUMNS)
            assert fold(seen) == first
            write(
                "update orders_for_flink set region = 'moved' where order_id in (1, 2)",
                "delete from orders_for_flink where order_id = 4",
                "insert into orders_for_flink values (5, 'late', 5, timestamp'2025-01-02')",
            )
            seen += islice(changes, deliver("2.json"))
        last = in_table(spark, lake, *COLUMNS)
    finally:
        spark.sql("drop table orders_for_flink")

    assert fold(seen) == last != first
    assert Counter(kind for kind, _ in seen) == {"+I": 5, "-U": 2, "+U": 2, "-D": 1}
