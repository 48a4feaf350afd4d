"""What commits did to rows, from one reading of the files, or of each state of the file groups, that they left. Lazy.

A place is a file or the state of a file group; places that follow each other are a chain. A row's version
(`_hoodie_commit_seqno`) is at the place that the commit left which wrote it, and at every later one of the chain until a
commit updates or deletes it. So its first and its last place tell which commits did something to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from hudi_reconcile.core.changes.file_history import Chain, StateChain
from hudi_reconcile.core.changes.range import Commit, FileGroup
from hudi_reconcile.core.tables.partitions import DEFAULT
from hudi_reconcile.lake.changes.read_points import AFTER, BEFORE, group_by_moment, read_each

_FILES = "name string, chain int, place int, n int, then int"
_SEQNO, _TIME = "_hoodie_commit_seqno", "_hoodie_commit_time"
_HUDI_TYPE = "hudi_type"  # marks columns whose values only Hudi's own reader makes of what is in the files: vectors
Shape = Callable[[DataFrame, SparkColumn], DataFrame]  # rows as they are in files, and a column to keep beside them


class ChainedFiles:
    """The files of some chains of a table at a path, whose columns with Hudi's own are those of `schema`."""

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        schema: StructType,
        chains: Sequence[Chain],
        partitions: Sequence[str] = (),
    ) -> None:
        """`partitions` are the partition columns, one a folder, which are NULL where the folder says that there is no value."""
        self._spark = spark
        self._partitions = partitions
        self._path = path
        # Hudi's own columns are marked as metadata; Spark would then hide the names of the files.
        self._schema = StructType([StructField(field.name, field.dataType) for field in schema.fields])
        self._chains = chains

    @property
    def has_folder_without_value(self) -> bool:
        """True where a folder stands for NULL, for empty text too: a change log of Hudi's has what was written there."""
        return any(DEFAULT in version.path for chain in self._chains for version in chain)

    @cached_property
    def _files(self) -> DataFrame:
        rows = [
            (version.path.rpartition("/")[2], version.chain, version.place, version.n, then)
            for chain in self._chains
            for version, then in zip(chain, [*[successor.n for successor in chain[1:]], None], strict=True)
        ]
        return F.broadcast(self._spark.createDataFrame(rows, _FILES))

    def read_touched(self, shaped: Shape) -> DataFrame | None:
        """What `shaped` makes of the rows that a commit wrote or took away, with `n` and `side`; materialised.

        None where a version is in files that do not follow each other, or twice in one of them: no chain tells its story.
        None too where Spark leaves files out.
        """
        rows = self._scan_all([version.path for chain in self._chains for version in chain])
        if rows is None:
            return None
        placed = rows.select(F.col(_SEQNO).alias("version"), _name()).join(self._files, "name")
        whole = self._whole_rows(shaped).join(self._files.drop("n", "then"), "name")
        return select_touched(placed, whole)

    def _whole_rows(self, shaped: Shape) -> DataFrame:
        """Rows of the oldest files, and of the later ones those that came with a commit of the chains: each version once."""
        files = [version for chain in self._chains for version in chain]
        before = [version.path for version in files if version.place == 0 and version.n is None]
        later = [version for version in files if version.place or version.n is not None]
        times = [version.requested for version in later]
        own = F.col(_TIME).between(min(times), max(times))  # statistics of the files know ranges
        rows = shaped(self._scan([version.path for version in later]).where(own), _name())
        return rows.unionByName(shaped(self._scan(before), _name())) if before else rows

    def read_alive_rows(self) -> DataFrame | None:
        """Rows of the last file of each chain that the commits asked for wrote. None where Spark leaves files out."""
        times = sorted({version.requested for chain in self._chains for version in chain if version.n is not None})
        rows = self._scan_all([chain[-1].path for chain in self._chains])
        own = F.col(_TIME).between(times[0], times[-1]) & F.col(_TIME).isin(*times)
        return None if rows is None else rows.where(own)

    def new_rows(self, shaped: Shape) -> DataFrame | None:
        """What `shaped` makes of all rows of the file groups that the commits began, with `n`. None as in `read_touched`."""
        begun = [chain[0] for chain in self._chains if chain[0].n is not None]
        rows = self._scan_all([version.path for version in begun]) if begun else self._nothing()
        return None if rows is None else shaped(rows, _name()).join(self._files.select("name", "n"), "name")

    def _nothing(self) -> DataFrame:
        return self._scan([self._chains[0][0].path]).limit(0)

    def _scan_all(self, paths: Sequence[str]) -> DataFrame | None:
        """None where a path filter that is set for other tables (`mapreduce.input.pathFilter.class`) hides some of the files."""
        rows = self._scan(paths)
        return rows if len(rows.inputFiles()) == len(paths) else None

    def _scan(self, paths: Sequence[str]) -> DataFrame:
        """Whole files by their names: one that the cleaner took is an error. Folders' names are not taken for columns."""
        how = {"recursiveFileLookup": "true", "ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
        reader = self._spark.read.schema(self._schema).options(**how)
        rows = reader.parquet(*[f"{self._path}/{path}" for path in paths])
        if not any(DEFAULT in path for path in paths):
            return rows
        folders = {name: f"split(_hoodie_partition_path, '/')[{place}]" for place, name in enumerate(self._partitions)}
        return rows.withColumns(
            {name: F.expr(f"if(endswith({folder}, '{DEFAULT}'), null, `{name}`)") for name, folder in folders.items()}
        )


def has_plain_types(schema: StructType) -> bool:
    """True where each column, nested ones too, is in the files as the type that it has in the table."""
    return _HUDI_TYPE not in schema.json()


def _name() -> SparkColumn:
    return F.col("_metadata.file_name").alias("name")


# `own`: the commit asked for that left the state; NULL where it is none of them: they may have taken away any row of it.
_STATES = "moment string, part string, file_id string, chain int, place int, n int, then int, own string"
Read = Callable[[str, frozenset[FileGroup]], DataFrame]


class ChainedStates:
    """The states of some file groups; `read` gives the rows of some of them as of a moment, with `moment` and `requested`."""

    def __init__(self, spark: SparkSession, chains: Sequence[StateChain], read: Read) -> None:
        self._chains = chains
        self._read = read
        rows = [
            (state.moment, *state.group, state.chain, state.place, state.n, then, state.requested)
            for chain in chains
            for state, then in zip(chain, [*[successor.n for successor in chain[1:]], None], strict=True)
        ]
        self._states = F.broadcast(spark.createDataFrame(rows, _STATES))

    def read_touched(self, commits: Sequence[Commit], *, keep: bool) -> DataFrame | None:
        """The rows that a commit wrote or took away, with `n` and `side`; materialised.

        With `keep` rows are read once and kept meanwhile, else twice. None where a version is in states that do not follow each
        other, or twice in one of them, or did not come with the commit that left the first state it is in.

        Raises UsageError for a moment that Hudi cannot show any more.
        """
        moments = group_by_moment((state.moment, state.group) for chain in self._chains for state in chain)
        rows = reduce(DataFrame.unionByName, read_each(moments, self._read, commits))
        placed = rows.join(self._states, ["moment", "part", "file_id"])
        is_whole = F.col("own").isNull() | (F.col("own") == F.col("requested"))
        columns = {name: F.when(is_whole, F.col(name)).alias(name) for name in ("key", "row")}
        placed = placed.select(
            "chain", "place", "n", "then", "version", "partition", is_whole.alias("whole"), *columns.values()
        )
        if keep:
            placed = placed.localCheckpoint()
        return select_touched(placed, placed.where("whole").drop("n", "then"))


MOST_BROADCAST_ROWS = 100_000
PLACE = ("chain", "version", "place")


def select_touched(placed: DataFrame, whole: DataFrame) -> DataFrame | None:
    """The rows of `whole` that a commit wrote or took away, with `n` and `side`; materialised.

    `placed` has every version of every place: `chain`, `version`, `place` (counted from 0), `n` (the commit asked for that left
    the place, if one did) and `then` (the one that left the next place). `whole` has each version at the first place where it is.

    None where a version is at places that do not follow each other, twice at one of them, or not in `whole`: no chain tells
    its story.
    """
    runs = _runs(placed).localCheckpoint()
    counted = runs.agg(F.count(F.lit(1)), F.max("broken")).head()
    if counted is None or counted[1]:
        return None
    wanted = F.broadcast(runs) if counted[0] <= MOST_BROADCAST_ROWS else runs
    rows = whole.join(wanted, list(PLACE)).localCheckpoint()
    if rows.count() != counted[0]:
        return None
    events = F.explode(F.array(_event("born", AFTER), _event("gone", BEFORE)))
    return rows.withColumn("event", events).where("event.n is not null").select("*", "event.*")


def _runs(placed: DataFrame) -> DataFrame:
    """Each version of a row that is not at all places of its chain: the first of them, and who wrote and removed it."""
    first, last = F.min("place"), F.max("place")
    runs = placed.groupBy("chain", "version").agg(
        first.alias("place"),
        F.min_by("n", "place").alias("born"),
        F.max_by("then", "place").alias("gone"),
        (F.count(F.lit(1)) != last - first + 1).alias("broken"),
    )
    return runs.where("born is not null or gone is not null or broken")


def _event(place: str, side: int) -> SparkColumn:
    return F.struct(F.col(place).alias("n"), F.lit(side).alias("side"))
