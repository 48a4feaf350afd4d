"""The host's clock."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The host's clock, for display and waiting; correctness uses the source's and the lake's clocks."""

    def utc_micros(self) -> int:
        """Microseconds since 1970, UTC."""
        ...

    def monotonic_seconds(self) -> float:
        """For durations: never set back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait this long."""
        ...
