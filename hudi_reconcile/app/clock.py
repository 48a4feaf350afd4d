"""The host's clock: the one place that reads it."""

from __future__ import annotations

import time
from datetime import UTC, datetime


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


def utc_text(micros: int) -> str:
    """ISO text in UTC with milliseconds."""
    return datetime.fromtimestamp(micros / 1e6, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
