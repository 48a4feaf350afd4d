"""Outputs are written where the config says, whole, and never change how a run ended."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from threading import Thread

import pytest
from junitparser import JUnitXml

from hudi_reconcile.app.outputs import deliver, name_datasets
from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.model import Config, OpenLineageConfig, OutputsConfig
from hudi_reconcile.report.outputs.openlineage import Dataset, Ends
from hudi_reconcile.report.outputs.prometheus import name_metrics
from tests.unit.report.stories import all_stories

RUN = all_stories()["checked"].run
ENDS = {
    name: Ends(Dataset("postgres://h:5432", f"d.{name}"), Dataset("file", f"/lake/{name}"))
    for name in ("orders", "Order Items", "payments")
}
SECONDS = 20
DRIFT = all_stories()["unverified"].run


def test_every_output_is_written_where_the_config_says(tmp_path: Path) -> None:
    outputs = OutputsConfig(
        junit=tmp_path / "ci" / "junit.xml",
        prometheus=tmp_path / "metrics",
        ndjson=tmp_path / "runs.ndjson",
        github=True,
        openlineage=OpenLineageConfig(file=tmp_path / "lineage.ndjson", namespace="shop"),
    )
    environ = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}

    first, second = deliver(outputs, DRIFT, environ, ENDS), deliver(outputs, RUN, environ, ENDS)

    assert [suite.name for suite in JUnitXml.fromfile(str(tmp_path / "ci" / "junit.xml"))] == ["orders"]
    config = str(Path(RUN["provenance"]["config"]).absolute())
    assert sorted(path.name for path in (tmp_path / "metrics").iterdir()) == [
        name_metrics("check", config),
        name_metrics("sweep", config),
    ]
    told = [json.loads(line) for line in (tmp_path / "runs.ndjson").read_text().splitlines()]
    assert [(one["command"], one["table"], one["outcome"]) for one in told] == [
        ("sweep", "orders", "unverified"),
        ("sweep", "Order Items", "clean"),
        ("sweep", "payments", "unverified"),
        ("check", "orders", "unverified"),
    ]
    assert len((tmp_path / "lineage.ndjson").read_text().splitlines()) == 2 * 4
    assert (tmp_path / "summary.md").read_text().count("## hudi-reconcile") == 2
    assert [line for line in (*first, *second) if not line.startswith("::")] == []
    assert second


def test_two_configs_that_share_a_folder_write_files_of_their_own_that_hold_no_series_twice(tmp_path: Path) -> None:
    outputs = OutputsConfig(prometheus=tmp_path)
    for config in ("a/reconcile.yaml", "b/reconcile.yaml"):
        provenance = {**DRIFT["provenance"], "config": str(tmp_path / config)}
        assert deliver(outputs, {**DRIFT, "provenance": provenance}, {}, ENDS) == ()
        assert deliver(outputs, {**DRIFT, "provenance": provenance}, {}, ENDS) == ()

    files = sorted(tmp_path.glob("*.prom"))
    series = [line for path in files for line in path.read_text().splitlines() if not line.startswith("#")]
    assert len(files) == 2
    assert len({line.rpartition(" ")[0] for line in series}) == len(series)


def test_two_profiles_of_a_config_write_files_and_series_of_their_own(tmp_path: Path) -> None:
    config = str(tmp_path / "reconcile.yaml")
    for profile in ({}, {"profile": "prod"}, {"profile": "dev"}):
        provenance = {**DRIFT["provenance"], "config": config, **profile}
        assert deliver(OutputsConfig(prometheus=tmp_path), {**DRIFT, "provenance": provenance}, {}, ENDS) == ()

    found = [set(re.findall('config="(.*?)"', path.read_text())) for path in tmp_path.glob("*.prom")]
    assert sorted(map(sorted, found)) == [[config], [f"{config}#dev"], [f"{config}#prod"]]


def test_nothing_is_written_where_nothing_is_asked_for(tmp_path: Path) -> None:
    environ = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}

    assert deliver(OutputsConfig(), RUN, environ, ENDS) == ()
    assert list(tmp_path.iterdir()) == []


def test_fifo_that_somebody_put_in_an_outputs_place_holds_no_run(tmp_path: Path) -> None:
    config = str(Path(RUN["provenance"]["config"]).absolute())
    (tmp_path / "metrics").mkdir()
    for name in ("runs.ndjson", "lineage.ndjson", f"metrics/{name_metrics('check', config)}"):
        os.mkfifo(tmp_path / name)
    outputs = OutputsConfig(
        prometheus=tmp_path / "metrics",
        ndjson=tmp_path / "runs.ndjson",
        openlineage=OpenLineageConfig(file=tmp_path / "lineage.ndjson", namespace="shop"),
    )
    said: list[str] = []
    thread = Thread(target=lambda: said.extend(deliver(outputs, RUN, {}, ENDS)), daemon=True)
    thread.start()
    thread.join(SECONDS)

    assert not thread.is_alive()
    assert [line.split(":")[1].strip() for line in said] == ["outputs.ndjson", "outputs.openlineage"]
    assert (tmp_path / "metrics" / name_metrics("check", config)).is_file()


def test_output_that_cannot_be_written_is_said_and_the_others_are_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outputs = OutputsConfig(junit=tmp_path / "file" / "junit.xml", ndjson=tmp_path / "runs.ndjson")

    (said,) = deliver(outputs, RUN, {}, ENDS)

    assert said.startswith(f"warning: outputs.junit: {tmp_path}/file/junit.xml could not be written: ")
    assert (tmp_path / "runs.ndjson").exists()


@pytest.mark.parametrize(
    ("url", "path", "ends"),
    [
        (
            "postgresql+psycopg://u:secret@h/d?sslmode=require",
            "s3a://bucket/lake/o",
            Ends(Dataset("postgres://h:5432", "d.public.Order Items"), Dataset("s3a://bucket", "lake/o")),
        ),
        (
            "jdbc:h2:tcp://h/d;PASSWORD=secret",
            "/lake/o",
            Ends(Dataset("jdbc:h2", "public.Order Items"), Dataset("file", "/lake/o")),
        ),
    ],
)
def test_datasets_are_named_without_anything_secret(tmp_path: Path, url: str, path: str, ends: Ends) -> None:
    table = {"name": "o", "source": {"table": 'public."Order Items"', "key": ["i"]}, "lake": {"path": path}}
    config = Config.model_validate(
        {"version": 1, "source": {"url": "postgresql+psycopg://h/d"}, "tables": [table]}, context=Place("c", tmp_path)
    )

    source = config.source.model_copy(update={"url": url})

    assert name_datasets(config.model_copy(update={"source": source}), config.tables) == {"o": ends}
