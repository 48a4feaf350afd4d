"""The commands of docs/first-table.md for real, in their order, with the README's config; the numbers of the worked example."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.compare.columns import ComparisonShape, digest_rows
from hudi_reconcile.core.sweep.segments import RangeSegments
from hudi_reconcile.core.tables.agreement import agree
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable, SourceTable
from tests.support.docs import ROOT, TOOL, blocks, commands
from tests.support.postgres import Database

README = ROOT / "README.md"
FIRST_TABLE = ROOT / "docs" / "first-table.md"
# Minutes long, or part of the reader's shell; tests of their own run them.
NOT_RUN = re.compile(r"make |export |hudi-reconcile (demo|jars fetch)")
TABLE = """create table orders (order_id bigint primary key, status varchar(10), amount numeric(12, 2),
                                updated_at timestamptz not null)"""
ROWS = "insert into orders select i, 'NEW', i, now() - interval '1 hour' + i * interval '1 second' from generate_series(1, 200) i"
DRIFT = ("update orders set status = 'PAID' where order_id in (5, 50)", "delete from orders where order_id = 7")
# What the first sweep of the walk meets, since the table drifts after the first pull.
FOUND_DRIFT = 1


def config_for(pg: Database) -> str:
    """The README's config, for the test's own server."""
    (text,) = blocks(README, "yaml")
    url = f"postgresql+psycopg://{pg.server.user}@{pg.server.host}:{pg.server.port}/{pg.name}"
    return re.sub(r"postgresql\+psycopg://\S+", url, text)


@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(600)
def test_commands_of_the_first_table_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pg: Database
) -> None:
    monkeypatch.chdir(tmp_path)
    pg.execute(TABLE, ROWS)
    lines = [line for line in commands(FIRST_TABLE) if not NOT_RUN.match(line)]
    codes: list[tuple[str, int]] = []

    for line in lines:
        words = shlex.split(line)
        if words[0] == "cd":
            monkeypatch.chdir(Path.cwd() / words[1])
        elif words[0] == TOOL:
            if words[1] == "config":  # by now a reader has put password and config in
                Path("secrets/shop_password").write_text(f"{pg.server.password}\n")
                Path("reconcile.yaml").write_text(config_for(pg))
            codes.append((line, run(words[1:])))
            if words[1:] == ["pull"]:
                pg.execute(*DRIFT)
        else:
            subprocess.run(words, check=True, env=os.environ)

    assert len(codes) > 10
    assert [(line, code) for line, code in codes if code != 0] == [(f"{TOOL} sweep", FOUND_DRIFT)]


COLUMNS = (
    Column("order_id", Kind.INTEGER, "bigint", nullable=False, bits=64),
    Column("status", Kind.TEXT, "character varying(10)"),
    Column("amount", Kind.DECIMAL, "numeric(10,2)", precision=10, scale=2),
    Column("updated_at", Kind.TIMESTAMP, "timestamp without time zone", nullable=False, precision=6),
)
LAKE_TYPES = ("bigint", "string", "decimal(10,2)", "timestamp_ntz")


Row = tuple[int, str, Decimal, datetime]
Digests = dict[int, tuple[int, int]]  # by order: segment and digest


def example() -> tuple[list[Row], list[Row]]:
    """The source after it drifted, and the lake as the first pull left it."""

    def row(order: int, minute: int, status: str = "NEW") -> Row:
        return order, status, Decimal(order * 10), datetime(2026, 3, 1, 10, minute)  # noqa: DTZ001 - has no zone

    lake = [row(order, order) for order in range(1, 9)]
    kept = [one for one in lake if one[0] not in (2, 7)]
    return [*kept, row(2, 2, "PAID"), row(9, 5), row(10, 20)], lake


def example_shape() -> ComparisonShape:
    source = SourceTable("public.orders", COLUMNS, ("order_id",), 9, "example")
    lake = LakeTable(
        path="lake/orders",
        name="orders",
        type="copy_on_write",
        version=9,
        columns=tuple(LakeColumn(column.name, kind) for column, kind in zip(COLUMNS, LAKE_TYPES, strict=True)),
        record_key=("order_id",),
        partition_fields=(),
        ordering_fields=("_hr_read_seq",),
        ordering="tool",
    )
    agreement = agree(source, lake, watermark=("updated_at",), exclude=frozenset(), partition_by=())
    return ComparisonShape(agreement, RangeSegments("order_id", start=0, width=3, count=4))


def computed(spark: SparkSession) -> tuple[Digests, Digests]:
    """What the tool makes of the example, source and lake."""
    found = []
    for side, rows in zip(("source", "lake"), example(), strict=True):
        names = [f"c{index}" if side == "source" else column.name for index, column in enumerate(COLUMNS)]
        schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, LAKE_TYPES, strict=True))
        shown = digest_rows(
            spark.createDataFrame(rows, schema), "source" if side == "source" else "lake", example_shape()
        )
        found.append({row["k0"]: (row["segment"], row["digest"]) for row in shown.collect()})
    return found[0], found[1]


def row_table(source: Digests, lake: Digests) -> list[tuple[str, ...]]:
    segments = {**{order: one[0] for order, one in lake.items()}, **{order: one[0] for order, one in source.items()}}
    return [
        (
            str(order),
            str(segments[order]),
            *(str(side[order][1]) if order in side else "none" for side in (source, lake)),
        )
        for order in sorted(segments)
    ]


def sums(side: Digests, segment: int) -> str:
    digests = [digest for found, digest in side.values() if found == segment]
    return f"{sum(d >> 32 for d in digests)}, {sum(d & 0xFFFFFFFF for d in digests)}" if digests else "none"


def test_digests_of_the_worked_example_are_what_the_tool_computes(spark: SparkSession) -> None:
    source, lake = computed(spark)

    text = (ROOT / "docs" / "algorithm.md").read_text("utf-8").replace("**", "")
    number = r"(-?\d+|none)"
    assert re.findall(rf"^\| (\d+) \| (\d) \| {number} \| {number} \|$", text, re.MULTILINE) == row_table(source, lake)
    shown = re.findall(r"^\| (\d) \| [^|]+ \| \d \| \d \| ([^|]+) \| ([^|]+) \| (yes|no) \|$", text, re.MULTILINE)
    expected = [(sums(source, segment), sums(lake, segment)) for segment in range(4)]
    assert shown == [
        (str(segment), *both, "yes" if both[0] == both[1] else "no") for segment, both in enumerate(expected)
    ]
