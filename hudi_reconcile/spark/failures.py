"""Which named error an exception from Spark means: the database's refusal, or Hudi's, is told apart from our own bug.

Spark wraps a driver's SQLException several times; the text of its innermost cause is the server's first line, never a row.
"""

from __future__ import annotations

from hudi_reconcile.core.cleaned import cleaner_passed
from hudi_reconcile.core.errors import ReconcileError, SourceError
from hudi_reconcile.core.repeatable import of_message
from hudi_reconcile.core.retry import driver_reason, fix_of_read


def named_failure(error: Exception) -> ReconcileError | None:
    """The error that the source's JDBC driver raised inside Spark, or that a cleaned snapshot did; None for anything else."""
    if not type(error).__module__.startswith(("py4j.", "pyspark.")):
        return None
    found = driver_reason(str(error))
    if found is None:
        return cleaner_passed(str(error))
    name, reason = found
    reason = of_message(reason, kind=name, whole=str(error))
    return SourceError(f"the source failed while rows were read: {reason[:300]}", fix=fix_of_read(reason))
