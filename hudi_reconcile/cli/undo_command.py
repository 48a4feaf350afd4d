"""`undo`: parse, one call to the app, render, exit code."""

from __future__ import annotations

import click

from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings, run_argument, table_option
from hudi_reconcile.cli.work import ask, told
from hudi_reconcile.core.outcome import Outcome


@click.command()
@run_argument
@table_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option
@pass_settings
def undo(settings: Settings, run: str, tables: tuple[str, ...], *, yes: bool, output_format: OutputFormat) -> Outcome:
    """Take back what an apply (or `run --apply`) changed, in one commit, for rows that nobody touched since.

    The rows from before come from the lake's own history: at most 10 commits back, or as far as its savepoint. Exit
    codes as of apply. The source still differs, so the next sweep finds the rows again. A run that was killed left no
    report: its commits are found in the lake by the run's id, in every table or in those named with -t.
    """
    from hudi_reconcile.app.run import Call  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.app.undo import applied_by, run_undo  # noqa: PLC0415 - as above

    config = settings.load()
    run_id, found = applied_by(config, run, tables)
    if not yes:
        rows = {name: "what" if many is None else f"{many} rows that" for name, many in found.items()}
        what = "; ".join(f"{name}: {many} run {run_id} wrote" for name, many in rows.items())
        killed = None in found.values()  # such a run has no report
        ask(what, command="undo", look="hudi-reconcile history" if killed else f"hudi-reconcile report {run_id}")
    return told(run_undo(Call(config, str(settings.config_path), config.select(tuple(found))), run_id), output_format)
