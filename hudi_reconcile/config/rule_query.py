"""PURE: what a query of a `sql` rule has to be. Spark has the last word; this tells it with file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hudi_reconcile.core.rule_reach import (
    ARGUMENTS,
    BATCH,
    EXPECTATIONS,
    FORBIDDEN,
    OTHER_TABLES,
    RULE,
    TABLE_FUNCTIONS,
    out_of_reach,
    sql_of,
)
from hudi_reconcile.core.rules import Check, Gx, Sql

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_FIRST_WORD = re.compile(r"[\s(]*([A-Za-z]+)")
_SELECTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
_VARIABLE = re.compile(r"\$\{(?:\w+?:)?\S+?\}")  # as Spark finds them: ConfigReader.REF_RE


def with_batch(query: str) -> str:
    """The query. Raises ValueError for one that is none, that does not ask `{batch}`, or that asks anything else."""
    first = _FIRST_WORD.match(_COMMENTS.sub(" ", query))
    if first is None or first.group(1).upper() not in _SELECTS:
        raise ValueError("no query: it begins with SELECT, WITH, FROM, VALUES or TABLE; a rule changes nothing")
    if "{batch}" not in query:
        raise ValueError("must select from {batch}, which stands for the table's rows")
    refuse_reach(Sql(query))
    return query


def refuse_reach(check: Check) -> None:
    """Raise ValueError for a check that, as far as its text shows it, reads anything but the batch.

    What this reader of SQL does not understand is left to Spark, which judges each query before it runs.
    """
    if isinstance(check, Gx) and _is_known(check) and (why := out_of_reach(check.type, check.kwargs)):
        raise ValueError(why)
    for query in sql_of(check):
        if _VARIABLE.search(query):
            raise ValueError(
                "${...} is a variable of Spark, which may hold what the environment holds: write the value itself"
            )
        if why := _reads_elsewhere(query):
            raise ValueError(f"{why}: {RULE}")


# --- helpers ---


def _is_known(check: Gx) -> bool:
    """True where the words are Great Expectations' own; of others it tells itself, with the nearest that is."""
    return check.type in OTHER_TABLES or (check.type in EXPECTATIONS and ARGUMENTS.issuperset(check.kwargs))


def _reads_elsewhere(query: str) -> str | None:
    from sqlglot import parse, tokenize  # noqa: PLC0415 - takes a while to load, and files without SQL need none of it

    from hudi_reconcile.sql.user_sql import UNREAD, is_nested_deep  # noqa: PLC0415 - as above

    try:
        if is_nested_deep(tokenize(query, read="spark")):
            return None
        trees = [tree for tree in parse(query, read="spark") if tree is not None]
    except UNREAD:
        return None
    if len(trees) > 1:
        return "it is more than one statement"
    return next((why for tree in trees for why in (_other_table(tree), _forbidden_call(tree)) if why), None)


def _other_table(tree: Expr) -> str | None:
    from sqlglot import exp  # noqa: PLC0415 - as above

    named = {BATCH, *(str(one.alias).lower() for one in tree.find_all(exp.CTE))}
    for table in tree.find_all(exp.Table):
        what = table.this
        if table.find_ancestor(exp.Hint):
            continue  # the name of a table of the query
        if isinstance(what, exp.Identifier) and (table.db or table.name.lower() not in named):
            return f"it reads {'.'.join(part.name for part in table.parts)}"
        if isinstance(what, exp.Anonymous) and what.name.lower() not in TABLE_FUNCTIONS:
            return f"it reads {what.name}(...)"
    return None


def _forbidden_call(tree: Expr) -> str | None:
    from sqlglot import exp  # noqa: PLC0415 - as above

    for call in tree.find_all(exp.Func):
        name = (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()
        if name in FORBIDDEN:
            return f"it calls {name}, which {FORBIDDEN[name]}"
    return None
