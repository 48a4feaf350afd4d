"""A finely partitioned table in little memory: a task writes its partitions one after the other, never all at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.project import Project
from tests.support.kill_places import ROOT
from tests.support.postgres import Database

PARTITIONS = 400


def test_first_pull_of_many_partitions_fits_a_small_heap(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pg.execute(
        "create table orders (order_id bigint primary key, placed_on date not null, updated_at timestamp not null)",
        "insert into orders select i, date '2020-01-01' + i % 400, timestamp '2025-01-01' + i * interval '1 minute'"
        " from generate_series(1, 1200) i",
    )
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"]["partition_by"] = ["day(placed_on)"]
    config = json.loads(project.write_config().read_text())
    # All writers at once want more than twice as much.
    config["spark"] = {"master": "local[2]", "conf": {"spark.driver.memory": "600m"}}
    (tmp_path / "small.yaml").write_text(json.dumps(config))

    command = [sys.executable, "-m", "hudi_reconcile", "-c", str(tmp_path / "small.yaml"), "run", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)

    assert done.returncode == 0, done.stderr
    (table,) = json.loads(done.stdout)["tables"]
    assert (table["outcome"], table["lake"]["rows"]) == ("clean", 1200)
    assert len(list(project.lake.glob("*/*.parquet"))) == PARTITIONS
