"""A HoodieStreamer properties file as a call: the config that it means, after the database was asked what it leaves open.

The jars for `jars list` and `jars fetch`: the config's settings where there is a config, else the defaults. No session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.app.connections import needs_session, open_world, session_request
from hudi_reconcile.app.jobs import request_of
from hudi_reconcile.app.run import Call
from hudi_reconcile.config.hoodiestreamer.tree import FromProps, load_props
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.spark.jars import fetch_jars, list_jars
from hudi_reconcile.spark.session import SessionRequest


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


@dataclass(frozen=True, slots=True)
class ShownJar:
    """A jar that a session would load. `path` is None where it must be fetched first."""

    coordinate: str | None
    path: str | None
    sha256: str


def list_jar_files(config: Config | None, environ: Mapping[str, str]) -> tuple[ShownJar, ...]:
    """Every jar that a session would load. Raises UsageError for other bytes than the lock names."""
    request = _request(config)
    found = list_jars(request.jars, request.conf, environ)
    return tuple(ShownJar(jar.coordinate, None if jar.path is None else str(jar.path), jar.sha256) for jar in found)


def fetch_jar_files(config: Config | None, to: Path | None, environ: Mapping[str, str]) -> tuple[ShownJar, ...]:
    """Fetch what is not there yet. Raises UsageError where the resolver cannot, or Java is missing."""
    return tuple(
        ShownJar(jar.coordinate, str(jar.path), jar.sha256)
        for jar in fetch_jars(_request(config).conf, to=to, environ=environ)
    )


def _request(config: Config | None) -> SessionRequest:
    return SessionRequest() if config is None else session_request(config)
