"""`make bench-rules`: `check` beside Great Expectations alone, on the same rules and one Hudi snapshot, in one run.

A table of 1,000,000 rows of nine columns and nineteen rules, nine of which fail. Ours is the whole of `check`: counts, the
keys of all failed rows as Parquet, result, report and audit line. Theirs is a validation of the snapshot: with its defaults
BASIC (counts) and COMPLETE (keys, in the driver), and BASIC without keeping rows in memory. They take turns on one warm
session; what counts are the ratios. Exits 1 where they do not say the same of every rule.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gx_alone import KEY, SAID, Verdict, rows, rules_file, validated
from pyspark.sql import SparkSession

from hudi_reconcile.app.connections import request_session
from hudi_reconcile.app.rules import run_check
from hudi_reconcile.app.run import Call
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.result import run_document
from hudi_reconcile.spark.session import open_session

OURS = "check"
THEIRS: Mapping[str, Mapping[str, Any]] = {
    "GX alone, BASIC": {"form": "BASIC"},
    "GX alone, COMPLETE": {"form": "COMPLETE"},
    "GX alone, BASIC, persist=False": {"form": "BASIC", "persist": False},
}
LIMIT = 1.5
SOURCE = {"url": "postgresql+psycopg://nobody@127.0.0.1:1/none"}  # these rules ask no source


def main() -> int:
    """Run it all and print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as name:
        folder = Path(name)
        table = {"name": "orders", "source": {"table": "orders"}, "lake": {"path": "orders"}, "rules": "orders.yaml"}
        (folder / "orders.yaml").write_text(json.dumps(rules_file("orders")))
        (folder / "reconcile.yaml").write_text(json.dumps({"version": 1, "source": SOURCE, "tables": [table]}))
        config = load_config(folder / "reconcile.yaml", os.environ)
        with open_session(request_session(config)) as session:
            written(session.spark, str(folder / "orders"), given.rows)
            ways: dict[str, Callable[[], Mapping[str, Verdict]]] = {
                OURS: lambda: ours(Call(config, "reconcile.yaml", config.tables)),
                **{way: partial(_validate_anew, session.spark, folder, how) for way, how in THEIRS.items()},
            }
            return bench(ways, given)


def bench(ways: Mapping[str, Callable[[], Mapping[str, Verdict]]], given: argparse.Namespace) -> int:
    """Turn 0 warms up and does not count."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    said: dict[str, Mapping[str, Verdict]] = {}
    for _ in range(given.repeats + 1):
        for way, act in ways.items():
            started = time.monotonic()
            said[way] = act()
            seconds[way].append(time.monotonic() - started)
    wrong = verdicts(said)
    print(f"\n{given.rows:,} rows, {len(SAID)} rules: warm, median of {given.repeats}")
    medians = {way: statistics.median(times[1:]) for way, times in seconds.items()}
    for way, median in medians.items():
        limit = "" if way == OURS else f"   check / this = {medians[OURS] / median:.2f} (promised: at most {LIMIT})"
        print(f"  {way:30s} {median:7.2f} s{limit}")
    return int(bool(wrong))


def verdicts(said: Mapping[str, Mapping[str, Verdict]]) -> list[str]:
    """Print what each said of each rule; gives the rules on which they differ, or that did not end as they must."""
    print(f"{'rule':10s} {'verdict':8s} {'failed rows':>12s}  same in all")
    wrong = []
    for one in SAID:
        verdict = said[OURS][one.id]
        told = {(found[one.id].passed, found[one.id].failed_rows) for found in said.values()}
        lists = {found[one.id].keys for found in said.values()} - {None}
        same = len(told) == 1 and len(lists) <= 1 and verdict.passed is not one.fails
        wrong += [] if same else [one.id]
        keys_of_rule = next(iter(lists), None)
        keys = f", {len(keys_of_rule):,} keys" if one.fails and keys_of_rule is not None else ""
        print(
            f"{one.id:10s} {'pass' if verdict.passed else 'fail':8s} {verdict.failed_rows:>12,}  {'yes' if same else 'NO'}{keys}"
        )
    if wrong:
        print(f"WRONG: they differ on {', '.join(wrong)}: { ({way: found[wrong[0]] for way, found in said.items()}) }")
    return wrong


def ours(call: Call) -> dict[str, Verdict]:
    """One `check`, as the command does it; keys are read back from its run's folder."""
    done = run_check(call, "error")
    (table,) = run_document(done.result)["tables"]
    return {rule["id"]: verdict_of(rule, done.folder) for rule in table["rules"]}


def verdict_of(rule: Mapping[str, Any], folder: Path) -> Verdict:
    """What `check` said of a rule."""
    if rule["status"] == "error":
        raise RuntimeError(f"{rule['id']}: {rule['why']}")
    return Verdict(
        rule["status"] == "pass", rule["failed_rows"], None if rule["keys"] is None else keys_of(folder, rule)
    )


def _validate_anew(spark: SparkSession, folder: Path, how: Mapping[str, Any]) -> Mapping[str, Verdict]:
    return validated(snapshot(spark, folder), **how)


def keys_of(folder: Path, rule: Mapping[str, Any]) -> tuple[int, ...]:
    """The keys on disk."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    return tuple(sorted(pq.read_table(folder / rule["keys"]["path"])[KEY].to_pylist()))


def snapshot(spark: SparkSession, folder: Path) -> Any:
    """The table as any reader of Hudi sees it, without Hudi's own columns."""
    frame = spark.read.format("hudi").load(str(folder / "orders"))
    return frame.select(*[name for name in frame.columns if not name.startswith("_hoodie_")])


def written(spark: SparkSession, path: str, count: int) -> None:
    """The table in Hudi."""
    options = {
        "hoodie.table.name": "orders",
        "hoodie.datasource.write.recordkey.field": KEY,
        "hoodie.datasource.write.precombine.field": "updated_at",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.datasource.write.operation": "bulk_insert",
    }
    rows(spark, count).write.format("hudi").options(**options).mode("overwrite").save(path)


if __name__ == "__main__":
    sys.exit(main())
