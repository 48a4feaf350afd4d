"""`audit verify | purge | lake` and `approve`: parse, one call to the app, render, exit code."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hudi_reconcile.cli.commands.archive import complain_of_killed, open_archive
from hudi_reconcile.cli.commands.work import build_call, print_result
from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings, run_argument, table_option
from hudi_reconcile.cli.streams import emit, emit_json, head
from hudi_reconcile.config.fields import duration_given
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.report.words.verdict import count_text

if TYPE_CHECKING:
    from hudi_reconcile.app.audit import LakeCommit, LakeProof


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

        verification = verify_copies(settings.load(), published, key_file)
    else:
        verification = complain_of_killed(open_archive(settings, key_file=key_file)).verify(published)
    proof = _prove_by_lake(settings, tables) if lake else None
    verification.flaws += () if proof is None else proof.flaws
    outcome = Outcome.DRIFT if verification.flaws else Outcome.CLEAN
    if output_format == "json":
        more = {} if proof is None else {"lake_commits": proof.commits}
        emit_json({**head("audit verify", outcome), **asdict(verification), **more})
        return outcome
    for flaw in verification.flaws:
        where = "log" if flaw.line is None else f"line {flaw.line}"
        emit(f"{where}{'' if flaw.run_id is None else f', run {flaw.run_id}'}: {flaw.what}")
    for removal in verification.purges:
        runs = f"{len(removal.runs)} runs at {removal.at_utc}, {removal.runs[0]} to {removal.runs[-1]}"
        emit(f"line {removal.line}: {removal.by} purged {runs}")
    _emit_unproven(verification.unproven, verification.unproven_head)
    sealed = f", {verification.sealed} lines sealed" if verification.sealed else ""
    sealed += "" if proof is None else f", {count_text(proof.commits, 'commit')} in the lake"
    verdict, published_at = "NOT INTACT" if verification.flaws else "intact", verification.published_line
    emit(f"{verdict}: {verification.lines} lines, {verification.files} files{sealed}, head {verification.head}")
    if published_at is not None:
        emit(f"the published head is that of {f'line {published_at}' if published_at else 'an empty log'}")
    return outcome


def _prove_by_lake(settings: Settings, tables: tuple[str, ...]) -> LakeProof:
    from hudi_reconcile.app.audit import prove_by_lake  # noqa: PLC0415 - keeps Spark out of --help

    return prove_by_lake(build_call(settings, tables))


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
    removal = run_purge(settings.load(), age, do=yes)
    runs = (*removal.old.unfinished, *removal.old.runs)
    if output_format == "json":
        about = {"before_utc": removal.before_utc, "runs": runs, "bytes": removal.old.bytes}
        emit_json({**head("audit purge", Outcome.CLEAN), **about, "purged": yes, "audit_head": removal.head})
        return Outcome.CLEAN
    for run_id in runs:
        emit(run_id)
    summary = f"{len(runs)} runs from before {removal.before_utc}, {removal.old.bytes:,} bytes"
    emit(
        f"purged {summary}; head {removal.head}" if yes else f"{summary}: nothing was removed; add --yes to remove them"
    )
    return Outcome.CLEAN


@audit.command()
@table_option
@format_option
@pass_settings
def lake(settings: Settings, tables: tuple[str, ...], output_format: OutputFormat) -> Outcome:
    """List our commits in the lake, each with its run and plan, and hold them against the log. Exits 1 where one does not fit."""
    from hudi_reconcile.app.audit import list_lake_commits  # noqa: PLC0415 - keeps Spark out of --help

    commits = list_lake_commits(build_call(settings, tables))
    outcome = Outcome.DRIFT if any(commit.flaws for commit in commits) else Outcome.CLEAN
    if output_format == "json":
        emit_json({**head("audit lake", outcome), "commits": [asdict(commit) for commit in commits]})
        return outcome
    for commit in commits:
        emit(f"{commit.table}  {commit.instant}  {commit.kind:<6} run {commit.run_id}{_where(commit)}")
        for what in commit.flaws:
            emit(f"  NOT OK  {what}")
    emit(
        f"{'NOT INTACT' if outcome is Outcome.DRIFT else 'intact'}: {len(commits)} commits of ours are not archived yet"
    )
    return outcome


def _where(commit: LakeCommit) -> str:
    named = {"plan": commit.plan, "of sweep": commit.sweep, "takes back": commit.undoes}
    details = "".join(f", {name} {value}" for name, value in named.items() if value)
    line = "" if commit.line is None else f" (line {commit.line})"
    return f"{line}{details}{'' if commit.after_line is None else f', after line {commit.after_line}'}"


_FEWEST_DIGITS = 8


def _ids(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for plan_id in given:
        if len(plan_id) < _FEWEST_DIGITS:
            raise UsageError(f"--plan {plan_id!r} is too short to name one plan", fix="its first 8 digits or more")
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
    plan_files = select_plans(config, run, tables, ids)
    call = Call(config, str(settings.config_path), config.select(tuple(plan_files)))
    return print_result(run_approve(call, plan_files, name), output_format)
