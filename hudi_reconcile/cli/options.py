"""What commands share: the settings before the command's name, and the options after it, as decorators.

    @click.command()
    @table_option
    @format_option
    @pass_settings
    def sweep(settings: Settings, tables: tuple[str, ...], output_format: OutputFormat) -> Outcome: ...

A callback returns its `Outcome`, which becomes the exit code; a callback that returns nothing is taken for a bug (3).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import click

from hudi_reconcile.config.selection import TableChoice

if TYPE_CHECKING:
    from hudi_reconcile.config.model import Config

OutputFormat = Literal["text", "json"]
DEFAULT_CONFIG = Path("reconcile.yaml")

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Settings:
    """What stands before the command's name: the config file, and how much to log (-1 quiet, 0, 1 verbose)."""

    config_path: Path = DEFAULT_CONFIG
    verbosity: int = 0

    def load(self) -> Config:
        """The config, its references filled in from this process's environment.

        Raises:
            ConfigError: see `load_config`.
        """
        from hudi_reconcile.config.load import load_config  # noqa: PLC0415 - keeps pydantic out of --help

        return load_config(self.config_path, os.environ)


pass_settings = click.make_pass_decorator(Settings, ensure=True)


def format_option(command: _Command) -> _Command:
    """`--format text|json` as `output_format`."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="json: one JSON document on stdout, on failure too.",
    )(command)


def table_option(command: _Command) -> _Command:
    """`-t/--table`, repeatable, as `tables`; empty means every table (`Config.select`)."""
    return click.option(
        "-t", "--table", "tables", multiple=True, metavar="T", help="Table by its config name. Default: all."
    )(command)


def choice_options(command: _Command) -> _Command:
    """`-t/--table PATTERN`, `--tag` and `--exclude`, each repeatable, as one `choice` (`Config.choose`)."""

    @wraps(command)
    def with_choice(
        *args: object, tables: tuple[str, ...], tags: tuple[str, ...], excludes: tuple[str, ...], **kwargs: object
    ) -> object:
        return command(*args, choice=TableChoice(tables, tags, excludes), **kwargs)

    chosen: Any = with_choice
    for option in (
        click.option("--exclude", "excludes", multiple=True, metavar="PATTERN", help="Leave these tables out."),
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only tables with this tag."),
        click.option(
            "-t",
            "--table",
            "tables",
            multiple=True,
            metavar="PATTERN",
            help="Tables by their config names; * and ? are wildcards. Repeatable, as are --tag and --exclude. Default: all.",
        ),
    ):
        chosen = option(chosen)
    return cast("_Command", chosen)


def dead_writer_option(command: _Command) -> _Command:
    """`--dead-writer INSTANT`, repeatable, as `dead_writers`."""
    return click.option(
        "--dead-writer",
        "dead_writers",
        multiple=True,
        metavar="INSTANT",
        help="Roll back this instant of another writer, which died; the refusal names it.",
    )(command)


def run_argument(command: _Command) -> _Command:
    """`RUN` as `run`: a run id or `latest`."""
    return click.argument("run", metavar="RUN")(command)
