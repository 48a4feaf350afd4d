"""PostgreSQL's tables by name: where the role itself would find one that is named without a schema, looked up once.

Our sessions look names up in pg_catalog alone (`session.py`), so from here on a table has its schema, quoted by us.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import RowMapping

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.control import ControlPlane
from hudi_reconcile.databases.postgres import catalog, dialect
from hudi_reconcile.sql import user_columns, user_sql
from hudi_reconcile.sql.reads import strip_end

# Ordinary, partitioned, foreign tables, views, materialised views.
_READABLE = {"r", "p", "f", "v", "m"}
_FIX = "correct tables[].source.table in the config"


class PostgresNames:
    """The tables of one database as one role names them. `own_schemas` asks for the role's own path, at most once."""

    def __init__(self, plane: ControlPlane, own_schemas: Callable[[], tuple[str, ...]]) -> None:
        self._plane = plane
        self._own_schemas = own_schemas
        self._schemas: tuple[str, ...] | None = None

    def table(self, name: str) -> RowMapping:
        """The row of `catalog.TABLE_QUERY`. Raises UsageError for what is no name, no table, or not there."""
        try:
            row = self._find_table(name)
        except SourceError as error:
            if "42602" in error.message or "42601" in error.message:
                raise UsageError(
                    f"source.table {name} is not a table name",
                    fix='quote odd names as SQL does: public."Order Items"',
                ) from error
            raise
        if row is None:
            raise UsageError(
                f"table {name} does not exist in {self._plane.connection.place} (or the role may not see its schema)",
                fix=_FIX,
            )
        if row["relkind"] not in _READABLE:
            raise UsageError(f"{name} is not a table or view", fix=_FIX)
        return row

    def qualify(self, request: TableRequest, name: str | None = None) -> TableRequest:
        """The request with the schema of each table that its SQL names without one; `name` is the table read, if it is one.

        What is not found is left for the server to name. Raises UsageError as `_refuse_other_text`.
        """
        if request.where is None and request.query is None:
            return request
        query, where = strip_end(request.query or ""), request.where or ""
        of_query, of_where = user_sql.tables(query, dialect.NAME), user_sql.condition_tables(where, dialect.NAME)
        every = (*of_query, *of_where)
        rows = {text: self._find_table(text) for text in dict.fromkeys(table.text for table in every if table.is_bare)}
        read = [table.text for table in every if not table.is_bare] + [
            quote_table_name(row) for row in rows.values() if row is not None
        ]
        self._refuse_other_text(request, [*read, name] if name else read)
        schemas = {text: dialect.quote(row["schema_name"]) for text, row in rows.items() if row is not None}
        return replace(
            request,
            query=request.query and user_sql.add_schemas(query, of_query, schemas),
            where=request.where and user_sql.add_schemas(where, of_where, schemas),
        )

    def _refuse_other_text(self, request: TableRequest, names: Sequence[str]) -> None:
        """Raises UsageError where the configured SQL uses a value whose type has its operators in a schema that is not ours.

        citext would be compared as text, by letter case: other rows, and no error.
        """
        texts = {"where": request.where or "", "query": request.query or ""}
        casts = [
            kind for text in texts.values() for kind in (user_columns.cast_types(text, dialect.NAME) if text else ())
        ]
        rows = self._plane.rows(catalog.OTHER_TEXT_QUERY, {"names": list(names), "types": casts})
        columns, kinds = (
            {str(r["name"]): r for r in rows if bool(r["is_column"]) is is_column} for is_column in (True, False)
        )
        if not columns and not kinds:
            return
        for setting, text in texts.items():
            for name in (
                user_columns.find_compared_columns(text, dialect.NAME, tuple(columns), tuple(kinds)) if text else ()
            ):
                row = columns.get(name) or kinds[name]
                raise UsageError(
                    f"table {request.name}: source.{setting} compares or passes on {name}, which is {row['type']}: "
                    "here it would be read as PostgreSQL's own type",
                    fix=f"say how, right where it stands: {name if name in columns else 'x'}::text, or "
                    f"{name if name in columns else 'x'} operator({row['op_schema']}.=) …; a join names its columns in ON: "
                    f"tables[{request.name}].source.{setting}",
                )

    def _find_table(self, name: str) -> RowMapping | None:
        names = [name]
        if dialect.is_bare(name):
            if self._schemas is None:
                self._schemas = self._own_schemas()
            names = [f"{dialect.quote(schema)}.{name}" for schema in self._schemas]
        return next(iter(self._plane.rows(catalog.TABLE_QUERY, {"names": names})), None)


def quote_table_name(row: RowMapping) -> str:
    """The table's name as SQL, by us."""
    return dialect.relation(row["schema_name"], row["table_name"], plain=(row["plain_schema"], row["plain_table"]))
