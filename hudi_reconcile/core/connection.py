"""How a source is reached: one value for both drivers, with the password kept out of sight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from hudi_reconcile.core.transport import Transport, transport_of

MICROS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Connection:
    """A database, as SQLAlchemy and the JDBC driver both reach it. `password` never shows in repr or messages.

    `tls` is what the URL says of it, `insecure` that the server need not be verified, `roots` the file of certificates that this
    machine trusts: `transport` is what follows.
    """

    dialect: str
    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False, default="")
    tls: tuple[tuple[str, str], ...] = ()
    insecure: bool = False
    roots: str | None = None
    jdbc_options: tuple[tuple[str, str], ...] = ()
    max_connections: int = 4
    statement_timeout_seconds: float = 300.0

    @property
    def place(self) -> str:
        """Where it is, for messages: no user, no password."""
        return f"{self.dialect}://{self.host}:{self.port}/{self.database}"

    @property
    def transport(self) -> Transport:
        """How the server is verified. Raises UsageError where it would not be, and the config does not say so."""
        return transport_of(self.host, dict(self.tls), insecure=self.insecure, roots=self.roots)
