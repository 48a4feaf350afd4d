"""What a rule may reach: the rows of its own table, and nothing else. Pure.

Who writes rules is not trusted with the machine, its files, its environment or other tables (docs/rules.md).
`config/rules_model.py` holds the text of a query against this, `rules/reach.py` what Spark makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any

from hudi_reconcile.core.rules.rules import Check, Gx, Sql

BATCH = "_hr_batch"
RULE = "a rule reads {batch} and nothing else"

_CALLS = "calls any method of Java: the environment, files, the network"
_FILES = "names files"
_LOADS = "loads the file or address that an XML document names as its DTD"
_SESSION = "tells about the session"
_RAISES = "puts values of rows into errors and logs"
# Functions of Spark that reach beyond the rows, or show them where none may stand.
FORBIDDEN: Mapping[str, str] = {
    **dict.fromkeys(("reflect", "java_method", "try_reflect"), _CALLS),
    **dict.fromkeys(("input_file_name", "input_file_block_start", "input_file_block_length"), _FILES),
    # Spark leaves external DTDs on: measured, a file and an HTTP server were read.
    **dict.fromkeys([f"xpath{kind}" for kind in (
        "", "_boolean", "_double", "_float", "_int", "_long", "_number", "_short", "_string")], _LOADS),
    **dict.fromkeys(("current_user", "user", "session_user", "current_catalog", "current_database", "current_schema",
                     "version"), _SESSION),
    **dict.fromkeys(("raise_error", "assert_true"), _RAISES),
}  # fmt: skip
TABLE_FUNCTIONS = frozenset(
    {
        "explode",
        "explode_outer",
        "inline",
        "inline_outer",
        "json_tuple",
        "posexplode",
        "posexplode_outer",
        "range",
        "stack",
    }
)

# --- expectations ---

# Judged one by one at Great Expectations 1.24: they read the batch by its columns, and their arguments are data.
EXPECTATIONS = frozenset(
    {
        "expect_column_distinct_values_to_be_in_set", "expect_column_distinct_values_to_contain_set",
        "expect_column_distinct_values_to_equal_set", "expect_column_kl_divergence_to_be_less_than",
        "expect_column_max_to_be_between", "expect_column_mean_to_be_between", "expect_column_median_to_be_between",
        "expect_column_min_to_be_between", "expect_column_most_common_value_to_be_in_set",
        "expect_column_pair_values_a_to_be_greater_than_b", "expect_column_pair_values_to_be_equal",
        "expect_column_pair_values_to_be_in_set", "expect_column_proportion_of_non_null_values_to_be_between",
        "expect_column_proportion_of_unique_values_to_be_between", "expect_column_quantile_values_to_be_between",
        "expect_column_stdev_to_be_between", "expect_column_sum_to_be_between", "expect_column_to_exist",
        "expect_column_type_to_be", "expect_column_unique_value_count_to_be_between",
        "expect_column_value_lengths_to_be_between", "expect_column_value_lengths_to_equal",
        "expect_column_value_z_scores_to_be_less_than", "expect_column_values_to_be_between",
        "expect_column_values_to_be_dateutil_parseable", "expect_column_values_to_be_decreasing",
        "expect_column_values_to_be_in_set", "expect_column_values_to_be_in_type_list",
        "expect_column_values_to_be_increasing", "expect_column_values_to_be_json_parseable",
        "expect_column_values_to_be_null", "expect_column_values_to_be_of_type", "expect_column_values_to_be_unique",
        "expect_column_values_to_match_json_schema", "expect_column_values_to_match_like_pattern",
        "expect_column_values_to_match_like_pattern_list", "expect_column_values_to_match_regex",
        "expect_column_values_to_match_regex_list", "expect_column_values_to_match_strftime_format",
        "expect_column_values_to_not_be_in_set", "expect_column_values_to_not_be_null",
        "expect_column_values_to_not_be_outliers", "expect_column_values_to_not_match_like_pattern",
        "expect_column_values_to_not_match_like_pattern_list", "expect_column_values_to_not_match_regex",
        "expect_column_values_to_not_match_regex_list", "expect_compound_columns_to_be_unique",
        "expect_multicolumn_sum_to_equal", "expect_multicolumn_values_to_be_equal",
        "expect_select_column_values_to_be_unique_within_record", "expect_table_column_count_to_be_between",
        "expect_table_column_count_to_equal", "expect_table_columns_to_match_ordered_list",
        "expect_table_columns_to_match_set", "expect_table_row_count_to_be_between", "expect_table_row_count_to_equal",
        "unexpected_rows_expectation",
    }
)  # fmt: skip
OTHER_TABLES = frozenset({"expect_query_results_to_match_comparison", "expect_table_row_count_to_equal_other_table"})
ARGUMENTS = frozenset(
    {
        "allow_relative_error", "bucketize_data", "catch_exceptions", "column", "column_A", "column_B", "column_index",
        "column_list", "column_set", "condition_parser", "description", "double_sided", "escape", "exact_match",
        "ignore_row_if", "internal_weight_holdout", "json_schema", "like_pattern", "like_pattern_list", "match_on",
        "max_value", "meta", "method", "min_value", "mostly", "multiplier", "notes", "or_equal", "partition_object",
        "quantile_ranges", "regex", "regex_list", "row_condition", "severity", "strftime_format", "strict_max",
        "strict_min", "strictly", "sum_total", "tail_weight_holdout", "threshold", "ties_okay", "type_", "type_list",
        "unexpected_rows_query", "value", "value_pairs_set", "value_set",
    }
)  # fmt: skip
# Great Expectations puts these columns' names into SQL as they are.
_NAMES_IN_SQL = frozenset({"expect_multicolumn_sum_to_equal", "expect_column_values_to_not_be_outliers"})
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN_LANGUAGE = ("great_expectations", "great_expectations__experimental__")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def list_queries(check: Check) -> tuple[str, ...]:
    """Every query that a check hands to Spark, with `_hr_batch` for its rows; a condition on rows as a query with it.

    Raises:
        ValueError: a text whose placeholders or shape are none of those that Great Expectations is known to take.
    """
    match check:
        case Sql(query):
            return (strip_semicolons(_own(query).replace("{batch}", BATCH)),)
        case Gx(_, kwargs):
            own = [_fill_batch(kwargs["unexpected_rows_query"])] if "unexpected_rows_query" in kwargs else []
            conditions = _conditions(kwargs.get("row_condition"), kwargs.get("condition_parser"))
            return (*own, *(f"SELECT * FROM {BATCH} WHERE (\n{text}\n)" for text in conditions))  # noqa: S608 - never run
        case _:
            return ()


def strip_semicolons(query: str) -> str:
    """The query without the semicolons that end it."""
    return query.rstrip("; \t\r\n\v\f")


def find_reach_fault(kind: str, kwargs: Mapping[str, Any]) -> str | None:
    """Why an expectation may not be asked: its type or an argument is not known to read the batch only; None where it may."""
    if kind in OTHER_TABLES:
        return f"{kind} reads another table: {RULE}"
    if kind not in EXPECTATIONS:
        return f"{kind} is not known to read the table's rows only (legal: {', '.join(sorted(EXPECTATIONS))})"
    for name in kwargs:
        if name not in ARGUMENTS:
            return f"{kind}: {name!r} is not known to be data only (legal: {', '.join(sorted(ARGUMENTS))})"
    if kind in _NAMES_IN_SQL and not all(_PLAIN_NAME.fullmatch(column_name) for column_name in _column_names(kwargs)):
        return f"{kind} takes column names of letters, digits and underscores only: it puts them into SQL as they are"
    if any(_refers_elsewhere(schema) for schema in _mappings(kwargs.get("json_schema"))):
        return (
            "json_schema: $ref may name a place in the schema itself (#/...) only, and $id nothing: others are fetched"
        )
    return None


# --- helpers ---


def _fill_batch(query: object) -> str:
    if not isinstance(query, str):
        raise ValueError("unexpected_rows_query must be a text")
    for _, field, spec, conversion in Formatter().parse(query):
        if field is not None and (field, spec, conversion) != ("batch", "", None):
            raise ValueError(
                "unexpected_rows_query has a placeholder that is not {batch}; other braces are doubled: {{1}}"
            )
    return strip_semicolons(_own(query).format(batch=BATCH))


def _own(text: str) -> str:
    """The text, which does not speak of the tool's own view: it holds no row when a rule runs, and the rule would pass."""
    if BATCH in text.lower():
        raise ValueError(f"{BATCH} is a name of the tool's own: write {{batch}}")
    return text


def _conditions(value: object, language: object) -> Iterator[str]:
    if value is None or (isinstance(value, str) and language in _OWN_LANGUAGE):
        return  # the library's own language: a column, an operator and a value
    if isinstance(value, str):
        yield _own(value)
        return
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or kind not in ("and", "or", "comparison", "nullity", "pass_through"):
        raise ValueError(
            "row_condition must be a text or a condition (legal: and, or, comparison, nullity, pass_through)"
        )
    if kind == "pass_through":
        yield from _conditions(value.get("pass_through_filter") or "", None)
    elif kind in ("and", "or"):
        parts = value.get("conditions")
        for part in parts if isinstance(parts, list) else [parts]:
            yield from _conditions(part or "", None)
    else:
        _refuse_odd(value)


def _refuse_odd(condition: Mapping[str, Any]) -> None:
    """Great Expectations writes SQL of these: a quoted name, an operator that it knows, and values as Python shows them."""
    column = condition.get("column")
    name = column.get("name") if isinstance(column, dict) else column
    values = condition.get("parameter")
    listed = values if isinstance(values, list) else [values]
    if not isinstance(name, str) or "`" in name:
        raise ValueError("row_condition: column must be a name without backticks")
    if not all(value is None or isinstance(value, str | int | float) for value in listed):
        raise ValueError("row_condition: parameter must be a text, a number, true or false, or a list of them")


def _column_names(kwargs: Mapping[str, Any]) -> list[str]:
    listed = kwargs.get("column_list")
    return [
        str(name) for name in [*(listed if isinstance(listed, list) else []), kwargs.get("column")] if name is not None
    ]


def _mappings(value: object) -> Iterator[Mapping[Any, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _mappings(part)


def _refers_elsewhere(schema: Mapping[Any, Any]) -> bool:
    """True where the validator, which fetches what a reference or a base names, files too, would leave the schema."""
    named = [schema[key] for key in _REFERENCES if key in schema]
    bases = [key for key in ("$id", "id") if isinstance(schema.get(key), str)]
    return bool(bases) or any(isinstance(reference, str) and not reference.startswith("#") for reference in named)
