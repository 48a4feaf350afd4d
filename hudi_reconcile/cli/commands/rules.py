"""`check`: the rules alone, the CI gate; `rules lint | schema`: whether the rules files are right, and what they may say."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from hudi_reconcile.cli.commands.work import choose_call, print_result
from hudi_reconcile.cli.options import OutputFormat, Settings, choice_options, format_option, jobs_option, pass_settings
from hudi_reconcile.cli.streams import complain, emit, emit_json, head
from hudi_reconcile.config.selection import TableChoice
from hudi_reconcile.core.outcome import Outcome


@click.command()
@choice_options
@jobs_option
@click.option(
    "--fail-on",
    type=click.Choice(["warn", "error"]),
    default="error",
    show_default=True,
    help="Fail on rules of this severity and above. A rule that could not run always fails (3).",
)
@format_option
@pass_settings
def check(
    settings: Settings,
    *,
    choice: TableChoice,
    jobs: int,
    fail_on: Literal["warn", "error"],
    output_format: OutputFormat,
) -> Outcome | int:
    """Judge the rules of the tables on the newest snapshot of the lake. It does not write the lake."""
    from hudi_reconcile.app.rules import run_check, select_ruled_tables  # noqa: PLC0415 - keeps Spark out of --help

    call = select_ruled_tables(choose_call(settings, choice, jobs), choice.names)
    if call.without_rules:
        complain(f"note: no rules for {', '.join(call.without_rules)}: not checked")
    return print_result(run_check(call, fail_on), output_format)


@click.group()
def rules() -> None:
    """Check the rules files; their JSON Schema."""


@rules.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@format_option
@pass_settings
def lint(settings: Settings, files: tuple[Path, ...], output_format: OutputFormat) -> Outcome:
    """Say `ok`, or everything that is wrong with the rules files, each with its line. Default: those of the config."""
    from hudi_reconcile.app.rules import lint_files  # noqa: PLC0415 - keeps pydantic out of --help

    rule_files = lint_files(files, None if files else settings.load())
    if output_format == "json":
        emit_json({**head("rules lint", Outcome.CLEAN), "files": [file.document for file in rule_files]})
    else:
        for rule_file in rule_files:
            emit(f"{rule_file.file}: ok ({rule_file.told})")
            for note in rule_file.notes:
                emit(f"  note: {note}")
    return Outcome.CLEAN


@rules.command()
@format_option
def schema(output_format: OutputFormat) -> Outcome:  # noqa: ARG001 - a schema is JSON either way
    """Print the JSON Schema of a rules file, for editors. Needs no config."""
    from hudi_reconcile.config.rules_load import rules_schema  # noqa: PLC0415 - keeps pydantic out of --help

    emit_json(rules_schema())
    return Outcome.CLEAN
