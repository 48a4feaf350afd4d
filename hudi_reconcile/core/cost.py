"""Stream or push down: which way of digesting is cheaper for this table, link and source. Pure.

The model is the measured one of the prototypes (1,000,000 rows of 8 columns on 2 cores, PostgreSQL 15, Spark 3.5): streaming
costs the link and Spark, pushing down costs the source's processor, and either runs beside the lake's own digest.
"""

from __future__ import annotations

from dataclasses import dataclass

# Seconds of one core per row of 8 columns, read and hashed in Spark, and for the lake's md5 text digest.
_STREAM_ROW_SECONDS = 2.2e-6
_LAKE_TEXT_ROW_SECONDS = 4.4e-6
_STREAM_START_SECONDS = 0.6
SMALL_ROWS = 200_000  # below this many rows either way takes about a second, and a probe would cost as much


@dataclass(frozen=True, slots=True)
class Probe:
    """What a sample told: bytes of a row's text, seconds per byte over the link, seconds per row of a digest inside."""

    row_bytes: float
    link_byte_seconds: float
    digest_row_seconds: float


@dataclass(frozen=True, slots=True)
class Choice:
    """Where the source's rows are digested, and why, in words."""

    pushdown: bool
    why: str


def cheaper(probe: Probe, rows: int, *, cores: int) -> Choice:
    """The way that ends sooner. Equal times stream: that is easier on the source.

    The probe is held to be what the source gives: how many processors it has free for statements side by side is not known.
    """
    link = rows * probe.row_bytes * probe.link_byte_seconds
    streamed = _STREAM_START_SECONDS + max(link, rows * _STREAM_ROW_SECONDS / cores)
    pushed = max(rows * probe.digest_row_seconds, rows * _LAKE_TEXT_ROW_SECONDS / cores)
    megabytes = 1 / probe.link_byte_seconds / 1e6 if probe.link_byte_seconds else None
    speed = "too fast to measure" if megabytes is None else f"{megabytes:,.0f} MB/s"
    return Choice(
        pushed < streamed,
        f"{rows:,} rows of {probe.row_bytes:,.0f} bytes, link {speed}, digest inside "
        f"{probe.digest_row_seconds * 1e6:.1f} µs a row: stream about {streamed:.1f} s, pushdown about {pushed:.1f} s",
    )
