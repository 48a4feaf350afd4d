"""As of when file groups are read to see the rows around commits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from hudi_reconcile.core.change_range import BEGINNING, Commit, FileGroup
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.state_chains import latest_before

T = TypeVar("T")
BEFORE, AFTER = 0, 1

Look = tuple[str, str, str, int, int]  # moment, partition, file id, commit, side


def looks_of(commits: Sequence[Commit], done: Sequence[str], archived: str | None) -> Iterator[Look]:
    """Which file groups are read as of when, and for which side of which commit. Before the first commit there is nothing.

    `done` are the requested times on the active timeline, `archived` the greatest of those in the archive.
    """
    for n, commit in enumerate(commits):
        requested = commit.instant.requested
        for moment, side in ((latest_before(requested, done, archived), BEFORE), (requested, AFTER)):
            if moment is None:
                continue
            yield from ((moment, part, file_id, n, side) for part, file_id in commit.groups)


def is_plain(commits: Sequence[Commit], writes: Sequence[Commit]) -> bool:
    """True where none of the table's writes replaced file groups from the first of the commits to the last. Pure."""
    if not commits:
        return True
    first = min(one.instant.requested for one in commits)
    last = max(one.instant.requested for one in commits)
    return not any(
        write.replaces and write.instant.requested <= last and write.instant.completed >= first for write in writes
    )


def disturbed(commits: Sequence[Commit], there: Collection[str], late: Sequence[Commit]) -> str | None:
    """Why rows around the commits may have been read otherwise than these left them; None where nothing speaks for it. Pure.

    `there` are the requested times that the table still has, and `late` the writes that completed while rows were read, but for
    compactions. One that was requested before the last of the commits is in the files as of that commit, as if it had been there.
    """
    gone = [one.instant.completed for one in commits if one.instant.requested not in there]
    if gone:
        return f"commit {gone[0]} was taken back while it was read: the table was restored to an earlier one"
    last = max((one.instant.requested for one in commits), default=BEGINNING)
    groups = frozenset(group for one in commits for group in one.groups)
    mixed = [one.instant.completed for one in late if one.instant.requested < last and one.groups & groups]
    return f"commit {mixed[0]} began in the range or before and completed while it was read" if mixed else None


def moments_of(commits: Sequence[Commit], writes: Sequence[Commit]) -> Mapping[str, frozenset[FileGroup]]:
    """As of when the commits' file groups are read as the last of them left each: of all at once where nobody wrote since.

    `writes` are all of the table, compaction and clustering included. Pure.
    """
    last: dict[FileGroup, str] = {}
    for commit in sorted(commits, key=lambda one: one.instant.requested):
        last.update(dict.fromkeys(commit.groups, commit.instant.requested))
    newest = max(last.values(), default=BEGINNING)
    moved_on = {
        group
        for write in writes
        for group in write.groups & last.keys()
        if last[group] < write.instant.requested <= newest
    }
    return by_moment((moment if group in moved_on else newest, group) for group, moment in last.items())


def read_each(
    moments: Mapping[str, frozenset[FileGroup]],
    read: Callable[[str, frozenset[FileGroup]], T],
    commits: Sequence[Commit],
) -> list[T]:
    """What `read` gives for each moment. Where it refuses some of them, its error with the first usable instant."""
    found: list[T] = []
    refused: tuple[str, UsageError] | None = None
    for moment, groups in sorted(moments.items()):
        try:
            found.append(read(moment, groups))
        except UsageError as error:
            refused = moment, error
    if refused is None:
        return found
    last, cause = refused
    usable = min((one.instant.completed for one in commits if one.instant.requested > last), default="latest")
    raise UsageError(cause.message, fix=f"the first usable instant is --from {usable}") from cause


def by_moment(pairs: Iterable[tuple[str, FileGroup]]) -> dict[str, frozenset[FileGroup]]:
    """The file groups that are read as of each moment."""
    found: dict[str, set[FileGroup]] = {}
    for moment, group in pairs:
        found.setdefault(moment, set()).add(group)
    return {moment: frozenset(groups) for moment, groups in found.items()}
