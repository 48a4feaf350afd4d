"""As of when file groups are read to see the rows around commits, by what commits wrote and what others did meanwhile. Pure.

Others are the cleaner, the archiver, a restore, and a writer that began earlier.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from hudi_reconcile.core.changes.file_history import find_latest_before
from hudi_reconcile.core.changes.range import (
    BEGINNING,
    Commit,
    Cut,
    FileGroup,
    RowCounts,
    WrittenFile,
    check_order,
    find_commit_from_the_future,
    find_cut,
    infer_offset_minutes,
)
from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.lake.bridge import Timeline, TimelineAction
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.timeline import PREFIX, convert_action

T = TypeVar("T")
BEFORE, AFTER = 0, 1
END = "99999999999999999"  # after every instant

Look = tuple[str, str, str, int, int]  # moment, partition, file id, commit, side


def list_looks(commits: Sequence[Commit], done: Sequence[str], archived: str | None) -> Iterator[Look]:
    """Which file groups are read as of when, and for which side of which commit. Before the first commit there is nothing.

    `done` are the requested times on the active timeline, `archived` the greatest of those in the archive.
    """
    for n, commit in enumerate(commits):
        requested = commit.instant.requested
        for moment, side in ((find_latest_before(requested, done, archived), BEFORE), (requested, AFTER)):
            if moment is None:
                continue
            yield from ((moment, part, file_id, n, side) for part, file_id in commit.groups)


def is_plain(commits: Sequence[Commit], writes: Sequence[Commit]) -> bool:
    """True where none of the table's writes replaced file groups from the first of the commits to the last. Pure."""
    if not commits:
        return True
    first = min(commit.instant.requested for commit in commits)
    last = max(commit.instant.requested for commit in commits)
    return not any(
        write.replaces and write.instant.requested <= last and write.instant.completed >= first for write in writes
    )


def has_older_logs(commits: Sequence[Commit], writes: Sequence[Commit]) -> bool:
    """True where a file group of the commits may hold log files of before the first of the table's `writes`. Pure.

    Beside a base file that one of the writes left before the first of the commits touched the group, there are none of them.
    """
    begun: dict[FileGroup, str] = {}
    for write in sorted(writes, key=lambda write: write.instant.requested):
        for file in write.files:
            if not file.is_log_file:
                begun.setdefault(file.group, write.instant.requested)
    return any(begun.get(group, END) > commit.instant.requested for commit in commits for group in commit.groups)


def find_disturbance(commits: Sequence[Commit], there: Collection[str], late: Sequence[Commit]) -> str | None:
    """Why rows around the commits may have been read otherwise than these left them; None where nothing speaks for it. Pure.

    `there` are the requested times that the table still has, and `late` the writes that completed while rows were read, but for
    compactions. One that was requested before the last of the commits is in the files as of that commit, as if it had been there.
    """
    gone = [commit.instant.completed for commit in commits if commit.instant.requested not in there]
    if gone:
        return f"commit {gone[0]} was taken back while it was read: the table was restored to an earlier one"
    last = max((commit.instant.requested for commit in commits), default=BEGINNING)
    groups = frozenset(group for commit in commits for group in commit.groups)
    mixed = [write.instant.completed for write in late if write.instant.requested < last and write.groups & groups]
    return f"commit {mixed[0]} began in the range or before and completed while it was read" if mixed else None


def choose_moments(commits: Sequence[Commit], writes: Sequence[Commit]) -> Mapping[str, frozenset[FileGroup]]:
    """As of when the commits' file groups are read as the last of them left each: of all at once where nobody wrote since.

    `writes` are all of the table, compaction and clustering included. Pure.
    """
    last: dict[FileGroup, str] = {}
    for commit in sorted(commits, key=lambda commit: commit.instant.requested):
        last.update(dict.fromkeys(commit.groups, commit.instant.requested))
    newest = max(last.values(), default=BEGINNING)
    moved_on = {
        group
        for write in writes
        for group in write.groups & last.keys()
        if last[group] < write.instant.requested <= newest
    }
    return group_by_moment((moment if group in moved_on else newest, group) for group, moment in last.items())


def read_each(
    moments: Mapping[str, frozenset[FileGroup]],
    read: Callable[[str, frozenset[FileGroup]], T],
    commits: Sequence[Commit],
) -> list[T]:
    """What `read` gives for each moment. Where it refuses some of them, its error with the first usable instant."""
    readings: list[T] = []
    refused: tuple[str, UsageError] | None = None
    for moment, groups in sorted(moments.items()):
        try:
            readings.append(read(moment, groups))
        except UsageError as error:
            refused = moment, error
    if refused is None:
        return readings
    last, cause = refused
    usable = min((commit.instant.completed for commit in commits if commit.instant.requested > last), default="latest")
    raise UsageError(cause.message, fix=f"the first usable instant is --from {usable}") from cause


def group_by_moment(pairs: Iterable[tuple[str, FileGroup]]) -> dict[str, frozenset[FileGroup]]:
    """The file groups that are read as of each moment."""
    groups_by_moment: dict[str, set[FileGroup]] = {}
    for moment, group in pairs:
        groups_by_moment.setdefault(moment, set()).add(group)
    return {moment: frozenset(groups) for moment, groups in groups_by_moment.items()}


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """The timeline of a table at `path` after rows around some commits were read.

    `commits` are those that were known when the reading began, and `writes` the requested times of all writes known then.
    """

    line: Timeline
    path: str
    commits: Sequence[Commit]
    writes: frozenset[str]

    def cut(self) -> Cut | None:
        """What is gone of the history by now. The cleaner may have passed all known commits: a later one is usable first then."""
        known = max((commit.instant.requested for commit in self.commits), default=BEGINNING)
        later = [Commit(convert_action(action)) for action in self.line.list_completed() if action.requested > known]
        return find_cut([*self.commits, *later], self.line.find_retained(), self.line.archived_upto())

    def zone(self, files: Files) -> int:
        """By how many minutes the table's instants are ahead of UTC; 0 where that is unknown.

        Raises UsageError where writers in several zones made it, so that its instants tell no order.
        """
        early = find_commit_from_the_future(self.commits)
        if early is not None:
            raise UsageError(
                f"commit {early.instant.requested} was requested after it completed, at {early.instant.completed} UTC:"
                " its writer's JVM is in a zone ahead of UTC, or its clock is wrong",
                fix="run the writers with -Duser.timezone=UTC; later ranges are told once such commits are archived",
            )
        done = self.line.list_completed()
        ahead = [infer_offset_minutes(*times) for times in self._list_write_times({done[0], done[-1]}, files)]
        if any(ahead):
            check_order(list(self._list_write_times(done, files)))
        return max(ahead, key=abs, default=0)

    def _list_write_times(self, actions: Iterable[TimelineAction], files: Files) -> Iterator[tuple[str, int]]:
        """When actions completed, and when their files were written. Of old tables the one is the other."""
        folder = self.line.properties().get("hoodie.timeline.path")
        for action in actions if folder else ():
            written = files.modified_ms(
                f"{self.path}/.hoodie/{folder}/{action.requested}_{action.completed}.{action.action}"
            )
            if action.completed is not None and written is not None:
                yield action.completed, written

    def check_undisturbed(self, asked: Sequence[Commit]) -> None:
        """Raises LakeError where others changed what files hold as of the commits asked for."""
        done = self.line.list_completed()
        new = [
            (action, json.loads(self.line.commit_json(action)))
            for action in done
            if action.requested not in self.writes
        ]
        late = [parse_commit(action, document) for action, document in new if not is_compaction(document)]
        why = find_disturbance(asked, {action.requested for action in (*done, *self.line.list_archived())}, late)
        if why is not None:
            raise LakeError(f"Hudi table {self.path}: {why}", fix="run it again")


_REPLACED = "partitionToReplaceFileIds"
_WRITTEN = "partitionToWriteStats"
# Where a table has this, its columns go by identity and not by the names that are in the files.
_BY_IDENTITY = "latest_schema"


def is_service(document: dict[str, Any]) -> bool:
    """True for the metadata of a compaction or clustering."""
    return document.get("operationType") in ("COMPACT", "LOG_COMPACT", "CLUSTER")


def is_compaction(document: dict[str, Any]) -> bool:
    """True for the metadata of a compaction: rows stay in their file group and keep their versions."""
    return document.get("operationType") in ("COMPACT", "LOG_COMPACT")


def parse_commit(action: TimelineAction, document: dict[str, Any]) -> Commit:
    """A commit from its metadata. `schema` is none where the names of columns in files may be others than the table's."""
    written = {
        (part, stat["fileId"])
        for part, stats in (document.get(_WRITTEN) or {}).items()
        for stat in stats
        if stat.get("fileId")
    }
    replaced = {(part, file_id) for part, ids in (document.get(_REPLACED) or {}).items() for file_id in ids}
    extra = document.get("extraMetadata") or {}
    labels = {name.removeprefix(PREFIX): text for name, text in extra.items() if name.startswith(PREFIX)}
    schema = None if _BY_IDENTITY in extra else extra.get("schema")
    return Commit(
        convert_action(action), frozenset(written | replaced), bool(replaced), labels, tuple(_files(document)), schema
    )


def _files(document: dict[str, Any]) -> Iterator[WrittenFile]:
    for part, stats in (document.get(_WRITTEN) or {}).items():
        for stat in stats:
            if stat.get("fileId") and stat.get("path"):
                previous = stat.get("prevCommit")
                yield WrittenFile(
                    (part, stat["fileId"]),
                    stat["path"],
                    None if previous in (None, "null") else previous,
                    _counts(stat),
                    bool(stat.get("cdcStats")),
                )


def _counts(stat: dict[str, Any]) -> RowCounts | None:
    counts = [stat.get(name) for name in ("numWrites", "numInserts", "numUpdateWrites", "numDeletes")]
    return None if None in counts else RowCounts(*map(int, cast("list[int]", counts)))


def estimate_bytes(documents: Iterable[dict[str, Any]]) -> Mapping[FileGroup, float]:
    """At most how large one version of each file group is: its largest base file and all its log files. Pure."""
    base: Counter[FileGroup] = Counter()
    logs: Counter[FileGroup] = Counter()
    for document in documents:
        for part, stats in (document.get(_WRITTEN) or {}).items():
            for stat in stats:
                group, size = (part, stat["fileId"]), stat.get("fileSizeInBytes") or 0
                if ".log." in (stat.get("path") or ""):
                    logs[group] += size
                else:
                    base[group] = max(base[group], size)
    return {group: base[group] + logs[group] for group in base}
