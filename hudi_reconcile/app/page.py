"""A run's report page, from the files of its folder: while the run is being finished, and whenever it is rebuilt."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from hudi_reconcile.core.coverage import Coverage, parse
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.findings import sample_findings
from hudi_reconcile.evidence.history import PastRun, history, past_run
from hudi_reconcile.evidence.logged import logged_results
from hudi_reconcile.evidence.names import COVERAGE_FILE, FINDINGS_FOLDER, PLAN_FILE, UNCORRECTED_FOLDER, table_folder
from hudi_reconcile.evidence.older import older_runs
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.uncorrected import sample_uncorrected
from hudi_reconcile.report.html import render_index, render_mail, render_report
from hudi_reconcile.report.index import index_of
from hudi_reconcile.report.mail import mail_of
from hudi_reconcile.report.trend import COMPARING_COMMANDS, MOST_POINTS
from hudi_reconcile.report.view import Kept

PageForm = Literal["report", "index", "mail", "pdf"]
SAMPLE_ROWS = 20
MOST_SAMPLE_ROWS = 100  # of all tables: a page of many stays one that opens at once
MOST_RUNS = 200  # how far a trend looks back; the index, too, but for tables that were not compared since


def page_of(document: Mapping[str, Any], folder: Path, corrected: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """The HTML page of a run, whose folder is among the others of its store; `corrected` is what the lake was asked.

    Raises EvidenceError where findings that the result counts, or the coverage, cannot be read.
    """
    plans, samples, coverage, left = {}, {}, {}, {}
    rows = sample_rows(sum(any(table["findings"].values()) or _has_list(table) for table in document["tables"]))
    for table in document["tables"]:
        name, path = table["name"], folder / table_folder(table["name"])
        if (path / PLAN_FILE).exists():
            plans[name] = json.loads((path / PLAN_FILE).read_text("utf-8"))
        if (path / FINDINGS_FOLDER).exists():
            taken = sample_findings(path / FINDINGS_FOLDER, table["findings"], limit=rows)
            samples[name] = [json.loads(finding.line) for finding in taken]
        if (path / UNCORRECTED_FOLDER).exists():
            left[name] = [json.loads(line) for line in sample_uncorrected(path / UNCORRECTED_FOLDER, limit=rows)]
        if (path / COVERAGE_FILE).exists():
            coverage[name] = _coverage(path / COVERAGE_FILE)
    names = {table["name"] for table in document["tables"]}
    past = past_of(history(Store(folder.parent), tables=names, before=document["run_id"]), names)
    return render_report(document, Kept(plans, samples, coverage, past, corrected or {}, left))


def _has_list(table: Mapping[str, Any]) -> bool:
    return (table.get("uncorrected") or {"path": None})["path"] is not None


def index_page(store: Store, run_id: str, beside: Path) -> str:
    """The index of every table as of a run, for a file in the folder `beside`: links lead from there to the reports."""
    known = [one for one in store.run_ids() if one <= run_id]
    results = logged_results(store)
    past = [past_run(store, one, results) for one in known[:MOST_RUNS]]
    before = older_runs(store, known[MOST_RUNS:], past, comparisons=MOST_POINTS, results=results)
    older = [one.document for one in before]
    base = Path(os.path.relpath(store.reports.resolve(), beside)).as_posix()
    index = index_of([one.document for one in past], as_of=run_id, older=older)
    return render_index(index, "" if base == "." else f"{base}/")


def mail_page(document: Mapping[str, Any], guards: Mapping[str, Any]) -> str:
    """The body of a mail about a run; `guards` are those of its plans, by table."""
    return render_mail(mail_of(document, guards))


def sample_rows(drifted_tables: int) -> int:
    """How many findings of each table the page shows.

    >>> sample_rows(1), sample_rows(50), sample_rows(1_000)
    (20, 2, 1)
    """
    return min(SAMPLE_ROWS, max(1, MOST_SAMPLE_ROWS // max(1, drifted_tables)))


def past_of(runs: Iterable[PastRun], tables: Collection[str]) -> list[Mapping[str, Any]]:
    """The newest runs, as far back as the trends of these tables need them; those that cannot be read are no part of a trend."""
    taken: list[Mapping[str, Any]] = []
    left = dict.fromkeys(tables, MOST_POINTS)
    for run in islice(runs, MOST_RUNS):
        if not any(left.values()):
            break
        if run.tables:
            taken.append(run.document)
        for one in run.tables if run.command in COMPARING_COMMANDS else ():
            left[one.name] = max(0, left[one.name] - 1)
    return taken


def _coverage(path: Path) -> Coverage:
    try:
        return parse(json.loads(path.read_bytes()))
    except ValueError as error:
        raise EvidenceError(f"{path} cannot be read: {error}", fix="sweep again: hudi-reconcile sweep") from error
