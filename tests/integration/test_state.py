"""`state` on a real lake: the checkpoint and its commit, another one by hand with its evidence, and a streamer's table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project, in_lake
from tests.support.postgres import Database


def test_checkpoint_is_shown_set_and_reset_with_evidence(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    pg.execute(
        "create table orders (order_id bigint primary key, updated_at timestamp)",
        "insert into orders select i, timestamp '2025-01-01' + i * interval '1 s' from generate_series(1, 50) i",
    )
    assert project.json("state", "show").table["exists"] is False
    pulled = project.json("pull")
    shown = project.json("state", "show", "-t", "orders").table
    assert (shown["checkpoint"], shown["instant"]) == ("2025-01-01T00:00:50.000000", pulled.table["pull"]["instant"])
    assert project.run("state", "set", "-t", "orders", "--checkpoint", "2025-01-01T00:00:40").code == 5

    given = project.json("state", "set", "-t", "orders", "--checkpoint", "2025-01-01T00:00:40", "--yes")

    assert given.code == 0
    assert len(in_lake(spark, project, "order_id")) == 50
    shown = project.json("state", "show").table
    assert (shown["checkpoint"], shown["instant"]) == ("2025-01-01T00:00:40.000000", given.table["pull"]["instant"])
    logged = [json.loads(line) for line in (tmp_path / "reports" / "audit.jsonl").read_text().splitlines()]
    assert [line["command"] for line in logged] == ["pull", "state set"]
    assert project.json("pull").table["pull"]["rows"] == 10
    assert project.json("state", "reset", "-t", "orders", "--yes").code == 0
    assert project.json("state", "show").table["checkpoint"] is None
    assert project.json("pull").table["pull"]["rows"] == 50
    assert project.json("sweep").code == 0
    assert "2025-01-01T00:00:50" in project.run("state", "show").out


def test_streamers_table_shows_its_checkpoint_and_a_pull_says_what_is_missing(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    pg.execute("create table orders (order_id bigint primary key, updated_at timestamp)")
    options = {
        "hoodie.table.name": "orders",
        "hoodie.datasource.write.recordkey.field": "order_id",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        # As HoodieStreamer leaves it: on the commit's own metadata.
        "hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer.",
        "deltastreamer.checkpoint.key": "2025-01-01 00:00:07",
    }
    rows = spark.sql("select cast(id as bigint) order_id, timestamp_ntz '2025-01-01' updated_at, id ts from range(3)")
    rows.write.format("hudi").options(**options).mode("overwrite").save(str(project.lake))

    shown = project.json("state", "show").table
    refused = project.json("pull")

    assert (shown["made_by"], shown["checkpoint"], shown["ordering_fields"]) == ("another writer", None, ["ts"])
    assert shown["streamer"]["checkpoint"] == "2025-01-01 00:00:07"
    assert shown["streamer"]["key"] == "deltastreamer.checkpoint.key"
    assert refused.code == 5
    assert "'2025-01-01 00:00:07' (deltastreamer.checkpoint.key of commit " in refused.document["error"]["message"]
    assert "keys are made by NON_PARTITION from order_id" in refused.document["error"]["message"]
