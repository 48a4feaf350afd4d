"""`audit verify | purge | lake` and `approve`: parse, one call to the app, render, exit code."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hudi_reconcile.cli.commands.look import complain_of_killed, open_room
from hudi_reconcile.cli.commands.work import build_call, print_result
from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings, run_argument, table_option
from hudi_reconcile.cli.streams import emit, emit_json, head
from hudi_reconcile.config.fields import duration_given
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome

if TYPE_CHECKING:
    from hudi_reconcile.app.audit import LakeCommit


@click.group()
def audit() -> None:
    """Verify the log of all runs, also against the lake; remove old runs."""


@audit.command()
@click.option("--head", "published", metavar="HASH", help="A head that was printed before: it must be in the log.")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The key that seals the log, where no config names it.",
)
@click.option("--lake", is_flag=True, help="Also hold the log against the heads that our commits in the lake carry.")
@click.option("--copies", is_flag=True, help="Check the copies in outputs.copy_to, which are fetched for it.")
@table_option
@format_option
@pass_settings
def verify(
    settings: Settings,
    published: str | None,
    *,
    key_file: Path | None,
    lake: bool,
    copies: bool,
    tables: tuple[str, ...],
    output_format: OutputFormat,
) -> Outcome:
    """Check every line of the log and every file of every run. Keep the printed head where nobody can change it."""
    if tables and not lake:
        raise UsageError("-t is for the lake's tables", fix="add --lake, or leave out -t: the log is one for all")
    if copies:
        from hudi_reconcile.app.audit import verify_copies  # noqa: PLC0415 - keeps the work rooms out of --help

        found = verify_copies(settings.load(), published, key_file)
    else:
        found = complain_of_killed(open_room(settings, key_file=key_file)).verify(published)
    if lake:
        from hudi_reconcile.app.audit import find_lake_flaws  # noqa: PLC0415 - keeps Spark out of --help

        found.flaws += find_lake_flaws(build_call(settings, tables))
    outcome = Outcome.DRIFT if found.flaws else Outcome.CLEAN
    if output_format == "json":
        emit_json({**head("audit verify", outcome), **asdict(found)})
        return outcome
    for flaw in found.flaws:
        where = "log" if flaw.line is None else f"line {flaw.line}"
        emit(f"{where}{'' if flaw.run_id is None else f', run {flaw.run_id}'}: {flaw.what}")
    for one in found.purges:
        emit(f"line {one.line}: {one.by} purged {len(one.runs)} runs at {one.at_utc}, {one.runs[0]} to {one.runs[-1]}")
    _emit_unproven(found.unproven, found.unproven_head)
    sealed = f", {found.sealed} lines sealed" if found.sealed else ""
    verdict, published_at = "NOT INTACT" if found.flaws else "intact", found.published_line
    emit(f"{verdict}: {found.lines} lines, {found.files} files{sealed}, head {found.head}")
    if published_at is not None:
        emit(f"the published head is that of {f'line {published_at}' if published_at else 'an empty log'}")
    return outcome


def _emit_unproven(count: int, last: str | None) -> None:
    if count:
        lines = "1 line is" if count == 1 else f"{count} lines are"
        emit(f"{lines} not sealed: audit.unsealed_head: {last} in the config, if that is the head you know")


@audit.command()
@click.option("--older-than", metavar="DURATION", help="Runs that began longer ago (365d). Default: audit.retention.")
@click.option("--yes", is_flag=True, help="Remove them. Without it the runs are only listed.")
@format_option
@pass_settings
def purge(settings: Settings, older_than: str | None, *, yes: bool, output_format: OutputFormat) -> Outcome:
    """List the runs that are old enough to go; with --yes remove them, and name each in the audit log."""
    from hudi_reconcile.app.audit import run_purge  # noqa: PLC0415 - keeps the work rooms out of --help

    age = None if older_than is None else duration_given("--older-than", older_than)
    found = run_purge(settings.load(), age, do=yes)
    runs = (*found.old.unfinished, *found.old.runs)
    if output_format == "json":
        about = {"before_utc": found.before_utc, "runs": runs, "bytes": found.old.bytes}
        emit_json({**head("audit purge", Outcome.CLEAN), **about, "purged": yes, "audit_head": found.head})
        return Outcome.CLEAN
    for run_id in runs:
        emit(run_id)
    told = f"{len(runs)} runs from before {found.before_utc}, {found.old.bytes:,} bytes"
    emit(f"purged {told}; head {found.head}" if yes else f"{told}: nothing was removed; add --yes to remove them")
    return Outcome.CLEAN


@audit.command()
@table_option
@format_option
@pass_settings
def lake(settings: Settings, tables: tuple[str, ...], output_format: OutputFormat) -> Outcome:
    """List our commits in the lake, each with its run and plan, and hold them against the log. Exits 1 where one does not fit."""
    from hudi_reconcile.app.audit import list_lake_commits  # noqa: PLC0415 - keeps Spark out of --help

    found = list_lake_commits(build_call(settings, tables))
    outcome = Outcome.DRIFT if any(one.flaws for one in found) else Outcome.CLEAN
    if output_format == "json":
        emit_json({**head("audit lake", outcome), "commits": [asdict(one) for one in found]})
        return outcome
    for one in found:
        emit(f"{one.table}  {one.instant}  {one.kind:<6} run {one.run_id}{_where(one)}")
        for what in one.flaws:
            emit(f"  NOT OK  {what}")
    emit(f"{'NOT INTACT' if outcome is Outcome.DRIFT else 'intact'}: {len(found)} commits of ours are not archived yet")
    return outcome


def _where(one: LakeCommit) -> str:
    named = {"plan": one.plan, "of sweep": one.sweep, "takes back": one.undoes}
    told = "".join(f", {name} {value}" for name, value in named.items() if value)
    line = "" if one.line is None else f" (line {one.line})"
    return f"{line}{told}{'' if one.after_line is None else f', after line {one.after_line}'}"


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
) -> Outcome | int:
    """Approve RUN's plans (a run id, or latest), exactly as they are, in the audit log. Writes no lake.

    Where policy.require_approval is true, apply refuses a plan without it. Look first: hudi-reconcile plan RUN
    """
    from hudi_reconcile.app.approve import run_approve, select_plans  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.app.run import Call  # noqa: PLC0415 - as above

    config = settings.load()
    found = select_plans(config, run, tables, ids)
    call = Call(config, str(settings.config_path), config.select(tuple(found)))
    return print_result(run_approve(call, found, name), output_format)
