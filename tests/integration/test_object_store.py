"""A lake on an object store: the whole story, a kill, and two hosts that race, on an S3 of this machine."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.killed import killed_at
from tests.integration.project import Project
from tests.support.kill_places import PLACES
from tests.support.object_store import BUCKET, ObjectStore, any_store, begin, store_jars
from tests.support.one_session import OneSession
from tests.support.postgres import Database
from tests.support.second_writer import Gate

PATIENCE_SECONDS = 240.0
LEASE = "wh/.orders.hr-lease.json"
MAKE = "create table orders (order_id bigint primary key, note text, updated_at timestamp not null)"
FILL = (
    "insert into orders select i, 'n' || i, timestamp '2025-01-01' + i * interval '1 min'"
    " from generate_series({}, {}) i"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with any_store(tmp_path_factory.mktemp("store")) as found:
        yield found


@pytest.fixture(scope="module")
def process(store: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneSession]:
    """A process whose Spark is set up for the store: each test asks it with its own config."""
    folder = tmp_path_factory.mktemp("process")
    write_secret(folder)
    table = {"name": "none", "source": {"table": "none"}, "lake": {"path": f"s3a://{BUCKET}/none"}}
    source = {"url": "postgresql+psycopg://nobody@127.0.0.1:1/none"}
    config = {"version": 1, "source": source, **sections(store), "tables": [table]}
    (folder / "reconcile.yaml").write_text(json.dumps(config))
    with OneSession(folder / "reconcile.yaml", folder / "session.log") as found:
        yield found


def write_secret(folder: Path) -> None:
    (folder / "s3-secret").write_text("s3-canary")
    (folder / "s3-secret").chmod(0o600)


def sections(store: ObjectStore) -> dict[str, Any]:
    """Of a config: what reaches the store."""
    return {
        "spark": {"master": "local[2]", "conf": {**store.conf, "spark.driver.memory": "1g"}},
        "jars": {"paths": [str(path) for path in store_jars()]},
    }


@pytest.fixture
def project(store: ObjectStore, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A table of 200 rows, and a lake on the store that is empty."""
    pg.execute(MAKE, FILL.format(1, 200))
    project = Project.of(tmp_path, pg, capsys)
    write_secret(tmp_path)
    project.settings["lake"] |= {"path": f"s3a://{BUCKET}/wh/orders", "options": store.lock_options("orders")}
    project.top = sections(store)
    return project


def test_lake_on_a_store_goes_through_pull_sweep_apply_undo_and_changes_and_survives_a_kill(
    project: Project, store: ObjectStore, process: OneSession
) -> None:
    session = process.of(project.write_config())
    goes_through(project, session, lambda: LEASE in store.names())
    assert "s3-canary" not in session.log.read_text()


def goes_through(project: Project, session: OneSession, is_leased: Callable[[], bool]) -> None:
    """Pull, sweep, apply, undo, changes; then a pull that is killed in its commit, and a night that ends right."""
    assert session.json("pull")["outcome"] == "pulled"
    project.database.execute(
        "update orders set note = 'silent' where order_id <= 3",
        "delete from orders where order_id in (10, 11)",
        FILL.format(301, 305),
    )
    swept = session.json("sweep")
    applied = session.json("apply", "latest", "--yes")
    undone = session.json("undo", applied["run_id"], "--yes")
    code, changes = session.run("changes", "-t", "orders", "--type", "min-delta", "--format", "ndjson")
    assert session.run("audit", "verify")[0] == 0

    assert (swept["outcome"], swept["tables"][0]["findings"]["deleted"]) == ("drift", 2)
    assert (applied["outcome"], applied["tables"][0]["corrections"]["applied"]) == ("corrected", 5)
    assert undone["exit_code"] == 0
    assert (code, Counter(json.loads(line)["op"] for line in changes.splitlines())) == (0, {"i": 200})
    assert not is_leased()
    project.database.execute(FILL.format(401, 403))
    killed_at(project, [place.name for place in PLACES].index("before a page is written to a table that is there"))
    assert is_leased()
    again = session.json("run", "--apply")
    assert (again["outcome"], again["tables"][0]["pull"]["rows"]) == ("corrected", 8)
    assert again["tables"][0]["corrections"]["applied"] == 5


def test_of_two_hosts_that_pull_into_a_store_one_writes_and_the_other_says_who_and_nothing_is_doubled(
    project: Project, store: ObjectStore, process: OneSession, tmp_path: Path
) -> None:
    project.settings["lake"]["path"] = f"s3a://{BUCKET}/wh/raced"
    project.settings["lake"]["options"] = store.lock_options("raced")
    lease, config, gate = "wh/.raced.hr-lease.json", project.write_config(), Gate(tmp_path / "gate")
    pull = ("pull", "--format", "json")
    both = [begin(config, *pull, host=host, log=tmp_path / f"{host}.log") for host in ("east", "west")]

    raced = [finished(process) for process in both]

    assert sorted(one["outcome"] for one in raced) in (["pulled", "refused"], ["pulled", "pulled"]), raced
    project.database.execute(FILL.format(301, 305))
    stalled = begin(config, *pull, host="east", log=tmp_path / "stalled.log", hold=gate)
    gate.wait()
    session = process.of(config)
    kept_out = session.json("pull")
    held = json.loads(store.get(lease))
    store.put(lease, json.dumps(held | {"expires_ms": 0}))  # as if the host had stood still for five minutes
    heir = session.json("pull")
    gate.open()
    late = finished(stalled)
    swept = session.json("sweep")

    assert (kept_out["outcome"], held["holder"]["host"]) == ("refused", "east")
    assert "host east" in kept_out["tables"][0]["error"]["message"]
    assert (heir["outcome"], heir["tables"][0]["pull"]["rows"]) == ("pulled", 5)
    assert (late["outcome"], late["exit_code"]) == ("unverified", 3)
    assert "was lost while this process stood still" in late["tables"][0]["error"]["message"]
    assert (swept["outcome"], swept["tables"][0]["lake"]["rows"]) == ("clean", 205)
    assert swept["tables"][0]["findings"]["duplicate_key"] == 0


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    document: dict[str, Any] = json.loads(out)
    assert document["exit_code"] == process.returncode
    return document
