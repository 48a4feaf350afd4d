"""When a source is too busy with others to be read."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.source.server_load import LoadLimits, ServerLoad, find_busy_reason

PLACE = "db:5432/shop"
BOTH = LoadLimits(statements=2, lag_seconds=30.0)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (ServerLoad(2, 30.0), ""),
        (ServerLoad(0, 0.0), ""),
        (ServerLoad(3, 0.0), f"{PLACE} runs 3 statements of others, more than 2"),
        (ServerLoad(2, 30.6), f"a replica is 31 s behind, more than 30 s ({PLACE})"),
    ],
)
def test_source_is_busy_beyond_a_limit_and_not_at_it(load: ServerLoad, reason: str) -> None:
    assert find_busy_reason(BOTH, load, PLACE) == reason


def test_limit_on_what_the_server_does_not_tell_is_refused_with_what_would_let_it() -> None:
    untold = ServerLoad(None, None, "GRANT pg_read_all_stats to this role")

    for limits, key in (
        (LoadLimits(statements=2, lag_seconds=None), "statements"),
        (LoadLimits(statements=None, lag_seconds=1.0), "lag"),
    ):
        with pytest.raises(UsageError, match=rf"sweep\.pause\.{key} cannot be kept: .* GRANT pg_read_all_stats"):
            find_busy_reason(limits, untold, PLACE)


def test_what_has_no_limit_is_not_needed() -> None:
    only_statements = LoadLimits(statements=2, lag_seconds=None)

    assert find_busy_reason(only_statements, ServerLoad(1, None, "no replica"), PLACE) == ""
