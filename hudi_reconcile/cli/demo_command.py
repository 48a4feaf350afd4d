"""`demo`: the whole story on an embedded PostgreSQL and a real Hudi table, told while it happens."""

from __future__ import annotations

from pathlib import Path

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.options import OutputFormat, format_option
from hudi_reconcile.cli.streams import complain, emit, emit_json
from hudi_reconcile.core.outcome import Outcome


@click.command()
@click.option("--rows", type=int, default=20_000, show_default=True, metavar="N", help="Orders in the shop.")
@click.option(
    "--keep",
    "keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new folder for config, Hudi table and reports. Without it only the reports are left, in a temporary folder.",
)
@format_option
def demo(rows: int, keep: Path | None, output_format: OutputFormat) -> Outcome:
    """Pull, drift, sweep, plan, apply and proof on a PostgreSQL and a Hudi table of its own. Needs no config."""
    from hudi_reconcile.app.demo import run_demo  # noqa: PLC0415 - keeps the work rooms out of --help

    as_json = output_format == "json"
    told = run_demo(rows, keep, complain if as_json else emit)
    if as_json:
        reports = [{"command": one.command, "outcome": one.outcome, "path": str(one.report)} for one in told.runs]
        emit_json({**head("demo", Outcome.CLEAN), "folder": str(told.folder), "rows": rows, "reports": reports})
    return Outcome.CLEAN
