"""What other tools read of a run, held against readers that are not ours."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import ValidationError
from junitparser import JUnitXml
from markdown_it.main import MarkdownIt
from prometheus_client.parser import text_fd_to_metric_families
from xmlschema import XMLSchema, XMLSchemaValidationError

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections, Failure, Pulled, SideState
from hudi_reconcile.core.rules.rules import Severity
from hudi_reconcile.core.rules.verdict import RuleResult, judge_outcome
from hudi_reconcile.report.outputs.github import render_summary, render_workflow_commands
from hudi_reconcile.report.outputs.junit import render_junit
from hudi_reconcile.report.outputs.openlineage import Dataset, Ends, render_openlineage
from hudi_reconcile.report.outputs.prometheus import MetricsFile, name_metrics, render_prometheus
from hudi_reconcile.report.safe import spell_hidden
from hudi_reconcile.report.words.rules import order_rules
from tests.support.docs import ROOT
from tests.support.lineage_schemas import hold_event
from tests.unit.report.stories import ORDERS, RULES, all_stories, run_of

Document = Mapping[str, Any]
RUNS = {name: story.run for name, story in all_stories().items()}
GOOD = {"clean", "corrected", "pulled"}
METRICS = MetricsFile("/srv/shop/reconcile.yaml")
CONFIG = ("config", METRICS.config)
PULLED = Pulled(rows=1234, mode="full", checkpoint_before=None, checkpoint_after=None, instant=None)
SEVERITIES: tuple[Severity, ...] = ("warn", "error")
letters = st.characters() | st.sampled_from('"\\\n\r|*_`<>[](){}#%:,&~')
names = st.text(letters, min_size=1, max_size=12)
rules = st.builds(
    RuleResult,
    names,
    st.sampled_from(["warn", "error"]),
    st.sampled_from(["pass", "fail", "waived", "error"]),
    st.integers(0, 10**6),
    st.sampled_from(["not_null", "sql", "total"]),
    st.text(letters, max_size=20),
    why=st.text(letters, max_size=20),
    fix=st.text(letters, max_size=20),
)


@st.composite
def runs(draw: st.DrawFn) -> Document:
    """Checks of a table whose name and rules hold anything."""
    found, fail_on = tuple(draw(st.lists(rules, max_size=4))), draw(st.sampled_from(SEVERITIES))
    error = draw(st.none() | st.just(Failure("LakeError", "gone", "pull it")))
    table = TableResult(
        draw(names),
        Outcome.UNVERIFIED if error else judge_outcome(found, fail_on),
        lake=SideState(5, "l"),
        rules=found,
        error=error,
        provenance={"rules": "rules/t.yaml", "fail_on": fail_on},
    )
    return run_of("check", table)


JUNIT = XMLSchema(ROOT / "tests" / "support" / "junit" / "junit-10.xsd")


def suites(run: Document) -> list[Any]:
    """As one reader sees them, of a text that the schema of another takes."""
    JUNIT.validate(render_junit(run))
    return list(JUnitXml.fromstring(render_junit(run).encode()))


@pytest.mark.parametrize("name", sorted(RUNS))
def test_junit_suite_fails_exactly_where_the_tables_outcome_is_not_good(name: str) -> None:
    for suite, table in zip(suites(RUNS[name]), RUNS[name]["tables"], strict=True):
        assert (suite.failures + suite.errors > 0) is (table["outcome"] not in GOOD), table


@given(runs())
def test_junit_of_any_check_fails_exactly_where_its_outcome_is_not_good_and_counts_its_cases(run: Document) -> None:
    (suite,) = suites(run)

    cases = list(suite)
    ended = [type(result).__name__ for case in cases for result in case.result]
    assert (suite.failures + suite.errors > 0) is (run["outcome"] not in GOOD)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
        len(run["tables"][0]["rules"]) + 1, ended.count("Failure"), ended.count("Error"), ended.count("Skipped"),
    )  # fmt: skip


def test_junit_names_each_rule_with_what_to_know_of_it() -> None:
    (suite,) = suites(RUNS["checked"])

    told = {case.name: [(type(one).__name__, one.message) for one in case.result] for case in suite}
    assert told["r-fail: email matches <script>.*@"] == [("Failure", "1200 failed rows")]
    assert told["r-warn: amount is at most 100"] == [("Skipped", "warning: 3 failed rows")]
    assert told["r-error: the query returns no row"] == [("Error", "could not run")]
    assert told["r-waived: email is unique"] == [("Skipped", "waived: 2 failed rows")]
    assert told["r-pass: customer_id is not null"] == []


def test_junit_schema_refuses_a_suite_without_its_counts() -> None:
    with pytest.raises(XMLSchemaValidationError, match="missing required attribute"):
        JUNIT.validate(re.sub(r' failures="\d+"', "", render_junit(RUNS["checked"])))


def test_night_that_corrected_all_fails_in_junit_and_annotations_by_its_rule_alone() -> None:
    corrected = replace(ORDERS, corrections=Corrections(6, 3, 9), verified_at="20261121133002417", rules=RULES[1:2])
    run = run_of("run", replace(corrected, provenance={"rules": "rules/t.yaml", "fail_on": "error"}))

    (suite,) = suites(run)

    assert (suite.failures, suite.errors, next(case.result for case in suite)) == (1, 0, [])
    assert [line.split(" ")[0] for line in render_workflow_commands(run)] == ["::error", "::notice"]


def test_summary_shows_no_zero_failed_rows_of_a_rule_that_could_not_run() -> None:
    rows = [line.replace("\\", "").split(" | ") for line in render_summary(all_stories()["checked"].run).splitlines()]

    assert {row[1]: row[3] for row in rows if row[1:] and row[1].startswith("r-")} == {
        "r-error": "–",  # noqa: RUF001
        "r-fail": "1200",
        "r-warn": "3",
        "r-waived": "2",
        "r-pass": "0",
    }


def test_summary_shows_no_zero_of_drift_for_a_table_of_which_nothing_was_compared() -> None:
    lost = Failure("LakeError", "gone", "pull it")
    tables = [
        ("check", TableResult("t", Outcome.CLEAN, lake=SideState(5, "l"), rules=RULES[:1])),
        ("sweep", TableResult("t", Outcome.UNVERIFIED, error=lost)),
        ("sweep", TableResult("t", Outcome.CLEAN, SideState(5, "s"), SideState(5, "l"))),
    ]

    assert [table_cells(render_summary(run_of(command, table)))[1][2] for command, table in tables] == ["–", "–", "0"]  # noqa: RUF001


def samples(run: Document, file: MetricsFile = METRICS) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_fd_to_metric_families(io.StringIO(render_prometheus(run, file)))
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


@given(runs())
def test_prometheus_reads_any_run_and_no_series_is_there_twice(run: Document) -> None:
    table = run["tables"][0]

    found = samples(run)

    seconds = {labels for name, labels in found if name == "hudi_reconcile_table_seconds"}
    assert seconds == {(("command", "check"), CONFIG, ("table", table["name"]))}
    assert len(found) == len(
        [line for line in render_prometheus(run, METRICS).split("\n") if line and not line.startswith("#")]
    )
    key = (
        "hudi_reconcile_table_outcome",
        (("command", "check"), CONFIG, ("outcome", table["outcome"]), ("table", table["name"])),
    )
    assert found[key] == 1
    told = {labels: value for (name, labels), value in found.items() if name == "hudi_reconcile_rules"}
    assert sum(told.values()) == len(table["rules"])


def test_prometheus_tells_findings_rows_and_exit_code() -> None:
    found = samples(RUNS["drift"])
    labels = {"command": "sweep", "table": "orders", "config": METRICS.config}

    def value(name: str, **more: str) -> float:
        return found[f"hudi_reconcile_{name}", tuple(sorted({**labels, **more}.items()))]

    assert value("findings", kind="updated_without_watermark") == 5
    assert value("rows", side="lake") == RUNS["drift"]["tables"][0]["lake"]["rows"]
    assert found["hudi_reconcile_run_exit_code", (("command", "sweep"), CONFIG)] == 1


def test_prometheus_tells_when_a_run_began_how_long_it_took_and_what_it_did() -> None:
    table = replace(ORDERS, corrections=Corrections(6, 3, 9), pull=PULLED, outcome=Outcome.CORRECTED)
    found = samples(run_of("run", table))
    labels = (("command", "run"), CONFIG)

    assert found["hudi_reconcile_run_start_timestamp_seconds", labels] == 1795267576
    assert found["hudi_reconcile_run_duration_seconds", labels] == 15
    assert found["hudi_reconcile_pulled_rows", (*labels, ("table", "orders"))] == 1234
    assert found["hudi_reconcile_corrections_applied", (*labels, ("table", "orders"))] == 9


@pytest.mark.parametrize(
    ("checkpoint", "seconds"),
    [
        ("1970-01-02T00:00:00.500000Z", 86400.5),
        ("1970-01-02T00:00:00.000000Z, 17", 86400),
        ("1970-01-02T00:00:00.000000", 82800),
        ("1970-01-02", 82800),
        ("20260101", None),
        ("17", None),
        ("0000-00-00", None),
        (None, None),
    ],
)
def test_newest_row_is_a_time_where_the_checkpoint_is_one(checkpoint: str | None, seconds: float | None) -> None:
    run = run_of("pull", TableResult("t", Outcome.PULLED, checkpoint=checkpoint))

    found = samples(run, MetricsFile(METRICS.config, "Europe/Vienna"))

    key = ("hudi_reconcile_newest_row_timestamp_seconds", (("command", "pull"), CONFIG, ("table", "t")))
    assert found.get(key) == seconds


def clean_times(text: str) -> dict[str, float]:
    """When each table was last found equal, by the file."""
    families = text_fd_to_metric_families(io.StringIO(text))
    found = [one for family in families for one in family.samples if one.name.endswith("_clean_timestamp_seconds")]
    return {one.labels["table"]: one.value for one in found}


def test_time_of_the_last_clean_verdict_outlives_runs_that_gave_none() -> None:
    ended = 1795267591
    clean, other = TableResult("t", Outcome.CLEAN, whole=True), TableResult("u", Outcome.CORRECTED, whole=True)
    first = render_prometheus(run_of("sweep", clean, other), METRICS)
    drift, part = replace(clean, outcome=Outcome.DRIFT), replace(other, whole=False)
    second = render_prometheus(run_of("sweep", drift, part), replace(METRICS, before=first))
    third = render_prometheus(run_of("sweep", TableResult("v", Outcome.UNVERIFIED)), replace(METRICS, before=second))

    assert clean_times(first) == clean_times(second) == clean_times(third) == {"t": ended, "u": ended}
    assert clean_times(render_prometheus(run_of("sweep", drift, part), METRICS)) == {}
    of_its_turn = replace(clean, provenance={"begun_utc": "2026-11-21T04:00:00Z"})
    assert clean_times(render_prometheus(run_of("sweep", of_its_turn), METRICS)) == {"t": 1795233600}


def test_what_else_the_file_held_before_is_not_taken_over() -> None:
    before = "hudi_reconcile_clean_timestamp_seconds{a} 1 2\n# evil\nhudi_reconcile_run_exit_code{} 0\n"

    assert samples(RUNS["drift"], replace(METRICS, before=before)) == samples(RUNS["drift"])


def test_files_of_two_configs_and_of_two_commands_have_names_of_their_own() -> None:
    configs = ("/a/shop/reconcile.yaml", "/b/shop/reconcile.yaml", "/b/shop/reconcile.yml", "/reconcile.yaml", "/")
    names = [name_metrics(command, config) for command in ("run", "sweep", "state set") for config in configs]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"hudi_reconcile_[\w-]+\.prom", name) for name in names)
    assert len(name_metrics("run", f"/{'x' * 300}/{'y' * 300}.yaml")) < 255


def shown(text: str) -> str:
    return " ".join(spell_hidden(text.replace("\n", " ")).split())


def table_cells(markdown: str) -> list[list[str]]:
    """The cells of all tables as a Markdown reader shows them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            children = token.children or []
            assert {child.type for child in children} <= {"text", "softbreak", "text_special"}
            rows[-1].append("".join(child.content for child in children))
    return rows


@given(runs())
def test_summary_of_any_run_is_tables_of_plain_text_with_a_row_for_each_rule(run: Document) -> None:
    rows = table_cells(render_summary(run))

    (table,) = run["tables"]
    assert len(rows) == 2 + (1 + len(table["rules"]) if table["rules"] else 0)
    assert {len(row) for row in rows} <= {4, 5}
    assert rows[1][1] == table["outcome"]
    assert [row[1] for row in rows[3:]] == [shown(rule["id"]) for rule in order_rules(table)]


COMMAND = re.compile(r"::(error|warning|notice) ([^\n]*?)::([^\n]*)")


@given(runs())
def test_annotations_of_any_run_are_one_line_each_and_name_the_rules_file(run: Document) -> None:
    found = [COMMAND.fullmatch(line) for line in render_workflow_commands(run)]

    assert None not in found
    rules_found = [one for one in run["tables"][0]["rules"] if one["status"] != "pass"]
    levels = [one[1] for one in found if one is not None and "file=rules/t.yaml" in one[2]]
    expected = {"error": "error", "waived": "notice"}
    assert sorted(levels) == sorted(
        expected.get(one["status"], "warning" if one["severity"] == "warn" else "error") for one in rules_found
    )


def events_of(run: Document) -> list[dict[str, Any]]:
    ends = {one["name"]: Ends(Dataset("postgres://h:5432", "d.t"), Dataset("file", "/lake/t")) for one in run["tables"]}
    return [json.loads(line) for line in render_openlineage(run, "shop", ends).splitlines()]


def hold_events_against_their_schemas(run: Document) -> None:
    for event in events_of(run):
        hold_event(event)


@settings(max_examples=5)
@given(runs())
def test_lineage_of_a_table_whose_name_is_no_unicode_is_valid(run: Document) -> None:
    run["tables"][0]["name"] = "\ud800"

    hold_events_against_their_schemas(run)


@given(runs())
def test_lineage_of_any_check_is_valid_and_tells_each_rule(run: Document) -> None:
    hold_events_against_their_schemas(run)

    (start, end) = events_of(run)
    (table,) = run["tables"]
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL" if run["exit_code"] == 3 else "COMPLETE")
    (lake,) = end["inputs"]
    told = [one for facet in lake["inputFacets"].values() for one in facet["assertions"]]
    assert [(one["name"], one["success"]) for one in told] == [
        (rule["id"], rule["status"] in ("pass", "waived")) for rule in table["rules"]
    ]


@pytest.mark.parametrize("name", sorted(RUNS))
def test_lineage_of_every_ending_is_valid(name: str) -> None:
    hold_events_against_their_schemas(RUNS[name])


def test_schema_refuses_an_event_without_a_job() -> None:
    event = {key: value for key, value in events_of(RUNS["checked"])[0].items() if key != "job"}

    with pytest.raises(ValidationError):
        hold_event(event)


def test_prometheus_labels_keep_quotes_backslashes_and_line_ends() -> None:
    name = 'a"b\\c\nd'

    text = render_prometheus(run_of("check", TableResult(name, Outcome.CLEAN)), METRICS)

    assert 'table="a\\"b\\\\c\\nd"' in text
    assert ("hudi_reconcile_table_seconds", (("command", "check"), CONFIG, ("table", name))) in samples(
        run_of("check", TableResult(name, Outcome.CLEAN))
    )
