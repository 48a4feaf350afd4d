"""What `doctor` asks a PostgreSQL server: who we are there, and what the catalog says of one table. Judges nothing."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.source.catalog import describe
from hudi_reconcile.source.engine import ControlPlane
from hudi_reconcile.source.request import TableRequest

_SERVER_QUERY = """
select current_setting('server_version') as version, current_user::text as role,
       coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as has_tls,
       pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all,
       (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
       pg_is_in_recovery() as is_replica
"""

_TABLE_QUERY = """
select has_table_privilege(c.oid, 'SELECT') as can_read,
       has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
         and not (select rolsuper from pg_roles where rolname = current_user) as can_write,
       array(select distinct a.attname::text from pg_index i
               join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
              where i.indrelid = c.oid and i.indisvalid and i.indpred is null) as indexed
  from pg_class c
 where c.oid = to_regclass(:name)
"""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server, and the role that we are there."""

    connection: Connection
    version: str
    role: str
    has_tls: bool
    sees_all: bool
    is_superuser: bool
    is_replica: bool


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One source table. `indexed` are the columns that lead a whole index; `key_proven` is the catalog's word for it.

    `can_write` is by a grant: a superuser, who may do everything, is told of once (`ServerFacts.is_superuser`).
    """

    table: SourceTable
    key_proven: bool
    can_read: bool
    can_write: bool
    indexed: frozenset[str]


def server_facts(plane: ControlPlane) -> ServerFacts:
    """Connect and ask. Raises SourceError with the server's reason."""
    row = plane.one(_SERVER_QUERY)
    return ServerFacts(
        connection=plane.connection,
        version=row["version"],
        role=row["role"],
        has_tls=row["has_tls"],
        sees_all=row["sees_all"],
        is_superuser=bool(row["is_superuser"]),
        is_replica=row["is_replica"],
    )


def table_facts(plane: ControlPlane, request: TableRequest) -> TableFacts:
    """Ask the catalog for one table; reads no row. Raises as `catalog.describe`."""
    table, proven = describe(plane, request)
    row = plane.one(_TABLE_QUERY, {"name": request.table})
    return TableFacts(table, proven, row["can_read"], row["can_write"], frozenset(row["indexed"]))
