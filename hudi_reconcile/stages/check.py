"""The rules of one table: pin the lake, count on the pinned rows, ask source and checkpoint, judge. Never writes the lake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import InvalidOperation

from hudi_reconcile.core.errors import LakeError, ReconcileError, UnverifiedError, suggest_name
from hudi_reconcile.core.outcome import find_gravest
from hudi_reconcile.core.plan.plan import CLOCK_SKEW_MICROS
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Cost, SideState
from hudi_reconcile.core.rules.rules import (
    ON_ONE_ROW,
    Drift,
    Freshness,
    Gx,
    OnBatch,
    Rule,
    RuleSet,
    Severity,
    Total,
    find_day,
    write_duration,
)
from hudi_reconcile.core.rules.verdict import BothTotals, Measured, RuleResult, Totals, doubt, judge_outcome, judge_rule
from hudi_reconcile.core.tables.kinds import TOLERANCE_KINDS, Column
from hudi_reconcile.core.tables.masking import AS_NAMED, Masking
from hudi_reconcile.core.tables.values import Checkpoint, CheckpointAt, LakePin, LakeTable, SourceTable
from hudi_reconcile.ports import Edges, Frame, KeysTarget, RuleEngine, Source
from hudi_reconcile.stages.job import ColumnSettings, TableJob
from hudi_reconcile.stages.preconditions import require_table
from hudi_reconcile.stages.stage_log import Laps

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
class RuleContext:
    """What the rules stand on: the pinned rows, and what else the checks ask."""

    table: LakeTable
    pin: LakePin
    rows: Frame
    compared: NewestComparison | None
    keys_folder: KeysFolder


def check(
    job: RuleJob, edges: Edges, engine: RuleEngine, *, compared: NewestComparison | None, keys_folder: KeysFolder
) -> TableResult:
    """Judge every rule of the table on its newest snapshot.

    Raises LakeError where there is no table, or nothing was ever committed to it.
    """
    table = require_table(job.job, edges.lake.look())
    pin = edges.lake.pin()
    if pin is None:
        raise LakeError(
            f"table {job.job.name}: nothing was ever committed to {job.job.lake.path}", fix=_PULL + job.job.name
        )
    context = RuleContext(table, pin, edges.lake.read_rows(pin), compared, keys_folder)
    laps = Laps(edges.clock, job.job.name, "rules")
    counted = _count_failures(job, edges, engine, context)
    rows = edges.lake.count_rows(pin)
    today = find_day(edges.clock.utc_micros())
    results = tuple(
        judge_rule(rule, counted[rule.id], job.rules.waivers, today, hidden=_is_masked(rule.check, job.job))
        for rule in job.rules.rules
    )
    results = tuple(
        _name_keys(result, rule, engine, context) for result, rule in zip(results, job.rules.rules, strict=True)
    )
    laps.end("rules")
    if not edges.lake.is_intact(pin):
        results = tuple(_doubt_result(result, rule) for result, rule in zip(results, job.rules.rules, strict=True))
    checkpoint = edges.lake.find_checkpoint()
    return TableResult(
        name=job.job.name,
        outcome=judge_outcome(results, job.fail_on),
        lake=SideState(rows, pin.instant.completed),
        checkpoint=None if checkpoint is None else checkpoint.checkpoint.text,
        rules=results,
        provenance={"rules": job.rules.file, "fail_on": job.fail_on},
        cost=Cost(phases_seconds=laps.seconds),
    )


def add_rules(result: TableResult, checked: TableResult) -> TableResult:
    """The result of a run's other work with the verdicts of its rules."""
    return replace(
        result,
        outcome=find_gravest((result.outcome, checked.outcome)),
        rules=checked.rules,
        notes=tuple(dict.fromkeys((*result.notes, *checked.notes))),
        provenance={**result.provenance, **checked.provenance},
        cost=result.cost + checked.cost,
    )


# --- helpers ---


def _count_failures(job: RuleJob, edges: Edges, engine: RuleEngine, context: RuleContext) -> Mapping[str, Measured]:
    # The library takes these, and some of them can only pass.
    doubts = {rule.id: why for rule in job.rules.rules if isinstance(rule.check, Gx) and (why := doubt(rule.check))}
    measurements = {
        name: Measured(problem=why, fix="correct the rule: hudi-reconcile rules lint") for name, why in doubts.items()
    }
    on_batch = tuple(rule for rule in job.rules.rules if isinstance(rule.check, OnBatch) and rule.id not in doubts)
    measurements |= dict(engine.measure(context.rows, on_batch)) if on_batch else {}
    for rule in on_batch:
        if rule.id in measurements and _may_quote(rule.check, job.job):
            measurements[rule.id] = replace(measurements[rule.id], detail="")
    for rule in job.rules.rules:
        if rule not in on_batch and rule.id not in doubts:
            try:
                measurements[rule.id] = _own(
                    rule, job, edges, Summed(edges.source, engine, context.rows, job.job.columns.masking), context
                )
            except ReconcileError as error:  # one rule that cannot be asked hides no other
                measurements[rule.id] = Measured(problem=error.message, fix=error.fix)
    return measurements


def _may_quote(check: object, job: TableJob) -> bool:
    """True where what an expectation observed may be a masked column's value: max(salary) reveals one person's."""
    if not isinstance(check, Gx) or check.type.startswith("expect_table_"):
        return False
    said = [check.kwargs.get(name) for name in _COLUMN_WORDS]
    names = [name for given in said for name in (given if isinstance(given, list | tuple | set) else [given]) if name]
    return not names or any(_hides(job.columns, str(name)) for name in names)


def _is_masked(check: object, job: TableJob) -> bool:
    """True for a check on single rows of a masked column: the values that it asks for may be those of rows."""
    return isinstance(check, ON_ONE_ROW) and _hides(job.columns, check.column)


def _hides(columns: ColumnSettings, lake_name: str) -> bool:
    source = {lake: name for name, lake in columns.rename.items()}
    return columns.masking.find_mask(source.get(lake_name, lake_name), lake_name) is not None


def _own(rule: Rule, job: RuleJob, edges: Edges, summed: Summed, context: RuleContext) -> Measured:
    match rule.check:
        case Drift():
            return measure_drift(rule.check, context.compared, edges.clock.utc_micros(), table=job.job.name)
        case Total():
            return measure_total(rule.check, summed)
        case Freshness():
            now = edges.clock.utc_micros()
            checkpoint = edges.lake.find_checkpoint()
            return measure_freshness(rule.check, checkpoint, now, source=edges.source, table=job.job.name)
        case _:
            raise AssertionError(rule.kind)


def _name_keys(result: RuleResult, rule: Rule, engine: RuleEngine, context: RuleContext) -> RuleResult:
    """The verdict with the keys of the failed rows; an error where they are not as many as were counted."""
    if result.status not in ("fail", "waived") or not result.failed_rows or not isinstance(rule.check, OnBatch):
        return result
    folder, path = context.keys_folder(rule.id)
    target = KeysTarget(context.table.record_key, folder, path, result.failed_rows)
    try:
        keys = engine.save_keys(context.rows, rule, target)
    except ReconcileError as error:
        return _error(result, error.message, error.fix)
    if keys is None:
        return replace(result, notes=(*result.notes, f"its rows are counted, not named{_advise_keys(rule, context)}"))
    if keys.rows != result.failed_rows:
        why = f"Great Expectations counts {result.failed_rows} failed rows, a filter of the same rule finds {keys.rows}"
        return _error(result, why, "check again; if this persists, report it as a bug")
    return replace(result, keys=keys)


def _advise_keys(rule: Rule, context: RuleContext) -> str:
    key = ", ".join(context.table.record_key)
    return f": select the key ({key}) in its query" if rule.kind == "sql" and key else ""


def _error(result: RuleResult, why: str, fix: str) -> RuleResult:
    return replace(result, status="error", failed_rows=0, judged_rows=0, why=why, fix=fix, waiver=None)


def _doubt_result(result: RuleResult, rule: Rule) -> RuleResult:
    """Rows were counted on a snapshot that changed meanwhile: no verdict on them can be relied on."""
    if result.status == "error" or not isinstance(rule.check, OnBatch | Total):
        return result
    why = "a writer that was in flight when the snapshot was pinned has completed since"
    return replace(_error(result, why, "check again"), keys=None)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SKEW = timedelta(microseconds=CLOCK_SKEW_MICROS)


@dataclass(frozen=True, slots=True)
class NewestComparison:
    """What the newest comparison of the table found. `gap` is why it cannot be relied on, empty where it can.

    `rows` is the size of the larger side. `compared_utc` is empty where the run is this one. `corrected_by` is
    the run of an apply of its plan, where `findings` are those which that left.
    """

    run_id: str
    findings: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0
    gap: str = ""
    compared_utc: str = ""
    corrected_by: str = ""


def measure_drift(check: Drift, compared: NewestComparison | None, now_micros: int, *, table: str) -> Measured:
    """Findings of the kinds in the newest comparison. None, none that is whole, or one too old is a problem and never 0."""
    fix = f"compare first: hudi-reconcile sweep -t {table}"
    if compared is None:
        return Measured(problem="there is no sweep of this table to look at", fix=fix)
    if compared.gap:
        return Measured(problem=f"run {compared.run_id} says nothing of the whole table: {compared.gap}", fix=fix)
    age = _measure_age(compared.compared_utc, now_micros)
    if age < -_SKEW:
        why = f"run {compared.run_id} ended {_age(-age)} ahead of this host's clock: how old it is cannot be known"
        return Measured(problem=why, fix=f"set the hosts' clocks right, then {fix}")
    if check.max_age is not None and age > check.max_age:
        why = f"run {compared.run_id} compared {_age(age)} ago, which is more than {write_duration(check.max_age)}"
        return Measured(problem=why, fix=fix)
    rows_by_kind = {kind: compared.findings.get(kind, 0) for kind in check.kinds}
    text = ", ".join(f"{kind} {rows}" for kind, rows in rows_by_kind.items() if rows)
    ago = f", {_age(age)} ago," if compared.compared_utc else ""
    by = f"and the apply of its plan, run {compared.corrected_by}, left" if compared.corrected_by else "found"
    detail = f"run {compared.run_id}{ago} {by} {text or 'none of them'}"
    return Measured(sum(rows_by_kind.values()), max(compared.rows, sum(rows_by_kind.values())), detail=detail)


@dataclass(frozen=True, slots=True)
class Summed:
    """Where a total is taken: the source, and the lake's rows. `masking`: sums of masked columns are not shown."""

    source: Source
    engine: RuleEngine
    rows: Frame
    masking: Masking = AS_NAMED


def measure_total(check: Total, where: Summed) -> Measured:
    """The column's sum on both sides, exactly. Raises UnverifiedError where either cannot be had."""
    described = where.source.describe()
    column = _source_column(described, check.column)
    in_lake = where.engine.sum_column(where.rows, column.lake_name)
    texts = where.source.sum_column(described, column.name)
    try:
        both = BothTotals(column.lake_name, Totals.parse(texts), in_lake)
        apart = abs(both.difference)
        within = apart <= check.tolerance
    except InvalidOperation:
        raise UnverifiedError(f"the source's sum of {column.name} is no finite number", fix="look at it") from None
    if where.masking.find_mask(column.name, column.lake_name):
        return Measured(int(not within), 1)
    detail = f"source {both.source.sum:f}, lake {in_lake.sum:f}, difference {apart:f}"
    return Measured(int(not within), 1, detail=detail, totals=both)


def measure_freshness(
    check: Freshness, checkpoint: CheckpointAt | None, now_micros: int, *, source: Source, table: str
) -> Measured:
    """The age of the greatest watermark pulled so far, by the host's clock.

    A watermark without zone is read in the config's `source.time_zone`. Raises UnverifiedError where there is none.
    """
    if checkpoint is None:
        raise UnverifiedError("the lake carries no checkpoint of ours", fix=f"hudi-reconcile pull -t {table}")
    watermark = _utc_micros(checkpoint.checkpoint, source)
    if watermark is None:
        why = "the pull has no watermark that is a time, so nothing tells how old the data is"
        raise UnverifiedError(why, fix=f"name tables[{table}].pull.watermark, or use check: sql")
    age = timedelta(microseconds=now_micros - watermark)
    if age < -_SKEW:
        ahead = f"watermark {checkpoint.checkpoint.text} lies {_age(-age)} ahead of this host's clock"
        why = f"{ahead}, so nothing tells how old the data is"
        raise UnverifiedError(
            why, fix="look at the rows with the greatest watermarks, the clocks, and source.time_zone"
        )
    return Measured(int(age > check.max_age), 1, detail=f"watermark {checkpoint.checkpoint.text} is {_age(age)} old")


# --- helpers ---


def _measure_age(compared_utc: str, now_micros: int) -> timedelta:
    if not compared_utc:
        return timedelta(0)
    return timedelta(microseconds=now_micros) - (datetime.fromisoformat(compared_utc) - _EPOCH)


def _source_column(described: SourceTable, name: str) -> Column:
    """The source's column of a lake name, or of its own name where it has another in the lake."""
    source_column = next((column for column in described.columns if column.lake_name == name), None)
    source_column = source_column or next((column for column in described.columns if column.name == name), None)
    if source_column is None:
        hint = suggest_name(name, [column.lake_name for column in described.columns])
        raise UnverifiedError(f"the source table has no column {name!r}{hint}", fix="correct the rule")
    if source_column.kind not in TOLERANCE_KINDS:
        raise UnverifiedError(
            f"column {name} is {source_column.declared}: only numbers have a sum", fix="correct the rule"
        )
    return source_column


def _utc_micros(checkpoint: Checkpoint, source: Source) -> int | None:
    micros, text = checkpoint.watermark_micros, checkpoint.text or ""
    if micros is None and checkpoint.watermark_value is not None:
        if checkpoint.watermark_value.isdigit():
            return None  # 20260101 is a number, though Python reads it as a date
        try:
            moment = datetime.fromisoformat(checkpoint.watermark_value)
        except ValueError:
            return None
        naive = moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta(0))
        micros = (naive - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001 - of one clock, both
        text = "Z" if moment.tzinfo is not None else ""
    if micros is None or text.endswith("Z"):
        return micros
    # The zone's offset is asked for at a moment of UTC: at the wall time it is another near a change of clocks.
    return micros - source.zone_offset_micros(micros - source.zone_offset_micros(micros))


def _age(age: timedelta) -> str:
    """Days, hours and minutes.

    >>> _age(timedelta(hours=30, minutes=5)), _age(timedelta(seconds=-3))
    ('30 h 5 min', '0 h 0 min')
    """
    minutes = max(age, timedelta(0)) // timedelta(minutes=1)
    return f"{minutes // 60} h {minutes % 60} min"
