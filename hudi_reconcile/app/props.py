"""A HoodieStreamer properties file as a call: the config that it means, after the database was asked what it leaves open."""

from __future__ import annotations

from pathlib import Path

from hudi_reconcile.app.engines import needs_session
from hudi_reconcile.app.jobs import request_of
from hudi_reconcile.app.run import Call
from hudi_reconcile.app.world import open_world
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.props import FromProps, load_props
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.kinds import Kind


def props_call(path: Path, reports: Path, names: tuple[str, ...]) -> tuple[Call, tuple[str, ...]]:
    """The call on the table of a properties file, and what its user should be told.

    Raises ConfigError for a file that is wrong, UsageError for the name of another table.
    """
    found, notes = read_props(path, reports)
    return Call(found.config, "reconcile.yaml", found.config.select(names), props=str(path)), notes


def read_props(path: Path, reports: Path) -> tuple[FromProps, tuple[str, ...]]:
    """What a properties file means. Its incremental column may be a time or a number: the database is asked which."""
    found = load_props(path, reports)
    column = next(iter(found.config.tables[0].pull.watermark), None)
    if column is None:
        return found, found.notes
    is_number = _is_number(found.config, column)
    if is_number:
        found = load_props(path, reports, incrementing=True)
    if is_number is None:
        told = (
            f"{column} is taken for a time; if it is a number, write strategy: incrementing and incrementing: {column}"
        )
        return found, (*found.notes, told)
    return found, found.notes


def _is_number(config: Config, column: str) -> bool | None:
    """Whether the column holds whole numbers; None where the database cannot be asked without Spark, or does not answer."""
    if needs_session(config):
        return None
    try:
        with open_world(config) as world:
            described = world.engine.describe(request_of(config.tables[0])).table
    except ReconcileError:
        return None
    return any(one.name == column and one.kind is Kind.INTEGER for one in described.columns)
