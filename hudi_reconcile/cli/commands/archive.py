"""`findings`, `plan`, `report`, `history` and `diff`: look at runs that are over.

Never opens the source; the lake and Spark only for `history --consumers` and `report --changes`.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from hudi_reconcile.cli.options import (
    DEFAULT_CONFIG,
    OutputFormat,
    Settings,
    format_option,
    pass_settings,
    run_argument,
    table_option,
)
from hudi_reconcile.cli.streams import complain, emit, emit_data, emit_json, head
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.report.page.trend import build_trend
from hudi_reconcile.report.text import (
    FindingsFormat,
    change_line,
    describe_consumer,
    describe_past_run,
    diff_lines,
    format_findings,
    format_uncorrected,
    plan_text,
)

if TYPE_CHECKING:
    from hudi_reconcile.app.archive import AskLake, RunArchive, RunDiff
    from hudi_reconcile.app.pages import PageForm
    from hudi_reconcile.config.model import Config


_DEFAULT_REPORTS = Path("reports")


@click.command()
@run_argument
@table_option
@click.option("--kind", "kinds", multiple=True, metavar="K", help="This kind only, repeatable. Default: all drift.")
@click.option(
    "--uncorrected", is_flag=True, help="Instead: what the apply of RUN left uncorrected, each row with its reason."
)
@click.option(
    "--reason", "reasons", multiple=True, metavar="R", help="With --uncorrected: this reason only, repeatable."
)
@click.option(
    "--format", "output_format", type=click.Choice(["table", "ndjson", "csv"]), default="table", show_default=True
)
@pass_settings
def findings(
    settings: Settings,
    run: str,
    *,
    tables: tuple[str, ...],
    kinds: tuple[str, ...],
    uncorrected: bool,
    reasons: tuple[str, ...],
    output_format: FindingsFormat,
) -> Outcome:
    """List every finding of RUN (a run id, or latest). Exits 0 when the run could be read."""
    archive = open_archive(settings)
    if uncorrected:
        listing = archive.list_uncorrected(run, tables=tables, kinds=kinds, reasons=reasons)
        lines, none = (
            format_uncorrected(listing.lines, output_format),
            "nothing of these kinds and reasons is listed as left",
        )
    elif reasons:
        raise UsageError("--reason is for what an apply left", fix="add --uncorrected, or leave out --reason")
    else:
        listing = archive.findings(run, tables=tables, kinds=kinds)
        lines, none = format_findings(listing.lines, output_format), "no findings of these kinds"
    for warning in listing.warnings:
        complain(f"note: {warning}")
    printed = False
    for line in lines:
        emit_data(f"{line}\n")
        printed = True
    if not printed:
        complain(f"{none} in run {listing.run_id}")
    return Outcome.CLEAN


@click.command()
@run_argument
@table_option
@format_option
@pass_settings
def plan(settings: Settings, run: str, *, tables: tuple[str, ...], output_format: OutputFormat) -> Outcome:
    """Show what apply would do with RUN's plan (a run id, or latest), and what its guards say."""
    from hudi_reconcile.app.approvals import plan_approvals  # noqa: PLC0415 - keeps the work rooms out of --help

    planned = open_archive(settings).plans(run, tables=tables)
    needed = plan_approvals(_find_config(settings), planned.plans)
    if output_format == "json":
        about = {"run_id": planned.run["run_id"], "plans": list(planned.plans), "approvals": dict(needed)}
        emit_json({**head("plan", Outcome.CLEAN), **about})
    else:
        emit("\n\n".join(plan_text(planned.run, document, needed.get(document["table"])) for document in planned.plans))
    return Outcome.CLEAN


@click.command()
@run_argument
@click.option(
    "-o",
    "--output",
    "output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: report-<run id>.html or .pdf; of an index or a mail, index- or mail-<run id>.html.",
)
@click.option("--index", "form", flag_value="index", help="Every table as of RUN instead, worst first.")
@click.option("--mail", "form", flag_value="mail", help="The body of a mail instead: no script, no style sheet.")
@click.option("--pdf", "form", flag_value="pdf", help="The report as PDF instead: needs Chromium or Chrome.")
@click.option("--changes", is_flag=True, help="Show what the corrections changed, before and after. Asks the lake.")
@format_option
@pass_settings
def report(
    settings: Settings,
    run: str,
    *,
    output: Path | None,
    form: PageForm | None,
    changes: bool,
    output_format: OutputFormat,
) -> Outcome:
    """Rebuild the HTML report of RUN (a run id, or latest) from the run's files."""
    if changes and form not in (None, "pdf"):
        raise UsageError(f"--changes is for the report, not for --{form}", fix=f"leave out --{form}")
    ask = _asking(settings) if changes else None
    run_id, path = open_archive(settings).write_report(run, output, form or "report", ask)
    if output_format == "json":
        emit_json({**head("report", Outcome.CLEAN), "run_id": run_id, "path": str(path)})
    else:
        emit(str(path))
    return Outcome.CLEAN


@click.command()
@table_option
@click.option("--consumers", is_flag=True, help="Instead: how far the consumers of changes are behind. Asks the lake.")
@format_option
@pass_settings
def history(settings: Settings, *, tables: tuple[str, ...], consumers: bool, output_format: OutputFormat) -> Outcome:
    """List runs and their outcomes, newest first; of the tables of -t, how drift went over their comparisons."""
    if consumers:
        return _consumers(settings, tables, output_format)
    runs = complain_of_killed(open_archive(settings)).history(tables)
    if output_format == "json":
        listed = [past.document for past in runs]
        trends = {name: asdict(trend) for name in tables if (trend := build_trend(name, listed)) is not None}
        emit_json({**head("history", Outcome.CLEAN), "runs": listed, "trends": trends})
        return Outcome.CLEAN
    printed, kept = False, []
    for past in runs:
        kept += [past.document] if tables else []
        emit("\n".join(describe_past_run(past.document)))
        printed = True
    for name in tables:
        if (trend := build_trend(name, kept)) is not None:
            emit(f"{name}: {trend.sentence} {trend.last_whole} {trend.last_right}")
    if not printed:
        complain("no runs yet")
    return Outcome.CLEAN


def _asking(settings: Settings) -> AskLake:
    from hudi_reconcile.app.corrected import read_corrected_rows  # noqa: PLC0415 - keeps Spark out of --help

    return partial(read_corrected_rows, settings.load())


def _consumers(settings: Settings, tables: tuple[str, ...], output_format: OutputFormat) -> Outcome:
    from hudi_reconcile.app.change_consumers import measure_lags  # noqa: PLC0415 - keeps Spark out of --help

    lags = [
        {"table": table, **lag.document}
        for table, all_ in measure_lags(settings.load(), tables).items()
        for lag in all_
    ]
    if output_format == "json":
        emit_json({**head("history", Outcome.CLEAN), "consumers": lags})
        return Outcome.CLEAN
    for lag in lags:
        emit(describe_consumer(lag))
    if not lags:
        complain("no consumers: changes --consumer NAME --commit-position makes one")
    return Outcome.CLEAN


def _find_config(settings: Settings) -> Config | None:
    """The config; None where there is none but its default reports folder."""
    without_config = settings.is_plain and not DEFAULT_CONFIG.exists()
    return None if without_config and _DEFAULT_REPORTS.is_dir() else settings.load()


def open_archive(settings: Settings, *, key_file: Path | None = None) -> RunArchive:
    """The reports folder of the config; `./reports` where there is no config, as `pull --props` leaves it.

    With the keys that seal the audit log, those of the config, or that of a file in their place: without them nobody can
    tell a run of ours from a forged one.
    """
    from hudi_reconcile.app.archive import RunArchive  # noqa: PLC0415 - keeps the work rooms out of --help

    config = _find_config(settings)
    return RunArchive.of(_DEFAULT_REPORTS if config is None else config.reports).choose_keys(config, key_file)


def complain_of_killed(archive: RunArchive) -> RunArchive:
    """Name on stderr the runs that were killed and not ended, which no list has yet; returns the same archive."""
    for run_id in archive.list_killed():
        complain(
            f"run {run_id} was killed: the next command that works on tables ends its folder; its commits: "
            "hudi-reconcile audit lake"
        )
    return archive


@click.command()
@click.argument("run1", metavar="RUN1")
@click.argument("run2", metavar="RUN2")
@table_option
@click.option("--kind", "kinds", multiple=True, metavar="K", help="This kind only, repeatable. Default: all drift.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "ndjson"]),
    default="text",
    show_default=True,
    help="json: counts as one document. ndjson: each finding with what became of it.",
)
@pass_settings
def diff(
    settings: Settings,
    run1: str,
    run2: str,
    *,
    tables: tuple[str, ...],
    kinds: tuple[str, ...],
    output_format: Literal["text", "json", "ndjson"],
) -> Outcome:
    """Show which findings RUN2 has gained, lost and kept since RUN1 (run ids, or latest). Exits 0 when both could be read."""
    run_diff = open_archive(settings).diff((run1, run2), tables=tables, kinds=kinds)
    if output_format == "json":
        emit_json(_document(run_diff))
        return Outcome.CLEAN
    for note in (*run_diff.notes, *(note for table in run_diff.tables for note in table.notes)):
        complain(f"note: {note}")
    if output_format == "ndjson":
        for table in run_diff.tables:
            for change in table.changes():
                emit_data(f"{change_line(change)}\n")
        return Outcome.CLEAN
    for table in run_diff.tables:
        for line in diff_lines(table.name, table.counts(), table.changes()):
            emit(line)
    return Outcome.CLEAN


def _document(run_diff: RunDiff) -> dict[str, object]:
    tables = [{"name": table.name, **table.counts(), "notes": list(table.notes)} for table in run_diff.tables]
    return {**head("diff", Outcome.CLEAN), "runs": list(run_diff.runs), "tables": tables, "notes": list(run_diff.notes)}
