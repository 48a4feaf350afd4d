"""`jars list | fetch`: the jars that Spark needs. Work without a config; where there is one, its `jars` and `spark` count."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.options import DEFAULT_CONFIG, OutputFormat, Settings, format_option, pass_settings
from hudi_reconcile.cli.streams import emit, emit_json
from hudi_reconcile.core.outcome import Outcome

if TYPE_CHECKING:
    from hudi_reconcile.app.jars import ShownJar
    from hudi_reconcile.config.model import Config


@click.group()
def jars() -> None:
    """List or fetch the jars that Spark needs."""


@jars.command("list")
@format_option
@pass_settings
def list_(settings: Settings, output_format: OutputFormat) -> Outcome:
    """Show every jar that a session loads: where it is, or that it must be fetched, and its sha256."""
    from hudi_reconcile.app.jars import listed  # noqa: PLC0415 - keeps the work rooms out of --help

    _show("jars list", listed(_config(settings), os.environ), output_format)
    return Outcome.CLEAN


@jars.command()
@click.option("--to", "to", type=click.Path(path_type=Path), metavar="DIR", help="Default: the user's cache folder.")
@format_option
@pass_settings
def fetch(settings: Settings, to: Path | None, output_format: OutputFormat) -> Outcome:
    """Fetch the jars once, checked, so that later starts need no network. Done twice, it does nothing."""
    from hudi_reconcile.app.jars import fetched  # noqa: PLC0415 - keeps the work rooms out of --help

    _show("jars fetch", fetched(_config(settings), to, os.environ), output_format)
    if to is not None and output_format == "text":
        emit(f"to use them: export HUDI_RECONCILE_JARS={to.resolve()}")
    return Outcome.CLEAN


def _config(settings: Settings) -> Config | None:
    absent = settings.config_path == DEFAULT_CONFIG and not DEFAULT_CONFIG.exists()
    return None if absent else settings.load()


def _show(command: str, found: tuple[ShownJar, ...], output_format: OutputFormat) -> None:
    if output_format == "json":
        shown = [{"coordinate": jar.coordinate, "path": jar.path, "sha256": jar.sha256} for jar in found]
        emit_json({**head(command, Outcome.CLEAN), "jars": shown})
        return
    for jar in found:
        emit(f"{jar.coordinate or 'given by hand'}\n  {jar.path or 'not here yet: hudi-reconcile jars fetch'}")
        emit(f"  sha256 {jar.sha256}")
