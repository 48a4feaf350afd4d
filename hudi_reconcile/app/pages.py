"""A run's report page from the files of its folder, as HTML and as PDF.

The PDF is printed by a Chromium of this machine, the layout engine in which the pages are looked at. It is no dependency:
where there is none, the error says what to install. (WeasyPrint, which pip could bring, leaves out the heat map's shades.)
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hudi_reconcile.app.store import plan_document
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.plan import plan as plans_
from hudi_reconcile.core.sweep import coverage as coverages
from hudi_reconcile.core.sweep.coverage import Coverage
from hudi_reconcile.evidence.documents import parse_document
from hudi_reconcile.evidence.files import EvidenceError, read_bytes
from hudi_reconcile.evidence.findings import parse_finding, sample_findings, sample_uncorrected
from hudi_reconcile.evidence.history import PastRun, list_history, list_older_runs, read_past_run
from hudi_reconcile.evidence.run_folder import (
    COVERAGE_FILE,
    FINDINGS_FOLDER,
    PLAN_FILE,
    UNCORRECTED_FOLDER,
    name_table_folder,
)
from hudi_reconcile.evidence.store import COVERAGE_VERSION, PLAN_VERSION, Store, read_plan
from hudi_reconcile.report.page.html import build_mail, render_index, render_mail, render_report
from hudi_reconcile.report.page.sections import RunDocuments
from hudi_reconcile.report.page.trend import COMPARING_COMMANDS, MOST_POINTS, build_index

PageForm = Literal["report", "index", "mail", "pdf"]
SAMPLE_ROWS = 20
MOST_SAMPLE_ROWS = 100  # of all tables: a page of many stays one that opens at once
MOST_RUNS = 200  # how far a trend looks back; the index, too, but for tables that were not compared since


def render_page(
    store: Store, document: Mapping[str, Any], folder: Path, corrected: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """The HTML page of a run: its result, its files in `folder`, and the runs of the store before it.

    `corrected` is what the lake was asked. Raises EvidenceError where findings that the result counts, or the coverage,
    cannot be read, RefusedError for a plan that was changed.
    """
    plans, samples, coverage, uncorrected_rows = {}, {}, {}, {}
    rows = sample_rows(sum(any(table["findings"].values()) or _has_list(table) for table in document["tables"]))
    for table in document["tables"]:
        name, path = table["name"], folder / name_table_folder(table["name"])
        if (path / PLAN_FILE).exists():
            plans[name] = _plan(path / PLAN_FILE)
        if (path / FINDINGS_FOLDER).exists():
            taken = sample_findings(path / FINDINGS_FOLDER, table["findings"], limit=rows)
            samples[name] = [parse_finding(finding.line, path) for finding in taken]
        if (path / UNCORRECTED_FOLDER).exists():
            uncorrected_rows[name] = [
                parse_finding(line, path) for line in sample_uncorrected(path / UNCORRECTED_FOLDER, limit=rows)
            ]
        if (path / COVERAGE_FILE).exists():
            coverage[name] = _coverage(path / COVERAGE_FILE)
    names = {table["name"] for table in document["tables"]}
    past = select_past_runs(list_history(store, tables=names, before=document["run_id"]), names)
    return render_report(document, RunDocuments(plans, samples, coverage, past, corrected or {}, uncorrected_rows))


def read_plans(store: Store, document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The plans of a run by table. Raises as `read_plan`."""
    plans = {table["name"]: read_plan(store, document["run_id"], table["name"]) for table in document["tables"]}
    return {name: plan_document(plan) for name, plan in plans.items() if plan is not None}


def _has_list(table: Mapping[str, Any]) -> bool:
    return (table.get("uncorrected") or {"path": None})["path"] is not None


def compose_index(store: Store, run_id: str, beside: Path) -> str:
    """The index of every table as of a run, for a file in the folder `beside`: links lead from there to the reports."""
    known = [past_id for past_id in store.run_ids() if past_id <= run_id]
    past = [read_past_run(store, past_id) for past_id in known[:MOST_RUNS]]
    before = list_older_runs(store, known[MOST_RUNS:], past, comparisons=MOST_POINTS)
    older = [run.document for run in before]
    base = Path(os.path.relpath(store.reports.resolve(), beside)).as_posix()
    index = build_index([run.document for run in past], as_of=run_id, older=older)
    return render_index(index, "" if base == "." else f"{base}/")


def compose_mail(document: Mapping[str, Any], guards: Mapping[str, Any]) -> str:
    """The body of a mail about a run; `guards` are those of its plans, by table."""
    return render_mail(build_mail(document, guards))


def sample_rows(drifted_tables: int) -> int:
    """How many findings of each table the page shows.

    >>> sample_rows(1), sample_rows(50), sample_rows(1_000)
    (20, 2, 1)
    """
    return min(SAMPLE_ROWS, max(1, MOST_SAMPLE_ROWS // max(1, drifted_tables)))


def select_past_runs(runs: Iterable[PastRun], tables: Collection[str]) -> list[Mapping[str, Any]]:
    """The newest runs, as far back as the trends of these tables need them, with those that cannot be read."""
    taken: list[Mapping[str, Any]] = []
    points_left = dict.fromkeys(tables, MOST_POINTS)
    for run in islice(runs, MOST_RUNS):
        if not any(points_left.values()):
            break
        if run.tables or run.why:
            taken.append(run.document)
        for table in run.tables if run.command in COMPARING_COMMANDS else ():
            points_left[table.name] = max(0, points_left[table.name] - 1)
    return taken


def _plan(path: Path) -> Mapping[str, Any]:
    return plan_document(plans_.parse(parse_document(read_bytes(path), path, PLAN_VERSION)))


def _coverage(path: Path) -> Coverage:
    try:
        return coverages.parse(parse_document(read_bytes(path), path, COVERAGE_VERSION))
    except (ValueError, EvidenceError) as error:
        raise EvidenceError(f"{path} cannot be read: {error}", fix="sweep again: hudi-reconcile sweep") from error


VARIABLE = "HUDI_RECONCILE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 120
_INSTALL = f"install one: apt-get install chromium; or set {VARIABLE} to the path of a Chromium or Chrome"
# The page needs nothing from elsewhere, and its policy forbids it; nor shall the browser itself call home.
_CALM = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-pdf-header-footer",
)


def find_chromium(environ: Mapping[str, str]) -> str:
    """The browser's path. Raises UsageError where there is none."""
    named = environ.get(VARIABLE)
    paths = [path for name in ((named,) if named else NAMES) if (path := shutil.which(name, path=environ.get("PATH")))]
    if paths:
        return paths[0]
    what = f"{VARIABLE}={named} is no program" if named else f"none of {', '.join(NAMES)} is installed"
    raise UsageError(f"a PDF is printed by a browser, and {what}", fix=_INSTALL)


def print_page(page: str, environ: Mapping[str, str] = os.environ) -> bytes:
    """The page as it is printed.

    Raises:
        UsageError: there is no browser, or it printed nothing; its own words are not repeated.
    """
    browser = find_chromium(environ)
    with TemporaryDirectory(prefix="hudi-reconcile-pdf-") as name:
        folder = Path(name)
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_text(page, "utf-8")
        # Chromium refuses root its sandbox.
        root = ("--no-sandbox",) if os.geteuid() == 0 else ()
        call = [browser, *_CALM, *root, f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={target}"]
        try:
            subprocess.run([*call, source.as_uri()], capture_output=True, check=True, timeout=_SECONDS)
            pdf = target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise _build_print_error(browser, type(error).__name__) from None
        if not pdf.startswith(b"%PDF-"):
            raise _build_print_error(browser, "it wrote no PDF")
        return pdf


def _build_print_error(browser: str, why: str) -> UsageError:
    fix = "print the page in a browser instead: hudi-reconcile report RUN -o report.html"
    return UsageError(f"{browser} did not print the report ({why}); nothing was written", fix=fix)
