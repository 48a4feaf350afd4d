"""Rules as `check` judges them beside Great Expectations alone: the small half of `make bench-rules`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from bench.gx_alone import KEY, SAID, Verdict, rows, rules_file, validated
from hudi_reconcile.config.rules_load import parse_rules
from hudi_reconcile.core.rules.rules import find_day
from hudi_reconcile.core.rules.verdict import judge_rule
from hudi_reconcile.ports import Frame, KeysTarget
from hudi_reconcile.rules.engine import SparkRules
from hudi_reconcile.spark.evidence_files import SparkFiles

ROWS = 6_000  # two rows of an amount that is not unique, one of a pair in the wrong order, six of an unknown status
NAMED = {"not_null", "unique", "between", "in_set", "matches", "sql"}


def ours(frame: DataFrame, folder: Path) -> dict[str, Verdict]:
    """Every verdict, and the keys on disk of the rules that failed."""
    rules = parse_rules(json.dumps(rules_file("orders")), "rules.yaml", None).rules
    engine, found = SparkRules(SparkFiles(frame.sparkSession)), {}
    counted = engine.measure(Frame(frame), rules)
    for rule in rules:
        result = judge_rule(rule, counted[rule.id], (), find_day(0))
        assert result.status != "error", result
        keys = None
        if result.status == "fail" and rule.kind in NAMED:
            target = KeysTarget((KEY,), str(folder / rule.id), rule.id, result.failed_rows)
            assert engine.save_keys(Frame(frame), rule, target) is not None
            keys = tuple(pq.read_table(folder / rule.id)[KEY].to_pylist())
        found[rule.id] = Verdict(result.status == "pass", result.failed_rows, keys)
    return found


@pytest.fixture(scope="module")
def said_of_rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Verdict], ...]:
    frame = rows(spark, ROWS)
    return ours(frame, tmp_path_factory.mktemp("keys")), validated(frame, "COMPLETE")


def test_verdicts_and_counts_are_those_of_great_expectations_alone(
    said_of_rows: tuple[dict[str, Verdict], ...],
) -> None:
    check, complete = ({name: replace(one, keys=None) for name, one in said.items()} for said in said_of_rows)

    assert check == complete
    assert {name for name, one in check.items() if not one.passed} == {one.id for one in SAID if one.fails}
    assert all(one.failed_rows for one in check.values() if not one.passed)


def test_keys_of_failed_rows_are_those_that_complete_lists(said_of_rows: tuple[dict[str, Verdict], ...]) -> None:
    check, complete = ({name: one.keys for name, one in said.items()} for said in said_of_rows)

    both = {one.id for one in SAID if one.fails and one.ours["check"] in NAMED - {"sql"}}
    assert {name: check[name] for name in both} == {name: complete[name] for name in both}
    assert all(check[name] for name in both)
    assert check["sql-fail"] == (9,)
