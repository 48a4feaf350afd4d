from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.demo.postgres import PostgresServer, run_postgres, wheel_bin_dir
from tests.support.postgres import Database, installed_bin_dir


def connect(server: PostgresServer, password: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host=server.host, port=server.port, user=server.user, password=password, dbname=server.database
    )


def processes_mentioning(word: str) -> list[str]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:  # it ended while we looked
            continue
        if word in line:
            lines.append(line)
    return lines


def is_open(server: PostgresServer) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((server.host, server.port)) == 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that an unprivileged user may enter; pytest's own are closed."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def binaries() -> list[Path]:
    installed = installed_bin_dir(Path("/usr/lib/postgresql"))
    return [wheel_bin_dir(), *([installed] if installed else [])]


@pytest.mark.parametrize("bin_dir", binaries(), ids=lambda path: path.parts[-2])
def test_server_takes_its_password_refuses_another_and_leaves_nothing(bin_dir: Path, open_folder: Path) -> None:
    with run_postgres(open_folder, bin_dir=bin_dir) as server:
        with connect(server, server.password) as connection:
            shown = connection.execute(
                "select current_setting('TimeZone'), current_setting('server_encoding'), current_setting('fsync')"
            ).fetchone()
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            connect(server, "wrong")

    assert shown == ("UTC", "UTF8", "off")
    assert not is_open(server)
    assert processes_mentioning(str(open_folder)) == []
    assert list(open_folder.iterdir()) == []


def test_server_is_reached_on_the_loopback_address_alone() -> None:
    with run_postgres() as server, connect(server, server.password) as connection:
        row = connection.execute(
            "select current_setting('listen_addresses'), current_setting('unix_socket_directories')"
        ).fetchone()

    assert row == ("127.0.0.1", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to drop")
def test_server_started_by_root_runs_as_an_unprivileged_user() -> None:
    with run_postgres() as server, connect(server, server.password) as connection:
        row = connection.execute("select pg_backend_pid()").fetchone()
        assert row is not None
        owner = Path(f"/proc/{row[0]}").stat().st_uid

    assert owner != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user owns its folders")
def test_server_starts_from_binaries_in_a_folder_that_only_root_may_enter(tmp_path: Path) -> None:
    package = wheel_bin_dir().parent.parent
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, closed / part.name)
    binaries = closed / wheel_bin_dir().relative_to(package.parent)

    with run_postgres(bin_dir=binaries) as server:
        assert is_open(server)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user owns its folders")
def test_server_whose_files_would_lie_in_a_closed_folder_is_refused_by_name(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(UsageError, match="may not enter"), run_postgres(closed):
        pass

    assert list(closed.iterdir()) == []


def test_server_that_fails_to_start_leaves_no_files(tmp_path: Path, open_folder: Path) -> None:
    broken = tmp_path / "broken" / "bin"
    broken.mkdir(parents=True)
    for name in ("initdb", "postgres"):
        (broken / name).write_text("#!/bin/sh\necho no such luck\nexit 1\n")
        (broken / name).chmod(0o755)

    with pytest.raises(SourceError, match=r"initdb failed: no such luck"), run_postgres(open_folder, bin_dir=broken):
        pass

    assert list(open_folder.iterdir()) == []


def test_database_of_a_test_is_fresh_and_writable(pg: Database) -> None:
    pg.execute("create table t (id int primary key)", "insert into t values (1), (2)")

    assert pg.query("select count(*) from t") == [(2,)]
    assert pg.url.endswith(f"/{pg.name}")
