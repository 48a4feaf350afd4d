"""MySQL and MariaDB sessions of ours, for both drivers: their settings, their TLS, and logins that give no password away.

Connector/J is the MariaDB one (LGPL) under a `jdbc:mysql:` URL: only that makes Spark quote names as this server does.
Under `jdbc:mariadb:` Spark quotes them like text, and every row holds the columns' names.

A server decides how its clients log in, and PyMySQL answers `mysql_clear_password` and `dialog` with the password itself,
`sha256_password` and `caching_sha2_password` too once TLS is on, or else encrypted by a key that the server sends. Where
nothing proves who the server is, only logins that prove the password without sending it are left. Versions before 1.2 also
go on without TLS where the server offers none. Connector/J has both by `restrictedAuth` and `sslMode`.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from pymysql import connections
from pymysql.constants import CLIENT
from pymysql.err import OperationalError

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.base import Described, JdbcTarget, TableRequest
from hudi_reconcile.databases.catalog import describe_table
from hudi_reconcile.databases.control import CONNECT_SECONDS, ControlPlane
from hudi_reconcile.databases.mysql import dialect
from hudi_reconcile.databases.registry import known_drivers
from hudi_reconcile.sql import reads
from hudi_reconcile.sql.connection_properties import merge_properties

JDBC_DRIVER = "org.mariadb.jdbc.Driver"
# Logins that prove the password and do not send it.
_PROOFS = ("mysql_native_password", "client_ed25519", "parsec", "auth_gssapi_client")
_PLAIN = re.compile(r"[\w$-]+")
_JDBC_MODES = {"disable": "disable", "require": "trust", "verify-ca": "verify-ca", "verify-full": "verify-full"}


def control_arguments(connection: Connection) -> dict[str, Any]:
    """PyMySQL's own arguments: a read-only session in UTC, bounded, TLS as the URL asks for it."""
    arguments: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": int(connection.statement_timeout_seconds) + CONNECT_SECONDS,
        "charset": "utf8mb4",
        "init_command": dialect.session(connection.statement_timeout_seconds),
        "local_infile": False,
        "program_name": "hudi-reconcile",
    }
    mode, transport = _mode(connection), connection.transport
    if mode == "disable":
        arguments["ssl_disabled"] = True  # else newer versions speak TLS where they can, and Spark's reader does not
    else:
        checks = {"check_hostname": mode == "verify-full", "verify_mode": transport.is_verified}
        arguments["ssl"] = checks | (
            {"ca": transport.root} if transport.root else {}
        )  # no name is checked without `ca`
    if transport.is_exposed:
        arguments["auth_plugin_map"] = refusals()
    return arguments


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
        "initSql": dialect.session(),
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
    merged = merge_properties(known_drivers()[dialect.NAME], defaults, connection.jdbc_options, properties)
    return JdbcTarget(url, merged, proof=dialect.PROOF)


def _mode(connection: Connection) -> str:
    """One of the modes that both drivers have; where none was asked for and none is needed, `disable`."""
    mode = connection.transport.mode or "disable"
    if mode not in _JDBC_MODES:
        raise UsageError(
            f"source.url: sslmode={mode} is not known (legal: {', '.join(_JDBC_MODES)})",
            fix="add ?sslmode=verify-full to source.url",
        )
    return mode


_UNSIGNED, _ENUM, _SET = 32, 256, 2048
_BINARY_CHARSET = 63
_OPEN_SCALE = 31
# https://mariadb.com/kb/en/result-set-packets/, "Field types"
_TYPES = {
    0: "decimal", 1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 7: "timestamp", 8: "bigint",
    9: "mediumint", 10: "date", 11: "time", 12: "datetime", 13: "year", 16: "bit", 245: "json", 246: "decimal",
    247: "enum", 248: "set", 255: "geometry",
}  # fmt: skip
_TEXTS = {
    15: ("varchar", "varbinary"), 249: ("tinytext", "tinyblob"), 250: ("mediumtext", "mediumblob"),
    251: ("longtext", "longblob"), 252: ("text", "blob"), 253: ("varchar", "varbinary"), 254: ("char", "binary"),
}  # fmt: skip
_GRAMMAR = ("(error 1064)", "(error 1054)", "(error 1146)", "(error 1060)", "(error 1248)")


def describe_query(plane: ControlPlane, request: TableRequest, *, server: str) -> Described:
    """The query's answer as a table without any key of its own. Raises UsageError for a query that is not understood."""
    name = reads.wrap_query(request.query or "")
    try:
        columns = _name_charsets(plane, name, plane.shape(f"select * from {name} limit 0", _columns))
        lines = plane.rows(dialect.estimate_query(name, request.predicates))
    except SourceError as error:
        if error.message.endswith(_GRAMMAR):
            raise UsageError(
                f"table {request.name}: source.query is refused: {error.message}",
                fix=f"correct tables[{request.name}].source.query: one SELECT",
            ) from error
        raise
    estimate = max((int(line["rows"] or 0) for line in lines), default=0)
    database = plane.one("select database() as name")["name"]
    identity = f"{server}/{database}/{request.query_id}"
    return describe_table(
        request,
        columns,
        (),
        name=name,
        identity=identity,
        rows_estimate=estimate,
        key_texts=dialect.KEY_TEXTS,
    )


def _name_charsets(plane: ControlPlane, name: str, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns with the character sets of the query's own texts, of which a field of the answer tells nothing."""
    texts = [column.name for column in columns if column.kind in (Kind.TEXT, Kind.CHAR, Kind.OWN_TEXT)]
    if not texts:
        return columns
    row = plane.one(dialect.charsets_query(name, texts))
    charsets = {text: str(row[f"hr_{place}"]) for place, text in enumerate(texts)}
    return tuple(dialect.note_charset(column, charsets.get(column.name)) for column in columns)


def _columns(cursor: Any) -> tuple[Column, ...]:
    fields = cursor._result.fields  # noqa: SLF001 - PyMySQL's description leaves out flags and character set
    return tuple(
        column_of_field(f.name, f.type_code, flags=f.flags, length=f.length, scale=f.scale, charset=f.charsetnr)
        for f in fields
    )


def column_of_field(name: str, code: int, *, flags: int, length: int, scale: int, charset: int) -> Column:
    """The column that a field of an answer is; of types that are not known, as the catalog's unknown ones."""
    is_unsigned = bool(flags & _UNSIGNED)
    if code in _TEXTS:
        kind = "enum" if flags & _ENUM else "set" if flags & _SET else _TEXTS[code][charset == _BINARY_CHARSET]
    else:
        kind = _TYPES.get(code, f"type {code}")
    precision = length
    if kind == "decimal":
        precision = length - (0 if is_unsigned else 1) - (1 if scale else 0)
    declared = f"{kind}({precision},{scale})" if kind == "decimal" else f"{kind}{' unsigned' if is_unsigned else ''}"
    fraction = 6 if scale == _OPEN_SCALE else scale
    return dialect.classify_column(
        name, kind, declared, nullable=True, precision=precision, scale=scale, fraction=fraction
    )


_PROVING: Final = "mysql_native_password"
_TELLING: Final = ("caching_sha2_password", "sha256_password", "mysql_old_password", "mysql_clear_password", "dialog")
NO_TLS, NOT_TOLD = 2026, 2059  # the client's own error numbers: CR_SSL_CONNECTION_ERROR, CR_AUTH_PLUGIN_CANNOT_LOAD


class MysqlLogin(connections.Connection):  # type: ignore[misc]  # PyMySQL has no types
    """A connection that stops before the password where the server does not offer what was asked for."""

    _auth_plugin_name: str

    def _get_server_information(self) -> None:
        super()._get_server_information()
        if self.ssl and not self.server_capabilities & CLIENT.SSL:
            raise OperationalError(NO_TLS, "TLS was asked for, and the server offers none")
        if self._auth_plugin_map and self._auth_plugin_name in _TELLING:
            self._auth_plugin_name = _PROVING  # a server that needs the other asks again, and is refused by name


class _Refusal:
    def __init__(self, _: connections.Connection) -> None: ...

    def authenticate(self, _: Any) -> NoReturn:
        raise OperationalError(NOT_TOLD, "the server asks for the password in clear text, and nothing proves who it is")


def refusals() -> dict[str, type]:
    """PyMySQL's `auth_plugin_map` for a server that nobody verified."""
    return dict.fromkeys(_TELLING, _Refusal)


def is_encrypted(opened: MysqlLogin) -> bool:
    """Whether the connection itself speaks TLS."""
    return bool(opened._secure)  # noqa: SLF001 - it has no public name


def login(_dialect: object, _record: object, arguments: list[Any], named: dict[str, Any]) -> MysqlLogin:
    """SQLAlchemy's `do_connect`."""
    return MysqlLogin(*arguments, **named)
