"""Corrections through the command line: doubled keys repaired beside others, a savepoint, and the whole taken back."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.project import Project, in_lake, in_source
from tests.support.postgres import Database


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
    pg.execute(
        "create table orders (order_id bigint primary key, note text, updated_at timestamp)",
        "insert into orders select i, 'n' || i, timestamp '2025-01-01' from generate_series(1, 40) i",
    )
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["type"] = kind
    project.settings["mask"] = {"note": "redact"}
    assert project.run("pull").code == 0
    before = in_lake(spark, project, "order_id", "note", "updated_at")
    columns = ("order_id", "note", "updated_at", "_hr_read_seq")
    copies = spark.read.format("hudi").load(str(project.lake)).select(*columns).where("order_id in (7, 8)")
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "bulk_insert"}
    copies.localCheckpoint().write.format("hudi").options(**options).mode("append").save(str(project.lake))
    pg.execute("delete from orders where order_id = 1", "update orders set note = 'quiet' where order_id = 2")

    sweep = project.json("sweep")
    assert sweep.drift == {"duplicate_key": 2, "deleted": 1, "updated_without_watermark": 1}
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(HudiLake, "replace", fails)  # between the two commits
        failed = project.json("apply", "latest", "--yes")
    assert failed.code == 3, failed
    assert (failed.table["corrections"]["applied"], len(failed.table["corrections"]["instants"])) == (2, 1)
    applied = project.json("apply", "latest", "--yes")

    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 4), applied
    assert applied.table["corrections"]["superseded"] == 0
    assert len(applied.table["corrections"]["instants"]) == 2
    assert applied.table["corrections"]["savepoint"]
    assert in_lake(spark, project, "order_id", "note", "updated_at") == in_source(
        project, "order_id", "note", "updated_at"
    )
    found = project.json("apply", "latest", "--yes")
    assert (found.code, found.table["already_applied"], found.table["corrections"]["applied_before"]) == (0, True, 4)

    undone = project.json("undo", applied.document["run_id"], "--yes")

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
