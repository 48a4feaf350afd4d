"""The states of each file group around the commits that are asked for, and as of when each of them is read. Pure.

Writers of one file group exclude each other, so that its writes have one order and each of them leaves one state. It is there
as of every moment from its write up to before the group's next one, whatever is done to other file groups meanwhile. So one
reading of each state tells what the writes did, and states of several file groups are read as of one moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hudi_reconcile.core.change_range import BEGINNING, Commit, FileGroup, before


@dataclass(frozen=True, slots=True)
class State:
    """What a file group held at `place` of its chain, counted from 0, the oldest that is needed; as of `moment`.

    `requested` is the commit asked for that left it, and `n` its place among those. Both are None for the state before one of
    them that was left by none of them.
    """

    chain: int
    place: int
    group: FileGroup
    moment: str
    requested: str | None
    n: int | None


StateChain = tuple[State, ...]


@dataclass(frozen=True, slots=True)
class _Reach:
    """As of which moments a state may be read, both inclusive."""

    group: FileGroup
    requested: str | None
    first: str
    last: str


def states_of(
    commits: Sequence[Commit],
    writes: Sequence[Commit],
    services: Sequence[Commit],
    done: Sequence[str],
    archived: str | None,
) -> tuple[StateChain, ...] | None:
    """For each file group that the commits wrote its states, oldest first, those that they left and those that they came upon.

    `writes` are all of the active timeline, `services` its compactions and clusterings: they change no row and leave no state,
    but a state is read after those, for what was written while they were planned is in no version before them. `done` are the
    requested times of all of these, `archived` the greatest of those in the archive. None where writes left the timeline from
    the first commit on: then nobody knows what they wrote.
    """
    asked = {one.instant.requested: n for n, one in enumerate(commits)}
    if not asked:
        return ()
    if archived is not None and archived >= min(asked):
        return None
    line = _Line(asked, done, archived)
    written, serviced = _times(writes), _times(services)
    groups = sorted({group for one in commits for group in one.groups})
    chains = [list(_reaches(group, written[group], serviced.get(group, ()), line)) for group in groups]
    moments = _moments(reach for chain in chains for reach in chain)
    return tuple(
        tuple(
            State(number, place, one.group, moments[one], one.requested, asked.get(one.requested or BEGINNING))
            for place, one in enumerate(chain)
        )
        for number, chain in enumerate(chains)
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """The timeline: which of its commits are asked for, what is done, and the greatest time in the archive."""

    asked: Mapping[str, int]
    done: Sequence[str]
    archived: str | None

    def until(self, following: str | None) -> str | None:
        """The last moment that is looked at before the group's next write."""
        newest = max(self.asked)
        return newest if following is None or following > newest else latest_before(following, self.done, self.archived)


def _times(commits: Sequence[Commit]) -> Mapping[FileGroup, list[str]]:
    found: dict[FileGroup, list[str]] = {}
    for requested, groups in sorted((one.instant.requested, one.groups) for one in commits):
        for group in groups:
            found.setdefault(group, []).append(requested)
    return found


def _reaches(group: FileGroup, written: Sequence[str], serviced: Sequence[str], line: _Line) -> Iterator[_Reach]:
    """Where each state is: those that commits asked for left, and those that they came upon."""
    known = sorted([line.archived or BEGINNING, *written, *serviced])
    for requested, following in pairwise([None, *written, None]):
        is_asked = requested in line.asked
        if not is_asked and following not in line.asked:
            continue
        last = line.until(following)
        if last is not None:  # else there was nothing before
            yield _Reach(group, requested if is_asked else None, max(one for one in known if one <= last), last)


def latest_before(requested: str, done: Sequence[str], archived: str | None) -> str | None:
    """The last moment before a write: of the commit before it, or a millisecond earlier where that one may be archived.

    None before the first of all. A savepoint keeps its commit on the active timeline while later ones leave it.
    """
    earlier = max((one for one in done if one < requested), default=None)
    if archived is not None and (earlier is None or earlier < archived):
        return before(requested)
    return earlier


def _moments(reaches: Iterator[_Reach]) -> Mapping[_Reach, str]:
    """A moment for each, as few distinct ones as there can be: the end of the first to end, for all that hold it; and so on."""
    found: dict[_Reach, str] = {}
    moment = None
    for one in sorted(reaches, key=lambda reach: reach.last):
        if moment is None or moment < one.first:
            moment = one.last
        found[one] = moment
    return found
