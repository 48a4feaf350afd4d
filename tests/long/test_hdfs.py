"""A lake on a real HDFS: the whole story, a kill, and two hosts that race, by Hudi's own lock and no setting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.project import Project
from tests.integration.test_object_store import FILL, MAKE, finished, goes_through
from tests.support.hdfs import Hdfs, any_hdfs
from tests.support.object_store import begin
from tests.support.one_session import OneSession
from tests.support.postgres import Database
from tests.support.second_writer import Gate

LEASE = ".orders.hr-lease.json"


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with any_hdfs(tmp_path_factory.mktemp("hdfs")) as found:
        yield found


@pytest.fixture
def project(hdfs: Hdfs, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A table of 200 rows, and a lake on HDFS that is empty."""
    pg.execute(MAKE, FILL.format(1, 200))
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["path"] = f"{hdfs.url}/{tmp_path.name}/orders"
    project.top = {"spark": {"master": "local[2]", "conf": {"spark.driver.memory": "1g"}}}
    return project


def test_lake_on_hdfs_goes_through_pull_sweep_apply_undo_and_changes_and_survives_a_kill(
    project: Project, hdfs: Hdfs, tmp_path: Path
) -> None:
    with OneSession(project.write_config(), tmp_path / "session.log") as session:
        goes_through(project, session, lambda: LEASE in hdfs.names(f"/{tmp_path.name}"))


def test_of_two_hosts_that_pull_into_hdfs_one_writes_and_the_other_says_who_and_nothing_is_doubled(
    project: Project, tmp_path: Path
) -> None:
    config, gate, pull = project.write_config(), Gate(tmp_path / "gate"), ("pull", "--format", "json")
    both = [begin(config, *pull, host=host, log=tmp_path / f"{host}.log") for host in ("east", "west")]
    raced = [finished(process) for process in both]
    project.database.execute(FILL.format(301, 305))
    writing = begin(config, *pull, host="east", log=tmp_path / "writing.log", hold=gate)
    gate.wait()
    with OneSession(config, tmp_path / "session.log") as session:
        kept_out = session.json("pull")
        gate.open()
        written = finished(writing)
        swept = session.json("sweep")

    assert sorted(one["outcome"] for one in raced) in (["pulled", "refused"], ["pulled", "pulled"]), raced
    assert kept_out["outcome"] == "refused", kept_out
    assert "host east" in kept_out["tables"][0]["error"]["message"]
    assert (written["outcome"], written["tables"][0]["pull"]["rows"]) == ("pulled", 5), json.dumps(written)
    assert (swept["outcome"], swept["tables"][0]["lake"]["rows"]) == ("clean", 205)
    assert swept["tables"][0]["findings"]["duplicate_key"] == 0
