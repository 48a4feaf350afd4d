"""Which named error an exception from Spark means: the database's refusal is told apart from our own bug.

Spark wraps a driver's SQLException several times; the text of its innermost cause is the server's first line, never a row.
"""

from __future__ import annotations

import re

from hudi_reconcile.core.errors import ReconcileError, SourceError

_SQL = re.compile(r"Caused by: (?:org\.postgresql\.util\.PSQLException|java\.sql\.SQL\w*): ([^\n]*)")
_SQL_FIRST = re.compile(r"(?:org\.postgresql\.util\.PSQLException|java\.sql\.SQL\w*Exception): ([^\n]*)")


def named_failure(error: Exception) -> ReconcileError | None:
    """The error that the source's JDBC driver raised inside Spark; None where it was something else."""
    module = type(error).__module__
    if not module.startswith(("py4j.", "pyspark.")):
        return None
    text = str(error)
    found = _SQL.findall(text) or _SQL_FIRST.findall(text)
    if not found:
        return None
    return SourceError(f"the source failed while rows were read: {found[-1][:300]}", fix="run the same command again")
