"""What a replica lets a pull trust: it shows what was committed and replayed, never what is open on the primary. Pure."""

from __future__ import annotations

_BLIND_MICROS = 5_000_000  # as for a role that sees no other session's transactions
_ROUNDED_MICROS = 2_000_000
REPLICA = (
    "the server is a replica: the primary's open transactions cannot be seen here, and what is not replayed yet looks missing; "
    "read from the primary, or set pull.overlap above the longest transaction"
)


def replica_bound(clock_micros: int, replayed_micros: int | None) -> tuple[int, str]:
    """The bound in UTC microseconds on a replica, and in words how it was found.

    `replayed_micros` is the time of the last transaction that was replayed, None where the replica has replayed all that
    it was sent: then the clock stands for it.
    """
    if replayed_micros is None:
        return (
            clock_micros - _BLIND_MICROS,
            "clock of a replica minus 5 s: the primary's open transactions cannot be seen here",
        )
    known = min(clock_micros, replayed_micros)
    return known - _BLIND_MICROS, (
        f"last transaction replayed on a replica ({(clock_micros - known) // 1_000_000:,} s behind the clock) minus 5 s: the "
        "primary's open transactions cannot be seen here"
    )


def as_of(
    earlier_micros: int | None, clock_micros: int, replayed_micros: int | None, *, is_replica: bool
) -> int | None:
    """The source's time up to which rows read now bring the lake; None where it is not known.

    A replica that shows all it was sent does not tell how old that is, so that what was known before stays.

    >>> as_of(None, 50, None, is_replica=False), as_of(None, 50, 40, is_replica=True), as_of(30, 50, None, is_replica=True)
    (50, 40, 30)
    """
    if is_replica and replayed_micros is None:
        return earlier_micros
    return clock_micros if replayed_micros is None else min(clock_micros, replayed_micros)


def is_older(as_of_micros: int | None, replayed_micros: int) -> bool:
    """True where a replica shows an older state than the lake was brought to; clocks and whole seconds are allowed for."""
    return as_of_micros is not None and as_of_micros > replayed_micros + _ROUNDED_MICROS


def is_behind(pulled_micros: int, replayed_micros: int | None) -> bool:
    """True where a replica may not show yet what pulls have brought: rows with watermarks up to `pulled_micros`, UTC.

    Never so for what was pulled from that replica, whose bound lies as far below what it had replayed.
    """
    return replayed_micros is not None and pulled_micros > replayed_micros - _BLIND_MICROS
