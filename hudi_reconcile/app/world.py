"""Opens the edges of a run once and hands them on: the database, the Spark session, one lake and source per table."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field, replace
from functools import partial

from hudi_reconcile.app.clock import HostClock
from hudi_reconcile.app.engines import by_jvm, engine_of, needs_session, session_request
from hudi_reconcile.app.jobs import masking_of, request_of
from hudi_reconcile.compare.comparer import SparkComparer
from hudi_reconcile.compare.spelling import Masks
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.agreement import Agreement
from hudi_reconcile.core.masking import shown_columns
from hudi_reconcile.core.partitions import in_full
from hudi_reconcile.core.segments import Segmentation
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.lake.options import retention
from hudi_reconcile.ports import Comparer, Edges
from hudi_reconcile.source.engine import Engine
from hudi_reconcile.source.table_source import TableSource
from hudi_reconcile.spark.session import Session, jvm_of, open_session

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
        self.engine = engine_of(self.config, password, by_jvm(self._jvm))

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
        kept = {} if table.lake.adopt else retention(table.lake.keep_commits)
        options, adopt = {**kept, **table.lake.options}, table.lake.adopt
        lake = HudiLake(spark, table.lake.path, name=table.name, options=options, adopt=adopt)
        make = partial(_comparer, self.session, table, secrets.token_bytes(32))
        return Edges(self._source(table), lake, make, self.clock)

    def _jvm(self) -> object:
        if self.session is None:
            raise RuntimeError("a jdbc: database was asked before the Spark session was opened")
        return jvm_of(self.session.spark)

    def _source(self, table: TableConfig) -> TableSource:
        spark = None if self.session is None else self.session.spark
        return TableSource(self.engine, request_of(table), spark, zone=self.config.source.time_zone)


def _comparer(session: Session, table: TableConfig, key: bytes, agreement: Agreement, cut: Segmentation) -> Comparer:
    names = {one.column.name: one.column.lake_name for one in agreement.columns}
    masks = Masks(masking_of(table).of_columns(names, shown_columns(agreement, in_full(table.lake.partition_by))), key)
    return SparkComparer(session.spark, table.name, masks, agreement=agreement, cut=cut)


@contextmanager
def open_world(config: Config) -> Iterator[World]:
    """The database, for the length of a block."""
    source = config.source
    password = "" if source.password is None else source.password.reveal(os.environ, read_text_file)
    world = World(config, password)
    try:
        yield world
    finally:
        world.engine.close()


@contextmanager
def with_session(world: World, *, expected_rows: int = SHORT_ROWS) -> Iterator[Session]:
    """The Spark session, for the length of a block."""
    request = replace(session_request(world.config), short=expected_rows < SHORT_ROWS)
    with open_session(request) as session:
        world.session = session
        try:
            yield session
        finally:
            if needs_session(world.config):
                world.engine.close()  # while its JVM is there
            world.session = None
