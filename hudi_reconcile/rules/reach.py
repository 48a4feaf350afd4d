"""What a query of a rule reaches, by Spark's own reading of it: judged before anything of it is analysed, and after.

Analysing alone may act: it evaluates VALUES, LIMIT and IDENTIFIER, and opens the files that a query names. So the parsed
plan comes first, and what is not known to be harmless there is refused.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.rules.reach import BATCH, FORBIDDEN, RULE, TABLE_FUNCTIONS
from hudi_reconcile.core.safe_text import describe_trace

log = logging.getLogger("hudi_reconcile")

# While rules run: no `${env:NAME}` in a text, no text.`/a/file` as a table.
_CONFINED = {"spark.sql.variable.substitute": "false", "spark.sql.runSQLOnFiles": "false"}
_CATALYST = "org.apache.spark.sql.catalyst."
_PLANS = frozenset(
    f"{_CATALYST}plans.logical.{name}"
    for name in (
        "Aggregate", "CTERelationDef", "CTERelationRef", "Deduplicate", "Distinct", "Except", "Expand", "Filter", "Generate",
        "GlobalLimit", "Intersect", "Join", "LateralJoin", "LocalLimit", "LocalRelation", "Offset", "OneRowRelation", "Pivot",
        "Project", "Range", "RebalancePartitions", "Repartition", "RepartitionByExpression", "ResolvedHint", "Sample", "Sort",
        "SubqueryAlias", "Union", "Unpivot", "UnresolvedHint", "View", "Window", "WithCTE",
    )
)  # fmt: skip
_UNRESOLVED = frozenset(
    f"{_CATALYST}analysis.{name}"
    for name in (
        "MultiAlias", "UnresolvedAlias", "UnresolvedAttribute", "UnresolvedExtractValue", "UnresolvedFunction",
        "UnresolvedGenerator", "UnresolvedHaving", "UnresolvedInlineTable", "UnresolvedOrdinal", "UnresolvedRegex",
        "UnresolvedRelation",
        "UnresolvedStar", "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases", "UnresolvedTableValuedFunction",
    )
)  # fmt: skip
_EXPRESSIONS = f"{_CATALYST}expressions."
# Code that is none of Spark's own, and what tells of more than rows: by class, however a name came to stand for it.
_FOREIGN = re.compile(
    r"CallMethodViaReflection|TryReflect|InputFile\w+|Current(?:User|Catalog|Database)|SparkVersion|XPath\w+"
    r"|(?:Scala|Python|Hive\w*)UD\w+|ScalaAggregator|\w*UserDefined\w+|ApplyFunctionExpression|V2Aggregator"
)
# What Spark's JSON leaves out of a parsed plan and no text of a query stands in. Anything else left out is refused.
_LEFT_OUT = frozenset(
    {"aliases", "escapeChar", "evalMode", "groupingSetIndexes", "hint", "options", "patterns", "value", "windowSpec"}
)
_WINDOWS = (
    f"{_CATALYST}plans.logical.WithWindowDefinition"  # what it names is put into its place, in each plan by itself
)


class OutOfReachError(ValueError):
    """The query asks more than the batch, or cannot be judged. The message holds words of the query only."""


@contextmanager
def confine_sql(session: SparkSession) -> Iterator[None]:
    """A session whose SQL reads neither variables nor paths, while the block lasts."""
    before = {name: session.conf.get(name) for name in _CONFINED}
    for name, value in _CONFINED.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, kept in before.items():
            session.conf.set(name, str(kept))


def refuse_reach(rows: DataFrame, query: str) -> None:
    """Raise OutOfReachError for a query, over `_hr_batch`, that reads anything but these rows. Reads none of them.

    It is analysed on a table without rows that has their columns; that table is the view while this lasts.

    Raises:
        PySparkException: it is no Spark SQL on these columns; its message holds words of the query only.
    """
    session = rows.sparkSession
    java: Any = session._jsparkSession  # noqa: SLF001  pyspark has no door to a plan that is not analysed
    jvm: Any = session._jvm  # noqa: SLF001
    state, catalyst = java.sessionState(), jvm.org.apache.spark.sql.catalyst.analysis
    try:
        with confine_sql(session):
            empty = java.createDataFrame(jvm.java.util.ArrayList(), rows._jdf.schema())  # noqa: SLF001
            empty.createOrReplaceTempView(BATCH)
            # Puts what WITH names into its place, and looks nothing up.
            named = catalyst.CTESubstitution.apply(state.sqlParser().parsePlan(query))
            builtin = frozenset(catalyst.FunctionRegistry.functionSet().mkString(" ").split())
            for text in _write_plans(named, state.analyzer().WindowsSubstitution()):
                for node in _nodes(json.loads(text)):
                    _refuse(_beyond(node, builtin))
            unrun = jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
            for node in _nodes(json.loads(state.executePlan(named, unrun).analyzed().toJSON())):
                _refuse(_foreign(node))
            session.catalog.dropTempView(BATCH)
    except (PySparkException, OutOfReachError):
        raise
    except Exception as error:  # noqa: BLE001 - py4j's, or a plan too deep for JSON: what is not judged does not run
        log.debug("a query could not be judged: %s", describe_trace(error))
        raise OutOfReachError(f"the query could not be judged ({type(error).__name__})") from None


# --- helpers ---


def _write_plans(plan: Any, windows: Any) -> Iterator[str]:
    """A parsed plan as JSON, the windows that it names in their places; and those of its subqueries that name some."""
    placed = windows.apply(plan)
    text = str(placed.toJSON())
    yield text
    if _WINDOWS in text:
        subqueries = placed.subqueriesAll().iterator()
        while subqueries.hasNext():
            yield from _write_plans(subqueries.next(), windows)


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Every node of a plan, of its expressions and of the plans within those."""
    if isinstance(tree, dict) and "class" in tree:
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(child)


def _refuse(why: str | None) -> None:
    if why is not None:
        raise OutOfReachError(f"{why}: {RULE}")


def _beyond(node: Mapping[str, Any], builtin: frozenset[str]) -> str | None:
    """What a node of a parsed plan reads beside the batch, or hides; None where neither."""
    kind = _short(node)
    if kind == "UnresolvedRelation" and _name(node["multipartIdentifier"]) != BATCH:
        return f"the query reads {_name(node['multipartIdentifier'])}"
    if kind in ("UnresolvedFunction", "UnresolvedGenerator"):
        return _forbidden(_name(node.get("nameParts", node.get("name"))), builtin)
    if kind == "UnresolvedTableValuedFunction" and _name(node["name"]) not in TABLE_FUNCTIONS:
        return f"the query reads {_name(node['name'])}(...)"
    if node["class"] == _WINDOWS:
        return None
    hidden = {field for field, value in node.items() if value is None} - _LEFT_OUT
    if hidden - ({"values"} if kind == "Unpivot" else set()):  # whose grammar takes names of columns only
        return f"what {kind} of the query holds cannot be seen"
    return None if node["class"] in _UNRESOLVED else _foreign(node)


def _forbidden(name: str, builtin: frozenset[str]) -> str | None:
    if name in FORBIDDEN:
        return f"the query calls {name}, which {FORBIDDEN[name]}"
    return None if name in builtin else f"the query calls {name}, which is no function of Spark's own"


def _foreign(node: Mapping[str, Any]) -> str | None:
    """What a node is, where it is none that a query of the batch consists of."""
    is_own = node["class"] in _PLANS or node["class"].startswith(_EXPRESSIONS)
    return None if is_own and not _FOREIGN.fullmatch(_short(node)) else f"the query uses {_short(node)}"


def _short(node: Mapping[str, Any]) -> str:
    return str(node["class"]).rpartition(".")[2]


def _name(parts: object) -> str:
    """A name as Spark's JSON shows it, in lower case; of several parts, with dots, which no legal one has."""
    if isinstance(parts, dict):  # a function of LATERAL VIEW
        several = [str(parts[key]) for key in ("catalog", "database", "funcName") if parts.get(key) is not None]
        return ".".join(several).lower()
    return str(parts).removeprefix("[").removesuffix("]").replace(", ", ".").lower()
