"""Makes a config of a HoodieStreamer properties file or of a database's catalog, and lists or fetches the jars.

Opens a database where the call needs one, and no Spark session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hudi_reconcile.app.connections import (
    build_reader,
    needs_session,
    open_engine_for_doctor,
    open_world,
    request_session,
)
from hudi_reconcile.app.jobs import build_table_request
from hudi_reconcile.app.run import Call
from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.files import read_text
from hudi_reconcile.config.hoodiestreamer.tree import FromProps, load_props
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.overlay import NO_OVERLAY, Overlay
from hudi_reconcile.config.proposals import SourceBase, legal_name, proposed_files, read_base, source_text
from hudi_reconcile.config.secrets import Environment, read_text_file
from hudi_reconcile.config.selection import TableChoice, matches
from hudi_reconcile.core.errors import ReconcileError, UsageError
from hudi_reconcile.core.source.proposal import CatalogTable, TableProposal, name_tables, propose_table
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.databases.survey import survey_tables
from hudi_reconcile.lake.schema import list_unholdable_names, propose_names
from hudi_reconcile.spark.jars import fetch_jars, list_jars
from hudi_reconcile.spark.session import SessionRequest


def build_props_call(
    path: Path, reports: Path, names: tuple[str, ...], source_limit: int | None = None, *, full: bool = False
) -> tuple[Call, tuple[str, ...]]:
    """The call that pulls the one table of a properties file, and the notes for its user.

    Raises ConfigError for a file that is wrong, UsageError for the name of another table, and for a limit of rows that have no
    order.
    """
    props, notes = read_props(path, reports, source_limit)
    if source_limit is not None and props.config.tables[0].pull.limit is None:
        raise UsageError(
            "--source-limit needs an order of the rows, and this file pulls all of them each time",
            fix="set …jdbc.incr.pull=true and …jdbc.table.incr.column.name, or leave --source-limit out",
        )
    limit = () if source_limit is None else ("--source-limit", str(source_limit))
    again = ("--props", str(path), *limit, *(("--full",) if full else ()))
    return Call(props.config, "reconcile.yaml", props.config.select(names), props=str(path), options=again), notes


def read_props(path: Path, reports: Path, source_limit: int | None = None) -> tuple[FromProps, tuple[str, ...]]:
    """What a properties file means. Its incremental column may be a time or a number: the database is asked which."""
    props = load_props(path, reports, source_limit=source_limit)
    column = next(iter(props.config.tables[0].pull.watermark), None)
    if column is None:
        return props, props.notes
    is_number = _is_number(props.config, column)
    if is_number:
        props = load_props(path, reports, incrementing=True, source_limit=source_limit)
    if is_number is None:
        note = (
            f"{column} is taken for a time; if it is a number, write strategy: incrementing and incrementing: {column}"
        )
        return props, (*props.notes, note)
    return props, props.notes


def _is_number(config: Config, column: str) -> bool | None:
    """Whether the column holds whole numbers; None where the database cannot be asked without Spark, or does not answer."""
    if needs_session(config):
        return None
    try:
        with open_world(config) as world:
            described = world.engine.describe(build_table_request(config.tables[0])).table
    except ReconcileError:
        return None
    return any(
        source_column.name == column and source_column.kind is Kind.INTEGER for source_column in described.columns
    )


@dataclass(frozen=True, slots=True)
class ShownJar:
    """A jar that a session would load. `path` is None where it must be fetched first."""

    coordinate: str | None
    path: str | None
    sha256: str


def list_jar_files(config: Config | None, environ: Mapping[str, str]) -> tuple[ShownJar, ...]:
    """Every jar that a session would load. Raises UsageError for other bytes than the lock names."""
    request = _request(config)
    jars = list_jars(request.jars, request.conf, environ)
    return tuple(ShownJar(jar.coordinate, None if jar.path is None else str(jar.path), jar.sha256) for jar in jars)


def fetch_jar_files(config: Config | None, to: Path | None, environ: Mapping[str, str]) -> tuple[ShownJar, ...]:
    """Fetch what is not there yet. Raises UsageError where the resolver cannot, or Java is missing."""
    return tuple(
        ShownJar(jar.coordinate, str(jar.path), jar.sha256)
        for jar in fetch_jars(_request(config).conf, to=to, environ=environ)
    )


def _request(config: Config | None) -> SessionRequest:
    return SessionRequest() if config is None else request_session(config)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRequest:
    """What a call says of the catalog to read: a URL and where its password is, or else a config; which tables of it."""

    url: str | None = None
    password: str | None = None
    config: Path | None = None
    overlay: Overlay = NO_OVERLAY
    schemas: tuple[str, ...] = ()
    choice: TableChoice = field(default_factory=TableChoice)


@dataclass(frozen=True, slots=True)
class ProposedConfig:
    """The files of a proposed config by name, what they say of each table, and what its user must know."""

    files: Mapping[str, str]
    tables: tuple[TableProposal, ...]
    notes: tuple[str, ...]


def propose_config(request: CatalogRequest, folder: Path, environ: Environment) -> ProposedConfig:
    """Read the catalog, and no row, and propose a config that stands in `folder`. Writes nothing.

    Raises:
        ConfigError: the config that names the source is wrong.
        SourceError: the database does not answer.
        UsageError: no such table, or no table that could be pulled.
    """
    base = _source_base(request, folder, environ)
    secret = base.config.source.password
    password = "" if secret is None else secret.reveal(environ, build_reader(base.config, environ))
    with open_engine_for_doctor(base.config, password, environ) as engine:
        tables = survey_tables(engine, request.schemas, request.choice.takes)
        place = engine.place
    _refuse_unfit(request.choice, tables, place)
    legal = {table.title: legal_name(table.title) for table in tables}
    names = name_tables([table.title for table in tables], legal)
    proposals = tuple(propose_table(table, name, _renames(table)) for table, name in zip(tables, names, strict=True))
    if all(proposal.hindrance for proposal in proposals):
        why = "\n".join(f"  {proposal.table.sql}: {proposal.hindrance}" for proposal in proposals[:_MOST_SHOWN])
        raise UsageError(
            f"{place}: none of {len(proposals):,} tables and views can be proposed; nothing was written\n{why}",
            fix="hudi-reconcile init DIR, then name table and key by hand; or other tables: --schema NAME, -t PATTERN",
        )
    return ProposedConfig(proposed_files(base, proposals, place), proposals, base.notes)


_MOST_SHOWN = 10


def _source_base(request: CatalogRequest, folder: Path, environ: Environment) -> SourceBase:
    if request.config is not None:
        text, place = read_text(request.config), Place(str(request.config), request.config.absolute().parent)
    else:
        text, place = source_text(request.url or "", request.password), Place("--url", folder.absolute())
    return read_base(text, place, environ, read_text_file, request.overlay, folder=folder.absolute())


def _refuse_unfit(choice: TableChoice, tables: Sequence[CatalogTable], place: str) -> None:
    for pattern in choice.patterns:
        if not any(matches(pattern, name) for table in tables for name in (table.title, table.sql)):
            raise UsageError(
                f"{place}: no table fits -t {pattern!r}",
                fix="without -t all are shown; tables of other schemas need --schema NAME",
            )
    if not tables:
        raise UsageError(f"{place}: {choice} leaves no table", fix="leave out one of them")


def _renames(table: CatalogTable) -> dict[str, str]:
    names = [catalog_column.column.name for catalog_column in table.columns]
    wrong = list_unholdable_names(names)
    return propose_names(wrong, [name for name in names if name not in wrong])
