"""What the commits to a copy_on_write table did, told from the versions of its file groups. Pure.

A commit writes a new version of each file group that it touches: all rows of the version before it but those that it
updated or deleted, and its own. So what commits did can be told from one reading of the files that they left, if it is
known which was made from which. Whatever does not fit ends in None: then rows are read another way.

Writers of one file group exclude each other, so that its writes have one order and each of them leaves one state. It is
there as of every moment from its write up to before the group's next one, whatever is done to other file groups meanwhile.
So states of several file groups are read as of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hudi_reconcile.core.changes.range import BEGINNING, Commit, FileGroup, WrittenFile, subtract_millisecond

_GLOB = frozenset("*?[]{}\\")  # characters that Spark takes for a pattern in a path
_REPAIRED = "timestamp-millis"  # early releases wrote such columns as microseconds; Hudi's own reader mends them


@dataclass(frozen=True, slots=True)
class Version:
    """One file of a chain: it holds its file group at `place`, counted from 0, the oldest that is needed.

    `n` is the place of the commit that wrote it among those asked for; None where it is none of them: the version that the
    first of them was made from, or that of a commit between them that completed outside of the range.
    """

    chain: int
    place: int
    path: str
    requested: str
    n: int | None


Chain = tuple[Version, ...]


def link_chains(commits: Sequence[Commit], writes: Sequence[Commit]) -> tuple[Chain, ...] | None:
    """For each file group that the commits wrote its versions, oldest first; None where that cannot be told with certainty.

    `writes` are all of the table that its timeline still holds. It cannot be told where a commit replaced file groups or
    does not tell one file of each that it wrote, where the version before the first is no longer on the timeline, or where
    the files do not all have the table's schema of now.
    """
    if not all(_is_told(commit) for commit in commits):
        return None
    asked = {commit.instant.requested: n for n, commit in enumerate(commits)}
    written = _group_writes(frozenset(group for commit in commits for group in commit.groups), writes)
    all_chains = [_chain(number, files, asked) for number, (_, files) in enumerate(sorted(written.items()))]
    chains = tuple(chain for chain in all_chains if chain is not None)
    is_whole = len(chains) == len(all_chains)
    return chains if is_whole and _one_schema(chains, writes) and _readable(chains) else None


def _is_told(commit: Commit) -> bool:
    return not commit.replaces and sorted(file.group for file in commit.files) == sorted(commit.groups)


_Written = tuple[str, WrittenFile]


def _group_writes(groups: frozenset[FileGroup], writes: Sequence[Commit]) -> Mapping[FileGroup, list[_Written]]:
    files_by_group: dict[FileGroup, list[_Written]] = {}
    for write in sorted(writes, key=lambda write: write.instant.requested):
        for file in write.files:
            if file.group in groups:
                files_by_group.setdefault(file.group, []).append((write.instant.requested, file))
    return files_by_group


def _chain(number: int, files: Sequence[_Written], asked: Mapping[str, int]) -> Chain | None:
    places = [place for place, (requested, _) in enumerate(files) if requested in asked]
    is_new = files[places[0]][1].previous is None
    first = 0 if is_new else places[0] - 1  # what begins a file group that was there before is made from nothing
    links = files[first : places[-1] + 1] if first >= 0 else []
    once = len({requested for requested, _ in files}) == len(files)
    if not (links and once and all(later.previous == requested for (requested, _), (_, later) in pairwise(links))):
        return None
    return tuple(
        Version(number, place, file.path, requested, asked.get(requested))
        for place, (requested, file) in enumerate(links)
    )


def _one_schema(chains: Sequence[Chain], writes: Sequence[Commit]) -> bool:
    """True where all the files were written with the schema that the table has now, and their readers need no more than it."""
    schemas = {write.instant.requested: write.schema for write in writes}
    schema = schemas[max(schemas)] if schemas else None
    last = max(writes, key=lambda commit: commit.instant.completed, default=None)
    if schema is None or last is None or _REPAIRED in schema:
        return False
    wanted = _drop_nullability(schema)
    file_schemas = {last.schema, *(schemas[version.requested] for version in list_versions(chains))}
    return all(file_schema is not None and _drop_nullability(file_schema) == wanted for file_schema in file_schemas)


def _drop_nullability(avro: str) -> str:
    """The schema without what says which columns may be NULL: a batch without NULLs is read as any other.

    >>> _drop_nullability('[{"name": "v", "type": ["null", "int"], "default": null}, {"name": "w", "type": "int"}]')
    '[{"name": "v", "type": "int"}, {"name": "w", "type": "int"}]'
    """
    try:
        return json.dumps(_bare(json.loads(avro)))
    except ValueError:
        return avro


def _bare(node: Any) -> Any:
    if isinstance(node, list):
        kinds = [_bare(part) for part in node if part != "null"]
        return kinds[0] if len(kinds) == 1 and len(node) > 1 else kinds
    if isinstance(node, dict):
        return {name: _bare(value) for name, value in node.items() if name != "default"}
    return node


def _readable(chains: Sequence[Chain]) -> bool:
    paths = [version.path for version in list_versions(chains)]
    names = {path.rpartition("/")[2] for path in paths}  # rows tell the name of their file
    plain = all(path.endswith(".parquet") and is_no_pattern(path) for path in paths)
    return plain and len(names) == len(paths)


def is_no_pattern(path: str) -> bool:
    """True for a path that Spark takes for itself and not for a pattern of others.

    >>> is_no_pattern("lake/a b%20/t"), is_no_pattern("lake/[old]/t")
    (True, False)
    """
    return not _GLOB & set(path)


def list_versions(chains: Sequence[Chain]) -> Iterator[Version]:
    """All of them, chain by chain."""
    return (version for chain in chains for version in chain)


@dataclass(frozen=True, slots=True)
class FileState:
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


StateChain = tuple[FileState, ...]


@dataclass(frozen=True, slots=True)
class _Reach:
    """As of which moments a state may be read, both inclusive."""

    group: FileGroup
    requested: str | None
    first: str
    last: str


def link_states(
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
    asked = {commit.instant.requested: n for n, commit in enumerate(commits)}
    if not asked:
        return ()
    if archived is not None and archived >= min(asked):
        return None
    line = _Line(asked, done, archived)
    written, serviced = _times(writes), _times(services)
    groups = sorted({group for commit in commits for group in commit.groups})
    chains = [list(_reaches(group, written[group], serviced.get(group, ()), line)) for group in groups]
    moments = _moments(reach for chain in chains for reach in chain)
    return tuple(
        tuple(
            FileState(
                number, place, reach.group, moments[reach], reach.requested, asked.get(reach.requested or BEGINNING)
            )
            for place, reach in enumerate(chain)
        )
        for number, chain in enumerate(chains)
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """The timeline: which of its commits are asked for, what is done, and the greatest time in the archive."""

    asked: Mapping[str, int]
    done: Sequence[str]
    archived: str | None

    def find_end(self, following: str | None) -> str | None:
        """The last moment that is looked at before the group's next write."""
        newest = max(self.asked)
        return (
            newest
            if following is None or following > newest
            else find_latest_before(following, self.done, self.archived)
        )


def _times(commits: Sequence[Commit]) -> Mapping[FileGroup, list[str]]:
    times_by_group: dict[FileGroup, list[str]] = {}
    for requested, groups in sorted((commit.instant.requested, commit.groups) for commit in commits):
        for group in groups:
            times_by_group.setdefault(group, []).append(requested)
    return times_by_group


def _reaches(group: FileGroup, written: Sequence[str], serviced: Sequence[str], line: _Line) -> Iterator[_Reach]:
    """Where each state is: those that commits asked for left, and those that they came upon."""
    known = sorted([line.archived or BEGINNING, *written, *serviced])
    for requested, following in pairwise([None, *written, None]):
        is_asked = requested in line.asked
        if not is_asked and following not in line.asked:
            continue
        last = line.find_end(following)
        if last is not None:  # else there was nothing before
            yield _Reach(
                group, requested if is_asked else None, max(moment for moment in known if moment <= last), last
            )


def find_latest_before(requested: str, done: Sequence[str], archived: str | None) -> str | None:
    """The last moment before a write: of the commit before it, or a millisecond earlier where that one may be archived.

    None before the first of all. A savepoint keeps its commit on the active timeline while later ones leave it.
    """
    earlier = max((moment for moment in done if moment < requested), default=None)
    if archived is not None and (earlier is None or earlier < archived):
        return subtract_millisecond(requested)
    return earlier


def _moments(reaches: Iterator[_Reach]) -> Mapping[_Reach, str]:
    """A moment for each, as few distinct ones as there can be: the end of the first to end, for all that hold it; and so on."""
    moments: dict[_Reach, str] = {}
    moment = None
    for state in sorted(reaches, key=lambda reach: reach.last):
        if moment is None or moment < state.first:
            moment = state.last
        moments[state] = moment
    return moments
