"""What is known of a cluster's executors: their cores, what they see, that one was lost. Also this process's memory limit."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from hudi_reconcile.core.errors import ExecutorLostError, ReconcileError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.safe_text import read_message
from hudi_reconcile.spark.settings import SHUFFLES, Machine, shuffle_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.2
_LOST_ROWS = re.compile(
    r"originally checkpointed this partition is no longer alive|Checkpoint block rdd_\S+ not found|ExecutorLostFailure"
)
_TASKS_PER_CORE = 4  # of a look at executors: each of them gets one, as good as always
_LOOKS = (
    "reflect('java.lang.System', 'getProperty', 'java.version')",
    "reflect('java.lang.System', 'getProperty', 'user.timezone')",
)


def read_machine(root: Path = Path("/")) -> Machine:
    """Cores, and the memory that this process may use: the container's limit (cgroup) where that is lower than the machine's."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(cores=os.cpu_count() or 1, memory_bytes=min([memory, *_limits(root)]))


def _limits(root: Path) -> Iterator[int]:
    """Every memory limit of this process's control groups, versions 1 and 2: cgroups(7)."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        name = "memory.max" if controllers == "" else "memory.limit_in_bytes"
        group = top / path.lstrip("/")
        # A container sees its own group as the root of the tree, whatever its path is called outside.
        for place in {group, *group.parents, top}:
            if place.is_relative_to(top):
                yield from _limit(place / name)


def _limit(file: Path) -> Iterator[int]:
    try:
        text = file.read_text().strip()
    except OSError:
        return
    if text.isdecimal():
        yield int(text)


def follow_cluster(
    spark: SparkSession, conf: Mapping[str, str], master: str, wait_seconds: float = WAIT_SECONDS
) -> None:
    """Wait for the first executor, and shuffle into as many partitions as the cluster has cores for, if the user says no number.

    Raises UsageError where none came: without executors a job waits for ever. Where executors come and go with the work
    (dynamic allocation), Spark's own numbers stand.
    """
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return
    until = time.monotonic() + wait_seconds
    while not count_executors(spark):
        if time.monotonic() > until:
            raise UsageError(
                f"spark.master {master}: no executor came within {wait_seconds:.0f} s",
                fix="free cores and memory of the cluster, or ask for less: spark.cores.max, spark.executor.memory",
            )
        time.sleep(_POLL_SECONDS)
    if SHUFFLES not in conf:
        spark.conf.set(SHUFFLES, str(shuffle_partitions(spark.sparkContext.defaultParallelism)))


def refuse_missing_jars(spark: SparkSession, jars: Sequence[str], there: Sequence[str]) -> None:
    """Raises UsageError where an executor has a class of one of these jars from no file of the name that is to be `there`.

    A jar of another version would answer, and write, by other rules. By name, since Java names what a link leads to. Without
    Hudi's jar an executor ends no task at all: a class of it is named by the session's settings.
    """
    from py4j.protocol import Py4JJavaError

    fix = "put the files of `hudi-reconcile jars list` there on each machine, or leave jars.executor_folder out"
    looks = [f"reflect('java.lang.ClassLoader', 'getSystemResource', '{_name_class(jar)}')" for jar in jars]
    tasks = max(1, spark.sparkContext.defaultParallelism) * _TASKS_PER_CORE
    try:
        rows = (
            spark.range(0, tasks, 1, tasks).selectExpr(*(f"{look} as c{n}" for n, look in enumerate(looks))).collect()
        )
    except Py4JJavaError as error:
        raise UsageError(f"jars.executor_folder: no task ends on executors with {', '.join(there)}", fix=fix) from error
    found = [set(map(str, urls)) for urls in zip(*rows, strict=True)]
    missing = [
        file for file, urls in zip(there, found, strict=True) if any(f"/{Path(file).name}!" not in url for url in urls)
    ]
    if missing:
        raise UsageError(
            f"jars.executor_folder: an executor has no {', '.join(missing)}, or has its classes from another file",
            fix=fix,
        )


def _name_class(jar: str) -> str:
    """The path of a class in a jar."""
    with ZipFile(jar) as archive:
        return next(name for name in archive.namelist() if re.fullmatch(r"(?!META-INF|module-info)[\w/]+\.class", name))


def count_executors(spark: SparkSession) -> int:
    """Executors other than the driver."""
    found = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()  # noqa: SLF001
    return int(found) - 1


@dataclass(frozen=True, slots=True)
class Executors:
    """What executors say of themselves: how many answered, their Javas and time zones."""

    count: int
    javas: tuple[str, ...]
    time_zones: tuple[str, ...]


def look_at_executors(spark: SparkSession) -> Executors:
    """Ask every executor for its Java. Needs no Python there."""
    tasks = max(1, spark.sparkContext.defaultParallelism) * _TASKS_PER_CORE
    rows = spark.range(0, tasks, 1, tasks).selectExpr(*(f"{one} as c{n}" for n, one in enumerate(_LOOKS))).collect()
    return Executors(
        count_executors(spark),
        tuple(sorted({str(row[0]) for row in rows})),
        tuple(sorted({str(row[1]) for row in rows})),
    )


def sees_file(spark: SparkSession, path: str) -> bool:
    """Whether executors can read a file that the driver's file system has, from several tasks at once."""
    from py4j.protocol import Py4JJavaError

    tasks = max(1, spark.sparkContext.defaultParallelism) * _TASKS_PER_CORE
    try:
        spark.sparkContext.textFile(",".join([path] * tasks), tasks)._jrdd.count()  # noqa: SLF001 - no Python on executors
    except Py4JJavaError:
        return False
    return True


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what led to it, also where it was raised `from None`."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def is_from_java(error: BaseException) -> bool:
    """Whether an error came from Java, or of its end."""
    return type(error).__module__.startswith(("py4j.", "pyspark.")) or isinstance(error, ConnectionError)


def explain_lost_executor(error: BaseException) -> ExecutorLostError | None:
    """The error for one that came of a lost executor, whatever name it was given since; None for any other."""
    if isinstance(error, ReconcileError) and error.outcome is not Outcome.UNVERIFIED:
        return None
    words = (read_message(one) for one in chain_of(error) if is_from_java(one))
    return next((found for text in words if (found := explain_lost_rows(text)) is not None), None)


def explain_lost_rows(words: str) -> ExecutorLostError | None:
    """The error for Spark's words about rows that an executor held alone and took with it; None for other words.

    What is read is kept where it was read, without a second copy, so that it is read once (`localCheckpoint`).
    """
    if _LOST_ROWS.search(" ".join(words.split())) is None:
        return None
    return ExecutorLostError(
        "a Spark executor was lost, and rows that it alone held: the table could not be finished",
        fix="run the same command again: what is done stays; where it comes again, keep executors (no spot nodes, no preemption)",
    )
