"""One commit of ours: write the frame, find our commit by its token, or leave nothing behind.

The outcome of a failed save is looked up on the timeline, never guessed: Hudi may fail after the commit is visible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import LakeError, SupersededError
from hudi_reconcile.core.values import Instant
from hudi_reconcile.lake.bridge import Timeline, cause_names, roll_back
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.metadata import COMMIT, PREFIX
from hudi_reconcile.lake.timeline import commit_of, writers_in_flight

_LOST_RACE = frozenset({"HoodieValidationException", "HoodieWriteConflictException", "HoodieLockException"})
_COMMIT_TIME = re.compile(r"\b\d{17}\b")


@dataclass(frozen=True, slots=True)
class Target:
    """The table a commit goes to; `exists` is False for the commit that makes it."""

    spark: SparkSession
    path: str
    name: str
    exists: bool = True


def commit(
    target: Target, frame: DataFrame, options: Mapping[str, str], metadata: Mapping[str, str], prefix: str = PREFIX
) -> Instant:
    """Write the frame in one commit that carries the metadata. Hudi takes keys of one prefix only.

    Raises SupersededError where another writer won, LakeError where the write failed; both after our instant was rolled
    back, and only where the commit did not land.
    """
    token = uuid4().hex
    key = COMMIT if prefix == PREFIX else prefix + COMMIT
    carried = {**metadata, key: token, "hoodie.datasource.write.commitmeta.key.prefix": prefix}
    before = frozenset(_in_flight(target))
    try:
        frame.write.format("hudi").options(**options, **carried).mode("append").save(target.path)
    except (Py4JJavaError, PySparkException) as error:
        landed = _landed(target, key, token)
        if landed is None:
            raise _failed(target, error, before) from error
        return landed
    landed = _landed(target, key, token)
    if landed is None:
        raise LakeError(
            f"Hudi table {target.path}: the write ended well but its commit is not on the timeline",
            fix="hudi-reconcile doctor",
        )
    return landed


def _failed(
    target: Target, error: Py4JJavaError | PySparkException, before: frozenset[str]
) -> LakeError | SupersededError:
    names = _names(error)
    left = _clear(target, error, before)
    what = f"Hudi table {target.path}: {' <- '.join(names)}"
    if left:
        what += f"; instants still in flight: {', '.join(left)}"
    if _LOST_RACE & set(names):
        return SupersededError(f"{what}: another writer came first, nothing of ours was written", fix="run it again")
    return LakeError(f"{what}: the commit was not made", fix="see the log on stderr, then run it again")


def _clear(target: Target, error: Py4JJavaError | PySparkException, before: frozenset[str]) -> tuple[str, ...]:
    """Roll our instant back at once: a failed one with a newer commit after it blocks every default writer."""
    fresh = [one for one in _in_flight(target) if one not in before]
    mine = fresh if len(fresh) == 1 else [one for one in fresh if one in _COMMIT_TIME.findall(str(error))]
    for requested in mine:
        try:
            roll_back(target.spark, target.path, target.name, requested)
        except Py4JJavaError:
            continue  # named as left behind; the next run with the lease rolls it back
    return tuple(one for one in _in_flight(target) if one not in before)


def _landed(target: Target, key: str, token: str) -> Instant | None:
    try:
        return commit_of(Timeline(target.spark, target.path), key, token)
    except LakeError:
        if target.exists:
            raise
        return None  # the table was never made


def _in_flight(target: Target) -> tuple[str, ...]:
    # Hudi looks for a missing hoodie.properties five times, a second apart: it may be just being replaced.
    if not target.exists and not Files(target.spark, target.path).exists(f"{target.path}/.hoodie"):
        return ()
    try:
        return writers_in_flight(Timeline(target.spark, target.path))
    except LakeError:
        if target.exists:
            raise
        return ()


def _names(error: Py4JJavaError | PySparkException) -> tuple[str, ...]:
    return cause_names(error) if isinstance(error, Py4JJavaError) else (type(error).__name__,)
