"""Which way is cheaper: the measured cases of the prototypes, and the edges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.sweep.segments import Probe, choose_cheaper

ROW_BYTES, DIGEST = 144.0, 1.75e-6
MEGABIT = 1e6 / 8


def probe(megabits: float) -> Probe:
    return Probe(ROW_BYTES, 1 / (megabits * MEGABIT), DIGEST)


def test_loopback_streams_and_100_megabit_pushes_down_as_was_measured() -> None:
    # floor.md 9b: 1,000,000 rows; 100 Mbit/s 12.2 s against 1.8 s, 300 Mbit/s 4.5 against 1.8, unlimited 1.0 against 1.8.
    assert not choose_cheaper(Probe(ROW_BYTES, 0.0, DIGEST), 1_000_000, cores=2).pushdown
    assert not choose_cheaper(probe(10_000), 1_000_000, cores=2).pushdown
    assert choose_cheaper(probe(300), 1_000_000, cores=2).pushdown
    assert choose_cheaper(probe(100), 1_000_000, cores=2).pushdown


def test_fast_link_streams_however_many_connections_there_are() -> None:
    # Measured on two cores: stream 3.4 s, pushdown 5.9 s.
    assert not choose_cheaper(Probe(88.0, 1 / 96e6, 4.8e-6), 1_000_000, cores=2).pushdown


def test_reason_names_both_estimates() -> None:
    found = choose_cheaper(probe(100), 1_000_000, cores=2)

    assert found.why == (
        "1,000,000 rows of 144 bytes, link 12 MB/s, digest inside 1.8 µs a row: stream about 12.1 s, pushdown about 2.2 s"
    )


@given(st.integers(0, 10**10), st.floats(0, 1e-3), st.floats(0, 1e-3), st.integers(1, 64))
def test_slower_link_never_makes_streaming_the_choice(rows: int, link: float, more: float, cores: int) -> None:
    fast = choose_cheaper(Probe(ROW_BYTES, link, DIGEST), rows, cores=cores)
    slow = choose_cheaper(Probe(ROW_BYTES, link + more, DIGEST), rows, cores=cores)

    assert slow.pushdown or not fast.pushdown
