"""How far a MySQL or MariaDB replica has come, by what it says of its channels. Sends nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Of all channels: the first is MariaDB's, the second MySQL's, the third that of MySQL before 8.0.22.
QUERIES = ("show all slaves status", "show replica status", "show slave status")
_UNTOLD = "how far this replica lags is not known: "


@dataclass(frozen=True, slots=True)
class Replication:
    """`replayed_micros`: when it was last as its primary (UTC), None where it has caught up or does not tell.

    `stopped` says why it gets nothing any more, `untold` why nothing is known; both empty else.
    """

    replayed_micros: int | None = None
    stopped: str = ""
    untold: str = ""


NONE = Replication()


def replication(clock_micros: int, channels: Sequence[Mapping[str, Any]] | None) -> Replication:
    """The slowest channel counts, and one that has stopped most. `channels` is None where the user may not ask.

    >>> replication(9_000_000, [{"Seconds_Behind_Master": 2}, {"Seconds_Behind_Source": 0}]).replayed_micros
    6000000
    """
    if channels is None:
        return Replication(untold=f"{_UNTOLD}GRANT REPLICATION CLIENT (MariaDB: SLAVE MONITOR) ON *.* to the user")
    if not channels:
        return Replication(untold=f"{_UNTOLD}it tells of no replication")
    slowest = 0
    for channel in channels:
        told = {str(name).lower(): value for name, value in channel.items()}
        lag = told.get("seconds_behind_source", told.get("seconds_behind_master"))
        if lag is None:
            running = [told.get(f"replica_{one}_running", told.get(f"slave_{one}_running")) for one in ("io", "sql")]
            return Replication(
                stopped=f"replication into this replica has stopped (receives: {running[0]}, applies: {running[1]}): what it "
                "lacks is not known"
            )
        slowest = max(slowest, int(lag))
    # Whole seconds are told.
    return Replication(clock_micros - (slowest + 1) * 1_000_000) if slowest else NONE
