"""How MySQL and MariaDB sessions begin, for both drivers: PyMySQL and MariaDB Connector/J. Knows settings, sends nothing.

Connector/J is the MariaDB one (LGPL) under a `jdbc:mysql:` URL: only that makes Spark quote names as this server does. Under
`jdbc:mariadb:` Spark quotes them like text, and every row holds the columns' names.
"""

from __future__ import annotations

import re
from typing import Any

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.source import mysql_login
from hudi_reconcile.source.engine import JdbcTarget
from hudi_reconcile.source.plane import CONNECT_SECONDS
from hudi_reconcile.sql.dialects import mysql
from hudi_reconcile.sql.drivers import settled

TLS_PARAMETERS = frozenset({"sslmode", "sslrootcert"})
JDBC_DRIVER = "org.mariadb.jdbc.Driver"
# Logins that prove the password and do not send it.
_PROOFS = ("mysql_native_password", "client_ed25519", "parsec", "auth_gssapi_client")
_PLAIN = re.compile(r"[\w$-]+")
_JDBC_MODES = {"disable": "disable", "require": "trust", "verify-ca": "verify-ca", "verify-full": "verify-full"}


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
    mode, transport = _mode(connection), connection.transport
    if mode == "disable":
        found["ssl_disabled"] = True  # else newer versions speak TLS where they can, and Spark's reader does not
    else:
        checks = {"check_hostname": mode == "verify-full", "verify_mode": transport.is_verified}
        found["ssl"] = checks | ({"ca": transport.root} if transport.root else {})  # no name is checked without `ca`
    if transport.is_exposed:
        found["auth_plugin_map"] = mysql_login.refusals()
    return found


def jdbc_target(connection: Connection) -> JdbcTarget:
    """Driver and reader properties; the user's extra ones, in whatever spelling, cannot undo ours.

    A fetch size makes the driver stream. Filters stay in Spark, which compares by bytes; the server's collation may not. The
    server sets no limit on a whole read, but a connection that stays silent for the statement timeout is given up.
    """
    defaults = {
        "tcpKeepAlive": "true",
        "connectTimeout": str(CONNECT_SECONDS * 1000),
        "socketTimeout": str(int(connection.statement_timeout_seconds * 1000)),
    }
    properties = {
        "driver": JDBC_DRIVER,
        "user": connection.user,
        "initSql": mysql.session(),
        "pushDownPredicate": "false",
        "tinyInt1isBit": "false",
        "yearIsDateType": "false",
        "allowLocalInfile": "false",
        "permitRedirect": "false",
    }
    if connection.password:
        properties["password"] = connection.password
    mode, transport = _mode(connection), connection.transport
    properties["sslMode"] = _JDBC_MODES[mode]
    # MySQL 8's default login without TLS takes the server's word for its key.
    properties["allowPublicKeyRetrieval"] = str(not transport.is_exposed).lower()
    if transport.root:
        properties["serverSslCert"] = transport.root
    if transport.is_exposed:
        # Without TLS this driver sends no password for it, and a server may name it before it knows the user's own way.
        named_only = ("caching_sha2_password",) if mode == "disable" else ()
        properties["restrictedAuth"] = ",".join((*_PROOFS, *named_only))
    host = f"[{connection.host}]" if ":" in connection.host else connection.host
    database = connection.database
    if _PLAIN.fullmatch(database) is None:  # the driver decodes nothing in its URL: `?` there would begin parameters
        properties["database"], database = database, ""
    url = f"jdbc:mysql://{host}:{connection.port}/{database}?permitMysqlScheme"
    return JdbcTarget(url, settled("mysql", defaults, connection.jdbc_options, properties), proof=mysql.PROOF)


def _mode(connection: Connection) -> str:
    """One of the modes that both drivers have; where none was asked for and none is needed, `disable`."""
    mode = connection.transport.mode or "disable"
    if mode not in _JDBC_MODES:
        raise UsageError(
            f"source.url: sslmode={mode} is not known (legal: {', '.join(_JDBC_MODES)})",
            fix="add ?sslmode=verify-full to source.url",
        )
    return mode
