"""Whether a replica has come as far as the lake. One that has not shows rows as deleted that it has yet to get."""

from __future__ import annotations

from collections.abc import Callable

from hudi_reconcile.core.kinds import Kind
from hudi_reconcile.core.replica import is_behind
from hudi_reconcile.core.result import Unverified
from hudi_reconcile.core.values import CheckpointAt, Moment
from hudi_reconcile.core.window import watermark_text
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.watermarks import Watermark


def unreplayed(
    job: TableJob,
    watermark: Watermark,
    checkpoint: CheckpointAt | None,
    moment: Moment,
    offset_at: Callable[[int], int],
) -> tuple[Unverified, ...]:
    """What to say of differences found on a replica that is behind the checkpoint; nothing of any other source.

    Only a clock tells: of watermarks that are numbers, nothing is said.
    """
    mark, replayed = watermark.reached(None if checkpoint is None else checkpoint.checkpoint), moment.replayed_micros
    if mark is None or replayed is None or not watermark.has_clock or not isinstance(mark.value, int):
        return ()
    shown = replayed if watermark.kind is Kind.TIMESTAMPTZ else replayed + offset_at(replayed)
    if not is_behind(mark.value, shown):
        return ()
    why = (
        f"the replica has replayed transactions up to {watermark_text(Kind.TIMESTAMPTZ, replayed)}, pulls have brought rows up "
        f"to {watermark.text(mark)}: what it does not show yet looks deleted or older"
    )
    fix = "sweep again when the replica has caught up (only a role with pg_read_all_stats sees that it has), or the primary"
    return (Unverified("table", job.name, why, fix),)
