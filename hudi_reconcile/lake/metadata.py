"""What our commits carry on the timeline: the checkpoint as versioned JSON and the `_hr.` keys. Pure text to values.

Must not know where the text is kept. A version or key that is not known here is refused: a checkpoint that is guessed at
loses rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.json_text import json_of
from hudi_reconcile.core.values import Checkpoint

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
)  # written only where they say something
_NUMBERS = ("as_of_micros",)  # so too
_LISTS = ("columns", "dropped")  # so too
_FIX = "run the version of hudi-reconcile that wrote it, or pull again with --full"


@dataclass(frozen=True, slots=True)
class Keys:
    """How many keys a correction wrote that the lake had, or had not. An undo must find as many of each."""

    there: int
    new: int


def keys_text(keys: Keys) -> str:
    """As a commit carries it under `KEYS`."""
    return json.dumps(asdict(keys), sort_keys=True, separators=(",", ":"))


def parse_keys(text: str) -> Keys:
    """What `keys_text` wrote. Raises LakeError for any other text."""
    try:
        found = json_of(text)
        keys = Keys(**found)
    except (ValueError, TypeError) as error:
        raise LakeError("a correction's number of keys cannot be read", fix=_FIX) from error
    if not all(type(value) is int for value in (keys.there, keys.new)):
        raise LakeError("a correction's number of keys cannot be read", fix=_FIX)
    return keys


def checkpoint_text(checkpoint: Checkpoint) -> str:
    """Canonical JSON of a checkpoint: sorted keys, no blanks."""
    values = {name: getattr(checkpoint, name) for name in _NAMES}
    values = {name: value for name, value in values.items() if not _is_blank(name, value)}
    return json.dumps({"version": VERSION, **values}, sort_keys=True, separators=(",", ":"))


def _is_blank(name: str, value: object) -> bool:
    return (name in (*_LATER, *_NUMBERS) and value is None) or (name in _LISTS and not value)


def parse_checkpoint(text: str) -> Checkpoint:
    """The checkpoint that `checkpoint_text` wrote. Raises LakeError for any other text."""
    try:
        found = json_of(text)
    except ValueError as error:
        raise _unreadable("it is no JSON") from error
    if not isinstance(found, dict):
        raise _unreadable("it is no JSON object")
    if found.get("version") != VERSION:
        raise _unreadable(f"version {found.get('version')!r}, this program knows {VERSION}")
    names = set(found) - {"version"}
    needed = set(_NAMES) - {*_LATER, *_NUMBERS, *_LISTS}
    if not needed <= names <= set(_NAMES):
        raise _unreadable(f"keys {sorted(names)}, expected {sorted(needed)}")
    return _checked(found)


def commit_metadata(checkpoint: Checkpoint, labels: Mapping[str, str]) -> dict[str, str]:
    """What a commit carries: the checkpoint, and each label under `_hr.<label>`. Raises LakeError for a reserved label."""
    carried = {PREFIX + label: value for label, value in labels.items()}
    reserved = sorted({CHECKPOINT, COMMIT, KEYS} & set(carried))
    if reserved:
        raise LakeError(
            f"labels cannot be carried as {', '.join(reserved)}: set by the lake itself", fix="report a bug"
        )
    return {**carried, CHECKPOINT: checkpoint_text(checkpoint)}


def _checked(found: Mapping[str, object]) -> Checkpoint:
    strategy, text, identity = found["strategy"], found["text"], found["source_identity"]
    watermark, micros, read_seq = found["watermark"], found["watermark_micros"], found["read_seq"]
    if not isinstance(strategy, str) or not isinstance(identity, str) or not (text is None or isinstance(text, str)):
        raise _unreadable("strategy, text or source_identity is no text")
    if not isinstance(watermark, list) or not all(isinstance(name, str) for name in watermark):
        raise _unreadable("watermark is no list of names")
    if type(read_seq) is not int or not (micros is None or type(micros) is int):
        raise _unreadable("read_seq or watermark_micros is no integer")
    later = {name: found.get(name) for name in _LATER}
    odd = [name for name, value in later.items() if not (value is None or isinstance(value, str))]
    if odd:
        raise _unreadable(f"{', '.join(odd)} is no text")
    numbers = {name: found.get(name) for name in _NUMBERS}
    odd = [name for name, value in numbers.items() if not (value is None or type(value) is int)]
    if odd:
        raise _unreadable(f"{', '.join(odd)} is no integer")
    lists = {name: _names(name, found.get(name, [])) for name in _LISTS}
    return Checkpoint(strategy, tuple(watermark), micros, text, read_seq, identity, **later, **numbers, **lists)  # type: ignore[arg-type]


def _names(name: str, found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise _unreadable(f"{name} is no list of names")
    return tuple(found)


def _unreadable(why: str) -> LakeError:
    return LakeError(f"the lake's checkpoint cannot be read: {why}", fix=_FIX)
