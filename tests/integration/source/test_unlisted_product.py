"""A database that is on no list, by its own driver and `trust_properties`: HSQLDB, of whose SQL nothing here knows a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.databases.jdbc.products import PRODUCTS
from tests.integration.project import Project
from tests.support.jdbc import JdbcDatabase, add_drivers

# Each column with its type, a value, another one, and what the lake holds of the first.
COLUMNS = {
    "BIG": ("bigint", "-9223372036854775808", "9223372036854775807", "-9223372036854775808"),
    "PRICE": ("decimal(20,4)", "1234567890123456.7891", "1234567890123456.7892", "1234567890123456.7891"),
    "DBL": ("double", "1.1", "1.1000000000000003", "1.1"),
    "FLAG": ("boolean", "true", "false", "true"),
    "NOTE": ("varchar(20)", "'it''s Ä '", "'it''s Ä'", "it's Ä "),
    "BORN": ("date", "date '9999-12-31'", "date '9999-12-30'", "9999-12-31"),
    "MOMENT": (
        "timestamp(6)",
        "timestamp '2024-01-01 00:00:00.123456'",
        "timestamp '2024-01-01 00:00:00.123457'",
        "2024-01-01 00:00:00.123456",
    ),
    "RAW": ("varbinary(10)", "X'01FF00'", "X'01FF01'", "01FF00"),
}


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A table of one row for each column to change and two to delete, a second apart each."""
    add_drivers(spark)
    database = JdbcDatabase(spark, "hsqldb", tmp_path)
    values = ", ".join(value for _, value, _, _ in COLUMNS.values())
    declared = ", ".join(f"{name} {column[0]}" for name, column in COLUMNS.items())
    database.execute(
        f"create table orders (id integer primary key, seen timestamp(6), {declared})",
        *(
            f"insert into orders values ({number}, timestamp '2024-05-01 00:00:{number:02}', {values})"
            for number in range(len(COLUMNS) + 2)
        ),
    )
    made = Project(tmp_path, cast("Any", database), capsys)
    made.source = {"url": database.url, "driver": "org.hsqldb.jdbc.JDBCDriver", "trust_properties": True}
    made.settings = {
        "name": "orders",
        "source": {"table": "orders"},
        "pull": {"strategy": "timestamp", "watermark": ["SEEN"], "limit": 4},
        "lake": {"path": "lake/orders"},
        "policy": {"max_upsert_share": "100%", "max_delete_share": "100%"},
    }
    return made


def test_database_that_is_on_no_list_is_pulled_in_pages_and_each_change_is_found_repaired_and_proved(
    spark: SparkSession, project: Project
) -> None:
    assert "hsqldb" not in PRODUCTS
    pulled = project.json("pull")

    assert (pulled.code, pulled.table["pull"]["rows"], pulled.table["pull"]["pages"]) == (0, len(COLUMNS) + 2, 3), (
        pulled
    )
    frame = spark.read.format("hudi").load(str(project.lake)).where("ID = 0")
    shown = [f"hex({name})" if name == "RAW" else f"cast({name} as string)" for name in COLUMNS]
    assert list(frame.selectExpr(*shown).collect()[0]) == [lake for _, _, _, lake in COLUMNS.values()]
    clean = project.json("sweep")
    assert (clean.document["outcome"], clean.table["unverified"]) == ("clean", []), clean
    project.database.execute(
        *(
            f"update orders set {name} = {other} where id = {n}"
            for n, (name, (_, _, other, _)) in enumerate(COLUMNS.items())
        ),
        f"delete from orders where id >= {len(COLUMNS)}",
        "insert into orders (id, seen) values (-5, timestamp '2024-05-01 00:00:00')",
    )

    swept = project.json("sweep")
    found = {one["key"]["ID"]: (one["kind"], *one["columns"]) for one in project.findings()}
    applied = project.json("apply", "latest", "--yes")
    again = project.json("sweep")

    assert swept.code == 1, swept
    assert found == {
        **{number: ("updated_without_watermark", name) for number, name in enumerate(COLUMNS)},
        len(COLUMNS): ("deleted",),
        len(COLUMNS) + 1: ("deleted",),
        -5: ("late_arriving",),
    }
    assert (applied.document["outcome"], again.document["outcome"]) == ("corrected", "clean"), (applied, again)
