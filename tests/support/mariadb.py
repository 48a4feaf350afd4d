"""Where the tests' MariaDB comes from, and a fresh database on it for each test."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
import pytest
from sqlalchemy import make_url

from hudi_reconcile.demo.postgres import free_port

_START_SECONDS = 60
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin")
_UNPRIVILEGED = ("mysql", "nobody")
_USER = "hr_admin"
_SETTINGS = (
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--skip-ssl",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=16M",
    "--skip-log-bin",
    "--default-time-zone=+00:00",
)
# It is reached from outside of its container, and MySQL 8.4 knows neither of the other two.
_OF_THE_IMAGE = ("--bind-address=127.0.0.1", "--skip-ssl", "--innodb-log-file-size=16M")


@dataclass(frozen=True, slots=True, kw_only=True)
class MariaServer:
    """A server that answers, with an administrator's login. The password is kept out of `repr`."""

    port: int
    password: str = field(repr=False)
    host: str = "127.0.0.1"
    user: str = _USER

    def connect(self, database: str | None = None, *, autocommit: bool = True) -> pymysql.Connection[Any]:
        """A connection of PyMySQL in UTC and utf8mb4; the caller closes it."""
        return pymysql.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            database=database,
            autocommit=autocommit,
            charset="utf8mb4",
        )


@contextmanager
def any_maria() -> Iterator[MariaServer]:
    """The server named in TEST_MARIADB_URL, else a container of TEST_MARIADB_IMAGE, else one from installed binaries.

    Without any the tests are skipped with the reason, or fail where REQUIRE_MARIADB is set.
    """
    if url := os.environ.get("TEST_MARIADB_URL"):
        where = make_url(url)
        yield MariaServer(
            host=where.host or "127.0.0.1",
            port=where.port or 3306,
            user=where.username or "root",
            password=where.password or "",
        )
        return
    if image := os.environ.get("TEST_MARIADB_IMAGE"):
        with docker_maria(image) as server:
            yield server
        return
    with run_maria(*_programs("set TEST_MARIADB_URL, or apt-get install mariadb-server")) as running:
        yield running


@contextmanager
def docker_maria(image: str) -> Iterator[MariaServer]:
    """A container of MariaDB or MySQL, such as mysql:8.4, with the settings of our own server that both know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from testcontainers.mysql import MySqlContainer  # noqa: PLC0415 - need not be installed

        password = secrets.token_hex(12)
        container: Any = MySqlContainer(image, username="root", password=password, dbname="hr_tests")
        container.with_command([one for one in _SETTINGS if one not in _OF_THE_IMAGE])
        container.start()
    try:
        host, port = container.get_container_host_ip(), int(container.get_exposed_port(3306))
        yield MariaServer(host=host, port=port, user="root", password=password)
    finally:
        container.stop()


@contextmanager
def replicated_maria() -> Iterator[tuple[MariaServer, MariaServer]]:
    """A primary and a read-only replica of it that has caught up, from installed binaries; skipped or failed as above."""
    programs = _programs("apt-get install mariadb-server")
    with (
        run_maria(*programs, "--log-bin=bin", "--server-id=1") as primary,
        run_maria(*programs, "--server-id=2", "--read-only=1") as replica,
    ):
        with primary.connect() as admin, admin.cursor() as cursor:
            cursor.execute("show master status")
            file, place = cursor.fetchall()[0][:2]  # the users that each server begins with are in its log already
        with replica.connect() as admin, admin.cursor() as cursor:
            cursor.execute(
                f"change master to master_host='127.0.0.1', master_port={primary.port}, master_user='{primary.user}', "
                f"master_password='{primary.password}', master_log_file='{file}', master_log_pos={place}, master_use_gtid=no"
            )
            cursor.execute("start slave")
        yield primary, replica


@contextmanager
def tls_maria(certificate: Path) -> Iterator[MariaServer]:
    """A server that speaks TLS with this certificate and its key, at every address; skipped or failed as above."""
    programs = _programs("apt-get install mariadb-server")
    tls = ("--ssl=1", f"--ssl-cert={certificate}", f"--ssl-key={certificate}", "--bind-address=0.0.0.0")
    with run_maria(*programs, *tls) as server:
        with server.connect() as admin, admin.cursor() as cursor:
            cursor.execute(f"create user {server.user}@'%' identified by '{server.password}'")
            cursor.execute(f"grant all on *.* to {server.user}@'%'")
        yield server


def _programs(how: str) -> tuple[Path, Path]:
    server, install = find_program("mariadbd", "mysqld"), find_program("mariadb-install-db", "mysql_install_db")
    if server is None or install is None:
        if os.environ.get("REQUIRE_MARIADB"):
            pytest.fail(f"no MariaDB: {how}")
        pytest.skip(f"no MariaDB: {how}")
    return server, install


def find_program(*names: str) -> Path | None:
    """The first of these programs that is installed; server binaries often lie outside PATH."""
    path = os.pathsep.join((os.environ.get("PATH", ""), *_FOLDERS))
    found = next((place for name in names if (place := shutil.which(name, path=path))), None)
    return Path(found) if found else None


@contextmanager
def run_maria(server: Path, install: Path, *further: str, base: Path | None = None) -> Iterator[MariaServer]:
    """A fresh server for the length of a block; as root it runs as an unprivileged user. Durability is off.

    `base`: where its files lie, where that is not where the packages of the system put them.
    """
    root = () if base is None else (f"--basedir={base}",)
    home = Path(tempfile.mkdtemp(prefix="hr-mariadb-"))
    try:
        run = _Runner.in_folder(home)
        data = home / "data"
        run.checked(
            [str(install), "--no-defaults", *root, f"--datadir={data}", "--auth-root-authentication-method=normal"]
        )
        password, script = secrets.token_hex(12), home / "init.sql"
        script.write_text(
            f"create user {_USER}@'127.0.0.1' identified by '{password}';"
            f"\ngrant all on *.* to {_USER}@'127.0.0.1' with grant option;\n"
        )
        port = free_port()
        files = [f"--datadir={data}", f"--socket={home / 's'}", f"--pid-file={home / 'pid'}", f"--init-file={script}"]
        process = run.started([str(server), "--no-defaults", *root, *files, f"--port={port}", *_SETTINGS, *further])
        try:
            found = MariaServer(port=port, password=password)
            _wait(found, process, home / "log")
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Runner:
    """Runs the server's programs below one folder, as an unprivileged user where we are root."""

    home: Path
    account: pwd.struct_passwd | None

    @classmethod
    def in_folder(cls, home: Path) -> _Runner:
        account = None
        for name in _UNPRIVILEGED if os.geteuid() == 0 else ():
            with suppress(KeyError):
                account = pwd.getpwnam(name)
                os.chown(home, account.pw_uid, account.pw_gid)
                break
        return cls(home, account)

    def started(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        options: dict[str, Any] = {}
        if self.account:
            options = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        # A server that starts removes what it takes for its own left-overs from the folder for temporary tables.
        environ = {**os.environ, "TMPDIR": str(self.home)}
        with (self.home / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                start_new_session=True,
                **options,
            )

    def checked(self, command: Sequence[str]) -> None:
        if self.started(command).wait() != 0:
            raise RuntimeError((self.home / "log").read_text("utf-8", "replace")[-2000:])


def _wait(server: MariaServer, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(pymysql.err.OperationalError):
            server.connect().close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"MariaDB did not start: {log.read_text('utf-8', 'replace')[-2000:]}")


@dataclass(frozen=True, slots=True)
class MariaDatabase:
    """A fresh database of one test."""

    server: MariaServer
    name: str

    @property
    def url(self) -> str:
        """SQLAlchemy URL with the password."""
        server = self.server
        return f"mysql+pymysql://{server.user}:{server.password}@{server.host}:{server.port}/{self.name}"

    def connect(self, *, autocommit: bool = False) -> pymysql.Connection[Any]:
        """A connection for a transaction that a test keeps open; the caller closes it."""
        return self.server.connect(self.name, autocommit=autocommit)

    def execute(self, *statements: str) -> None:
        """Run statements, each committed by itself."""
        with self.connect(autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of one query."""
        with self.connect(autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    @contextmanager
    def unfriendly(self, **settings: str) -> Iterator[None]:
        """Server-wide settings (`sql_mode`, `time_zone`, …) that every new connection begins with, for a block."""
        before = {name: self.query(f"select @@global.{name}")[0][0] for name in settings}
        try:
            self.execute(*(_set(name, value) for name, value in settings.items()))
            yield
        finally:
            self.execute(*(_set(name, value) for name, value in before.items()))


def _set(name: str, value: object) -> str:
    return f"set global {name} = {value}" if str(value).isdigit() else f"set global {name} = '{value}'"


@contextmanager
def fresh_maria(server: MariaServer) -> Iterator[MariaDatabase]:
    name = f"hr_{secrets.token_hex(6)}"
    with server.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"create database {name} character set utf8mb4")
        try:
            yield MariaDatabase(server, name)
        finally:
            cursor.execute(f"drop database if exists {name}")
