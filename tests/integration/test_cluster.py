"""A standalone cluster whose executors see the lake and not the evidence, and executors that die at bad moments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from hudi_reconcile.spark.jars import JarRequest, list_jars
from hudi_reconcile.spark.jvm import find_java
from tests.integration.project import Project
from tests.support.kill_places import ROOT
from tests.support.one_session import OneSession
from tests.support.postgres import Database
from tests.support.spark_cluster import QUICK_CONF, SparkCluster, any_cluster

PATIENCE_SECONDS = 300
RULES = """version: 1
table: orders
rules:
  - {id: ord-001, check: not_null, column: note}
"""


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A table of 400 rows, one of them without a note."""
    pg.execute(
        "create table orders (order_id bigint primary key, at_day date, note text, updated_at timestamp not null)",
        "insert into orders select i, date '2025-01-01' + i::int, nullif('n' || i, 'n17'),"
        " timestamp '2025-01-01' + i * interval '1 min' from generate_series(1, 400) i",
    )
    project = Project.of(tmp_path, pg, capsys)
    (tmp_path / "orders.yaml").write_text(RULES)
    (tmp_path / "reports").mkdir(mode=0o700)
    project.settings["rules"] = "orders.yaml"
    return project


@pytest.fixture
def cluster(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with any_cluster(tmp_path_factory.mktemp("cluster"), project.folder / "reports") as found:
        project.top = {"spark": {"master": found.master, "conf": dict(found.conf)}}
        yield found


def submitted(project: Project, cluster: SparkCluster, *arguments: str) -> dict[str, Any]:
    """The result of a command whose session `spark-submit` makes; the config says to join it.

    `spark-submit` puts what Python says on stderr into stdout, so that the document is not alone there.
    """
    project.top = {"spark": {"master": None}}
    script = project.folder / "nightly.py"
    script.write_text("from hudi_reconcile.__main__ import main\n\nmain()\n")
    jars = ",".join(str(jar.path) for jar in list_jars(JarRequest(), {}))
    conf = dict(cluster.conf)
    for key in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        conf[key] = f"-Duser.timezone=UTC {conf[key]}"
    told = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    home = Path(pyspark.__file__).parent
    submit = [str(home / "bin" / "spark-submit"), "--master", cluster.master, "--jars", jars, *told, str(script)]
    done = subprocess.run(
        [*submit, "-c", str(project.write_config()), *arguments],
        env={**os.environ, "JAVA_HOME": str(find_java(os.environ).home), "PYSPARK_PYTHON": sys.executable},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    document: dict[str, Any] = json.loads(max((project.folder / "reports").glob("*/result.json")).read_text())
    assert (document["command"], document["exit_code"]) == (arguments[0], done.returncode), done.stdout[-3000:]
    return document


def jars_on_machines(project: Project) -> Path:
    """A folder with the jars, as each machine of a cluster may have it; the project's executors are to look there."""
    folder = project.folder / "jars_of_each_machine"
    folder.mkdir()
    for path in (jar.path for jar in list_jars(JarRequest(), {}) if jar.path is not None):
        (folder / path.name).symlink_to(path)
    project.top["jars"] = {"executor_folder": str(folder)}
    return folder


def sent_to_executors(cluster: SparkCluster) -> set[str]:
    """The files that the driver sent, by the executors' logs."""
    logs = cluster.folder.glob("work*/app-*/*/stderr")
    return {found for log in logs for found in re.findall(r"Fetching (\S+)", log.read_text())}


def master_check(project: Project) -> str:
    """What `doctor` says of the cluster, in a process of its own."""
    doctor = [sys.executable, "-m", "hudi_reconcile", "-c", str(project.write_config()), "doctor", "--format", "json"]
    done = subprocess.run(doctor, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    return {str(check["name"]): str(check["detail"]) for check in json.loads(done.stdout)["checks"]}["spark.master"]


def test_evidence_of_a_cluster_is_on_the_drivers_disk_and_executors_that_die_cost_one_retry(
    project: Project, cluster: SparkCluster, tmp_path: Path
) -> None:
    folder = jars_on_machines(project)
    with OneSession(project.write_config(), tmp_path / "session.log") as session:
        pulled = session.json("pull", kill=("rows read", cluster.folder))
        project.database.execute(
            "update orders set note = 'silent' where order_id between 20 and 29",
            "delete from orders where order_id = 5",
        )
        swept = session.json("sweep", kill=("candidates found", cluster.folder))
        listed = session.run("findings", "latest", "--format", "ndjson")[1].splitlines()
        looked = session.json("doctor")
        applied = session.json("apply", swept["run_id"], "--yes", kill=("corrections checked", cluster.folder))
        after = session.json("sweep")
        assert session.run("audit", "verify")[0] == 0

    for document, outcome in ((pulled, "pulled"), (swept, "drift"), (applied, "corrected"), (after, "clean")):
        assert document["outcome"] == outcome, (document, (tmp_path / "session.log").read_text()[-3000:])
    for document in (pulled, swept, applied):
        assert any("executor was lost" in note for note in document["tables"][0]["notes"]), document
    assert pulled["tables"][0]["pull"]["rows"] == 400
    assert Counter(json.loads(line)["kind"] for line in listed) == {"updated_without_watermark": 10, "deleted": 1}
    assert applied["tables"][0]["corrections"]["applied"] == 11
    found = {check["name"]: check["status"] for check in looked["checks"]}
    assert {found[name] for name in ("spark.master", "executors", "evidence", "orders: executors")} == {"ok"}, looked
    assert sent_to_executors(cluster) == set(), "no jar is sent where each machine has it"
    for jar, said in (("postgresql", "an executor has no"), ("hudi-spark", "no task could finish on an executor with")):
        (gone,) = folder.glob(f"*{jar}*")
        gone.unlink()
        assert f"{said} {gone}" in master_check(project)
    del project.top["jars"]
    (rule,) = submitted(project, cluster, "check")["tables"][0]["rules"]
    assert (rule["status"], rule["keys"]["rows"]) == ("fail", 1), rule
    assert rule["keys"]["sample"] == [{"order_id": 17}]


def test_executors_that_spark_starts_beside_the_driver_do_the_same_work(project: Project, tmp_path: Path) -> None:
    project.top = {"spark": {"master": "local-cluster[1,1,1024]", "conf": QUICK_CONF}}
    with OneSession(project.write_config(), tmp_path / "session.log") as session:
        pulled = session.json("pull")
        project.database.execute(
            "update orders set note = 'silent' where order_id between 20 and 29",
            "delete from orders where order_id = 5",
        )
        swept = session.json("sweep")
        listed = session.run("findings", "latest", "--format", "ndjson")[1].splitlines()
        applied = session.json("apply", swept["run_id"], "--yes")
        after = session.json("sweep")

    for document, outcome in ((pulled, "pulled"), (swept, "drift"), (applied, "corrected"), (after, "clean")):
        assert document["outcome"] == outcome, (document, (tmp_path / "session.log").read_text()[-3000:])
    assert Counter(json.loads(line)["kind"] for line in listed) == {"updated_without_watermark": 10, "deleted": 1}
    assert applied["tables"][0]["corrections"]["applied"] == 11
