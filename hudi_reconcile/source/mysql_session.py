"""How MySQL and MariaDB sessions begin, for both drivers: PyMySQL and MariaDB Connector/J. Knows settings, sends nothing.

Connector/J is the MariaDB one (LGPL) under a `jdbc:mysql:` URL: only that makes Spark quote names as this server does. Under
`jdbc:mariadb:` Spark quotes them like text, and every row holds the columns' names.
"""

from __future__ import annotations

from typing import Any

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.source.engine import JdbcTarget
from hudi_reconcile.source.plane import CONNECT_SECONDS
from hudi_reconcile.sql.dialects import mysql

TLS_PARAMETERS = frozenset({"sslmode", "sslrootcert"})
JDBC_DRIVER = "org.mariadb.jdbc.Driver"
_LOOPBACK = ("127.", "localhost", "::1")
_JDBC_MODES = {"disable": "disable", "require": "trust", "verify-ca": "verify-ca", "verify-full": "verify-full"}


def is_local(host: str) -> bool:
    """Whether nobody else can listen on the way."""
    return host.startswith(_LOOPBACK)


def control_arguments(connection: Connection) -> dict[str, Any]:
    """PyMySQL's own arguments: a read-only session in UTC, bounded, TLS as the URL asks for it."""
    found: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": int(connection.statement_timeout_seconds) + CONNECT_SECONDS,
        "charset": "utf8mb4",
        "init_command": mysql.session(connection.statement_timeout_seconds),
        "local_infile": False,
        "program_name": "hudi-reconcile",
    }
    mode = _mode(connection)
    if mode is not None and mode != "disable":
        root = dict(connection.tls).get("sslrootcert")
        checks = {"check_hostname": mode == "verify-full", "verify_mode": mode != "require"}
        found["ssl"] = checks | ({"ca": root} if root else {})
    return found


def jdbc_target(connection: Connection) -> JdbcTarget:
    """Driver and reader properties; the user's extra ones cannot undo ours.

    A fetch size makes the driver stream. Filters stay in Spark, which compares by bytes; the server's collation may not. The
    server sets no limit on a whole read, but a connection that stays silent for the statement timeout is given up.
    """
    properties = {
        **dict(connection.jdbc_options),
        "driver": JDBC_DRIVER,
        "user": connection.user,
        "initSql": mysql.session(),
        "pushDownPredicate": "false",
        "tinyInt1isBit": "false",
        "yearIsDateType": "false",
        "allowLocalInfile": "false",
        "permitRedirect": "false",
        "tcpKeepAlive": "true",
        "connectTimeout": str(CONNECT_SECONDS * 1000),
        "socketTimeout": str(int(connection.statement_timeout_seconds * 1000)),
    }
    if connection.password:
        properties["password"] = connection.password
    if is_local(connection.host):
        properties["allowPublicKeyRetrieval"] = "true"  # MySQL 8's default login without TLS
    if mode := _mode(connection):
        properties["sslMode"] = _JDBC_MODES[mode]
    if root := dict(connection.tls).get("sslrootcert"):
        properties["serverSslCert"] = root
    host = f"[{connection.host}]" if ":" in connection.host else connection.host
    return JdbcTarget(f"jdbc:mysql://{host}:{connection.port}/{connection.database}?permitMysqlScheme", properties)


def _mode(connection: Connection) -> str | None:
    mode = dict(connection.tls).get("sslmode")
    if mode is not None and mode not in _JDBC_MODES:
        raise UsageError(
            f"source.url: sslmode={mode} is not known (legal: {', '.join(_JDBC_MODES)})",
            fix="add ?sslmode=verify-full to source.url",
        )
    return mode
