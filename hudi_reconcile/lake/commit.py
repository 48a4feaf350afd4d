"""One commit of ours: write the frame, find our commit by its token, or leave nothing behind.

The outcome of a failed save is looked up on the timeline, never guessed: Hudi may fail after the commit is visible.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import LakeError, RefusedError, SupersededError
from hudi_reconcile.core.lake.failures import (
    LOCKED_OUT,
    JavaCause,
    describe_causes,
    is_lock_failure,
    is_lock_taken,
    is_lost_race,
)
from hudi_reconcile.core.lake.locks import FILE_LOCK, PROVIDER, LockProviderError, lock_fix
from hudi_reconcile.core.tables.values import Instant
from hudi_reconcile.lake.bridge import Timeline, describe_failure, list_causes, read_timeline_clock, roll_back
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.lease import Renewal
from hudi_reconcile.lake.odd_rows import spell_keys
from hudi_reconcile.lake.options import split_lock_options
from hudi_reconcile.lake.timeline import COMMIT, PREFIX, find_commit, list_writers_in_flight

_COMMIT_TIME = re.compile(r"\b\d{17}\b")
_CLOCK_LOOKS, _CLOCK_LOOK_SECONDS = 20, 0.5


@dataclass(frozen=True, slots=True)
class Target:
    """The table a commit goes to; `exists` is False for the commit that makes it.

    `lease` is asked before each: it raises where that under which we write was lost.
    """

    spark: SparkSession
    path: str
    name: str
    exists: bool = True
    lease: Renewal | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    """What stands on the timeline: writes in flight, and rollbacks that were planned or made."""

    in_flight: tuple[str, ...] = ()
    rollbacks: frozenset[str] = frozenset()


def commit(
    target: Target, frame: DataFrame, options: Mapping[str, str], metadata: Mapping[str, str], prefix: str = PREFIX
) -> Instant:
    """Write the frame in one commit that carries the metadata. Hudi takes keys of one prefix only.

    Raises SupersededError where another writer won, or our lease was lost, LockProviderError where the lock does not work,
    LakeError where the write failed; all after our instant was rolled back, and only where the commit did not land.
    """
    token = uuid4().hex
    key = COMMIT if prefix == PREFIX else prefix + COMMIT
    carried = {**metadata, key: token, "hoodie.datasource.write.commitmeta.key.prefix": prefix}
    before = _look_before(target)
    if target.lease is not None:
        target.lease.refuse_lost()
    try:
        spell_keys(frame, options).write.format("hudi").options(**options, **carried).mode("append").save(target.path)
    except (Py4JJavaError, PySparkException) as error:
        landed = _find_landed(target, key, token)
        if landed is None:
            raise _build_failure(target, error, before, options.get(PROVIDER, "")) from error
        return landed
    landed = _find_landed(target, key, token)
    if landed is None:
        raise LakeError(
            f"Hudi table {target.path}: the write ended well but its commit is not on the timeline",
            fix="hudi-reconcile doctor",
        )
    return landed


def commit_alone(target: Target, frame: DataFrame, options: Mapping[str, str], metadata: Mapping[str, str]) -> Instant:
    """The same with the table's lock held from before our instant until the commit is made, or is rolled back.

    Optimistic writers take that lock to begin and to end a commit, so whatever the validators found is still so when we
    commit. Hudi's own check, at the commit alone, would not do: it asks for files that two writers changed, and a key that
    both insert may lie in two. Raises as `commit`; SupersededError too where the lock is not to be had.
    """
    inside, of_the_lock = split_lock_options(options)
    with _hold_lock(target, of_the_lock):
        return commit(target, frame, inside, metadata)


@contextmanager
def _hold_lock(target: Target, options: Mapping[str, str]) -> Iterator[None]:
    lock = Timeline(target.spark, target.path).lock(target.name, options)
    try:
        lock.lock()
    except Py4JJavaError as error:
        causes, said = list_causes(error), describe_failure(error)
        if not is_lock_taken(causes):
            raise _lock_error(target.path, said) from error
        file = f"; if no writer is alive, delete {target.path}/.hoodie/lock"
        raise SupersededError(
            f"Hudi table {target.path}: its lock is held by another writer ({said}); nothing of ours was written",
            fix=f"run it again{file if options.get(PROVIDER) == FILE_LOCK else ''}",
        ) from error
    interrupted = False
    try:
        yield
    except BaseException as error:
        # The JVM may still be writing: the lock is left to the next run, as the lease is.
        interrupted = not isinstance(error, Exception | GeneratorExit)
        raise
    finally:
        if not interrupted:
            # Closes the manager too; to close one that holds no lock would remove another writer's. The commit is made or not
            # whatever becomes of the lock.
            with suppress(Py4JJavaError):
                lock.unlock()


def _build_failure(
    target: Target, error: Py4JJavaError | PySparkException, before: _Seen, provider: str
) -> LakeError | SupersededError | LockProviderError:
    causes = _causes(error)
    instants = _clear(target, error, before)
    what = f"Hudi table {target.path}: {describe_causes(causes)}"
    if instants:
        what += f"; instants still in flight: {', '.join(instants)}"
    if is_lock_failure(causes, provider):
        return _lock_error(target.path, what)
    if is_lost_race(causes):
        return SupersededError(f"{what}: another writer came first, nothing of ours was written", fix="run it again")
    return LakeError(f"{what}: the commit was not made", fix="see the log on stderr, then run it again")


def _lock_error(path: str, said: str) -> LockProviderError:
    return LockProviderError(
        f"{said}: the lock provider does not work for {path}, nothing of ours was written", fix=lock_fix(path)
    )


def _clear(target: Target, error: Py4JJavaError | PySparkException, before: _Seen) -> tuple[str, ...]:
    """Roll our instant back at once: a failed one with a newer commit after it blocks every default writer.

    Which one is ours Hudi does not say: the only one that is in flight since we looked, or the one that the error names. A
    writer with default settings that begins rolls ours back, and is then the only one, and alive; and where our write got
    no lock it may have begun none. Then nothing is rolled back.
    """
    now = _look_before(target)
    fresh = [instant for instant in now.in_flight if instant not in before.in_flight]
    mine = fresh if len(fresh) == 1 else [instant for instant in fresh if instant in _COMMIT_TIME.findall(str(error))]
    if now.rollbacks - before.rollbacks or LOCKED_OUT in {cause.name for cause in _causes(error)}:
        mine = []
    for requested in mine:
        if target.lease is not None:
            target.lease.left.add(requested)
            target.lease.refuse_lost()
        try:
            roll_back(target.spark, target.path, target.name, requested)
        except Py4JJavaError:
            continue  # named as left behind; the next run with the lease rolls it back
        if target.lease is not None:
            target.lease.left.discard(requested)
    return tuple(instant for instant in _look_before(target).in_flight if instant not in before.in_flight)


def _find_landed(target: Target, key: str, token: str) -> Instant | None:
    try:
        return find_commit(Timeline(target.spark, target.path), key, token)
    except LakeError as error:
        if target.exists:
            raise LakeError(
                f"whether the commit was made is not known: {error.message}",
                fix="run the same command again: it looks for the commit first",
            ) from error
        return None  # the table was never made


def _look_before(target: Target) -> _Seen:
    # Hudi looks for a missing hoodie.properties five times, a second apart: it may be just being replaced.
    if not target.exists and not Files(target.spark, target.path).exists(f"{target.path}/.hoodie"):
        return _Seen()
    try:
        timeline = Timeline(target.spark, target.path)
        _refuse_later(target, timeline)
        return _Seen(list_writers_in_flight(timeline), timeline.rollbacks())
    except LakeError:
        if target.exists:
            raise
        return _Seen()


def _refuse_later(target: Target, timeline: Timeline) -> None:
    """Raises RefusedError where a write has a later instant than now: Hudi takes a file group's greatest instant for its newest.

    The clocks of two hosts may be a little apart, so it waits some seconds first.
    """
    newest = max((action.requested for action in (*timeline.list_completed(), *timeline.pending())), default="")
    looks_left = _CLOCK_LOOKS
    while newest > (now := read_timeline_clock(target.spark)) and looks_left:
        time.sleep(_CLOCK_LOOK_SECONDS)
        looks_left -= 1
    if newest <= now:
        return
    raise RefusedError(
        f"Hudi table {target.path}: its write {newest} is named after now, {now} UTC: by a writer whose JVM is in a zone ahead "
        "of UTC, or whose clock is; what we write would be hidden behind its files; nothing was written",
        fix="run that writer with -Duser.timezone=UTC; or run this again once that time has come",
    )


def _causes(error: Py4JJavaError | PySparkException) -> tuple[JavaCause, ...]:
    return list_causes(error) if isinstance(error, Py4JJavaError) else (JavaCause(type(error).__name__),)
