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
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import click

from hudi_reconcile.config.selection import TableChoice

if TYPE_CHECKING:
    from hudi_reconcile.config.model import Config
    from hudi_reconcile.config.overlay import Overlay

OutputFormat = Literal["text", "json"]
DEFAULT_CONFIG = Path("reconcile.yaml")

Callback = Callable[[click.Context, click.Parameter, Any], None]
_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Settings:
    """What a call says of the config: its file, and what lies over it."""

    config_path: Path = DEFAULT_CONFIG
    profile: str | None = None
    assignments: tuple[str, ...] = ()

    @property
    def overlay(self) -> Overlay:
        """What --profile and --set lay over the file. Raises UsageError: an assignment without key or `=`."""
        from hudi_reconcile.config.overlay import Overlay  # noqa: PLC0415 - keeps pydantic out of --help

        return Overlay.of(self.profile, self.assignments)

    @property
    def is_plain(self) -> bool:
        """True where the call names no config: nothing was given that only a config can follow."""
        return (self.config_path, self.profile, self.assignments) == (DEFAULT_CONFIG, None, ())

    def load(self) -> Config:
        """The config, its references filled in from this process's environment.

        Raises:
            ConfigError: see `load_config`.
            UsageError: no such profile, or an assignment without key or `=`.
        """
        from hudi_reconcile.config.load import load_config  # noqa: PLC0415 - keeps pydantic out of --help

        return load_config(self.config_path, os.environ, overlay=self.overlay)


_hand_settings = click.make_pass_decorator(Settings, ensure=True)


def profile_option(command: _Command, callback: Callback | None = None) -> _Command:
    """`--profile NAME`; before a command's name and after it."""
    option = click.option(
        "--profile", metavar="NAME", help="Lay this profile of the config over it.", **_build_callback(callback)
    )
    return option(command)


def set_option(command: _Command, callback: Callback | None = None) -> _Command:
    """`--set KEY=VALUE`, repeatable; before a command's name and after it."""
    option = click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set one key of the config, such as source.max_connections=2. Repeatable.",
        **_build_callback(callback),
    )
    return option(command)


def pass_settings(command: _Command) -> _Command:
    """Hand the `Settings` over as first argument. Such a command takes --profile and --set after its name as well."""
    return cast("_Command", profile_option(set_option(_hand_settings(command), _add_assignments), _take_profile))


# --- helpers ---


def _build_callback(callback: Callback | None) -> dict[str, Any]:
    return {} if callback is None else {"callback": callback, "expose_value": False}


def _take_profile(context: click.Context, _: click.Parameter, profile: str | None) -> None:
    if profile is not None:
        _keep(context, replace(_find_settings(context), profile=profile))


def _add_assignments(context: click.Context, _: click.Parameter, assignments: tuple[str, ...]) -> None:
    if assignments:
        settings = _find_settings(context)
        _keep(context, replace(settings, assignments=(*settings.assignments, *assignments)))


def _find_settings(context: click.Context) -> Settings:
    return context.find_object(Settings) or Settings()


def _keep(context: click.Context, settings: Settings) -> None:
    # The root's are those that an error's fix is written with.
    context.obj = context.find_root().obj = settings


# --- options ---


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
    def call_with_choice(
        *args: object, tables: tuple[str, ...], tags: tuple[str, ...], excludes: tuple[str, ...], **kwargs: object
    ) -> object:
        return command(*args, choice=TableChoice(tables, tags, excludes), **kwargs)

    chosen: Any = call_with_choice
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


def jobs_option(command: _Command) -> _Command:
    """`--jobs N` as `jobs`."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="Tables side by side; they share source.max_connections.",
    )(command)


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
