"""Corrections through the command line: doubled keys repaired beside others, a savepoint, and the whole taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.project import Project, in_lake, in_source
from tests.support.postgres import Database

ORDERS = (
    "create table orders (order_id bigint primary key, note text, updated_at timestamp)",
    "insert into orders select i, 'n' || i, timestamp '2025-01-01' from generate_series(1, 40) i",
)


def fails(*_: object) -> NoReturn:
    raise LakeError("the second commit is not made", fix="apply again")


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_doubled_keys_are_repaired_and_the_other_corrections_taken_back_once(
    spark: SparkSession,
    pg: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    pg.execute(*ORDERS)
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["type"] = kind
    project.settings["mask"] = {"note": "redact"}
    assert project.run("pull").code == 0
    before = in_lake(spark, project, "order_id", "note", "updated_at")
    doubled_by_another(spark, project, "order_id in (7, 8)")
    pg.execute("delete from orders where order_id = 1", "update orders set note = 'quiet' where order_id = 2")

    sweep = project.json("sweep")
    assert sweep.drift == {"duplicate_key": 2, "deleted": 1, "updated_without_watermark": 1}
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(HudiLake, "replace", fails)  # between the two commits
        failed = project.json("apply", "latest", "--yes")
    assert failed.code == 3, failed
    assert (failed.table["corrections"]["applied"], len(failed.table["corrections"]["instants"])) == (2, 1)
    assert (failed.table["uncorrected"]["by_reason"], failed.table["uncorrected"]["listed_rows"]) == ({"failed": 2}, 0)
    applied = project.json("apply", "latest", "--yes")

    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 4), applied
    assert applied.table["corrections"]["superseded"] == 0
    assert len(applied.table["corrections"]["instants"]) == 2
    assert applied.table["corrections"]["savepoint"]
    assert project.left(applied) == {}
    assert in_lake(spark, project, "order_id", "note", "updated_at") == in_source(
        project, "order_id", "note", "updated_at"
    )
    found = project.json("apply", "latest", "--yes")
    assert (found.code, found.table["already_applied"], found.table["corrections"]["applied_before"]) == (0, True, 4)

    undone = project.json("undo", applied.document["run_id"], "--yes", "-t", "orders")

    assert undone.document["provenance"]["choice"] == ["-t", "orders"]
    # All rows of the unpartitioned table were written anew for the doubled ones: the updated row is no longer ours.
    assert (undone.code, undone.table["corrections"]["applied"]) == (4, 1), undone
    assert undone.table["corrections"]["superseded"] == 1
    assert in_lake(spark, project, "order_id")[0] == before[0][:1]
    again = project.json("undo", applied.document["run_id"], "--yes")
    assert (again.code, again.table["already_applied"], again.table["corrections"]["superseded"]) == (4, True, 1)
    by_the_run_that_found_it = project.json("undo", "latest", "--yes")
    assert (by_the_run_that_found_it.code, by_the_run_that_found_it.table["already_applied"]) == (4, True)
    refused = project.json("apply", sweep.document["run_id"], "--yes")
    assert (refused.code, "was undone" in refused.table["error"]["message"]) == (5, True)


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_every_row_that_an_apply_left_is_listed_with_its_reason_and_again_from_the_commit_alone(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    pg.execute(*ORDERS)
    project = Project.of(tmp_path, pg, capsys)
    project.settings |= {"mask": {"note": "redact"}, "rules": "rules.yaml"}
    project.settings["lake"]["type"] = kind
    rule = {"id": "short", "check": "matches", "column": "note", "regex": "^.{1,8}$", "quarantine": True}
    (tmp_path / "rules.yaml").write_text(json.dumps({"version": 1, "table": "orders", "rules": [rule]}))
    assert project.run("pull").code == 0
    pg.execute(
        "delete from orders where order_id in (1, 2)",
        "update orders set note = 'quiet' where order_id in (3, 4, 5)",
        "update orders set note = 'canary much too long' where order_id = 6",
    )
    sweep = project.json("sweep")
    assert sweep.code == 1
    pg.execute(
        "update orders set note = 'later' where order_id = 4", "insert into orders values (2, 'n2', '2025-01-01')"
    )
    overwritten_by_another(spark, project, 5)
    lake = in_lake(spark, project, "order_id", "note")

    refused = project.json("apply", "latest", "--yes", "--approve-deletes", "7")
    part = project.json("apply", "latest", "--yes", "--only", "delete")
    rest = project.json("apply", "latest", "--yes")
    again = project.json("apply", "latest", "--yes")

    assert (refused.code, refused.table["uncorrected"]["by_reason"]) == (5, {"refused": 6})
    assert refused.table["uncorrected"]["plan_run"] == sweep.document["run_id"]
    assert (part.code, project.left(part)) == (4, {2: "moved", **dict.fromkeys((3, 4, 5, 6), "not_asked")})
    left = {2: "moved", 4: "moved", 5: "superseded", 6: "held"}
    assert (rest.code, project.left(rest), rest.table["corrections"]["applied"]) == (4, left, 1)
    assert (again.code, project.left(again), again.table["already_applied"]) == (4, left, True)
    now = {row[0]: row for row in in_lake(spark, project, "order_id", "note")}
    assert {key: now[key] for key in left} == {row[0]: row for row in lake if row[0] in left}
    folder = tmp_path / "reports" / rest.document["run_id"] / "orders" / "uncorrected"
    (held,) = [row for row in pq.read_table(folder).to_pylist() if row["reason"] == "held"]
    assert (held["rules"], "canary" in str(held)) == (["short"], False)
    assert f"findings {rest.document['run_id']} --uncorrected" in (folder.parent.parent / "report.html").read_text()
    assert project.run("audit", "verify").code == 0


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_parts_of_a_plan_that_follow_a_broken_apply_know_what_their_own_commits_wrote(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    pg.execute(*ORDERS)
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["type"] = kind
    assert project.run("pull").code == 0
    doubled_by_another(spark, project, "order_id in (7, 8)")
    pg.execute(
        "delete from orders where order_id in (1, 8)", "update orders set note = 'quiet' where order_id = 2",
        "insert into orders values (41, 'late', '2024-01-01')",
    )  # fmt: skip
    assert project.json("sweep").code == 1
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(HudiLake, "replace", fails)  # rows 2 and 41 are written, 1 deleted; 7 and 8 are doubled
        assert project.json("apply", "latest", "--yes").code == 3

    deletes = project.json("apply", "latest", "--yes", "--only", "delete")
    upserts = project.json("apply", "latest", "--yes", "--only", "upsert")
    again = project.json("apply", "latest", "--yes")

    assert (deletes.code, deletes.table["corrections"]["applied"], project.left(deletes)) == (4, 2, {7: "not_asked"})
    assert upserts.code == 0, upserts
    assert (upserts.table["corrections"]["applied"], upserts.table["corrections"]["applied_before"]) == (3, 2)
    assert (again.code, again.table["corrections"]["applied_before"]) == (0, 5)
    columns = ("order_id", "note", "updated_at")
    assert in_lake(spark, project, *columns) == in_source(project, *columns)
    assert project.json("sweep").code == 0


def doubled_by_another(spark: SparkSession, project: Project, which: str) -> None:
    """Another writer's insert doubles rows of the lake."""
    rows = spark.read.format("hudi").load(str(project.lake)).where(which)
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "bulk_insert"}
    copies = rows.select("order_id", "note", "updated_at", "_hr_read_seq").localCheckpoint()
    copies.write.format("hudi").options(**options).mode("append").save(str(project.lake))


def overwritten_by_another(spark: SparkSession, project: Project, key: int) -> None:
    """Another writer writes a row of the lake anew."""
    rows = spark.read.format("hudi").load(str(project.lake)).where(f"order_id = {key}")
    row = rows.select("order_id", F.lit("theirs").alias("note"), "updated_at", F.col("_hr_read_seq") + 1)
    named = row.toDF("order_id", "note", "updated_at", "_hr_read_seq").localCheckpoint()
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "upsert"}
    named.write.format("hudi").options(**options).mode("append").save(str(project.lake))


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_rows_that_another_writer_put_ahead_of_our_sequence_are_corrected_and_pulled_again(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    pg.execute(*ORDERS)
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["type"] = kind
    assert project.run("pull").code == 0
    ahead = spark.sql(
        "select explode(array(3L, 99L)) as order_id, 'theirs' as note, timestamp_ntz '2025-01-01' as updated_at,"
        " 9000000000000000000L as _hr_read_seq"
    )
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "upsert"}
    ahead.write.format("hudi").options(**options).mode("append").save(str(project.lake))

    sweep, applied = project.json("sweep"), project.json("apply", "latest", "--yes")

    assert sweep.drift == {"updated_without_watermark": 1, "deleted": 1}
    assert (applied.document["outcome"], applied.table["corrections"]["applied"]) == ("corrected", 2), applied
    pg.execute("update orders set note = 'later', updated_at = '2025-06-01' where order_id = 3")
    assert project.json("pull").table["pull"]["rows"] == 1
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")
    assert project.json("sweep").code == 0
