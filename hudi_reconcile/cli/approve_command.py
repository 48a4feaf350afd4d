"""`approve`: parse, one call to the app, render, exit code."""

from __future__ import annotations

import click

from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings, run_argument, table_option
from hudi_reconcile.cli.work import told
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome

_FEWEST_DIGITS = 8


def _ids(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for one in given:
        if len(one) < _FEWEST_DIGITS:
            raise UsageError(f"--plan {one!r} is too short to name one plan", fix="its first 8 digits or more")
    return given


@click.command()
@run_argument
@table_option
@click.option("--as", "name", required=True, metavar="NAME", help="Who approves, as it shall stand in the audit log.")
@click.option(
    "--plan",
    "ids",
    multiple=True,
    metavar="ID",
    callback=_ids,
    help="Approve only the plan with this id, or one that begins so (8 digits or more), as `plan` shows it; repeatable.",
)
@format_option
@pass_settings
def approve(
    settings: Settings,
    run: str,
    tables: tuple[str, ...],
    *,
    name: str,
    ids: tuple[str, ...],
    output_format: OutputFormat,
) -> Outcome:
    """Approve RUN's plans (a run id, or latest), exactly as they are, in the audit log. Writes no lake.

    Where policy.require_approval is true, apply refuses a plan without it. Look first: hudi-reconcile plan RUN
    """
    from hudi_reconcile.app.approve import plans_to_approve, run_approve  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.app.run import Call  # noqa: PLC0415 - as above

    config = settings.load()
    found = plans_to_approve(config, run, tables, ids)
    call = Call(config, str(settings.config_path), config.select(tuple(found)))
    return told(run_approve(call, found, name), output_format)
