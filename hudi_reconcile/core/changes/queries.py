"""What the four change queries answer of a change log, in plain Python; and which rows are corrections of ours, or deleted. Pure.

A log holds the changes of each key in the order in which they were committed, at most one for a key and commit. `answer` is the
yardstick: tests hold what Spark answers (`changefeed/answers.py`) against it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.values import READ_SEQ, LakeTable

QueryType = Literal["append-only", "upsert", "min-delta", "full-delta"]
QUERY_TYPES: tuple[QueryType, ...] = ("append-only", "upsert", "min-delta", "full-delta")
# Within one commit, of a key that the table holds more than once: copies go before others come.
OP_ORDER = ("d", "u", "i")
UPSERT = "upsert"
# From what changes are told where both would tell them: Hudi's own change log, or the file versions.
LogReader = Literal["log", "files"]
LOG_READERS: tuple[LogReader, ...] = ("log", "files")

Key = Hashable
Image = Mapping[str, object]
State = Mapping[Any, Image]  # by key


class BrokenChainError(ValueError):
    """A key whose changes do not follow from each other: it was in the table more than once."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one key. `commit` numbers the commits in order of completion; an absent row's image is None."""

    commit: int
    key: Key
    before: Image | None
    after: Image | None
    op: str = ""

    def __post_init__(self) -> None:
        if not self.op:
            object.__setattr__(self, "op", name_op(self.before, self.after))


def name_op(before: Image | None, after: Image | None) -> str:
    """`i`, `u` or `d`. Raises ValueError where there is no row on either side."""
    if before is None and after is None:
        raise ValueError("a change has a row before it, after it, or both")
    return "i" if before is None else "d" if after is None else "u"


def is_same_image(image: Image, other: Image) -> bool:
    """Equality of rows, but for the tool's own read sequence: reading a row again is no change of it."""
    return {**image, READ_SEQ: None} == {**other, READ_SEQ: None}


def compare_states(commit: int, before: State, after: State, rewritten: Iterable[Key] = ()) -> Iterator[Change]:
    """What one commit changed. `rewritten` are keys that it wrote again as they were: `u` with equal images."""
    again = set(rewritten)
    for key in sorted({*before, *after}, key=repr):
        old, new = before.get(key), after.get(key)
        if old is None or new is None or not is_same_image(old, new) or key in again:
            yield Change(commit, key, old, new)


def answer(kind: QueryType, log: Iterable[Change]) -> tuple[Change, ...]:
    """The answer to a change query, ordered by commit. Raises BrokenChainError for what upsert and min-delta cannot tell."""
    changes = sorted(log, key=_place)
    if kind == "full-delta":
        return tuple(changes)
    if kind == "append-only":
        return tuple(change for change in changes if change.op == "i")
    fold = _net if kind == "min-delta" else _newest
    net_changes = [change for chain in _chains(changes) if (change := fold(chain)) is not None]
    return tuple(sorted(net_changes, key=lambda change: (change.commit, repr(change.key))))


def apply_changes(state: State, changes: Iterable[Change]) -> dict[Key, Image]:
    """The table after these changes, in their order."""
    images = dict(state)
    for change in changes:
        if change.after is None:
            images.pop(change.key, None)
        else:
            images[change.key] = change.after
    return images


def _newest(chain: Sequence[Change]) -> Change | None:
    last = chain[-1]
    return None if last.after is None else Change(last.commit, last.key, None, last.after, UPSERT)


def _net(chain: Sequence[Change]) -> Change | None:
    before, after = chain[0].before, chain[-1].after
    if before is None and after is None:
        return None
    if before is not None and after is not None and is_same_image(before, after):
        return None
    return Change(chain[-1].commit, chain[0].key, before, after)


def _chains(changes: Sequence[Change]) -> Iterator[list[Change]]:
    by_key = sorted(changes, key=lambda change: repr(change.key))  # stable: each chain keeps its order
    for _, group in groupby(by_key, key=lambda change: change.key):
        chain = list(group)
        for earlier, later in pairwise(chain):
            if (earlier.after is None) != (later.before is None):
                raise BrokenChainError
        yield chain


def _place(change: Change) -> tuple[int, str, int]:
    return change.commit, repr(change.key), OP_ORDER.index(change.op)


UNDO_KIND = "undo"
UNDONE_PLANS = "undone_plans"  # in the provenance of an undo: the plans whose commits it took back, or found taken back


@dataclass(frozen=True, slots=True)
class CorrectionOrigin:
    """A corrective commit: the run that made it, its plan, and the sweep whose findings say why each key was corrected.

    An undo has neither plan nor findings; its `kind` is the kind of all its changes.
    """

    run_id: str
    plan_id: str | None = None
    sweep: str | None = None
    kind: str | None = None


def read_correction_origin(labels: Mapping[str, str]) -> CorrectionOrigin | None:
    """The correction that a commit's labels tell of; None for a commit that is none.

    >>> read_correction_origin({"kind": "apply", "run_id": "r2", "sweep": "r1", "plan": "abc:all"})
    CorrectionOrigin(run_id='r2', plan_id='abc', sweep='r1', kind=None)
    """
    match labels.get("kind"):
        case "apply":
            plan = labels.get("plan", "").split(":", 1)[0]
            return CorrectionOrigin(labels.get("run_id", ""), plan or None, labels.get("sweep"))
        case "undo":
            return CorrectionOrigin(labels.get("run_id", ""), kind=UNDO_KIND)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Envelope:
    """What an event of Debezium's says of where it comes from: a table's name, and the version of this tool."""

    table: str
    version: str


ALL_NULL = "all-null"


def write_soft_delete_condition(rule: str, table: LakeTable) -> str:
    """SQL over a row's columns, in the struct `row`, that is true where the row counts as deleted, and never NULL.

    `all-null`: every column but those of the key, the partition and the ordering is NULL, as Hudi's documentation deletes softly.
    Anything else names a boolean column that is true then. Raises UsageError where the table has no such column.
    """
    if rule != ALL_NULL:
        flags = [column.name for column in table.columns if column.type == "boolean"]
        if rule not in flags:
            raise UsageError(
                f"--soft-deletes {rule}: {table.path} has no boolean column of that name",
                fix=f"--soft-deletes takes {', '.join([ALL_NULL, *flags])}",
            )
        return f"coalesce(row.`{rule}`, false)"
    kept = {READ_SEQ, *table.record_key, *table.partition_fields, *table.ordering_fields}
    nulled = [column.name for column in table.columns if column.name not in kept]
    if not nulled:
        raise UsageError(
            f"--soft-deletes {ALL_NULL}: every column of {table.path} is of its key, partition or ordering",
            fix="leave --soft-deletes out",
        )
    return " and ".join(f"row.`{name}` is null" for name in nulled)
