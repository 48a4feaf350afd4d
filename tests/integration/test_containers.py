"""The lane of containers against an engine that is none: what it starts, with which settings, and that it takes it away again.

No container runs here: docs and CONTRIBUTING say so. PostgreSQL's command is run by local binaries, since a setting that the
server does not know would only show there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from testcontainers.core.config import ConnectionMode, testcontainers_config

from hudi_reconcile.demo import postgres as demo
from tests.fakes.docker import fake_docker
from tests.support import mariadb, postgres


@pytest.fixture(autouse=True)
def plain_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No container that clears up after the others, and ports of this host, also where the tests run in a container."""
    monkeypatch.setattr(testcontainers_config, "ryuk_disabled", True)
    monkeypatch.setattr(testcontainers_config, "connection_mode_override", ConnectionMode.docker_host)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that the server's own user can enter, as it cannot enter those of pytest."""
    with TemporaryDirectory(prefix="hr-container-") as folder:
        yield Path(folder)


def test_postgres_container_has_the_settings_of_our_own_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = demo._Owner.pick()
    owner.own(home)
    binaries = postgres.installed_bin_dir(Path("/usr/lib/postgresql")) or demo.wheel_bin_dir()
    server = demo._Server(home=home, binaries=owner.reachable(binaries, home), owner=owner)

    def start(asked: dict[str, Any], port: int) -> subprocess.Popen[bytes]:
        login = dict(one.split("=", 1) for one in asked["Env"])
        assert (login["POSTGRES_USER"], login["POSTGRES_DB"]) == (demo.USER, "postgres")
        server.init(login["POSTGRES_PASSWORD"])
        program, *settings = asked["Cmd"]
        assert program == "postgres"
        ours = ["-D", str(home / "data"), "-p", str(port), "-cunix_socket_directories="]
        with server.log.open("wb") as log:
            process = server._spawn([str(server.binaries / program), *ours, *settings], log)
        assert demo._answers(process, port, login["POSTGRES_PASSWORD"]), server.log_end()
        return process

    with fake_docker(start, demo.free_port()) as (engine, address):
        monkeypatch.setenv("DOCKER_HOST", address)
        monkeypatch.delenv("TEST_PG_URL", raising=False)
        with postgres.any_server() as found, psycopg.connect(found.url.replace("+psycopg", "")) as connection:
            shown = {name: connection.execute(f"show {name}").fetchone() for name in demo.SETTINGS}
            connection.execute("create table prepared (i int)")
            connection.execute("prepare transaction 'as test_xmin does'")
    assert engine.created[0]["Image"] == "postgres:17-alpine"
    assert engine.removed == 1
    wanted = {name: value for name, value in demo.SETTINGS.items() if name not in postgres._OF_THE_IMAGE}
    assert {name: shown[name] for name in wanted} == {name: (value,) for name, value in wanted.items()}


@pytest.mark.parametrize("image", ["mysql:8.4", "mariadb:11.8"])
def test_container_of_mysql_or_mariadb_has_our_settings_and_a_login(
    image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_docker(lambda _asked, _port: None, 33_060) as (engine, address):
        monkeypatch.setenv("DOCKER_HOST", address)
        monkeypatch.setenv("TEST_MARIADB_IMAGE", image)
        monkeypatch.delenv("TEST_MARIADB_URL", raising=False)
        with mariadb.any_maria() as found:
            assert (found.host, found.port, found.user) == ("127.0.0.1", 33_060, "root")
        (asked,) = engine.created

    assert (asked["Image"], engine.removed) == (image, 1)
    assert {"--default-time-zone=+00:00", "--skip-log-bin"} <= set(asked["Cmd"])
    assert f"MYSQL_ROOT_PASSWORD={found.password}" in asked["Env"]
