"""Every table of a PostgreSQL database at once, as its catalog has it. Reads no row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hudi_reconcile.core.source.proposal import CatalogColumn, CatalogTable, RelationType, UniqueKey
from hudi_reconcile.core.tables.kinds import KEY_KINDS
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.databases.postgres import catalog, dialect

Rows = Sequence[Mapping[str, Any]]
_TYPES: Mapping[str, RelationType] = {"v": "view", "f": "foreign table"}


def survey_postgres(engine: Engine, schemas: tuple[str, ...]) -> Iterator[CatalogTable]:
    """The tables and views of these schemas; without schemas those that the role's path leads to."""

    def ask(what: str) -> Rows:
        return engine.rows(catalog.survey_query(what, schemas))

    tables, columns, keys = ask("tables"), _group_by_table(ask("columns")), _group_by_table(ask("keys"))
    indexed, moved = _group_by_table(ask("indexed")), _group_by_table(ask("moved"))
    for row in tables:
        oid, schema, name = row["oid"], str(row["schema_name"]), str(row["table_name"])
        kind = _TYPES.get(row["relkind"], "table")
        sql = dialect.relation(schema, name, plain=(row["plain_schema"], row["plain_table"]))
        yield CatalogTable(
            title=name if schema == "public" else f"{schema}.{name}",
            sql=sql,
            type=kind,
            columns=tuple(_column(column, moved[oid]) for column in columns[oid]),
            keys=tuple(UniqueKey(tuple(key["names"]), key["is_primary"], bool(key["is_proof"])) for key in keys[oid]),
            indexed=frozenset(str(index["name"]) for index in indexed[oid]) if kind == "table" else None,
            ranged=str(row["ranged"] or ""),
            rows=row["rows"] if row["rows"] >= 0 and kind == "table" else None,
            unread=_unread(row, sql),
            has_versions=row["relkind"] in ("r", "p"),
            key_kinds=KEY_KINDS | dialect.KEY_TEXTS,
        )


def _column(row: Mapping[str, Any], moved: Rows) -> CatalogColumn:
    name = str(row["name"])
    column = dialect.classify_column(
        name, row["type_name"], row["type_mod"], declared=row["declared"], nullable=row["nullable"],
        type_type=row["type_type"],
    )  # fmt: skip
    by = [str(trigger["trigger"]) for trigger in moved if trigger["name"] == name.lower()]
    return CatalogColumn(column, row["numbered"], row["clock"], f"trigger {by[0]}" if by else "")


def _unread(row: Mapping[str, Any], sql: str) -> str:
    role = dialect.quote(str(row["role"]))
    if not row["can_read"]:
        return f"this role may not read it: GRANT SELECT ON {sql} TO {role}"
    if row["hides_rows"]:
        return f"row-level security would hide rows from this role: ALTER ROLE {role} BYPASSRLS"
    return "" if row["is_filled"] else f"it has no rows yet: REFRESH MATERIALIZED VIEW {sql}"


def _group_by_table(rows: Rows) -> Mapping[Any, list[Mapping[str, Any]]]:
    rows_by_table: defaultdict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        rows_by_table[row["oid"]].append(row)
    return rows_by_table
