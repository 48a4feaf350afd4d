"""Commands of the contract that this version does not have. They take their options, say so and end with 2."""

from __future__ import annotations

from typing import NoReturn

import click

from hudi_reconcile.core.errors import NotBuiltError


@click.command()
@click.option("-t", "--table", "table", required=True, metavar="T")
@click.option("--type", "kind", required=True, metavar="append-only|upsert|min-delta|full-delta")
@click.option("--from", "start", metavar="I")
@click.option("--to", "end", metavar="I")
@click.option("--format", "output_format", type=click.Choice(["table", "ndjson", "json"]), default="table")
def changes(**options: str | None) -> NoReturn:  # noqa: ARG001 - not built
    """List what changed in a table, and what was a correction. Not in this version."""
    _refuse("changes", "change queries")


def _refuse(command: str, what: str) -> NoReturn:
    raise NotBuiltError(
        f"{command} is not in this version: {what} come later", fix="hudi-reconcile --help lists what is"
    )
