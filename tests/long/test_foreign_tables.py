"""`make foreign`: the other kinds of tables that other tools make. Those of `make test` are in tests/integration."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.app.doctor.lake import find_writers
from tests.integration.foreign import Maker, version_of
from tests.integration.project import in_lake
from tests.integration.test_foreign_tables import COMPLEX, REST, adopted, repaired, stays_its_own
from tests.support.postgres import Database


@pytest.mark.parametrize("maker", REST, ids=lambda maker: maker.name)
def test_table_of_another_tool_is_corrected_in_one_commit_and_stays_its_own(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], maker: Maker
) -> None:
    stays_its_own(maker, spark, pg, tmp_path, capsys)


def test_clustering_that_is_planned_in_version_6_is_no_writer_and_what_it_will_not_take_is_corrected(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = adopted(COMPLEX, spark, pg, tmp_path, capsys)
    kept = "hoodie.write.table.version=6,hoodie.write.auto.upgrade=false"
    plan = f"path => '{project.lake}', op => 'schedule', predicate => \"region = 'north'\", options => '{kept}'"
    spark.sql(f"call run_clustering({plan})").collect()
    assert len(planned(project.lake)) == 1
    pg.execute("update orders set note = 'quiet' where order_id = 1")  # in the south

    repaired(project, spark, 1)

    pg.execute("update orders set note = 'quiet' where order_id = 2")  # in the files that will be clustered
    assert project.json("sweep").code == 1
    denied = project.json("apply", "latest", "--yes")

    assert (denied.code, denied.table["error"]["type"]) == (3, "LakeError"), denied
    assert "HoodieClusteringUpdateException" in denied.table["error"]["message"]
    assert dict(in_lake(spark, project, "order_id", "note"))[2] == "n2"
    assert find_writers(project.lake).without_heartbeat == ()
    assert (len(planned(project.lake)), version_of(project)) == (1, "6")


def planned(lake: Path) -> list[Path]:
    """Requested replacements that are not completed."""
    return [one for one in lake.glob(".hoodie/*.replacecommit.requested") if not one.with_suffix("").exists()]
