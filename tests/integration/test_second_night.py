"""Content proof through the command line, on real databases and lakes: what changed in silence is found the next night."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.integration.project import Project, Ran
from tests.support.postgres import Database

TABLE = """
create type mood as enum ('calm', 'wild');
create table orders (order_id bigint primary key, amount numeric(12,2), wide bigint, mood mood, note text, updated_at timestamp);
insert into orders select i, i, -1, 'calm', 'n' || i, timestamp '2025-05-01' + i * interval '1 minute'
  from generate_series(0, 119) i
"""
SEGMENTS = 13  # ranges of ten keys, and the one of NULL keys
# What leaves the watermark alone. PostgreSQL's own hash of a row sees neither the lost sign nor -1 become 2^32 - 1, and its sums
# not that two rows swap their values.
SILENT = (
    "update orders set amount = -amount where order_id = 33",
    "update orders set wide = 4294967295 where order_id = 34",
    "update orders set note = case order_id when 55 then 'n56' else 'n55' end where order_id in (55, 56)",
    "delete from orders where order_id = 67",
    "insert into orders values (125, 1, 1, 'wild', 'late', '2025-05-01')",
)


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """120 orders, pulled and swept clean: their content is proven."""
    pg.execute(*TABLE.split(";"))
    project = Project.of(tmp_path, pg, capsys)
    project.settings["sweep"] = {"proof": "always", "segments": SEGMENTS - 1, "rotation": 50}
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%", "savepoint": "never"}
    assert project.run("pull").code == 0
    first = project.json("sweep")
    assert (first.code, first.table["coverage"]["proven"]) == (0, 0), first
    return project


def told(ran: Ran) -> tuple[int, int]:
    """Segments compared and carried; the whole table is spoken for."""
    coverage = ran.table["coverage"]
    assert ran.table["whole"]
    assert coverage["compared"] + coverage["proven"] == SEGMENTS
    return coverage["compared"], coverage["proven"]


def proof_file(project: Project, ran: Ran) -> Path:
    return project.folder / "reports" / str(ran.document["run_id"]) / "orders" / "proof.json"


def test_silent_change_of_the_source_is_found_the_next_night_mended_and_compared_once_more(project: Project) -> None:
    quiet = project.json("sweep")
    counted = (quiet.code, quiet.table["source"]["rows"], quiet.table["lake"]["rows"], told(quiet))
    assert counted == (0, 120, 120, (1, 12)), quiet
    assert quiet.table["cost"]["source_rows_fetched"] == 10

    project.database.execute(*SILENT)
    found = project.json("sweep")
    assert (found.code, found.drift) == (1, {"late_arriving": 1, "updated_without_watermark": 4, "deleted": 1}), found
    assert told(found) == (5, 8)
    assert project.run("apply", "latest", "--yes").code == 0
    mended = project.run("sweep")
    assert (mended.code, "8 of 13 segments (70 rows) not compared again" in mended.out) == (0, True), mended

    project.database.execute("alter type mood rename value 'calm' to 'quiet'")  # writes no row
    relabelled = project.json("sweep")
    assert (relabelled.code, relabelled.drift, told(relabelled)) == (1, {"updated_without_watermark": 119}, (13, 0))
    assert any("definition changed" in note for note in relabelled.table["notes"])
    assert told(project.json("sweep", "--full"))[1] == 0
    assert project.run("audit", "verify").code == 0


def test_change_of_the_lake_by_others_is_found_the_next_night(spark: SparkSession, project: Project) -> None:
    rows = spark.read.format("hudi").load(str(project.lake))
    own = [name for name in rows.columns if not name.startswith("_hoodie_")]
    rows.where("order_id = 55").select(*own).withColumn("note", F.lit("foreign")).write.format("hudi").options(
        **{
            "hoodie.table.name": "orders",
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.datasource.write.recordkey.field": "order_id",
        }
    ).mode("append").save(str(project.lake))

    foreign = project.json("sweep")

    assert (foreign.code, foreign.drift, told(foreign)) == (1, {"updated_without_watermark": 1}, (2, 11))
    assert project.run("apply", "latest", "--yes").code == 0
    assert project.json("sweep").code == 0

    replace_newest_file(project.lake)

    replaced = project.json("sweep")
    assert (replaced.code, replaced.drift, told(replaced)) == (1, {"updated_without_watermark": 1}, (2, 11))
    assert [one["key"]["order_id"] for one in project.findings()] == [77]


def replace_newest_file(lake: Path) -> None:
    """Another value in the file of the newest name, which keeps its time: nothing but its content tells."""
    path = max(lake.glob("**/*.parquet"), key=lambda one: one.stat().st_mtime_ns)
    was = path.stat()
    files: Any = parquet
    table = files.read_table(path)
    place = table.column("order_id").to_pylist().index(77)
    notes = table.column("note").to_pylist()
    notes[place] = "m77"
    column = table.schema.get_field_index("note")
    changed = table.set_column(column, table.schema.field(column), [notes])
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    files.write_table(changed, path)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert path.stat().st_ino == was.st_ino


def test_proof_that_was_edited_removed_or_of_no_line_is_not_believed_and_everything_is_compared(
    project: Project,
) -> None:
    damages: tuple[Callable[[Path], object], ...] = (
        lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), "open": []})),
        lambda path: path.rename(path.with_name("gone.json")),
        lambda path: path.write_text("{"),
    )
    for damage in damages:
        path = proof_file(project, project.json("sweep"))
        kept = path.read_bytes()
        damage(path)
        doubted = project.json("sweep")
        assert (doubted.code, told(doubted)) == (0, (SEGMENTS, 0)), doubted
        assert any("is not believed" in note for note in doubted.table["notes"]), doubted
        path.with_name("gone.json").unlink(missing_ok=True)
        path.write_bytes(kept)
    assert told(project.json("sweep"))[1] == SEGMENTS - 1
    (project.folder / "reports" / "audit.jsonl").unlink()  # a folder that was copied by itself proves nothing
    assert told(project.json("sweep"))[1] == 0
