"""What PostgreSQL's errors mean in our words, by SQLSTATE. Pure."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.repeatable import of_message
from hudi_reconcile.source import plane
from hudi_reconcile.source.postgres_session import is_poolers_refusal, turned_away

_UNKNOWN_NAME_STATES = frozenset({"42883", "42P01", "42704"})  # function or operator, table, type
_SCHEMA_FIX = (
    "in source.where and source.query, what is not PostgreSQL's own has its schema: public.orders, public.f(x), x::public.t, "
    "a operator(public.=) b; a function of yours that names such things needs: alter function ... set search_path; then: "
    "hudi-reconcile doctor"
)


def named(error: DBAPIError, connection: Connection) -> SourceError | UsageError:
    """A driver's error by way of SQLAlchemy."""
    return said(error.orig, connection)


def said(error: BaseException | None, connection: Connection) -> SourceError | UsageError:
    """What the server said, by its SQLSTATE; without values of rows."""
    state = getattr(error, "sqlstate", None)
    reason = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
    if state == "28P01" or "password authentication failed" in reason:
        return plane.password_refused(connection)
    if is_poolers_refusal(reason):
        return turned_away(connection.place, reason)
    if state is None or state.startswith("08"):
        return plane.unreachable(connection, reason)
    if state == "3D000":
        return plane.no_database(connection)
    if state == "42501":
        hides = "row-level security" in reason
        return (plane.rows_hidden if hides else plane.not_granted)(connection, reason)
    if state == "57014":
        return plane.cancelled(connection, f": {reason}")
    what = f"{of_message(reason, state=state)} (SQLSTATE {state})"
    fix = _SCHEMA_FIX if state in _UNKNOWN_NAME_STATES else "run: hudi-reconcile doctor"
    return SourceError(f"{connection.place}: {what}", fix=fix)
