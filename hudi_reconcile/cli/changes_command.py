"""`changes`: parse, one call to the app, render, exit code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.options import Settings, pass_settings
from hudi_reconcile.cli.streams import complain, emit_data, flush
from hudi_reconcile.core.change_range import EARLIEST, LATEST
from hudi_reconcile.core.changes import QUERY_TYPES, QueryType
from hudi_reconcile.core.consumers import checked_name
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.report.changes import ChangesFormat, format_changes

if TYPE_CHECKING:
    from hudi_reconcile.app.changes import Answered


@click.command()
@click.option("-t", "--table", "table", required=True, metavar="T", help="Table by its config name.")
@click.option("--type", "kind", required=True, type=click.Choice(QUERY_TYPES), help="Which changes.")
@click.option("--from", "start", default=EARLIEST, show_default=True, metavar="I", help="Completed after this instant.")
@click.option(
    "--to", "end", default=LATEST, show_default=True, metavar="I", help="Completed at this instant or before."
)
@click.option("--corrections-only", is_flag=True, help="Only what a corrective commit of this tool changed.")
@click.option(
    "--merge",
    type=click.Choice(["skip_merge", "payload_combine"]),
    help="merge_on_read, type upsert: Hudi's own rows, as they lie in the files or merged.",
)
@click.option("--consumer", metavar="NAME", help="Only what came after this consumer's stored position.")
@click.option("--commit-position", is_flag=True, help="Move the consumer's position on once all is delivered.")
@click.option(
    "--into",
    metavar="DIR|URL",
    help="Instead of printing: Parquet into DIR/upto=<instant>, or a PostgreSQL table kept in step (with --into-table).",
)
@click.option("--into-table", metavar="T", help="The table of --into postgresql+psycopg://user@host/database.")
@click.option(
    "--format", "output_format", type=click.Choice(["table", "ndjson", "json"]), default="table", show_default=True
)
@pass_settings
def changes(
    settings: Settings,
    table: str,
    kind: QueryType,
    *,
    start: str,
    end: str,
    corrections_only: bool,
    merge: Literal["skip_merge", "payload_combine"] | None,
    consumer: str | None,
    commit_position: bool,
    into: str | None,
    into_table: str | None,
    output_format: ChangesFormat,
) -> Outcome:
    """List what changed in a table between two instants, and what of it was a correction.

    Instants are completion times: Hudi's (yyyyMMddHHmmssSSS), ISO times in UTC, earliest or latest. What cannot be answered
    exactly is not answered: exit 2 with the reason and, where history is gone, the first usable instant.
    """
    from hudi_reconcile.app.changes import Asked, feed, query  # noqa: PLC0415 - keeps Spark out of --help

    _check_consumer(consumer, output_format, commit=commit_position, prints=into is None)
    _check_into(into, into_table, kind)
    config = settings.load()
    asked = replace(Asked.of(config.table(table), kind, start, end), corrections_only=corrections_only, merge=merge)
    output = _Output(table, kind, output_format, into, into_table)
    if consumer is None:
        query(config, asked, output.deliver)
    else:
        feed(config, asked, checked_name(consumer), output.deliver, commit=commit_position)
    return Outcome.CLEAN


@dataclass(frozen=True, slots=True)
class _Output:
    """Where an answer goes: to stdout in a format, or into a folder."""

    table: str
    kind: QueryType
    how: ChangesFormat
    into: str | None
    into_table: str | None

    def deliver(self, found: Answered) -> None:
        """Hand over the whole answer; returns once it is out of this process."""
        for note in found.notes:
            complain(f"note: {note}")
        if self.into is not None and self.into_table is not None:
            count = found.apply(self.into, self.into_table)
            complain(f"{self.into_table}: {count} keys changed, up to {found.span.upto}")
            return
        if self.into is not None:
            found.save(self.into)
            return
        asked_for = {"table": self.table, "type": self.kind, "from": found.span.after, "to": found.span.upto}
        printed = False
        for line in format_changes(found.lines(), self.how, {**head("changes", Outcome.CLEAN), **asked_for}):
            emit_data(f"{line}\n")
            printed = True
        flush()
        if not printed:
            complain(f"nothing changed in {self.table} in this range")


def _check_consumer(consumer: str | None, how: ChangesFormat, *, commit: bool, prints: bool) -> None:
    if consumer is None and commit:
        raise UsageError("--commit-position is for a consumer's position", fix="name the consumer: --consumer NAME")
    if consumer is not None and prints and how != "ndjson":
        raise UsageError("a consumer reads --format ndjson, or Parquet --into DIR", fix="--format ndjson")


def _check_into(into: str | None, table: str | None, kind: QueryType) -> None:
    is_database = into is not None and into.partition(":")[0].partition("+")[0] in ("postgresql", "postgres")
    if is_database != (table is not None):
        raise UsageError(
            "a database takes --into URL and --into-table together",
            fix="--into postgresql+psycopg://user@host/database --into-table schema.table",
        )
    if is_database and kind != "min-delta":
        raise UsageError(f"a table is kept in step by net changes, not by {kind}", fix="--type min-delta")
