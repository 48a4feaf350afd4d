"""`make bench-index`: 1,000 changed rows into a table of ours with each of Hudi's indexes, beside each other in one run.

A table of eight columns and one key, made by the same bulk insert with the options of `pull`; then batches of 1,000 rows are
upserted: scattered over all keys, and all of the newest keys. Each index has its own copy of the table and takes its turn in
each round; the first round warms up and does not count. Every batch must be in the table afterwards, once.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.app.connections import request_session
from hudi_reconcile.config.load import load_config
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.lake.options import WriteOptions, build_create_options, upsert_options
from hudi_reconcile.ports import NewTable
from hudi_reconcile.spark.session import open_session

CHANGED = 1_000
INDEXES: Mapping[str, Mapping[str, str]] = {
    "simple (ours)": {"hoodie.index.type": "SIMPLE"},
    "bloom": {"hoodie.index.type": "BLOOM"},
    "bucket": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "{buckets}"},
    "record index": {
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
    },
}
BATCHES = ("scattered", "newest")
SOURCE = {"url": "postgresql+psycopg://nobody@127.0.0.1:1/none"}  # no source is asked
TABLE = {"name": "t", "source": {"table": "t"}, "lake": {"path": "lake"}}


@dataclass(slots=True)
class Contender:
    """One index and its table. `seconds` of its upserts are by kind of batch, `made_seconds` those of the first commit."""

    name: str
    path: str
    index: Mapping[str, str]
    made_seconds: float = 0.0
    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BATCHES})


def main() -> int:
    """Run it all and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--index", choices=list(INDEXES), action="append", help="default: all")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as folder:
        (Path(folder) / "reconcile.yaml").write_text(json.dumps({"version": 1, "source": SOURCE, "tables": [TABLE]}))
        config = load_config(Path(folder) / "reconcile.yaml", os.environ)
        with open_session(request_session(config)) as session:
            return bench(session.spark, Path(folder), given)


def bench(spark: SparkSession, folder: Path, given: argparse.Namespace) -> int:
    """Make each table, then let all take the same batches in turns; 1 where a batch is not in a table, once."""
    buckets = str(max(2, given.rows // 500_000))  # files of the size that the others have
    contenders = [
        Contender(
            name, str(folder / name.split()[0]), {key: value.format(buckets=buckets) for key, value in index.items()}
        )
        for name, index in INDEXES.items()
        if name in (given.index or INDEXES)
    ]
    for one in contenders:
        begun = time.monotonic()
        new = NewTable("t", "copy_on_write", ("order_id",), ())
        write(images(spark.range(given.rows), 0), one, build_create_options(WriteOptions(), new), "overwrite")
        one.made_seconds = time.monotonic() - begun
    wrong = 0
    for turn in range(given.repeats + 1):
        for kind in BATCHES:
            first, step = (turn, given.rows // CHANGED) if kind == "scattered" else (given.rows - CHANGED, 1)
            batch = images(spark.range(first, first + CHANGED * step, step), 2 * turn + 1 + BATCHES.index(kind))
            batch = batch.localCheckpoint(eager=True)
            for one in contenders:
                seconds = upsert(spark, batch, one)
                if turn:
                    one.seconds[kind].append(seconds)
                wrong += count_wrong(spark, one, given.rows, batch)
    report(contenders, given.rows)
    return 1 if wrong else 0


def images(keys: DataFrame, seq: int) -> DataFrame:
    """Eight columns of data and the ordering field, whose number is in every row."""
    return keys.selectExpr(
        "id as order_id", "cast(id * 7919 % 100000 as int) as customer_id",
        "element_at(array('NEW', 'PAID', 'SHIPPED', 'RETURNED'), cast(id % 4 + 1 as int)) as status",
        "cast(id % 1000000 / 100 as decimal(12,2)) as amount", "id % 3 = 0 as paid", "concat('note of order ', id) as note",
        "timestamp_micros(1735689600000000 + id * 17000003) as created_at",
        f"timestamp_micros(1735689600000000 + {seq}) as updated_at", f"cast({seq} as bigint) as _hr_read_seq",
    )  # fmt: skip


def write(rows: DataFrame, one: Contender, options: Mapping[str, str], mode: str) -> None:
    """One commit with the contender's index."""
    rows.write.format("hudi").options(**{**options, **one.index}).mode(mode).save(one.path)


def upsert(spark: SparkSession, batch: DataFrame, one: Contender) -> float:
    """Seconds of one commit."""
    table = HudiLake(spark, one.path, name="t", options={}).look()
    if table is None:
        raise RuntimeError(f"no table at {one.path}")
    has_metadata = "hoodie.metadata.enable" in one.index
    options = upsert_options(WriteOptions(), table, has_metadata_table=has_metadata)
    begun = time.monotonic()
    write(batch, one, options, "append")
    return time.monotonic() - begun


def count_wrong(spark: SparkSession, one: Contender, rows: int, batch: DataFrame) -> int:
    """Rows too many or too few, and rows of the batch that the table does not show."""
    seq = batch.first()["_hr_read_seq"]  # type: ignore[index]
    found = (
        spark.read.format("hudi")
        .load(one.path)
        .agg(F.count("*"), F.count(F.expr(f"if(_hr_read_seq = {seq}, 1, null)")))
    )
    shown, new = found.collect()[0]
    if (shown, new) != (rows, CHANGED):
        print(f"{one.name}: {shown:,} rows of {rows:,}, {new:,} of {CHANGED:,} changed ones", file=sys.stderr)
    return int(abs(shown - rows) + abs(new - CHANGED))


def report(contenders: list[Contender], rows: int) -> None:
    """A row an index, as Markdown: medians in seconds, and against the first."""
    print(f"\n{CHANGED:,} changed rows into {rows:,}\n")
    print("| index | made | scattered keys | newest keys |\n|---|---|---|---|")
    for one in contenders:
        cells = []
        for kind in BATCHES:
            median, first = (statistics.median(each.seconds[kind]) for each in (one, contenders[0]))
            cells.append(f"{median:.2f} s = {median / first:.2f}")
        print(f"| {one.name} | {one.made_seconds:.1f} s | {' | '.join(cells)} |")


if __name__ == "__main__":
    sys.exit(main())
