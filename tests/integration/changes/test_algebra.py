"""The Spark form of the four change queries against the pure one, on many random histories at once, in memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.changefeed.answers import answer, require_one_row_each
from hudi_reconcile.changefeed.lines import render_lines
from hudi_reconcile.changefeed.log import filter_touched, pair_versions
from hudi_reconcile.changefeed.origin import add_origin, load_kinds
from hudi_reconcile.core.changes import queries
from hudi_reconcile.core.changes.range import Commit
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.values import READ_SEQ, Instant
from tests.support.histories import History, history_of

HISTORIES, RANGES = 30, 4
IMAGE = f"struct<v:int,{READ_SEQ}:int>"
KEY = "struct<history:int,id:int>"
LOG = f"n int, op string, key {KEY}, before {IMAGE}, after {IMAGE}, doubled boolean"
VERSIONS = f"n int, side int, key {KEY}, partition string, version string, row {IMAGE}"

Told = Counter[tuple[Any, ...]]


def histories() -> list[History]:
    random = Random(20261121)  # noqa: S311 - examples

    def commit() -> dict[int, int | None]:
        return {key: random.choice([None, 0, 1, 2]) for key in random.sample(range(1, 6), random.randint(0, 4))}

    return [history_of([commit() for _ in range(random.randint(1, 8))]) for _ in range(HISTORIES)]


def image(row: queries.Image | None) -> tuple[Any, ...] | None:
    return None if row is None else (row["v"], row[READ_SEQ])


def told(name: int, changes: Iterable[queries.Change]) -> Told:
    return Counter((one.commit, one.op, (name, one.key), image(one.before), image(one.after)) for one in changes)


def in_spark(frame: DataFrame) -> Told:
    def plain(value: object) -> object:
        return tuple(value) if isinstance(value, tuple) else value

    return Counter(tuple(plain(value) for value in row) for row in frame.select(*LOG_COLUMNS).collect())


LOG_COLUMNS = ("n", "op", "key", "before", "after")


def test_all_four_queries_answer_in_spark_as_they_do_in_plain_python(spark: SparkSession) -> None:
    random = Random(8)  # noqa: S311 - examples
    logs: dict[int, tuple[queries.Change, ...]] = {}
    for history in histories():
        for _ in range(RANGES):
            first, last = sorted(random.choices(range(len(history.states)), k=2))
            logs[len(logs)] = history.between(first, last)
    rows = [(*row, False) for name, log in logs.items() for row in told(name, log)]
    log = spark.createDataFrame(rows, LOG)

    for kind in queries.QUERY_TYPES:
        expected = sum((told(name, queries.answer(kind, one)) for name, one in logs.items()), Counter())
        assert in_spark(answer(kind, log)) == expected, kind
        assert expected


@pytest.mark.parametrize(("replacing", "few"), [(False, True), (True, False)])
def test_log_of_row_versions_is_the_log_of_what_the_commits_did(
    spark: SparkSession, *, replacing: bool, few: bool
) -> None:
    found = histories()
    rows = [
        (n, side, (name, key), "", str(row[READ_SEQ]), image(row))
        for name, history in enumerate(found)
        for n in range(len(history.states) - 1)
        for side in (0, 1)
        for key, row in history.states[n + side].items()
    ]
    log = pair_versions(filter_touched(spark.createDataFrame(rows, VERSIONS), few=few), range(8) if replacing else ())

    expected: Told = Counter()
    for name, history in enumerate(found):
        log_here = [one for one in history.log if not replacing or not _is_carried(one)]
        expected += told(name, log_here)
    assert in_spark(log) == expected


def _is_carried(change: queries.Change) -> bool:
    return change.before is not None and change.after is not None and queries.is_same_image(change.before, change.after)


def test_copies_of_a_doubled_key_are_told_one_by_one_and_refused_where_one_row_is_asked_for(
    spark: SparkSession,
) -> None:
    key, one, other = (0, 1), (1, 0), (2, 0)
    versions = [
        (0, 0, key, "a", "v1", one),
        (0, 1, key, "a", "v1", one),
        (0, 1, key, "b", "v2", other),  # a second copy comes
        (1, 0, key, "a", "v1", one),
        (1, 0, key, "b", "v2", other),
        (1, 1, key, "a", "v3", one),  # and a replacement leaves the first alone
    ]
    for few in (False, True):
        log = pair_versions(filter_touched(spark.createDataFrame(versions, VERSIONS), few=few), [1])
        assert in_spark(log) == Counter([(0, "i", key, None, other), (1, "d", key, other, None)])
    twice = spark.createDataFrame([(0, "i", key, None, one, False), (1, "i", key, None, other, False)], LOG)
    # Of the two copies one goes and the other is carried over: alone, the delete would say that the row is gone.
    repair = pair_versions(filter_touched(spark.createDataFrame(versions, VERSIONS).where("n = 1")), [1])
    both_updated = [
        (0, 0, key, "a", "v1", one),
        (0, 0, key, "b", "v2", other),
        (0, 1, key, "a", "v3", (3, 0)),
        (0, 1, key, "b", "v4", (3, 0)),
    ]
    both = pair_versions(filter_touched(spark.createDataFrame(both_updated, VERSIONS)), [])
    for log in (twice, repair, both):
        for kind in ("upsert", "min-delta"):
            with pytest.raises(UsageError, match="several copies of 1 key of this range") as refused:
                answer(kind, log, ["c0", "c1"])
            assert refused.value.fix.startswith("--from c0 " if log is both else "--from c1 ")
    assert answer("append-only", twice).count() == 2
    alive = [(n, "upsert", key, None, image, False) for n, image in enumerate((one, other))]
    with pytest.raises(UsageError, match="several copies"):
        require_one_row_each(spark.createDataFrame(alive, LOG))
    assert require_one_row_each(spark.createDataFrame(alive[:1], LOG)).count() == 1


def test_nested_times_are_told_and_held_against_each_other_with_their_microseconds(spark: SparkSession) -> None:
    at = "timestamp'2025-01-01 00:00:00.1234{}'"
    before, after = (
        f"named_struct('seen', map('a', {at.format(digits)}), 'days', array({at.format('56')}))"
        for digits in ("56", "57")
    )
    log = spark.sql(f"select 0 n, 'u' op, named_struct('id', 1) key, {before} before, {after} after, false doubled")
    none = F.lit(None).cast("struct<run_id:string>")

    net = answer("min-delta", log).withColumns({"instant": F.lit("i"), "correction": none})
    told = [json.loads(row["line"])["after"] for row in render_lines(net, {}).collect()]

    assert told == [{"seen": '{"a":"2025-01-01T00:00:00.123457Z"}', "days": '["2025-01-01T00:00:00.123456Z"]'}]


def test_finding_of_a_padded_key_is_found_again_and_two_of_different_kinds_are_no_kind(
    spark: SparkSession, tmp_path: Path
) -> None:
    findings = [
        ("deleted", {"code": "ab", "part": None}),
        ("deleted", {"code": "cd", "part": None}),
        ("late_arriving", {"code": "cd ", "part": None}),
    ]
    rows = [(json.dumps({"key": key}), kind, "delete") for kind, key in findings]
    spark.createDataFrame(rows, "line string, kind string, action string").write.parquet(str(tmp_path / "findings"))
    commit = Commit(Instant("1", "2"), labels={"kind": "apply", "run_id": "r2", "sweep": "r1", "plan": "p"})
    answered = spark.sql(
        "select 0 n, 'd' op, named_struct('code', code, 'part', cast(null as int)) key, 1 before, 1 after"
        " from values ('ab   '), ('cd '), ('ef ') as t(code)"
    )

    kinds = load_kinds(spark, {"r1": str(tmp_path / "findings")}, ["code", "part"])
    found = add_origin(answered, [commit], kinds, corrections_only=True).collect()

    assert {row["key"]["code"]: row["correction"]["kind"] for row in found} == {
        "ab   ": "deleted",
        "cd ": None,
        "ef ": None,
    }
