"""The versions of each file group, one made from the other, as commits left them in a copy_on_write table. Pure.

A commit to a copy_on_write table writes a new version of each file group that it touches: all rows of the version before it
but those that it updated or deleted, and its own. So what commits did can be told from one reading of the files that they
left, if it is known which was made from which. Whatever does not fit ends in None: then rows are read another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hudi_reconcile.core.change_range import Commit, FileGroup, WrittenFile

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


def chains_of(commits: Sequence[Commit], writes: Sequence[Commit]) -> tuple[Chain, ...] | None:
    """For each file group that the commits wrote its versions, oldest first; None where that cannot be told with certainty.

    `writes` are all of the table that its timeline still holds. It cannot be told where a commit replaced file groups or
    does not tell one file of each that it wrote, where the version before the first is no longer on the timeline, or where
    the files do not all have the table's schema of now.
    """
    if not all(_is_told(one) for one in commits):
        return None
    asked = {one.instant.requested: n for n, one in enumerate(commits)}
    written = _written(frozenset(group for one in commits for group in one.groups), writes)
    found = [_chain(number, files, asked) for number, (_, files) in enumerate(sorted(written.items()))]
    chains = tuple(chain for chain in found if chain is not None)
    is_whole = len(chains) == len(found)
    return chains if is_whole and _one_schema(chains, writes) and _readable(chains) else None


def _is_told(commit: Commit) -> bool:
    return not commit.replaces and sorted(file.group for file in commit.files) == sorted(commit.groups)


_Written = tuple[str, WrittenFile]


def _written(groups: frozenset[FileGroup], writes: Sequence[Commit]) -> Mapping[FileGroup, list[_Written]]:
    found: dict[FileGroup, list[_Written]] = {}
    for write in sorted(writes, key=lambda one: one.instant.requested):
        for file in write.files:
            if file.group in groups:
                found.setdefault(file.group, []).append((write.instant.requested, file))
    return found


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
    last = max(writes, key=lambda one: one.instant.completed, default=None)
    if schema is None or last is None or last.schema != schema or _REPAIRED in schema:
        return False
    return all(schemas[one.requested] == schema for one in versions_of(chains))


def _readable(chains: Sequence[Chain]) -> bool:
    paths = [one.path for one in versions_of(chains)]
    names = {path.rpartition("/")[2] for path in paths}  # rows tell the name of their file
    plain = all(path.endswith(".parquet") and is_no_pattern(path) for path in paths)
    return plain and len(names) == len(paths)


def is_no_pattern(path: str) -> bool:
    """True for a path that Spark takes for itself and not for a pattern of others.

    >>> is_no_pattern("lake/a b%20/t"), is_no_pattern("lake/[old]/t")
    (True, False)
    """
    return not _GLOB & set(path)


def versions_of(chains: Sequence[Chain]) -> Iterator[Version]:
    """All of them, chain by chain."""
    return (version for chain in chains for version in chain)
