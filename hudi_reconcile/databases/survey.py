"""Every table of a database at once, as its catalog has it: what `init --from-database` makes its proposals of. Reads no row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.source.jdbc import Relation
from hudi_reconcile.core.source.proposal import CatalogColumn, CatalogTable
from hudi_reconcile.core.tables.kinds import KEY_KINDS, Kind
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.databases.jdbc import engine as jdbc
from hudi_reconcile.databases.registry import list_databases

Wanted = Callable[[str, str], bool]  # by title, and by name as SQL
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def survey_tables(engine: Engine, schemas: tuple[str, ...], wanted: Wanted) -> tuple[CatalogTable, ...]:
    """The tables and views of these schemas that are wanted; without schemas those that the database would look in.

    Raises:
        SourceError: the database does not answer.
        UsageError: there is no table at all, or no way to list them.
    """
    tables = tuple(
        _survey_jdbc(engine, schemas, wanted)
        if isinstance(engine, jdbc.JdbcEngine)
        else _survey_own_database(engine, schemas)
    )
    if not tables:
        where = f"schema {', '.join(schemas)}" if schemas else "the schemas that are read without --schema"
        raise UsageError(
            f"{engine.place}: this role sees no table in {where}",
            fix="name another one: --schema NAME; or let the role see the tables: GRANT SELECT",
        )
    return tuple(table for table in tables if wanted(table.title, table.sql))


def _survey_own_database(engine: Engine, schemas: tuple[str, ...]) -> Iterable[CatalogTable]:
    (survey,) = (database.survey for database in list_databases().values() if database.dialect == engine.dialect.NAME)
    if survey is None:
        raise UsageError(
            f"{engine.place}: the tables of this database cannot be proposed",
            fix="hudi-reconcile init, and name them yourself",
        )
    return survey(engine, schemas)


def _survey_jdbc(engine: jdbc.JdbcEngine, schemas: tuple[str, ...], wanted: Wanted) -> Iterator[CatalogTable]:
    database = engine.database()
    facts = database.facts()
    own = facts.schema if facts.schema is not None else facts.catalog
    for schema in schemas or (own,):
        # Products whose schemas are JDBC catalogs tell no schema at all.
        in_catalog = facts.schema is None and facts.catalog is not None
        catalog, inner = (schema, None) if in_catalog else (facts.catalog, schema)
        for relation in database.relations(catalog, inner, None):
            if (kind := _jdbc_type(relation)) is None:
                continue
            where = relation.schema or relation.catalog
            parts = (relation.name,) if where in (None, own) else (str(where), relation.name)
            title, sql = ".".join(parts), ".".join(_jdbc_name(part, facts.folds) for part in parts)
            # A driver is asked table by table: of what nobody wants it is not asked.
            yield (
                _jdbc_table(engine, relation, title=title, sql=sql)
                if kind == "table" and wanted(title, sql)
                else CatalogTable(title=title, sql=sql, type="view", indexed=None)
            )


def _jdbc_type(relation: Relation) -> str | None:
    kind = relation.type.upper()
    if "SYSTEM" in kind or "TEMPORARY" in kind:
        return None
    return "table" if "TABLE" in kind else "view" if "VIEW" in kind else None


def _jdbc_name(part: str, folds: str) -> str:
    """The name as `source.table` takes it: without quotes where the database would fold it to what it is."""
    folded = part.upper() if folds == "upper" else part.lower() if folds == "lower" else part
    return part if _PLAIN.fullmatch(part) and folded == part else '"' + part.replace('"', '""') + '"'


def _jdbc_table(engine: jdbc.JdbcEngine, relation: Relation, *, title: str, sql: str) -> CatalogTable:
    database, product = engine.database(), engine.dialect.product
    name = ".".join(engine.dialect.quote(part) for part in (relation.schema or relation.catalog, relation.name) if part)
    unread = ""
    try:
        database.shape(f"select * from {name} where 1 = 0")
    except SourceError as error:
        unread = f"this role cannot read it: {error.message}"
    columns = tuple(
        CatalogColumn(engine.dialect.describe_column(reported), numbered=reported.numbered)
        for reported in database.columns(relation)
    )
    indexes = database.indexes(relation)
    nullable = {column.column.name for column in columns if column.column.nullable}
    return CatalogTable(
        title=title,
        sql=sql,
        columns=columns,
        # As the catalog has it: where nothing is known to keep a key, each pull counts.
        keys=tuple(jdbc.unique_keys(database.primary_key(relation), indexes, nullable, proven=True)),
        indexed=frozenset(_first(index.columns for index in indexes if not index.is_partial)) if indexes else None,
        unread=unread,
        key_kinds=KEY_KINDS - ({Kind.BYTES} if product.texts.hex is None else set()),
    )


def _first(columns: Iterable[tuple[str, ...]]) -> Iterator[str]:
    return (names[0] for names in columns if names)
