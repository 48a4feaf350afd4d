"""What the database's catalog says of one table: columns, key, estimate, identity. Refuses by name what cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import RowMapping

from hudi_reconcile.core.errors import RefusedError, SourceError, UsageError
from hudi_reconcile.core.kinds import KEY_KINDS, Column
from hudi_reconcile.core.spelling import nearest
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.source.engine import ControlPlane
from hudi_reconcile.source.request import TableRequest
from hudi_reconcile.sql.dialects import postgres

# Ordinary, partitioned, foreign tables, views, materialised views.
_READABLE = {"r", "p", "f", "v", "m"}


def describe(plane: ControlPlane, request: TableRequest) -> tuple[SourceTable, bool]:
    """The table as it is read, and whether the catalog proves its key unique and not NULL.

    Raises UsageError for a missing table, column or key; RefusedError for columns that differ only by case.
    """
    found = _table(plane, request.table)
    rows = plane.rows(postgres.COLUMNS_QUERY, {"oid": found["oid"]})
    every = tuple(
        postgres.column_of(r["name"], r["type_name"], r["type_mod"], declared=r["declared"], nullable=r["nullable"])
        for r in rows
    )
    _refuse_case_twins(request.name, every)
    unique = plane.rows(postgres.UNIQUE_KEYS_QUERY, {"oid": found["oid"]})
    key = _key(request, unique, every)
    columns = _wanted(request, every, key)
    proven = any(index["not_null"] and set(index["names"]) <= set(key) for index in unique)
    table = SourceTable(
        name=str(found["name"]),
        columns=columns,
        key=key,
        rows_estimate=_estimate(plane, str(found["name"]), request.predicates),
        identity=f"{server_identity(plane)}/{found['database_oid']}/{found['name']}",
    )
    return table, proven


def _estimate(plane: ControlPlane, name: str, predicates: tuple[str, ...]) -> int:
    plan = plane.one(postgres.estimate_query(name, predicates))["QUERY PLAN"]
    return int(plan[0]["Plan"]["Plan Rows"])


def server_identity(plane: ControlPlane) -> str:
    """The cluster's system identifier; a restored or other server has another one."""
    try:
        return f"postgresql:{plane.one('select system_identifier::text as id from pg_control_system()')['id']}"
    except SourceError:
        # Managed services may revoke the function; the address then stands for the server.
        return f"postgresql:{plane.connection.host}:{plane.connection.port}"


def _table(plane: ControlPlane, name: str) -> RowMapping:
    try:
        rows = plane.rows(postgres.TABLE_QUERY, {"name": name})
    except SourceError as error:
        if "42602" in error.message or "42601" in error.message:
            raise UsageError(
                f"source.table {name} is not a table name", fix='quote odd names as SQL does: public."Order Items"'
            ) from error
        raise
    if not rows:
        raise UsageError(
            f"table {name} does not exist in {plane.connection.place} (or the role may not see its schema)",
            fix="correct tables[].source.table in reconcile.yaml",
        )
    if rows[0]["relkind"] not in _READABLE:
        raise UsageError(f"{name} is not a table or view", fix="correct tables[].source.table in reconcile.yaml")
    return rows[0]


def _refuse_case_twins(table: str, columns: tuple[Column, ...]) -> None:
    counts = Counter(column.name.lower() for column in columns)
    twins = [column.name for column in columns if counts[column.name.lower()] > 1]
    if twins:
        raise RefusedError(
            f"table {table}: {len(twins)} columns differ only by case: {', '.join(twins)}",
            fix="read a view with distinct names instead (source.table)",
        )


def _key(request: TableRequest, unique: object, columns: tuple[Column, ...]) -> tuple[str, ...]:
    key = request.key
    if not key:
        primary = [row for row in unique if row["is_primary"]]  # type: ignore[attr-defined]
        key = tuple(primary[0]["names"]) if primary else ()
    if not key:
        raise UsageError(
            f"table {request.name} has no primary key, and none is configured",
            fix=f"name the columns that identify a row: tables[{request.name}].source.key: [column, …]",
        )
    by_name = {column.name: column for column in columns}
    for name in key:
        _known(request, "source.key", name, by_name)
        if by_name[name].kind not in KEY_KINDS:
            raise UsageError(
                f"table {request.name}: {name} is {by_name[name].declared}, which cannot identify a row",
                fix=f"choose other columns for tables[{request.name}].source.key",
            )
    return key


def _wanted(request: TableRequest, columns: tuple[Column, ...], key: tuple[str, ...]) -> tuple[Column, ...]:
    by_name = {column.name: column for column in columns}
    for setting, names in request.named_columns():
        for name in names:
            _known(request, setting, name, by_name)
    if request.columns is None:
        kept = columns
    else:
        needed = {*request.columns, *key, *request.watermark, *request.partition_columns}
        kept = tuple(column for column in columns if column.name in needed)
    return tuple(request.renamed(column) for column in kept)


def _known(request: TableRequest, setting: str, name: str, columns: Mapping[str, Column]) -> None:
    if name not in columns:
        hint = nearest(name, columns)
        raise UsageError(
            f"table {request.name}: {setting} names column {name}, which {request.table} does not have"
            + (f" (did you mean {hint}?)" if hint else ""),
            fix=f"columns are: {', '.join(columns)}",
        )
