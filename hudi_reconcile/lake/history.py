"""A table's history: its commits, how far back their file versions are kept, and the rows just before and after each commit.

Rows are read from the file versions themselves, not from Hudi's change log: that log writes images as JSON without types
(ADR 18). Of each commit only the file groups that it touched are looked at: writers of one file group exclude each other, so
its versions have one order, whatever else was being written at the time.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeVar, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.change_range import BEGINNING, Commit, Cut, FileGroup, Span, before, cut_of, entangled
from hudi_reconcile.core.changes import UPSERT
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.values import LakeTable
from hudi_reconcile.lake.bridge import Action, Timeline
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.frames import as_of, incremental, newest_columns
from hudi_reconcile.lake.metadata import PREFIX
from hudi_reconcile.lake.schema import as_now
from hudi_reconcile.lake.table import has_table, table_of
from hudi_reconcile.lake.timeline import instant_of
from hudi_reconcile.ports import Frame

T = TypeVar("T")
_REPLACED = "partitionToReplaceFileIds"
_WRITTEN = "partitionToWriteStats"
_MOST_PUSHED = 50  # file groups that are named to the reader, which then skips other files by their statistics
BEFORE, AFTER = 0, 1


class HudiHistory:
    """The history of one table as it was when this object was made."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        """Raises UsageError where there is no table that was ever committed to, or one that keeps no versions of rows."""
        self._spark = spark
        self._path = path.rstrip("/") or path
        line = Timeline(spark, self._path) if has_table(Files(spark, self._path), self._path) else None
        if line is None or not line.completed():
            raise UsageError(f"there is no Hudi table at {self._path}", fix="pull it first: hudi-reconcile pull")
        properties = line.properties()
        if properties.get("hoodie.populate.meta.fields", "true").lower() == "false":
            raise UsageError(
                f"Hudi table {self._path} keeps no versions of its rows (hoodie.populate.meta.fields=false)",
                fix="pull into a new lake.path",
            )
        self._line = line
        self._commits: tuple[Commit, ...] | None = None
        self._services: tuple[Commit, ...] = ()  # compactions and clusterings
        self._writes: tuple[Commit, ...] = ()  # all of them
        self._bytes: Mapping[FileGroup, float] = {}
        self._done = sorted(line.completed(), key=lambda action: action.requested)
        self.table: LakeTable = table_of(self._path, properties, newest_columns(spark, self._path))
        self._names = tuple(column.name for column in self.table.columns)

    def commits(self) -> tuple[Commit, ...]:
        """Completed writes on the active timeline; compaction and clustering change no row and are none."""
        if self._commits is None:
            documents = [json.loads(self._line.commit_json(action)) for action in self._done]
            found = [commit_of(action, document) for action, document in zip(self._done, documents, strict=True)]
            self._commits = tuple(
                one for one, document in zip(found, documents, strict=True) if not is_service(document)
            )
            services = [one for one, document in zip(found, documents, strict=True) if is_service(document)]
            self._writes, self._services, self._bytes = tuple(found), tuple(services), bytes_of(documents)
        return self._commits

    def bytes_around(self, commits: Sequence[Commit]) -> float:
        """At most how much is read for `versions`; infinite where the size of a file group is no longer on the timeline."""
        self.commits()
        return sum(2 * self._bytes.get(group, math.inf) for commit in commits for group in commit.groups)

    def cut(self, commits: Sequence[Commit]) -> Cut | None:
        """What is gone of the history by now; looks anew, since a cleaner may be at work."""
        line = Timeline(self._spark, self._path)
        return cut_of(commits, line.retained_from(), line.archived_upto())

    def versions(self, commits: Sequence[Commit]) -> Frame:
        """All rows of the touched file groups just before and just after each commit, as `change_queries/log.py` takes them.

        Raises UsageError where one of the commits and another wrote one file group at the same time.
        """
        self._check_entangled(commits)
        done = [action.requested for action in self._done]
        archived = max((action.requested for action in self._line.archived()), default=None)
        looks = sorted(looks_of(commits, done, archived))
        frames = read_each(_by_moment((look[0], look[1:3]) for look in looks), self._read, self.commits())
        if not frames:
            return Frame(self._shaped(self._nothing()).select(F.lit(0).alias("n"), F.lit(0).alias("side"), *_ROW))
        uses = self._spark.createDataFrame(looks, "moment string, part string, file_id string, n int, side int")
        rows = reduce(DataFrame.unionByName, frames)
        on = ["moment", "part", "file_id"]
        return Frame(rows.join(F.broadcast(uses), on).select("n", "side", *_ROW))

    def _check_entangled(self, commits: Sequence[Commit]) -> None:
        mixed = entangled(commits, self.commits(), self._services)
        if mixed is not None:
            first, second = (one.instant.completed for one in mixed)
            raise UsageError(
                f"commits {first} and {second} wrote the same files at the same time; their order cannot be told",
                fix=f"ask for a range that begins at {max(first, second)}: --from {max(first, second)}",
            )

    def is_plain(self, commits: Sequence[Commit]) -> bool:
        """True where no rows went from one file group to another meanwhile but by the commits' own upserts and deletes."""
        self.commits()
        return is_plain(commits, self._writes)

    def alive(self, commits: Sequence[Commit]) -> Frame:
        """Rows that the commits wrote and that are there after the last of them: `n`, `op`, `key`, `before`, `after`.

        Only where `is_plain`: a replacement or a clustering carries rows from one file group into another.
        Raises UsageError where one of the commits and another wrote one file group at the same time.
        """
        self._check_entangled(commits)
        looks = moments_of(commits, self._writes)
        written = [(one.instant.requested, n) for n, one in enumerate(commits)]
        known = self._spark.createDataFrame(written, "requested string, n int")
        names = [requested for requested, _ in written]
        frames = read_each(looks, partial(self._written, requested=names), self.commits())
        rows = reduce(DataFrame.unionByName, frames) if frames else self._shaped(self._nothing(), _requested())
        return self._upserts(rows.join(F.broadcast(known), "requested"))

    def _written(self, moment: str, groups: frozenset[FileGroup], requested: list[str]) -> DataFrame:
        rows = as_of(self._spark, self._path, moment)
        # All of them at once as a range too, which the files' statistics know.
        rows = rows.where(F.col("_hoodie_commit_time").between(min(requested), max(requested)))
        rows = self._shaped(rows.where(F.col("_hoodie_commit_time").isin(requested)), _requested())
        wanted = self._spark.createDataFrame(sorted(groups), "part string, file_id string")
        return rows.join(F.broadcast(wanted), ["part", "file_id"])

    def _upserts(self, rows: DataFrame) -> Frame:
        before = F.lit(None).cast(rows.schema["row"].dataType)
        return Frame(
            rows.select("n", F.lit(UPSERT).alias("op"), "key", before.alias("before"), F.col("row").alias("after"))
        )

    def raw(self, span: Span, merge: str) -> Frame:
        """What Hudi's incremental query gives for the range, in the columns of an answer: for merge_on_read."""
        rows = incremental(self._spark, self._path, span.after, span.upto, merge) if span.commits else self._nothing()
        numbers = [(commit.instant.requested, n) for n, commit in enumerate(span.commits)]
        known = self._spark.createDataFrame(numbers, "requested string, n int")
        shaped = self._shaped(rows, _requested())
        found = self._upserts(shaped.join(F.broadcast(known), "requested"))
        return Frame(cast("DataFrame", found).localCheckpoint())  # before the cleaner comes

    def _nothing(self) -> DataFrame:
        return as_of(self._spark, self._path, self._done[-1].requested).limit(0)

    def _read(self, moment: str, groups: frozenset[tuple[str, str]]) -> DataFrame:
        rows = self._shaped(as_of(self._spark, self._path, moment)).withColumn("moment", F.lit(moment))
        if len(groups) <= _MOST_PUSHED:
            rows = rows.where(" or ".join(f"startswith(file_name, '{file_id}')" for _, file_id in sorted(groups)))
        return rows

    def _shaped(self, rows: DataFrame, *further: Column) -> DataFrame:
        columns = dict(zip(self._names, as_now(rows, self.table.columns, self._path), strict=True))
        return rows.select(
            F.struct(*[columns[name] for name in self.table.record_key]).alias("key"),
            F.col("_hoodie_partition_path").alias("part"),
            F.col("_hoodie_partition_path").alias("partition"),
            F.col("_hoodie_commit_seqno").alias("version"),
            F.col("_hoodie_file_name").alias("file_name"),
            F.substring_index("_hoodie_file_name", "_", 1).alias("file_id"),
            F.struct(*columns.values()).alias("row"),
            *further,
        )


_ROW = ("key", "partition", "version", "row")


def _requested() -> Column:
    return F.col("_hoodie_commit_time").alias("requested")


def is_service(document: dict[str, Any]) -> bool:
    """True for the metadata of a compaction or clustering."""
    return document.get("operationType") in ("COMPACT", "LOG_COMPACT", "CLUSTER")


def commit_of(action: Action, document: dict[str, Any]) -> Commit:
    """A commit from its metadata. Pure."""
    written = {
        (part, stat["fileId"])
        for part, stats in (document.get(_WRITTEN) or {}).items()
        for stat in stats
        if stat.get("fileId")
    }
    replaced = {(part, one) for part, ids in (document.get(_REPLACED) or {}).items() for one in ids}
    extra = document.get("extraMetadata") or {}
    labels = {name.removeprefix(PREFIX): text for name, text in extra.items() if name.startswith(PREFIX)}
    return Commit(instant_of(action), frozenset(written | replaced), bool(replaced), labels)


def bytes_of(documents: Iterable[dict[str, Any]]) -> Mapping[FileGroup, float]:
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


Look = tuple[str, str, str, int, int]  # moment, partition, file id, commit, side


def looks_of(commits: Sequence[Commit], done: Sequence[str], archived: str | None) -> Iterator[Look]:
    """Which file groups are read as of when, and for which side of which commit. Before the first commit there is nothing.

    `done` are the requested times on the active timeline, `archived` the greatest of those in the archive: a savepoint keeps
    its commit active while later ones leave.
    """
    for n, commit in enumerate(commits):
        requested = commit.instant.requested
        earlier = max((one for one in done if one < requested), default=None)
        if archived is not None and (earlier is None or earlier < archived):
            earlier = before(requested)
        for moment, side in ((earlier, BEFORE), (requested, AFTER)):
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
    return _by_moment((moment if group in moved_on else newest, group) for group, moment in last.items())


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


def _by_moment(pairs: Iterable[tuple[str, FileGroup]]) -> dict[str, frozenset[FileGroup]]:
    found: dict[str, set[FileGroup]] = {}
    for moment, group in pairs:
        found.setdefault(moment, set()).add(group)
    return {moment: frozenset(groups) for moment, groups in found.items()}
