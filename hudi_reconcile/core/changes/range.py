"""The range of a change query, from `--from` and `--to` as people write them, and whether the history still answers it. Pure.

All times are completion times, as Hudi writes them (`yyyyMMddHHmmssSSS`), in UTC, the zone of every JVM of this tool.

It also decides whether Hudi's change log of a copy_on_write table may be believed. With `data_before_after` a commit logs
each row that it inserted, updated or deleted in a file group that was there before; a new file group has no log, its file
holds what was inserted. The log is kept by key: of two copies of a key in one file group it tells one. So it is believed
only where it tells as many changes of each kind as the commit counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.values import Instant

EARLIEST, LATEST = "earliest", "latest"
BEGINNING = ""  # before every instant
_INSTANT = re.compile(r"\d{17}")
_FORMS = (
    "a Hudi instant such as 20261121145100499, an ISO time in UTC such as 2026-11-21T14:51:00.499Z, earliest or latest"
)

FileGroup = tuple[str, str]  # partition path, file id


@dataclass(frozen=True, slots=True)
class RowCounts:
    """How many rows a file holds, and how many of them its commit inserted or updated, and deleted."""

    rows: int
    inserted_rows: int = 0
    updated_rows: int = 0
    deleted_rows: int = 0


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that a commit wrote for a file group; `path` is below the table's.

    `previous` is when the commit was requested whose version of the group this one was made from; None for a new group.
    `counts` are the commit's own, None where it does not tell them; `has_log`: it wrote a file of the change log beside it.
    """

    group: FileGroup
    path: str
    previous: str | None
    counts: RowCounts | None = None
    has_log: bool = False

    @property
    def is_log_file(self) -> bool:
        """True for a log file of merge_on_read, False for a base file."""
        return ".log." in self.path


@dataclass(frozen=True, slots=True)
class Commit:
    """One completed write. `groups` are the file groups that it wrote or replaced.

    `replaces`: it wrote whole file groups anew, so that rows in it may be just carried over. `labels` are those that this
    tool left on it. `files` are those that it wrote, and `schema` the table's at that time, as the commit tells them.
    """

    instant: Instant
    groups: frozenset[FileGroup] = frozenset()
    replaces: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    files: tuple[WrittenFile, ...] = ()
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """History up to `instant` (completion time) is gone: no range may begin before it. `why` says who took it."""

    instant: str
    why: str


@dataclass(frozen=True, slots=True)
class Span:
    """Commits that completed after `after` and not after `upto`, in order of completion."""

    after: str
    upto: str
    commits: tuple[Commit, ...]
    notes: tuple[str, ...] = ()


def count_rows_written(commits: Sequence[Commit]) -> float:
    """How many rows the commits inserted or updated, as they count them; infinite where one of them does not tell."""
    counts = [file.counts for commit in commits for file in commit.files]
    return sum(
        math.inf if file_counts is None else file_counts.inserted_rows + file_counts.updated_rows
        for file_counts in counts
    )


def read_instant(text: str, option: str) -> str:
    """A position as people write it, as Hudi's instant, `earliest` or `latest`. Raises UsageError for anything else.

    >>> read_instant("2026-11-21T15:51:00.4999+01:00", "--to"), read_instant("latest", "--to")
    ('20261121145100499', 'latest')
    """
    text = text.strip()
    if text in (EARLIEST, LATEST):
        return text
    try:
        if _INSTANT.fullmatch(text):
            datetime.strptime(f"{text[:14]}+0000", "%Y%m%d%H%M%S%z")
            return text
        if not text.isdigit():
            return _write_instant(datetime.fromisoformat(text))
    except (ValueError, OverflowError):  # a zone can lead out of the calendar
        pass
    raise UsageError(f"{option} {text!r} is no instant", fix=f"{option} takes {_FORMS}")


def subtract_millisecond(requested: str) -> str:
    """The instant one millisecond earlier.

    >>> subtract_millisecond("20260301000000000"), subtract_millisecond("20210301000000")
    ('20260228235959999', '20210228235959999')
    """
    return _write_instant(_read_moment(requested) - timedelta(milliseconds=1))


def count_epoch_micros(instant: str) -> int:
    """Microseconds since 1970, UTC.

    >>> count_epoch_micros("19700101000001002")
    1002000
    """
    return (_read_moment(instant) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def select_span(start: str, end: str, commits: Sequence[Commit], cut: Cut | None) -> Span:
    """The commits between two positions, the first exclusive and the last inclusive.

    Raises UsageError for a backward range, and for one that begins where history is gone; it names the first usable instant.
    """
    done = sorted(commits, key=lambda commit: (commit.instant.completed, commit.instant.requested))
    newest = done[-1].instant.completed if done else BEGINNING
    ends = {EARLIEST: BEGINNING, LATEST: newest}
    after, upto = ends.get(start, start), ends.get(end, end)
    if after > upto:
        raise UsageError(
            f"the range runs backwards: --from {start} is after --to {end}"
            + (f" ({newest})" if end == LATEST and newest else ""),
            fix="give the earlier instant as --from",
        )
    if cut is not None and after < cut.instant and after < upto:
        raise UsageError(
            f"--from {start}: {cut.why}, and what changed up to {cut.instant} can no longer be told",
            fix=f"the first usable instant is --from {cut.instant}",
        )
    inside = tuple(commit for commit in done if after < commit.instant.completed <= upto)
    return Span(after, upto, inside, (*_notes("--from", start, done), *_notes("--to", end, done)))


def find_cut(commits: Sequence[Commit], retained_from: str | None, archived: str | None) -> Cut | None:
    """What is gone of the history.

    `commits` are the completed ones on the active timeline. The cleaner left everything from the requested time
    `retained_from` on; None where it never ran. Hudi reads as of no earlier time, so that the commit at it is the first
    whose state is there. `archived` is the newest completion time of a commit that left the active timeline.
    """
    cuts = [Cut(archived, "older commits are archived")] if archived else []
    gone = [commit.instant.completed for commit in commits if commit.instant.requested <= (retained_from or BEGINNING)]
    cuts += [Cut(max(gone), "the cleaner removed older file versions")] if gone else []
    return max(cuts, key=lambda cut: cut.instant, default=None)


def find_entangled(
    asked: Sequence[Commit], commits: Sequence[Commit], services: Sequence[Commit] = ()
) -> tuple[Commit, Commit] | None:
    """Two commits, one of them asked for, that wrote one file group at the same time: its versions do not tell which was first.

    So do two whose ends are not in the order of their begins: up to table version 6 a commit's end is when its file on the
    timeline was last modified, which a copy of the table's folder makes anew.
    `commits` are all of the table; one of them may have begun before an asked one and ended after the range. `services`, its
    compactions and clusterings, make a file group anew for those that complete after they were requested: the rows of a commit
    that was requested before are in no version as of that commit.
    """
    for asked_commit in asked:
        for service in services:
            if (
                asked_commit.instant.requested < service.instant.requested < asked_commit.instant.completed
                and asked_commit.groups & service.groups
            ):
                return asked_commit, service
    wanted = {commit.instant.requested for commit in asked}
    last: dict[FileGroup, Commit] = {}
    for commit in sorted(commits, key=lambda commit: commit.instant.requested):
        for group in commit.groups:
            earlier = last.get(group)
            overlaps = earlier is not None and _overlap(earlier.instant, commit.instant)
            if earlier is not None and overlaps and wanted & {earlier.instant.requested, commit.instant.requested}:
                return earlier, commit
            if earlier is None or commit.instant.completed > earlier.instant.completed:
                last[group] = commit
    return None


_HALF_HOUR_MILLIS = 1_800_000
_MOST_HALF_HOURS = 28
_WRITTEN_MILLIS = 10_000  # so long after the instant was taken its file may have been written


def infer_offset_minutes(completed: str, modified_utc_millis: int) -> int:
    """By how much an instant is ahead of UTC, going by when its file was written: 0 where that tells no zone, as of a copy.

    Hudi names instants in the zone of the writer's JVM (`hoodie.table.timeline.timezone` is LOCAL by default).

    >>> infer_offset_minutes("19700101020000000", 1_000), infer_offset_minutes("19700101000000000", 600_000)
    (120, 0)
    """
    ahead = count_epoch_micros(completed) // 1000 - modified_utc_millis
    halves = -(-ahead // _HALF_HOUR_MILLIS)
    is_zone = abs(halves) <= _MOST_HALF_HOURS and halves * _HALF_HOUR_MILLIS - ahead <= _WRITTEN_MILLIS
    return 30 * halves if is_zone else 0


def check_order(written: Sequence[tuple[str, int]]) -> None:
    """Raises UsageError where instants, with when their files were written, are not in the order in which they came to be."""
    in_time = [completed for completed, _ in sorted(written, key=lambda pair: pair[1])]
    if in_time != sorted(in_time):
        raise UsageError(
            "the table's writers run in different time zones: the names of its commits are not in the order in which they came",
            fix="give all of them one zone (-Duser.timezone=UTC), and ask for a range after the last commit of another",
        )


def find_commit_from_the_future(commits: Sequence[Commit]) -> Commit | None:
    """One that was requested after it completed: so it looks where a writer's zone is ahead of UTC, up to table version 6.

    A storage whose clock is a little behind is no zone.
    """
    for commit in commits:
        early = count_epoch_micros(commit.instant.requested) - count_epoch_micros(commit.instant.completed)
        if early > _HALF_HOUR_MILLIS * 1000 - 10 * _WRITTEN_MILLIS * 1000:
            return commit
    return None


def _overlap(first: Instant, second: Instant) -> bool:
    return first.completed > second.requested or first.completed >= second.completed


def _notes(option: str, position: str, done: Sequence[Commit]) -> tuple[str, ...]:
    if position in (EARLIEST, LATEST) or position in {write.instant.completed for write in done}:
        return ()
    for commit in done:
        if commit.instant.requested == position:
            return (f"{option} {position} is when a commit was requested; it completed at {commit.instant.completed}",)
    return (f"{option} {position} is no commit of this table; it is taken as a point in time",)


def _read_moment(instant: str) -> datetime:
    # Before 0.11 Hudi wrote no milliseconds.
    return datetime.strptime(f"{instant[:14]}+0000", "%Y%m%d%H%M%S%z") + timedelta(milliseconds=int(instant[14:] or 0))


def _write_instant(moment: datetime) -> str:
    utc = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    return f"{utc.year:04d}{utc:%m%d%H%M%S}{utc.microsecond // 1000:03d}"


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


def list_log_counts(commits: Sequence[Commit], writes: Sequence[Commit]) -> tuple[LoggedCommit, ...] | None:
    """What is to be found of each commit; None where the log cannot tell it.

    `writes` are all of the table that its timeline still holds: a file holds the rows of the one that it was made from, but
    for those that the commit inserted and deleted. The commits must have replaced no file group.
    """
    rows_by_version = {
        (file.group, write.instant.requested): file.counts.rows
        for write in writes
        for file in write.files
        if file.counts is not None
    }
    if not commits or not all(_is_told(file, rows_by_version) for commit in commits for file in commit.files):
        return None
    return tuple(_sum_log_counts(n, commit) for n, commit in enumerate(commits))


def is_shorter(log: Sequence[LoggedCommit], commits: Sequence[Commit], *, latest_only: bool) -> bool:
    """True where the log is read sooner than the files: those that the commits wrote, or the latest of each file group."""
    written = [(file.group, file.counts.rows) for commit in commits for file in commit.files if file.counts is not None]
    rows = sum(dict(written).values()) if latest_only else sum(rows for _, rows in written)
    return count_images(log) * (ROWS_LATEST if latest_only else ROWS_EACH) <= rows


def count_images(log: Sequence[LoggedCommit]) -> int:
    """How many images of rows are to be found of the commits."""
    return sum(commit.inserted_rows + 2 * commit.updated_rows + commit.deleted_rows for commit in log)


def find_log_span(commits: Sequence[LoggedCommit]) -> tuple[str, str] | None:
    """A range, its begin exclusive, that holds the commits with a log by requested as by completion time; None without any.

    Hudi's CDC query goes by requested times, where its incremental query goes by completion times (measured with 1.2.0).
    """
    logged = [commit for commit in commits if commit.has_log]
    if not logged:
        return None
    return subtract_millisecond(min(commit.requested for commit in logged)), max(commit.completed for commit in logged)


def _is_told(file: WrittenFile, rows_by_version: Mapping[tuple[FileGroup, str], int]) -> bool:
    counts = file.counts
    if counts is None:
        return False
    if file.previous is None:
        return not file.has_log and counts == RowCounts(counts.rows, counts.rows)
    earlier = rows_by_version.get((file.group, file.previous))
    return file.has_log and earlier is not None and counts.rows == earlier + counts.inserted_rows - counts.deleted_rows


def _sum_log_counts(n: int, commit: Commit) -> LoggedCommit:
    counts = [file.counts for file in commit.files if file.counts is not None]
    return LoggedCommit(
        n,
        commit.instant.requested,
        commit.instant.completed,
        sum(file_counts.inserted_rows for file_counts in counts),
        sum(file_counts.updated_rows for file_counts in counts),
        sum(file_counts.deleted_rows for file_counts in counts),
        any(file.has_log for file in commit.files),
    )
