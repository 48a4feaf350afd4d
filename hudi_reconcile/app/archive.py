"""Finished runs for the commands that look at them: the evidence on disk, the report's pages, and two runs compared.

Changes no run, opens no source, and the lake only to ask what corrections changed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.app.pages import PageForm, compose_index, compose_mail, print_page, read_plans, render_page
from hudi_reconcile.app.store import open_store, plan_document, read_key_ring, select_tables
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import ReconcileError, UsageError
from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.core.result_queries import list_changed_settings
from hudi_reconcile.core.sweep.drift import CHANGES, ChangedFinding, compare_findings
from hudi_reconcile.evidence.files import replace_file
from hudi_reconcile.evidence.findings import choose_kinds, choose_reasons, read_findings, read_uncorrected
from hudi_reconcile.evidence.history import PastRun, list_history
from hudi_reconcile.evidence.run_folder import (
    FINDINGS_FOLDER,
    REPORT_FILE,
    RESULT_FILE,
    UNCORRECTED_FOLDER,
    name_building_folder,
    name_table_folder,
)
from hudi_reconcile.evidence.store import APPLIED, COMPARED, Store, read_plan
from hudi_reconcile.evidence.verify import Verified, verify
from hudi_reconcile.report.words.scope import explain_unlisted
from hudi_reconcile.report.words.verdict import list_reasons

Document = Mapping[str, Any]
AskLake = Callable[[Document], Mapping[str, Document]]  # a run's result to what the lake tells, by table


@dataclass(frozen=True, slots=True)
class FoundFindings:
    """A run's findings as JSON texts, and what the reader must know about what is not among them."""

    run_id: str
    lines: Iterator[str]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunPlans:
    """A run's result and the plans of its tables."""

    run: Document
    plans: Sequence[Document]


@dataclass(frozen=True, slots=True)
class RunArchive:
    """The reports folder, to look at its runs."""

    store: Store

    @staticmethod
    def of(reports: Path) -> RunArchive:
        """The archive of a reports folder; nothing is opened yet."""
        return RunArchive(Store(reports))

    def choose_keys(self, config: Config | None, key_file: Path | None) -> RunArchive:
        """The archive with the keys of the config, or that of a file in their place. Raises UsageError where one is missing."""
        if key_file is not None:
            return RunArchive(Store(self.store.reports, read_key_ring(key_file)))
        return self if config is None else RunArchive(open_store(config, os.environ))

    def list_killed(self) -> tuple[str, ...]:
        """The runs that were killed and that no later run has ended, newest first; none where that cannot be told at once."""
        with suppress(OSError, ReconcileError):  # a folder that may only be read, a lock that somebody holds
            logged, dead = self.store.log().runs, self.store.list_open(wait_seconds=0).dead
            # What the log names is listed, and may be kept as it is; a run that failed meanwhile has no folder any more.
            return tuple(
                run for run in dead if run not in logged and name_building_folder(self.store.reports, run).is_dir()
            )
        return ()

    def verify(self, published: str | None) -> Verified:
        """The whole audit log and every file that it names; `published` is a head that must be in it.

        Raises AuditKeyError where lines are sealed with a key that the archive lacks.
        """
        return verify(self.store.reports, published, self.store.keys)

    def findings(self, run: str, *, tables: Collection[str], kinds: Collection[str]) -> FoundFindings:
        """Every finding of a sweep or run, read while it is used.

        Raises:
            UsageError: no such run, table or kind.
            RefusedError: the files are not what the audit log has of them.
            EvidenceError: the files are not what the result says; may come while reading.
        """
        wanted = choose_kinds(kinds)
        run_id = self.store.resolve(run, commands=COMPARED)
        chosen = select_tables(self.store.result(run_id), tables)
        self._refuse_changed(run_id, chosen, FINDINGS_FOLDER)
        warnings = [f"{table['name']}: not compared: {why}" for table in chosen for why in _gaps(table)]
        return FoundFindings(run_id, self._lines(run_id, chosen, wanted), tuple(warnings))

    def list_uncorrected(
        self, run: str, *, tables: Collection[str], kinds: Collection[str], reasons: Collection[str]
    ) -> FoundFindings:
        """What an apply left uncorrected, with the reason of each row, read while it is used.

        Raises:
            UsageError: no such run, table, kind or reason; or the run applied nothing.
            RefusedError: the files are not what the audit log has of them.
            EvidenceError: the files are not what the result says; may come while reading.
        """
        wanted, why = choose_kinds(kinds), choose_reasons(reasons)
        run_id = self.store.resolve(run, commands=APPLIED)
        document = self.store.result(run_id)
        chosen = [table for table in select_tables(document, tables) if table.get("uncorrected") is not None]
        if not chosen:
            raise UsageError(
                f"run {run_id} ({document['command']}) tells of no corrections that were left",
                fix="name a run that applied a plan: hudi-reconcile history",
            )
        self._refuse_changed(run_id, chosen, UNCORRECTED_FOLDER)
        warnings = [f"{table['name']}: {said}" for table in chosen for said in explain_unlisted(document, table)]
        without = [table for table in select_tables(document, tables) if table not in chosen]
        warnings += [f"{table['name']}: no list of what was left: {gap}" for table in without for gap in _gaps(table)]
        return FoundFindings(run_id, self._read_left_rows(run_id, chosen, wanted, why), tuple(warnings))

    def diff(self, pair: tuple[str, str], *, tables: Collection[str], kinds: Collection[str]) -> RunDiff:
        """Which findings came, went and stayed between two runs. Raises as `findings` does."""
        return diff_runs(self.store, pair, tables=tables, kinds=kinds)

    def plans(self, run: str, *, tables: Collection[str]) -> RunPlans:
        """The plans of a sweep or run, as this version words what they do.

        Raises UsageError where there is none, RefusedError where a file was edited.
        """
        run_id = self.store.resolve(run, commands=COMPARED)
        document = self.store.result(run_id)
        chosen = select_tables(document, tables)
        plans = [
            plan_document(plan)
            for table in chosen
            if (plan := read_plan(self.store, run_id, table["name"])) is not None
        ]
        if not plans:
            endings = ", ".join(f"{table['name']} {table['outcome']}" for table in chosen)
            raise UsageError(f"run {run_id} has no plan ({endings})", fix="make one: hudi-reconcile sweep")
        return RunPlans(document, plans)

    def write_report(
        self, run: str, output: Path | None, form: PageForm = "report", ask: AskLake | None = None
    ) -> tuple[str, Path]:
        """Make a page of a run's files: its report, that as PDF, its mail body, or the index of all tables as of that run.

        `ask` asks the lake what the run's corrections changed, for the report. A file of that name is replaced whole.

        Raises UsageError inside a run's folder, and where there is nothing that prints a PDF; RefusedError where the run's
        files are not what the audit log has of them.
        """
        run_id = self.store.resolve(run)
        path = output or Path(f"report-{run_id}.pdf" if form == "pdf" else f"{form}-{run_id}.html")
        if any((self.store.reports / run_id).resolve() == folder for folder in path.resolve().parents):
            raise UsageError(f"{path} is inside run {run_id}, which never changes", fix="name another file: -o FILE")
        page = self._page(run_id, form, path, ask)
        try:
            replace_file(path, print_page(page) if form == "pdf" else page.encode())
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}", fix="name another file: -o FILE") from error
        return run_id, path

    def _page(self, run_id: str, form: PageForm, path: Path, ask: AskLake | None) -> str:
        if form == "index":
            return compose_index(self.store, run_id, path.resolve().parent)
        self.store.refuse_changed(run_id, is_shown=lambda name: name != REPORT_FILE)
        document = self.store.result(run_id)
        if form == "mail":
            return compose_mail(
                document, {name: plan["guards"] for name, plan in read_plans(self.store, document).items()}
            )
        corrections = None if ask is None else ask(document)
        return render_page(self.store, document, self.store.reports / run_id, corrections)

    def history(self, tables: Collection[str]) -> Iterator[PastRun]:
        """The runs, newest first; one whose result is not what the audit log has of it is listed with that."""
        return list_history(self.store, tables=tables)

    def _refuse_changed(self, run_id: str, tables: Sequence[Document], folder: str) -> None:
        shown = tuple(f"{name_table_folder(table['name'])}/{folder}/" for table in tables)
        self.store.refuse_changed(run_id, is_shown=lambda name: name == RESULT_FILE or name.startswith(shown))

    def _read_left_rows(
        self, run_id: str, tables: Sequence[Document], kinds: Collection[str], reasons: Collection[str]
    ) -> Iterator[str]:
        for table in tables:
            folder = self.store.uncorrected_dir(run_id, table["name"])
            yield from read_uncorrected(folder, table["uncorrected"], kinds=kinds, reasons=reasons)

    def _lines(self, run_id: str, tables: Sequence[Document], kinds: Collection[str]) -> Iterator[str]:
        for table in tables:
            counts = {**table["findings"], **table["not_drift"]}
            folder = self.store.findings_dir(run_id, table["name"])
            yield from (finding.line for finding in read_findings(folder, counts, kinds=kinds))


def _gaps(table: Document) -> list[str]:
    if not table["unverified"] and table["error"] is None:
        return []
    return [why for why, _ in list_reasons(table)]


@dataclass(frozen=True, slots=True)
class TableDiff:
    """One table of both runs: its changes, read while they are used, and what a reader must know about them."""

    name: str
    changes: Callable[[], Iterator[ChangedFinding]]
    notes: tuple[str, ...]

    def counts(self) -> dict[str, dict[str, int]]:
        """How many findings of each kind were gained, lost and kept; kinds without any are left out."""
        counts = Counter((finding.change, finding.kind) for finding in self.changes())
        return {change: {kind: n for (c, kind), n in sorted(counts.items()) if c == change} for change in CHANGES}


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Two runs by id, and the tables that both compared."""

    runs: tuple[str, str]
    tables: tuple[TableDiff, ...]
    notes: tuple[str, ...]


def diff_runs(store: Store, pair: tuple[str, str], *, tables: Collection[str], kinds: Collection[str]) -> RunDiff:
    """Hold the findings of two sweeps or runs against each other, the first taken for the earlier.

    Raises:
        UsageError: no such run, table or kind, or no table in common.
        RefusedError: the files are not what the audit log has of them.
        EvidenceError: the files are not what the results say; may come while reading.
    """
    wanted = choose_kinds(kinds)
    first, second = (store.resolve(run, commands=COMPARED) for run in pair)
    for run in (first, second):
        store.refuse_changed(run, is_shown=_is_shown)
    before, after = ({table["name"]: table for table in store.result(run)["tables"]} for run in (first, second))
    common = [name for name in after if name in before]
    unknown = sorted(set(tables) - set(common))
    if unknown or not common:
        what = f"no table {', '.join(unknown)}" if unknown else "no table"
        fix = f"use one of {', '.join(common)}" if common else "choose other runs: hudi-reconcile history"
        raise UsageError(f"runs {first} and {second} have {what} in common", fix=fix)

    def findings(run: str, table: Document) -> Iterator[tuple[str, str]]:
        counts = {**table["findings"], **table["not_drift"]}
        wanted_findings = read_findings(store.findings_dir(run, table["name"]), counts, kinds=wanted)
        return ((finding.kind, finding.line) for finding in wanted_findings)

    def table_diff(name: str) -> TableDiff:
        ours, theirs = before[name], after[name]
        return TableDiff(
            name,
            lambda: compare_findings(lambda: findings(first, ours), findings(second, theirs)),
            _note_differences((first, second), ours, theirs),
        )

    alone = [f"{name} is in {run} only" for run, mine, other in ((first, before, after), (second, after, before))
             for name in mine if name not in other and not tables]  # fmt: skip
    chosen = [name for name in common if not tables or name in tables]
    return RunDiff((first, second), tuple(map(table_diff, chosen)), tuple(alone))


def _note_differences(runs: tuple[str, str], ours: Document, theirs: Document) -> tuple[str, ...]:
    """What may make findings seem gained or lost that were not: rows that one run did not compare, and other settings."""
    name = ours["name"]
    notes = [
        f"{run} did not compare all of {name}: {less}"
        for run, table, less in zip(runs, (ours, theirs), _LESS, strict=True)
        if not is_whole_comparison(table) or table["unverified"]
    ]
    if list_changed_settings(ours, theirs):
        other = f"{name} was compared by other settings, or with another source or lake"
        notes.append(f"{other}: what was gained or lost may be due to that")
    return tuple(notes)


def _is_shown(name: str) -> bool:
    return name == RESULT_FILE or f"/{FINDINGS_FOLDER}/" in name


_LESS = ("what was gained may have been there before", "what was lost may be there still")
