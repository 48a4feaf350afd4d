"""Reads in parts on real PostgreSQL: balanced by its statistics, every row once, whatever breaks in between."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.pull.cursor import Order, build_full_window
from hudi_reconcile.core.pull.read_plan import ReadPlan
from hudi_reconcile.core.sweep.segments import KeyExtent, RangeSegments, Segmentation, choose
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.ports import Frame, Staged
from hudi_reconcile.source import pull_reads
from hudi_reconcile.source.table_source import TableSource
from tests.integration.project import Project, tree
from tests.integration.source.support import engine, source
from tests.support.postgres import Database

ROWS = 60_000  # above what one part reads alone


@dataclass(frozen=True, slots=True)
class Keyed:
    """A table whose key is `expression` of 1 to ROWS; `how` it is to be cut, and a row that no statistics saw."""

    type: str
    expression: str
    how: str
    late: str
    key: str = "k"


KEYS = {
    # 90 % of the rows in 1 % of the key range.
    "skewed bigint": Keyed(
        "bigint", "case when i % 10 = 0 then i * 1000 else 20000000 + i end", "range", "-9000000000"
    ),
    "uuid": Keyed("uuid", "md5(i::text)::uuid", "range", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
    "timestamp": Keyed("timestamp", "timestamp '2024-01-01' + i * interval '61 seconds'", "range", "'0001-01-02'"),
    "text by bytes": Keyed('text collate "C"', "'k''' || i || 'Ä'", "range", "'~'"),
    "text by language": Keyed("text", "'k''' || i || 'Ä'", "hash", "'~'"),
    "smallint and text": Keyed("smallint", "i % 10 / 9", "hash", "7", "k, v"),
}


def cut_of(found: TableSource) -> Segmentation:
    table = found.describe()
    extent: KeyExtent = found.measure_extent(table)
    return choose(table.key, extent, integer_key=table.key_columns[0].kind is Kind.INTEGER, wanted=None)


def read_all(found: TableSource) -> tuple[ReadPlan, Staged]:
    table, cut, window = found.describe(), cut_of(found), build_full_window(Order(()))
    return found.plan_read(table, cut, window), found.stage_rows(table, cut, window, None)


def values(frame: Frame) -> list[str]:
    assert isinstance(frame, DataFrame)
    return sorted(row.c1 for row in frame.select("c1").collect())


@contextmanager
def killing(database: Database, *, at_most: int) -> Iterator[list[int]]:
    """Ends backends that read a part, as soon as each is seen, while the block runs; yields the ended ones."""
    ended: list[int] = []
    over = threading.Event()

    def kill() -> None:
        with database.connect(autocommit=True) as administrator:
            while not over.is_set() and len(ended) < at_most:
                seen = administrator.execute(
                    "select pid, pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
                    " and pid <> pg_backend_pid() and query like '%%hr_k%%' and query not like '%%1=0%%'"
                    " and xact_start < clock_timestamp() - interval '200 ms' and pid <> all (%s::int[]) limit 1",
                    (ended,),
                ).fetchall()
                ended.extend(pid for pid, _ in seen)
                over.wait(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield ended
    finally:
        over.set()
        killer.join()


@pytest.fixture
def slow(pg: Database) -> Database:
    """A view that takes a second to read, of a table without statistics."""
    pg.execute(
        "create table t (k bigint primary key, v text)",
        f"insert into t select i, i from generate_series(1, {ROWS}) i",
        "analyze t",
        "create view slow as select k, v, case when k % 500 = 0 then pg_sleep(0.01)::text end as s from t",
    )
    return pg


def test_part_whose_backend_is_killed_is_read_again_and_no_row_twice(
    slow: Database, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "hudi_reconcile.progress")
    with source(slow, "slow", spark, key=("k",)) as found, killing(slow, at_most=4) as ended:
        plan, staged = read_all(found)

    assert len(ended) == 4
    assert plan.how == "range"
    assert "a sample of" in " ".join(plan.why)
    assert values(staged.frame) == sorted(map(str, range(1, ROWS + 1)))
    assert len([line for line in caplog.messages if ": part " in line and " rows in " in line]) == 2


def test_part_that_never_comes_ends_in_an_error_that_names_it(
    slow: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_reads, "wait_seconds", lambda _: 0.05)
    with (
        source(slow, "slow", spark, key=("k",)) as found,
        killing(slow, at_most=1_000),
        pytest.raises(SourceError) as failed,
    ):
        read_all(found)

    assert "public.slow, part " in failed.value.message
    assert "of 2, 4 attempts: " in failed.value.message
    assert "nothing was written" in failed.value.message


def test_small_queries_outlive_a_broken_connection_and_wrong_sql_is_sent_once(pg: Database) -> None:
    with engine(pg) as found:
        (pid,) = (row["pid"] for row in found.rows("select pg_backend_pid() as pid"))
        pg.query(f"select pg_terminate_backend({pid}), pg_sleep(0.1)")
        assert found.rows("select 1 as one") == [{"one": 1}]
        with pytest.raises(SourceError, match="42P01"):
            found.rows("select 1 from nowhere")

    assert found.sent.count("select 1 from nowhere") == 1


@pytest.mark.parametrize("keyed", KEYS.values(), ids=KEYS)
def test_parts_are_even_and_hold_every_row_once(pg: Database, spark: SparkSession, keyed: Keyed) -> None:
    pg.execute(
        f"create table t (k {keyed.type}, v text, filler text)",
        f"insert into t select {keyed.expression}, i, 'x' from generate_series(1, {ROWS}) i",
        "analyze t",
        f"insert into t values ({keyed.late}, 'late', null), (null, 'null', null)",
    )
    with source(pg, "t", spark, key=tuple(keyed.key.split(", "))) as found:
        plan, staged = read_all(found)
        swept = values(found.read_rows(found.describe(), cut_of(found)))

    assert (plan.how, len(plan.parts)) == (keyed.how, 2), plan
    assert max(staged.parts) <= 1.5 * sum(staged.parts) / len(staged.parts)
    assert abs(plan.rows - ROWS) < ROWS * 0.02
    expected = sorted(["late", "null", *map(str, range(1, ROWS + 1))])
    assert values(staged.frame) == expected
    assert swept == expected


def test_texts_of_two_collations_are_told_apart_by_hash(pg: Database) -> None:
    """Their joined text has no collation, and PostgreSQL hashes no such text (42P22)."""
    pg.execute(
        'create table t (k text collate "POSIX", v text collate "C", primary key (k, v))',
        "insert into t select 'k' || i, 'v' || i from generate_series(1, 100) i",
    )
    with engine(pg) as found:
        table = found.describe(TableRequest(name="t", table="t")).table
        key = table.key_columns
        shares = [
            found.rows(
                f"select count(*) as n from {table.name} where {dialect.hash_predicate((('k', key[0]), ('v', key[1])), at, 2)}"
            )
            for at in range(2)
        ]

    counted = [int(rows[0]["n"]) for rows in shares]
    assert sum(counted) == 100
    assert min(counted) > 20


@pytest.mark.usefixtures("spark")
def test_dry_run_tells_the_plan_and_changes_nothing(
    tmp_path: Path, pg: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    pg.execute(
        "create table orders (order_id bigint primary key, note text, updated_at timestamp not null)",
        "insert into orders select i, 'a secret', timestamp '2025-01-01' + i * interval '1 second'"
        f" from generate_series(1, {ROWS}) i",
        "analyze orders",
    )
    project = Project.of(tmp_path, pg, capsys)

    first = project.json("pull", "--dry-run")
    (planned,) = first.document["tables"]
    assert (first.code, first.document["outcome"], first.document["dry_run"]) == (0, "clean", True)
    assert planned["create"]["record_key"] == ["order_id"]
    assert planned["mode"] == "full"
    edges = [
        re.fullmatch(r"\(?hr_k >?=?<? ?(\d+)\)?( or hr_k is null)?", p["predicate"]) for p in planned["read"]["parts"]
    ]
    low, high = (int(edge[1]) for edge in edges if edge is not None)
    assert low == high
    assert abs(low - ROWS / 2) < ROWS * 0.1
    assert abs(planned["read"]["rows"] - ROWS) < ROWS * 0.02
    assert 100 <= planned["read"]["fetch_rows"] <= 10_000
    assert {path.name for path in tmp_path.iterdir()} == {"password", "reconcile.yaml"}

    assert project.run("pull").code == 0
    cost = project.json("pull").table["cost"]
    pg.execute("update orders set updated_at = timestamp '2025-06-01' where order_id <= 7")
    before = tree(tmp_path)
    text = project.run("pull", "--dry-run")
    assert text.code == 0
    assert "incremental, strategy timestamp" in text.out
    assert "upsert into" in text.out
    assert "a secret" not in text.out + first.out
    assert tree(tmp_path).keys() == before.keys()

    pulled = project.json("pull").table
    assert pulled["pull"]["rows"] == 7
    assert pulled["cost"]["source_parts"] == 1
    assert pulled["cost"]["phases_seconds"].keys() == {"plan", "read", "write", "other"}
    assert cost["source_parts_repeated"] == 0


@pytest.mark.parametrize(("kind", "bits"), [("bigint", 63), ("integer", 31)])
def test_rows_of_each_segment_are_counted_where_keys_lie_at_both_ends_of_their_type(
    pg: Database, kind: str, bits: int
) -> None:
    width = 2 ** (bits - 3)
    keys = [-(2**bits), *(at * width + more for at in range(-7, 8) for more in (-1, 0, 1)), 2**bits - 1]
    rows = ", ".join(f"({key})" for key in keys)
    pg.execute(f"create table t (k {kind} primary key)", f"insert into t values {rows}")
    cuts = RangeSegments("k", -(2**bits), width, 16), RangeSegments("k", -12 * width, 6 * width, 4)

    with source(pg, "public.t") as found:
        for cut in cuts:
            assert found.count_segments(found.describe(), cut) == Counter(map(cut.find_segment, keys)), cut
