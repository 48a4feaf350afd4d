"""Columns whose type has operators of its own, as citext: whether people's SQL would compare them as PostgreSQL's type instead.

Our sessions look names up in pg_catalog alone, where `citext = 'x'` is `text = text`: other rows, and no error. So the check is
closed: such a value may stand where no operator or function is looked up by name for it, and is refused everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from sqlglot import exp

from hudi_reconcile.sql.user_sql import condition_tree, parse_sql

# What has the value's own type, so that what holds of the value holds of the whole.
_SAME = (exp.Paren, exp.Coalesce, exp.Greatest, exp.Least, exp.Array, exp.Collate, exp.Bracket, exp.Cast, exp.Window, exp.Lag,
         exp.Lead, exp.FirstValue, exp.LastValue, exp.ArrayAgg, exp.AnyValue, exp.IgnoreNulls, exp.Filter, exp.Order)  # fmt: skip
# PostgreSQL's own over text or any type, with a result of another type: there is one of that name, whatever the path.
_READS = (exp.Is, exp.Operator, exp.Count, exp.Exists, exp.Lower, exp.Upper, exp.Length, exp.MD5, exp.GroupConcat, exp.Concat,
          exp.ConcatWs, exp.DPipe, exp.Format, exp.JSONObject, exp.JSONObjectAgg)  # fmt: skip
_READS_BY_NAME = frozenset({
    "octet_length", "char_length", "character_length", "initcap", "to_json", "to_jsonb", "json_agg", "jsonb_agg",
    "json_build_object", "jsonb_build_object", "json_build_array", "jsonb_build_array", "quote_literal", "quote_nullable",
})  # fmt: skip
_REFUSED = ""


def find_compared_columns(
    text: str, product: str, columns: Sequence[str], types: Sequence[str] = ()
) -> tuple[str, ...]:
    """Which of these columns, and of these types that a cast names, a condition or a query uses as another type's values.

    Not so: directly under a cast to a type of pg_catalog, NULL or not, with an operator or a function that has its schema, as
    a column of a result, and in GROUP BY, ORDER BY, DISTINCT and PARTITION BY, which ask the type and not the path.
    """
    root = parse_sql(text, product)
    root = root if isinstance(root, exp.Query) else condition_tree(text, product)
    if root is None:  # then the server says what it does not understand
        return ()
    origin = {**{column.lower(): column for column in columns}, **_find_renamed(root, columns)}
    names: set[str] = set()
    while True:
        known = len(origin)
        for value, name in [*_values(root, origin), *_casts(root, types)]:
            for other in _list_names(value):
                if other == _REFUSED:
                    names.add(name)
                else:
                    origin.setdefault(other.lower(), name)
        if len(origin) == known:
            break
    if columns and any(str(join.args.get("method") or "") == "NATURAL" for join in root.find_all(exp.Join)):
        names.add(columns[0])
    return tuple(dict.fromkeys(name for name in (*columns, *types) if name in names))


def cast_types(text: str, product: str) -> tuple[str, ...]:
    """The types that a text casts to and that are not PostgreSQL's by name, as SQL."""
    root = condition_tree(text, product) or parse_sql(text, product)
    kinds = (_own_type(node.args["to"]) for node in (root.find_all(exp.Cast) if root is not None else ()))
    return tuple(dict.fromkeys(kind for kind in kinds if kind))


# --- helpers ---


def _values(root: exp.Expr, origin: Mapping[str, str]) -> Iterator[tuple[exp.Expr, str]]:
    for node in root.find_all(exp.Column, exp.Dot, exp.Join):
        if isinstance(node, exp.Join):
            for name in node.args.get("using") or ():
                if name.name.lower() in origin:
                    yield node, origin[name.name.lower()]
        elif (
            isinstance(node, exp.Column) or isinstance(node.expression, exp.Identifier)
        ) and node.name.lower() in origin:
            yield node, origin[node.name.lower()]


def _casts(root: exp.Expr, types: Sequence[str]) -> Iterator[tuple[exp.Expr, str]]:
    for node in root.find_all(exp.Cast) if types else ():
        if (kind := _own_type(node.args["to"])) in types:
            yield node, kind


def _find_renamed(root: exp.Expr, columns: Sequence[str]) -> dict[str, str]:
    """The names that an alias gives to a table's columns: which is whose is not known here."""
    tables = [
        table for table in root.find_all(exp.Table, exp.Subquery) if isinstance(table.args.get("alias"), exp.TableAlias)
    ]
    unknown = [
        table
        for table in tables
        if isinstance(table.this, exp.Identifier) or (isinstance(table, exp.Subquery) and table.is_star)
    ]
    named = [name.name.lower() for table in unknown for name in table.args["alias"].args.get("columns") or ()]
    return dict.fromkeys(named, columns[0]) if columns else {}


def _list_names(value: exp.Expr) -> Iterator[str]:
    """The names under which a value goes on; `_REFUSED` where something looks its operator or function up by its type."""
    if isinstance(value, exp.Join):
        yield _REFUSED
        return
    child, parent = value, value.parent
    while parent is not None:
        if isinstance(parent, exp.Cast) and not _own_type(parent.args["to"]):
            return
        if _is_same(child, parent):
            child, parent = parent, parent.parent
            continue
        break
    if parent is None or _is_read(child, parent):
        return
    alias = parent.alias if isinstance(parent, exp.Alias) else ""
    if isinstance(parent, exp.Alias):
        child, parent = parent, parent.parent
    if isinstance(parent, exp.Select) and child.arg_key == "expressions":
        yield from _results(child, parent, alias or _own_name(child))
        return
    yield _REFUSED


def _is_same(child: exp.Expr, parent: exp.Expr) -> bool:
    if isinstance(parent, exp.Case):  # CASE x WHEN compares x
        return child.arg_key in ("ifs", "default")
    if isinstance(parent, exp.If):
        return child.arg_key in ("true", "false")
    if isinstance(parent, exp.Window):
        return child.arg_key == "this"
    return isinstance(parent, _SAME) and child.arg_key in ("this", "expressions")


def _is_read(child: exp.Expr, parent: exp.Expr) -> bool:
    if isinstance(parent, (exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Ordered)) or (
        isinstance(parent, exp.Window) and child.arg_key == "partition_by"
    ):
        return True
    if isinstance(parent, exp.Tuple) and isinstance(parent.parent, exp.Distinct):
        return True
    if isinstance(parent, exp.Distinct):
        return isinstance(parent.parent, (exp.Select, exp.Count))
    if isinstance(parent, exp.Is):
        return isinstance(parent.expression, exp.Null)
    place = parent.parent
    if isinstance(parent, exp.Func) and isinstance(place, exp.Dot) and place.this.name.lower() != "pg_catalog":
        return parent.arg_key == "expression"
    return isinstance(parent, _READS) or (isinstance(parent, exp.Anonymous) and parent.name.lower() in _READS_BY_NAME)


def _results(child: exp.Expr, select: exp.Select, name: str) -> Iterator[str]:
    """Where a column of a SELECT's result goes: nowhere, on under a name, or into an expression."""
    index, node, parent = child.index or 0, cast("exp.Expr", select), select.parent
    while isinstance(parent, (exp.SetOperation, exp.Subquery, exp.Paren)):
        if isinstance(parent, exp.SetOperation) and node.arg_key == "expression":
            names = parent.named_selects  # a UNION's columns have the names of its first SELECT
            name = names[index] if index < len(names) and "*" not in names else _REFUSED
        if isinstance(parent, exp.Subquery) and isinstance(parent.parent, (exp.From, exp.Join, exp.Lateral)):
            place = parent.parent
            yield from _list_aliases(place if isinstance(place, exp.Lateral) else parent, index, name)
            return
        node, parent = parent, parent.parent
    if isinstance(parent, exp.CTE):
        yield from _list_aliases(parent, index, name)
    elif parent is not None and not isinstance(parent, exp.Exists):
        yield from _list_names(node)


def _list_aliases(derived: exp.Expr, index: int, name: str) -> Iterator[str]:
    alias = derived.args.get("alias")
    columns = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
    yield columns[index] if index < len(columns) else name


def _own_name(value: exp.Expr) -> str:
    """The name that PostgreSQL gives to a column of a result that has no alias; a function's is not followed."""
    while isinstance(value, (exp.Paren, exp.Cast, exp.Collate, exp.Bracket)):
        value = value.this
    if isinstance(value, exp.Subquery):
        return str(value.this.named_selects[0])
    if isinstance(value, (exp.Column, exp.Dot)):
        return value.name
    return value.key if isinstance(value, (exp.Coalesce, exp.Case, exp.Array, exp.Greatest, exp.Least)) else _REFUSED


def _own_type(kind: exp.Expr) -> str:
    """The type as SQL where it is not of pg_catalog, as all without a schema are; empty otherwise. Of an array, its elements'."""
    while isinstance(kind, exp.DataType) and kind.is_type(exp.DType.ARRAY) and kind.expressions:
        kind = kind.expressions[0]
    name = kind.args.get("kind")
    if not isinstance(name, exp.Dot) or name.this.name.lower() == "pg_catalog":
        return ""
    return name.sql("postgres")
