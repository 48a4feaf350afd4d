"""Questions to a table's timeline: the pin, whether it still holds, the newest checkpoint, a commit by its metadata.

Decides which instants count; bridge.py reads them. Must not know frames or writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from hudi_reconcile.core.values import CheckpointAt, Instant, LakePin
from hudi_reconcile.lake.bridge import CLUSTERING, WRITES, Action, Timeline
from hudi_reconcile.lake.metadata import CHECKPOINT, parse_checkpoint


def pin_of(timeline: Timeline) -> LakePin | None:
    """The snapshot of everything completed so far, and the writers in flight; None before the first commit.

    Its `requested` is the greatest requested time and its `completed` the greatest completion time of all completed
    writes: `as.of.instant` compares requested times, so a smaller one would hide a writer that began late and ended early.
    """
    done = timeline.completed()
    if not done:
        return None
    instant = Instant(max(action.requested for action in done), max(action.completed or "" for action in done))
    return LakePin(instant, writers_in_flight(timeline))


def writers_in_flight(timeline: Timeline) -> tuple[str, ...]:
    """Requested times of writes not completed; plans of compaction, clustering and cleaning change no row."""
    return tuple(sorted({action.requested for action in timeline.pending() if action.action in WRITES}))


def planned_clusterings(timeline: Timeline) -> tuple[str, ...]:
    """Requested times of clusterings not completed."""
    return tuple(sorted(action.requested for action in timeline.pending() if action.action == CLUSTERING))


def still_of(timeline: Timeline, pin: LakePin) -> bool:
    """False where a write below the pin's requested time completed after the pin: the pin now shows its rows too.

    False too where the cleaner passed the pin: a frame lists its files when it is read, and what is gone is not listed.

    Looks at every completed write, not only at those seen in flight: a writer takes its instant a moment before its file
    appears on the timeline.
    """
    late = [action for action in timeline.completed() if _slipped_under(action, pin)]
    return all(timeline.is_service(action) for action in late) and not timeline.cleaned_below(pin.instant.requested)


def checkpoint_of(timeline: Timeline) -> CheckpointAt | None:
    """The newest commit's checkpoint, walking back over commits that carry none, then through the archive.

    Raises LakeError where the newest one found cannot be read: an older one would be a wrong answer.
    """
    for archived in (False, True):
        for text, action in timeline.metadata(CHECKPOINT, archived=archived):
            return CheckpointAt(parse_checkpoint(text), instant_of(action))
    return None


def commit_of(timeline: Timeline, key: str, value: str) -> Instant | None:
    """The newest commit that carries the value under the key, archive included."""
    return next((at for found, at in carrying(timeline, key) if found == value), None)


def carrying(timeline: Timeline, key: str) -> Iterator[tuple[str, Instant]]:
    """Every commit that carries the key, after its value; newest first, then through the archive."""
    for archived in (False, True):
        for found, action in timeline.metadata(key, archived=archived):
            yield found, instant_of(action)


def instant_of(action: Action) -> Instant:
    """A completed action as a value."""
    return Instant(action.requested, action.completed or action.requested)


def _slipped_under(action: Action, pin: LakePin) -> bool:
    return action.requested <= pin.instant.requested and (action.completed or "") > pin.instant.completed
