"""The rows of a table as Spark frames: pinned to an instant, or only their schema."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.lake.ownership import find_cleaner_error
from hudi_reconcile.core.tables.values import LakePin
from hudi_reconcile.lake.bridge import Timeline, describe_failure, retry_missing_table
from hudi_reconcile.lake.timeline import pin_snapshot

log = logging.getLogger("hudi_reconcile")


def read_pinned(spark: SparkSession, path: str, pin: LakePin) -> DataFrame:
    """All rows at the pin, `_hoodie_*` columns included. Log files of a merge_on_read table are merged in.

    Raises LakeError where the pin is no longer the newest snapshot and a writer older than it is in flight.
    """
    if any(requested < pin.instant.requested for requested in pin.in_flight):
        return _read_newest_at(spark, path, pin)
    return _load(spark, path, {"as.of.instant": pin.instant.requested})


class SnapshotReader:
    """Reads snapshots of one table by pin, and tells the base and log files behind those that were read."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark, self._path = spark, path
        self._read: dict[LakePin, DataFrame] = {}

    def rows(self, pin: LakePin) -> DataFrame:
        """As `read_pinned`, loaded anew each time: a frame from before the cleaner passed lacks rows without an error."""
        self._read[pin] = read_pinned(self._spark, self._path, pin)
        return self._read[pin]

    def files(self) -> set[str] | None:
        """Each file once; None where a frame cannot name its files, as those of bootstrapped tables cannot.

        Asked when the work is done: a frame that was asked before it is read would be bound to the files of that moment.
        """
        try:
            named = [_list_files(self._spark, rows) for rows in self._read.values()]
        except (Py4JError, PySparkException, OSError) as error:  # no figure is worth the result of the work
            log.debug("lake files of %s not counted: %s", self._path, type(error).__name__)
            return None
        return set().union(*named) if all(named) else None


def _list_files(spark: SparkSession, rows: DataFrame) -> set[str]:
    # One text: py4j would ask for each name of an array by itself.
    jvm: Any = spark._jvm  # noqa: SLF001  py4j has no public door
    text = jvm.org.apache.hadoop.util.StringUtils.join("\n", rows._jdf.inputFiles())  # noqa: SLF001
    return set(str(text).split("\n")) - {""}


def _read_newest_at(spark: SparkSession, path: str, pin: LakePin) -> DataFrame:
    # Hudi's time travel refuses an instant while an older writer is in flight. A frame shows what was there when it was
    # loaded; the timeline is asked afterwards, so that nothing can have been completed between pin and frame.
    rows = read_newest(spark, path)
    now = pin_snapshot(Timeline(spark, path))
    if now is None or now.instant != pin.instant:
        raise LakeError(
            f"Hudi table {path}: a commit was completed beside writers that are in flight ({', '.join(pin.in_flight)}), "
            "and Hudi shows no earlier snapshot then",
            fix="run it again when they have ended; what a killed run left is rolled back by the next pull or apply",
        )
    return rows


def read_as_of(spark: SparkSession, path: str, requested: str) -> DataFrame:
    """All rows as of a requested time, inclusive; file versions that the cleaner took are missing without a word."""
    return _load(spark, path, {"as.of.instant": requested})


def read_incremental(spark: SparkSession, path: str, after: str, upto: str, merge: str) -> DataFrame:
    """Hudi's own incremental rows: written by commits that completed after `after` and not after `upto`."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": after or "000",
        "hoodie.datasource.read.end.instanttime": upto,
        "hoodie.datasource.merge.type": merge,
        # Else Hudi reads the whole table in silence where files of the range are gone.
        "hoodie.datasource.read.incr.fallback.fulltablescan.enable": "false",
    }
    return _load(spark, path, options)


def read_cdc(spark: SparkSession, path: str, after: str, upto: str) -> DataFrame:
    """Hudi's CDC query of commits that completed after `after` and not after `upto`: `op`, `ts_ms`, `before`, `after` as text."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": "cdc",
        "hoodie.datasource.read.begin.instanttime": after,
        "hoodie.datasource.read.end.instanttime": upto,
    }
    return _load(spark, path, options)


def read_newest(spark: SparkSession, path: str) -> DataFrame:
    """The table as it is now, with Hudi's own columns."""
    return _load(spark, path, {})


def read_unmerged(spark: SparkSession, path: str) -> DataFrame:
    """Every row that a file of a merge_on_read table still holds, base file or log, whatever became of it: deletes show none."""
    return _load(spark, path, {"hoodie.datasource.merge.type": "skip_merge"})


def read_base(spark: SparkSession, path: str) -> DataFrame:
    """The rows of a merge_on_read table as its base files hold them, whatever logs say of them: all that Spark's index sees."""
    return _load(spark, path, {"hoodie.datasource.query.type": "read_optimized"})


@contextmanager
def redact_failures(path: str) -> Iterator[None]:
    """Turn the failure of a frame that is evaluated inside into a LakeError; its own text may hold row values."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        known = find_cleaner_error(str(error))
        names = describe_failure(error) if isinstance(error, Py4JJavaError) else type(error).__name__
    else:
        return
    if known is not None:
        raise LakeError(f"Hudi table {path}: {known.message}; nothing was written", fix=known.fix)
    raise LakeError(
        f"rows for Hudi table {path} could not be read ({names}); nothing was written", fix="see the log on stderr"
    )


def _load(spark: SparkSession, path: str, options: dict[str, str]) -> DataFrame:
    plain = {
        # A stale or pruning index must never hide a row from a sweep: files are listed, nothing is skipped.
        "hoodie.metadata.enable": "false",
        "hoodie.enable.data.skipping": "false",
        # Else the session's settings and hudi-defaults.conf choose which rows there are.
        "hoodie.datasource.query.type": "snapshot",
        "hoodie.datasource.query.incremental.format": "latest_state",
        "hoodie.datasource.merge.type": "payload_combine",
    }
    try:
        return retry_missing_table(lambda: spark.read.format("hudi").options(**{**plain, **options}).load(path))
    except Py4JJavaError as error:
        names = describe_failure(error)
        if "HoodieTimeTravelException" in names:
            raise LakeError(
                f"Hudi table {path}: a writer that began earlier is in flight, and Hudi shows no later snapshot until it ends",
                fix="run it again when it has ended; what a killed run left is rolled back by the next pull or apply",
            ) from None
    except PySparkException as error:
        names = type(error).__name__
    raise LakeError(f"Hudi table {path} cannot be read ({names})", fix="hudi-reconcile doctor")
