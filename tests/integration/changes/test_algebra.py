"""The Spark form of the four change queries against the pure one, on many random histories at once, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.change_queries.log import log_of
from hudi_reconcile.change_queries.queries import answer, of_one_row_each
from hudi_reconcile.core import changes as pure
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.values import READ_SEQ
from tests.support.histories import History, history_of

HISTORIES, RANGES = 30, 4
IMAGE = f"struct<v:int,{READ_SEQ}:int>"
KEY = "struct<history:int,id:int>"
LOG = f"n int, op string, key {KEY}, before {IMAGE}, after {IMAGE}"
VERSIONS = f"n int, side int, key {KEY}, partition string, version string, row {IMAGE}"

Told = Counter[tuple[Any, ...]]


def histories() -> list[History]:
    random = Random(20261121)  # noqa: S311 - examples

    def commit() -> dict[int, int | None]:
        return {key: random.choice([None, 0, 1, 2]) for key in random.sample(range(1, 6), random.randint(0, 4))}

    return [history_of([commit() for _ in range(random.randint(1, 8))]) for _ in range(HISTORIES)]


def image(row: pure.Image | None) -> tuple[Any, ...] | None:
    return None if row is None else (row["v"], row[READ_SEQ])


def told(name: int, changes: Iterable[pure.Change]) -> Told:
    return Counter((one.commit, one.op, (name, one.key), image(one.before), image(one.after)) for one in changes)


def in_spark(frame: DataFrame) -> Told:
    def plain(value: object) -> object:
        return tuple(value) if isinstance(value, tuple) else value

    return Counter(tuple(plain(value) for value in row) for row in frame.select(*LOG_COLUMNS).collect())


LOG_COLUMNS = ("n", "op", "key", "before", "after")


def test_all_four_queries_answer_in_spark_as_they_do_in_plain_python(spark: SparkSession) -> None:
    random = Random(8)  # noqa: S311 - examples
    logs: dict[int, tuple[pure.Change, ...]] = {}
    for history in histories():
        for _ in range(RANGES):
            first, last = sorted(random.choices(range(len(history.states)), k=2))
            logs[len(logs)] = history.between(first, last)
    rows = [row for name, log in logs.items() for row in told(name, log)]
    log = spark.createDataFrame(rows, LOG)

    for kind in pure.QUERY_TYPES:
        expected = sum((told(name, pure.answer(kind, one)) for name, one in logs.items()), Counter())
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
    log = log_of(spark.createDataFrame(rows, VERSIONS), range(8) if replacing else (), few=few)

    expected: Told = Counter()
    for name, history in enumerate(found):
        log_here = [one for one in history.log if not replacing or not _is_carried(one)]
        expected += told(name, log_here)
    assert in_spark(log) == expected


def _is_carried(change: pure.Change) -> bool:
    return change.before is not None and change.after is not None and pure.same_image(change.before, change.after)


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
        log = log_of(spark.createDataFrame(versions, VERSIONS), [1], few=few)
        assert in_spark(log) == Counter([(0, "i", key, None, other), (1, "d", key, other, None)])
    twice = spark.createDataFrame([(0, "i", key, None, one), (1, "i", key, None, other)], LOG)
    for kind in ("upsert", "min-delta"):
        with pytest.raises(UsageError, match="more than once"):
            answer(kind, twice)
    assert answer("append-only", twice).count() == 2
    alive = [(n, "upsert", key, None, image) for n, image in enumerate((one, other))]
    with pytest.raises(UsageError, match="more than once"):
        of_one_row_each(spark.createDataFrame(alive, LOG))
    assert of_one_row_each(spark.createDataFrame(alive[:1], LOG)).count() == 1
