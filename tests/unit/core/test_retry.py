from __future__ import annotations

import pytest

from hudi_reconcile.core.pull.retry import (
    Passing,
    classify_error_text,
    classify_state,
    count_tries,
    find_driver_reason,
    reckon_table_wait,
)

SPARK = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 3 times\n\tat x\n"
)
TEXTS = {
    "Caused by: org.postgresql.util.PSQLException: FATAL: terminating connection due to administrator command": Passing.BROKEN,
    "Caused by: org.postgresql.util.PSQLException: An I/O error occurred while sending to the backend.": Passing.BROKEN,
    "Caused by: org.postgresql.util.PSQLException: This connection has been closed.": Passing.BROKEN,
    "Caused by: org.postgresql.util.PSQLException: Connection to h:5432 refused. Check that": Passing.BROKEN,
    "Caused by: org.postgresql.util.PSQLException: FATAL: the database system is starting up": Passing.BROKEN,
    "Caused by: java.sql.SQLNonTransientConnectionException: (conn=9) Connection was killed": Passing.BROKEN,
    "Caused by: org.postgresql.util.PSQLException: ERROR: canceling statement due to statement timeout": Passing.CUT,
    "Caused by: java.sql.SQLTimeoutException: (conn=9) Query execution was interrupted": Passing.CUT,
    'Caused by: org.postgresql.util.PSQLException: ERROR: relation "t" does not exist': Passing.STAYS,
    "Caused by: org.postgresql.util.PSQLException: ERROR: permission denied for table t": Passing.STAYS,
    "Caused by: java.lang.RuntimeException: a partition was read outside the shared snapshot": Passing.STAYS,
}


@pytest.mark.parametrize(("text", "passing"), TEXTS.items())
def test_failure_of_a_read_is_judged_by_its_innermost_cause(text: str, passing: Passing) -> None:
    assert (
        classify_error_text(SPARK + text + "\n\tat org.postgresql.core.v3.QueryExecutorImpl.receive(Q.java:1)")
        is passing
    )


@pytest.mark.parametrize(
    ("state", "code", "passing"),
    [
        ("08006", None, Passing.BROKEN),
        ("57P01", None, Passing.BROKEN),
        (None, 2013, Passing.BROKEN),
        ("57014", None, Passing.CUT),
        ("42601", None, Passing.STAYS),
        ("28P01", None, Passing.STAYS),
        (None, 1064, Passing.STAYS),
        (None, None, Passing.STAYS),
    ],
)
def test_failure_of_a_statement_is_judged_by_its_state(state: str | None, code: int | None, passing: Passing) -> None:
    assert classify_state(state, code) is passing


def test_what_stays_is_tried_once_and_what_ran_out_of_time_twice() -> None:
    assert [count_tries(passing) for passing in Passing] == [4, 2, 1]


def test_reason_is_the_innermost_drivers_first_line() -> None:
    text = SPARK + "Caused by: org.h2.jdbc.JdbcSQLException: outer\nCaused by: java.sql.SQLException: inner\n\tat y"

    assert find_driver_reason(text) == ("java.sql.SQLException", "inner")
    assert find_driver_reason(SPARK) is None


def test_table_whose_connection_broke_is_begun_again_as_often_as_the_config_says_and_later_each_time() -> None:
    refused = "the source does not answer: connection refused"

    waits = [reckon_table_wait("SourceError", refused, attempt, 2) for attempt in (1, 2, 3)]

    assert waits == [5.0, 30.0, None]
    assert reckon_table_wait("SourceError", refused, 1, 0) is None
    assert reckon_table_wait("SourceError", "permission denied for table t", 1, 2) is None
    assert reckon_table_wait("LakeError", refused, 1, 2) is None


def test_table_that_lost_an_executor_is_begun_again_once() -> None:
    assert [reckon_table_wait("ExecutorLostError", "", attempt, 2) for attempt in (1, 2)] == [5.0, None]
    assert reckon_table_wait("SparkLostError", "", 1, 2) is None
