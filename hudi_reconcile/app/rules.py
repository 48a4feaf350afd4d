"""Rules for `check`, `run` and `rules lint`: reads the files that the config names, opens the engine, judges each table.

`rules lint` needs no database, no lake and no Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hudi_reconcile.app.host import HostClock
from hudi_reconcile.app.jobs import build_job, describe_settings, describe_sides
from hudi_reconcile.app.run import Call, Finished, perform
from hudi_reconcile.app.table_work import TableRun, describe_part_failure
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.rules_load import FIX, load_rules
from hudi_reconcile.config.rules_model import is_judged
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ConfigError, ReconcileError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult, build_table_document
from hudi_reconcile.core.result_queries import find_open_drift, list_changed_settings, select_after_apply
from hudi_reconcile.core.rules.rules import Gx, Rule, RuleSet, Severity, find_day
from hudi_reconcile.core.rules.verdict import can_hold, doubt, report_unrun_rules, select_quarantine_rules
from hudi_reconcile.evidence.history import Comparison, find_newest_comparison
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.ports import Quarantine
from hudi_reconcile.report.words.verdict import list_reasons
from hudi_reconcile.rules.quarantine import SparkQuarantine
from hudi_reconcile.spark.evidence_files import choose_files
from hudi_reconcile.stages.check import NewestComparison, RuleJob, add_rules, check
from hudi_reconcile.stages.job import LandedError


def select_ruled_tables(call: Call, named: tuple[str, ...]) -> Call:
    """The call on the tables that have rules, with the names of those left out. `named` are those of `-t`, without patterns.

    Raises UsageError where a named table has none, or no table has.
    """
    without = tuple(table.name for table in call.tables if table.rules is None)
    if not set(named).isdisjoint(without) or len(without) == len(call.tables):
        raise UsageError(
            f"no rules for {', '.join(without)}: nothing would be checked",
            fix=f"name a rules file in the config: tables[{without[0]}].rules: rules/{without[0]}.yaml",
        )
    tables = tuple(table for table in call.tables if table.rules is not None)
    return replace(call, tables=tables, without_rules=without)


def run_check(call: Call, fail_on: Severity) -> Finished:
    """Judge the rules of every table of the call; nothing but the run's folder is written.

    A source that does not answer is an error of the rules that ask it, and of no other.
    """
    sets = load_rule_sets(call.tables)
    return perform(
        "check", call, lambda table_run: _check(table_run, sets[table_run.table.name], fail_on), asks_source=False
    )


def describe_unjudged(table_run: TableRun, rules: RuleSet, error: ReconcileError) -> TableResult:
    """A named error came before the table's rules were judged: each of them says so."""
    unrun = report_unrun_rules(rules, error.message, error.fix)
    return replace(describe_part_failure(table_run, error), rules=unrun)


def _check(table_run: TableRun, rules: RuleSet, fail_on: Severity) -> TableResult:
    try:
        return _judge_rules(
            table_run, rules, fail_on, read_newest_comparison(table_run.store, table_run.table, table_run.source_at)
        )
    except ReconcileError as error:
        return describe_unjudged(table_run, rules, error)


def check_after(table_run: TableRun, result: TableResult, rules: RuleSet, fail_on: Severity) -> TableResult:
    """The result of a run's other work with its rules judged on what that work left.

    Raises LandedError, with all that the work did, where the rules end in an error that nobody foresaw.
    """
    try:
        table_run.limit.refuse()
        own = read_comparison(table_run.folder.run_id, build_table_document(result))
        return add_rules(result, _judge_rules(table_run, rules, fail_on, own))
    except ReconcileError as error:
        failed = describe_unjudged(table_run, rules, error)
        return replace(add_rules(result, failed), error=result.error or failed.error)
    except Exception as error:
        known = report_unrun_rules(rules, f"unexpected {type(error).__name__}", "see the traceback on stderr")
        raise LandedError(replace(result, outcome=Outcome.UNVERIFIED, rules=known), error) from error


def open_quarantine(table_run: TableRun, rules: RuleSet) -> Quarantine | None:
    """What holds corrections of the table back; None where no rule does."""
    today = find_day(table_run.edges.clock.utc_micros())
    chosen = select_quarantine_rules(rules, today, every=table_run.table.policy.quarantine)
    if not chosen:
        return None
    return SparkQuarantine(
        chosen,
        table_run.folder.build_held_path(table_run.table.name),
        choose_files(table_run.session),
        table_run.session.alone,
    )


def read_comparison(run_id: str, table: Mapping[str, Any]) -> NewestComparison:
    """What a comparison says that a drift rule may rely on. What was corrected since and verified is no drift any more."""
    if table["source"] is None or table["lake"] is None:
        return NewestComparison(run_id, gap=next((why for why, _ in list_reasons(table)), "the table was not compared"))
    gap = next((f"{entry['what']} {entry['name']}: {entry['why']}" for entry in table["unverified"]), "")
    return NewestComparison(run_id, find_open_drift(table), max(table["source"]["rows"], table["lake"]["rows"]), gap)


def read_newest_comparison(store: Store, table: TableConfig, source_at: str) -> NewestComparison | None:
    """What the table's newest comparison says; a gap where it was of something else, or the table is another one since."""
    try:
        comparison = find_newest_comparison(store, table.name)
    except ReconcileError as error:
        return NewestComparison("?", gap=error.message)
    if comparison is None:
        return None
    now = {"provenance": describe_sides(table, source_at), "compare": asdict(describe_settings(table))}
    other = list_changed_settings(comparison.table, now)
    gap = f"it compared {' and '.join(other)}" if other else comparison.since
    compared = replace(_follow_apply(comparison), compared_utc=comparison.compared_utc)
    return replace(compared, gap=gap) if gap else compared


def _follow_apply(comparison: Comparison) -> NewestComparison:
    """What a comparison, and the apply of its plan, say."""
    before = read_comparison(comparison.run_id, comparison.table)
    if comparison.applied is None:
        return before
    run_id, applied = comparison.applied
    later = read_comparison(comparison.run_id, select_after_apply(comparison.table, applied))
    return before if later.findings == before.findings else replace(later, corrected_by=run_id)


def _judge_rules(
    table_run: TableRun, rules: RuleSet, fail_on: Severity, compared: NewestComparison | None
) -> TableResult:
    from hudi_reconcile.rules.engine import SparkRules  # noqa: PLC0415 - keeps Great Expectations out of runs without rules

    name = table_run.table.name
    job = RuleJob(build_job(table_run.table, table_run.folder.run_id), rules, fail_on)
    return check(
        job,
        table_run.edges,
        SparkRules(choose_files(table_run.session), table_run.session.alone),
        compared=compared,
        keys_folder=lambda rule: table_run.folder.rule_keys(name, rule),
    )


RuleSets = Mapping[str, RuleSet]


def load_rule_sets(tables: tuple[TableConfig, ...]) -> RuleSets:
    """The rules of the tables that have a file. Raises ConfigError with the problems of all files at once."""
    rule_sets: dict[str, RuleSet] = {}
    errors: list[ConfigError] = []
    for table in tables:
        if table.rules is not None:
            try:
                rules = load_rules(table.rules, shown=shorten_path(table.rules), table=table.name)
                rule_sets[table.name] = require_holding_rule(table, rules)
            except ConfigError as error:
                errors.append(error)
    refuse_all(errors)
    return rule_sets


def refuse_all(errors: Sequence[ConfigError]) -> None:
    """Raises ConfigError with the problems of all files, where there are any."""
    if errors:
        problems = tuple(problem for error in errors for problem in error.problems)
        raise ConfigError(problems, fix=FIX, more=sum(error.more for error in errors))


def require_holding_rule(table: TableConfig, rules: RuleSet) -> RuleSet:
    """The rules. Raises ConfigError where `policy.quarantine` goes by them and none of them can hold a correction back."""
    if table.policy.quarantine and not any(map(can_hold, rules.rules)):
        why = "has no not_null, between, in_set or matches of severity error: `policy.quarantine` holds nothing back"
        raise ConfigError((f"{rules.file}:1: {why}",), fix="add such a rule, or remove `quarantine` from the policy")
    return rules


def shorten_path(path: Path) -> str:
    """The path as people in the working folder would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


@dataclass(frozen=True, slots=True)
class Linted:
    """A rules file that is right, and what its author may have overlooked."""

    file: str
    table: str
    rules: int
    waivers: int
    notes: tuple[str, ...]

    @property
    def told(self) -> str:
        """What is in it, in words."""
        waivers = f", {self.waivers} waiver{'s' * (self.waivers != 1)}" if self.waivers else ""
        return f"table {self.table}, {self.rules} rule{'s' * (self.rules != 1)}{waivers}"

    @property
    def document(self) -> dict[str, object]:
        """The same for scripts."""
        return {
            "file": self.file, "table": self.table, "rules": self.rules, "waivers": self.waivers, "notes": list(self.notes)
        }  # fmt: skip


def lint_files(files: tuple[Path, ...], config: Config | None) -> tuple[Linted, ...]:
    """What the files hold; those of the config where none are named.

    Raises:
        ConfigError: anything is wrong with any of them; all problems at once.
        UsageError: the config names no rules file.
    """
    named: list[tuple[Path, TableConfig | None]] = [(path, None) for path in files]
    if config is not None:
        named = [(table.rules, table) for table in config.tables if table.rules is not None]
    if not named:
        raise UsageError("the config names no rules file", fix="name one: hudi-reconcile rules lint FILE")
    rule_files: list[Linted] = []
    errors: list[ConfigError] = []
    for path, table in named:
        try:
            rule_files.append(_lint_rules(_load_rules(path, table)))
        except ConfigError as error:
            errors.append(error)
    refuse_all(errors)
    return tuple(rule_files)


def _load_rules(path: Path, table: TableConfig | None) -> RuleSet:
    if table is None:
        return load_rules(path, shown=shorten_path(path), table=None, doubt=_doubt)
    return require_holding_rule(table, load_rules(path, shown=shorten_path(path), table=table.name, doubt=_doubt))


def _lint_rules(rules: RuleSet) -> Linted:
    today = find_day(HostClock().utc_micros())
    unread = [rule.id for rule in rules.rules if not is_judged(rule.check)]
    expired = [waiver for waiver in rules.waivers if not waiver.holds(today)]
    notes = (
        *(
            f"the query of {name} was not judged: only Spark can read it, and does so before `check` runs it"
            for name in unread
        ),
        *(f"the waiver of {waiver.rule} expired on {waiver.expires}: it waives nothing" for waiver in expired),
    )
    return Linted(rules.file, rules.table, len(rules.rules), len(rules.waivers), notes)


def _doubt(rule: Rule) -> str | None:
    """Types and arguments of Great Expectations are known to itself only; it is loaded for them alone."""
    if not isinstance(rule.check, Gx):
        return doubt(rule.check)
    from hudi_reconcile.rules.expectations import UnknownExpectationError, expectation  # noqa: PLC0415 - takes seconds to load

    try:
        expectation(rule.id, rule.check.type, rule.check.kwargs)
    except UnknownExpectationError as error:
        return str(error)
    return doubt(rule.check)
