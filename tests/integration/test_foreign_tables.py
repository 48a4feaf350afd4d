"""Hudi tables of other tools through the command line: swept, adopted, corrected in one commit, taken over and handed back."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.foreign import KEYGEN, ROWS, Maker, left_by_streamer, source_table, version_of
from tests.integration.project import Project, in_lake, in_source
from tests.support.postgres import Database

PLAIN = Maker(
    "event time, simple keys, GLOBAL_BLOOM, a column of the lake's own, version 9",
    "copy_on_write",
    9,
    "updated_at",
    options={"hoodie.datasource.write.partitionpath.field": "region", "hoodie.index.type": "GLOBAL_BLOOM"},
    more_columns=("concat('job', order_id % 2) loaded_by",),
)
RECORD_INDEX = Maker(
    "event time, merge_on_read, no partitions, record index, version 8",
    "merge_on_read",
    8,
    "updated_at",
    options={
        "hoodie.datasource.write.keygenerator.class": KEYGEN + "NonpartitionedKeyGenerator",
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.index.type": "RECORD_INDEX",
    },
)
COMPLEX = Maker(
    "commit time, complex keys with a date, BLOOM, version 6",
    "copy_on_write",
    6,
    None,
    key=("order_id", "day"),
    options={
        "hoodie.datasource.write.partitionpath.field": "region",
        "hoodie.datasource.write.keygenerator.class": KEYGEN + "ComplexKeyGenerator",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.index.type": "BLOOM",
    },
)
BUCKETS = Maker(
    "commit time, merge_on_read, buckets, made by Spark SQL, version 9",
    "merge_on_read",
    9,
    None,
    options={
        "hoodie.datasource.write.partitionpath.field": "region",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "3",
    },
    lake_options={"hoodie.bucket.index.num.buckets": "3"},
    sql="tblproperties (primaryKey = 'order_id', type = 'mor', 'hoodie.index.type' = 'BUCKET', "
    "'hoodie.bucket.index.num.buckets' = '3', 'hoodie.metadata.enable' = 'false') partitioned by (region)",
)
BY_TIME = Maker(
    "event time, merge_on_read, partitions by times in text, version 6",
    "merge_on_read",
    6,
    "updated_at",
    options={
        "hoodie.datasource.write.partitionpath.field": "born",
        "hoodie.datasource.write.keygenerator.class": KEYGEN + "TimestampBasedKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
        "hoodie.keygen.timebased.output.dateformat": "yyyy/MM",
    },
)
COMMITS = ("commit", "deltacommit", "replacecommit")
MAKERS = (PLAIN, BY_TIME)
REST = (RECORD_INDEX, COMPLEX, BUCKETS)  # in `make foreign`


STREAMED = Maker(
    "as HoodieStreamer's JDBC source",
    "merge_on_read",
    8,
    "updated_at",
    options={"hoodie.datasource.write.partitionpath.field": "region"},
)


def adopted(
    maker: Maker, spark: SparkSession, pg: Database, folder: Path, captured: pytest.CaptureFixture[str]
) -> Project:
    """A project whose lake is such a table, equal to the source and adopted."""
    project = Project.of(folder, pg, captured)
    source_table(project)
    maker.make(spark, project)
    project.settings["lake"]["adopt"] = True
    project.settings["compare"] = {"exclude": ["loaded_by"] if maker.more_columns else []}
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%"}
    project.settings["policy"]["savepoint"] = "never" if maker.version == 9 else "deletes"
    return project


def commit_action(project: Project) -> str:
    """What the newest commit was, by the timeline's own files."""
    folder = project.lake / ".hoodie" / "timeline"
    names = (one.name for one in (folder if folder.exists() else folder.parent).iterdir() if one.name[:4].isdecimal())
    done = [name.split(".", 1) for name in names if name.rsplit(".", 1)[-1] in COMMITS]
    return max(done)[1]


def repaired(project: Project, spark: SparkSession, corrections: int) -> str:
    """One sweep and one apply, in one commit, after which both sides are equal; the apply's run."""
    swept = project.json("sweep")
    assert swept.code == 1, swept
    applied = project.json("apply", "latest", "--yes", "--accept", "same_column_share")
    assert (applied.code, applied.table["corrections"]["applied"]) == (0, corrections), applied
    assert len(applied.table["corrections"]["instants"]) == 1
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")
    run: str = applied.document["run_id"]
    return run


def goes_on(maker: Maker, project: Project, spark: SparkSession, at: str) -> None:
    """Its own tool writes as before, row 7 as of `at`, and finds every row: by a global index where it was before."""
    newer = f"if(order_id = 7, {at}, timestamp'2025-01-15')"
    rows = f"select order_id, day, region, 'own' note, amount, {newer} updated_at, born from ({ROWS})"
    ids = "(5, 7, 15)" if maker is PLAIN else "(7, 15)"
    maker.write(spark.sql(rows).where(f"order_id in {ids}"), str(project.lake))
    assert dict(in_lake(spark, project, "order_id", "note"))[7] == "own"
    assert len(in_lake(spark, project, "order_id")) == len(in_source(project, "order_id")) + 1


def is_undone(project: Project, spark: SparkSession, run: str) -> None:
    """The apply is taken back, but for the rows that its own tool wrote since."""
    undone = project.json("undo", run, "--yes")
    counts = undone.table["corrections"]
    assert (undone.code, counts["applied"], counts["superseded"]) == (4, 3, 3)
    notes = dict(in_lake(spark, project, "order_id", "note"))
    assert [notes.get(key) for key in (1, 2, 30, 5, 7, 15)] == ["n1", "n2", None, "own", "own", "own"]


def stays_its_own(
    maker: Maker, spark: SparkSession, pg: Database, folder: Path, captured: pytest.CaptureFixture[str]
) -> None:
    """Such a table is corrected in one commit, whatever its ordering would drop, and its own tool goes on."""
    project = adopted(maker, spark, pg, folder, captured)
    pg.execute(
        "update orders set note = 'quiet' where order_id = 1",
        "delete from orders where order_id in (2, 15)",
        "insert into orders values (30, '2025-01-02', 'south', 'late', 1, '2024-12-31', '2025-07-01')",
    )
    moved = maker is not BUCKETS
    if moved:
        pg.execute("update orders set region = 'north', born = '2025-02-01' where order_id = 5")
    older = maker in (PLAIN, BY_TIME)
    if older:  # than what the lake holds: an upsert would be dropped in silence
        pg.execute("update orders set note = 'older', updated_at = '2024-12-30' where order_id = 7")

    applied = repaired(project, spark, 4 + moved + older)

    assert (commit_action(project) == "replacecommit") == older
    if maker.more_columns:
        kept = dict(in_lake(spark, project, "order_id", "loaded_by"))
        assert (kept[7], kept[8], kept[30]) == ("job1", "job0", None)

    assert version_of(project) == str(maker.version)
    if not maker.sql:
        assert project.json("state", "show").table["streamer"]["checkpoint"] == "2025-01-01 00:00:20"
    goes_on(maker, project, spark, "timestamp'2024-12-30 12:00:00'" if older else "timestamp'2025-01-15'")
    if maker is PLAIN:
        is_undone(project, spark, applied)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.name)
def test_table_of_another_tool_is_corrected_in_one_commit_and_stays_its_own(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], maker: Maker
) -> None:
    stays_its_own(maker, spark, pg, tmp_path, capsys)


def test_rows_that_are_in_log_files_alone_are_corrected_in_one_commit_and_never_doubled(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Flink's writer leaves new rows, here by an index that lets Spark's do so; `make flink` does it with Flink's own."""
    options = {"hoodie.datasource.write.partitionpath.field": "region", "hoodie.index.type": "INMEMORY"}
    maker = Maker("rows in logs", "merge_on_read", 9, "updated_at", options=options)
    project = adopted(maker, spark, pg, tmp_path, capsys)
    assert [*project.lake.rglob("*.parquet")] == []
    pg.execute(
        "update orders set note = 'quiet' where order_id = 1",
        "delete from orders where order_id in (2, 15)",
        "insert into orders values (30, '2025-01-02', 'south', 'late', 1, '2025-01-01', '2025-07-01')",
    )

    refused = project.json("pull", "--full")
    repaired(project, spark, 4)

    assert (refused.code, refused.document["error"]["type"]) == (5, "RefusedError")
    assert "18 rows to write are in log files alone" in refused.document["error"]["message"]
    assert commit_action(project) == "replacecommit"


def test_partition_field_that_spark_shows_as_text_is_not_compared_and_the_table_not_written(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_micros = {
        "timestamp.type": "SCALAR",
        "timestamp.scalar.time.unit": "MICROSECONDS",
        "output.dateformat": "yyyy-MM",
    }
    options = {
        "hoodie.datasource.write.partitionpath.field": "updated_at",
        "hoodie.datasource.write.keygenerator.class": KEYGEN + "TimestampBasedKeyGenerator",
        **{f"hoodie.keygen.timebased.{key}": value for key, value in by_micros.items()},
    }
    project = adopted(Maker("by time", "copy_on_write", 8, None, options=options), spark, pg, tmp_path, capsys)

    swept = project.json("sweep")
    refused = project.json("pull", "--full")

    assert (swept.code, [one["name"] for one in swept.table["unverified"]]) == (3, ["updated_at"])
    assert "its files hold timestamp-micros" in swept.table["unverified"][0]["why"]
    assert (refused.code, refused.document["error"]["type"]) == (5, "RefusedError")
    assert "Spark shows its partition field updated_at as string" in refused.document["error"]["message"]


@pytest.mark.parametrize(("strayed", "told"), [("-1", []), ("7, 8", [("updated_at_day", "2")])])
def test_derived_partition_column_that_its_own_rows_contradict_is_no_clean_lake(  # noqa: PLR0917 - a table and fixtures
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    strayed: str, told: list[tuple[str, str]],
) -> None:  # fmt: skip
    """Every column of the source is equal; a query for the day of those two rows would not find them."""
    day = f"if(order_id in ({strayed}), '1999-01-01', date_format(updated_at, 'yyyy-MM-dd')) updated_at_day"
    options = {"hoodie.datasource.write.partitionpath.field": "updated_at_day"}
    maker = Maker("by day", "copy_on_write", 8, None, options=options, more_columns=(day,))
    project = adopted(maker, spark, pg, tmp_path, capsys)
    project.settings["lake"]["partition_by"] = ["day(updated_at)"]
    project.settings.pop("compare")

    swept = project.json("sweep")

    assert [(entry["name"], entry["why"].split()[0]) for entry in swept.table["unverified"]] == told
    assert swept.code == (3 if told else 0)


def test_keys_that_a_streamer_keeps_padded_are_corrected_as_the_lake_spells_them(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PostgreSQL's char(4) holds 'ab'; a JDBC reader that does not trim leaves 'ab  ' in the lake."""
    project = Project.of(tmp_path, pg, capsys)
    pg.execute(
        "create table orders (code char(4) primary key, note text, updated_at timestamp not null)",
        "insert into orders select 'k' || i, 'n' || i, timestamp '2025-01-01' + i * interval '1 second'"
        " from generate_series(1, 20) i",
    )
    rows = (
        "select rpad(concat('k', id), 4, ' ') code, concat('n', id) note,"
        " timestamp'2025-01-01' + make_interval(0, 0, 0, 0, 0, 0, id) updated_at from range(1, 21)"
    )
    options = {"hoodie.datasource.write.keygenerator.class": KEYGEN + "NonpartitionedKeyGenerator"}
    Maker("padded", "copy_on_write", 8, "updated_at", key=("code",), options=options).make(spark, project, rows)
    project.settings["lake"]["adopt"] = True
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%"}
    pg.execute("update orders set note = 'other' where code = 'k7'", "delete from orders where code = 'k9'")

    swept = project.json("sweep")
    applied = project.json("apply", "latest", "--yes")
    again = project.json("sweep")

    assert swept.drift == {"updated_without_watermark": 1, "deleted": 1}, swept
    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 2), applied
    assert (again.code, again.document["outcome"]) == (0, "clean")
    lake = dict(in_lake(spark, project, "code", "note"))
    assert (len(lake), lake["k7  "], "k9  " in lake) == (19, "other", False)


def test_streamers_table_is_taken_over_and_handed_back(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    source_table(project)
    STREAMED.make(spark, project, f"select * from ({ROWS}) where order_id <= 10", "2025-01-01 00:00:10")

    refused = project.json("pull")
    assert refused.code == 5
    assert "lake: {adopt: true}" in refused.document["error"]["fix"]
    told = project.run("doctor", "-t", "orders").out
    assert "table version 8, merge_on_read" in told
    assert "HoodieStreamer; its checkpoint is '2025-01-01 00:00:10' (deltastreamer.checkpoint.key" in told

    project.settings["lake"]["adopt"] = True
    pulled = project.json("pull")
    assert (pulled.code, pulled.table["pull"]["mode"], pulled.table["pull"]["rows"]) == (0, "incremental", 11), pulled
    shown = project.json("state", "show").table
    assert shown["streamer"]["checkpoint"] == "2025-01-01 00:00:20"
    assert shown["checkpoint"] == "2025-01-01T00:00:20.000000"
    assert project.json("sweep").code == 0

    # HoodieStreamer's next run: what it reads after the checkpoint that it finds, and the checkpoint it leaves.
    pg.execute("insert into orders values (21, '2025-01-01', 'south', 'next', 21, '2025-01-01 00:00:21', '2025-01-01')")
    found = pg.query(f"select order_id from orders where updated_at > '{shown['streamer']['checkpoint']}'")
    assert [row[0] for row in found] == [21]
    row = "21L order_id, date'2025-01-01' day, 'south' region, 'next' note, 21.00BD amount, "
    row += "timestamp'2025-01-01 00:00:21' updated_at, '2025-01-01' born"
    STREAMED.write(spark.sql(f"select {row}"), str(project.lake), **left_by_streamer("2025-01-01 00:00:21"))

    assert project.json("sweep").code == 0
    assert project.json("pull").table["pull"]["rows"] == 1
    pg.execute(
        "delete from orders where order_id = 3",
        "update orders set note = 'older', updated_at = '2024-12-30' where order_id = 4",
    )
    project.settings["pull"]["full_mode"] = "overwrite"
    project.settings["policy"] = {"max_delete_share": "100%"}
    assert project.json("pull", "--full").code == 0
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")
    assert version_of(project) == "8"
