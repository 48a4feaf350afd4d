"""Who answers is verified off this machine, by both planes alike; a stranger gets no password, and its rows are never read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_reconcile.changefeed.postgres_sink import PostgresTarget, TargetError
from hudi_reconcile.core.errors import ReconcileError, SourceError
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.databases.urls import build_connection, open_engine
from hudi_reconcile.source import reads
from tests.support.mariadb import MariaDatabase, MariaServer, fresh_maria, tls_maria
from tests.support.postgres import Database
from tests.support.tls import (
    Certificates,
    Front,
    asking_mysql,
    asking_postgres,
    certificates,
    own_address,
    tls_front,
)

HOST = own_address()
CANARY = "canary-9f31c7"
ROW = reads.JdbcRead("select 1 as c0", ("1 = 1",))
COLUMNS = (Column("c0", Kind.INTEGER, "int"),)


@pytest.fixture(scope="module")
def made() -> Iterator[Certificates]:
    with tempfile.TemporaryDirectory(
        prefix="hr-tls-"
    ) as folder:  # pytest's own is closed to the user that servers run as
        yield certificates(Path(folder), HOST)


@pytest.fixture(scope="module")
def tls_server(made: Certificates) -> Iterator[MariaServer]:
    with tls_maria(made.right) as server:
        yield server


@pytest.fixture
def tls_database(tls_server: MariaServer) -> Iterator[MariaDatabase]:
    with fresh_maria(tls_server) as database:
        yield database


def of_postgres(pg: Database, front: Front, *, password: str | None = None, **settings: Any) -> Connection:
    url = f"postgresql+psycopg://{pg.server.user}@{HOST}:{front.port}/{pg.name}{settings.pop('query', '')}"
    return build_connection(url, pg.server.password if password is None else password, **settings)


def of_maria(port: int, name: str, password: str, **settings: Any) -> Connection:
    url = f"mysql+pymysql://hr_admin@{settings.pop('host', HOST)}:{port}/{name}{settings.pop('query', '')}"
    return build_connection(url, password, **settings)


def refusals(found: Connection, spark: SparkSession) -> list[str]:
    """What control plane and data plane say when they do not get through; fails where one of them does."""
    engine = open_engine(found)
    try:
        with pytest.raises(SourceError) as control:
            engine.rows("select 1")
        with pytest.raises(Py4JJavaError) as data:
            read(engine, spark)
    finally:
        engine.close()
    return [f"{control.value} {control.value.fix}", str(data.value.java_exception)]


def read(engine: Engine, spark: SparkSession) -> list[Any]:
    return [row[0] for row in reads.read(spark, engine.jdbc(), ROW, COLUMNS).collect()]


def link_of(found: Connection, spark: SparkSession) -> str:
    """What doctor says of the way, once both planes have gone it."""
    engine = open_engine(found)
    try:
        assert read(engine, spark) == [1]
        return engine.server_facts().link
    finally:
        engine.close()


def test_postgresql_is_read_off_this_machine_where_its_certificate_and_name_are_good(
    pg: Database, spark: SparkSession, made: Certificates
) -> None:
    with tls_front((pg.server.host, pg.server.port), made.right) as front:
        assert link_of(of_postgres(pg, front, roots=str(made.root)), spark) == "TLS, certificate verified"
        query = f"?sslmode=verify-ca&sslrootcert={made.root}"
        assert link_of(of_postgres(pg, front, query=query), spark) == "TLS, certificate verified, host name not"
        insecure = of_postgres(pg, front, query="?sslmode=require", insecure=True)
        assert link_of(insecure, spark) == "TLS, certificate not checked"
        off = of_postgres(pg, front, query="?sslmode=disable", insecure=True)
        assert link_of(off, spark) == "no TLS"


@pytest.mark.parametrize("wrong", ["other_host", "self_signed", "none"])
def test_stranger_in_postgresqls_place_is_refused_by_both_planes_before_any_login(
    pg: Database, spark: SparkSession, made: Certificates, wrong: str
) -> None:
    certificate = None if wrong == "none" else getattr(made, wrong)
    with tls_front((pg.server.host, pg.server.port), certificate) as front:
        control, _ = refusals(of_postgres(pg, front, roots=str(made.root)), spark)

    assert front.heard == []
    assert "sslrootcert=PATH" in control
    assert "insecure: true" in control


def test_stranger_that_asks_for_postgresqls_password_gets_none_insecure_or_not(
    pg: Database, spark: SparkSession, made: Certificates
) -> None:
    for certificate, settings in (
        (None, {"roots": str(made.root)}),
        (made.self_signed, {"roots": str(made.root)}),
        (None, {"insecure": True}),
        (made.self_signed, {"insecure": True, "query": "?sslmode=require"}),
    ):
        with asking_postgres(certificate) as front:
            found = of_postgres(pg, front, password=CANARY, **settings)
            said = refusals(found, spark)
        assert CANARY not in f"{front.heard} {said}"
        assert not any(front.heard)
        if "insecure" in settings:
            assert "remove insecure" in said[0]


def test_target_of_changes_is_held_to_the_same(
    pg: Database, made: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", CANARY)
    for certificate, insecure in ((None, False), (made.self_signed, False), (None, True), (made.self_signed, True)):
        with asking_postgres(certificate) as front:
            url = f"postgresql+psycopg://me@{HOST}:{front.port}/{pg.name}"
            with pytest.raises(TargetError):
                PostgresTarget(url, "t", insecure, str(made.root)).apply(iter(()), {"id": "int"}, ["id"])
        assert not any(front.heard)
    monkeypatch.setenv("PGPASSWORD", pg.server.password)
    pg.execute("create table t (id int primary key)")
    with tls_front((pg.server.host, pg.server.port), made.right) as front:
        url = f"postgresql://{pg.server.user}@{HOST}:{front.port}/{pg.name}"
        assert PostgresTarget(url, "t", roots=str(made.root)).apply(iter([("i", ["1"])]), {"id": "int"}, ["id"]) == 1
    assert pg.query("select id from t") == [(1,)]


def test_mariadb_is_read_off_this_machine_where_its_certificate_and_name_are_good(
    tls_database: MariaDatabase, spark: SparkSession, made: Certificates
) -> None:
    server = tls_database.server

    def link(**settings: Any) -> str:
        return link_of(of_maria(server.port, tls_database.name, server.password, **settings), spark)

    assert link(roots=str(made.root)) == "TLS, certificate verified"
    query = f"?sslmode=verify-ca&sslrootcert={made.root}"
    assert link(query=query) == "TLS, certificate verified, host name not"
    assert link(query="?sslmode=require", insecure=True) == "TLS, certificate not checked"
    assert link(insecure=True) == "no TLS"
    assert link(host="127.0.0.1") == "no TLS (this machine)"


def test_mariadb_whose_certificate_nobody_vouches_for_is_refused_by_both_planes(
    tls_database: MariaDatabase, maria_server: MariaServer, spark: SparkSession, made: Certificates, tmp_path: Path
) -> None:
    server = tls_database.server
    stranger = certificates(tmp_path, HOST)
    for settings in (
        {"roots": str(stranger.root)},  # signed by another root
        {
            "roots": str(made.root),
            "host": "localhost",
            "query": "?sslmode=verify-full",
        },  # a certificate of another name
    ):
        control, data = refusals(of_maria(server.port, tls_database.name, server.password, **settings), spark)
        assert "sslrootcert=PATH" in control
        assert any(word in data for word in ("PKIX", "SSL", "certificate", "hostname"))
    # A server without TLS is not spoken to without it.
    plain = of_maria(maria_server.port, "", maria_server.password, host="localhost", query="x?sslmode=require")
    control, _ = refusals(plain, spark)
    assert "TLS was asked for" in control or "SSL is required" in control


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"mysql_clear_password", None),
        (b"sha256_password", None),
        (b"mysql_native_password", b"mysql_clear_password"),
        (b"mysql_native_password", b"dialog"),
        (b"caching_sha2_password", b"caching_sha2_password"),
        (b"caching_sha2_password", b"sha256_password"),
    ],
)
def test_stranger_that_asks_for_mysqls_password_gets_none_insecure_or_not(
    spark: SparkSession, made: Certificates, first: bytes, then: bytes | None
) -> None:
    for certificate, settings in (
        (None, {"roots": str(made.root)}),
        (made.self_signed, {"roots": str(made.root)}),
        (None, {"insecure": True}),
        (made.self_signed, {"insecure": True, "query": "?sslmode=require"}),
    ):
        with asking_mysql(certificate, first=first, then=then) as front:
            found = of_maria(front.port, "shop", CANARY, **settings)
            said = refusals(found, spark)
        assert CANARY not in f"{front.heard} {said}"


def test_refusals_are_errors_with_a_fix_and_never_a_traceback() -> None:
    with asking_mysql(None, first=b"mysql_native_password", then=b"mysql_clear_password") as front:
        engine = open_engine(of_maria(front.port, "shop", CANARY, insecure=True))
        with pytest.raises(ReconcileError, match="clear text") as refused:
            engine.rows("select 1")
        engine.close()
    assert "remove insecure" in refused.value.fix
