"""Who wrote a table: its key generator and the checkpoint that HoodieStreamer leaves on commits. Reads the timeline only."""

from __future__ import annotations

from collections.abc import Mapping

from hudi_reconcile.lake.bridge import Action, Timeline
from hudi_reconcile.lake.foreign import STREAMER_KEYS
from hudi_reconcile.lake.timeline import instant_of
from hudi_reconcile.ports import Origin

_GENERATORS = ("hoodie.table.keygenerator.class", "hoodie.table.keygenerator.type")


def origin_of(timeline: Timeline, properties: Mapping[str, str]) -> Origin:
    """What the properties and the newest commit with a streamer's checkpoint tell, archive included."""
    generator = next((properties[name] for name in _GENERATORS if properties.get(name)), None)
    found = [
        Origin(generator, key, text, instant_of(action))
        for key in STREAMER_KEYS
        if (newest := _newest(timeline, key)) is not None
        for text, action in [newest]
    ]
    if not found:
        return Origin(generator)
    return max(found, key=lambda one: "" if one.instant is None else one.instant.completed)


def _newest(timeline: Timeline, key: str) -> tuple[str, Action] | None:
    for archived in (False, True):
        for text, action in timeline.metadata(key, archived=archived):
            return text, action
    return None
