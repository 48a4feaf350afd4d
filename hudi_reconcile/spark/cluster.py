"""What is known of a cluster's executors: their cores, what they see, that one was lost. Also this process's memory limit."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from zipfile import ZipFile

from hudi_reconcile.core.errors import ExecutorLostError, ReconcileError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.safe_text import read_message
from hudi_reconcile.spark.settings import SHUFFLES, Machine, count_shuffle_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.2
_LOST_ROWS = re.compile(
    r"originally checkpointed this partition is no longer alive|Checkpoint block rdd_\S+ not found|ExecutorLostFailure"
)
_CLASS = re.compile(r"(?!META-INF)[\w/]+\.class")
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
        spark.conf.set(SHUFFLES, str(count_shuffle_partitions(spark.sparkContext.defaultParallelism)))


def refuse_missing_jars(spark: SparkSession, jars: Sequence[str], there: Sequence[str]) -> None:
    """Refuse executors that lack one of these jars, or load its classes from a file of another name than the one `there`.

    A jar of another version would answer, and write, by other rules. Names are compared and not paths, since Java names what a
    link leads to. Without Hudi's jar an executor finishes no task at all: the session's settings name a class of it. A jar
    without classes is not looked for. Raises UsageError.
    """
    from py4j.protocol import Py4JJavaError

    fix = "put the files of `hudi-reconcile jars list` there on each machine, or leave jars.executor_folder out"
    classes = {
        file: class_file for jar, file in zip(jars, there, strict=True) if (class_file := find_class(jar)) is not None
    }
    looks = [f"reflect('java.lang.ClassLoader', 'getSystemResource', '{name}')" for name in classes.values()]
    try:
        answers = _ask_executors(spark, looks)
    except Py4JJavaError as error:
        raise UsageError(
            f"jars.executor_folder: no task could finish on an executor with {', '.join(there)}", fix=fix
        ) from error
    missing = [
        file for file, urls in zip(classes, answers, strict=True)
        if any(f"/{Path(file).name}!" not in unquote(url) for url in urls)
    ]  # fmt: skip
    if missing:
        raise UsageError(
            f"jars.executor_folder: an executor has no {', '.join(missing)}, or has its classes from another file",
            fix=fix,
        )


def find_class(jar: str) -> str | None:
    """The path of a class in a jar, by which Java tells the file; None where it has none."""
    with ZipFile(jar) as archive:
        return next((name for name in archive.namelist() if _CLASS.fullmatch(name)), None)


def count_executors(spark: SparkSession) -> int:
    """Executors other than the driver."""
    count = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()  # noqa: SLF001
    return int(count) - 1


@dataclass(frozen=True, slots=True)
class Executors:
    """What executors say of themselves: how many answered, their Javas and time zones."""

    count: int
    javas: tuple[str, ...]
    time_zones: tuple[str, ...]


def look_at_executors(spark: SparkSession) -> Executors:
    """Ask every executor for its Java. Needs no Python there."""
    javas, time_zones = _ask_executors(spark, _LOOKS)
    return Executors(count_executors(spark), javas, time_zones)


def _ask_executors(spark: SparkSession, looks: Sequence[str]) -> list[tuple[str, ...]]:
    """What executors answer to each of these expressions of SQL, sorted and once each; NULL as `None`."""
    tasks = _count_tasks(spark)
    rows = spark.range(0, tasks, 1, tasks).selectExpr(*(f"{look} as c{n}" for n, look in enumerate(looks))).collect()
    return [tuple(sorted({str(row[place]) for row in rows})) for place in range(len(looks))]


def _count_tasks(spark: SparkSession) -> int:
    return max(1, spark.sparkContext.defaultParallelism) * _TASKS_PER_CORE


def sees_file(spark: SparkSession, path: str) -> bool:
    """Whether executors can read a file that the driver's file system has, from several tasks at once."""
    from py4j.protocol import Py4JJavaError

    tasks = _count_tasks(spark)
    try:
        spark.sparkContext.textFile(",".join([path] * tasks), tasks)._jrdd.count()  # noqa: SLF001 - no Python on executors
    except Py4JJavaError:
        return False
    return True


def walk_causes(error: BaseException | None) -> Iterator[BaseException]:
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
    words = (read_message(cause) for cause in walk_causes(error) if is_from_java(cause))
    return next((explanation for text in words if (explanation := explain_lost_rows(text)) is not None), None)


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
