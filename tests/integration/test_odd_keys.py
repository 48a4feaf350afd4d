"""Keys that Hudi's record key does not tell apart, in tables without our spelling of them: held back, named, never written."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import psycopg
import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.tables.odd_keys import record_key
from tests.integration.foreign import KEYGEN, Maker
from tests.integration.project import Project, Ran, in_lake, in_source
from tests.support.mariadb import MariaDatabase
from tests.support.postgres import Database

COMPLEX = {
    "hoodie.datasource.write.keygenerator.class": KEYGEN + "ComplexKeyGenerator",
    "hoodie.datasource.write.partitionpath.field": "",
}
PLAIN_KEYS = COMPLEX | {"hoodie.datasource.write.keygenerator.class": KEYGEN + "NonpartitionedKeyGenerator"}
MADE_BY_SPARK = Maker("plain Spark", "copy_on_write", 9, "updated_at", key=("a", "b"), options=COMPLEX)
# Of the first two Hudi makes one record key, of the next two as well, and the last it does not take.
ODD = (("__null__", "x"), ("1,b:2", "3"), ("", ""))
ALIKE = ((None, "x"), ("1", "2,b:3"))
PLAIN = (("plain", "one"), ("gone", "z"), ("", "y"), (None, "quiet"))
LAKE_ONLY = ("__empty__", "q")
EQUAL, LIKE_EQUAL = ("__null__", "same"), (None, "same")


def sql(text: str | None) -> str:
    return "null" if text is None else f"'{text}'"


def values(*keys: tuple[str | None, ...]) -> str:
    rows = (f"({sql(a)}, {sql(b)}, 'old', timestamp '2025-01-01 00:00:00')" for a, b in keys)
    columns = ", ".join(f"cast({name} as {{text}}) {name}" for name in ("a", "b", "note"))
    return f"select {columns}, updated_at from (values {', '.join(rows)})"


def odd_table(spark: SparkSession, pg: Database, folder: Path, captured: pytest.CaptureFixture[str]) -> Project:
    """The source has every key; the lake has what plain Spark makes of them, and one key more."""
    project = Project.of(folder, pg, captured)
    source = values(*ODD, *ALIKE, *PLAIN, EQUAL, LIKE_EQUAL).format(text="text")
    pg.execute(f"create table orders as {source} t(a, b, note, updated_at)")
    lake = values(*ALIKE, ODD[1], *PLAIN, LAKE_ONLY, EQUAL).format(text="string")
    MADE_BY_SPARK.make(spark, project, f"{lake} as t(a, b, note, updated_at)")
    project.settings["lake"]["adopt"] = True
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%", "savepoint": "never"}
    return project


def odd_keys(project: Project, kind: str = "odd_key") -> set[tuple[str | None, str | None]]:
    return {(one["key"]["a"], one["key"]["b"]) for one in project.findings("--kind", kind)}


def held(ran: Ran) -> tuple[int, list[str]]:
    return ran.table["not_drift"]["odd_key"], [one["what"] for one in ran.table["unverified"]]


def notes(spark: SparkSession, project: Project) -> dict[tuple[str | None, str | None], str]:
    return {(a, b): note for a, b, note in in_lake(spark, project, "a", "b", "note")}


def test_odd_keys_of_a_table_of_plain_spark_are_held_back_and_the_rest_is_corrected(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = odd_table(spark, pg, tmp_path, capsys)
    was = notes(spark, project)
    for a, b, text in in_lake(spark, project, "a", "b", "_hoodie_record_key"):
        assert text == record_key(("a", "b"), (a, b))
    pg.execute("update orders set note = 'new' where a = 'plain'", "delete from orders where a = 'gone'")
    pg.execute("delete from orders where a is null and b = 'x'")  # in the lake under the odd source row's record key

    swept = project.json("sweep")
    named = odd_keys(project)
    applied = project.json("apply", "latest", "--yes", "--accept", "same_column_share")
    again = project.json("sweep")

    left = {ODD[1], ALIKE[1]} - was.keys()
    assert len(left) == 1, "Hudi made one row of both"
    assert named == {ODD[0], ODD[2], ALIKE[0], LAKE_ONLY, LIKE_EQUAL} | left
    assert (swept.code, swept.drift) == (1, {"updated_without_watermark": 1, "deleted": 1})
    assert (applied.code, applied.table["outcome"], applied.table["corrections"]["applied"]) == (3, "unverified", 2)
    assert (again.code, again.table["outcome"]) == (3, "unverified")
    assert held(swept) == held(again) == (6, ["rows"])
    expected = {**was, PLAIN[0]: "new"}
    del expected[PLAIN[1]]
    assert notes(spark, project) == expected


def test_pull_holds_odd_keys_back_and_those_that_would_overwrite_an_odd_row_of_the_lake(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = odd_table(spark, pg, tmp_path, capsys)
    was = notes(spark, project)
    new, odd, like_lake_only = ("new", "row"), ("__null__", "later"), ("", "q")
    rows = ", ".join(f"({sql(a)}, {sql(b)}, 'new', timestamp '2025-01-02')" for a, b in (new, odd, like_lake_only))
    pg.execute(f"insert into orders values {rows}")

    pulled = project.json("pull")
    nightly = project.json("run")

    counts = pulled.table["pull"]
    assert (pulled.code, pulled.table["outcome"], counts["rows"], counts["odd_rows"]) == (3, "unverified", 1, 2)
    (gap,) = pulled.table["unverified"]
    assert gap["what"] == "rows"
    assert '["__null__","later"]' in gap["why"]
    assert notes(spark, project) == {**was, new: "new"}
    assert (nightly.code, nightly.table["outcome"]) == (3, "unverified")
    assert {odd, like_lake_only, LAKE_ONLY} < odd_keys(project)

    # An older row than the lake's: its partition is written anew, the odd rows in it as they are.
    pg.execute("update orders set note = 'older', updated_at = '2024-12-31' where a = 'plain'")
    assert project.json("sweep").code == 1
    applied = project.json("apply", "latest", "--yes", "--accept", "same_column_share")
    assert (applied.code, applied.table["corrections"]["applied"]) == (3, 1)
    assert notes(spark, project) == {**was, new: "new", PLAIN[0]: "older"}


def test_key_that_became_alike_to_an_odd_row_since_the_sweep_is_not_written_over_it(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = odd_table(spark, pg, tmp_path, capsys)
    pg.execute("delete from orders where a is null and b = 'quiet'")
    assert project.json("sweep").drift == {"deleted": 1}
    rows = values(("__null__", "quiet")).format(text="string")
    MADE_BY_SPARK.write(spark.sql(f"{rows} as t(a, b, note, updated_at)"), str(project.lake))
    was = notes(spark, project)

    applied = project.json("apply", "latest", "--yes", "--accept", "same_column_share")

    assert applied.code in (4, 5), applied
    assert notes(spark, project) == was
    assert project.json("sweep").table["findings"]["deleted"] == 0


def test_hudi_makes_two_record_keys_of_one_zero_so_that_a_double_is_no_key_of_a_table_of_another_tool(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    pg.execute("create table orders (k double precision primary key, note text, updated_at timestamp)")
    zeros = "select k, 'old' note, timestamp'2025-01-01' updated_at from values (0.0D), (-0.0D) t(k)"
    Maker("plain Spark", "copy_on_write", 9, "updated_at", key=("k",), options=PLAIN_KEYS).make(spark, project, zeros)

    swept = project.json("sweep")

    assert sorted(in_lake(spark, project, "_hoodie_record_key")) == [("-0.0",), ("0.0",)]
    with pytest.raises(psycopg.errors.UniqueViolation):
        pg.execute("insert into orders (k) values (0), ('-0')")
    assert (swept.code, swept.table["error"]["type"]) == (3, "UnverifiedError")
    assert "k: source double precision cannot be compared with lake double" in swept.table["error"]["message"]
    project.settings["lake"]["adopt"] = True
    pulled = project.json("pull")
    assert (pulled.code, pulled.table["error"]["type"]) == (5, "RefusedError"), pulled


FLOATS = {
    "double precision": (
        "0.1",
        "-0",
        "1.9999999999999998e23",
        "5e-324",
        "1.7976931348623157e308",
        "NaN",
        "-Infinity",
        "3",
    ),
    "real": ("0.1", "-0", "16777216", "1e-45", "3.4028235e38", "NaN", "-Infinity", "3"),
}


@pytest.mark.parametrize("how", [(kind, mode) for kind in FLOATS for mode in ("stream", "pushdown")], ids=" ".join)
def test_float_of_postgresql_is_a_key_by_its_text_in_a_table_of_ours(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: tuple[str, str]
) -> None:
    project, (kind, mode) = Project.of(tmp_path, pg, capsys), how
    project.settings["sweep"] = {"mode": mode}
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%"}
    listed = ", ".join(f"('{key}', 'old', '2025-01-01')" for key in FLOATS[kind])
    pg.execute(
        f"create table orders (k {kind} primary key, note text, updated_at timestamp)",
        f"insert into orders values {listed}",
    )

    pulled = project.json("pull")
    clean = project.json("sweep")
    in_text = {key for (key,) in in_lake(spark, project, "k")}
    pg.execute(
        "update orders set note = 'silent' where k in (0.1, 0, 'NaN')",
        "delete from orders where k in ('-Infinity', 3)",
        "insert into orders values (0.1 + 0.2, 'late', '2024-01-01')",
    )
    drift = project.json("sweep")
    applied = project.json("apply", "latest", "--yes")
    proved = project.json("sweep")

    assert (pulled.code, pulled.table["pull"]["rows"], clean.code, clean.table["unverified"]) == (0, 8, 0, [])
    keys = f"unnest('{{{','.join(FLOATS[kind])}}}'::{kind}[]) k"
    assert in_text == {text for (text,) in pg.query(f"select (k + 0::{kind})::text from {keys}")}
    assert "0" in in_text
    assert drift.drift == {"late_arriving": 1, "updated_without_watermark": 3, "deleted": 2}
    assert (applied.code, proved.code) == (0, 0), (applied, proved)
    rows = pg.query(f"select (k + 0::{kind})::text, note from orders")
    assert sorted(in_lake(spark, project, "k", "note")) == sorted(tuple(row) for row in rows)


def test_float_beside_text_in_a_key_of_a_view_names_its_rows_with_null_parts(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%"}
    project.settings["source"] = {"table": "public.orders", "key": ["k", "t"]}
    rows = (
        "(0.1, 'a')",
        "(null, 'a')",
        "(0.1, null)",
        "('NaN', '')",
        "(0.1, '0.1')",
        "(1e300, 'a')",
        "(-1e300, ',t:')",
    )
    pg.execute(
        "create table kept (k double precision, t text, note text, updated_at timestamp)",
        f"insert into kept select k, t, 'old', '2025-01-01' from (values {', '.join(rows)}) v(k, t)",
        "create view orders as select k, t, note, updated_at from kept",
    )

    pulled = project.json("pull")
    clean = project.json("sweep")
    pg.execute(
        "update kept set note = 'silent' where k = 0.1",
        "delete from kept where k is null or k = -1e300",
    )
    drift = project.json("sweep")
    applied = project.json("apply", "latest", "--yes")
    proved = project.json("sweep")

    assert (pulled.code, pulled.table["pull"]["rows"], clean.code) == (0, len(rows), 0), (pulled, clean)
    assert drift.drift == {"updated_without_watermark": 3, "deleted": 2}
    assert (applied.code, proved.code) == (0, 0), (applied, proved)
    kept = pg.query("select k::text, t, note from kept")
    assert sorted(in_lake(spark, project, "k", "t", "note"), key=str) == sorted(map(tuple, kept), key=str)


def test_rows_of_a_query_whose_float_keys_are_two_zeros_are_one_key_twice(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    pg.execute("create table orders (k double precision, note text, updated_at timestamp)")
    pg.execute("insert into orders values (0, 'a', '2025-01-01'), ('-0', 'b', '2025-01-01')")
    project.settings["source"] = {"table": "public.orders", "key": ["k"]}

    pulled = project.json("pull")

    assert (pulled.code, pulled.table["error"]["type"]) == (5, "RefusedError"), pulled


@pytest.mark.parametrize("mode", ["stream", "pushdown"])
def test_double_of_mariadb_is_a_key_by_its_text_in_a_table_of_ours(
    spark: SparkSession, maria: MariaDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    project = Project.of(tmp_path, cast("Database", maria), capsys)
    server = maria.server
    project.source["url"] = f"mariadb+pymysql://{server.user}@{server.host}:{server.port}/{maria.name}"
    project.settings["source"] = {"table": "orders"}
    project.settings["sweep"] = {"mode": mode}
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%"}
    keys = ("0.1e0", "-0e0", "1.9999999999999998e23", "5e-324", "1.7976931348623157e308", "-3e0", "16777217e0")
    listed = ", ".join(f"({key}, 'old', '2025-01-01')" for key in keys)
    maria.execute(
        "create table orders (k double primary key, note varchar(9), updated_at datetime(6))",
        f"insert into orders values {listed}",
    )

    pulled = project.json("pull")
    clean = project.json("sweep")
    maria.execute(
        "update orders set note = 'silent' where k in (0.1e0, 0e0, 5e-324)",
        "delete from orders where k in (-3e0, 16777217e0)",
        "insert into orders values (0.1e0 + 0.2e0, 'late', '2024-01-01')",
    )
    drift = project.json("sweep")
    applied = project.json("apply", "latest", "--yes")
    proved = project.json("sweep")

    assert (pulled.code, pulled.table["pull"]["rows"], clean.code, clean.table["unverified"]) == (0, 7, 0, []), clean
    assert drift.drift == {"late_arriving": 1, "updated_without_watermark": 3, "deleted": 2}
    assert (applied.code, proved.code) == (0, 0), (applied, proved)
    in_text = "select cast(k + 0e0 as char), note from orders"
    assert sorted(in_lake(spark, project, "k", "note")) == sorted(tuple(row) for row in maria.query(in_text))


NO_PLACE = ("", "__HIVE_DEFAULT_PARTITION__")


@pytest.mark.parametrize("mode", ["stream", "pushdown"])
def test_row_whose_partition_value_hudi_takes_for_null_is_held_back_and_the_rest_is_pulled_and_corrected(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["partition_by"] = ["region"]
    project.settings["sweep"] = {"mode": mode}
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%"}
    pg.execute(
        "create table orders (order_id int primary key, region text, note text, updated_at timestamp)",
        "insert into orders select i, case i when 1 then '' when 2 then '__HIVE_DEFAULT_PARTITION__' when 3 then null else "
        "'eu' end, 'old', '2025-01-01' from generate_series(1, 9) i",
    )

    pulled = project.json("pull")
    swept = project.json("sweep")
    named = {one["key"]["order_id"] for one in project.findings("--kind", "odd_key")}
    pg.execute(
        "update orders set region = '' where order_id = 4",
        "update orders set note = 'silent' where order_id in (1, 5)",
        "delete from orders where order_id in (2, 6)",
        "insert into orders values (10, '', 'next', '2025-01-02'), (11, 'us', 'next', '2025-01-02')",
    )
    drift = project.json("sweep")
    applied = project.json("apply", "latest", "--yes", "--accept", "same_column_share")
    nightly = project.json("run")
    pg.execute(f"update orders set region = 'eu' where region in {NO_PLACE}")
    healed = project.json("run", "--apply")

    counts = pulled.table["pull"]
    assert (pulled.code, pulled.table["outcome"], counts["rows"], counts["odd_rows"]) == (3, "unverified", 7, 2), pulled
    (gap,) = pulled.table["unverified"]
    assert ("partition" in gap["why"], '["1"]' in gap["why"], "lake.partition_by" in gap["fix"]) == (True, True, True)
    assert (swept.code, held(swept), named) == (3, (2, ["rows"]), {1, 2}), swept
    assert (drift.code, drift.drift, held(drift)[0]) == (1, {"updated_without_watermark": 1, "deleted": 1}, 3), drift
    assert (applied.code, applied.table["corrections"]["applied"]) == (3, 2), applied
    assert (nightly.code, held(nightly)[0], nightly.table["pull"]["rows"]) == (3, 3, 1), nightly
    assert healed.code == 0, healed
    assert in_lake(spark, project, "order_id", "region", "note") == in_source(project, "order_id", "region", "note")


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_row_that_another_tool_wrote_without_its_partition_value_is_held_back_and_deleted_when_the_source_does(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    pg.execute(
        "create table orders (order_id bigint primary key, region text, note text, updated_at timestamp)",
        "insert into orders select i, case i when 1 then '' when 2 then '' when 3 then null else 'eu' end, 'old', "
        "'2025-01-01' from generate_series(1, 6) i",
    )
    rows = (
        "select order_id, case when order_id in (1, 2) then '' when order_id = 3 then null else 'eu' end region, 'old' note, "
        "timestamp'2025-01-01' updated_at from (select id order_id from range(1, 7))"
    )
    by_region = {"hoodie.datasource.write.partitionpath.field": "region"}
    Maker("plain Spark", kind, 9, "updated_at", options=by_region).make(spark, project, rows)
    project.settings["lake"]["adopt"] = True
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%", "savepoint": "never"}
    seen = dict(cast("list[tuple[int, str | None]]", in_lake(spark, project, "order_id", "region")))

    swept = project.json("sweep")
    pg.execute("delete from orders where order_id = 2", "update orders set note = 'silent' where order_id in (3, 4)")
    pg.execute("update orders set note = 'next', updated_at = '2025-01-02' where order_id in (1, 5)")
    pulled = project.json("pull")
    drift = project.json("sweep")
    applied = project.json("apply", "latest", "--yes", "--accept", "same_column_share")
    again = project.json("sweep")

    assert seen[1] is None, "what Hudi's readers see of an empty partition value"
    assert (swept.code, held(swept)) == (3, (2, ["rows"])), swept
    assert (pulled.code, pulled.table["pull"]["odd_rows"], pulled.table["pull"]["rows"]) == (3, 1, 1), pulled
    assert (drift.code, drift.drift, held(drift)[0]) == (1, {"updated_without_watermark": 2, "deleted": 1}, 1), drift
    assert (applied.code, applied.table["corrections"]["applied"]) == (3, 3), applied
    assert (again.code, held(again)[0]) == (3, 1), again
    notes_now = dict(cast("list[tuple[int, str]]", in_lake(spark, project, "order_id", "note")))
    assert notes_now == {1: "old", 3: "silent", 4: "silent", 5: "next", 6: "old"}
