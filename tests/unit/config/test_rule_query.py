"""Rules whose text alone shows that they read more than their table: refused with the rule's place, before anything starts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hudi_reconcile.config.rules_load import parse_rules
from hudi_reconcile.config.rules_model import require_batch
from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.core.rules.reach import ARGUMENTS, EXPECTATIONS, OTHER_TABLES, find_reach_fault
from hudi_reconcile.rules.expectations import load_library
from tests.support.rule_queries import (
    LEGAL,
    LEGAL_EXPECTATIONS,
    REFUSED_EXPECTATIONS,
    SEEN_AT_LOAD,
    SEEN_BY_SPARK,
    VARIABLES,
)

# Of an expectation, but no argument of what it looks at: other batches, identities, and what shows rows.
WHY = (
    "a rule reads {batch} and nothing else",
    "${...} is a variable of Spark",
    "_hr_batch is a name of the tool's own",
)
NOT_FOR_RULES = {"batch_id", "id", "rendered_content", "result_format", "windows"}


def problems(*rules: dict[str, Any]) -> list[str]:
    """What loading says of the rules, each by its own number."""
    listed = [{"id": f"r{number}", **rule} for number, rule in enumerate(rules)]
    try:
        parse_rules(json.dumps({"version": 1, "table": "t", "rules": listed}), "r.yaml", "t")
    except ConfigError as error:
        return list(error.problems)
    return []


def sql(queries: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"check": "sql", "query": query} for query in queries]


def gx(expectations: tuple[tuple[str, dict[str, Any]], ...]) -> list[dict[str, Any]]:
    return [{"check": "gx", "type": kind, "kwargs": kwargs} for kind, kwargs in expectations]


def test_queries_and_expectations_over_the_batch_are_legal_and_what_only_spark_can_tell_is_left_to_it() -> None:
    assert problems(*sql(LEGAL), *sql(SEEN_BY_SPARK), *gx(LEGAL_EXPECTATIONS)) == []


def test_query_that_reads_more_than_the_batch_is_refused_with_its_place() -> None:
    refused = SEEN_AT_LOAD + VARIABLES
    found = problems(*sql(refused))

    assert [text.split(": ")[1] for text in found] == [f"rules[{number}].query" for number in range(len(refused))]
    assert [text for text in found if not any(why in text for why in WHY)] == []


@pytest.mark.parametrize("rule", gx(REFUSED_EXPECTATIONS), ids=lambda rule: json.dumps(rule["kwargs"])[:80])
def test_expectation_that_carries_more_than_data_is_refused_with_its_place(rule: dict[str, Any]) -> None:
    (found,) = problems({"check": "not_null", "column": "c"}, rule)

    assert found.startswith("r.yaml:1: rules[1].kwargs: ")


def test_every_expectation_and_argument_of_great_expectations_is_judged() -> None:
    load_library()
    from great_expectations.expectations import registry  # noqa: PLC0415 - takes seconds

    known = registry.list_registered_expectation_implementations()
    fields = {name for kind in set(known) & EXPECTATIONS for name in registry.get_expectation_impl(kind).__fields__}

    assert set(known) == EXPECTATIONS | OTHER_TABLES
    assert fields - {"library_metadata"} == ARGUMENTS | NOT_FOR_RULES


def test_expectation_or_argument_that_nobody_judged_is_refused_with_the_legal_ones() -> None:
    assert "legal: expect_column_distinct_values_to_be_in_set, " in (find_reach_fault("expect_new", {}) or "")
    assert "legal: allow_relative_error, " in (find_reach_fault("expect_column_to_exist", {"windows": []}) or "")
    assert find_reach_fault("expect_column_to_exist", {"column": "c"}) is None


@pytest.mark.parametrize("query", ["SELECT map(id) FROM {batch}", f"SELECT {'int(' * 60}id{')' * 60} FROM {{batch}}"])
def test_query_on_which_the_reader_of_text_stumbles_is_left_to_spark(query: str) -> None:
    assert require_batch(query) == query
