"""PostgreSQL sessions of ours: their settings, and the proof that they are in force and that one session stays one session.

A pooler between us and the server may drop settings or hand every transaction another session: then times, numbers and
snapshots would not be what we take them for, so it is refused and never worked around.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.source.plane import ControlPlane

_SETTINGS: Mapping[str, str] = {
    "default_transaction_read_only": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "lc_monetary": "C",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "row_security": "off",
    "client_encoding": "UTF8",
}
_PID_QUERY = "select pg_backend_pid() as pid"
_SETTINGS_QUERY = "select pg_backend_pid() as pid, {settings}".format(
    settings=", ".join(f"current_setting('{name}') as \"{name}\"" for name in _SETTINGS)
)
# What pgbouncer says to a session that comes with settings.
_REFUSAL = "unsupported startup parameter"
_FIX = "point source.url at the server itself, past the pooler: its port is 5432 where nobody chose another"


def session_options(statement_timeout_seconds: float) -> str:
    """PostgreSQL start-up options that make a session read only, in UTC and bounded."""
    settings = {
        **_SETTINGS,
        "lock_timeout": "2000",
        "statement_timeout": str(int(statement_timeout_seconds * 1000)),
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


def refuse_pooler(plane: ControlPlane) -> None:
    """Raises SourceError where the session's settings are not in force, or two statements meet two sessions."""
    first, second = dict(plane.one(_SETTINGS_QUERY)), plane.one(_PID_QUERY)
    why = pooled({str(name): value for name, value in first.items()}, second["pid"])
    if why:
        raise SourceError(f"{plane.connection.place}: {why}", fix=_FIX)


def pooled(first: Mapping[str, Any], next_pid: int) -> str:
    """What two statements in a row give away of a pooler; empty where all is as it was asked for."""
    # DateStyle comes with the order of days and months, which ISO does not need.
    lost = [name for name, value in _SETTINGS.items() if str(first[name]).split(",", maxsplit=1)[0] != value]
    if lost:
        return (
            f"settings of our session are not in force ({', '.join(lost)}): a connection pooler such as pgbouncer drops them, "
            "and values would be read wrong"
        )
    if first["pid"] != next_pid:
        return (
            "two statements in a row met two server sessions: a connection pooler in transaction mode is in between, and "
            "neither settings nor snapshots outlive a transaction there"
        )
    return ""


def is_poolers_refusal(reason: str) -> bool:
    """True where the words are those with which a pooler turns our session away."""
    return _REFUSAL in reason


def turned_away(place: str, reason: str) -> SourceError:
    """A pooler did not let our session in."""
    return SourceError(f"{place}: a connection pooler turned our session away: {reason}", fix=_FIX)
