from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.databases.mysql.session import control_arguments, jdbc_target
from hudi_reconcile.databases.postgres.session import tls_parameters
from hudi_reconcile.databases.registry import find_own_jars, refuse_own_by_jdbc
from hudi_reconcile.databases.urls import build_connection, open_engine

_TLS_NAMES = {"sslmode", "sslrootcert", "sslcert", "sslkey", "requireAuth"}


@pytest.mark.parametrize(
    ("url", "dialect", "port", "jars"),
    [
        ("postgresql+psycopg://u@h/d", "postgresql", 5432, "postgres"),
        ("mysql+pymysql://u@h/d", "mysql", 3306, "mysql"),
        ("mariadb+pymysql://u@h:3307/d", "mysql", 3307, "mysql"),
    ],
)
def test_url_names_its_engine_its_port_and_its_own_jars(url: str, dialect: str, port: int, jars: str) -> None:
    found = build_connection(url, "", roots="/roots.pem")

    assert (found.dialect, found.port, find_own_jars(url)) == (dialect, port, jars)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("oracle+oracledb://u@h/d", "oracle is not read"),
        ("mysql+pymysql://u@h/d?charset=latin1", "charset is not allowed"),
        ("mysql+pymysql://h/d", "no user"),
        ("mariadb+pymysql://u@h", "no database"),
    ],
)
def test_url_that_cannot_be_read_is_refused_by_name(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build_connection(url, "")


@pytest.mark.parametrize("url", ["jdbc:mariadb://h/d", "jdbc:mysql://h/d?permitMysqlScheme", "JDBC:MySQL://h/d"])
def test_jdbc_url_of_mysql_is_refused_with_the_reason_and_the_way_out(url: str) -> None:
    with pytest.raises(UsageError, match="names quoted for it come back as values") as refused:
        refuse_own_by_jdbc(url)

    assert "mysql+pymysql://" in str(refused.value.fix)


def test_jdbc_url_of_another_product_is_let_through() -> None:
    refuse_own_by_jdbc("jdbc:h2:mem:mysql")


@pytest.mark.parametrize(
    ("url", "insecure", "ssl", "jdbc"),
    [
        ("u@far/d", False, {"check_hostname": True, "verify_mode": True, "ca": "/roots.pem"}, "verify-full"),
        ("u@far/d?sslrootcert=/ca.pem", False, {"check_hostname": True, "verify_mode": True, "ca": "/ca.pem"}, "verify-full"),
        ("u@far/d?sslmode=verify-ca&sslrootcert=/ca.pem", False,
         {"check_hostname": False, "verify_mode": True, "ca": "/ca.pem"}, "verify-ca"),
        ("u@far/d", True, None, "disable"),
        ("u@far/d?sslmode=require", True, {"check_hostname": False, "verify_mode": False}, "trust"),
        ("u@127.0.0.1/d", False, None, "disable"),
        ("u@127.0.0.1/d?sslmode=require", False, {"check_hostname": False, "verify_mode": False}, "trust"),
        ("u@localhost.evil.example/d", False, {"check_hostname": True, "verify_mode": True, "ca": "/roots.pem"}, "verify-full"),
    ],
)  # fmt: skip
def test_tls_is_asked_for_alike_by_both_drivers_of_mysql(url: str, ssl: Any, jdbc: str, *, insecure: bool) -> None:
    found = build_connection(f"mysql+pymysql://{url}", "", insecure=insecure, roots="/roots.pem")

    arguments = control_arguments(found)
    assert arguments.get("ssl") == ssl
    assert arguments.get("ssl_disabled", False) is (ssl is None)
    assert jdbc_target(found).properties["sslMode"] == jdbc
    assert jdbc_target(found).properties.get("serverSslCert") == (ssl or {}).get("ca")


@pytest.mark.parametrize(
    ("url", "insecure", "expected"),
    [
        ("u@far/d", False, {"sslmode": "verify-full", "sslrootcert": "/roots.pem"}),
        ("u@127.evil.example/d?sslrootcert=system", False, {"sslmode": "verify-full", "sslrootcert": "/roots.pem"}),
        ("u@far/d?sslrootcert=/ca.pem&sslcert=/c&sslkey=/k", False,
         {"sslmode": "verify-full", "sslrootcert": "/ca.pem", "sslcert": "/c", "sslkey": "/k"}),
        ("u@far/d", True, {"requireAuth": "!password"}),
        ("u@far/d?sslmode=require", True, {"sslmode": "require", "requireAuth": "!password"}),
        ("u@localhost/d", False, {}),
        ("u@[::1]/d?sslmode=disable", False, {"sslmode": "disable"}),
    ],
)  # fmt: skip
def test_tls_is_asked_for_alike_by_both_drivers_of_postgresql(
    url: str, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, insecure: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    found = build_connection(f"postgresql+psycopg://{url}", "", insecure=insecure, roots="/roots.pem")

    spark = {name: value for name, value in open_engine(found).jdbc().properties.items() if name in _TLS_NAMES}
    libpq = {"require_auth" if name == "requireAuth" else name: value for name, value in expected.items()}
    assert spark == expected
    assert tls_parameters(found, no_clear_text="require_auth") == libpq


def test_root_that_lies_where_postgresql_looks_is_what_both_drivers_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".postgresql").mkdir()
    (tmp_path / ".postgresql/root.crt").touch()

    found = build_connection("postgresql+psycopg://u@far/d?sslmode=verify-ca", "", roots="/roots.pem")

    assert found.transport.root == str(tmp_path / ".postgresql/root.crt")


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "mysql+pymysql"])
@pytest.mark.parametrize("mode", ["disable", "require", "verify-ca"])
def test_mode_that_leaves_a_server_elsewhere_unverified_is_refused_with_the_way_out(scheme: str, mode: str) -> None:
    with pytest.raises(UsageError, match=rf"sslmode={mode} .* far is not this machine") as refused:
        build_connection(f"{scheme}://u@far/d?sslmode={mode}", "", roots="/roots.pem")

    assert all(word in refused.value.fix for word in ("verify-full", "sslrootcert=PATH", "insecure: true"))


def test_machine_without_root_certificates_is_told_where_to_name_one() -> None:
    with pytest.raises(UsageError, match="no file of root certificates") as refused:
        build_connection("mysql+pymysql://u@far/d", "")

    assert "sslrootcert=PATH" in refused.value.fix


def test_unknown_tls_mode_of_mysql_is_refused() -> None:
    with pytest.raises(UsageError, match="sslmode=maybe is not known"):
        build_connection("mysql+pymysql://u@h/d?sslmode=maybe", "")
    with pytest.raises(UsageError, match="sslmode=prefer is not known"):
        jdbc_target(build_connection("mysql+pymysql://u@127.0.0.1/d?sslmode=prefer", ""))


def test_users_jdbc_options_cannot_undo_what_correctness_needs() -> None:
    options = (("tinyInt1isBit", "true"), ("initSql", "set names latin1"), ("useCompression", "true"))

    found = jdbc_target(build_connection("mysql+pymysql://u@h/d", "pw", roots="/r", jdbc_options=options))

    assert found.url == "jdbc:mysql://h:3306/d?permitMysqlScheme"
    assert found.properties["tinyInt1isBit"] == "false"
    assert found.properties["initSql"].startswith("set session time_zone")
    assert found.properties["useCompression"] == "true"
    assert "pw" not in repr(found)


def test_public_key_is_trusted_unseen_on_this_machine_and_from_a_verified_server_only() -> None:
    near, sure, far = (
        jdbc_target(build_connection(f"mysql+pymysql://u@{host}/d", "", insecure=insecure, roots="/r")).properties
        for host, insecure in (("127.0.0.1", False), ("far", False), ("127.evil.example", True))
    )

    assert [one["allowPublicKeyRetrieval"] for one in (near, sure, far)] == ["true", "true", "false"]
    assert ["restrictedAuth" in one for one in (near, sure, far)] == [False, False, True]
    assert "clear" not in far["restrictedAuth"]
