"""`diff`: which findings came, went and stayed between two runs. Opens neither source nor lake nor Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.evidence_commands import room_of
from hudi_reconcile.cli.options import Settings, pass_settings, table_option
from hudi_reconcile.cli.streams import complain, emit, emit_data, emit_json
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.report.diff_text import change_line, diff_lines

if TYPE_CHECKING:
    from hudi_reconcile.app.diff import RunDiff


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
    found = room_of(settings).diff((run1, run2), tables=tables, kinds=kinds)
    if output_format == "json":
        emit_json(_document(found))
        return Outcome.CLEAN
    for note in (*found.notes, *(note for table in found.tables for note in table.notes)):
        complain(f"note: {note}")
    if output_format == "ndjson":
        for table in found.tables:
            for one in table.changes():
                emit_data(f"{change_line(one)}\n")
        return Outcome.CLEAN
    for table in found.tables:
        for line in diff_lines(table.name, table.counts(), table.changes()):
            emit(line)
    return Outcome.CLEAN


def _document(found: RunDiff) -> dict[str, object]:
    tables = [{"name": one.name, **one.counts(), "notes": list(one.notes)} for one in found.tables]
    return {**head("diff", Outcome.CLEAN), "runs": list(found.runs), "tables": tables, "notes": list(found.notes)}
