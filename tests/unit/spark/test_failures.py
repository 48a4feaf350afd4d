from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import FullDiskError, LakeError, SourceError, SparkLostError
from hudi_reconcile.spark.session import translate_error


class FromSparkError(Exception):
    """An error as pyspark raises it: only its module and its text count."""

    __module__ = "pyspark.errors"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x\nCaused by: org.postgresql.util.PSQLException: ERROR: gone\n\tat y", "ERROR: gone"),
        ("x\nCaused by: java.sql.SQLSyntaxErrorException: no such column", "no such column"),
        ("x\nCaused by: org.h2.jdbc.JdbcSQLSyntaxErrorException: Table not found", "Table not found"),
        ("x\nCaused by: com.ibm.db2.jcc.am.SqlSyntaxErrorException: SQLCODE=-204", "SQLCODE=-204"),
        ("o1.load.\n: java.sql.SQLTransientException: timeout", "timeout"),
        ("x\nCaused by: org.h2.jdbc.JdbcSQLDataException: Data conversion error: geheim", "a value could not be read"),
    ],
)
def test_refusal_of_any_jdbc_driver_is_the_sources_and_shows_no_value(text: str, reason: str) -> None:
    found = translate_error(FromSparkError(text))

    assert found is not None
    assert reason in found.message
    assert "geheim" not in found.message


@pytest.mark.parametrize("missing", ["function base()", 'relation "orders"', 'type "mood"', "operator app.= app.ci"])
def test_name_that_a_function_of_the_source_does_not_find_gets_its_fix(missing: str) -> None:
    said = f"x\nCaused by: org.postgresql.util.PSQLException: ERROR: {missing} does not exist\n\tat y"

    found = translate_error(FromSparkError(said))

    assert found is not None
    assert "alter function f set search_path" in found.fix


@pytest.mark.parametrize(
    "text",
    [
        "Cleaner cleaned up the timestamp of interest. Please ensure sufficient commits are retained with cleaner",
        "x\nCaused by: java.io.FileNotFoundException: File file:/lake/geheim.parquet does not exist\n\tat y",
    ],
)
def test_snapshot_that_the_cleaner_took_is_the_lakes_and_names_the_setting(text: str) -> None:
    found = translate_error(FromSparkError(text))

    assert isinstance(found, LakeError)
    assert "the cleaner passed the lake snapshot" in found.message
    assert "hoodie.clean.commits.retained" in found.fix
    assert "geheim" not in found.message


@pytest.mark.parametrize(
    "text", ["Caused by: org.apache.spark.SparkSQLException: [X]", "java.lang.NullPointerException: SQL: x"]
)
def test_sparks_own_failure_is_not_blamed_on_the_source(text: str) -> None:
    assert translate_error(FromSparkError(text)) is None


def test_rows_that_only_a_lost_executor_held_are_named_with_what_to_do() -> None:
    # The words of Spark 3.5 (SparkCoreErrors.checkpointRDDBlockIdNotFoundError), with its line ends.
    text = (
        "Job aborted due to stage failure: org.apache.spark.SparkException: Checkpoint block rdd_9_0 not found! Either the"
        " executor\nthat originally checkpointed this partition is no longer alive, or the original RDD is\nunpersisted."
    )

    found = translate_error(FromSparkError(text))

    assert isinstance(found, SparkLostError)
    assert "executor was lost" in found.message
    assert "run the same command again" in found.fix
    assert translate_error(FromSparkError("Checkpoint block rdd_9_0")) is None


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device", "/runs/result.json"),
        OSError(122, "Disk quota exceeded"),
        FromSparkError("Job aborted\nCaused by: java.io.IOException: No space left on device\n\tat java.base/x"),
        FromSparkError("o1.save.\n: java.io.FileNotFoundException: /tmp/blockmgr/0c/x (Disk quota exceeded)"),
    ],
)
def test_full_disk_is_named_as_such_with_the_places_to_look_at(error: Exception) -> None:
    found = translate_error(error)

    assert isinstance(found, FullDiskError)
    assert "a disk is full" in found.message
    assert "df -h" in found.fix
    assert ("/runs/result.json" in found.message) == (getattr(error, "filename", None) is not None)


def test_full_disk_of_the_database_is_the_sources_and_other_errors_of_the_system_are_no_full_disk() -> None:
    said = (
        "x\nCaused by: org.postgresql.util.PSQLException: ERROR: could not extend file: No space left on device\n\tat y"
    )

    assert isinstance(translate_error(FromSparkError(said)), SourceError)
    assert translate_error(OSError(13, "Permission denied", "/runs")) is None
