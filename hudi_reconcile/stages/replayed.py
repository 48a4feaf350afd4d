"""Whether a replica has come as far as the lake. One that has not shows rows as deleted that it has yet to get, or as older."""

from __future__ import annotations

from collections.abc import Callable

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.kinds import Kind
from hudi_reconcile.core.replica import is_behind
from hudi_reconcile.core.result import Unverified
from hudi_reconcile.core.values import CheckpointAt, Moment
from hudi_reconcile.core.window import watermark_text
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.watermarks import Watermark

FIX = "when the replica has caught up (only a role with pg_read_all_stats sees that it has), or from the primary"


def behind(
    watermark: Watermark, checkpoint: CheckpointAt | None, moment: Moment, offset_at: Callable[[int], int]
) -> str:
    """Why a replica may not show all that the lake has; empty where it does, and for any other source.

    Only a clock tells: of watermarks that are numbers, nothing is said.
    """
    mark, replayed = watermark.reached(None if checkpoint is None else checkpoint.checkpoint), moment.replayed_micros
    if mark is None or replayed is None or not watermark.has_clock or not isinstance(mark.value, int):
        return ""
    if not is_behind(mark.value, replayed if watermark.kind is Kind.TIMESTAMPTZ else replayed + offset_at(replayed)):
        return ""
    shown = watermark_text(Kind.TIMESTAMPTZ, replayed)
    return (
        f"the replica has replayed transactions up to {shown}, pulls have brought rows up to {watermark.text(mark)}: what it "
        "does not show yet looks deleted or older"
    )


def unreplayed(job: TableJob, why: str) -> tuple[Unverified, ...]:
    """What to say of differences found on a replica that is behind the lake; nothing of any other source."""
    return (Unverified("table", job.name, why, f"sweep again {FIX}"),) if why else ()


def refuse_behind(job: TableJob, why: str) -> None:
    """Raises SourceError where a replica's older rows would be written over newer ones."""
    if why:
        raise SourceError(f"table {job.name}: {why}; nothing was written", fix=f"pull again {FIX}")
