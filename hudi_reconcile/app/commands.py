"""What `pull`, `sweep`, `apply` and `run` do with each table: its stages in order, and the evidence that they leave.

For a sweep of some partitions, or within a budget, it also says what each table is to compare, and for how long.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hudi_reconcile.app.approvals import add_people, check_duties
from hudi_reconcile.app.jobs import build_job, read_duty, request_proof
from hudi_reconcile.app.rules import RuleSets, check_after, describe_unjudged, load_rule_sets, open_quarantine
from hudi_reconcile.app.run import Call, Finished, perform
from hudi_reconcile.app.store import open_store, plan_document, select_tables
from hudi_reconcile.app.table_work import TableRun, describe_landed_failure, describe_part_failure
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import STOPS, LakeError, ReconcileError, RefusedError, UsageError
from hudi_reconcile.core.outcome import Outcome, find_gravest
from hudi_reconcile.core.plan import plan as plans
from hudi_reconcile.core.plan.apply_outcome import ERROR, REFUSED, count_untouched
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Cost, Failure, Unverified
from hudi_reconcile.core.result_queries import list_unjudged_rows, restore_result_without_plan
from hudi_reconcile.core.rules.rules import RuleSet
from hudi_reconcile.core.rules.verdict import report_unrun_rules
from hudi_reconcile.core.sweep import coverage
from hudi_reconcile.core.sweep.proof import build_proof_document
from hudi_reconcile.core.sweep.segments import share_seconds
from hudi_reconcile.evidence.files import build_spark_address, hash_tree
from hudi_reconcile.evidence.history import find_known_columns, find_past_proof, list_past_coverage
from hudi_reconcile.evidence.run_folder import write_proof
from hudi_reconcile.evidence.store import COMPARED, read_plan
from hudi_reconcile.stages.apply.apply import apply
from hudi_reconcile.stages.apply.uncorrected import Listing
from hudi_reconcile.stages.job import LandedError, PartialSweep, TableJob
from hudi_reconcile.stages.pull.pull import NO_APPROVAL, pull
from hudi_reconcile.stages.sweep.sweep import Swept, sweep


@dataclass(frozen=True, slots=True)
class PartialSweepRequest:
    """What the command line says: partitions as Hudi stores them, and a budget with its text.

    `is_full` demands every segment across the engines. Raises UsageError beside a part, which is not every segment.
    """

    partitions: tuple[str, ...] = ()
    budget_seconds: float | None = None
    budget_text: str = ""
    is_full: bool = False

    def __post_init__(self) -> None:
        part = "--where-partition" if self.partitions else "--budget" if self.budget_seconds is not None else ""
        if self.is_full and part:
            raise UsageError(f"--full compares every segment, and {part} only some", fix="give one of the two")


ALL = PartialSweepRequest()


@dataclass(slots=True)
class Watch:
    """Shares a budget out among the tables, in their order. It begins with the first of them: Spark's start is not in it.

    `jobs` tables spend it at a time.
    """

    asked: PartialSweepRequest
    tables: tuple[str, ...]
    jobs: int = 1
    until: float | None = field(default=None, init=False)

    def choose_part(self, table_run: TableRun) -> PartialSweep:
        """What this table compares."""
        asked, budget = self.asked, self.asked.budget_seconds
        if budget is None:
            whole = build_whole_sweep(table_run, is_full=asked.is_full)
            return replace(whole, partitions=asked.partitions, proof=None if asked.partitions else whole.proof)
        now = table_run.edges.clock.monotonic_seconds()
        if self.until is None:
            self.until = now + budget
        rounds = -(-(len(self.tables) - self.tables.index(table_run.table.name)) // self.jobs)
        earlier = list_past_coverage(table_run.store, table_run.table.name)
        return PartialSweep(
            asked.partitions,
            share_seconds(self.until - now, rounds),
            asked.budget_text,
            earlier,
            read_duty(table_run.table),
            pause=table_run.pause,
        )


def build_whole_sweep(table_run: TableRun, *, is_full: bool = False) -> PartialSweep:
    """A sweep of the whole table, which may stand on earlier ones unless it is full."""
    proof = request_proof(
        table_run.table, lambda: find_past_proof(table_run.store, table_run.table.name), is_full=is_full
    )
    return PartialSweep(max_duty=read_duty(table_run.table), proof=proof, pause=table_run.pause)


NONE_LEFT: Mapping[str, TableResult] = {}


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan on disk, and where its rows are. `unjudged` says which rows its sweep could not judge: no apply proves them."""

    plan: plans.Plan
    findings: Path
    unjudged: tuple[Unverified, ...] = ()


def run_pull(call: Call, *, full: bool, approval: Approval = NO_APPROVAL) -> Finished:
    """Bring the lake up to date. `approval` is for a full fetch that replaces the table."""
    return perform("pull", call, lambda table_run: _pull(table_run, full=full, approval=approval))


def run_sweep(call: Call, asked: PartialSweepRequest = ALL) -> Finished:
    """Compare, say what drifted, and write a plan; the lake is only read."""
    watch = Watch(asked, tuple(table.name for table in call.tables), call.jobs)
    return perform(
        "sweep",
        call,
        lambda table_run: _leave(table_run, sweep(_job(table_run), table_run.edges, watch.choose_part(table_run)))[0],
    )


def run_apply(
    call: Call, plan_files: Mapping[str, PlanFile], approval: Approval, rest: Mapping[str, TableResult] = NONE_LEFT
) -> Finished:
    """Execute plans, one for each table of the call but those of `rest`, whose results stand already."""
    sets = load_rule_sets(call.tables)
    return perform(
        "apply",
        call,
        lambda table_run: _apply_alone(
            table_run, plan_files[table_run.table.name], approval, sets.get(table_run.table.name)
        ),
        ready=rest,
    )


def run_all(call: Call, approval: Approval | None) -> Finished:
    """The nightly entry: pull, sweep, with an approval apply, and the rules on what that left."""
    sets = load_rule_sets(call.tables)
    return perform("run", call, lambda table_run: _nightly_with_rules(table_run, approval, sets))


def read_plans(config: Config, run: str, names: tuple[str, ...]) -> Mapping[str, PlanFile]:
    """The plans of a run, by table, checked byte for byte.

    Raises UsageError where the run, one of the tables or all plans are missing, RefusedError where a file was changed,
    ConfigError where the key that seals the log is missing.
    """
    store = open_store(config, os.environ)
    run_id = store.resolve(run, commands=COMPARED)
    for name in names:
        config.table(name)
    plan_files = {}
    for table in select_tables(store.result(run_id), names):
        name = table["name"]
        config.table(name)
        plan = read_plan(store, run_id, name)
        if plan is not None:
            plan_files[name] = _plan_file(plan, store.findings_dir(run_id, name), list_unjudged_rows(table))
            store.refuse_changed_findings(run_id, name)
    if not plan_files:
        what = f"table {', '.join(names)}" if names else "any table"
        parts = [
            entry["name"] for entry in store.result(run_id)["tables"] if (entry.get("coverage") and not entry["whole"])
        ]
        only = f" (it compared only a part of {', '.join(parts)})" if parts else ""
        raise UsageError(
            f"run {run_id} holds no plan for {what}: nothing drifted, or it could not be compared{only}",
            fix="see what it found: hudi-reconcile history",
        )
    return plan_files


def describe_rest(
    config: Config, run: str, names: tuple[str, ...], plan_files: Mapping[str, PlanFile]
) -> dict[str, TableResult]:
    """Tables of a run that it did not find clean and holds no plan for: what an apply of the others says of them."""
    store = open_store(config, os.environ)
    run_id = store.resolve(run, commands=COMPARED)
    tables = store.result(run_id)["tables"]
    wanted = [table for table in tables if table["name"] not in plan_files and (not names or table["name"] in names)]
    return {
        table["name"]: result for table in wanted if (result := restore_result_without_plan(table, run_id)) is not None
    }


def _plan_file(plan: plans.Plan, findings: Path, unjudged: tuple[Unverified, ...]) -> PlanFile:
    if not findings.is_dir() or _hashes(findings) != dict(plan.files):
        raise RefusedError(
            f"table {plan.table}: the findings of run {plan.run_id} are not those that the plan was made of",
            fix=f"sweep again: hudi-reconcile sweep -t {plan.table}",
        )
    return PlanFile(plan, findings, unjudged)


def _hashes(findings: Path) -> dict[str, str]:
    # Whatever Spark would read, of whichever name: all but what begins with _ or a dot.
    named = hash_tree(findings).items()
    return {f"findings/{name}": digest for name, digest in named if not name.rpartition("/")[2].startswith(("_", "."))}


def _job(table_run: TableRun) -> TableJob:
    job = build_job(table_run.table, table_run.folder.run_id, audit_head=table_run.folder.head_before)
    return replace(job, columns=replace(job.columns, known=find_known_columns(table_run.store, table_run.table.name)))


def _pull(table_run: TableRun, *, full: bool, approval: Approval = NO_APPROVAL) -> TableResult:
    return pull(_job(table_run), table_run.edges, full=full, approval=approval)


def _leave(table_run: TableRun, swept: Swept) -> tuple[TableResult, PlanFile | None]:
    """Write coverage, proof, findings and plan; the plan binds the findings' files."""
    if swept.coverage is not None:
        table_run.folder.write_coverage(
            table_run.table.name, coverage.build_coverage_document(table_run.table.name, swept.coverage)
        )
    if swept.proof is not None:
        write_proof(table_run.folder, table_run.table.name, build_proof_document(table_run.table.name, swept.proof))
    result = replace(swept.result, cost=swept.result.cost + Cost(source_rows_fetched=swept.rows_fetched))
    if swept.findings is None or not swept.findings_rows:
        return result, None
    path = table_run.folder.findings_dir(table_run.table.name)
    swept.save(build_spark_address(path))
    if swept.draft is None:
        return result, None
    plan = replace(swept.draft, files=_hashes(path))
    table_run.folder.write_plan(table_run.table.name, plan_document(plan))
    return replace(result, plan_id=plan.plan_id), PlanFile(plan, path)


def _apply(table_run: TableRun, plan_file: PlanFile, approval: Approval, rules: RuleSet | None) -> TableResult:
    people = check_duties(table_run, plan_file.plan)
    quarantine = None if rules is None else open_quarantine(table_run, rules)
    listing = Listing(*table_run.folder.build_uncorrected_path(table_run.table.name))
    done = apply(
        _job(table_run),
        plan_file.plan,
        build_spark_address(plan_file.findings),
        approval,
        table_run.edges,
        quarantine=quarantine,
        listing=listing,
    )
    return add_people(done, people)


def _apply_alone(table_run: TableRun, plan_file: PlanFile, approval: Approval, rules: RuleSet | None) -> TableResult:
    try:
        return _add_unjudged(_apply(table_run, plan_file, approval, rules), plan_file.unjudged)
    except LandedError as landed:
        raise LandedError(_add_unjudged(landed.result, plan_file.unjudged), landed.error) from landed.error
    except ReconcileError as error:
        return _describe_unapplied(table_run, plan_file.plan, error)


def _describe_unapplied(table_run: TableRun, plan: plans.Plan, error: ReconcileError) -> TableResult:
    """A named error came before anything was written."""
    reason = REFUSED if error.outcome is Outcome.REFUSED else ERROR
    remainder = count_untouched(plan.upserts + plan.deletes, plan.run_id, reason, error.message)
    return replace(describe_part_failure(table_run, error), uncorrected=remainder)


def _compared_all_the_same(table_run: TableRun, ending: LakeError | RefusedError | LandedError) -> TableResult:
    """The pull was refused, for a changed column or a clock that went back: what the lake has is compared all the same.

    Raises how the pull ended where that was otherwise, or where nothing can be compared either.
    """
    error, pulled = (ending.error, ending.result) if isinstance(ending, LandedError) else (ending, None)
    if not isinstance(error, LakeError | RefusedError):
        raise ending
    try:
        swept, _ = _leave(table_run, sweep(_job(table_run), table_run.edges, build_whole_sweep(table_run)))
    except ReconcileError:
        raise ending from None
    except (Exception, *STOPS) as stop:
        if pulled is None:
            raise
        raise LandedError(pulled, stop) from stop
    if pulled is not None:
        swept = replace(swept, pull=pulled.pull, notes=(*pulled.notes, *swept.notes), cost=pulled.cost + swept.cost)
    outcome = find_gravest((error.outcome, swept.outcome))
    guards = error.guards if isinstance(error, RefusedError) else ()
    failure = Failure(error.type, error.message, error.fix)
    return replace(swept, outcome=outcome, error=failure, guards=(*guards, *swept.guards))


def _nightly_with_rules(table_run: TableRun, approval: Approval | None, sets: RuleSets) -> TableResult:
    rules = sets.get(table_run.table.name)
    if rules is None:
        return _nightly(table_run, approval, None)
    try:
        result = _nightly(table_run, approval, rules)
    except ReconcileError as error:
        return describe_unjudged(table_run, rules, error)
    except LandedError as landed:
        if not isinstance(landed.error, ReconcileError):
            raise
        unrun = report_unrun_rules(rules, landed.error.message, landed.error.fix)
        return replace(describe_landed_failure(table_run, landed), rules=unrun)
    return check_after(table_run, result, rules, "error")


def _nightly(table_run: TableRun, approval: Approval | None, rules: RuleSet | None) -> TableResult:
    try:
        pulled = _pull(table_run, full=False)
    except (LakeError, RefusedError, LandedError) as ending:
        return _compared_all_the_same(table_run, ending)
    try:
        table_run.limit.refuse()
        swept, plan = _leave(table_run, sweep(_job(table_run), table_run.edges, build_whole_sweep(table_run)))
    except ReconcileError as error:  # the pull has committed
        return replace(describe_part_failure(table_run, error), pull=pulled.pull, notes=pulled.notes, cost=pulled.cost)
    except (Exception, *STOPS) as ending:
        raise LandedError(pulled, ending) from ending
    notes = (*pulled.notes, *swept.notes)
    swept = replace(swept, pull=pulled.pull, notes=notes, cost=pulled.cost + swept.cost)
    if approval is None or plan is None or swept.outcome is not Outcome.DRIFT:
        return swept
    try:
        table_run.limit.refuse()
        applied = _apply(table_run, plan, approval, rules)
    except LandedError as landed:
        raise LandedError(_join_results(swept, landed.result), landed.error) from landed.error
    except ReconcileError as error:
        failed = _describe_unapplied(table_run, plan.plan, error)
        return _join_results(swept, replace(failed, corrections=swept.corrections, plan_id=swept.plan_id))
    except (Exception, *STOPS) as ending:
        raise LandedError(swept, ending) from ending
    return _join_results(swept, applied)


def _join_results(swept: TableResult, applied: TableResult) -> TableResult:
    """What an apply did, with what the sweep before it found."""
    return replace(
        _add_unjudged(applied, swept.unverified),
        pull=swept.pull,
        source=applied.source or swept.source,
        lake=applied.lake or swept.lake,
        checkpoint=applied.checkpoint or swept.checkpoint,
        findings=swept.findings,
        schema=applied.schema or swept.schema,
        precision=applied.precision or swept.precision,
        whole=swept.whole,
        coverage=swept.coverage,
        anatomy=swept.anatomy,
        columns=applied.columns or swept.columns,
        cost=swept.cost + applied.cost,
        notes=tuple(dict.fromkeys((*swept.notes, *applied.notes))),
        provenance={**swept.provenance, **applied.provenance},
    )


def _add_unjudged(applied: TableResult, unjudged: tuple[Unverified, ...]) -> TableResult:
    """Rows that the sweep could not judge are not proven by the apply of its plan: the table is not `corrected`."""
    is_open = bool(unjudged) and applied.outcome is Outcome.CORRECTED
    return replace(
        applied,
        outcome=Outcome.UNVERIFIED if is_open else applied.outcome,
        unverified=tuple(dict.fromkeys((*applied.unverified, *unjudged))),
    )
