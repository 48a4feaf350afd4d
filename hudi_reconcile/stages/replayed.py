"""Whether a replica has come as far as the lake. One that has not shows rows as deleted that it has yet to get, or as older.

What a correction brought from the primary counts for watermarks without a clock only.
"""

from __future__ import annotations

from collections.abc import Callable

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.kinds import Kind
from hudi_reconcile.core.replica import is_behind, is_older
from hudi_reconcile.core.result import Unverified
from hudi_reconcile.core.values import CheckpointAt, Moment
from hudi_reconcile.core.window import watermark_text
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.watermarks import Watermark

FIX = "when the replica has caught up (PostgreSQL: only a role with pg_read_all_stats sees that it has), or from the primary"


def behind(
    watermark: Watermark, checkpoint: CheckpointAt | None, moment: Moment, offset_at: Callable[[int], int]
) -> str:
    """Why a replica may not show all that the lake has; empty where it does, and for any other source.

    A watermark with a clock tells it by the rows; any other, and a whole fetch, by when the lake was brought up to date.
    """
    replayed, kept = moment.replayed_micros, None if checkpoint is None else checkpoint.checkpoint
    if moment.stopped or replayed is None or kept is None:
        return moment.stopped
    shown, mark = watermark_text(Kind.TIMESTAMPTZ, replayed), watermark.reached(kept)
    if watermark.has_clock and mark is not None and isinstance(mark.value, int):
        here = replayed if watermark.kind is Kind.TIMESTAMPTZ else replayed + offset_at(replayed)
        brought = f"rows up to {watermark.text(mark)}" if is_behind(mark.value, here) else ""
    else:
        was = kept.as_of_micros
        late = was is not None and is_older(was, replayed)
        brought = f"what the source had at {watermark_text(Kind.TIMESTAMPTZ, was or 0)}" if late else ""
    if not brought:
        return ""
    return (
        f"the replica has replayed transactions up to {shown}, pulls have brought {brought}: what it does not show yet looks "
        "deleted or older"
    )


def unreplayed(job: TableJob, why: str) -> tuple[Unverified, ...]:
    """What to say of differences found on a replica that is behind the lake; nothing of any other source."""
    return (Unverified("table", job.name, why, f"sweep again {FIX}"),) if why else ()


def refuse_behind(job: TableJob, why: str) -> None:
    """Raises SourceError where a replica's older rows would be written over newer ones."""
    if why:
        raise SourceError(f"table {job.name}: {why}; nothing was written", fix=f"pull again {FIX}")
