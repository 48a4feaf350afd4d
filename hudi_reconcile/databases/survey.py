"""Every table of a database at once, as its catalog has it: what `init --from-database` makes its proposals of. Reads no row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.source.jdbc import Relation
from hudi_reconcile.core.source.proposal import CatalogColumn, CatalogTable, RelationType, UniqueKey
from hudi_reconcile.core.tables.kinds import KEY_KINDS, Kind
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.databases.jdbc import engine as jdbc
from hudi_reconcile.databases.mysql import dialect as mysql
from hudi_reconcile.databases.mysql import engine as mysql_engine
from hudi_reconcile.databases.postgres import catalog as postgres_catalog
from hudi_reconcile.databases.postgres import dialect as postgres

Rows = Sequence[Mapping[str, Any]]
Wanted = Callable[[str, str], bool]  # by title, and by name as SQL
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_POSTGRES_TYPES: Mapping[str, RelationType] = {"v": "view", "f": "foreign table"}
_ON_UPDATE = "on update current_timestamp"
_CLOCK = ("current_timestamp", "now(", "curdate", "sysdate")
# What MySQL's partitions of time are cut by: a column alone, or one of these of it.
_RANGED = re.compile(r"(?:(?:to_days|to_seconds|year|unix_timestamp)\()?`?(\w+)`?\)?", re.IGNORECASE)


def survey_tables(engine: Engine, schemas: tuple[str, ...], wanted: Wanted) -> tuple[CatalogTable, ...]:
    """The tables and views of these schemas that are wanted; without schemas those that the database would look in.

    Raises:
        SourceError: the database does not answer.
        UsageError: there is no table at all.
    """
    if isinstance(engine, jdbc.JdbcEngine):
        found = tuple(_of_jdbc(engine, schemas, wanted))
    elif engine.dialect.NAME == mysql.NAME:
        found = tuple(_of_mysql(engine, schemas))
    else:
        found = tuple(_of_postgres(engine, schemas))
    if not found:
        where = f"schema {', '.join(schemas)}" if schemas else "the schemas that are read without --schema"
        raise UsageError(
            f"{engine.place}: this role sees no table in {where}",
            fix="name another one: --schema NAME; or let the role see the tables: GRANT SELECT",
        )
    return tuple(table for table in found if wanted(table.title, table.sql))


# --- PostgreSQL ---


def _of_postgres(engine: Engine, schemas: tuple[str, ...]) -> Iterator[CatalogTable]:
    def told(what: str) -> Rows:
        return engine.rows(postgres_catalog.survey_query(what, schemas))

    tables, columns, keys = told("tables"), _by_table(told("columns")), _by_table(told("keys"))
    indexed, moved = _by_table(told("indexed")), _by_table(told("moved"))
    for row in tables:
        oid, schema, name = row["oid"], str(row["schema_name"]), str(row["table_name"])
        kind = _POSTGRES_TYPES.get(row["relkind"], "table")
        sql = postgres.relation(schema, name, plain=(row["plain_schema"], row["plain_table"]))
        yield CatalogTable(
            title=name if schema == "public" else f"{schema}.{name}",
            sql=sql,
            type=kind,
            columns=tuple(_postgres_column(one, moved[oid]) for one in columns[oid]),
            keys=tuple(UniqueKey(tuple(one["names"]), one["is_primary"], bool(one["not_null"])) for one in keys[oid]),
            indexed=frozenset(str(one["name"]) for one in indexed[oid]) if kind == "table" else None,
            ranged=str(row["ranged"] or ""),
            rows=row["rows"] if row["rows"] >= 0 and kind == "table" else None,
            unread=_unread_in_postgres(row, sql),
            has_versions=row["relkind"] in ("r", "p"),
        )


def _postgres_column(row: Mapping[str, Any], moved: Rows) -> CatalogColumn:
    name = str(row["name"])
    column = postgres.classify_column(
        name, row["type_name"], row["type_mod"], declared=row["declared"], nullable=row["nullable"],
        type_type=row["type_type"],
    )  # fmt: skip
    by = [str(one["trigger"]) for one in moved if one["name"] == name.lower()]
    return CatalogColumn(column, row["numbered"], row["clock"], f"trigger {by[0]}" if by else "")


def _unread_in_postgres(row: Mapping[str, Any], sql: str) -> str:
    role = postgres.quote(str(row["role"]))
    if not row["can_read"]:
        return f"this role may not read it: GRANT SELECT ON {sql} TO {role}"
    if row["hides_rows"]:
        return f"row-level security would hide rows from this role: ALTER ROLE {role} BYPASSRLS"
    return "" if row["is_filled"] else f"it has no rows yet: REFRESH MATERIALIZED VIEW {sql}"


def _by_table(rows: Rows) -> Mapping[Any, list[Mapping[str, Any]]]:
    found: defaultdict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["oid"]].append(row)
    return found


# --- MySQL and MariaDB ---


def _of_mysql(engine: Engine, schemas: tuple[str, ...]) -> Iterator[CatalogTable]:
    def told(what: str) -> Rows:
        return engine.rows(mysql.survey_query(what, schemas))

    tables = [row for row in told("tables") if row["type"] in mysql_engine.READABLE]
    columns, indexes = _by_name(told("columns")), _by_name(told("indexes"))
    for row in tables:
        schema, name = str(row["schema_name"]), str(row["name"])
        here, is_view = (schema, name), row["type"] == "VIEW"
        parts = (name,) if row["is_own"] else here
        granted = all("select" in str(one["privileges"]).lower() for one in columns[here]) and columns[here]
        sql = ".".join(part if _PLAIN.fullmatch(part) else mysql.quote(part) for part in parts)
        ranged = _RANGED.fullmatch("".join(str(row["ranged"] or "").split()))
        yield CatalogTable(
            title=".".join(parts),
            sql=sql,
            type="view" if is_view else "table",
            columns=tuple(map(_mysql_column, columns[here])),
            keys=tuple(mysql_engine.unique_keys(indexes[here])),
            indexed=None if is_view else frozenset(_leading(indexes[here])),
            ranged=ranged[1] if ranged else "",
            rows=None if is_view or row["row_count"] is None else int(row["row_count"]),
            unread="" if granted else f"this user may not read all of it: GRANT SELECT ON {sql}",
        )


def _leading(indexes: Rows) -> Iterator[str]:
    return (
        str(one["column_name"]) for one in indexes if one["position"] == 1 and one["is_whole"] and one["column_name"]
    )


def _mysql_column(row: Mapping[str, Any]) -> CatalogColumn:
    column = mysql.classify_column(
        row["name"], row["data_type"].lower(), row["declared"], nullable=bool(row["nullable"]),
        precision=row["digits"], scale=row["scale"], fraction=row["fraction"],
    )  # fmt: skip
    extra, fallback = str(row["extra"] or ""), str(row["fallback"] or "")
    moved_by = "ON UPDATE CURRENT_TIMESTAMP" if _ON_UPDATE in extra else ""
    return CatalogColumn(column, "auto_increment" in extra, fallback.startswith(_CLOCK), moved_by)


def _by_name(rows: Rows) -> Mapping[tuple[str, str], list[Mapping[str, Any]]]:
    found: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for name, group in groupby(rows, key=lambda row: (str(row["schema_name"]), str(row["table_name"]))):
        found[name] += group
    return found


# --- any other database, by its driver's metadata ---


def _of_jdbc(engine: jdbc.JdbcEngine, schemas: tuple[str, ...], wanted: Wanted) -> Iterator[CatalogTable]:
    database = engine.database()
    facts = database.facts()
    own = facts.schema if facts.schema is not None else facts.catalog
    for schema in schemas or (own,):
        # Products whose schemas are JDBC catalogs tell no schema at all.
        in_catalog = facts.schema is None and facts.catalog is not None
        catalog, inner = (schema, None) if in_catalog else (facts.catalog, schema)
        for one in database.relations(catalog, inner, None):
            if (kind := _jdbc_type(one)) is None:
                continue
            where = one.schema or one.catalog
            parts = (one.name,) if where in (None, own) else (str(where), one.name)
            title, sql = ".".join(parts), ".".join(_jdbc_name(part, facts.folds) for part in parts)
            # A driver is asked table by table: of what nobody wants it is not asked.
            yield (
                _jdbc_table(engine, one, title=title, sql=sql)
                if kind == "table" and wanted(title, sql)
                else CatalogTable(title=title, sql=sql, type="view", indexed=None)
            )


def _jdbc_type(one: Relation) -> str | None:
    kind = one.type.upper()
    if "SYSTEM" in kind or "TEMPORARY" in kind:
        return None
    return "table" if "TABLE" in kind else "view" if "VIEW" in kind else None


def _jdbc_name(part: str, folds: str) -> str:
    """The name as `source.table` takes it: without quotes where the database would fold it to what it is."""
    folded = part.upper() if folds == "upper" else part.lower() if folds == "lower" else part
    return part if _PLAIN.fullmatch(part) and folded == part else '"' + part.replace('"', '""') + '"'


def _jdbc_table(engine: jdbc.JdbcEngine, one: Relation, *, title: str, sql: str) -> CatalogTable:
    database, product = engine.database(), engine.dialect.product
    name = ".".join(engine.dialect.quote(part) for part in (one.schema or one.catalog, one.name) if part)
    unread = ""
    try:
        database.shape(f"select * from {name} where 1 = 0")
    except SourceError as error:
        unread = f"this role cannot read it: {error.message}"
    columns = tuple(
        CatalogColumn(engine.dialect.column_of(reported), numbered=reported.numbered)
        for reported in database.columns(one)
    )
    indexes = database.indexes(one)
    nullable = {column.column.name for column in columns if column.column.nullable}
    return CatalogTable(
        title=title,
        sql=sql,
        columns=columns,
        keys=tuple(jdbc.unique_keys(database.primary_key(one), indexes, nullable)),
        indexed=frozenset(_first(index.columns for index in indexes if not index.is_partial)) if indexes else None,
        unread=unread,
        key_kinds=KEY_KINDS - ({Kind.BYTES} if product.texts.hex is None else set()),
    )


def _first(columns: Iterable[tuple[str, ...]]) -> Iterator[str]:
    return (names[0] for names in columns if names)
