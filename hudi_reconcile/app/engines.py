"""Which engine the config's `source` means, and for `jdbc:` URLs how it gets at the JVM that holds the drivers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import Environment
from hudi_reconcile.core.jdbc import Login
from hudi_reconcile.core.jdbc_url import is_jdbc
from hudi_reconcile.source.engine import Engine
from hudi_reconcile.source.jdbc import Connect, JdbcEngine, JdbcSource
from hudi_reconcile.source.open import connection_of, open_engine, own_jars_of, refuse_mysql_by_jdbc
from hudi_reconcile.spark.bare_jvm import bare_jvm
from hudi_reconcile.spark.jars import JarMode, JarRequest
from hudi_reconcile.spark.jdbc_catalog import JvmDatabase, open_database
from hudi_reconcile.spark.resolve import certificate_bundle
from hudi_reconcile.spark.session import SessionRequest

# Variables that Java, Spark and the shell between them need, even where a secret's text is made of one.
_NEEDED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "JAVA_HOME", "SPARK_HOME"})


def needs_session(config: Config) -> bool:
    """Whether the database can be asked only once a JVM runs."""
    return is_jdbc(config.source.url)


def engine_of(config: Config, password: str, connect: Connect) -> Engine:
    """The engine that the config means; no query is sent yet. Raises UsageError for what no engine reads."""
    source = config.source
    if not needs_session(config):
        connection = connection_of(
            source.url,
            password,
            insecure=source.insecure,
            roots=trusted_roots(),
            jdbc_options=tuple(sorted(source.jdbc.items())),
            max_connections=source.max_connections,
            statement_timeout_seconds=source.statement_timeout.total_seconds(),
        )
        return open_engine(connection)
    refuse_mysql_by_jdbc(source.url)
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


def trusted_roots() -> str | None:
    """The file of root certificates that both planes trust where the URL names none; on a cluster, each machine's own."""
    found = certificate_bundle(os.environ)
    return None if found is None else str(found)


def by_jvm(jvm: Callable[[], Any]) -> Connect:
    """Connects in the JVM that is running when the first question is asked."""

    def connect(login: Login) -> JvmDatabase:
        return open_database(jvm(), login)

    return connect


@contextmanager
def engine_for_doctor(config: Config, password: str, environ: Environment) -> Iterator[Engine]:
    """The engine for the length of a block, without a Spark session."""
    if not needs_session(config):
        with closing(engine_of(config, password, by_jvm(lambda: None))) as engine:
            yield engine
        return
    with (
        bare_jvm(session_request(config), environ) as jvm,
        closing(engine_of(config, password, partial(open_database, jvm))) as engine,
    ):
        yield engine


def session_request(config: Config) -> SessionRequest:
    """What the config says of Spark and jars."""
    mode, own = JarMode(config.jars.mode), own_jars_of(config.source.url)
    jars = JarRequest(mode=mode, paths=tuple(config.jars.paths), engine=own)
    hidden = config.secret_variables - _NEEDED
    return SessionRequest(master=config.spark.master, conf=dict(config.spark.conf), jars=jars, hidden=hidden)
