from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.source.mysql_session import control_arguments, jdbc_target
from hudi_reconcile.source.open import connection_of, own_jars_of, refuse_mysql_by_jdbc


@pytest.mark.parametrize(
    ("url", "dialect", "port", "jars"),
    [
        ("postgresql+psycopg://u@h/d", "postgresql", 5432, ""),
        ("mysql+pymysql://u@h/d", "mysql", 3306, "mysql"),
        ("mariadb+pymysql://u@h:3307/d", "mysql", 3307, "mysql"),
    ],
)
def test_url_names_its_engine_its_port_and_its_own_jars(url: str, dialect: str, port: int, jars: str) -> None:
    found = connection_of(url, "")

    assert (found.dialect, found.port, own_jars_of(url)) == (dialect, port, jars)


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
        connection_of(url, "")


@pytest.mark.parametrize("url", ["jdbc:mariadb://h/d", "jdbc:mysql://h/d?permitMysqlScheme", "JDBC:MySQL://h/d"])
def test_jdbc_url_of_mysql_is_refused_with_the_reason_and_the_way_out(url: str) -> None:
    with pytest.raises(UsageError, match="names quoted for it come back as values") as refused:
        refuse_mysql_by_jdbc(url)

    assert "mysql+pymysql://" in str(refused.value.fix)


def test_jdbc_url_of_another_product_is_let_through() -> None:
    refuse_mysql_by_jdbc("jdbc:h2:mem:mysql")


@pytest.mark.parametrize(
    ("mode", "ssl", "jdbc"),
    [
        ("", None, None),
        ("?sslmode=disable", None, "disable"),
        ("?sslmode=require", {"check_hostname": False, "verify_mode": False}, "trust"),
        ("?sslmode=verify-ca&sslrootcert=/ca.pem", {"check_hostname": False, "verify_mode": True, "ca": "/ca.pem"}, "verify-ca"),
        ("?sslmode=verify-full", {"check_hostname": True, "verify_mode": True}, "verify-full"),
    ],
)  # fmt: skip
def test_tls_is_asked_for_alike_by_both_drivers_of_mysql(mode: str, ssl: Any, jdbc: str | None) -> None:
    found = connection_of(f"mysql+pymysql://u@far/d{mode}", "")

    assert control_arguments(found).get("ssl") == ssl
    assert jdbc_target(found).properties.get("sslMode") == jdbc


def test_unknown_tls_mode_of_mysql_is_refused() -> None:
    with pytest.raises(UsageError, match="sslmode=maybe is not known"):
        jdbc_target(connection_of("mysql+pymysql://u@h/d?sslmode=maybe", ""))


def test_users_jdbc_options_cannot_undo_what_correctness_needs() -> None:
    options = (("tinyInt1isBit", "true"), ("initSql", "set names latin1"), ("useCompression", "true"))

    found = jdbc_target(connection_of("mysql+pymysql://u@h/d", "pw", jdbc_options=options))

    assert found.url == "jdbc:mysql://h:3306/d?permitMysqlScheme"
    assert found.properties["tinyInt1isBit"] == "false"
    assert found.properties["initSql"].startswith("set session time_zone")
    assert found.properties["useCompression"] == "true"
    assert "pw" not in repr(found)


def test_public_key_is_trusted_unseen_on_this_machine_only() -> None:
    near, far = (jdbc_target(connection_of(f"mysql+pymysql://u@{host}/d", "")) for host in ("127.0.0.1", "far"))

    assert near.properties.get("allowPublicKeyRetrieval") == "true"
    assert "allowPublicKeyRetrieval" not in far.properties
