"""The real parts, once per test run: a PostgreSQL server, a MariaDB server, a Spark session.

Tests fail without them rather than skip; MariaDB's skip on a machine without one, except under `.ci/run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_reconcile.demo.postgres import PostgresServer
from hudi_reconcile.spark.jars import JarRequest
from hudi_reconcile.spark.session import Session, SessionRequest, open_session
from tests.support.alone import alone
from tests.support.mariadb import MariaDatabase, MariaServer, any_maria, fresh_maria
from tests.support.postgres import Database, any_server, fresh_database
from tests.support.second_writer import SecondWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Files that take minutes each: begun first, or one process would end with one of them while the others are done.
_LONGEST = (
    "test_object_store.py",
    "test_cluster.py",
    "test_histories.py",
    "test_strategies.py",
    "test_catalogs.py",
    "test_every_kind.py",
    "source/test_jdbc_engines.py",
    "source/test_jdbc_parts.py",
    "test_second_night.py",
    "test_evolution.py",
    "test_foreign_tables.py",
    "test_partial_sweeps.py",
    "lake/test_lake_corrections.py",
    "lake/test_lake_doubles.py",
    "test_rules.py",
    "demo/test_demo.py",
    "test_main_path.py",
    "test_main_path_cases.py",
    "test_corrections.py",
    "test_paged_kills.py",
    "test_every_kind_mysql.py",
    "test_kill.py",
    "test_second_writer.py",
    "test_changes.py",
    "changes/test_published_example.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, the others as they are found."""
    order = {name: place for place, name in enumerate(_LONGEST)}
    here = Path(__file__).parent
    items.sort(key=lambda item: order.get(_below(here, item.path), len(order)))


def _below(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else ""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL with an administrator's login."""
    with any_server() as server:
        yield server


@pytest.fixture
def pg(postgres_server: PostgresServer) -> Iterator[Database]:
    """A fresh database, gone after the test."""
    with fresh_database(postgres_server) as database:
        yield database


@pytest.fixture(scope="session")
def maria_server() -> Iterator[MariaServer]:
    """A MariaDB with an administrator's login."""
    with any_maria() as server:
        yield server


@pytest.fixture
def maria(maria_server: MariaServer) -> Iterator[MariaDatabase]:
    """A fresh database, gone after the test."""
    with fresh_maria(maria_server) as database:
        yield database


@contextmanager
def small_session() -> Iterator[Session]:
    """Our own session, small, with every driver, and what it stands on."""
    jars = JarRequest(engine="mysql")
    request = SessionRequest(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"}, jars=jars, short=True)
    with ExitStack() as stack:
        with alone("jars"):  # a first start fetches them
            session = stack.enter_context(open_session(request))
        yield session


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Session]:
    """One session for all tests of a run."""
    with small_session() as session:
        yield session


@pytest.fixture(scope="session")
def spark(spark_session: Session) -> SparkSession:
    """The SparkSession itself."""
    return spark_session.spark


@pytest.fixture(scope="session")
def second_writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecondWriter]:
    """A process of its own that writes to lake tables on command."""
    writer = SecondWriter(tmp_path_factory.mktemp("second"))
    yield writer
    writer.end()
