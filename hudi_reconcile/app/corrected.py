"""What a run's corrections changed, row by row before and after, by the lake's own history. Opens Spark and the lake.

The run's folder holds what the sweep saw and what the apply counted; the lake is asked whether it says the same.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hudi_reconcile.app.changes import change_log
from hudi_reconcile.app.connections import request_session
from hudi_reconcile.app.jobs import LakeMasks, derive_lake_masks
from hudi_reconcile.app.store import open_store
from hudi_reconcile.changefeed.query import (
    Findings,
    add_provenance,
    answer_query,
    audit_findings,
    count_changes,
    print_lines,
    take_first,
)
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.changes.queries import read_correction_origin
from hudi_reconcile.core.changes.range import EARLIEST, Commit, Cut, select_span
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.evidence.run_folder import is_run_id
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.lake.reads import redact_failures
from hudi_reconcile.ports import Frame
from hudi_reconcile.spark.session import Session, open_session

SAMPLE_ROWS = 20
Document = Mapping[str, Any]


def read_corrected_rows(config: Config, run: Document) -> Mapping[str, Document]:
    """What the lake tells of the corrections of a run (`result.json`), by table that it wrote any into.

    `counts` by op, `keys`, the first `changes`, `held_against` (sweeps whose findings are there) and
    `disagreements` with the run's own files, as sentences; or `untold`, the reason for which the lake cannot tell it.
    """
    written = [table for table in run["tables"] if table["corrections"]["instants"] and not table["already_applied"]]
    if not written:
        return {}
    with open_session(replace(request_session(config), short=True)) as session:
        return {table["name"]: _table(config, config.table(table["name"]), table, session) for table in written}


def _table(config: Config, table: TableConfig, result: Document, session: Session) -> Document:
    try:
        history = HudiHistory(session.spark, table.lake.path)
        commits = _commits(history, result["corrections"]["instants"], history.cut(history.commits()))
        folders = _folders(open_store(config, os.environ), table.name, commits)
        names = {lake: source for source, lake in table.compare.rename.items()}
        findings = Findings(folders, [names.get(name, name) for name in history.table.record_key])
        with redact_failures(table.lake.path):
            frame = answer_query("full-delta", change_log(history, commits), commits)
            rows = add_provenance(frame, commits, findings, corrections_only=False)
            masks = derive_lake_masks(table, history.table)
            shown = [column.name for column in history.table.columns if column.name not in masks.hidden]
            document = _describe_changes(result, rows, findings, masks, {names.get(name, name): name for name in shown})
        meanwhile = history.look_at_others()  # others may have been at work
        _commits(history, result["corrections"]["instants"], meanwhile.cut())
        meanwhile.check_undisturbed(commits)
    except UsageError as error:
        return {"untold": error.message}
    return document


def _commits(history: HudiHistory, instants: Sequence[str], cut: Cut | None) -> tuple[Commit, ...]:
    """The run's commits. Raises UsageError where the table has not all of them, or no longer what was before them."""
    commits = history.commits()
    mine = tuple(other for other in commits if other.instant.completed in instants)
    if len(mine) < len(instants):
        raise UsageError(
            "the table no longer has every commit of this run: they are archived, or it was restored",
            fix="the report without --changes shows what the run's own files hold",
        )
    for commit in mine:
        earlier = [other.instant.completed for other in commits if other.instant.completed < commit.instant.completed]
        select_span(max(earlier, default=EARLIEST), commit.instant.completed, commits, cut)
    return mine


def _describe_changes(
    result: Document, rows: Frame, findings: Findings, masks: LakeMasks, columns: Mapping[str, str]
) -> Document:
    """`columns`: lake column by source column, of those that may be shown."""
    counts, keys = count_changes(rows)
    lines = print_lines(take_first(rows, SAMPLE_ROWS), masks.build_masks(secrets.token_bytes(32)))
    return {
        "counts": dict(counts),
        "keys": keys,
        "changes": [json.loads(line) for line in lines],
        "held_against": sorted(findings.folders),
        "disagreements": [
            *_compare_counts(keys, result["corrections"]["applied"]),
            *[
                text
                for folder in findings.folders.values()
                for text in _compare_findings(rows, folder, findings.key, columns)
            ],
        ],
    }


def _folders(store: Store, table: str, commits: Sequence[Commit]) -> Mapping[str, str]:
    """The findings that the commits were made for, by sweep run: one apply has one sweep.

    Raises UntrustedError where they are not what the audit log has of them.
    """
    sweeps = {origin.sweep for commit in commits if (origin := read_correction_origin(commit.labels)) is not None}
    folders = {sweep: store.findings_dir(sweep, table) for sweep in sweeps if sweep and is_run_id(sweep)}
    for sweep, folder in folders.items():
        if folder.parent.parent.is_dir():  # purged ones have nothing to be held against
            store.refuse_changed_findings(sweep, table)
    return {sweep: str(folder) for sweep, folder in folders.items() if any(folder.glob("*.parquet"))}


def _compare_counts(keys: int, applied: int) -> Iterator[str]:
    if keys != applied:
        yield f"The lake tells {keys:,} corrected keys, and this run counted {applied:,}."


def _compare_findings(rows: Frame, folder: str, key: Sequence[str], columns: Mapping[str, str]) -> Iterator[str]:
    audit = audit_findings(rows, folder, key, columns)
    if audit.unnamed_keys:
        yield f"{audit.unnamed_keys:,} keys were changed that no finding names."
    if audit.other_keys:
        yield f"Of {audit.other_keys:,} keys the lake tells another row before, or another correction, than their findings."
