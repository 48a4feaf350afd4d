"""Opens what a run needs once, and hands it on: the database's engine, the Spark session, a source and a lake for each table."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hudi_reconcile.app.host import HostClock
from hudi_reconcile.app.jobs import build_table_request, derive_masking
from hudi_reconcile.app.stop import STOP
from hudi_reconcile.compare.comparer import SparkComparer
from hudi_reconcile.compare.findings import Masks
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import LARGEST_SECRET_BYTES, Environment, ReadFile, read_text_file
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.lake.catalog_sync import choose_sync, leave_out_sync
from hudi_reconcile.core.source.jdbc import JdbcLogin, is_jdbc
from hudi_reconcile.core.sweep.segments import Segmentation
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.masking import list_shown_columns
from hudi_reconcile.core.tables.partitions import list_whole_columns
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.databases.jdbc.engine import Connect, JdbcEngine, JdbcSource
from hudi_reconcile.databases.registry import find_own_jars
from hudi_reconcile.databases.urls import build_connection, open_engine
from hudi_reconcile.lake.catalog import sync_catalog
from hudi_reconcile.lake.files import read_address
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.lake.options import build_retention_options
from hudi_reconcile.ports import Comparer, Edges
from hudi_reconcile.source.table_source import TableSource
from hudi_reconcile.spark.evidence_files import choose_files
from hudi_reconcile.spark.jars import JarMode, JarRequest, find_certificate_bundle
from hudi_reconcile.spark.jdbc_catalog import JvmDatabase, open_database
from hudi_reconcile.spark.session import Session, SessionRequest, cancel_jobs, get_jvm, open_bare_jvm, open_session

SHORT_ROWS = 3_000_000  # a run over fewer ends before a JVM's second compiler has paid


@dataclass(slots=True)
class World:
    """The open edges of one run."""

    config: Config
    password: InitVar[str]
    clock: HostClock = field(default_factory=HostClock)
    session: Session | None = None
    engine: Engine = field(init=False)

    def __post_init__(self, password: str) -> None:
        self.engine = choose_engine(self.config, password, build_jvm_connector(self._jvm))

    def expect_rows(self, table: TableConfig) -> int:
        """Ask the database for the table before Spark is started, so that a wrong name or password fails at once.

        Returns the planner's estimate of its rows; 0 for a database that is reached through Spark's own JVM.
        """
        if needs_session(self.config):
            return 0
        return self._source(table).describe().rows_estimate

    def edges(self, table: TableConfig) -> Edges:
        """All that one table's work may touch. The session must be open."""
        if self.session is None:
            raise RuntimeError("edges were asked for before the Spark session was opened")
        spark = self.session.spark
        kept = {} if table.lake.adopt else build_retention_options(table.lake.keep_commits)
        options, adopt = {**kept, **leave_out_sync(table.lake.options)}, table.lake.adopt
        alone = self.session.alone
        index = table.lake.index
        lake = HudiLake(spark, table.lake.path, name=table.name, options=options, adopt=adopt, index=index, alone=alone)
        make = partial(_comparer, self.session, table, secrets.token_bytes(32))
        whole_commit = partial(STOP.hold, partial(cancel_jobs, spark))
        sync = choose_sync(table.lake.options)
        catalog = (lambda: None) if sync is None else partial(sync_catalog, spark, table.lake.path, sync)
        return Edges(self._source(table), lake, make, self.clock, whole_commit, catalog)

    def _jvm(self) -> object:
        if self.session is None:
            raise RuntimeError("a jdbc: database was asked before the Spark session was opened")
        return get_jvm(self.session.spark)

    def _source(self, table: TableConfig) -> TableSource:
        spark = None if self.session is None else self.session.spark
        return TableSource(self.engine, build_table_request(table), spark, zone=self.config.source.time_zone)


def _comparer(session: Session, table: TableConfig, key: bytes, agreement: Agreement, cut: Segmentation) -> Comparer:
    names = {item.column.name: item.column.lake_name for item in agreement.columns}
    masks = Masks(
        derive_masking(table).select_masked(
            names, list_shown_columns(agreement, list_whole_columns(table.lake.partition_by))
        ),
        key,
    )
    return SparkComparer(session.spark, table.name, masks, agreement=agreement, cut=cut, files=choose_files(session))


@contextmanager
def open_world(config: Config) -> Iterator[World]:
    """The database, for the length of a block."""
    source = config.source
    password = "" if source.password is None else source.password.reveal(os.environ, build_reader(config))
    world = World(config, password)
    try:
        yield world
    finally:
        world.engine.close()


@contextmanager
def hold_session(world: World, *, expected_rows: int = SHORT_ROWS) -> Iterator[Session]:
    """The Spark session, for the length of a block."""
    request = replace(request_session(world.config), short=expected_rows < SHORT_ROWS, archives=True)
    with open_session(request) as session:
        world.session = session
        try:
            yield session
        finally:
            if needs_session(world.config):
                world.engine.close()  # while its JVM is there
            world.session = None


# Variables that Java, Spark and the shell between them need, even where a secret's text is made of one.
_NEEDED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "JAVA_HOME", "SPARK_HOME"})


def needs_session(config: Config) -> bool:
    """Whether the database can be asked only once a JVM runs."""
    return is_jdbc(config.source.url)


def choose_engine(config: Config, password: str, connect: Connect) -> Engine:
    """The engine that the config means; no query is sent yet. Raises UsageError for what no engine reads."""
    source = config.source
    if not needs_session(config):
        connection = build_connection(
            source.url,
            password,
            insecure=source.insecure,
            roots=find_trusted_roots(),
            jdbc_options=tuple(sorted(source.jdbc.items())),
            max_connections=source.max_connections,
            statement_timeout_seconds=source.statement_timeout.total_seconds(),
        )
        return open_engine(connection)
    jdbc = JdbcSource(
        url=source.url,
        password=password,
        driver=source.driver,
        options=dict(source.jdbc),
        time_zone=source.time_zone,
        max_connections=source.max_connections,
        statement_timeout_seconds=source.statement_timeout.total_seconds(),
    )
    return JdbcEngine(jdbc, connect)


def find_trusted_roots() -> str | None:
    """The file of root certificates that both planes trust where the URL names none; on a cluster, each machine's own."""
    bundle = find_certificate_bundle(os.environ)
    return None if bundle is None else str(bundle)


def build_jvm_connector(jvm: Callable[[], Any]) -> Connect:
    """Connects in the JVM that is running when the first question is asked."""

    def connect(login: JdbcLogin) -> JvmDatabase:
        return open_database(jvm(), login)

    return connect


@contextmanager
def open_engine_for_doctor(config: Config, password: str, environ: Environment) -> Iterator[Engine]:
    """The engine for the length of a block, without a Spark session."""
    if not needs_session(config):
        with closing(choose_engine(config, password, build_jvm_connector(lambda: None))) as engine:
            yield engine
        return
    with (
        open_bare_jvm(request_session(config), environ) as jvm,
        closing(choose_engine(config, password, partial(open_database, jvm))) as engine,
    ):
        yield engine


def build_reader(config: Config, environ: Environment = os.environ) -> ReadFile:
    """Reads files of this machine, and of Hadoop's file systems by the JVM and the settings of the config's session."""

    def read(path: Path | str) -> str:
        if not isinstance(path, str):
            return read_text_file(path)
        prefix = "spark.hadoop."
        settings = {k.removeprefix(prefix): v for k, v in config.spark.conf.items() if k.startswith(prefix)}
        with open_bare_jvm(request_session(config), environ) as jvm:
            return read_address(jvm, settings, path, LARGEST_SECRET_BYTES)

    return read


def request_session(config: Config) -> SessionRequest:
    """What the config says of Spark and jars."""
    mode, own = JarMode(config.jars.mode), find_own_jars(config.source.url)
    given = config.jars
    jars = JarRequest(mode=mode, paths=tuple(given.paths), engine=own, executor_folder=given.executor_folder)
    hidden = config.secret_variables - _NEEDED
    return SessionRequest(master=config.spark.master, conf=dict(config.spark.conf), jars=jars, hidden=hidden)
