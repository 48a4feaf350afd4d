"""Sweeps of some partitions and within a budget, through the command line: nothing is judged by half of its key's rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.integration.project import Project, in_lake, in_source
from tests.support.postgres import Database

META = tuple(f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name"))
COLUMNS = ("order_id", "note", "placed_on", "updated_at")
TABLE = (
    "create table orders (order_id bigint primary key, note text not null unique, region text, placed_on date,"
    " updated_at timestamp)"
)
# Ten orders a month, January to April; in April one of a region that folders do not bear, and one of none.
ROWS = (
    "insert into orders select i, 'n' || i, case i when 39 then 'a=b/c' when 40 then null else 'eu' end,"
    " date '2025-01-05' + ((i - 1) / 10) * interval '1 month', timestamp '2025-05-01' + i * interval '1 minute'"
    " from generate_series(1, 40) i"
)


def of(month: str, region: str = "eu") -> tuple[str, str]:
    return "--where-partition", f"region={region}/placed_on_month=2025-{month}"


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Forty orders in four months, pulled."""
    pg.execute(TABLE, ROWS)
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["partition_by"] = ["region", "month(placed_on)"]
    assert project.run("pull").code == 0
    return project


def test_sweep_of_a_partition_finds_its_drift_judges_by_the_whole_table_and_never_calls_it_clean(
    spark: SparkSession, project: Project
) -> None:
    project.database.execute(
        "update orders set note = 'other' where order_id = 5",
        "delete from orders where order_id = 6",
        "update orders set placed_on = '2025-02-20' where order_id = 7",  # left January
        "update orders set placed_on = '2025-01-20' where order_id = 25",  # came to January
        "insert into orders values (101, 'late', 'eu', '2025-01-31', '2025-05-01')",
        "update orders set note = 'elsewhere' where order_id = 26",  # of March
        "delete from orders where order_id between 31 and 40 and order_id <> 39",  # of April
        "update orders set note = 'odd' where order_id = 39",
    )

    sweep = project.json("sweep", *of("01"))

    assert (sweep.code, sweep.document["outcome"], sweep.table["whole"]) == (3, "unverified", False), sweep
    assert sweep.drift == {"late_arriving": 1, "updated_without_watermark": 3, "deleted": 1}
    assert sum(sweep.table["not_drift"].values()) == 0
    assert {(item["kind"], item["key"]["order_id"]) for item in project.findings()} == {
        ("updated_without_watermark", 5),
        ("deleted", 6),
        ("updated_without_watermark", 7),
        ("updated_without_watermark", 25),
        ("late_arriving", 101),
    }
    assert (sweep.table["source"]["rows"], sweep.table["lake"]["rows"]) == (10, 10)
    (left,) = sweep.table["unverified"]
    assert left["what"] == "rows"
    assert "5 of 6 partitions" in left["why"]
    assert "30 lake rows and 21 source rows" in left["why"]
    sent = [text for name, text in sweep.table["provenance"].items() if name.startswith("sql_")]
    assert any("\"placed_on\" >= date '2025-01-01' and \"placed_on\" < date '2025-02-01'" in text for text in sent)
    guards = {guard["name"]: (guard["found"], guard["ok"]) for guard in sweep.table["guards"]}
    assert (guards["empty_source"], guards["max_delete_share"]) == ((31, True), (0.1, False))

    refused = project.json("apply", "latest", "--yes")
    assert (refused.code, refused.table["corrections"]["applied"]) == (5, 0)
    applied = project.json("apply", "latest", "--yes", "--approve-deletes", "1", "--accept", "max_upsert_share")
    assert (applied.code, applied.table["corrections"]["applied"], applied.table["whole"]) == (0, 5, False), applied
    assert "a part of the table" in applied.table["unverified"][0]["why"]

    april = project.json("sweep", *of("04"), *of("04", "a%3Db%2Fc"), *of("04", "__HIVE_DEFAULT_PARTITION__"))
    guards = {guard["name"]: (guard["found"], guard["ok"]) for guard in april.table["guards"]}
    assert (april.code, april.drift) == (3, {"updated_without_watermark": 1, "deleted": 9})
    assert (guards["empty_source"], guards["max_delete_share"]) == ((31, True), (0.9, False))
    assert (april.table["source"]["rows"], april.table["lake"]["rows"]) == (1, 10)
    alone = project.json("sweep", *of("04"))
    assert (alone.code, alone.drift, alone.table["source"]["rows"]) == (3, {"deleted": 8}, 0)
    assert {guard["name"] for guard in alone.table["guards"] if not guard["ok"]} == {"max_delete_share"}

    again = project.json("sweep", *of("01"), *of("02"))
    assert (again.code, again.drift, again.table["guards"]) == (3, {}, [])
    assert (again.table["source"]["rows"], again.table["lake"]["rows"]) == (21, 21)
    whole = project.json("sweep")
    assert (whole.code, whole.drift, whole.table["whole"]) == (1, {"updated_without_watermark": 2, "deleted": 9}, True)
    for wrong in ("2025-01", "region=eu/placed_on_month=2025-13"):
        ran = project.json("sweep", "--where-partition", wrong)
        assert (ran.code, "region=eu/placed_on_month=2025-04" in ran.table["error"]["fix"]) == (2, True), ran
    assert len(in_lake(spark, project, *COLUMNS)) == len(in_source(project, *COLUMNS)) + 9


def test_sweeps_with_a_budget_begin_with_the_oldest_segments_and_are_whole_when_it_suffices(project: Project) -> None:
    project.settings["sweep"] = {"segments": 2, "mode": "pushdown"}
    project.database.execute("update orders set note = 'other' where order_id = 30")

    first = project.json("sweep", "--budget", "1ms")
    second = project.json("sweep", "--budget", "1ms")

    assert (first.code, first.drift, first.table["source"]["rows"]) == (3, {}, 19), first
    assert [item["what"] for item in first.table["unverified"]] == ["segment"]
    # Ranges of 20 keys from 0 on, and the one of NULL keys.
    assert "3 of 4 segments were not compared" in first.table["unverified"][0]["why"]
    assert (second.code, second.drift, second.table["source"]["rows"]) == (3, {"updated_without_watermark": 1}, 20)
    assert (first.table["coverage"]["never_compared"], second.table["coverage"]["never_compared"]) == (3, 2)
    assert first.table["coverage"]["oldest_utc"] == second.table["coverage"]["oldest_utc"]
    assert (first.table["whole"], second.table["whole"]) == (False, False)

    whole = project.json("sweep", "--budget", "10m")
    assert (whole.code, whole.document["outcome"], whole.table["whole"]) == (1, "drift", True), whole
    assert (whole.table["unverified"], whole.table["coverage"]["never_compared"]) == ([], 0)
    coverage = json.loads(
        (project.folder / "reports" / whole.document["run_id"] / "orders" / "coverage.json").read_text()
    )
    assert {one["run_id"] for one in coverage["stretches"]} == {whole.document["run_id"]}

    project.settings["source"]["key"] = ["note"]  # text: hash segments, which the source itself can tell apart
    part = project.json("sweep", "--budget", "1ms")
    assert (part.code, part.table["coverage"]["compared"], part.table["coverage"]["never_compared"]) == (3, 1, 1), part
    assert 0 < part.table["source"]["rows"] < 40
    rest = project.json("sweep", "--budget", "1ms")
    assert part.table["source"]["rows"] + rest.table["source"]["rows"] == 40
    runs = json.loads(project.run("history", "-t", "orders", "--format", "json").out)["runs"]
    assert [run["tables"][0]["whole"] for run in runs] == [False, False, True, False, False, False]
    assert runs[0]["tables"][0]["coverage"]["never_compared"] == 0
    assert project.run("audit", "verify").code == 0


def test_dry_run_of_a_drifted_table_is_no_verdict_and_leaves_no_run(project: Project) -> None:
    project.database.execute("delete from orders where order_id = 6")
    runs = set((project.folder / "reports").iterdir())

    told = project.json("sweep", "--dry-run", "--budget", "10m")
    shown = project.run("sweep", "--dry-run")

    (table,) = told.document["tables"]
    assert (told.code, told.document["outcome"], told.document["dry_run"]) == (0, "planned", True)
    assert (table["error"], table["mode"], table["budget"]) == (None, "stream", "10m")
    assert table["estimate"]["budget_segments"] == table["segments"]["count"]
    assert "this is no verdict" in shown.out
    assert not {"CLEAN", "clean", "DRIFT "} & set(shown.out.split())
    assert set((project.folder / "reports").iterdir()) == runs


def test_full_sweep_with_a_duty_finds_what_drifted_and_a_part_beside_it_is_refused(project: Project) -> None:
    project.database.execute("delete from orders where order_id = 6")
    project.settings["sweep"] = {"max_duty": "50%", "segments": 8}
    project.write_config()

    sweep = project.json("sweep", "--full")
    both = project.run("sweep", "--full", "--budget", "10m")

    assert (sweep.code, sweep.drift, sweep.table["whole"]) == (1, {"deleted": 1}, True)
    assert "sweep.max_duty" in sweep.table["provenance"]["digests"]
    assert sweep.document["provenance"]["options"] == ["--full"], "as the same command is printed to run it again"
    assert both.code == 2


def test_sweep_waits_while_the_pause_file_is_there_and_a_pause_beyond_its_limit_compares_nothing(
    project: Project,
) -> None:
    project.database.execute("delete from orders where order_id = 6")
    project.settings["sweep"] = {"pause": {"file": "pause", "statements": 1000, "limit": "1s"}, "segments": 8}
    project.write_config()
    (project.folder / "pause").touch()

    held = project.json("sweep")
    (project.folder / "pause").unlink()
    free = project.json("sweep")

    assert (held.code, held.document["outcome"], held.table["source"]) == (3, "unverified", None)
    assert "the sweep let the source alone for 1 s and ended" in held.table["error"]["message"]
    assert "pause is there" in held.table["error"]["message"]
    assert (free.code, free.drift, free.table["whole"]) == (1, {"deleted": 1}, True)
    assert "sweep.pause" in free.table["provenance"]["digests"]


def test_row_that_another_writer_changed_and_left_in_its_old_partition_has_drifted(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hudi's default for such indexes; readers take the region from the path, and the row's own column stays unseen."""
    pg.execute(TABLE, ROWS)
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["partition_by"] = ["region"]
    project.write_config()
    assert project.run("pull").code == 0
    pg.execute("update orders set region = 'us' where order_id = 7")
    changed = {"region": F.lit("us"), "_hr_read_seq": F.col("_hr_read_seq") + 1}
    moved = spark.read.format("hudi").load(str(project.lake)).where("order_id = 7").drop(*META).withColumns(changed)
    options = {
        "hoodie.table.name": "orders",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": "false",
        "hoodie.metadata.enable": "false",
    }
    moved.write.format("hudi").options(**options).mode("append").save(str(project.lake))
    rows = in_lake(spark, project, "order_id", "_hoodie_partition_path", "region")

    sweep = project.json("sweep")

    assert [row[1:] for row in rows if row[0] == 7] == [("region=eu", "eu")]
    assert (sweep.code, sweep.drift) == (1, {"updated_without_watermark": 1}), sweep
