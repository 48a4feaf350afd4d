"""The rules of one table: pin the lake, count on the pinned rows, ask source and checkpoint, judge. Never writes the lake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import LakeError, ReconcileError
from hudi_reconcile.core.outcome import gravest
from hudi_reconcile.core.result import SideState, TableResult
from hudi_reconcile.core.rule_verdict import Measured, RuleResult, judged, outcome_of
from hudi_reconcile.core.rules import ON_ONE_ROW, Drift, Freshness, Gx, OnBatch, Rule, RuleSet, Severity, Total, day_of
from hudi_reconcile.core.values import LakePin, LakeTable
from hudi_reconcile.ports import Edges, Frame, KeysTarget, RuleEngine
from hudi_reconcile.stages import own_checks
from hudi_reconcile.stages.lake_state import existing
from hudi_reconcile.stages.own_checks import Compared, Summed
from hudi_reconcile.stages.request import TableJob

_PULL = "pull it first: hudi-reconcile pull -t "
_COLUMN_WORDS = ("column", "column_A", "column_B", "column_list", "column_set")
# Where the keys of a rule's failed rows go: the folder to make, and what the result calls it.
KeysFolder = Callable[[str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RuleJob:
    """What is to be checked on a table."""

    job: TableJob
    rules: RuleSet
    fail_on: Severity = "error"


@dataclass(frozen=True, slots=True)
class Ground:
    """What the rules stand on: the pinned rows, and what else the checks ask."""

    table: LakeTable
    pin: LakePin
    rows: Frame
    compared: Compared | None
    keys_folder: KeysFolder


def check(
    job: RuleJob, edges: Edges, engine: RuleEngine, *, compared: Compared | None, keys_folder: KeysFolder
) -> TableResult:
    """Judge every rule of the table on its newest snapshot.

    Raises LakeError where there is no table, or nothing was ever committed to it.
    """
    table = existing(job.job, edges.lake.look())
    pin = edges.lake.pin()
    if pin is None:
        raise LakeError(
            f"table {job.job.name}: nothing was ever committed to {job.job.lake_path}", fix=_PULL + job.job.name
        )
    ground = Ground(table, pin, edges.lake.rows(pin), compared, keys_folder)
    counted = _counted(job, edges, engine, ground)
    rows = edges.lake.count(pin)
    today = day_of(edges.clock.utc_micros())
    results = tuple(
        judged(rule, counted[rule.id], job.rules.waivers, today, hidden=_is_masked(rule.check, job.job))
        for rule in job.rules.rules
    )
    results = tuple(_named(one, rule, engine, ground) for one, rule in zip(results, job.rules.rules, strict=True))
    if not edges.lake.still(pin):
        results = tuple(_shifted(one, rule) for one, rule in zip(results, job.rules.rules, strict=True))
    checkpoint = edges.lake.checkpoint()
    return TableResult(
        name=job.job.name,
        outcome=outcome_of(results, job.fail_on),
        lake=SideState(rows, pin.instant.completed),
        checkpoint=None if checkpoint is None else checkpoint.checkpoint.text,
        rules=results,
        provenance={"rules": job.rules.file, "fail_on": job.fail_on},
    )


def with_rules(result: TableResult, checked: TableResult) -> TableResult:
    """The result of a run's other work with the verdicts of its rules."""
    return replace(
        result,
        outcome=gravest((result.outcome, checked.outcome)),
        rules=checked.rules,
        notes=tuple(dict.fromkeys((*result.notes, *checked.notes))),
        provenance={**result.provenance, **checked.provenance},
    )


# --- helpers ---


def _counted(job: RuleJob, edges: Edges, engine: RuleEngine, ground: Ground) -> Mapping[str, Measured]:
    on_batch = tuple(rule for rule in job.rules.rules if isinstance(rule.check, OnBatch))
    found = dict(engine.measured(ground.rows, on_batch)) if on_batch else {}
    for rule in on_batch:
        if rule.id in found and _may_quote(rule.check, job.job):
            found[rule.id] = replace(found[rule.id], detail="")
    for rule in job.rules.rules:
        if rule not in on_batch:
            try:
                found[rule.id] = _own(
                    rule, job, edges, Summed(edges.source, engine, ground.rows, job.job.masking), ground
                )
            except ReconcileError as error:  # one rule that cannot be asked hides no other
                found[rule.id] = Measured(problem=error.message, fix=error.fix)
    return found


def _may_quote(check: object, job: TableJob) -> bool:
    """True where what an expectation observed may be a masked column's value: a greatest salary is somebody's."""
    if not isinstance(check, Gx) or check.type.startswith("expect_table_"):
        return False
    said = [check.kwargs.get(name) for name in _COLUMN_WORDS]
    names = [one for given in said for one in (given if isinstance(given, list | tuple | set) else [given]) if one]
    return not names or any(_hides(job, str(one)) for one in names)


def _is_masked(check: object, job: TableJob) -> bool:
    """True for a check on single rows of a masked column: the values that it asks for may be those of rows."""
    return isinstance(check, ON_ONE_ROW) and _hides(job, check.column)


def _hides(job: TableJob, lake_name: str) -> bool:
    source = {lake: name for name, lake in job.rename.items()}
    return job.masking.how(source.get(lake_name, lake_name), lake_name) is not None


def _own(rule: Rule, job: RuleJob, edges: Edges, summed: Summed, ground: Ground) -> Measured:
    match rule.check:
        case Drift():
            return own_checks.drift(rule.check, ground.compared, edges.clock.utc_micros(), table=job.job.name)
        case Total():
            return own_checks.total(rule.check, summed)
        case Freshness():
            now = edges.clock.utc_micros()
            found = edges.lake.checkpoint()
            return own_checks.freshness(rule.check, found, now, source=edges.source, table=job.job.name)
        case _:
            raise AssertionError(rule.kind)


def _named(result: RuleResult, rule: Rule, engine: RuleEngine, ground: Ground) -> RuleResult:
    """The verdict with the keys of the failed rows; an error where they are not as many as were counted."""
    if result.status not in ("fail", "waived") or not result.failed_rows or not isinstance(rule.check, OnBatch):
        return result
    folder, path = ground.keys_folder(rule.id)
    target = KeysTarget(ground.table.record_key, folder, path, result.failed_rows)
    try:
        keys = engine.keys(ground.rows, rule, target)
    except ReconcileError as error:
        return _error(result, error.message, error.fix)
    if keys is None:
        return replace(result, notes=(*result.notes, f"its rows are counted, not named{_how(rule, ground)}"))
    if keys.rows != result.failed_rows:
        why = f"Great Expectations counts {result.failed_rows} failed rows, a filter of the same rule finds {keys.rows}"
        return _error(result, why, "check again; if it stays so, report it as a bug")
    return replace(result, keys=keys)


def _how(rule: Rule, ground: Ground) -> str:
    key = ", ".join(ground.table.record_key)
    return f": select the key ({key}) in its query" if rule.kind == "sql" and key else ""


def _error(result: RuleResult, why: str, fix: str) -> RuleResult:
    return replace(result, status="error", failed_rows=0, judged_rows=0, why=why, fix=fix, waiver=None)


def _shifted(result: RuleResult, rule: Rule) -> RuleResult:
    """Rows were counted on a snapshot that changed meanwhile: no verdict on them can be relied on."""
    if result.status == "error" or not isinstance(rule.check, OnBatch | Total):
        return result
    why = "a writer that was in flight when the snapshot was pinned has completed since"
    return replace(_error(result, why, "check again"), keys=None)
