"""What `check` does, and the rules inside `run`: reads the rules files, opens the engine, judges each table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hudi_reconcile.app.jobs import job_of, sides_of
from hudi_reconcile.app.rule_files import rule_sets
from hudi_reconcile.app.run import Call, Finished, TableRun, failure_result, perform
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ReconcileError, UsageError
from hudi_reconcile.core.open_drift import after_apply, open_drift
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult, table_document
from hudi_reconcile.core.rule_verdict import not_run, quarantining
from hudi_reconcile.core.rules import RuleSet, Severity, day_of
from hudi_reconcile.evidence.compared import Comparison, newest_compared
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.ports import Quarantine
from hudi_reconcile.report.wording import reasons
from hudi_reconcile.rules.quarantine import SparkQuarantine
from hudi_reconcile.stages.apply_result import LandedError
from hudi_reconcile.stages.check import RuleJob, check, with_rules
from hudi_reconcile.stages.own_checks import Compared


def with_rules_only(call: Call, named: tuple[str, ...]) -> tuple[Call, tuple[str, ...]]:
    """The call on the tables that have rules, and the names of those left out.

    Raises UsageError where a table of `-t` has none, or no table has.
    """
    without = tuple(table.name for table in call.tables if table.rules is None)
    if (named and without) or len(without) == len(call.tables):
        raise UsageError(
            f"no rules for {', '.join(without)}: nothing would be checked",
            fix=f"name a rules file in the config: tables[{without[0]}].rules: rules/{without[0]}.yaml",
        )
    return replace(call, tables=tuple(table for table in call.tables if table.rules is not None)), without


def run_check(call: Call, fail_on: Severity) -> Finished:
    """Judge the rules of every table of the call; nothing but the run's folder is written.

    A source that does not answer is an error of the rules that ask it, and of no other.
    """
    sets = rule_sets(call.tables)
    return perform("check", call, lambda one: _check(one, sets[one.table.name], fail_on), asks_source=False)


def _check(one: TableRun, rules: RuleSet, fail_on: Severity) -> TableResult:
    try:
        return _judged(one, rules, fail_on, newest(one.store, one.table))
    except ReconcileError as error:
        return replace(failure_result(one.table.name, error), rules=not_run(rules, error.message, error.fix))


def check_after(one: TableRun, result: TableResult, rules: RuleSet, fail_on: Severity) -> TableResult:
    """The result of a run's other work with its rules judged on what that work left.

    Raises LandedError, with all that the work did, where the rules end in an error that nobody foresaw.
    """
    try:
        own = compared_of(one.folder.run_id, table_document(result))
        return with_rules(result, _judged(one, rules, fail_on, own))
    except ReconcileError as error:
        failed = replace(failure_result(one.table.name, error), rules=not_run(rules, error.message, error.fix))
        return replace(with_rules(result, failed), error=result.error or failed.error)
    except Exception as error:
        known = not_run(rules, f"unexpected {type(error).__name__}", "see the traceback on stderr")
        raise LandedError(replace(result, outcome=Outcome.UNVERIFIED, rules=known), error) from error


def quarantine_of(one: TableRun, rules: RuleSet) -> Quarantine | None:
    """What holds corrections of the table back; None where no rule does."""
    today = day_of(one.edges.clock.utc_micros())
    chosen = quarantining(rules, today, every=one.table.policy.quarantine)
    return SparkQuarantine(chosen, one.folder.held(one.table.name)) if chosen else None


def compared_of(run_id: str, table: Mapping[str, Any]) -> Compared:
    """What a comparison says that a drift rule may rely on. What was corrected since and verified is no drift any more."""
    if table["source"] is None or table["lake"] is None:
        return Compared(run_id, gap=next((why for why, _ in reasons(table)), "the table was not compared"))
    gap = next((f"{one['what']} {one['name']}: {one['why']}" for one in table["unverified"]), "")
    return Compared(run_id, open_drift(table), max(table["source"]["rows"], table["lake"]["rows"]), gap)


def newest(store: Store, table: TableConfig) -> Compared | None:
    """What the table's newest comparison says; a gap where it was of something else, or the table is another one since."""
    try:
        found = newest_compared(store, table.name)
    except ReconcileError as error:
        return Compared("?", gap=error.message)
    if found is None:
        return None
    said = found.table.get("provenance", {})
    other = [f"{said[name]} (now {now})" for name, now in sides_of(table).items() if said.get(name, now) != now]
    gap = f"it compared {' and '.join(other)}" if other else found.since
    compared = replace(_corrected_since(found), ended_utc=found.ended_utc)
    return replace(compared, gap=gap) if gap else compared


def _corrected_since(found: Comparison) -> Compared:
    """What a comparison, and the apply of its plan, say."""
    before = compared_of(found.run_id, found.table)
    if found.applied is None:
        return before
    run_id, applied = found.applied
    left = compared_of(found.run_id, after_apply(found.table, applied))
    return before if left.findings == before.findings else replace(left, corrected_by=run_id)


def _judged(one: TableRun, rules: RuleSet, fail_on: Severity, compared: Compared | None) -> TableResult:
    from hudi_reconcile.rules.engine import SparkRules  # noqa: PLC0415 - keeps Great Expectations out of runs without rules

    name = one.table.name
    job = RuleJob(job_of(one.table, one.folder.run_id), rules, fail_on)
    return check(
        job, one.edges, SparkRules(), compared=compared, keys_folder=lambda rule: one.folder.rule_keys(name, rule)
    )
