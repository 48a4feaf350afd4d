"""The example of "Apache Hudi - Change query support" (Jack Vanlightly, 2024): its four configurations and its CDC queries.

Where Hudi 1.2 differs from the text, which was written with 0.15, docs/change-queries.md names the difference.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.core.changes.range import Cut
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.changes.positions import Positions
from hudi_reconcile.lake.changes.read_points import Meanwhile

BATCHES = [
    [("jack", "apple", "a", 1), ("sarah", "orange", "a", 1), ("john", "pineapple", "a", 1)],
    [("jack", "banana", "a", 2)],
    [("john", "pineapple", "a", 1)],
]
CDC = "hoodie.table.cdc.enabled"
LOGGING = "hoodie.table.cdc.supplemental.logging.mode"


@dataclass(frozen=True, slots=True)
class Fruit:
    """The table after the article's three commits, and the command line on it."""

    folder: Path
    captured: pytest.CaptureFixture[str]
    completed: tuple[str, ...]

    def changes(self, *arguments: str) -> list[dict[str, Any]]:
        code, out, err = self.run(*arguments)
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def lag(self, consumer: str) -> tuple[str, int]:
        """Where the only consumer is, and how many commits it is behind."""
        code, out, err = self.command("history", "-t", "fruit", "--consumers", "--format", "json")
        assert code == 0, err
        (found,) = json.loads(out)["consumers"]
        assert (found["table"], found["consumer"], found["type"]) == ("fruit", consumer, "min-delta")
        assert (found["waiting_seconds"] > 0) == (found["behind_commits"] > 0)
        return found["instant"], found["behind_commits"]

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return self.command("changes", "-t", "fruit", "--format", "ndjson", *arguments)

    def command(self, *arguments: str) -> tuple[int, str, str]:
        self.captured.readouterr()
        code = run(["-c", str(self.folder / "reconcile.yaml"), *arguments])
        found = self.captured.readouterr()
        return code, found.out, found.err


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...]]:
    """The copy_on_write table without a change log, for all tests that only read it."""
    folder = tmp_path_factory.mktemp("plain")
    return folder, fruit_table(spark, folder, "COPY_ON_WRITE", {})


def fruit(
    spark: SparkSession,
    folder: Path,
    captured: pytest.CaptureFixture[str],
    kind: str,
    table_options: Mapping[str, str],
) -> Fruit:
    return Fruit(folder, captured, fruit_table(spark, folder, kind, table_options))


def fruit_table(spark: SparkSession, folder: Path, kind: str, table_options: Mapping[str, str]) -> tuple[str, ...]:
    """The table with its three commits, and a config for it; gives when they completed."""
    path = folder / "fruit"
    options = {
        "hoodie.table.name": "fruit",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.metadata.enable": "false",
        "hoodie.compact.inline": "false",
        **table_options,
    }
    for batch, operation in zip(BATCHES, ("upsert", "upsert", "delete"), strict=True):
        frame = spark.createDataFrame(batch, "name string, fruit string, part string, ts int").coalesce(1)
        frame.write.format("hudi").options(**options, **{"hoodie.datasource.write.operation": operation}).mode(
            "append"
        ).save(str(path))
    return configured(spark, folder)


def configured(spark: SparkSession, folder: Path) -> tuple[str, ...]:
    """Makes a config for the table `fruit` of a folder; gives when its commits completed."""
    path = folder / "fruit"
    config = {
        "version": 1,
        "source": {"url": "postgresql+psycopg://nobody@127.0.0.1:1/none"},
        "tables": [{"name": "fruit", "source": {"table": "fruit"}, "lake": {"path": str(path)}}],
    }
    (folder / "reconcile.yaml").write_text(json.dumps(config))
    return tuple(sorted(str(one.completed) for one in Timeline(spark, str(path)).list_completed()))


def rows(changes: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """Op and row: the after image, or what was there of a deleted one."""
    return Counter((one["op"], one["key"]["name"], (one["after"] or one["before"])["fruit"]) for one in changes)


def test_copy_on_write_configurations_one_and_two_and_the_two_queries_that_hudi_lacks(
    plain: tuple[Path, tuple[str, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    table = Fruit(plain[0], capsys, plain[1])
    first, _, last = table.completed

    everything = table.changes("--type", "upsert")
    assert rows(everything) == Counter([("upsert", "sarah", "orange"), ("upsert", "jack", "banana")])
    jack = {"name": "jack", "fruit": "banana", "part": "a", "ts": 2}
    assert everything[-1] == {
        "op": "upsert",
        "key": {"name": "jack"},
        "before": None,
        "after": jack,
        "instant": table.completed[1],
        "correction": None,
    }
    inserted = Counter([("upsert", "sarah", "orange"), ("upsert", "john", "pineapple"), ("upsert", "jack", "apple")])
    assert rows(table.changes("--type", "upsert", "--to", first)) == inserted
    assert rows(table.changes("--type", "upsert", "--from", first, "--to", last)) == Counter(
        [("upsert", "jack", "banana")]
    )
    appended = table.changes("--type", "append-only")
    assert rows(appended) == Counter([("i", name, what) for _, name, what in inserted])
    least = table.changes("--type", "min-delta")
    assert rows(least) == Counter([("i", "sarah", "orange"), ("i", "jack", "banana")])
    net = table.changes("--type", "min-delta", "--from", first)
    assert [(one["op"], one["key"]["name"], one["instant"]) for one in net] == [
        ("u", "jack", table.completed[1]),
        ("d", "john", last),
    ]
    full = table.changes("--type", "full-delta")
    assert [(one["op"], tuple_of(one["before"]), tuple_of(one["after"])) for one in full[3:]] == [
        ("u", BATCHES[0][0], BATCHES[1][0]),
        ("d", BATCHES[0][2], None),
    ]
    assert full[:3] == appended
    code, out, err = table.run("--type", "full-delta", "--from-log")
    assert (code, out) == (2, "")
    assert "keeps no change log" in err


def test_history_that_a_cleaner_takes_while_it_is_read_is_refused_and_nothing_is_printed(
    plain: tuple[Path, tuple[str, ...]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Fruit(plain[0], capsys, plain[1])
    taken = Cut(plain[1][0], "the cleaner removed older file versions")
    monkeypatch.setattr(Meanwhile, "cut", lambda *_: taken)

    code, out, err = table.run("--type", "upsert")

    assert (code, out) == (2, "")
    assert f"--from {plain[1][0]}" in err


def test_merge_on_read_configurations_three_and_four_and_its_cdc_query(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = fruit(spark, tmp_path, capsys, "MERGE_ON_READ", {CDC: "true", LOGGING: "OP_KEY_ONLY"})
    merged = Counter([("upsert", "sarah", "orange"), ("upsert", "jack", "banana")])
    unmerged = merged + Counter([("upsert", "john", "pineapple"), ("upsert", "jack", "apple")])

    assert rows(table.changes("--type", "upsert", "--merge", "skip_merge")) == unmerged
    assert rows(table.changes("--type", "upsert", "--merge", "payload_combine")) == merged
    assert rows(table.changes("--type", "upsert")) == merged
    assert_cdc_as_published(spark, table)
    code, _, err = table.run("--type", "full-delta", "--from-log")
    assert code == 2
    assert "does not tell these commits by itself" in err


def test_cdc_queries_of_copy_on_write_are_as_published(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = fruit(spark, tmp_path, capsys, "COPY_ON_WRITE", {CDC: "true", LOGGING: "DATA_BEFORE_AFTER"})
    everything = assert_cdc_as_published(spark, table)
    first, _, last = table.completed
    assert table.changes("--type", "full-delta", "--to", first) == everything[:3]
    assert table.changes("--type", "full-delta", "--from", first, "--to", last) == everything[3:]
    for kind in ("append-only", "upsert", "min-delta", "full-delta"):
        by_log, by_files = (table.changes("--type", kind, option) for option in ("--from-log", "--from-files"))
        assert by_log == by_files


def test_consumer_gets_what_came_after_its_position_and_its_lag_is_told(
    spark: SparkSession, plain: tuple[Path, tuple[str, ...]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Fruit(plain[0], capsys, plain[1])
    first, _, last = table.completed
    consumer = ("--type", "min-delta", "--consumer", "shop", "--commit-position")

    document = json.loads(table.command("changes", "-t", "fruit", "--type", "upsert", "--format", "json")[1])
    assert (document["from"], document["to"]) == ("earliest", last)  # as --from and --to take them
    assert len(table.changes(*consumer, "--to", first)) == 3
    assert table.lag("shop") == (first, 2)
    later = table.changes(*consumer[:4])
    assert [(one["op"], one["key"]["name"]) for one in later] == [("u", "jack"), ("d", "john")]
    assert table.changes(*consumer, "--into", str(tmp_path / "out")) == []
    delivered = spark.read.parquet(str(tmp_path / "out")).select("op", "key.name", "upto").collect()
    assert sorted((row[0], row[1], str(row[2])) for row in delivered) == [("d", "john", last), ("u", "jack", last)]
    assert table.changes(*consumer) == []
    assert table.lag("shop") == (last, 0)
    assert table.run("--type", "upsert", "--consumer", "shop")[0] == 2
    assert table.run("--type", "upsert", "--commit-position")[0] == 2
    assert table.run(*consumer, "--corrections-only")[0] == 2
    with Positions(spark, str(plain[0] / "fruit")).hold("shop"):
        assert table.run(*consumer)[0] == 5
    late = ("--type", "min-delta", "--consumer", "late", "--commit-position")
    assert table.changes(*late, "--from", "latest") == []
    assert table.changes(*late) == []


def assert_cdc_as_published(spark: SparkSession, table: Fruit) -> list[dict[str, Any]]:
    everything = assert_full_delta_as_published(table)
    assert Counter(map(images_of, everything)) == hudis_own(spark, table)
    return everything


def assert_full_delta_as_published(table: Fruit) -> list[dict[str, Any]]:
    first, second, last = table.completed
    everything = table.changes("--type", "full-delta")
    inserts = [("i", None, row) for row in BATCHES[0]]
    later = [("u", BATCHES[0][0], BATCHES[1][0]), ("d", BATCHES[0][2], None)]
    told = list(map(images_of, everything))
    assert sorted(told[:3], key=str) == sorted(inserts, key=str)
    assert told[3:] == later
    assert [one["instant"] for one in everything] == [first, first, first, second, last]
    return everything


def images_of(change: dict[str, Any]) -> tuple[Any, ...]:
    return (change["op"], tuple_of(change["before"]), tuple_of(change["after"]))


def hudis_own(spark: SparkSession, table: Fruit) -> Counter[Any]:
    """What Hudi's CDC query gives: images as JSON, with columns of its own, and `null` as text where there is no row."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": "cdc",
        "hoodie.datasource.read.begin.instanttime": "0",
    }
    found = spark.read.format("hudi").options(**options).load(str(table.folder / "fruit")).collect()
    images = [(row["op"], *(json.loads(row[side] or "null") for side in ("before", "after"))) for row in found]
    return Counter((op, tuple_of(before), tuple_of(after)) for op, before, after in images)


def tuple_of(image: dict[str, Any] | None) -> tuple[Any, ...] | None:
    return None if image is None else tuple(image[name] for name in ("name", "fruit", "part", "ts"))
