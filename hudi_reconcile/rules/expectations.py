"""Turns a rule into Great Expectations' own expectation, and its result into counts; nothing is kept, printed or sent.

Great Expectations takes seconds to load, so each function loads it when it is called.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame

from hudi_reconcile.core.errors import suggest_name
from hudi_reconcile.core.rules.reach import BATCH, find_reach_fault, list_queries, strip_semicolons
from hudi_reconcile.core.rules.rules import (
    Gx,
    InSet,
    Matches,
    NotNull,
    OnBatch,
    Rule,
    Sql,
    Unique,
    ValueRange,
    list_named_columns,
)
from hudi_reconcile.core.rules.verdict import Measured
from hudi_reconcile.core.safe_text import describe_trace, extract_places
from hudi_reconcile.rules.predicates import CLOCKS, build_column, convert_members, is_in_range, read_type
from hudi_reconcile.rules.reach import refuse_reach


class NotRunnableError(ValueError):
    """The rule cannot run on these rows; the message says why."""


@dataclass(frozen=True, slots=True)
class ExpectationRequest:
    """An expectation, and the column that it needs beside the table's own: its name and how it is made.

    `is_whole`: it is about the table, and must not see such columns.
    """

    expectation: Any
    column: tuple[str, Column] | None = None
    is_whole: bool = False


def build_request(rows: DataFrame, rule: Rule, number: int) -> ExpectationRequest:
    """The expectation that stands for a rule. `number` tells helper columns apart.

    Raises:
        NotRunnableError: a column is missing, a value is none of the column's type, the query is no Spark SQL or reads
            more than the batch, or Great Expectations knows no such type or argument.
    """
    check = rule.check
    assert isinstance(check, OnBatch)
    for column in list_named_columns(check):
        _refuse_missing(rows, column)
    try:
        return _build_batch_request(rows, rule.id, check, f"_hr_holds_{number}")
    except ValueError as error:
        raise NotRunnableError(str(error)) from None


def read_measures(rule: Rule, result: Any, rows: int) -> Measured:
    """What Great Expectations counted. `rows` is how many the batch holds."""
    failed = _failure(result)
    if failed is not None:
        return Measured(
            problem=f"could not run: {failed}", fix="run its query or expectation by hand; where it ended: -v"
        )
    measures: Mapping[str, Any] = dict(result.result or {})
    success = bool(result.success)
    if isinstance(rule.check, Sql):
        return Measured(int(measures["observed_value"]), rows, counts_rows=True)
    if (unexpected := measures.get("unexpected_count")) is not None:
        elements = int(measures.get("element_count") or 0)
        missing = 0 if isinstance(rule.check, NotNull) else int(measures.get("missing_count") or 0)
        judged = elements - missing
        verdict = success if isinstance(rule.check, Gx) else None
        return Measured(int(unexpected), judged, verdict, counts_rows=True)
    return Measured(0 if success else 1, 0, success, detail=_describe_observed(measures))


def has_exception(result: Any) -> bool:
    """True where the expectation could not be evaluated."""
    return _failure(result) is not None


def trace_exception(result: Any) -> str:
    """Where the evaluation ended, without a word of what was said there."""
    if isinstance(result, Exception):
        return describe_trace(result)
    info = result.exception_info
    several = (
        [info] if "exception_traceback" in info else [entry for entry in info.values() if isinstance(entry, Mapping)]
    )
    return "\n".join(extract_places(str(entry.get("exception_traceback"))) for entry in several)


def write_subquery(query: str, batch: str) -> str:
    """The user's query over a view, as a subquery: a command, which Spark would carry out at once, is none."""
    text = strip_semicolons(query.replace("{batch}", batch))
    return f"SELECT * FROM (\n{text}\n)"


# --- helpers ---


def _build_batch_request(rows: DataFrame, rule_id: str, check: OnBatch, helper: str) -> ExpectationRequest:
    match check:
        case ValueRange():
            # The library's own `between` turns its ends into floats and has no times with zones.
            return _holding(rule_id, helper, is_in_range(rows, check))
        case InSet(column, values) if read_type(rows, column) in CLOCKS:
            return _holding(rule_id, helper, build_column(column).isin(convert_members(rows, column, values)))
        case Sql() | Gx():
            _refuse_reach(rows, check)
    return ExpectationRequest(
        expectation(rule_id, *_name_expectation(rows, check)),
        is_whole=isinstance(check, Gx) and not list_named_columns(check),
    )


def _name_expectation(rows: DataFrame, check: OnBatch) -> tuple[str, Mapping[str, Any]]:
    """Type and arguments of the expectation that says the same."""
    match check:
        case NotNull(column):
            return "expect_column_values_to_not_be_null", {"column": column}
        case Unique((column,)):
            return "expect_column_values_to_be_unique", {"column": column}
        case Unique(columns):
            # NULLs count for not_null only; the library's default leaves out rows that are NULL throughout.
            kwargs = {"column_list": list(columns), "ignore_row_if": "any_value_is_missing"}
            return "expect_compound_columns_to_be_unique", kwargs
        case InSet(column, values):
            kwargs = {"column": column, "value_set": convert_members(rows, column, values)}
            return "expect_column_values_to_be_in_set", kwargs
        case Matches(column, regex):
            return "expect_column_values_to_match_regex", {"column": column, "regex": regex}
        case Sql(query):
            text = write_subquery(query, "{batch}")
            escaped = text.replace("{", "{{").replace("}", "}}").replace("{{batch}}", "{batch}")
            return "unexpected_rows_expectation", {"unexpected_rows_query": escaped}
        case Gx(kind, kwargs):
            return kind, kwargs
        case _:
            raise AssertionError(type(check).__name__)


def _holding(rule_id: str, helper: str, holds: Column) -> ExpectationRequest:
    kwargs = {"column": helper, "value_set": [True]}
    return ExpectationRequest(expectation(rule_id, "expect_column_values_to_be_in_set", kwargs), (helper, holds))


def _refuse_missing(rows: DataFrame, column: str) -> None:
    if column in rows.columns:
        return
    raise NotRunnableError(f"the lake table has no column {column!r}{suggest_name(column, rows.columns)}")


def _refuse_reach(rows: DataFrame, check: Sql | Gx) -> None:
    for query in list_queries(check):
        try:
            refuse_reach(rows, query)
        except PySparkException as error:
            # Of an analysis only: it names the query's words and columns, and no row was read.
            raise NotRunnableError(f"the query is no Spark SQL on this table: {_first_line(str(error))}") from None


def _first_line(text: str) -> str:
    head = re.sub(r"\s+", " ", text.strip().splitlines()[0] if text.strip() else "")
    return head.replace(BATCH, "{batch}")[:300]


def _failure(result: Any) -> str | None:
    """The class of the error that ended an expectation, None where none did. Its text may hold values of rows."""
    if isinstance(result, Exception):
        return type(result).__name__
    info = result.exception_info
    if not isinstance(info, Mapping) or not info:
        return None
    single = [info] if "raised_exception" in info else [entry for entry in info.values() if isinstance(entry, Mapping)]
    raised = [entry for entry in single if entry.get("raised_exception")]
    if not raised:
        return None
    names = re.findall(
        r"\b(?:[A-Za-z_]+\.)*([A-Z][A-Za-z]*(?:Error|Exception))\b", str(raised[0].get("exception_traceback"))
    )
    return names[-1] if names else "an error inside Great Expectations"


def _describe_observed(measures: Mapping[str, Any]) -> str:
    value = measures.get("observed_value")
    return f"observed {value}" if isinstance(value, int | float) and not isinstance(value, bool) else ""


_RULE = "rule"  # of an expectation's meta: whose it is


class UnknownExpectationError(ValueError):
    """No such type, not these keyword arguments, or not known to read the batch only.

    The message says what is legal and repeats no value.
    """


def load_library() -> Any:
    """The package, its expectations registered."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # read by the import in versions before 1.7
    import great_expectations  # noqa: PLC0415 - takes seconds
    import great_expectations.expectations  # noqa: PLC0415

    return great_expectations


def expectation(rule_id: str, kind: str, kwargs: Mapping[str, Any]) -> Any:
    """An expectation of a type, marked with the rule that it stands for.

    Raises:
        UnknownExpectationError: there is no such type, it does not take these arguments, or it is not known to read the
            batch only.
    """
    version = load_library().__version__
    from great_expectations.exceptions import ExpectationNotFoundError  # noqa: PLC0415 - as above
    from great_expectations.expectations import registry  # noqa: PLC0415

    try:
        made = registry.get_expectation_impl(kind)
    except ExpectationNotFoundError:
        known = registry.list_registered_expectation_implementations()
        raise UnknownExpectationError(
            f"Great Expectations {version} has no {kind!r}{suggest_name(kind, known)}"
        ) from None
    legal = tuple(made.__fields__)
    for name in kwargs:
        if name not in legal:
            raise UnknownExpectationError(f"{kind} takes no {name!r}{suggest_name(name, legal)}")
    if why := find_reach_fault(kind, kwargs):
        raise UnknownExpectationError(why)
    try:
        return made(**{**kwargs, "meta": {**(kwargs.get("meta") or {}), _RULE: rule_id}})
    except Exception as error:  # noqa: BLE001 - each type raises as it likes; the arguments are wrong either way
        raise UnknownExpectationError(f"{kind}: {_problems(error)}") from None


def validate(rows: DataFrame, expectations: Sequence[Any]) -> dict[str, Any]:
    """Validate all expectations on the rows in one pass, BASIC; the results by rule. No row comes to the driver."""
    if not expectations:
        return {}
    from great_expectations.core.expectation_suite import ExpectationSuite  # noqa: PLC0415 - as above

    context = load_library().get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_spark("lake", persist=False)
    batches = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
    batch = batches.get_batch({"dataframe": rows})
    validation = batch.validate(ExpectationSuite("rules", expectations=list(expectations)), result_format="BASIC")
    return {result.expectation_config.meta[_RULE]: result for result in validation.results}


def _problems(error: Exception) -> str:
    """What pydantic says of the arguments, without their values."""
    listed = getattr(error, "errors", None)
    if not callable(listed):
        return type(error).__name__
    return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in listed())
