"""`approve`: parse, one call to the app, render, exit code."""

from __future__ import annotations

import click

from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings, run_argument, table_option
from hudi_reconcile.cli.work import told
from hudi_reconcile.core.outcome import Outcome


@click.command()
@run_argument
@table_option
@click.option("--as", "name", required=True, metavar="NAME", help="Who approves, as it shall stand in the audit log.")
@format_option
@pass_settings
def approve(
    settings: Settings, run: str, tables: tuple[str, ...], *, name: str, output_format: OutputFormat
) -> Outcome:
    """Approve RUN's plans (a run id, or latest), exactly as they are, in the audit log. Writes no lake.

    Where policy.require_approval is true, apply refuses a plan without it. Look first: hudi-reconcile plan RUN
    """
    from hudi_reconcile.app.approve import run_approve  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.app.commands import plans_of  # noqa: PLC0415 - as above
    from hudi_reconcile.app.run import Call  # noqa: PLC0415 - as above

    config = settings.load()
    found = plans_of(config, run, tables)
    call = Call(config, str(settings.config_path), config.select(tuple(found)))
    return told(run_approve(call, found, name), output_format)
