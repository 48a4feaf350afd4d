"""Which named error an exception from Spark means: the database's refusal is told apart from our own bug.

Spark wraps a driver's SQLException several times; the text of its innermost cause is the server's first line, never a row.
"""

from __future__ import annotations

import re

from hudi_reconcile.core.errors import ReconcileError, SourceError

# A driver's own exceptions are named so: java.sql.SQLException, org.h2.jdbc.JdbcSQLSyntaxErrorException, …am.SqlException.
_NAME = r"(?<![\w.$])((?!org\.apache\.spark)(?:[\w$]+\.)+\w*(?:SQL|Sql)\w*): ([^\n]*)"
_SQL = re.compile("Caused by: " + _NAME)
_SQL_FIRST = re.compile(_NAME)


def named_failure(error: Exception) -> ReconcileError | None:
    """The error that the source's JDBC driver raised inside Spark; None where it was something else."""
    module = type(error).__module__
    if not module.startswith(("py4j.", "pyspark.")):
        return None
    text = str(error)
    found = _SQL.findall(text) or _SQL_FIRST.findall(text)
    if not found:
        return None
    name, reason = found[-1]
    if "DataException" in name:  # its text quotes the value
        reason = "a value could not be read as its type"
    return SourceError(f"the source failed while rows were read: {reason[:300]}", fix="run the same command again")
