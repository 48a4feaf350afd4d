from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hudi_reconcile.demo.postgres import PostgresServer, free_port
from tests.support.postgres import installed_bin_dir, named_server

SERVER = PostgresServer(host="127.0.0.1", port=5433, user="u", password="s3cret", database="postgres", version="17")


def test_server_shows_its_password_in_the_url_and_nowhere_else() -> None:
    assert SERVER.url == "postgresql+psycopg://u:s3cret@127.0.0.1:5433/postgres"
    assert "s3cret" not in repr(SERVER)


def test_free_port_can_be_listened_on() -> None:
    port = free_port()

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()


def test_installed_server_is_the_one_with_the_highest_version(tmp_path: Path) -> None:
    for version in ("9", "17", "15"):
        binary = tmp_path / version / "bin" / "postgres"
        binary.parent.mkdir(parents=True)
        binary.touch()

    assert installed_bin_dir(tmp_path) == tmp_path / "17" / "bin"


def test_no_installed_server_is_none(tmp_path: Path) -> None:
    assert installed_bin_dir(tmp_path) is None


@pytest.mark.parametrize(
    "url", ["postgresql://joe:pw@db.example:6000/x", "postgresql+psycopg://joe:pw@db.example:6000/x"]
)
def test_named_server_is_read_from_its_url(url: str) -> None:
    server = named_server(url)

    assert (server.host, server.port, server.user, server.database) == ("db.example", 6000, "joe", "x")
    assert server.password == "pw"
