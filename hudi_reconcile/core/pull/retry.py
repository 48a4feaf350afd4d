"""Which failures of a database may pass, how long to wait before the next try, and what a driver said. Pure.

A connection that broke, a server that restarts, a killed statement or a timeout may pass. Wrong SQL, a missing right or a value
that cannot be read stay as they are: trying again would only repeat them.
"""

from __future__ import annotations

import re
from enum import StrEnum

# A driver's own exceptions are named so: java.sql.SQLException, org.h2.jdbc.JdbcSQLSyntaxErrorException, …am.SqlException.
_NAME = r"(?<![\w.$])((?!org\.apache\.spark)(?:[\w$]+\.)+\w*(?:SQL|Sql)\w*): ([^\n]*)"
_SQL = re.compile("Caused by: " + _NAME)
_SQL_FIRST = re.compile(_NAME)
_BROKEN_STATES = ("08", "57P01", "57P02", "57P03", "58030")
_CUT_STATES = ("57014", "70100", "40001", "40P01", "55P03")
_BROKEN_CODES = frozenset({2006, 2013, 2055, 1053, 1927})  # MySQL and MariaDB: gone away, lost, killed, shutdown
_BROKEN = re.compile(
    r"terminating connection|connection (?:has been|was|is)? ?(?:closed|killed|reset|refused|aborted)|I/O error|"
    r"connection to \S+ refused|server closed the connection|EOFException|Broken pipe|SocketException|"
    r"communications? link failure|"
    r"the database system is (?:starting|shutting)|unexpected end of stream|socket error|connection attempt failed|"
    r"could not (?:connect|send)|SQLNonTransientConnectionException|SQLTransientConnectionException|ConnectException",
    re.IGNORECASE,
)
_CUT = re.compile(r"statement timeout|canceling statement|execution was interrupted|timed out|timeout", re.IGNORECASE)
# PostgreSQL's words of SQLSTATE 42883, 42P01 and 42704.
_MISSING = re.compile(r"(?:ERROR: )?(?:function|operator|relation|type|aggregate|collation)\b.* does not exist")

ROUNDS = 4
TABLE_RETRIES = 2
_TABLE_WAITS_SECONDS = (5.0, 30.0)
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.5, 10.0


class Passing(StrEnum):
    """Whether a failure may pass: the connection broke; one statement was cut off; or it will stay."""

    BROKEN = "broken"
    CUT = "cut"
    STAYS = "stays"


def count_tries(passing: Passing) -> int:
    """How often such a work is tried. A statement that ran into its time limit twice will again."""
    return {Passing.BROKEN: ROUNDS, Passing.CUT: 2, Passing.STAYS: 1}[passing]


def wait_seconds(attempt: int) -> float:
    """How long to wait after that attempt, counted from 1: half a second, four times as long each time, at most ten.

    >>> [wait_seconds(attempt) for attempt in (1, 2, 3, 4)]
    [0.5, 2.0, 8.0, 10.0]
    """
    return min(_FIRST_WAIT_SECONDS * 4.0 ** (attempt - 1), _LONGEST_WAIT_SECONDS)


def reckon_table_wait(kind: str, message: str, attempt: int, retries: int) -> float | None:
    """How long to wait before a table is begun again, whose work ended in that error; None where it would end so again.

    `kind` is the error's class. `attempt` counts from 1. A broken connection may pass, and so does one lost executor: where
    rows are lost twice, executors are taken away faster than a table is done.

    >>> reckon_table_wait("SourceError", "connection refused", 1, 2), reckon_table_wait("SourceError", "no column", 1, 2)
    (5.0, None)
    """
    is_passing = kind == "SourceError" and classify_error_text(message) is Passing.BROKEN
    most = retries if is_passing else min(retries, 1) if kind == "ExecutorLostError" else 0
    return None if attempt > most else _TABLE_WAITS_SECONDS[min(attempt, len(_TABLE_WAITS_SECONDS)) - 1]


def classify_state(state: str | None, code: int | None = None) -> Passing:
    """What a SQLSTATE, or a MySQL error number, says.

    >>> classify_state("57P01"), classify_state("42P01"), classify_state(None, 2013)
    (<Passing.BROKEN: 'broken'>, <Passing.STAYS: 'stays'>, <Passing.BROKEN: 'broken'>)
    """
    if (state or "").startswith(_BROKEN_STATES) or code in _BROKEN_CODES:
        return Passing.BROKEN
    return Passing.CUT if state in _CUT_STATES else Passing.STAYS


def classify_error_text(text: str) -> Passing:
    """What the text of a Java exception says, where no SQLSTATE is to be had."""
    reason = find_driver_reason(text)
    said = text if reason is None else f"{reason[0]}: {reason[1]}"
    if _BROKEN.search(said):
        return Passing.BROKEN
    return Passing.CUT if _CUT.search(said) else Passing.STAYS


def find_driver_reason(text: str) -> tuple[str, str] | None:
    """The innermost exception of a JDBC driver in a Java stack trace: its class and its first line; None without one."""
    matches = _SQL.findall(text) or _SQL_FIRST.findall(text)
    return None if not matches else (str(matches[-1][0]), str(matches[-1][1]))


def advise_on_read(reason: str) -> str:
    """What to do about a read that a database ended with that message.

    What it does not find is named by code of its own, as a view's function: our statement's names were found before. On
    PostgreSQL our sessions find names without a schema in pg_catalog alone.

    >>> advise_on_read("ERROR: function base() does not exist").partition(" set ")[2]
    'search_path = public; then: hudi-reconcile doctor'
    >>> advise_on_read("ERROR: canceling statement due to user request")
    'run the same command again'
    """
    if _MISSING.match(reason) is None:
        return "run the same command again"
    return (
        "a function that the table reads names this without a schema, and our sessions look in pg_catalog alone: "
        "alter function f set search_path = public; then: hudi-reconcile doctor"
    )
