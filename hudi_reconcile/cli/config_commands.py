"""`config show | validate | schema`: what the config means, whether it is right, what it may say."""

from __future__ import annotations

import os

import click

from hudi_reconcile.cli.documents import head
from hudi_reconcile.cli.options import OutputFormat, Settings, format_option, pass_settings
from hudi_reconcile.cli.streams import emit, emit_json
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.report.wording import trust_lines


@click.group()
def config() -> None:
    """Show or check the config; its JSON Schema."""


@config.command()
@format_option
@pass_settings
def show(settings: Settings, output_format: OutputFormat) -> Outcome:
    """Print the config with every default, and *** for secrets and for what came from ${...}."""
    from hudi_reconcile.config.load import load_with_references  # noqa: PLC0415 - keeps pydantic out of --help
    from hudi_reconcile.config.show import as_yaml, shown_tree  # noqa: PLC0415 - as above

    tree = shown_tree(load_with_references(settings.config_path, os.environ))
    if output_format == "json":
        emit_json({**head("config show", Outcome.CLEAN), "config": tree})
    else:
        emit(as_yaml(tree))
    return Outcome.CLEAN


@config.command()
@format_option
@pass_settings
def validate(settings: Settings, output_format: OutputFormat) -> Outcome:
    """Say `ok`, or everything that is wrong with the config, each with its line."""
    from hudi_reconcile.config.trust import sentences  # noqa: PLC0415 - keeps pydantic out of --help

    config = settings.load()
    tables, trust = [table.name for table in config.tables], sentences(config)
    if output_format == "json":
        document = {**head("config validate", Outcome.CLEAN), "file": str(settings.config_path), "tables": tables}
        emit_json({**document, "trust": list(trust)})
    else:
        for line in trust_lines(trust):
            emit(line)
        emit(f"{settings.config_path}: ok ({len(tables)} table{'s' if len(tables) > 1 else ''}: {', '.join(tables)})")
    return Outcome.CLEAN


@config.command()
@format_option
def schema(output_format: OutputFormat) -> Outcome:  # noqa: ARG001 - a schema is JSON either way
    """Print the JSON Schema of the config, for editors. Needs no config."""
    from hudi_reconcile.config.schema import json_schema  # noqa: PLC0415 - keeps pydantic out of --help

    emit_json(json_schema())
    return Outcome.CLEAN
