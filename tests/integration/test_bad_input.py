"""What users get wrong: one line that says what and where, the next command, the right exit code, the lake untouched."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project, Ran, tree
from tests.support.postgres import Database

pytestmark = pytest.mark.usefixtures("spark")  # commands join the one session: a JVM of their own each costs 10 s

TABLE = "create table orders (order_id bigint primary key, note text, updated_at timestamp)"


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    pg.execute(
        TABLE,
        "insert into orders select i, 'n' || i, timestamp '2025-01-01' + i * interval '1 min' from generate_series(1, 20) i",
    )
    return Project.of(tmp_path, pg, capsys)


def told(ran: Ran, code: int, kind: str, *words: str) -> None:
    """The error stands in the document and on stderr, in one line each of message and fix."""
    error = ran.document["error"]
    assert (ran.code, error["type"]) == (code, kind), ran
    for word in words:
        assert word in error["message"] + " " + error["fix"], error
    assert "\n" not in error["message"].strip()
    assert f"error: {error['message']}" in ran.err
    assert f"fix: {error['fix']}" in ran.err
    assert "Traceback" not in ran.err


def test_wrong_password_is_unverified_and_not_repeated(project: Project) -> None:
    (project.folder / "password").write_text("not-the-password")

    ran = project.json("pull")

    told(ran, 3, "SourceError", "refused the password", "source.password")
    assert "not-the-password" not in ran.out + ran.err
    assert not project.lake.exists()


def test_unreachable_host_is_unverified_with_its_address(project: Project) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    project.source["url"] = f"postgresql+psycopg://reader@127.0.0.1:{port}/shop"

    told(project.json("sweep"), 3, "SourceError", f"127.0.0.1:{port}/shop", "source.url")


def test_unknown_host_is_unverified_with_its_name(project: Project) -> None:
    project.source["url"] = "postgresql+psycopg://reader@nowhere.invalid/shop"

    told(project.json("sweep"), 3, "SourceError", "nowhere.invalid:5432/shop")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"table": "public.order"}, ("public.order does not exist", "tables[].source.table")),
        ({"key": ["order_nr"]}, ("source.key names column order_nr", "did you mean order_id?", "columns are:")),
        ({"table": "keyless"}, ("table orders has no primary key", "tables[orders].source.key")),
    ],
)
def test_table_or_key_that_is_not_there_is_a_usage_error(
    project: Project, changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    project.database.execute("create table keyless (order_id bigint, updated_at timestamp)")
    project.settings["source"].update(changes)

    told(project.json("pull"), 2, "UsageError", *words)
    assert not project.lake.exists()


def test_watermark_that_is_not_there_is_a_usage_error(project: Project) -> None:
    project.settings["pull"]["watermark"] = ["update_at"]

    told(project.json("pull"), 2, "UsageError", "did you mean updated_at?")


def test_key_that_occurs_twice_is_refused_with_a_sample(project: Project) -> None:
    project.database.execute(
        "create view twice as select * from orders union all select * from orders where order_id = 7"
    )
    project.settings["source"] = {"table": "twice", "key": ["order_id"]}

    told(project.json("pull"), 5, "RefusedError", "1 keys occur twice", "(7)")
    assert not (project.lake / ".hoodie" / "hoodie.properties").exists()


def test_empty_table_is_pulled_and_clean(project: Project) -> None:
    project.database.execute("truncate orders")

    pull = project.json("pull")
    sweep = project.json("sweep")

    assert (pull.code, pull.table["pull"]["rows"]) == (0, 0)
    assert (sweep.code, sweep.document["outcome"]) == (0, "clean")
    assert (sweep.table["source"]["rows"], sweep.table["lake"]["rows"]) == (0, 0)


def test_sweep_before_the_first_pull_says_to_pull(project: Project) -> None:
    told(project.json("sweep"), 3, "LakeError", "no Hudi table at", " pull -t orders")
    assert not project.lake.exists()


def hudi_table(spark: SparkSession, project: Project, ordering: str) -> None:
    """A table as another Spark program would write it."""
    frame = spark.sql("select 1L order_id, 'n1' note, timestamp_ntz'2025-01-01 00:01:00' updated_at, 5L _hr_read_seq")
    options = {
        "hoodie.table.name": "orders",
        "hoodie.datasource.write.recordkey.field": "order_id",
        "hoodie.datasource.write.precombine.field": ordering,
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.metadata.enable": "false",
    }
    frame.write.format("hudi").options(**options).mode("overwrite").save(str(project.lake))


@pytest.mark.parametrize(
    ("ordering", "words"),
    [
        ("updated_at", ("made by another writer", "updated_at", " sweep -t orders")),
        ("_hr_read_seq", ("carries our checkpoint", " pull -t orders --full")),
    ],
)
def test_lake_of_another_writer_or_without_checkpoint_is_refused_and_left_as_it_was(
    spark: SparkSession, project: Project, ordering: str, words: tuple[str, ...]
) -> None:
    hudi_table(spark, project, ordering)
    before = tree(project.lake)

    told(project.json("pull"), 5, "RefusedError", *words)
    assert tree(project.lake) == before


def test_lake_path_that_cannot_be_written_is_named(project: Project) -> None:
    (project.folder / "lake").write_text("a file where a folder should be")

    ran = project.json("pull")

    told(ran, 3, "LakeError", f"{project.folder}/lake/", "cannot be written")
    assert (project.folder / "lake").read_text() == "a file where a folder should be"


def test_apply_beside_a_table_of_the_run_that_could_not_be_tried_is_not_called_corrected(project: Project) -> None:
    project.database.execute("create table notes (id bigint primary key, at timestamp, seen timestamptz)")
    source = {"source": {"table": "public.notes"}, "lake": {"path": "lake/notes"}}
    project.more = [{"name": "notes", **source, "pull": {"strategy": "timestamp", "watermark": ["at", "seen"]}}]
    assert project.json("pull", "-t", "orders").code == 0
    project.database.execute("delete from orders where order_id = 7")
    assert project.json("sweep").code == 2

    ran = project.json("apply", "latest", "--yes")

    tables = {table["name"]: table for table in ran.document["tables"]}
    assert (ran.code, ran.document["outcome"]) == (2, "usage")
    assert (tables["orders"]["outcome"], tables["orders"]["corrections"]["applied"]) == ("corrected", 1)
    assert [one["name"] for one in tables["notes"]["unverified"]] == ["notes"]


def test_column_of_a_name_with_control_characters_is_refused_with_the_line_to_add_and_carried_by_it(
    project: Project,
) -> None:
    project.database.execute(
        'alter table orders add column "a\x1b[31mb" text', "update orders set \"a\x1b[31mb\" = 'x' || order_id"
    )

    refused = project.json("pull")

    told(refused, 5, "RefusedError", r'compare: {rename: {"a\u001b[31mb": a__31mb}}', "source.columns")
    assert "\x1b" not in refused.out + refused.err
    assert not (project.lake / ".hoodie" / "hoodie.properties").exists()

    project.settings["compare"] = {"rename": {"a\x1b[31mb": "a__31mb"}}
    pull = project.json("pull")
    project.database.execute("update orders set \"a\x1b[31mb\" = 'y' where order_id = 7")
    sweep = project.json("sweep")
    findings = project.run("findings", "latest", "--format", "ndjson")
    (finding,) = (json.loads(line) for line in findings.out.splitlines())

    assert (pull.code, pull.table["pull"]["rows"]) == (0, 20)
    assert (sweep.code, sweep.table["findings"]["updated_without_watermark"]) == (1, 1)
    assert finding["columns"] == ["a\x1b[31mb"]
    assert "\x1b" not in findings.out + findings.err + sweep.out + sweep.err
    assert project.json("apply", "latest", "--yes").document["outcome"] == "corrected"


def test_line_that_renames_an_odd_column_carries_the_partition_that_is_derived_from_it_too(project: Project) -> None:
    project.database.execute(
        "alter table orders add column \"seen at\" timestamp not null default timestamp '2025-01-02'"
    )
    project.settings["lake"] |= {"partition_by": ["day(seen at)"]}

    refused = project.json("pull")

    told(refused, 5, "RefusedError", 'compare: {rename: {"seen at": seen_at}}', "source.columns")
    project.settings["compare"] = {"rename": {"seen at": "seen_at"}}
    assert project.json("pull").code == 0
    project.database.execute("update orders set \"seen at\" = timestamp '2025-03-04' where order_id = 7")
    assert project.json("sweep").drift == {"updated_without_watermark": 1}
    assert project.json("apply", "latest", "--yes").document["outcome"] == "corrected"
    assert {path.name for path in project.lake.iterdir() if "=" in path.name} == {
        "seen_at_day=2025-01-02",
        "seen_at_day=2025-03-04",
    }
