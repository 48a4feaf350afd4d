"""`state show | set | reset`: the checkpoint of a table, and another one in an empty commit that says by whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings, table_option
from hudi_reconcile.cli.streams import emit, emit_json
from hudi_reconcile.cli.work import ask, call_of, told
from hudi_reconcile.core.outcome import Outcome

_one_table = click.option("-t", "--table", "table", required=True, metavar="T", help="Table by its config name.")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group()
def state() -> None:
    """Show or set the checkpoint of a table."""


@state.command()
@table_option
@format_option
@pass_settings
def show(settings: Settings, tables: tuple[str, ...], output_format: OutputFormat) -> Outcome:
    """Print each table's checkpoint and the commit that carries it; of HoodieStreamer's tables, its own."""
    from hudi_reconcile.app.state import show_state  # noqa: PLC0415 - keeps Spark out of --help

    found = show_state(call_of(settings, tables))
    if output_format == "json":
        emit_json({**head("state show", Outcome.CLEAN), "tables": list(found)})
    else:
        emit("\n".join(line for one in found for line in _lines(one)))
    return Outcome.CLEAN


@state.command("set")
@_one_table
@click.option("--checkpoint", required=True, metavar="VALUE", help="The next pull reads what is after it.")
@_yes
@format_option
@pass_settings
def set_(settings: Settings, table: str, checkpoint: str, *, yes: bool, output_format: OutputFormat) -> Outcome:
    """Commit another checkpoint, and no row. What lies between the old and a later one is the sweep's to find."""
    return _set(settings, table, checkpoint, yes=yes, output_format=output_format)


@state.command()
@_one_table
@_yes
@format_option
@pass_settings
def reset(settings: Settings, table: str, *, yes: bool, output_format: OutputFormat) -> Outcome:
    """Commit that nothing was pulled yet: the next pull reads from the beginning."""
    return _set(settings, table, None, yes=yes, output_format=output_format)


def _set(settings: Settings, table: str, value: str | None, *, yes: bool, output_format: OutputFormat) -> Outcome:
    from hudi_reconcile.app.state import run_set_state  # noqa: PLC0415 - keeps Spark out of --help

    call = call_of(settings, (table,))
    if not yes:
        what = f"{table}: the checkpoint becomes {'none' if value is None else value}"
        ask(what, command="state", look=f"hudi-reconcile state show -t {table}")
    return told(run_set_state(call, value), output_format)


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    if not one["exists"]:
        yield f"{one['name']}: there is no Hudi table at {one['path']} yet"
        return
    yield f"{one['name']}: {one['checkpoint'] or 'no checkpoint'}  ({one['path']}, made by {one['made_by']})"
    if one["instant"] is not None:
        by = ", ".join(one["watermark"]) or "none"
        yield f"  in commit {one['instant']}, strategy {one['strategy']}, watermark {by}, of {one['source_identity']}"
    if one["streamer"] is not None:
        streamer = one["streamer"]
        yield f"  HoodieStreamer: {streamer['checkpoint']}  ({streamer['key']} in commit {streamer['instant']})"
    ordering = ", ".join(one["ordering_fields"]) or "none"
    yield f"  key {', '.join(one['record_key'])}, ordering field {ordering}, key generator {one['key_generator'] or 'not told'}"
