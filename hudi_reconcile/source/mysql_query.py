"""A query on MySQL or MariaDB as a table: its columns by what the protocol tells of an answer without rows."""

from __future__ import annotations

from typing import Any

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.kinds import Column
from hudi_reconcile.source.catalog import described
from hudi_reconcile.source.engine import Described
from hudi_reconcile.source.plane import ControlPlane
from hudi_reconcile.source.request import TableRequest
from hudi_reconcile.sql import statements
from hudi_reconcile.sql.dialects import mysql

_UNSIGNED, _ENUM, _SET = 32, 256, 2048
_BINARY_CHARSET = 63
_OPEN_SCALE = 31
# https://mariadb.com/kb/en/result-set-packets/, "Field types"
_TYPES = {
    0: "decimal", 1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 7: "timestamp", 8: "bigint",
    9: "mediumint", 10: "date", 11: "time", 12: "datetime", 13: "year", 16: "bit", 245: "json", 246: "decimal",
    247: "enum", 248: "set", 255: "geometry",
}  # fmt: skip
_TEXTS = {
    15: ("varchar", "varbinary"), 249: ("tinytext", "tinyblob"), 250: ("mediumtext", "mediumblob"),
    251: ("longtext", "longblob"), 252: ("text", "blob"), 253: ("varchar", "varbinary"), 254: ("char", "binary"),
}  # fmt: skip
_GRAMMAR = ("(error 1064)", "(error 1054)", "(error 1146)", "(error 1060)", "(error 1248)")


def describe_query(plane: ControlPlane, request: TableRequest, *, server: str) -> Described:
    """The query's answer as a table without any key of its own. Raises UsageError for a query that is not understood."""
    name = statements.derived(request.query or "")
    try:
        columns = plane.shape(f"select * from {name} limit 0", _columns)
        lines = plane.rows(mysql.estimate_query(name, request.predicates))
    except SourceError as error:
        if error.message.endswith(_GRAMMAR):
            raise UsageError(
                f"table {request.name}: source.query is refused: {error.message}",
                fix=f"correct tables[{request.name}].source.query: one SELECT",
            ) from error
        raise
    estimate = max((int(line["rows"] or 0) for line in lines), default=0)
    database = plane.one("select database() as name")["name"]
    identity = f"{server}/{database}/{request.query_id}"
    return described(request, columns, (), name=name, identity=identity, rows_estimate=estimate)


def _columns(cursor: Any) -> tuple[Column, ...]:
    fields = cursor._result.fields  # noqa: SLF001 - PyMySQL's description leaves out flags and character set
    return tuple(
        column_of_field(f.name, f.type_code, flags=f.flags, length=f.length, scale=f.scale, charset=f.charsetnr)
        for f in fields
    )


def column_of_field(name: str, code: int, *, flags: int, length: int, scale: int, charset: int) -> Column:
    """The column that a field of an answer is; of types that are not known, as the catalog's unknown ones."""
    is_unsigned = bool(flags & _UNSIGNED)
    if code in _TEXTS:
        kind = "enum" if flags & _ENUM else "set" if flags & _SET else _TEXTS[code][charset == _BINARY_CHARSET]
    else:
        kind = _TYPES.get(code, f"type {code}")
    precision = length
    if kind == "decimal":
        precision = length - (0 if is_unsigned else 1) - (1 if scale else 0)
    declared = f"{kind}({precision},{scale})" if kind == "decimal" else f"{kind}{' unsigned' if is_unsigned else ''}"
    fraction = 6 if scale == _OPEN_SCALE else scale
    return mysql.column_of(name, kind, declared, nullable=True, precision=precision, scale=scale, fraction=fraction)
