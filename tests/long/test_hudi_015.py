"""Tables that Hudi 0.15 itself wrote: the published example, and corrections that 0.15 reads and goes on from."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.changes.test_published_example import (
    BATCHES,
    CDC,
    LOGGING,
    Fruit,
    assert_cdc_as_published,
    assert_full_delta_as_published,
    configured,
    rows,
)
from tests.integration.foreign import version_of
from tests.integration.project import Project, in_source
from tests.integration.test_foreign_tables import repaired
from tests.support import hudi_015
from tests.support.postgres import Database

SCHEMA = "name string, fruit string, part string, ts int"
# As the article sets them.
OPTIONS = {
    "hoodie.table.name": "fruit",
    "hoodie.datasource.write.recordkey.field": "name",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
}
MODES: tuple[dict[str, str], ...] = (
    {},
    *({CDC: "true", LOGGING: mode} for mode in ("DATA_BEFORE_AFTER", "DATA_BEFORE", "OP_KEY_ONLY")),
)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.get(LOGGING, "no log"))
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_table_that_hudi_0_15_wrote_gives_what_was_published_of_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, mode: dict[str, str]
) -> None:
    options = {**OPTIONS, "hoodie.datasource.write.table.type": kind, **mode}
    batches = list(zip(("upsert", "upsert", "delete"), BATCHES, strict=True))
    hudi_015.write(tmp_path / "fruit", SCHEMA, batches, options)
    assert "hoodie.table.version=6" in (tmp_path / "fruit" / ".hoodie" / "hoodie.properties").read_text()
    table = Fruit(tmp_path, capsys, configured(spark, tmp_path))
    first, _, last = table.completed

    inserted = {("sarah", "orange"): 1, ("john", "pineapple"): 1, ("jack", "apple"): 1}
    assert rows(table.changes("--type", "upsert")) == {
        ("upsert", "sarah", "orange"): 1,
        ("upsert", "jack", "banana"): 1,
    }
    assert rows(table.changes("--type", "upsert", "--to", first)) == {("upsert", *row): 1 for row in inserted}
    assert rows(table.changes("--type", "upsert", "--from", first)) == {("upsert", "jack", "banana"): 1}
    assert rows(table.changes("--type", "append-only")) == {("i", *row): 1 for row in inserted}
    assert rows(table.changes("--type", "min-delta")) == {("i", "sarah", "orange"): 1, ("i", "jack", "banana"): 1}
    net = table.changes("--type", "min-delta", "--from", first, "--to", last)
    assert rows(net) == {("u", "jack", "banana"): 1, ("d", "john", "pineapple"): 1}
    if mode and kind == "COPY_ON_WRITE":
        assert_cdc_as_published(spark, table)
    else:  # no oracle: the CDC query of Hudi 1.2.0 failed on 0.15's merge_on_read with "Not an Avro data file"
        assert_full_delta_as_published(table)


ORDERS = "order_id int, note string, region string, updated_at int"
ORDERED = {
    "hoodie.table.name": "orders",
    "hoodie.datasource.write.recordkey.field": "order_id",
    "hoodie.datasource.write.partitionpath.field": "region",
    "hoodie.datasource.write.precombine.field": "updated_at",
}


def order(number: int, note: str, at: int) -> tuple[int, str, str, int]:
    return (number, note, ("north", "south")[number % 2], at)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_table_of_hudi_0_15_is_corrected_and_hudi_0_15_reads_the_corrections_and_writes_on(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"] |= {"type": kind.lower(), "adopt": True}
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%"}
    pg.execute(
        "create table orders (order_id int primary key, note text, region text, updated_at int)",
        "insert into orders select i, 'n' || i, case when i % 2 = 0 then 'north' else 'south' end, 100 + i"
        " from generate_series(1, 20) i",
    )
    options = {**ORDERED, "hoodie.datasource.write.table.type": kind}
    made = [order(number, f"n{number}", 100 + number) for number in range(1, 21)]
    hudi_015.write(project.lake, ORDERS, [("upsert", made), ("upsert", made[:3])], options)
    assert project.json("sweep").code == 0
    pg.execute(
        "update orders set note = 'silent' where order_id = 1",
        "delete from orders where order_id in (2, 15)",
        "insert into orders values (30, 'late', 'north', 5)",
    )

    repaired(project, spark, 4)
    read = hudi_015.write(project.lake, ORDERS, [("upsert", [order(7, "own", 200)])], options)

    assert version_of(project) == "6"
    notes = {**dict(in_source(project, "order_id", "note")), 7: "own"}
    assert sorted((row["order_id"], row["note"]) for row in read) == sorted(notes.items())
    assert project.json("sweep").drift == {"regressed": 1}
