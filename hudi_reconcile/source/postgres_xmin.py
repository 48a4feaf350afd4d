"""Strategy `xmin` on PostgreSQL: which tables it may be used on, and to what its numbers are bound."""

from __future__ import annotations

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.source.plane import ControlPlane
from hudi_reconcile.source.request import TableRequest
from hudi_reconcile.sql import xmin

_INSTEAD = "use strategy timestamp, or full: pull.strategy of this table in reconcile.yaml"


def standing(plane: ControlPlane, request: TableRequest, oid: int) -> str:
    """What the numbers of a table's row versions are bound to: system id, timeline, table.

    Raises UsageError for a view, a foreign table, storage that keeps no xmin, a replica, and a server that hides its system
    id: there a number would mean something else after a restore, and nobody would notice.
    """
    row = plane.one(xmin.STANDING_QUERY, {"oid": oid})
    if row["others"]:
        raise UsageError(
            f"table {request.name}: strategy xmin needs ordinary tables; {', '.join(row['others'])} keeps no xmin of its rows "
            "(a view, a foreign table, or other storage)",
            fix=_INSTEAD,
        )
    if row["is_replica"]:
        raise UsageError(
            f"table {request.name}: strategy xmin reads the primary; this server is a replica, which may be promoted "
            "and give the same numbers to other transactions",
            fix=f"name the primary in source.url, or {_INSTEAD}",
        )
    try:
        system = plane.one("select system_identifier::text as id from pg_control_system()")["id"]
    except SourceError as error:
        raise UsageError(
            f"table {request.name}: strategy xmin is bound to the server's system id, which this role may not read: "
            f"{error.message}",
            fix=f"GRANT EXECUTE ON FUNCTION pg_control_system() TO the role, or {_INSTEAD}",
        ) from error
    return f"postgresql:{system}:timeline {int(row['timeline'], 16)}:oid {oid}"
