"""A table's history: its commits, how far back their file versions are kept, and the rows just before and after each commit.

Rows are read from the file versions themselves; from Hudi's change log only where it is whole and tells values exactly (ADR 18).
Of each commit only the file groups that it touched are looked at: writers of one file group exclude each other, so
its versions have one order, whatever else was being written at the time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.changes.file_history import is_no_pattern, link_chains, link_states, list_versions
from hudi_reconcile.core.changes.queries import UPSERT, write_soft_delete_condition
from hudi_reconcile.core.changes.range import (
    Commit,
    Cut,
    FileGroup,
    LoggedCommit,
    Span,
    find_cut,
    find_entangled,
    list_log_counts,
)
from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.core.tables.values import GENERATED_KEY, Instant, LakeTable
from hudi_reconcile.lake.bridge import Timeline, has_partial_rows
from hudi_reconcile.lake.changes.cdc_log import read_logged_changes
from hudi_reconcile.lake.changes.file_versions import ChainedFiles, ChainedStates, has_plain_types
from hudi_reconcile.lake.changes.read_points import (
    END,
    Meanwhile,
    choose_moments,
    estimate_bytes,
    group_by_moment,
    has_older_logs,
    is_plain,
    is_service,
    list_looks,
    parse_commit,
    read_each,
)
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.foreign import OPERATION, has_exact_partition, has_exact_rows, merges_whole_rows
from hudi_reconcile.lake.reads import read_as_of, read_incremental, read_newest
from hudi_reconcile.lake.schema import cast_to_newest, list_columns
from hudi_reconcile.lake.table import build_readable_table, has_table
from hudi_reconcile.ports import Frame

_KEPT_BYTES = 512 << 20  # on disk, as Hudi compresses them: states of so many are read once and kept meanwhile
_ALL: frozenset[FileGroup] = frozenset()
_OWN_ENDS = 8  # the first table version whose commits tell when they ended
_MODIFIED = (
    ". The table's version is 6: a commit's end is when its file in .hoodie was last modified, in UTC, so that "
    "a copy of the folder made without these times (cp without -p), or commits named in another zone, look like this too"
)
_COMPACTIONS = frozenset({"compaction", "logcompaction"})
_MOST_LITERAL = 64  # commits that an expression names; more are joined, which costs a job
_MOST_LOOKED_AT = 500  # log files, each of which costs some calls
_MOST_PUSHED = 50  # file groups that are named to the reader, which then skips other files by their statistics


class HudiHistory:
    """The history of one table as it was when this object was made."""

    def __init__(self, spark: SparkSession, path: str, soft_deletes: str | None = None) -> None:
        """With a rule by which rows count as deleted though they are there (`core/changes/queries.py`).

        Raises UsageError where there is no table that was ever committed to, one that keeps no versions of rows, or one that
        the rule does not fit.
        """
        self._spark = spark
        self._path = path.rstrip("/") or path
        line = Timeline(spark, self._path) if has_table(Files(spark, self._path), self._path) else None
        if line is None or not line.list_completed():
            raise UsageError(f"there is no Hudi table at {self._path}", fix="pull it first: hudi-reconcile pull")
        properties = line.properties()
        if properties.get("hoodie.populate.meta.fields", "true").lower() == "false":
            raise UsageError(
                f"Hudi table {self._path} keeps no versions of its rows (hoodie.populate.meta.fields=false), which is why Hudi "
                "answers no incremental query of it either",
                fix="write it into a table with meta fields; what happened until then is not on record",
            )
        self._line = line
        self._commits: tuple[Commit, ...] | None = None
        self._services: tuple[Commit, ...] = ()  # compactions and clusterings
        self._writes: tuple[Commit, ...] = ()  # all of them
        self._bytes: Mapping[FileGroup, float] = {}
        self._done = sorted(line.list_completed(), key=lambda action: action.requested)
        now = read_newest(spark, self._path)
        # Files of Flink's changelog mode hold changes, which Hudi's reader alone merges into rows.
        self._holds_changes = OPERATION in now.columns
        self._schema = now.schema
        self.table: LakeTable = build_readable_table(self._path, properties, list_columns(now))
        self._merges_whole_rows = merges_whole_rows(self.table.ordering, properties)
        self._names = tuple(column.name for column in self.table.columns)
        self._gone = [write_soft_delete_condition(soft_deletes, self.table)] if soft_deletes else []
        self._is_flagged = dict(now.dtypes).get(_DELETED) == "boolean"

    def commits(self) -> tuple[Commit, ...]:
        """Completed writes on the active timeline; compaction and clustering change no row and are none."""
        if self._commits is None:
            documents = [json.loads(self._line.commit_json(action)) for action in self._done]
            writes = [parse_commit(action, document) for action, document in zip(self._done, documents, strict=True)]
            self._commits = tuple(
                write for write, document in zip(writes, documents, strict=True) if not is_service(document)
            )
            services = [commit for commit, document in zip(writes, documents, strict=True) if is_service(document)]
            services += self._list_planned(self._commits)
            self._writes, self._services, self._bytes = tuple(writes), tuple(services), estimate_bytes(documents)
        return self._commits

    def _list_planned(self, commits: Sequence[Commit]) -> list[Commit]:
        """The planned compactions, if a commit was in flight when one was planned: its files belong to that compaction."""
        planned = {action.requested for action in self._line.pending() if action.action in _COMPACTIONS}
        asked = any(commit.instant.requested < at < commit.instant.completed for commit in commits for at in planned)
        plans = self._line.list_planned_compactions() if asked else {}
        return [Commit(Instant(at, END), groups) for at, groups in sorted(plans.items())]

    def bound_bytes(self, commits: Sequence[Commit]) -> float:
        """At most how much is read for `versions`; infinite where the size of a file group is no longer on the timeline."""
        self.commits()
        return sum(2 * self._bytes.get(group, math.inf) for commit in commits for group in commit.groups)

    def cut(self, commits: Sequence[Commit]) -> Cut | None:
        """What was gone of the history when this object was made."""
        return find_cut(commits, self._line.find_retained(), self._line.archived_upto())

    def look_at_others(self) -> Meanwhile:
        """Look once more: at what others did to the table since this object was made."""
        return Meanwhile(
            Timeline(self._spark, self._path),
            self._path,
            self.commits(),
            frozenset(action.requested for action in self._done),
        )

    def versions(self, commits: Sequence[Commit]) -> Frame:
        """All rows of the touched file groups just before and just after each commit, as `changefeed/log.py` takes them.

        Raises UsageError where one of the commits and another wrote one file group at the same time.
        """
        self._check_entangled(commits)
        done = [action.requested for action in self._done]
        looks = sorted(list_looks(commits, done, self._last_archived()))
        read = partial(self._read, gives_versions=self._gives_versions(commits))
        frames = read_each(group_by_moment((look[0], look[1:3]) for look in looks), read, self.commits())
        if not frames:
            return Frame(self._shape_rows(self._nothing()).select(F.lit(0).alias("n"), F.lit(0).alias("side"), *_ROW))
        uses = self._spark.createDataFrame(looks, "moment string, part string, file_id string, n int, side int")
        rows = reduce(DataFrame.unionByName, frames)
        on = ["moment", "part", "file_id"]
        return Frame(rows.join(F.broadcast(uses), on).select("n", "side", *_ROW))

    def _check_entangled(self, commits: Sequence[Commit]) -> None:
        mixed = find_entangled(commits, self.commits(), self._services)
        if mixed is not None:
            first, second = (commit.instant.completed for commit in mixed)
            if second == END:
                planned = mixed[1].instant.requested
                raise UsageError(
                    f"commit {first} and the compaction {planned}, which is planned, wrote the same files at the same time: "
                    "no state of the table as of that commit holds its rows",
                    fix=f"ask for a range that begins at {first}: --from {first}",
                )
            raise UsageError(
                f"commits {first} and {second} wrote the same files at the same time; their order cannot be told"
                + (_MODIFIED if self.table.version < _OWN_ENDS else ""),
                fix=f"ask for a range that begins at {max(first, second)}: --from {max(first, second)}",
            )

    def read_touched(self, commits: Sequence[Commit]) -> Frame | None:
        """Rows that the commits wrote or took away, as `changefeed/log.py` takes them, from one reading of their files.

        None where that cannot be done with certainty: `versions` reads whatever the table is, in several times the time.
        Raises UsageError where one of the commits and another wrote one file group at the same time.
        """
        files = self._chain_files(commits)
        rows = files.read_touched(self._shape_rows) if files else None
        if rows is None:
            states = self._states(commits)
            keep = self.bound_bytes(commits) <= _KEPT_BYTES
            rows = states.read_touched(self.commits(), keep=keep) if states else None
        return None if rows is None else Frame(rows.select("n", "side", *_ROW))

    def list_log_counts(self, commits: Sequence[Commit]) -> tuple[LoggedCommit, ...] | None:
        """What Hudi's own change log must hold of the commits; None where it cannot tell them all.

        Raises UsageError where one of the commits and another wrote one file group at the same time.
        """
        has_full_log = self.table.change_log == "data_before_after" and not (self._gone or self._is_flagged)
        has_full_log = has_full_log and not self.table.has_generated_keys  # the log has no column of Hudi's
        files = self._chain_files(commits) if has_full_log else None
        if files is None or files.has_folder_without_value:
            return None
        return list_log_counts(commits, self._writes)

    @contextmanager
    def read_log(self, commits: Sequence[Commit], counted: Sequence[LoggedCommit]) -> Iterator[Frame | None]:
        """What Hudi's own change log tells of `counted` commits: `n`, `op`, `before`, `after`; to be evaluated once, inside.

        None where that are not the values that the table holds. Raises LakeError where it cannot be read.
        """
        files = self._chain_files(commits)
        new_rows = files.new_rows(self._shape_rows) if files else None
        if new_rows is None:
            yield None
            return
        schema = commits[0].schema or ""  # that of all of them, where their files make chains
        with read_logged_changes(self._spark, self.table, counted, schema, new_rows) as changes:
            yield None if changes is None else Frame(changes)

    def _states(self, commits: Sequence[Commit]) -> ChainedStates | None:
        done = [action.requested for action in self._done]
        chains = link_states(commits, self.commits(), self._services, done, self._last_archived())
        if not chains or not self._is_plain(commits):
            return None
        read = partial(self._read, further=(_requested_column(),), gives_versions=self._gives_versions(commits))
        return ChainedStates(self._spark, chains, read)

    def _last_archived(self) -> str | None:
        return max((action.requested for action in self._line.list_archived()), default=None)

    def _chain_files(self, commits: Sequence[Commit]) -> ChainedFiles | None:
        self._check_entangled(commits)
        has_plain_files = self._merges_whole_rows and not self._holds_changes and has_exact_rows(self.table)
        has_plain_files = has_plain_files and has_plain_types(self._schema) and is_no_pattern(self._path)
        chains = link_chains(commits, self._writes) if has_plain_files and self._is_plain(commits) else None
        if not chains or not all(has_exact_partition(self.table, version.path) for version in list_versions(chains)):
            return None
        return ChainedFiles(self._spark, self._path, self._schema, chains, self.table.partition_fields)

    def can_list_alive(self, commits: Sequence[Commit]) -> bool:
        """Whether `read_alive_upserts` answers for these: no row left its file group, and versions tell who changed it last."""
        return self._is_plain(commits) and self._gives_versions(commits)

    def _is_plain(self, commits: Sequence[Commit]) -> bool:
        """True where no rows went from one file group to another meanwhile but by the commits' own upserts and deletes."""
        self.commits()
        return is_plain(commits, self._writes)

    def _gives_versions(self, commits: Sequence[Commit]) -> bool:
        """True where each row that one of these commits changed has that commit's version.

        Log files of merge_on_read may hold parts of rows (MERGE INTO). A late one leaves a row its version, and so does a
        late row that is merged with an earlier part. So all log files of these file groups up to then are looked at, but for
        those of commits with our labels, which hold whole rows. False where they are many, unreadable, or of archived commits.
        """
        if not self._merges_whole_rows or self.table.type == "copy_on_write":
            return self._merges_whole_rows
        last = max((commit.instant.requested for commit in commits), default="")
        self.commits()
        writes = [write for write in self._writes if write.instant.requested <= last]
        if self._last_archived() is not None and has_older_logs(commits, writes):
            return False
        groups = frozenset(group for commit in commits for group in commit.groups)
        logs = [
            file
            for write in writes
            if not write.labels
            for file in write.files
            if file.is_log_file and file.group in groups
        ]
        try:
            return len(logs) <= _MOST_LOOKED_AT and not (
                logs and has_partial_rows(self._spark, self._path, [log.path for log in logs])
            )
        except LakeError:
            return False  # the rows are read next; where they are gone too, that is the error

    def read_alive_upserts(self, commits: Sequence[Commit]) -> Frame:
        """Rows that the commits wrote and that are there after the last of them: `n`, `op`, `key`, `before`, `after`.

        Only where `can_list_alive`: a replacement or a clustering carries rows from one file group into another.
        Raises UsageError where one of the commits and another wrote one file group at the same time.
        """
        files = self._chain_files(commits)
        alive_rows = files.read_alive_rows() if files else None
        rows = self._read_alive(commits) if alive_rows is None else self._shape_rows(alive_rows, _requested_column())
        return self._upserts(self._number_rows(rows, commits))

    def _number_rows(self, rows: DataFrame, commits: Sequence[Commit]) -> DataFrame:
        """Rows that one of the commits wrote, with `n`, its place."""
        requested = [commit.instant.requested for commit in commits]
        if 0 < len(requested) <= _MOST_LITERAL:
            places = F.create_map(*[F.lit(part) for n, time in enumerate(requested) for part in (time, n)])
            return rows.withColumn("n", places[F.col("requested")]).where("n is not null")
        known = self._spark.createDataFrame([(time, n) for n, time in enumerate(requested)], "requested string, n int")
        return rows.join(F.broadcast(known), "requested")

    def _read_alive(self, commits: Sequence[Commit]) -> DataFrame:
        looks = choose_moments(commits, self._writes)
        requested = [commit.instant.requested for commit in commits]
        if len(looks) == 1:  # then no row of another file group is by one of the commits
            looks = dict.fromkeys(looks, _ALL)
        frames = read_each(looks, partial(self._read_written, requested=requested), self.commits())
        return (
            reduce(DataFrame.unionByName, frames) if frames else self._shape_rows(self._nothing(), _requested_column())
        )

    def _read_written(self, moment: str, groups: frozenset[FileGroup], requested: list[str]) -> DataFrame:
        rows = read_as_of(self._spark, self._path, moment)
        # All of them at once as a range too, which the files' statistics know.
        rows = rows.where(F.col("_hoodie_commit_time").between(min(requested), max(requested)))
        rows = self._shape_rows(rows.where(F.col("_hoodie_commit_time").isin(requested)), _requested_column())
        if not groups:
            return rows
        wanted = self._spark.createDataFrame(sorted(groups), "part string, file_id string")
        return rows.join(F.broadcast(wanted), ["part", "file_id"])

    def _upserts(self, rows: DataFrame) -> Frame:
        before = F.lit(None).cast(rows.schema["row"].dataType)
        return Frame(
            rows.where("row is not null").select(
                "n", F.lit(UPSERT).alias("op"), "key", before.alias("before"), F.col("row").alias("after")
            )
        )

    def list_other_keys(self, commits: Sequence[Commit]) -> Frame:
        """`key` of each row in a file group that none of the commits wrote, as of the last of them."""
        wrote = sorted({group for commit in commits for group in commit.groups})
        known = F.broadcast(self._spark.createDataFrame(wrote, "part string, file_id string"))
        rows = self._shape_rows(
            read_as_of(self._spark, self._path, max(commit.instant.requested for commit in commits))
        )
        return Frame(rows.where("row is not null").join(known, ["part", "file_id"], "left_anti").select("key"))

    def read_raw(self, span: Span, merge: str) -> Frame:
        """What Hudi's incremental query gives for the range, in the columns of an answer: for merge_on_read.

        Raises UsageError in Flink's changelog mode, where deletes and images of before would pass for upserts.
        """
        if self._holds_changes:
            raise UsageError(
                f"Hudi table {self._path} is written in Flink's changelog mode ({OPERATION}): its files hold deletes and rows "
                "as they were before an update, which --merge would list as upserts",
                fix="leave --merge out",
            )
        rows = (
            read_incremental(self._spark, self._path, span.after, span.upto, merge) if span.commits else self._nothing()
        )
        upserts = self._upserts(self._number_rows(self._shape_rows(rows, _requested_column()), span.commits))
        return Frame(cast("DataFrame", upserts).localCheckpoint())  # before the cleaner comes

    def _nothing(self) -> DataFrame:
        return read_as_of(self._spark, self._path, self._done[-1].requested).limit(0)

    def _read(
        self, moment: str, groups: frozenset[FileGroup], further: Sequence[Column] = (), *, gives_versions: bool
    ) -> DataFrame:
        """Rows of some file groups. Unless each change `gives_versions` of its own, a row's version holds a hash of the row."""
        rows = self._shape_rows(read_as_of(self._spark, self._path, moment), *further).withColumn(
            "moment", F.lit(moment)
        )
        rows = rows if gives_versions else rows.withColumn("version", F.expr(_VERSION_OF_PARTS))
        if len(groups) <= _MOST_PUSHED:
            rows = rows.where(" or ".join(f"startswith(file_name, '{file_id}')" for _, file_id in sorted(groups)))
        return rows

    def _shape_rows(self, rows: DataFrame, *further: Column) -> DataFrame:
        """`row` is NULL where the row counts as deleted: its version is there, and it is not."""
        flag = [_DELETED] if self._is_flagged and _DELETED in rows.columns else []  # it may have come later
        gone = " or ".join(
            [*(f"({condition})" for condition in self._gone), *(f"coalesce({column}, false)" for column in flag)]
        )
        shaped = self._select_read(rows, *map(F.col, flag), *further)
        return shaped.withColumn("row", F.expr(f"if({gone}, null, row)")).drop(*flag) if gone else shaped

    def _select_read(self, rows: DataFrame, *further: Column) -> DataFrame:
        columns = dict(zip(self._names, cast_to_newest(rows, self.table.columns, self._path), strict=True))
        keys = {**columns, GENERATED_KEY: F.col(GENERATED_KEY)}
        return rows.select(
            F.struct(*[keys[name] for name in self.table.record_key]).alias("key"),
            F.col("_hoodie_partition_path").alias("part"),
            F.col("_hoodie_partition_path").alias("partition"),
            F.col("_hoodie_commit_seqno").alias("version"),
            F.col("_hoodie_file_name").alias("file_name"),
            F.substring_index("_hoodie_file_name", "_", 1).alias("file_id"),
            F.struct(*columns.values()).alias("row"),
            *further,
        )


_ROW = ("key", "partition", "version", "row")
_MICROS = "'yyyy-MM-dd HH:mm:ss.SSSSSS'"
_AS_WRITTEN = f"map('ignoreNullFields', 'false', 'timestampFormat', {_MICROS}, 'timestampNTZFormat', {_MICROS})"
_VERSION_OF_PARTS = f"concat_ws(' ', version, xxhash64(to_json(row, {_AS_WRITTEN})))"
_DELETED = "_hoodie_is_deleted"  # a writer's own column, by which Hudi takes a row that is upserted for a delete


def _requested_column() -> Column:
    return F.col("_hoodie_commit_time").alias("requested")
