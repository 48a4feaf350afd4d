"""`audit verify`: is every line of the log, and every file of every run, what it was? Exits 1 where it is not."""

from __future__ import annotations

from dataclasses import asdict

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.evidence_commands import room_of
from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings
from hudi_reconcile.cli.streams import emit, emit_json
from hudi_reconcile.core.outcome import Outcome


@click.group()
def audit() -> None:
    """Verify the log of all runs."""


@audit.command()
@click.option("--head", "published", metavar="HASH", help="A head that was printed before: it must be in the log.")
@format_option
@pass_settings
def verify(settings: Settings, published: str | None, *, output_format: OutputFormat) -> Outcome:
    """Check every line of the log and every file of every run. Keep the printed head where nobody can change it."""
    found = room_of(settings).verify(published)
    outcome = Outcome.DRIFT if found.flaws else Outcome.CLEAN
    if output_format == "json":
        emit_json({**head("audit verify", outcome), **asdict(found)})
        return outcome
    for flaw in found.flaws:
        where = "log" if flaw.line is None else f"line {flaw.line}"
        emit(f"{where}{'' if flaw.run_id is None else f', run {flaw.run_id}'}: {flaw.what}")
    emit(f"{'NOT INTACT' if found.flaws else 'intact'}: {found.lines} lines, {found.files} files, head {found.head}")
    return outcome
