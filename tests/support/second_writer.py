"""A second writer: a process of its own with its own JVM, that writes to a lake table on command and is held where asked.

As a program it reads commands as lines of JSON from stdin, `python -m tests.support.second_writer FOLDER`, and answers each
with a file in the folder. `SecondWriter` is the other end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.cli.main import run
from hudi_reconcile.core.lake.ownership import SETTINGS
from hudi_reconcile.lake import correct, hudi_lake
from hudi_reconcile.lake.bridge import list_cause_names
from hudi_reconcile.lake.commit import commit
from hudi_reconcile.spark.session import SessionRequest, open_session

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 600.0  # of a machine that does much else
# What a writer with Hudi's defaults says, and what one says that follows our advice.
DEFAULT: dict[str, str] = {}
OPTIMISTIC = {
    **dict(part.split("=", 1) for part in SETTINGS.split(", ")),
    # Hudi's own 50 times five seconds, in smaller steps.
    "hoodie.write.lock.client.wait_time_ms_between_retry": "250",
    "hoodie.write.lock.client.num_retries": "1000",
}
# Who tells of a writer that finds the lock taken and will ask again, and in which words.
_ASKS_AGAIN, _TAKEN = "org.apache.hudi.common.util.RetryHelper", b"Unable to acquire the lock"


class Point(StrEnum):
    """Where a write is held."""

    BEFORE = "before its instant is requested"
    REQUESTED = "with its instant requested"
    WRITTEN = "with its data files written, before its commit"


@dataclass(frozen=True, slots=True)
class Gate:
    """A place to stop at: whoever comes there says so and waits until it is opened. Two files, seen by any process."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)

    @property
    def reached(self) -> Path:
        return self.folder / "reached"

    @property
    def opened(self) -> Path:
        return self.folder / "opened"

    def wait(self) -> None:
        """Wait until somebody stands at the gate."""
        _until(self.reached.exists)

    def open(self) -> None:
        self.opened.touch()

    def stop(self) -> Callable[[int], int]:
        """What stops at the gate, as a function of a value that it returns: Spark's workers know it without this module."""
        reached, opened, patience = str(self.reached), str(self.opened), PATIENCE_SECONDS

        def stopped(value: int) -> int:
            import pathlib  # noqa: PLC0415  in a worker of Spark
            import time  # noqa: PLC0415

            pathlib.Path(reached).touch()
            begun = time.monotonic()
            while not pathlib.Path(opened).exists():
                if time.monotonic() > begun + patience:
                    raise TimeoutError("nobody opened the gate")
                time.sleep(0.05)
            return value

        return stopped


def held_when_requested(frame: DataFrame, gate: Gate) -> DataFrame:
    """The rows of a write that stops with its instant requested: Hudi looks at rows for the first time after that."""
    stopped = F.udf(gate.stop(), "bigint")
    return frame.withColumn("order_id", stopped("order_id"))


@contextmanager
def held_after_validators(spark: SparkSession, gate: Gate) -> Iterator[None]:
    """Corrections of this process stop between their pre-commit validators and their commit.

    Of the two queries the one that ends last stops, with both results computed, in whichever order Hudi asks them.
    """
    stop, folder = gate.stop(), str(gate.folder)

    def last_stops(value: int, mine: str, other: str) -> int:
        import pathlib  # noqa: PLC0415  in a worker of Spark

        pathlib.Path(folder, mine).touch()
        return stop(value) if pathlib.Path(folder, other).exists() else value

    spark.udf.register("hr_test_last_stops", last_stops, "bigint")
    before = correct.write_versions_sql, correct.write_pending_sql

    def held(sql: str, mine: str, other: str) -> str:
        return f"select hr_test_last_stops(found, '{mine}', '{other}') from ({sql}) as t(found)"

    correct.write_versions_sql = lambda table, view: held(before[0](table, view), "versions", "pending")
    correct.write_pending_sql = lambda *given: held(before[1](*given), "pending", "versions")
    try:
        yield
    finally:
        correct.write_versions_sql, correct.write_pending_sql = before
        gate.open()


@dataclass(slots=True)
class SecondWriter:
    """The other end of the program: tells it what to do, and what came of it."""

    folder: Path
    process: subprocess.Popen[bytes] = field(init=False)
    _told: int = 0  # bytes of the log from before the last command

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "tests.support.second_writer", str(self.folder)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=ROOT, start_new_session=True
            )

    def begin(self, do: str, **parts: Any) -> Path:
        """Give a command. Returns the file that will hold the answer."""
        answer, self._told = self.folder / uuid4().hex, self.log.stat().st_size
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, "answer": str(answer), **parts}).encode() + b"\n")
        self.process.stdin.flush()
        return answer

    def upsert(
        self,
        lake: Path,
        rows: Sequence[Mapping[str, Any]],
        options: Mapping[str, str],
        hold: tuple[Point, Gate] | None = None,
    ) -> Path:
        """Begin a plain upsert of Hudi's own."""
        held = None if hold is None else (hold[0].value, str(hold[1].folder))
        return self.begin("upsert", path=str(lake), rows=rows, options=dict(options), hold=held)

    def pull(self, config: Path, hold: tuple[Point, Gate] | None = None) -> Path:
        """Begin `hudi-reconcile pull`."""
        held = None if hold is None else (hold[0].value, str(hold[1].folder))
        return self.begin("pull", config=str(config), hold=held)

    def ended(self, answer: Path) -> Any:
        """What came of a command, when it is there."""
        _until(answer.exists, self._lives)
        return json.loads(answer.read_text())

    def ended_or_waits(self, answer: Path) -> Any:
        """What came of the last command, or None as soon as it has found the table's lock taken and will ask again."""
        _until(lambda: answer.exists() or self._waits(), self._lives)
        return json.loads(answer.read_text()) if answer.exists() else None

    def _waits(self) -> bool:
        return _TAKEN in self.log.read_bytes()[self._told :]

    def _lives(self) -> None:
        assert self.process.poll() is None, self.log.read_text()[-3000:]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)  # its JVM too
            raise


def _until(condition: Callable[[], bool], meanwhile: Callable[[], object] = lambda: None) -> None:
    begun = time.monotonic()
    while not condition():
        meanwhile()
        assert time.monotonic() < begun + PATIENCE_SECONDS, "waited in vain"
        time.sleep(0.02)


# --- the program -----------------------------------------------------------------------------------------------------


def _held(
    spark: SparkSession, frame: DataFrame, options: Mapping[str, str], hold: Sequence[str] | None
) -> tuple[DataFrame, dict[str, str]]:
    """The frame and the options of a write that stops where asked."""
    if hold is None:
        return frame, dict(options)
    point, gate = Point(hold[0]), Gate(Path(hold[1]))
    stop = gate.stop()
    if point is Point.BEFORE:
        stop(0)
    elif point is Point.REQUESTED:
        frame = held_when_requested(frame, gate)
    else:
        spark.udf.register("hr_test_stop", stop, "bigint")
        query = "select hr_test_stop(count(*)) from (select 1 where 'x' <> '<TABLE_NAME>')#1"
        options = {
            **options,
            "hoodie.precommit.validators": correct.VALIDATOR,
            "hoodie.precommit.validators.single.value.sql.queries": query,
        }
    return frame, dict(options)


def _upsert(spark: SparkSession, command: Mapping[str, Any]) -> Any:
    shown = spark.read.format("hudi").load(command["path"])
    schema = shown.select([name for name in shown.columns if not name.startswith("_hoodie_")]).schema
    at = schema.names.index("updated_at")
    rows = [[row[name] for name in schema.names] for row in command["rows"]]
    for row in rows:
        row[at] = datetime.fromisoformat(row[at])
    options = {
        "hoodie.table.name": "orders",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.upsert.shuffle.parallelism": "2",
        **command["options"],
    }
    frame, options = _held(spark, spark.createDataFrame(rows, schema), options, command["hold"])
    try:
        frame.write.format("hudi").options(**options).mode("append").save(command["path"])
    except Py4JJavaError as error:
        return list_cause_names(error)
    return "committed"


def _pull(spark: SparkSession, command: Mapping[str, Any]) -> Any:
    def held_commit(target: Any, frame: DataFrame, options: Mapping[str, str], *rest: Any) -> Any:
        return commit(target, *_held(spark, frame, options, command["hold"]), *rest)

    vars(hudi_lake)["commit"] = held_commit
    return run(["-c", command["config"], "pull"])


def _warm(spark: SparkSession, path: str) -> None:
    """A throw-away write: the first of a process takes several times as long as those that races are made of."""
    options = {"hoodie.table.name": "warm", "hoodie.datasource.write.recordkey.field": "id", **OPTIMISTIC}
    spark.createDataFrame([(1, 1)], "id int, n int").write.format("hudi").options(**options).mode("append").save(path)


def main(folder: str) -> None:
    request = SessionRequest(
        master="local[2]", conf={"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}, short=True
    )
    with open_session(request) as session:
        jvm: Any = session.spark._jvm
        log4j = jvm.org.apache.logging.log4j
        log4j.core.config.Configurator.setLevel(_ASKS_AGAIN, log4j.Level.WARN)
        _warm(session.spark, str(Path(folder, "warm")))
        for line in sys.stdin:
            command = json.loads(line)
            found = {"upsert": _upsert, "pull": _pull}[command["do"]](session.spark, command)
            beside = Path(folder, uuid4().hex)
            beside.write_text(json.dumps(found))
            beside.rename(command["answer"])


if __name__ == "__main__":
    main(sys.argv[1])
