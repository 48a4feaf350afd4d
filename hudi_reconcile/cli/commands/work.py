"""`pull`, `sweep`, `apply`, `run`, `undo` and `state`: parse, one call to the app, render, exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hudi_reconcile.cli.options import (
    DEFAULT_CONFIG,
    OutputFormat,
    Settings,
    choice_options,
    dead_writer_option,
    format_option,
    jobs_option,
    pass_settings,
    run_argument,
    table_option,
)
from hudi_reconcile.cli.streams import complain, emit, emit_json, head, report_complaint
from hudi_reconcile.config.fields import duration_given
from hudi_reconcile.config.selection import TableChoice
from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.guards import ACCEPTABLE
from hudi_reconcile.core.pull.source_lineage import WORDS

if TYPE_CHECKING:
    from hudi_reconcile.app.dry_runs import DryRun
    from hudi_reconcile.app.run import Call, Finished
    from hudi_reconcile.core.result import TableResult
    from hudi_reconcile.core.result_parts import Failure

_NAMED = 3


@click.command()
@choice_options
@jobs_option
@click.option("--full", is_flag=True, help="Read every row, whatever the checkpoint says.")
@click.option(
    "--props",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The table of HoodieStreamer properties; needs no config.",
)
@click.option(
    "--source-limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --props: read N rows at most, as HoodieStreamer does; the next pull goes on.",
)
@click.option("--dry-run", is_flag=True, help="Print what the pull would read and create; do nothing.")
@click.option(
    "--approve-deletes",
    type=click.IntRange(min=0),
    metavar="N",
    help="A full fetch that replaces the table: delete these N rows, beyond the limits.",
)
@click.option("--allow-empty-source", is_flag=True, help="The source is meant to be empty.")
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(WORDS),
    help="A full fetch that replaces the table: go on in spite of this guard; the refusal says which.",
)
@dead_writer_option
@format_option
@pass_settings
def pull(
    settings: Settings,
    *,
    choice: TableChoice,
    jobs: int,
    full: bool,
    props: Path | None,
    source_limit: int | None,
    dry_run: bool,
    approve_deletes: int | None,
    allow_empty_source: bool,
    accept: tuple[str, ...],
    dead_writers: tuple[str, ...],
    output_format: OutputFormat,
) -> Outcome | int:
    """Bring the lake up to the source's safe bound; the checkpoint goes into the same commit."""
    from hudi_reconcile.app.commands import run_pull  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.core.plan.plan import Approval  # noqa: PLC0415 - as above

    if props is None and source_limit is not None:
        raise UsageError("--source-limit goes with --props", fix="set tables[].pull: {limit: N, most_pages: 1}")
    call = (
        choose_call(settings, choice, jobs, ("--full",) * full)
        if props is None
        else _call_of_props(settings, props, choice, source_limit, full=full)
    )
    if dry_run:
        from hudi_reconcile.app.dry_runs import plan_pull  # noqa: PLC0415 - as above

        return _print_dry_run("pull", plan_pull(call, full=full), output_format)
    approval = Approval(None, approve_deletes, allow_empty_source, frozenset(accept), frozenset(dead_writers))
    return print_result(run_pull(call, full=full, approval=approval), output_format)


@click.command()
@choice_options
@jobs_option
@click.option(
    "--where-partition",
    multiple=True,
    metavar="P",
    help="Only this partition, by its path as Hudi stores it; repeatable. The rest stays unverified: exit 3.",
)
@click.option(
    "--budget",
    metavar="DURATION",
    help="Compare for about this long (10m), all tables together; what was not reached is unverified, and first next time.",
)
@click.option(
    "--full", is_flag=True, help="Compare every segment across the engines now, whatever sweep.rotation says."
)
@click.option("--dry-run", is_flag=True, help="Print what would be compared and what it would cost; compares nothing.")
@format_option
@pass_settings
def sweep(
    settings: Settings,
    *,
    choice: TableChoice,
    jobs: int,
    where_partition: tuple[str, ...],
    budget: str | None,
    full: bool,
    dry_run: bool,
    output_format: OutputFormat,
) -> Outcome | int:
    """Compare source and lake, say what drifted and why, write a plan. Never writes the lake."""
    seconds = None if budget is None else duration_given("--budget", budget).total_seconds()
    from hudi_reconcile.app.commands import PartialSweepRequest, run_sweep  # noqa: PLC0415 - keeps Spark out of --help

    asked = PartialSweepRequest(tuple(dict.fromkeys(where_partition)), seconds, budget or "", full)
    call = choose_call(settings, choice, jobs, ("--full",) * full)
    if dry_run:
        from hudi_reconcile.app.dry_runs import plan_sweep  # noqa: PLC0415 - as above

        return _print_dry_run("sweep", plan_sweep(call, asked), output_format)
    return print_result(run_sweep(call, asked), output_format)


@click.command()
@run_argument
@table_option
@click.option("--only", type=click.Choice(["upsert", "delete"]), help="Only this part of the plan.")
@click.option(
    "--approve-deletes",
    type=click.IntRange(min=0),
    metavar="N",
    help="Allow more deletes than the limits; N is the plan's count.",
)
@click.option("--allow-empty-source", is_flag=True, help="The source is meant to be empty.")
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(ACCEPTABLE),
    help="Go on in spite of this guard; the refusal says which. May be given more than once.",
)
@dead_writer_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option
@pass_settings
def apply(
    settings: Settings,
    run: str,
    tables: tuple[str, ...],
    *,
    only: Literal["upsert", "delete"] | None,
    approve_deletes: int | None,
    allow_empty_source: bool,
    accept: tuple[str, ...],
    dead_writers: tuple[str, ...],
    yes: bool,
    output_format: OutputFormat,
) -> Outcome | int:
    """Execute a sweep's plan: one commit, only where nothing moved since, then verified."""
    from hudi_reconcile.app.commands import describe_rest, read_plans, run_apply  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.app.run import Call  # noqa: PLC0415 - as above
    from hudi_reconcile.core.plan.plan import Approval  # noqa: PLC0415 - as above

    config = settings.load()
    plan_files = read_plans(config, run, tables)
    rest = describe_rest(config, run, tables, plan_files)
    if not yes:
        plans = (
            (name, file.plan, f" (only {part} compared)" if (part := file.plan.part) else "")
            for name, file in plan_files.items()
        )
        ask("; ".join(f"{name}: {plan.upserts} upserts, {plan.deletes} deletes{part}" for name, plan, part in plans))
    approval = Approval(only, approve_deletes, allow_empty_source, frozenset(accept), frozenset(dead_writers))
    chosen = config.select((*plan_files, *rest))
    call = Call(config, str(settings.config_path), chosen, choice=TableChoice(tables).arguments)
    return print_result(run_apply(call, plan_files, approval, rest), output_format)


@click.command()
@choice_options
@jobs_option
@click.option("--apply", "apply_too", is_flag=True, help="Apply the plan at once, within the policy's limits.")
@format_option
@pass_settings
def run(
    settings: Settings, *, choice: TableChoice, jobs: int, apply_too: bool, output_format: OutputFormat
) -> Outcome | int:
    """Pull and sweep (and apply), then the rules, with report: the nightly entry."""
    from hudi_reconcile.app.commands import run_all  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.core.plan.plan import Approval  # noqa: PLC0415 - as above

    call = choose_call(settings, choice, jobs, ("--apply",) * apply_too)
    return print_result(run_all(call, Approval() if apply_too else None), output_format)


def build_call(settings: Settings, tables: tuple[str, ...]) -> Call:
    """The call on the tables of `-t`."""
    return choose_call(settings, TableChoice(tables))


def choose_call(settings: Settings, choice: TableChoice, jobs: int = 1, options: tuple[str, ...] = ()) -> Call:
    """The call on the tables of `-t`, `--tag` and `--exclude`, so many of them side by side; `options` as `Call` has them."""
    from hudi_reconcile.app.run import Call  # noqa: PLC0415 - keeps Spark out of --help

    config = settings.load()
    chosen, again = config.choose(choice), (*options, *(("--jobs", str(jobs)) if jobs > 1 else ()))
    return Call(config, str(settings.config_path), chosen, jobs=jobs, choice=choice.arguments, options=again)


def _call_of_props(
    settings: Settings, props: Path, choice: TableChoice, source_limit: int | None, *, full: bool
) -> Call:
    if settings.config_path != DEFAULT_CONFIG:
        raise UsageError("--props stands in for a config, so -c has no meaning", fix="give one of the two")
    if not settings.is_plain:
        raise UsageError("--props stands in for a config, so --profile and --set have no meaning", fix="leave them out")
    if choice.tags or choice.excludes:
        raise UsageError("--props names one table, so --tag and --exclude have no meaning", fix="leave them out")
    from hudi_reconcile.app.setup import build_props_call  # noqa: PLC0415 - keeps Spark out of --help

    call, notes = build_props_call(props, Path.cwd() / "reports", choice.patterns, source_limit, full=full)
    for note in notes:
        complain(f"note: {note}")
    return call


def _print_dry_run(command: Literal["pull", "sweep"], dry_run: DryRun, output_format: OutputFormat) -> Outcome:
    """Print what would be done; its exit code is that of the gravest refusal."""
    from hudi_reconcile.report.dry_run import pull_plan_text, sweep_plan_text  # noqa: PLC0415 - as above

    errors = [table["error"] for table in dry_run.tables if table["error"] is not None]
    if output_format == "json":
        error = errors[0] if errors else None
        document = {**head(command, dry_run.outcome, error=error), "outcome": dry_run.word, "dry_run": True}
        emit_json({**document, "trust": list(dry_run.trust), "tables": list(dry_run.tables)})
    else:
        emit((pull_plan_text if command == "pull" else sweep_plan_text)(dry_run.tables, dry_run.trust))
    for error in errors:
        report_complaint(error["message"], error["fix"])
    return dry_run.outcome


def print_result(finished: Finished, output_format: OutputFormat) -> int:
    """Print a finished run; its exit code."""
    from hudi_reconcile.cli.render import render_run  # noqa: PLC0415 - only needed once there is a result
    from hudi_reconcile.core.result import run_document  # noqa: PLC0415 - as above

    result = finished.result
    errors = [table.error for table in result.tables if table.error is not None]
    if output_format == "json":
        document = run_document(result)
        first = errors[0] if errors else None
        document["error"] = None if first is None else {"type": first.type, "message": first.message, "fix": first.fix}
        document["report"] = str(finished.folder / "report.html")
        document["audit_head"] = finished.audit_head
        emit_json(document)
    else:
        emit(render_run(result))
        emit(f"report: {finished.folder / 'report.html'}")
        emit(f"audit head: {finished.audit_head}")
    for failure, names in group_failures(result.tables).items():
        many = f" ({len(names):,} tables: {', '.join(names[:_NAMED])}{', …' * (len(names) > _NAMED)})" * (
            len(names) > 1
        )
        report_complaint(f"{failure.message}{many}", failure.fix, table=names[0] if len(names) == 1 else None)
    for line in finished.said:
        complain(line)
    return result.exit_code


def group_failures(tables: Iterable[TableResult]) -> Mapping[Failure, list[str]]:
    """Each error once, and the tables that it ended: a database that is down is one line, not fifty."""
    names_by_failure: dict[Failure, list[str]] = {}
    for table in tables:
        if table.error is not None:
            names_by_failure.setdefault(table.error, []).append(table.name)
    return names_by_failure


def ask(what: str, *, command: str = "apply", look: str = "hudi-reconcile plan latest") -> None:
    """Ask before a write. Raises RefusedError for a no, and where nobody can be asked."""
    if not sys.stdin.isatty():
        raise RefusedError(
            f"{command} would write ({what}) and nobody can be asked: this is no terminal",
            fix=f"look first ({look}), then add --yes",
        )
    if not click.confirm(f"{what}. Write this to the lake?", err=True):
        raise RefusedError("the answer was no; nothing was written", fix=f"look first: {look}")


@click.command()
@run_argument
@table_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option
@pass_settings
def undo(
    settings: Settings, run: str, tables: tuple[str, ...], *, yes: bool, output_format: OutputFormat
) -> Outcome | int:
    """Take back what an apply (or `run --apply`) changed, in one commit, for rows that nobody touched since.

    The rows from before come from the lake's own history: at most 10 commits back, or as far as its savepoint. Exit
    codes as of apply. The source still differs, so the next sweep finds the rows again. Of a run that was killed, and that
    no later command has told of yet, the commits are found in the lake by its id, in every table or in those named with -t.
    """
    from hudi_reconcile.app.run import Call  # noqa: PLC0415 - keeps Spark out of --help
    from hudi_reconcile.app.undo import find_applied_run, run_undo  # noqa: PLC0415 - as above

    config = settings.load()
    run_id, counts = find_applied_run(config, run, tables)
    if not yes:
        rows = {name: "what" if many is None else f"{many} rows that" for name, many in counts.items()}
        what = "; ".join(f"{name}: {many} run {run_id} wrote" for name, many in rows.items())
        killed = None in counts.values()  # such a run has no report
        ask(what, command="undo", look="hudi-reconcile history" if killed else f"hudi-reconcile report {run_id}")
    call = Call(config, str(settings.config_path), config.select(tuple(counts)), choice=TableChoice(tables).arguments)
    return print_result(run_undo(call, run_id), output_format)


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
    from hudi_reconcile.app.undo import show_state  # noqa: PLC0415 - keeps Spark out of --help

    states = show_state(build_call(settings, tables))
    if output_format == "json":
        emit_json({**head("state show", Outcome.CLEAN), "tables": list(states)})
    else:
        emit("\n".join(line for lake in states for line in _lines(lake)))
    return Outcome.CLEAN


@state.command("set")
@_one_table
@click.option("--checkpoint", required=True, metavar="VALUE", help="The next pull reads what is after it.")
@_yes
@format_option
@pass_settings
def set_(settings: Settings, table: str, checkpoint: str, *, yes: bool, output_format: OutputFormat) -> Outcome | int:
    """Commit another checkpoint, and no row. What lies between the old and a later one is the sweep's to find."""
    return _set(settings, table, checkpoint, yes=yes, output_format=output_format)


@state.command()
@_one_table
@_yes
@format_option
@pass_settings
def reset(settings: Settings, table: str, *, yes: bool, output_format: OutputFormat) -> Outcome | int:
    """Commit that nothing was pulled yet: the next pull reads from the beginning."""
    return _set(settings, table, None, yes=yes, output_format=output_format)


def _set(settings: Settings, table: str, value: str | None, *, yes: bool, output_format: OutputFormat) -> Outcome | int:
    from hudi_reconcile.app.undo import run_set_state  # noqa: PLC0415 - keeps Spark out of --help

    call = build_call(settings, (table,))
    if not yes:
        what = f"{table}: the checkpoint becomes {'none' if value is None else value}"
        ask(what, command="state", look=f"hudi-reconcile state show -t {table}")
    return print_result(run_set_state(call, value), output_format)


def _lines(lake: Mapping[str, Any]) -> Iterator[str]:
    if not lake["exists"]:
        yield f"{lake['name']}: there is no Hudi table at {lake['path']} yet"
        return
    yield f"{lake['name']}: {lake['checkpoint'] or 'no checkpoint'}  ({lake['path']}, made by {lake['made_by']})"
    if lake["instant"] is not None:
        by = ", ".join(lake["watermark"]) or "none"
        yield f"  in commit {lake['instant']}, strategy {lake['strategy']}, watermark {by}, of {lake['source_identity']}"
    if lake["streamer"] is not None:
        streamer = lake["streamer"]
        yield f"  HoodieStreamer: {streamer['checkpoint']}  ({streamer['key']} in commit {streamer['instant']})"
    ordering = ", ".join(lake["ordering_fields"]) or "none"
    yield f"  key {', '.join(lake['record_key'])}, ordering field {ordering}, key generator {lake['key_generator'] or 'not told'}"
