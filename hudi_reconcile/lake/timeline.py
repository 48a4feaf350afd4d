"""Questions to a table's timeline: the pin, whether it still holds, checkpoints, commits of ours, and who else writes.

Decides which instants count; bridge.py reads them. A checkpoint is versioned JSON; a version or key that is not known is
refused: a checkpoint that is guessed at loses rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields

from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.lake.ownership import NEWEST, Writers
from hudi_reconcile.core.safe_text import parse_json
from hudi_reconcile.core.tables.values import Checkpoint, CheckpointAt, Instant, LakePin
from hudi_reconcile.lake.bridge import CLUSTERING, WRITES, Timeline, TimelineAction
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.foreign import STREAMER_KEYS
from hudi_reconcile.ports import Origin


def pin_snapshot(timeline: Timeline) -> LakePin | None:
    """The snapshot of everything completed so far, and the writers in flight; None before the first commit.

    Its `requested` is the greatest requested time and its `completed` the greatest completion time of all completed
    writes: `as.of.instant` compares requested times, so a smaller one would hide a writer that began late and ended early.
    """
    done = timeline.list_completed()
    if not done:
        return None
    instant = Instant(max(action.requested for action in done), max(action.completed or "" for action in done))
    return LakePin(instant, list_writers_in_flight(timeline))


def list_writers_in_flight(timeline: Timeline) -> tuple[str, ...]:
    """Requested times of writes not completed; plans of compaction, clustering and cleaning change no row."""
    return tuple(sorted({action.requested for action in timeline.pending() if action.action in WRITES}))


def list_planned_clusterings(timeline: Timeline) -> tuple[str, ...]:
    """Requested times of clusterings not completed."""
    return tuple(sorted(action.requested for action in timeline.pending() if action.action == CLUSTERING))


def is_pin_intact(timeline: Timeline, pin: LakePin) -> bool:
    """False where a write below the pin's requested time completed after the pin: the pin now shows its rows too.

    False too where the cleaner passed the pin: a frame lists its files when it is read, and what is gone is not listed.

    Looks at every completed write, not only at those seen in flight: a writer takes its instant a moment before its file
    appears on the timeline.
    """
    late = [action for action in timeline.list_completed() if _has_slipped_under(action, pin)]
    return all(timeline.is_service(action) for action in late) and not timeline.has_cleaned(pin.instant.requested)


def find_checkpoint(timeline: Timeline) -> CheckpointAt | None:
    """The newest commit's checkpoint, walking back over commits that carry none, then through the archive.

    Raises LakeError where the newest one found cannot be read: an older one would be a wrong answer.
    """
    for archived in (False, True):
        for text, action in timeline.metadata(CHECKPOINT, archived=archived):
            return CheckpointAt(parse_checkpoint(text), convert_action(action))
    return None


def find_commit(timeline: Timeline, key: str, value: str) -> Instant | None:
    """The newest commit that carries the value under the key, archive included."""
    return next((at for text, at in find_label(timeline, key) if text == value), None)


def find_label(timeline: Timeline, key: str) -> Iterator[tuple[str, Instant]]:
    """Every commit that carries the key, after its value; newest first, then through the archive."""
    for archived in (False, True):
        for value, action in timeline.metadata(key, archived=archived):
            yield value, convert_action(action)


def convert_action(action: TimelineAction) -> Instant:
    """A completed action as a value."""
    return Instant(action.requested, action.completed or action.requested)


def _has_slipped_under(action: TimelineAction, pin: LakePin) -> bool:
    return action.requested <= pin.instant.requested and (action.completed or "") > pin.instant.completed


PREFIX = "_hr."
CHECKPOINT = "_hr.checkpoint"
COMMIT = "_hr.commit"
KEYS = "_hr.keys"
# Every commit of ours carries one of these: where HoodieStreamer's checkpoint is handed back, keys have its prefix.
OURS = (COMMIT, f"deltastreamer.{COMMIT}", f"streamer.{COMMIT}")
VERSION = 1
_NAMES = tuple(field.name for field in fields(Checkpoint))
_LATER = (
    "watermark_value",
    "incrementing",
    "incrementing_value",
    "where",
    "timeline",
    "position",
    "filled_where",
    "read_timeline",
)  # written only where they say something
_NUMBERS = ("as_of_micros",)  # so too
_LISTS = ("columns", "dropped")  # so too
_FIX = "run the version of hudi-reconcile that wrote it, or pull again with --full"


@dataclass(frozen=True, slots=True)
class WrittenKeys:
    """How many keys a correction wrote that the lake had, or had not. An undo must find as many of each."""

    there: int
    new: int


def format_keys(keys: WrittenKeys) -> str:
    """As a commit carries it under `KEYS`."""
    return json.dumps(asdict(keys), sort_keys=True, separators=(",", ":"))


def parse_keys(text: str) -> WrittenKeys:
    """What `format_keys` wrote. Raises LakeError for any other text."""
    try:
        document = parse_json(text)
        keys = WrittenKeys(**document)
    except (ValueError, TypeError) as error:
        raise LakeError("a correction's number of keys cannot be read", fix=_FIX) from error
    if not all(type(value) is int for value in (keys.there, keys.new)):
        raise LakeError("a correction's number of keys cannot be read", fix=_FIX)
    return keys


def format_checkpoint(checkpoint: Checkpoint) -> str:
    """Canonical JSON of a checkpoint: sorted keys, no blanks."""
    values = {name: getattr(checkpoint, name) for name in _NAMES}
    values = {name: value for name, value in values.items() if not _is_blank(name, value)}
    return json.dumps({"version": VERSION, **values}, sort_keys=True, separators=(",", ":"))


def _is_blank(name: str, value: object) -> bool:
    return (name in (*_LATER, *_NUMBERS) and value is None) or (name in _LISTS and not value)


def parse_checkpoint(text: str) -> Checkpoint:
    """The checkpoint that `format_checkpoint` wrote. Raises LakeError for any other text."""
    try:
        document = parse_json(text)
    except ValueError as error:
        raise _unreadable("it is no JSON") from error
    if not isinstance(document, dict):
        raise _unreadable("it is no JSON object")
    if document.get("version") != VERSION:
        raise _unreadable(f"version {document.get('version')!r}, this program knows {VERSION}")
    names = set(document) - {"version"}
    needed = set(_NAMES) - {*_LATER, *_NUMBERS, *_LISTS}
    if not needed <= names <= set(_NAMES):
        raise _unreadable(f"keys {sorted(names)}, expected {sorted(needed)}")
    return _check_checkpoint(document)


def commit_metadata(checkpoint: Checkpoint, labels: Mapping[str, str]) -> dict[str, str]:
    """What a commit carries: the checkpoint, and each label under `_hr.<label>`. Raises LakeError for a reserved label."""
    carried = {PREFIX + label: value for label, value in labels.items()}
    reserved = sorted({CHECKPOINT, COMMIT, KEYS} & set(carried))
    if reserved:
        raise LakeError(
            f"labels cannot be carried as {', '.join(reserved)}: set by the lake itself", fix="report a bug"
        )
    return {**carried, CHECKPOINT: format_checkpoint(checkpoint)}


def _check_checkpoint(document: Mapping[str, object]) -> Checkpoint:
    strategy, text, identity = document["strategy"], document["text"], document["source_identity"]
    watermark, micros, read_seq = document["watermark"], document["watermark_micros"], document["read_seq"]
    if not isinstance(strategy, str) or not isinstance(identity, str) or not (text is None or isinstance(text, str)):
        raise _unreadable("strategy, text or source_identity is no text")
    if not isinstance(watermark, list) or not all(isinstance(name, str) for name in watermark):
        raise _unreadable("watermark is no list of names")
    if type(read_seq) is not int or not (micros is None or type(micros) is int):
        raise _unreadable("read_seq or watermark_micros is no integer")
    later = {name: document.get(name) for name in _LATER}
    odd = [name for name, value in later.items() if not (value is None or isinstance(value, str))]
    if odd:
        raise _unreadable(f"{', '.join(odd)} is no text")
    numbers = {name: document.get(name) for name in _NUMBERS}
    odd = [name for name, value in numbers.items() if not (value is None or type(value) is int)]
    if odd:
        raise _unreadable(f"{', '.join(odd)} is no integer")
    lists = {name: _names(name, document.get(name, [])) for name in _LISTS}
    return Checkpoint(strategy, tuple(watermark), micros, text, read_seq, identity, **later, **numbers, **lists)  # type: ignore[arg-type]


def _names(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise _unreadable(f"{name} is no list of names")
    return tuple(value)


def _unreadable(why: str) -> LakeError:
    return LakeError(f"the lake's checkpoint cannot be read: {why}", fix=_FIX)


KIND, RUN, PLAN, SWEEP, UNDO, HEAD = NAMES = ("kind", "run_id", "plan", "sweep", "undo", "audit_head")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One commit of ours. `labels` holds those of `NAMES` that it carries."""

    instant: Instant
    labels: Mapping[str, str]


def list_labelled_commits(spark: SparkSession, path: str) -> tuple[Labelled, ...]:
    """Our commits that are not archived yet, newest completion first. Raises LakeError for a timeline that cannot be read."""
    line = Timeline(spark, path)
    labels_by_instant: dict[Instant, dict[str, str]] = {}
    for name in NAMES:
        for text, action in line.metadata(PREFIX + name, archived=False):
            labels_by_instant.setdefault(convert_action(action), {})[name] = text
    newest = sorted(labels_by_instant.items(), key=lambda entry: entry[0].completed, reverse=True)
    return tuple(Labelled(instant, labels) for instant, labels in newest if KIND in labels)


_GENERATORS = ("hoodie.table.keygenerator.class", "hoodie.table.keygenerator.type")


def read_origin(timeline: Timeline, properties: Mapping[str, str], upto: Instant | None = None) -> Origin:
    """What the properties and the newest commit with a streamer's checkpoint tell, archive included.

    With `upto` the newest of those that completed until then.
    """
    generator = next((properties[name] for name in _GENERATORS if properties.get(name)), None)
    origins = [
        Origin(generator, key, text, convert_action(action))
        for key in STREAMER_KEYS
        if (newest := _newest(timeline, key, upto)) is not None
        for text, action in [newest]
    ]
    if not origins:
        return Origin(generator)
    return max(origins, key=lambda origin: "" if origin.instant is None else origin.instant.completed)


def _newest(timeline: Timeline, key: str, upto: Instant | None = None) -> tuple[str, TimelineAction] | None:
    for archived in (False, True):
        for text, action in timeline.metadata(key, archived=archived):
            if upto is None or convert_action(action).completed <= upto.completed:
                return text, action
    return None


def list_writers(line: Timeline, files: Files, path: str, beating: frozenset[str]) -> Writers:
    """The timeline's newest commits and its instants in flight.

    `beating` are the heartbeats from before the timeline was read: one that ended since has removed its own.
    """
    newest = [action for action in line.list_completed()[:NEWEST] if not line.is_service(action)]
    ours = {action.requested for key in OURS for _, action in line.metadata(key, archived=False, newest=NEWEST)}
    silent = find_silent_writers(line, files, path, beating)
    return Writers(len(newest), sum(action.requested not in ours for action in newest), silent)


def find_silent_writers(line: Timeline, files: Files, path: str, beating: frozenset[str]) -> tuple[str, ...]:
    """The instants in flight that have no heartbeat, oldest first; `beating` as above."""
    in_flight = list_writers_in_flight(line)
    alive = beating | list_heartbeats(files, path) if in_flight else beating
    return tuple(instant for instant in in_flight if instant not in alive)


def list_heartbeats(files: Files, path: str) -> frozenset[str]:
    """The instants that have a heartbeat."""
    return frozenset(heartbeat.name for heartbeat in files.list(f"{path}/.hoodie/.heartbeat"))
