"""What a MySQL or MariaDB replica says of its replication."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.databases.mysql.dialect import NONE, replication

SECOND = 1_000_000
CLOCK = 1_000 * SECOND
MYSQL = {"Replica_IO_Running": "Yes", "Replica_SQL_Running": "Yes", "Seconds_Behind_Source": 0}
MARIADB = {"Slave_IO_Running": "Yes", "Slave_SQL_Running": "Yes", "Seconds_Behind_Master": 0}


@pytest.mark.parametrize("channel", [MYSQL, MARIADB])
def test_replica_that_has_caught_up_lacks_nothing(channel: dict[str, Any]) -> None:
    assert replication(CLOCK, [channel]) == NONE


@pytest.mark.parametrize(("channel", "lag"), [(MYSQL, "Seconds_Behind_Source"), (MARIADB, "Seconds_Behind_Master")])
def test_lag_is_that_of_the_slowest_channel_and_never_told_too_small(channel: dict[str, Any], lag: str) -> None:
    found = replication(CLOCK, [channel, {**channel, lag: 7}, {**channel, lag: 3}])

    assert (found.replayed_micros, found.stopped, found.untold) == (CLOCK - 8 * SECOND, "", "")


@pytest.mark.parametrize(
    "channel",
    [
        {**MYSQL, "Replica_SQL_Running": "No", "Seconds_Behind_Source": None},
        {**MARIADB, "Slave_SQL_Running": "No", "Seconds_Behind_Master": None},
    ],
)
def test_channel_that_has_stopped_is_said_whatever_the_others_do(channel: dict[str, Any]) -> None:
    found = replication(CLOCK, [MYSQL, channel])

    assert found.replayed_micros is None
    assert "has stopped (receives: Yes, applies: No)" in found.stopped


@pytest.mark.parametrize(("channels", "why"), [(None, "GRANT REPLICATION CLIENT"), ([], "tells of no replication")])
def test_lag_that_nobody_tells_is_not_taken_for_none(channels: list[dict[str, Any]] | None, why: str) -> None:
    found = replication(CLOCK, channels)

    assert why in found.untold
    assert found.replayed_micros is None
