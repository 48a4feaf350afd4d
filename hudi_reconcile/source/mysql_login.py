"""PyMySQL's connection, held to what was asked of it: TLS where it was asked for, and no password for whoever asks.

A server decides how its clients log in, and PyMySQL answers `mysql_clear_password` and `dialog` with the password itself,
`sha256_password` and `caching_sha2_password` too once TLS is on, or else encrypted by a key that the server sends. Where nothing
proves who the server is, only logins that prove the password without sending it are left. Versions before 1.2 also go on without
TLS where the server offers none. Connector/J has both by `restrictedAuth` and `sslMode`.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from pymysql import connections
from pymysql.constants import CLIENT
from pymysql.err import OperationalError

_PROVING: Final = "mysql_native_password"
_TELLING: Final = ("caching_sha2_password", "sha256_password", "mysql_old_password", "mysql_clear_password", "dialog")
NO_TLS, NOT_TOLD = 2026, 2059  # the client's own error numbers: CR_SSL_CONNECTION_ERROR, CR_AUTH_PLUGIN_CANNOT_LOAD


class Login(connections.Connection):  # type: ignore[misc]  # PyMySQL has no types
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


def is_encrypted(opened: Login) -> bool:
    """Whether the connection itself speaks TLS."""
    return bool(opened._secure)  # noqa: SLF001 - it has no public name


def login(_dialect: object, _record: object, arguments: list[Any], named: dict[str, Any]) -> Login:
    """SQLAlchemy's `do_connect`."""
    return Login(*arguments, **named)
