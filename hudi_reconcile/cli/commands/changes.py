"""`changes`: parse, one call to the app, render, exit code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from hudi_reconcile import __version__
from hudi_reconcile.cli.options import Settings, pass_settings
from hudi_reconcile.cli.streams import complain, emit_data, emit_json, flush, head
from hudi_reconcile.core.changes.consumers import check_name
from hudi_reconcile.core.changes.queries import QUERY_TYPES, Envelope, LogReader, QueryType
from hudi_reconcile.core.changes.range import EARLIEST, LATEST
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.report.text import ChangesFormat, format_changes
from hudi_reconcile.report.words.verdict import count_text

if TYPE_CHECKING:
    from hudi_reconcile.app.changes import Answered, TargetTable
    from hudi_reconcile.config.model import Config
    from hudi_reconcile.config.tables import TableConfig


_KEPT_IN_STEP = ("postgresql", "postgres")
_DATABASES = (*_KEPT_IN_STEP, "mysql", "mariadb", "oracle", "mssql", "sqlite")
_INTO_DATABASE = "--into postgresql+psycopg://user@host/database --into-table schema.table"


@click.command()
@click.option("-t", "--table", "table", metavar="T", help="Table by its config name.")
@click.option("--path", metavar="TABLE", help="Instead: a Hudi table by its path or URI; no config is read.")
@click.option("--type", "kind", required=True, type=click.Choice(QUERY_TYPES), help="Which changes.")
@click.option("--from", "start", default=EARLIEST, show_default=True, metavar="I", help="Completed after this instant.")
@click.option(
    "--to", "end", default=LATEST, show_default=True, metavar="I", help="Completed at this instant or before."
)
@click.option("--corrections-only", is_flag=True, help="Only what a corrective commit of this tool changed.")
@click.option("--from-log", is_flag=True, help="From Hudi's own change log, or not at all.")
@click.option("--from-files", is_flag=True, help="From the file versions, whatever change log there is.")
@click.option(
    "--soft-deletes",
    metavar="all-null|COLUMN",
    help="Rows count as deleted that are all NULL but for key, partition and ordering, or true in this boolean column.",
)
@click.option(
    "--check-keys", is_flag=True, help="Count keys that files hold as well which no commit of the range wrote."
)
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
    help="Instead of printing: Parquet into DIR/after=…/upto=…, or a PostgreSQL table kept in step (with --into-table).",
)
@click.option("--into-table", metavar="T", help="The table of --into postgresql+psycopg://user@host/database.")
@click.option(
    "--insecure", is_flag=True, help="With --into URL: off this machine too, a server whose certificate nobody checked."
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "ndjson", "debezium", "json"]),
    default="table",
    show_default=True,
)
@pass_settings
def changes(
    settings: Settings, table: str | None, path: str | None, kind: QueryType, **given: Unpack[_Options]
) -> Outcome:
    """List what changed in a table between two instants, and what of it was a correction.

    Instants are completion times: Hudi's (yyyyMMddHHmmssSSS), ISO times in UTC, earliest or latest. What cannot be answered
    exactly is not answered: exit 2 with the reason and, where history is gone, the first usable instant.
    """
    from hudi_reconcile.app.change_consumers import Feeding, feed  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.app.changes import ChangeQuery, parse_target, query  # noqa: PLC0415

    into, consumer, output_format = given["into"], given["consumer"], given["output_format"]
    _check_consumer(consumer, output_format, commit=given["commit_position"], prints=into is None)
    _check_into(into, given["into_table"])
    if given["into_table"] is not None:
        _check_kept_in_step(kind, given)
    config, chosen = _choose(settings, table, path)
    asked = replace(
        ChangeQuery.of(chosen, kind, given["start"], given["end"]),
        corrections_only=given["corrections_only"],
        merge=given["merge"],
        reader=_reader(from_log=given["from_log"], from_files=given["from_files"]),
        soft_deletes=given["soft_deletes"],
        check_keys=given["check_keys"],
        by_key=given["into_table"] is not None,
    )
    target = (
        None
        if into is None or given["into_table"] is None
        else parse_target(into, given["into_table"], insecure=given["insecure"])
    )
    output = _Output(chosen.name, kind, output_format, into, target)
    output.begin()
    if consumer is None:
        query(config, asked, output.deliver)
    else:
        moves = given["commit_position"]
        feed(config, asked, Feeding(check_name(consumer), moves, into is None, target), output.deliver)
    output.end()
    return Outcome.CLEAN


class _Options(TypedDict):
    """The options but the table and the type."""

    start: str
    end: str
    corrections_only: bool
    from_log: bool
    from_files: bool
    soft_deletes: str | None
    check_keys: bool
    merge: Literal["skip_merge", "payload_combine"] | None
    consumer: str | None
    commit_position: bool
    into: str | None
    into_table: str | None
    insecure: bool
    output_format: ChangesFormat


@dataclass(frozen=True, slots=True)
class _Output:
    """Where an answer goes: to stdout in a format, or into a folder."""

    table: str
    kind: QueryType
    how: ChangesFormat
    into: str | None
    target: TargetTable | None
    delivered: list[dict[str, str]] = field(default_factory=list)

    def begin(self) -> None:
        """Say first what nobody checks."""
        if self.target is not None and (warning := self.target.transport.warning):
            complain(f"NOT CHECKED  --insecure: {warning}")

    def deliver(self, answer: Answered) -> None:
        """Hand over the whole answer; returns once it is out of this process."""
        for note in answer.notes:
            complain(f"note: {note}")
        span = {"from": answer.span.after or EARLIEST, "to": answer.span.upto or EARLIEST}
        if self.target is not None:
            count = answer.apply(self.target)
            complain(f"{self.target.table}: {count_text(count, 'key')} changed, up to {span['to']}")
            self.delivered.append(span)
            return
        if self.into is not None:
            answer.save(self.into)
            self.delivered.append(span)
            return
        for note in answer.masks.notes:
            complain(f"note: {note}")
        printed = False
        for line in format_changes(answer.lines(self._envelope()), self.how, {**self._head(), **span}):
            emit_data(f"{line}\n")
            printed = True
        flush()
        if not printed:
            complain(f"nothing changed in {self.table} in this range")

    def end(self) -> None:
        """What json promises of a call that prints no change: one document all the same."""
        if self.into is not None and self.how == "json":
            emit_json({**self._head(), "delivered": self.delivered})

    def _envelope(self) -> Envelope | None:
        return Envelope(self.table, __version__) if self.how == "debezium" else None

    def _head(self) -> dict[str, object]:
        return {**head("changes", Outcome.CLEAN), "table": self.table, "type": self.kind}


def _choose(settings: Settings, table: str | None, path: str | None) -> tuple[Config | None, TableConfig]:
    """The table that is asked, with its config or by its path alone."""
    from hudi_reconcile.app.changes import choose_table  # noqa: PLC0415 - keeps Spark out of --help

    chosen = choose_table(table, path)
    if isinstance(chosen, str):
        config = settings.load()
        return config, config.table(chosen)
    if not settings.is_plain:
        raise UsageError(
            "--path reads no config: -c, --profile and --set would change nothing", fix="leave them out, or ask by -t T"
        )
    return None, chosen


def _check_consumer(consumer: str | None, how: ChangesFormat, *, commit: bool, prints: bool) -> None:
    if consumer is None and commit:
        raise UsageError("--commit-position is for a consumer's position", fix="name the consumer: --consumer NAME")
    if consumer is not None and prints and how not in ("ndjson", "debezium"):
        raise UsageError("a consumer reads --format ndjson or debezium, or Parquet --into DIR", fix="--format ndjson")


def _check_into(into: str | None, table: str | None) -> None:
    scheme, _, rest = (into or "").partition(":")
    engine, plus, _ = scheme.lower().partition("+")
    is_url = rest.startswith("//") and (bool(plus) or engine in _DATABASES)
    if scheme == "jdbc" or (is_url and engine not in _KEPT_IN_STEP):
        raise UsageError(f"--into {scheme}: only a PostgreSQL table is kept in step", fix=_INTO_DATABASE)
    if is_url != (table is not None):
        raise UsageError("a database takes --into URL and --into-table together", fix=_INTO_DATABASE)


def _reader(*, from_log: bool, from_files: bool) -> LogReader | None:
    if from_log and from_files:
        raise UsageError("--from-log and --from-files contradict each other", fix="give one of them, or neither")
    return "log" if from_log else "files" if from_files else None


def _check_kept_in_step(kind: QueryType, given: _Options) -> None:
    if kind != "min-delta" or given["corrections_only"]:
        what = kind if kind != "min-delta" else "corrections alone"
        raise UsageError(f"a table is kept in step by net changes, not by {what}", fix="--type min-delta")
    if given["consumer"] is None or not given["commit_position"]:
        # The net of a longer range leaves out what came in a shorter one and has gone since: the table would keep it.
        raise UsageError(
            "a table is kept in step from where it is, which only a consumer's position tells",
            fix="--consumer NAME --commit-position",
        )
