"""Turns of the main path, through the command line: moved partitions, odd watermarks, guards, foreign plans, exclusions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project, in_lake, in_source, tree
from tests.support.postgres import Database

COLUMNS = ("order_id", "note", "placed_on", "updated_at")
TABLE = "create table orders (order_id bigint primary key, note text, placed_on date, updated_at timestamp)"
ROWS = (
    "insert into orders select i, 'n' || i, date '2025-01-01' + i, timestamp '2025-01-01' + i * interval '1 minute'"
    " from generate_series(1, 100) i"
)


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A hundred rows, not pulled yet."""
    pg.execute(TABLE, ROWS)
    return Project.of(tmp_path, pg, capsys)


def test_moved_partition_odd_watermarks_and_pending_rows_get_their_kinds_and_are_repaired(
    spark: SparkSession, project: Project
) -> None:
    project.settings["lake"]["partition_by"] = ["month(placed_on)"]
    assert project.run("pull").code == 0
    project.database.execute(
        "update orders set placed_on = '2031-12-31' where order_id = 10",
        "update orders set placed_on = null where order_id = 11",
        "update orders set updated_at = updated_at - interval '1 second', note = 'back' where order_id = 20",
        "update orders set updated_at = null, note = 'timeless' where order_id = 30",
        "insert into orders values (201, 'timeless', '2025-03-03', null)",
        "insert into orders values (202, 'new', '2025-03-03', '2025-06-01')",
        "update orders set note = 'newer', updated_at = '2025-06-02' where order_id = 40",
    )

    sweep = project.json("sweep")

    assert sweep.code == 1
    assert sweep.drift == {"updated_without_watermark": 3, "regressed": 1, "late_arriving": 1}
    assert sweep.table["not_drift"] == {"pending": 2, "settled": 0, "moving": 0, "odd_key": 0}
    assert {(item["key"]["order_id"], item["kind"], tuple(item["columns"])) for item in project.findings()} == {
        (10, "updated_without_watermark", ("placed_on",)),
        (11, "updated_without_watermark", ("placed_on",)),
        (20, "regressed", ("note", "updated_at")),
        (30, "updated_without_watermark", ("note", "updated_at")),
        (201, "late_arriving", ()),
    }
    assert sorted(item["key"]["order_id"] for item in project.findings("--kind", "pending")) == [40, 202]

    applied = project.json("apply", "latest", "--yes")
    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 5)
    assert applied.table["not_drift"]["pending"] in (0, 1, 2)
    pull = project.json("pull")
    assert (pull.code, pull.table["pull"]["rows"], pull.table["pull"]["mode"]) == (0, 2, "incremental")
    again = project.json("sweep")
    assert (again.code, again.document["outcome"]) == (0, "clean")
    assert sum(again.table["not_drift"].values()) == 0
    assert in_lake(spark, project, *COLUMNS) == in_source(project, *COLUMNS)


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_table_with_a_bloom_index_is_pulled_swept_and_corrected_as_any(
    spark: SparkSession, project: Project, kind: str
) -> None:
    project.settings["lake"] |= {"index": "bloom", "type": kind}
    assert project.run("pull").code == 0
    project.database.execute(
        "update orders set note = 'later', updated_at = '2025-06-01' where order_id in (3, 97)",
        "insert into orders values (301, 'new', '2025-03-03', '2025-06-02')",
    )
    assert project.json("pull").table["pull"]["rows"] == 3
    project.database.execute(
        "update orders set note = 'silent' where order_id = 50",
        "delete from orders where order_id = 60",
        "insert into orders values (-5, 'late', '2025-03-03', '2025-01-01')",
    )

    swept, applied = project.json("sweep"), project.json("apply", "latest", "--yes")

    assert swept.drift == {"updated_without_watermark": 1, "deleted": 1, "late_arriving": 1}
    assert (applied.document["outcome"], applied.table["corrections"]["applied"]) == ("corrected", 3)
    assert in_lake(spark, project, *COLUMNS) == in_source(project, *COLUMNS)


@pytest.mark.usefixtures("spark")
def test_table_whose_pull_is_refused_is_compared_by_the_nightly_run_all_the_same(project: Project) -> None:
    project.source["time_zone"] = "Etc/GMT-14"  # 14 h ahead of UTC
    project.json("pull")
    project.database.execute(
        "insert into orders values (101, 'n', '2025-01-01', now() at time zone 'UTC' + interval '13 hours')"
    )
    pulled = project.json("pull")
    project.source["time_zone"] = "UTC"
    project.database.execute("update orders set note = 'silent' where order_id = 7")

    nightly = project.json("run", "--apply")

    assert any("the newest updated_at is 1 h behind" in note for note in pulled.table["notes"]), pulled.table["notes"]
    assert (nightly.code, nightly.table["error"]["type"]) == (5, "RefusedError"), nightly
    assert "s ahead of the database's clock" in nightly.table["error"]["message"]
    assert (nightly.drift, nightly.table["corrections"]["applied"]) == ({"updated_without_watermark": 1}, 0)
    assert [one["key"]["order_id"] for one in project.findings()] == [7]


def test_keys_with_blank_parts_and_hudis_own_words_are_pulled_swept_repaired_and_undone(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pg.execute(
        "create table parts (plant text not null, lot text not null, note text, updated_at timestamp not null,"
        " primary key (plant, lot))",
        "insert into parts select p, l, 'n', '2025-01-01' from unnest(array['', '__empty__', '__null__', 'a,lot:b', 'a']) p,"
        " unnest(array['', '__empty__', '__null__', 'b', 'b,lot:b']) l",
    )
    project = Project.of(tmp_path, pg, capsys)
    project.settings["source"] = {"table": "public.parts"}
    project.settings["policy"] = {"max_delete_share": "50%", "max_upsert_share": "50%"}

    pulled = project.json("pull")
    clean = project.json("sweep")
    pg.execute(
        "update parts set note = 'silent' where plant = '' and lot in ('', '__empty__')",
        "delete from parts where plant = 'a' and lot = 'b,lot:b' or plant = '__null__' and lot = '__null__'",
        "insert into parts values ('a,lot:b', 'b,lot:', 'late', '2024-01-01')",
    )
    drift = project.json("sweep")
    applied = project.json("apply", "latest", "--yes")
    proved = project.json("sweep")
    undone = project.json("undo", applied.document["run_id"], "--yes")
    again = project.json("sweep")
    pg.execute("alter table parts add qty int", "update parts set qty = 7, updated_at = '2025-02-01' where plant = ''")
    grown, shown = (
        project.json("pull"),
        project.run("changes", "-t", "orders", "--type", "upsert", "--format", "ndjson"),
    )

    assert (grown.code, grown.table["pull"]["rows"], shown.code) == (0, 5, 0), (grown, shown)
    changed = [json.loads(line) for line in shown.out.splitlines()]
    assert len([one for one in changed if one["after"]["qty"] == 7]) == 5
    assert {tuple(one["after"]) for one in changed} == {("plant", "lot", "note", "updated_at", "_hr_read_seq", "qty")}
    assert (pulled.code, pulled.table["pull"]["rows"], clean.code) == (0, 25, 0), (pulled, clean)
    assert drift.drift == {"updated_without_watermark": 2, "deleted": 2, "late_arriving": 1}, drift
    assert (applied.code, applied.document["outcome"], proved.code) == (0, "corrected", 0), applied
    assert (undone.code, again.drift) == (0, drift.drift), undone
    assert not [column for column in drift.table["schema"] if "_hr_" in str(column)]


def test_plans_are_carried_out_once_unchanged_for_their_own_table_and_within_limits(
    spark: SparkSession, project: Project
) -> None:
    assert project.run("pull").code == 0
    project.database.execute("delete from orders where order_id <= 10")
    assert project.run("sweep").code == 1
    plan_file = project.last_run() / "orders" / "plan.json"
    lake = tree(project.lake)

    def refused(*arguments: str, word: str) -> None:
        ran = project.json("apply", "latest", *arguments)
        assert (ran.code, ran.document["outcome"]) == (5, "refused"), ran
        assert word in ran.document["error"]["message"] + ran.document["error"]["fix"], ran
        assert tree(project.lake) == lake

    refused("--yes", word="max_delete_share")
    refused("--yes", "--approve-deletes", "9", word="approve_deletes")
    refused("--approve-deletes", "10", word="--yes")
    original = plan_file.read_text()
    edited = json.loads(original)
    edited["guards"] = [{**guard, "ok": True} for guard in edited["guards"]]
    plan_file.chmod(0o644)
    plan_file.write_text(json.dumps(edited))
    refused("--yes", "--approve-deletes", "10", word="was changed")
    plan_file.write_text(original)
    project.settings["lake"]["path"] = "lake/other"
    refused_elsewhere = project.json("apply", "latest", "--yes", "--approve-deletes", "10")
    assert (refused_elsewhere.code, tree(project.folder / "lake" / "orders")) == (5, lake)
    assert not (project.lake / ".hoodie").exists()
    project.settings["lake"]["path"] = "lake/orders"
    project.settings["policy"] = {"max_delete_share": "1%", "require_approval": True}
    refused("--yes", "--approve-deletes", "10", word="approve 2")
    approved = project.json("approve", "latest", "--as", "alice")
    assert (approved.code, approved.document["outcome"], approved.table["approval"]["deletes"]) == (0, "approved", 10)
    project.settings["policy"]["approver"] = "other_login"
    refused("--yes", "--approve-deletes", "10", word=") only, who planned it")  # the same login planned it
    del project.settings["policy"]["approver"]

    applied = project.json("apply", "latest", "--yes", "--approve-deletes", "10")
    lake = tree(project.lake)
    again = project.json("apply", "latest", "--yes", "--approve-deletes", "10")

    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 10)
    assert applied.table["provenance"]["approved_by"].startswith("alice (")
    assert (again.code, again.document["outcome"], again.table["already_applied"]) == (0, "corrected", True)
    assert again.table["corrections"]["applied"] == 0
    assert tree(project.lake) == lake
    assert in_lake(spark, project, *COLUMNS) == in_source(project, *COLUMNS)
    assert project.json("sweep").code == 0
    assert project.json("apply", "latest", "--yes").code == 2


def test_empty_source_is_drift_that_only_its_own_word_applies(spark: SparkSession, project: Project) -> None:
    assert project.run("pull").code == 0
    project.database.execute("truncate orders")

    sweep = project.json("sweep")

    assert (sweep.code, sweep.drift) == (1, {"deleted": 100})
    assert {guard["name"]: guard["ok"] for guard in sweep.table["guards"]}["empty_source"] is False
    lake = tree(project.lake)
    refused = project.json("apply", "latest", "--yes", "--approve-deletes", "100")
    assert (refused.code, tree(project.lake)) == (5, lake)
    meant = project.json("apply", "latest", "--yes", "--approve-deletes", "100", "--allow-empty-source")
    assert (meant.code, meant.table["corrections"]["applied"]) == (0, 100)
    assert in_lake(spark, project, "order_id") == []


def test_column_that_cannot_be_compared_is_unverified_until_it_is_left_out_on_purpose(
    spark: SparkSession, project: Project
) -> None:
    project.database.execute(
        "alter table orders add column doc regclass default 'pg_class', add column \"Odd:Name 100%\" text default 'x'"
    )
    project.settings["compare"] = {"rename": {"Odd:Name 100%": "odd_name"}}
    assert project.run("pull").code == 0

    sweep = project.json("sweep")

    assert (sweep.code, sweep.document["outcome"]) == (3, "unverified")
    (gap,) = sweep.table["unverified"]
    assert (gap["what"], gap["name"]) == ("column", "doc")
    assert "exclude: [doc]" in gap["fix"]
    project.settings["compare"]["exclude"] = ["doc"]
    again = project.json("sweep")
    assert (again.code, again.document["outcome"]) == (0, "clean")
    project.database.execute("update orders set \"Odd:Name 100%\" = 'y:%' where order_id = 3")
    assert project.json("sweep").drift == {"updated_without_watermark": 1}
    (found,) = project.findings()
    assert found["columns"] == ["Odd:Name 100%"]
    assert project.json("apply", "latest", "--yes").code == 0
    assert in_lake(spark, project, "order_id", "odd_name") == in_source(project, "order_id", '"Odd:Name 100%"')


def test_row_of_more_columns_than_spark_compiles_into_one_stage_is_swept_and_corrected(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = [f"c{number}" for number in range(int(str(spark.conf.get("spark.sql.codegen.maxFields"))))]
    columns, values = ", ".join(f"{name} text" for name in more), ", ".join(f"'{name}-' || i" for name in more)
    pg.execute(
        f"create table orders (order_id bigint primary key, {columns}, updated_at timestamp)",
        f"insert into orders select i, {values}, timestamp '2025-01-01' + i * interval '1 minute'"
        " from generate_series(1, 100) i",
    )
    project = Project.of(tmp_path, pg, capsys)
    assert project.run("pull").code == 0
    pg.execute("update orders set c7 = 'silent' where order_id = 50", "delete from orders where order_id = 60")

    swept = project.json("sweep")
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "true")  # as a new process has it: Hudi switches it off
    applied = project.json("apply", "latest", "--yes")

    assert swept.drift == {"updated_without_watermark": 1, "deleted": 1}
    assert (applied.document["outcome"], applied.table["corrections"]["applied"]) == ("corrected", 2), applied
    assert in_lake(spark, project, "order_id", *more) == in_source(project, "order_id", *more)
