"""`make flink`: tables that Hudi's writer for Flink wrote are asked, swept and corrected, and Flink goes on with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.core.changes.queries import QUERY_TYPES
from hudi_reconcile.lake.bridge import Timeline
from tests.integration.project import Project, in_lake, in_source, tree
from tests.support.flink import Flink, any_flink, bundle
from tests.support.postgres import Database

COLUMNS = "order_id bigint, region string, note string, amount decimal(10, 2), updated_at timestamp(6)"
ON_WRITE = {"table.type": "COPY_ON_WRITE"}
ON_READ = {"table.type": "MERGE_ON_READ", "compaction.async.enabled": "false"}
CHANGELOG = {"changelog.enabled": "true"}
COMPACTED = {"compaction.async.enabled": "true", "compaction.delta_commits": "1"}
BUCKETS = {"hoodie.bucket.index.num.buckets": "2"}
KINDS = {
    "copy_on_write": ON_WRITE,
    "merge_on_read, logs alone": ON_READ,
    "merge_on_read, compacted": {**ON_READ, **COMPACTED},
    "merge_on_read, buckets": {**ON_READ, "index.type": "BUCKET", **BUCKETS},
}

HISTORIES = (
    ("copy_on_write", ON_WRITE, ""),
    ("copy_on_write", ON_WRITE, "data_before_after"),
    ("copy_on_write", ON_WRITE, "op_key_only"),
    ("merge_on_read", ON_READ, ""),
    ("merge_on_read", ON_READ, "data_before_after"),
    ("merge_on_read", ON_READ, "op_key_only"),
    ("merge_on_read, changelog", {**ON_READ, **CHANGELOG}, ""),
)
AT = ("2025-01-01 00:00:01", "2025-01-01 00:00:02", "2025-01-01 00:00:03.123456")


@pytest.fixture(scope="module")
def flink() -> Iterator[Flink]:
    with any_flink(bundle()) as found:
        yield found


def table(path: Path, options: dict[str, str]) -> str:
    """Flink's statement for a Hudi table."""
    given = {"connector": "hudi", "path": path.as_uri(), "ordering.fields": "updated_at", **options}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    key = "primary key (order_id) not enforced"
    return f"create table orders ({COLUMNS}, {key}) partitioned by (region) with ({listed})"


def put(*rows: tuple[Any, ...]) -> str:
    """Flink's statement that upserts rows, in a commit of its own."""
    listed = (f"({key}, '{region}', '{note}', {amount}, timestamp '{at}')" for key, region, note, amount, at in rows)
    return f"insert into orders values {', '.join(listed)}"


@pytest.fixture
def shop(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Twenty rows at the source, and a project whose lake is to be Flink's."""
    pg.execute(
        "create table orders (order_id bigint primary key, region text, note text, amount numeric(10,2), "
        "updated_at timestamp)",
        "insert into orders select i, case when i % 2 = 0 then 'north' else 'south' end, 'n' || i, i, "
        "timestamp '2025-01-01' + i * interval '1 second' from generate_series(1, 20) i",
    )
    project = Project.of(tmp_path, pg, capsys)
    project.settings["policy"] = {"max_upsert_share": "100%", "max_delete_share": "100%"}
    return project


def adopted(project: Project, options: dict[str, str]) -> str:
    """Flink's statement for the lake, which is to be of that kind."""
    project.settings["lake"] |= {"type": options["table.type"].lower(), "adopt": True}
    project.settings["lake"]["options"] = BUCKETS if "index.type" in options else {}
    return table(project.lake, options)


def told(captured: pytest.CaptureFixture[str], lake: Path, *arguments: str) -> list[tuple[Any, ...]]:
    """Changes of notes with their regions, in order of instants and keys."""
    captured.readouterr()
    code = run(["changes", "--path", str(lake), "--format", "ndjson", *arguments])
    found = captured.readouterr()
    assert code == 0, found.err
    lines = [json.loads(line) for line in found.out.splitlines()]
    return [(one["op"], one["key"]["order_id"], note_of(one["before"]), note_of(one["after"])) for one in lines]


def note_of(image: dict[str, str] | None) -> str | None:
    return f"{image['region']} {image['note']}" if image else None


def instants(spark: SparkSession, lake: Path) -> list[str]:
    return sorted(str(one.completed) for one in Timeline(spark, str(lake)).list_completed())


MODES = {f"{kind}, {mode or 'no log'}": (options, mode) for kind, options, mode in HISTORIES}


@pytest.mark.parametrize("kind", MODES)
def test_history_that_flink_wrote_is_told_right_by_every_query_before_and_after_a_compaction(
    flink: Flink, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    lake, (options, mode) = tmp_path / "orders", MODES[kind]
    logged = {"cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": mode} if mode else {}
    orders = table(lake, {**options, **logged})
    # In changelog mode Flink moves a row by its operations alone: without them the old copy stays.
    to = "n" if "changelog" in kind else "s"
    flink.run(
        orders,
        put((1, "n", "a", 1, AT[0]), (2, "s", "b", 2, AT[0]), (3, "s", "c", 3, AT[0]), (5, "n", "e", 5, AT[0])),
        put((1, "n", "a2", 1, AT[1]), (4, "n", "d", 4, AT[1]), (5, to, "e2", 5, AT[1])),
        f"update orders set note = 'b2', updated_at = timestamp '{AT[2]}' where order_id = 2",
        "delete from orders where order_id = 3",
    )
    first, *_, last = instants(spark, lake)
    assert len(flink.rows(orders, "select order_id from orders")) == 4

    def every() -> list[list[tuple[Any, ...]]]:
        return [told(capsys, lake, "--to", last, "--type", kind) for kind in QUERY_TYPES]

    born = [("i", 1, None, "n a"), ("i", 2, None, "s b"), ("i", 3, None, "s c"), ("i", 5, None, "n e")]
    second = [("u", 1, "n a", "n a2"), ("i", 4, None, "n d"), ("u", 5, "n e", f"{to} e2")]
    later = [("u", 2, "s b", "s b2"), ("d", 3, "s c", None)]
    alive = [(1, "n a2"), (4, "n d"), (5, f"{to} e2"), (2, "s b2")]
    answers = dict(zip(QUERY_TYPES, every(), strict=True))
    assert answers == {
        "append-only": [*born, ("i", 4, None, "n d")],
        "upsert": [("upsert", key, None, row) for key, row in alive],
        "min-delta": [("i", key, None, row) for key, row in alive],
        "full-delta": [*born, *second, *later],
    }
    assert told(capsys, lake, "--type", "min-delta", "--from", first, "--to", last) == [*second, *later]
    if mode:
        for reader in (
            ("--from-log", "--from-files") if (options, mode) == (ON_WRITE, "data_before_after") else ("--from-files",)
        ):
            assert told(capsys, lake, "--type", "full-delta", reader) == answers["full-delta"]
    if options["table.type"] == ON_READ["table.type"]:
        flink.run(table(lake, {**options, **logged, **COMPACTED}), put((6, "n", "f", 6, AT[2])))
        assert wrote_change_log(spark, lake) is bool(mode)
        assert dict(zip(QUERY_TYPES, every(), strict=True)) == answers
        assert told(capsys, lake, "--type", "full-delta", "--from", last) == [("i", 6, None, "n f")]


EVENTS = """create table events ({columns}, primary key (order_id) not enforced)
 with ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'debezium-json')"""


def event(op: str, before: tuple[Any, ...] | None, after: tuple[Any, ...] | None) -> str:
    """A change in Debezium's envelope."""
    names = ("order_id", "region", "note", "amount", "updated_at")
    images = {
        side: None if row is None else dict(zip(names, row, strict=True))
        for side, row in (("before", before), ("after", after))
    }
    return json.dumps({**images, "op": op})


@pytest.mark.parametrize(
    "options", [{**ON_WRITE, **CHANGELOG}, {**ON_READ, **CHANGELOG}], ids=lambda one: one["table.type"]
)
def test_changes_that_a_stream_left_as_rows_of_flinks_changelog_are_told_net_by_commit_before_and_after_a_compaction(
    flink: Flink, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, str]
) -> None:
    """A key changed twice in one commit, deleted and back, deleted for good, and moved to another partition."""
    lake = tmp_path / "orders"
    orders = table(lake, options)
    flink.run(
        orders, put((1, "n", "a", 1, AT[0]), (2, "s", "b", 2, AT[0]), (3, "s", "c", 3, AT[0]), (4, "n", "d", 4, AT[0]))
    )
    (first,) = instants(spark, lake)

    def row(key: int, region: str, note: str, at: str = AT[1]) -> tuple[Any, ...]:
        return (key, region, note, key, at)

    stream = tmp_path / "events"
    stream.mkdir()
    (stream / "1.json").write_text(
        "\n".join(
            (
                event("u", row(1, "n", "a", AT[0]), row(1, "n", "a2")),
                event("u", row(1, "n", "a2"), row(1, "n", "a3")),
                event("d", row(2, "s", "b", AT[0]), None),
                event("c", None, row(2, "s", "b2")),
                event("d", row(3, "s", "c", AT[0]), None),
                event("u", row(4, "n", "d", AT[0]), row(4, "s", "d2")),
                event("c", None, row(5, "n", "e")),
                event("d", row(5, "n", "e"), None),
                event("c", None, row(6, "n", "f")),
            )
        )
    )
    events = EVENTS.format(columns=COLUMNS, path=stream.as_uri())
    flink.run(events, orders, "insert into orders select * from events", streaming=True)
    last = instants(spark, lake)[-1]

    def net() -> list[tuple[Any, ...]]:
        return told(capsys, lake, "--type", "full-delta", "--from", first, "--to", last)

    changes = [
        ("u", 1, "n a", "n a3"),
        ("u", 2, "s b", "s b2"),
        ("d", 3, "s c", None),
        ("u", 4, "n d", "s d2"),
        ("i", 6, None, "n f"),
    ]
    assert sorted(net(), key=lambda one: one[1]) == changes
    assert [row[0] for row in flink.rows(orders, "select order_id from orders")] == [1, 2, 4, 6]
    if options["table.type"] == ON_READ["table.type"]:
        flink.run(table(lake, {**options, **COMPACTED}), put((7, "n", "g", 7, AT[2])))
        assert newest_commit(spark, lake)["operationType"] == "COMPACT"
        assert sorted(net(), key=lambda one: one[1]) == changes


def newest_commit(spark: SparkSession, lake: Path) -> dict[str, Any]:
    """What the timeline has of the commit that completed last."""
    line = Timeline(spark, str(lake))
    found: dict[str, Any] = json.loads(line.commit_json(max(line.list_completed(), key=lambda one: str(one.completed))))
    return found


def wrote_change_log(spark: SparkSession, lake: Path) -> bool:
    """Whether the newest commit, a compaction, has a change log of each file that it wrote."""
    newest = newest_commit(spark, lake)
    assert newest["operationType"] == "COMPACT"
    return all(stat.get("cdcStats") for stats in newest["partitionToWriteStats"].values() for stat in stats)


def test_table_in_flinks_changelog_mode_is_compared_and_not_written_by_that_name(flink: Flink, shop: Project) -> None:
    orders = adopted(shop, {**ON_READ, **CHANGELOG})
    flink.run(
        orders,
        put(*shop.database.query("select * from orders")),
        "update orders set note = 'changed' where order_id = 1",
        "delete from orders where order_id = 2",
    )
    before = tree(shop.lake)

    swept = shop.json("sweep")
    refused = shop.json("apply", "latest", "--yes")

    assert (swept.code, swept.drift) == (1, {"late_arriving": 1, "updated_without_watermark": 1}), swept
    assert (refused.code, "changelog mode" in refused.out) == (5, True), refused
    assert tree(shop.lake) == before


@pytest.mark.parametrize("kind", KINDS)
def test_drift_in_a_table_of_flinks_is_corrected_in_one_commit_and_flink_reads_it_and_goes_on(
    flink: Flink, spark: SparkSession, shop: Project, kind: str
) -> None:
    project, pg = shop, shop.database
    orders = adopted(project, KINDS[kind])
    flink.run(orders, put(*pg.query("select * from orders")))
    clean = project.json("sweep")
    pg.execute(
        "update orders set note = 'silent' where order_id = 1",
        "delete from orders where order_id in (2, 15)",
        "insert into orders values (30, 'north', 'late', 1, '2025-01-01 00:00:05')",
    )

    swept = project.json("sweep")
    applied = project.json("apply", "latest", "--yes", "--accept", "same_column_share")
    verified = project.json("sweep")
    read = flink.rows(orders, "select order_id, note from orders")
    corrected = in_source(project, "order_id", "note")
    pg.execute(
        "update orders set note = 'next', updated_at = '2025-01-03' where order_id in (1, 30)",
        "insert into orders values (31, 'south', 'new', 1, '2025-01-03')",
        "delete from orders where order_id in (3, 5)",
    )
    flink.run(
        orders,
        put(*pg.query("select * from orders where updated_at = '2025-01-03'")),
        "delete from orders where order_id in (3, 5)",
    )
    last = project.json("sweep")

    assert clean.code == 0, clean
    found = {"late_arriving": 1, "updated_without_watermark": 1, "deleted": 2}
    assert (swept.code, swept.drift) == (1, found), swept
    corrections = applied.table["corrections"]
    assert (applied.code, corrections["applied"], len(corrections["instants"])) == (0, 4, 1), applied
    assert verified.code == 0, verified
    assert read == corrected
    assert last.code == 0, last
    assert flink.rows(orders, "select order_id, note from orders") == in_source(project, "order_id", "note")
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")


def test_pull_into_log_files_of_flinks_is_refused_before_it_would_double_rows_and_goes_on_once_flink_compacted(
    flink: Flink, spark: SparkSession, shop: Project
) -> None:
    project, pg = shop, shop.database
    flink.run(adopted(project, ON_READ), put(*pg.query("select * from orders where order_id <= 10")))
    before = tree(project.lake)

    refused = project.json("pull", "--full")
    after = tree(project.lake)
    flink.run(table(project.lake, {**ON_READ, **COMPACTED}), put(*pg.query("select * from orders where order_id = 11")))
    pulled = project.json("pull", "--full")

    assert (refused.code, "in log files alone" in refused.out) == (5, True), refused
    assert after == before
    assert pulled.code == 0, pulled
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")
