"""`result.json` as values: what a run says about each table, and how it is spelled in JSON.

Later versions add fields and never change these. Nothing here holds a row's values but the checkpoint.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hudi_reconcile.core.notes import count_open
from hudi_reconcile.core.outcome import Outcome, find_gravest
from hudi_reconcile.core.plan.apply_outcome import Uncorrected
from hudi_reconcile.core.result_parts import (
    Approved,
    CompareSettings,
    Corrections,
    Cost,
    CoverageSummary,
    Failure,
    Guard,
    Precision,
    Pulled,
    SchemaChange,
    SideState,
    Unverified,
)
from hudi_reconcile.core.rules.verdict import RuleResult
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.core.sweep.drift_profile import Anatomy


@dataclass(frozen=True, slots=True)
class TableResult:
    """All that a run says about one table. `columns` are the declared types of each side: `source`, `lake`.

    `whole` is True only where every row of both sides was in the comparison: anything else is no proof of the table.
    Columns may still have been left out: `unverified` says so. `findings_left` are what the verification of an apply still
    found; None where none was made, or it proved nothing.
    """

    name: str
    outcome: Outcome
    source: SideState | None = None
    lake: SideState | None = None
    checkpoint: str | None = None
    findings: Mapping[str, int] = field(default_factory=dict)
    not_drift: Mapping[str, int] = field(default_factory=dict)
    unverified: tuple[Unverified, ...] = ()
    schema: tuple[SchemaChange, ...] = ()
    precision: tuple[Precision, ...] = ()
    compare: CompareSettings = CompareSettings()
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    error: Failure | None = None
    guards: tuple[Guard, ...] = ()
    corrections: Corrections = Corrections()
    pull: Pulled | None = None
    already_applied: bool = False
    plan_id: str | None = None
    verified_at: str | None = None
    segments: Mapping[str, int] = field(default_factory=dict)
    anatomy: Anatomy | None = None
    rules: tuple[RuleResult, ...] = ()
    whole: bool = False
    coverage: CoverageSummary | None = None
    approval: Approved | None = None
    uncorrected: Uncorrected | None = None
    findings_left: Mapping[str, int] | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    cost: Cost = Cost()


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run of one command over one or more tables. `trust` are the checks that its config gave up, a sentence each.

    `stop_code` is the exit code of a run that was stopped before its end (130, 143); 0 where none was.
    """

    run_id: str
    command: str
    started_utc: str
    ended_utc: str
    tables: tuple[TableResult, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    trust: tuple[str, ...] = ()
    stop_code: int = 0

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        return self.stop_code or self.outcome.exit_code

    @property
    def outcome(self) -> Outcome:
        """The gravest outcome of the tables."""
        return find_gravest(table.outcome for table in self.tables)


def run_document(run: RunResult) -> dict[str, Any]:
    """The JSON document of a run, key order as in the contract."""
    return {
        "version": 1,
        "run_id": run.run_id,
        "command": run.command,
        "outcome": run.outcome.value,
        "exit_code": run.exit_code,
        "started_utc": run.started_utc,
        "ended_utc": run.ended_utc,
        "tables": [build_table_document(table) for table in run.tables],
        "provenance": _plain(run.provenance),
        "trust": list(run.trust),
    }


def is_whole_comparison(table: Mapping[str, Any]) -> bool:
    """True where a table of a `result.json` proves or disproves the whole table: every row of both sides was compared.

    Ask this before a sweep is taken for the state of a table. Results from before partial sweeps were always whole.
    """
    if "whole" in table:
        return table["whole"] is True
    return table.get("segments", {}).get("compared") is not None and table["source"] is not None


def build_table_document(table: TableResult) -> dict[str, Any]:
    """One table's part of the document."""
    document: dict[str, Any] = {
        "name": table.name,
        "outcome": table.outcome.value,
        "source": None if table.source is None else {"rows": table.source.rows, "snapshot": table.source.at},
        "lake": None if table.lake is None else {"rows": table.lake.rows, "instant": table.lake.at},
        "checkpoint": table.checkpoint,
        "findings": {kind: table.findings.get(kind, 0) for kind in DRIFT_KINDS},
        "findings_left": None if table.findings_left is None else dict(table.findings_left),
        "not_drift": {kind: table.not_drift.get(kind, 0) for kind in NOT_DRIFT_KINDS},
        "unverified": [dataclasses.asdict(item) for item in table.unverified],
        "schema": [dataclasses.asdict(change) for change in table.schema],
        "precision": [dataclasses.asdict(item) for item in table.precision],
        "compare": {name: _plain(getattr(table.compare, name)) for name in ("exclude", "rename", "tolerance")},
        "columns": {side: dict(types) for side, types in table.columns.items()},
        "error": None if table.error is None else dataclasses.asdict(table.error),
        "guards": [dataclasses.asdict(guard) for guard in table.guards],
        "corrections": dataclasses.asdict(table.corrections),
        "already_applied": table.already_applied,
        "plan_id": table.plan_id,
        "verified_at": table.verified_at,
        "segments": dict(table.segments),
        "whole": table.whole,
        "coverage": None if table.coverage is None else _plain(dataclasses.asdict(table.coverage)),
        "rules": [_rule_document(rule) for rule in table.rules],
        "notes": list(table.notes),
        "notes_open": count_open(table.notes),
        "provenance": dict(table.provenance),
        "cost": {**{f.name: getattr(table.cost, f.name) for f in dataclasses.fields(table.cost)}},
    }
    document["corrections"]["instants"] = list(table.corrections.instants)
    document["corrections"]["steps"] = list(table.corrections.steps)
    document["cost"]["phases_seconds"] = dict(table.cost.phases_seconds)
    known = {name: getattr(table, name) for name in ("anatomy", "approval", "pull", "uncorrected")}
    return {**document, **{name: _plain(dataclasses.asdict(part)) for name, part in known.items() if part is not None}}


def _rule_document(rule: RuleResult) -> dict[str, Any]:
    document = dataclasses.asdict(rule)
    document["notes"] = list(rule.notes)
    if rule.waiver is not None:
        document["waiver"]["expires"] = rule.waiver.expires.isoformat()
    document["totals"] = None if rule.totals is None else rule.totals.document
    if rule.keys is not None:
        document["keys"]["sample"] = [dict(key) for key in rule.keys.sample]
    return document


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
