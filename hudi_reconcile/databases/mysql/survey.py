"""Every table of a MySQL or MariaDB server at once, as its catalog has it. Reads no row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from hudi_reconcile.core.source.proposal import CatalogColumn, CatalogTable
from hudi_reconcile.core.tables.kinds import KEY_KINDS
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.databases.mysql import dialect
from hudi_reconcile.databases.mysql.engine import READABLE, unique_keys

Rows = Sequence[Mapping[str, Any]]
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ON_UPDATE = "on update current_timestamp"
_CLOCK = ("current_timestamp", "now(", "curdate", "sysdate")
# What partitions of time are cut by: a column alone, or one of these of it.
_RANGED = re.compile(r"(?:(?:to_days|to_seconds|year|unix_timestamp)\()?`?(\w+)`?\)?", re.IGNORECASE)


def survey_mysql(engine: Engine, schemas: tuple[str, ...]) -> Iterator[CatalogTable]:
    """The tables and views of these schemas; without schemas those of the URL's database."""

    def ask(what: str) -> Rows:
        return engine.rows(dialect.survey_query(what, schemas))

    tables = [row for row in ask("tables") if row["type"] in READABLE]
    columns, indexes = _group_by_name(ask("columns")), _group_by_name(ask("indexes"))
    for row in tables:
        schema, name = str(row["schema_name"]), str(row["name"])
        here, is_view = (schema, name), row["type"] == "VIEW"
        parts = (name,) if row["is_own"] else here
        granted = all("select" in str(column["privileges"]).lower() for column in columns[here]) and columns[here]
        sql = ".".join(part if _PLAIN.fullmatch(part) else dialect.quote(part) for part in parts)
        ranged = _RANGED.fullmatch("".join(str(row["ranged"] or "").split()))
        yield CatalogTable(
            title=".".join(parts),
            sql=sql,
            type="view" if is_view else "table",
            columns=tuple(map(_column, columns[here])),
            keys=tuple(unique_keys(indexes[here])),
            indexed=None if is_view else frozenset(_leading(indexes[here])),
            ranged=ranged[1] if ranged else "",
            rows=None if is_view or row["row_count"] is None else int(row["row_count"]),
            unread="" if granted else f"this user may not read all of it: GRANT SELECT ON {sql}",
            key_kinds=KEY_KINDS | dialect.KEY_TEXTS,
        )


def _leading(indexes: Rows) -> Iterator[str]:
    return (
        str(row["column_name"]) for row in indexes if row["position"] == 1 and row["is_whole"] and row["column_name"]
    )


def _column(row: Mapping[str, Any]) -> CatalogColumn:
    column = dialect.classify_column(
        row["name"], row["data_type"].lower(), row["declared"], nullable=bool(row["nullable"]),
        precision=row["digits"], scale=row["scale"], fraction=row["fraction"],
    )  # fmt: skip
    extra, fallback = str(row["extra"] or ""), str(row["fallback"] or "")
    moved_by = "ON UPDATE CURRENT_TIMESTAMP" if _ON_UPDATE in extra else ""
    return CatalogColumn(column, "auto_increment" in extra, fallback.startswith(_CLOCK), moved_by)


def _group_by_name(rows: Rows) -> Mapping[tuple[str, str], list[Mapping[str, Any]]]:
    rows_by_name: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for name, group in groupby(rows, key=lambda row: (str(row["schema_name"]), str(row["table_name"]))):
        rows_by_name[name] += group
    return rows_by_name
