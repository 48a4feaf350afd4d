"""What the lake's rows stand on beside the table they came from: the filter, and the history of the server. Pure.

Both can change while the table's name and the server's id stay. Under another `source.where` rows outside it look deleted;
a server that was restored or promoted may lack rows that were committed, pulled, and are right in the lake. So the lake's
commits carry both, pulls that add to the table leave them as they are, and deletes beside others wait for a word.

MySQL tells `uuid:1-5:7` for every server whose transactions it holds, MariaDB `domain-server-number` for every domain; the
numbers of each only rise. A server that was set back tells a lower one until it has caught up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from hashlib import sha256

from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.result_parts import Guard
from hudi_reconcile.core.tables.values import Checkpoint

FILTER, RESTORED = "changed_filter", "restored_source"
WORDS = (FILTER, RESTORED)


@dataclass(frozen=True, slots=True)
class SourceLineage:
    """`where` is a digest of the filter, `timeline` the number of the server's history; None where it is not known.

    `position` are the ids of a server's transactions, for servers that number no histories (`core/pull/source_lineage.py`);
    `started_micros` is when such a server was started.
    """

    where: str | None = None
    timeline: str | None = None
    position: str | None = None
    started_micros: int | None = None


UNKNOWN = SourceLineage()
_KEPT = ("where", "timeline", "position", "filled_where")


def digest_filter(where: str | None) -> str:
    """A filter as it is kept: its text may hold values of rows."""
    return "none" if where is None else sha256(where.encode()).hexdigest()[:16]


def advance_lineage(before: Checkpoint | None, now: SourceLineage, *, anew: bool) -> SourceLineage:
    """What the lake's rows stand on after a commit. `anew`: it made all of them; one that adds leaves it as it was.

    What is not on record is taken from now on as it is (`find_unrecorded` says so), so that the next change is noticed.
    """
    if anew or before is None:
        return now
    position = keep_position(before.position, now.position)
    return SourceLineage(before.where or now.where, before.timeline or now.timeline, position)


def find_filled_filter(
    before: Checkpoint | None, stands: SourceLineage, now: SourceLineage, *, whole: bool
) -> str | None:
    """The filter of the last read of every row, as a commit carries it: None where `stands` has the same one.

    `whole`: this commit ends such a read.
    """
    filled = now.where if whole or before is None else before.filled_where or before.where or now.where
    return None if filled == stands.where else filled


def note_passed_rows(before: Checkpoint, now: SourceLineage, *, by_clock: bool) -> tuple[str, ...]:
    """Notes of a pull that may pass rows over: it starts at a checkpoint, and these lie at or below it.

    They are rows that only the new filter selects and, where the watermark is no clock, rows to which a restored server gave
    numbers that were used before.
    """
    notes = []
    filled = before.filled_where or before.where
    if None not in (filled, now.where) and filled != now.where:
        text = (
            "source.where is not the filter that earlier pulls read with: rows at or below the checkpoint that only the new one "
            "takes in are not pulled; read everything once more with pull --full, or sweep"
        )
        notes.append(Note(Stake.ROWS, text))
    position = None if before.position is None else before.position.removesuffix(_BACK)
    last = SourceLineage(None, before.read_timeline or before.timeline, position)
    moved = "" if by_clock else describe_moved_server(last, now)
    if moved:
        text = f"{moved}: rows that took numbers at or below the checkpoint a second time are found by sweeps only"
        notes.append(Note(Stake.ROWS, text))
    return tuple(notes)


def describe_moved_server(was: SourceLineage, now: SourceLineage) -> str:
    """How the server was promoted or restored between the two; empty where nothing tells of it."""
    if None not in (was.timeline, now.timeline) and was.timeline != now.timeline:
        return f"the server's timeline was {was.timeline} and is {now.timeline}"
    if was.position is not None and now.position is not None and is_rewound(was.position, now.position):
        return "the server's GTIDs went back"
    return ""


def find_unrecorded(before: Checkpoint | None, now: SourceLineage) -> tuple[str, ...]:
    """What is known now and not of the lake's rows: of checkpoints of earlier versions, and of other tools' tables."""
    was = UNKNOWN if before is None else SourceLineage(before.where, before.timeline, before.position)
    pairs = (
        ("source.where", was.where, now.where),
        ("the server's timeline", was.timeline, now.timeline),
        ("the server's GTIDs", was.position, now.position),
    )
    return tuple(what for what, then, here in pairs if then is None and here is not None)


def note_accepted_lineage(before: Checkpoint | None, now: SourceLineage) -> tuple[str, ...]:
    """What a pull says that adds rows to those of which the record lacks something."""
    what = " and ".join(find_unrecorded(before, now))
    if not what:
        return ()
    return (
        f"the lake's commits did not keep {what} until now: taken as of today; whether that changed before is not known",
    )


_CAUGHT_UP = (
    "the server was started again since the last pull: by its GTIDs it went on from there, and one that was restored and has "
    "caught up would look the same; look at the rows before they are corrected"
)


_MAY_BE_WHY = "a change there cannot be ruled out as the cause of missing rows"
_UNTOLD = "this server does not tell its timeline: whether it was restored or promoted since is not known"


def note_unknown_lineage(
    before: Checkpoint | None, now: SourceLineage, *, deletes: int, regressed: int
) -> tuple[str, ...]:
    """What a sweep says that found deletes or steps back which a change could explain that nobody can tell of."""
    if not deletes + regressed:
        return ()
    what = " and ".join(find_unrecorded(before, now))
    again = before is not None and _may_have_caught_up(before, now)
    untold = before is not None and before.timeline is not None and now.timeline is None
    return (
        *((Note(Stake.PROOF, f"not recorded before this run: {what}; {_MAY_BE_WHY}"),) * bool(what)),
        *((Note(Stake.PROOF, _CAUGHT_UP),) * again),
        *((Note(Stake.PROOF, _UNTOLD),) * untold),
    )


def _may_have_caught_up(before: Checkpoint, now: SourceLineage) -> bool:
    """Whether ids that rose may be ids that were given out a second time: a server is not set back while it runs."""
    known = before.position is not None and now.position is not None and not is_rewound(before.position, now.position)
    at, started = before.as_of_micros, now.started_micros
    return known and at is not None and started is not None and started > at


def accept_lineage(now: SourceLineage, words: Collection[str]) -> SourceLineage:
    """What a person took over by the words of `--accept`."""
    if RESTORED not in words:
        return SourceLineage(now.where if FILTER in words else None)
    return SourceLineage(now.where if FILTER in words else None, now.timeline, now.position)


def describe_replaced_lineage(before: Checkpoint, after: Checkpoint) -> str | None:
    """What a word replaced, from and to, as the commit carries it for its undo; None where it replaced nothing."""
    changed = {name: (was, now) for name in _KEPT if (was := getattr(before, name)) != (now := getattr(after, name))}
    return json.dumps(changed, sort_keys=True, separators=(",", ":")) if changed else None


def restore_lineage(now: Checkpoint, stood: str | None) -> Checkpoint:
    """The checkpoint with what a word replaced put back, so that the word is asked for again.

    Where a later commit stands on something else, that stays. A position is marked for good: the server went back from it.
    """
    for name, (was, became) in json.loads(stood or "{}").items():
        if name == "position" and was is not None:
            now = replace(now, position=keep_position(was, ""))
        elif getattr(now, name) == became:
            now = replace(now, **{name: was})
    return now


def judge_lineage(
    before: Checkpoint | None, now: SourceLineage, *, deletes: int, regressed: int, verb: str = "apply"
) -> tuple[Guard, ...]:
    """The guards against deletes and steps back that another filter or another history explains; none where both are the same.

    `verb` is the command that takes the word.
    """
    guards = []
    if before is not None and None not in (before.where, now.where) and before.where != now.where:
        guards.append(
            Guard(
                FILTER,
                limit="no deletes under another source.where than the lake's rows were pulled with",
                found=deletes,
                ok=deletes == 0,
                fix=f"rows outside source.where look deleted; if they are to go: {verb} with --accept {FILTER}",
            )
        )
    history = _other_history(before, now)
    if history:
        guards.append(
            Guard(
                RESTORED,
                limit=f"nothing deleted or set back: {history}",
                found=deletes + regressed,
                ok=deletes + regressed == 0,
                fix="the server was promoted or restored since: rows it lost may be right in the lake; look at the findings; "
                f"if the source is right: {verb} with --accept {RESTORED}",
            )
        )
    return tuple(guards)


def _other_history(before: Checkpoint | None, now: SourceLineage) -> str:
    if before is None:
        return ""
    if None not in (before.timeline, now.timeline) and before.timeline != now.timeline:
        return f"pulled on the server's timeline {before.timeline}, now {now.timeline}"
    if before.position is not None and now.position is not None and is_rewound(before.position, now.position):
        return "the server's GTID set is, or once was, behind the one recorded at the last pull: it was restored or failed over"
    return ""


_BACK = "!"  # went back once: later numbers are of another history
_NUMBER = re.compile(r"\d+")


def is_rewound(kept: str, now: str) -> bool:
    """True where the server has come less far than it had, or had so once.

    >>> is_rewound("0-1-7", "0-2-9"), is_rewound("0-1-7", "0-1-6"), is_rewound("0-1-7,1-1-3", "0-1-7")
    (False, True, True)
    >>> is_rewound("a:1-5,b:1-2", "b:1-3,a:1-5:7"), is_rewound("a:1-5", "a:1-4"), is_rewound("0-1-7!", "0-1-9")
    (False, True, True)
    """
    here = _read_position(now)
    return kept.endswith(_BACK) or any(here.get(name, 0) < number for name, number in _read_position(kept).items())


def keep_position(kept: str | None, now: str | None) -> str | None:
    """What a commit keeps that adds to the rows of earlier ones: now, marked for good where that is less than was kept.

    >>> keep_position("0-1-7", "0-1-8"), keep_position("0-1-7", "0-1-6"), keep_position("0-1-7", None)
    ('0-1-8', '0-1-7!', '0-1-7')
    """
    if kept is None or now is None:
        return now if kept is None else kept
    return f"{kept.removesuffix(_BACK)}{_BACK}" if is_rewound(kept, now) else now


def _read_position(text: str) -> dict[str, int]:
    """The greatest number of each domain, or of each server's uuid."""
    numbers: dict[str, int] = {}
    for part in filter(None, (piece.strip() for piece in text.removesuffix(_BACK).split(","))):
        name, colon, rest = part.partition(":")
        if not colon:
            name, _, rest = part.partition("-")
            rest = rest.rpartition("-")[2]
        numbers[name] = max(numbers.get(name, 0), *(int(number) for number in _NUMBER.findall(rest)))
    return numbers
