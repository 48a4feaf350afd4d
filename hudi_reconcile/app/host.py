"""What only this machine knows: its clock, the parts that a session would stand on, and who runs this process.

The user is the kernel's and the user database's word; no variable of the environment is asked but for the name.
"""

from __future__ import annotations

import os
import pwd
import socket
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from hudi_reconcile.core.plan.approvals import Actor, parse_name
from hudi_reconcile.spark.versions import list_used_versions


class HostClock:
    """Implements `ports.Clock`."""

    def utc_micros(self) -> int:
        """Microseconds since 1970, UTC."""
        return time.time_ns() // 1000

    def sleep(self, seconds: float) -> None:
        """Wait."""
        if seconds > 0:
            time.sleep(seconds)

    def monotonic_seconds(self) -> float:
        """For durations."""
        return time.monotonic()


def write_utc(micros: int) -> str:
    """ISO text in UTC with milliseconds."""
    return datetime.fromtimestamp(micros / 1e6, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def list_versions(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Spark, Hudi and Java as a session would use them, a line each. Starts nothing and raises nothing."""
    return tuple(
        f"{component.name} {component.version or 'unknown'} ({component.origin})"
        for component in list_used_versions(environ)
    )


NAME = "HUDI_RECONCILE_AS"
_MACHINE_ID = Path("/etc/machine-id")  # machine-id(5): one for each installation, unlike a host's name


_UID_MAP = Path("/proc/self/uid_map")
_WHOLE_MAP = ["0", "0", "4294967295"]


def hides_user(uid_map: Path = _UID_MAP) -> bool:
    """True in a user namespace: this process may have another user id than it is shown.

    Only a map of all ids is believed. A part of them mapped onto itself may lie in a namespace that shows others, while
    all of them cannot be shown as others: user_namespaces(7).
    """
    try:
        return uid_map.read_text("ascii").split() != _WHOLE_MAP
    except (OSError, UnicodeDecodeError):
        return sys.platform == "linux"  # others have no user namespaces


def find_actor(environ: Mapping[str, str], name: str | None = None) -> Actor:
    """The name given, else `HUDI_RECONCILE_AS`, else the login. Raises UsageError for a name that is none.

    Login and id are those of the effective user: `getpass.getuser` would take whatever LOGNAME or USER says.
    """
    uid, host = os.geteuid(), socket.gethostname()
    login = f"{_login(uid)}@{host}"
    said = name if name is not None else environ.get(NAME)
    return Actor(login if said is None else parse_name(said), login, f"{uid}@{_machine() or host}")


def _login(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container's user without an entry in its passwd
        return f"uid{uid}"


def _machine() -> str:
    try:
        return _MACHINE_ID.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):  # a container has none
        return ""
