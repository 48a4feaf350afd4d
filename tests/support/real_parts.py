"""The real parts, once per process: a PostgreSQL server, a MariaDB server, a Spark session. Folders of tests take them over.

Tests fail without them rather than skip; MariaDB's skip on a machine without one, except under `.ci/run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_reconcile.demo.postgres import PostgresServer
from hudi_reconcile.spark.jars import JarRequest
from hudi_reconcile.spark.session import Session, SessionRequest, open_session
from tests.support.alone import alone
from tests.support.mariadb import MariaDatabase, MariaServer, any_maria, fresh_maria
from tests.support.postgres import Database, any_server, fresh_database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of the machine around every test's JVM: with summer time, and not what the tool works in.
ZONE = "Europe/Berlin"
_CONF = {
    "spark.sql.shuffle.partitions": "2",
    # Hundreds of tables of the same shapes are compared in one process: what was compiled for one serves the others.
    "spark.sql.codegen.cache.maxEntries": "10000",
}


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


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Our own session, small, with every driver, and what it stands on; one for all tests of a process.

    It is not `short`, for it works for half an hour or more. But Java's second compiler took a third of the CPU, and gained
    as much, so it is kept to what runs four times as often as it would ask for.
    """
    folder = hide_defaults(tmp_path_factory.mktemp("hadoop"))
    late = (
        "InvocationThreshold=20000",
        "MinInvocationThreshold=2400",
        "CompileThreshold=60000",
        "BackEdgeThreshold=160000",
    )
    java = " ".join(f"-XX:Tier4{limit}" for limit in late)
    conf = {**_CONF, "spark.driver.extraClassPath": str(folder), "spark.driver.extraJavaOptions": java}
    request = SessionRequest(master="local[2]", conf=conf, jars=JarRequest(engine="mysql"))
    with ExitStack() as stack:
        with alone("jars"), pytest.MonkeyPatch.context() as patch:  # a first start fetches them
            patch.setenv("TZ", ZONE)
            session = stack.enter_context(open_session(request))
        yield session


def hide_defaults(folder: Path) -> Path:
    """A folder that, first on a class path, takes from Hadoop the 627 defaults of services that no test has.

    Hudi sends all of Hadoop's settings with each of its stages, and reads them from XML for each file: an eighth of the CPU
    of a test's Java. Commands in processes of their own have them all.
    """
    for service in ("yarn", "mapred"):
        (folder / f"{service}-default.xml").write_text("<configuration/>\n")
    return folder


@pytest.fixture(scope="session")
def spark(spark_session: Session) -> SparkSession:
    """The SparkSession itself."""
    return spark_session.spark
