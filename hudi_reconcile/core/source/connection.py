"""How a source is reached, with the password kept out of sight, and what protects the connection. Pure.

Off this machine the server's certificate and name are checked (`verify-full`) unless the config says `insecure: true`. The
words are libpq's (its manual, "SSL Support": only `verify-full` protects against somebody in between).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address
from typing import Final

from hudi_reconcile.core.errors import UsageError


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
        return read_transport(self.host, dict(self.tls), insecure=self.insecure, roots=self.roots)


def share_connections(total: int, jobs: int, own: int) -> int:
    """How many connections each of so many tables side by side may read rows by, besides `own` for its small questions.

    Raises UsageError where that would be none.

    >>> share_connections(8, 2, 1)
    3
    """
    share = total // jobs - own
    if share < 1:
        needed, most = jobs * (own + 1), max(1, total // (own + 1))
        raise UsageError(
            f"--jobs {jobs} needs {needed} connections to the source: {own} for small questions and 1 for rows, for each"
            f" table; source.max_connections is {total}",
            fix=f"--jobs {most}, or source: {{max_connections: {needed}}} where the server has room for them",
        )
    return share


MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
SYSTEM: Final = "system"  # libpq's word for the roots that the machine trusts
NO_CLEAR_TEXT: Final = (
    "!password"  # libpq's require_auth, pgjdbc's requireAuth: every way to log in but to send the password
)
_CHECKED = frozenset({"verify-ca", "verify-full"})
_TLS_TROUBLE = ("ssl", "tls", "certificate", "pkix")
_WAIVER: Final = "source: {insecure: true}"


def is_loopback(host: str) -> bool:
    """Whether nobody else can listen on the way: an address of 127.0.0.0/8, `::1`, or exactly `localhost`.

    Never by how a name begins: `localhost.evil.example` is anybody's. What only some resolvers take for this machine (`127.1`,
    `localhost.`, `::ffff:127.0.0.1`) is not.

    >>> [is_loopback(host) for host in ("127.8.0.1", "LOCALHOST", "[::1]", "127.evil.example", "localhost.")]
    [True, True, True, False, False]
    """
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        address = ip_address(bare)
    except ValueError:
        return bare.lower() == "localhost"
    return address.is_loopback if isinstance(address, IPv4Address) else str(address) == "::1"


@dataclass(frozen=True, slots=True)
class Transport:
    """What both drivers are told of TLS. `mode` None: none was asked for, where that is allowed; the driver has its own way.

    `root` is the file of root certificates that both planes trust.
    """

    host: str
    mode: str | None
    root: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether it stays on this machine."""
        return is_loopback(self.host)

    @property
    def is_verified(self) -> bool:
        """Whether the server's certificate is checked."""
        return self.mode in _CHECKED

    @property
    def is_exposed(self) -> bool:
        """Whether somebody on the way may pose as the server: then it never gets a password, and every result says so."""
        return not (self.is_local or self.is_verified)

    @property
    def parameters(self) -> dict[str, str]:
        """`sslmode` and `sslrootcert` for libpq and pgjdbc, which know the same words."""
        settings = {"sslmode": self.mode, "sslrootcert": self.root}
        return {name: value for name, value in settings.items() if value is not None}

    @property
    def warning(self) -> str:
        """What validate, doctor, dry run, result and report say; empty where the server is verified or is this machine."""
        if not self.is_exposed:
            return ""
        what = "no TLS" if self.mode == "disable" else "TLS is not verified"
        return f"{what}; nothing proves that {self.host} is the database, and whoever is in between may read and change the rows"

    def state(self, *, is_encrypted: bool) -> str:
        """What is in force, for doctor: never `TLS` without a word of who checked the certificate."""
        if self.mode == "verify-full":
            return "TLS, certificate verified"
        if self.is_verified:
            return "TLS, certificate verified, host name not"
        text = "TLS, certificate not checked" if is_encrypted else "no TLS"
        return f"{text} (this machine)" if self.is_local else text

    @property
    def is_safe(self) -> bool:
        """Whether doctor has nothing to warn of."""
        return self.is_local or self.mode == "verify-full"

    def advise(self, reason: str) -> str:
        """What to do about a driver's refusal; empty where it has nothing to do with TLS."""
        said = reason.lower()
        if self.is_exposed and ("cleartext" in said or "clear text" in said or '"!password"' in said):
            return "verify the server: remove insecure, add ?sslmode=verify-full&sslrootcert=PATH to source.url"
        if self.is_verified and any(word in said for word in _TLS_TROUBLE):
            return (
                "add ?sslrootcert=PATH to source.url, the file of the certificate that signed the server's; or, where the "
                f"network itself is trusted, {_WAIVER}"
            )
        return ""


def read_transport(
    host: str,
    given: Mapping[str, str],
    *,
    insecure: bool,
    roots: str | None,
    place: str = "source.url",
    waiver: str = _WAIVER,
) -> Transport:
    """What a URL's parameters mean. `roots` is the file of certificates that this machine trusts, None without one.

    `place` is where the URL stands and `waiver` what would let a server be unverified, for messages.

    Raises UsageError for a mode that is not known, for one that leaves the server unchecked off this machine unless `insecure`,
    and where there is no root to check by.
    """
    mode, root = given.get("sslmode"), given.get("sslrootcert")
    if mode is not None and mode not in MODES:
        raise UsageError(
            f"{place}: sslmode={mode} is not known (legal: {', '.join(MODES)})",
            fix=f"add ?sslmode=verify-full to {place}",
        )
    is_own_root = root not in (None, "", SYSTEM)
    if not is_loopback(host) and not insecure:
        mode = mode or "verify-full"
        if why := _weakness(mode, is_own_root=is_own_root):
            raise UsageError(
                f"{place}: sslmode={mode} {why}, and {host} is not this machine",
                fix="write ?sslmode=verify-full, and &sslrootcert=PATH for a root of your own; or, where the network itself is "
                f"trusted, {waiver}",
            )
    if mode not in _CHECKED:
        return Transport(host, mode, root if is_own_root else None)
    if not is_own_root and roots is None:
        raise UsageError(
            f"{place}: this machine has no file of root certificates to verify the server by",
            fix=f"add ?sslrootcert=PATH to {place}, or install the system's ca-certificates",
        )
    return Transport(host, mode, root if is_own_root else roots)


def _weakness(mode: str, *, is_own_root: bool) -> str:
    if mode == "verify-full" or (mode == "verify-ca" and is_own_root):
        return ""
    if mode == "verify-ca":
        return "checks no name, and anybody may have a certificate of a public root"
    return "lets anybody on the way pose as the database"
