"""`cost.lake_files_read` on a real table: exactly the files of the latest file slices, and those that Spark says it scanned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project
from tests.support.postgres import Database

JANUARY = ("--where-partition", "placed_on_month=2025-01")


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Twenty orders in two months; a first pull is to make the lake of them."""
    pg.execute(
        "create table orders (order_id bigint primary key, note text, placed_on date, updated_at timestamp)",
        "insert into orders select i, 'n' || i, date '2025-01-05' + ((i - 1) / 10) * interval '1 month',"
        " timestamp '2025-05-01' + i * interval '1 minute' from generate_series(1, 20) i",
    )
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["partition_by"] = ["month(placed_on)"]
    return project


def latest_files(lake: Path) -> set[Path]:
    """Base files of the newest instant of each file group, and the log files written since."""
    bases: dict[str, tuple[str, Path]] = {}
    for path in lake.glob("*/*.parquet"):
        group, _, instant = path.stem.split("_")
        bases[group] = max(bases.get(group, ("", path)), (instant, path))
    logs = {path for path in lake.glob("*/.*.log.*") if not path.name.endswith(".crc")}
    newer = {
        path for path in logs if (found := re.match(r"\.(.+)_(\d+)\.log", path.name)) and found[2] > bases[found[1]][0]
    }
    return {path for _, path in bases.values()} | newer


def scans(spark: SparkSession, since: int) -> list[int]:
    """`number of files read` of every scan of the lake by a query of a later id than this.

    By id, not by place: the store forgets its oldest queries, so that places move.
    """
    store = spark._jsparkSession.sharedState().statusStore()
    found = []
    for query in (one for one in query_ids(spark) if one > since):
        nodes, figures = store.planGraph(query).allNodes(), store.executionMetrics(query)
        for node in (nodes.apply(place) for place in range(nodes.size())):
            metrics = (node.metrics().apply(place) for place in range(node.metrics().size()))
            found += [
                int(figures.apply(one.accumulatorId()).replace(",", ""))
                for one in metrics
                if one.name() == "number of files read" and "HoodieFileIndex" in node.desc()
            ]
    return found


def query_ids(spark: SparkSession) -> list[int]:
    """The ids of the queries that Spark's store of states remembers, in the order in which they began."""
    done = spark._jsparkSession.sharedState().statusStore().executionsList()
    return sorted(done.apply(place).executionId() for place in range(done.size()))


def last_query(spark: SparkSession) -> int:
    return max(query_ids(spark), default=-1)


@pytest.mark.parametrize(("kind", "files"), [("copy_on_write", 2), ("merge_on_read", 3)])
def test_lake_files_read_are_those_of_the_latest_slices(
    spark: SparkSession, project: Project, kind: str, files: int
) -> None:
    project.settings["lake"]["type"] = kind
    first = project.json("pull").table["cost"]
    project.database.execute("update orders set note = 'new', updated_at = timestamp '2025-06-01' where order_id = 1")
    second = project.json("pull").table["cost"]
    since = last_query(spark)

    whole = project.json("sweep").table["cost"]
    scanned = scans(spark, since)
    # Hudi prunes nothing by `_hoodie_partition_path`, and a row that moved is looked for in every partition.
    part = project.json("sweep", *JANUARY).table["cost"]
    scanned_for_part = scans(spark, since)[len(scanned) :]

    assert len(latest_files(project.lake)) == files
    assert (first["lake_files_read"], first["lake_files_counted"]) == (0, True)
    assert (second["lake_files_read"], second["lake_files_counted"]) == (0, False)
    assert [(one["lake_files_read"], one["lake_files_counted"]) for one in (whole, part)] == [(files, True)] * 2
    # Spark counts a base file with its logs as one.
    assert set(scanned) == set(scanned_for_part) == {2}


def test_apply_counts_the_files_of_the_snapshots_around_its_commit(project: Project) -> None:
    assert project.run("pull").code == 0
    project.database.execute("update orders set note = 'other' where order_id = 1")
    assert project.json("sweep").code == 1
    before = latest_files(project.lake)

    cost = project.json("apply", "latest", "--yes").table["cost"]

    after = latest_files(project.lake)
    assert len(after - before) == 1
    assert (cost["lake_files_read"], cost["lake_files_counted"]) == (len(before | after), False)
    assert cost["phases_seconds"].keys() == {"recheck", "write", "verify", "other"}
    assert sum(cost["phases_seconds"].values()) == pytest.approx(cost["seconds"], abs=0.002)
