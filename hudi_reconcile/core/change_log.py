"""What Hudi's change log of a copy_on_write table must hold of some commits, by what each commit says that it did. Pure.

With `data_before_after` a commit logs each row that it inserted, updated or deleted in a file group that was there before; a
new file group has no log, its file holds what was inserted. So the answer takes as long as there are changes, however large
the table is. But that log is kept by key: of two copies of a key in one file group it tells one. A log is only believed that
tells as many changes of each kind as the commit counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hudi_reconcile.core.change_range import Commit, FileGroup, RowCounts, WrittenFile, before

# So many rows of files are read in the time of one image of a log, which is text: where each version of a file group is
# read and its rows are told apart, and where only the rows that a commit wrote are picked from the latest of each.
ROWS_EACH, ROWS_LATEST = 8, 50


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """One commit, at place `n` of those asked for, and how many changes of each kind are to be found of it.

    Inserted rows are in its log or in file groups that it began. `has_log`: there is one.
    """

    n: int
    requested: str
    completed: str
    inserted_rows: int
    updated_rows: int
    deleted_rows: int
    has_log: bool


def logged_of(commits: Sequence[Commit], writes: Sequence[Commit]) -> tuple[LoggedCommit, ...] | None:
    """What is to be found of each commit; None where the log cannot tell it.

    `writes` are all of the table that its timeline still holds: a file holds the rows of the one that it was made from, but
    for those that the commit inserted and deleted. The commits must have replaced no file group.
    """
    held = {
        (file.group, write.instant.requested): file.counts.rows
        for write in writes
        for file in write.files
        if file.counts is not None
    }
    if not commits or not all(_is_told(file, held) for one in commits for file in one.files):
        return None
    return tuple(_logged(n, one) for n, one in enumerate(commits))


def is_shorter(log: Sequence[LoggedCommit], commits: Sequence[Commit], *, latest_only: bool) -> bool:
    """True where the log is read sooner than the files: those that the commits wrote, or the latest of each file group."""
    written = [(file.group, file.counts.rows) for one in commits for file in one.files if file.counts is not None]
    rows = sum(dict(written).values()) if latest_only else sum(rows for _, rows in written)
    return images_of(log) * (ROWS_LATEST if latest_only else ROWS_EACH) <= rows


def images_of(log: Sequence[LoggedCommit]) -> int:
    """How many images of rows are to be found of the commits."""
    return sum(one.inserted_rows + 2 * one.updated_rows + one.deleted_rows for one in log)


def span_of_log(found: Sequence[LoggedCommit]) -> tuple[str, str] | None:
    """A range, its begin exclusive, that holds the commits with a log by requested as by completion time; None without any.

    Hudi's CDC query goes by requested times, where its incremental query goes by completion times (measured with 1.2.0).
    """
    logged = [one for one in found if one.has_log]
    if not logged:
        return None
    return before(min(one.requested for one in logged)), max(one.completed for one in logged)


def _is_told(file: WrittenFile, held: Mapping[tuple[FileGroup, str], int]) -> bool:
    counts = file.counts
    if counts is None:
        return False
    if file.previous is None:
        return not file.has_log and counts == RowCounts(counts.rows, counts.rows)
    earlier = held.get((file.group, file.previous))
    return file.has_log and earlier is not None and counts.rows == earlier + counts.inserted_rows - counts.deleted_rows


def _logged(n: int, commit: Commit) -> LoggedCommit:
    counts = [file.counts for file in commit.files if file.counts is not None]
    return LoggedCommit(
        n,
        commit.instant.requested,
        commit.instant.completed,
        sum(one.inserted_rows for one in counts),
        sum(one.updated_rows for one in counts),
        sum(one.deleted_rows for one in counts),
        any(file.has_log for file in commit.files),
    )
