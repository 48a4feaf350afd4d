"""Which instants in flight are dead."""

from __future__ import annotations

from hudi_reconcile.lake.lease import Holder, Lease
from hudi_reconcile.lake.options import EXPIRED_MS, WriteOptions, build_create_options
from hudi_reconcile.lake.recover import SILENT_MS, Leftovers, sort_leftovers
from hudi_reconcile.ports import NewTable

NOW = 10_000_000
DEAD = Lease(Holder("h", "s", 1, "1"), "run", "t", "20260101000000500", NOW - 60_000, NOW)
OLD, OURS = "20260101000000499", "20260101000000500"


def test_instant_of_our_dead_process_is_dead_once_its_heartbeat_is_silent() -> None:
    assert sort_leftovers([OURS], {OURS: NOW - SILENT_MS}, DEAD, NOW) == Leftovers((OURS,), ())
    assert sort_leftovers([OURS], {OURS: NOW - SILENT_MS + 1}, DEAD, NOW) == Leftovers((), (OURS,))


def test_instant_that_our_dead_process_cannot_have_made_is_dead_only_after_a_long_silence() -> None:
    for lease, requested in ((DEAD, OLD), (None, OURS)):
        assert sort_leftovers([requested], {requested: NOW - EXPIRED_MS + 1}, lease, NOW) == Leftovers((), ())
        assert sort_leftovers([requested], {requested: NOW - EXPIRED_MS}, lease, NOW) == Leftovers((requested,), ())


def test_instant_beside_other_tools_is_dead_only_after_a_long_silence_though_our_dead_process_may_have_made_it() -> (
    None
):
    def sort(silent_ms: int) -> Leftovers:
        return sort_leftovers([OURS], {OURS: NOW - silent_ms}, DEAD, NOW, is_alone=False)

    assert sort(EXPIRED_MS - 1) == Leftovers((), (OURS,))
    assert sort(EXPIRED_MS) == Leftovers((OURS,), ())


def test_instant_without_heartbeat_is_never_called_dead() -> None:
    assert sort_leftovers([OLD, OURS], {}, DEAD, NOW) == Leftovers((), ())


def test_our_own_cleaner_tolerates_as_much_silence_as_recovery_does() -> None:
    options = build_create_options(WriteOptions(), NewTable("t", "copy_on_write", ("id",), ()))

    beat = int(options["hoodie.client.heartbeat.interval_in_ms"])
    assert beat * int(options["hoodie.client.heartbeat.tolerable.misses"]) == EXPIRED_MS
    assert beat * 3 <= SILENT_MS
