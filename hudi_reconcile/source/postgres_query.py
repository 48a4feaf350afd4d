"""A query on PostgreSQL as a table: its columns by the type oids and modifiers of an answer without rows."""

from __future__ import annotations

from typing import Any

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.kinds import Column
from hudi_reconcile.source.catalog import described
from hudi_reconcile.source.engine import Described
from hudi_reconcile.source.plane import ControlPlane
from hudi_reconcile.source.request import TableRequest
from hudi_reconcile.sql import statements
from hudi_reconcile.sql.dialects import postgres
from hudi_reconcile.sql.postgres_catalog import TYPE_NAME

_DATABASE = "select oid from pg_database where datname = current_database()"
_GRANT_STATE = "42501"


def describe_query(plane: ControlPlane, request: TableRequest, asked: TableRequest, *, server: str) -> Described:
    """The query's answer as a table without any key of its own. `asked`: with the schemas of the tables that it names.

    Raises UsageError for a query that PostgreSQL does not understand.
    """
    name = statements.derived(asked.query or "")
    try:
        fields = plane.shape(f"select * from {name} limit 0", _fields)
        plan = plane.one(postgres.estimate_query(name, asked.predicates))["QUERY PLAN"]
    except SourceError as error:
        if "SQLSTATE 42" in error.message and _GRANT_STATE not in error.message:
            raise UsageError(
                f"table {request.name}: source.query is refused: {error.message}",
                fix=f"correct tables[{request.name}].source.query: one SELECT; {error.fix}",
            ) from error
        raise
    estimate = int(plan[0]["Plan"]["Plan Rows"])
    identity = f"{server}/{plane.one(_DATABASE)['oid']}/{request.query_id}"
    columns = _columns(plane, fields)
    return described(request, columns, (), name=name, identity=identity, rows_estimate=estimate, where=asked.where)


def _fields(cursor: Any) -> list[tuple[str, int, int]]:
    """Name, type oid and type modifier of each column."""
    return [
        (one.name, int(one.type_code), int(cursor.pgresult.fmod(place))) for place, one in enumerate(cursor.description)
    ]


def _columns(plane: ControlPlane, fields: list[tuple[str, int, int]]) -> tuple[Column, ...]:
    oids = ",".join(str(oid) for _, oid, _ in fields)
    mods = ",".join(str(mod) for _, _, mod in fields)
    types = plane.rows(
        f"select {TYPE_NAME} as type_name, t.typtype::text as type_type, format_type(u.oid, u.mod) as declared"
        f" from unnest('{{{oids}}}'::oid[], '{{{mods}}}'::int[]) with ordinality u(oid, mod, place)"
        " join pg_type t on t.oid = u.oid order by u.place"
    )
    return tuple(
        postgres.column_of(
            name, row["type_name"], mod, declared=row["declared"], nullable=True, type_type=row["type_type"]
        )
        for (name, _, mod), row in zip(fields, types, strict=True)
    )
