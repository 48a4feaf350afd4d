"""What commits did to rows of a copy_on_write table, from one reading of the files that they left. Spark expressions only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from hudi_reconcile.core.file_chains import Chain
from hudi_reconcile.lake.changes.runs import touched_of

_FILES = "name string, chain int, place int, n int, then int"
_SEQNO, _TIME = "_hoodie_commit_seqno", "_hoodie_commit_time"
_HUDI_TYPE = "hudi_type"  # marks columns whose values only Hudi's own reader makes of what is in the files: vectors
Shape = Callable[[DataFrame, SparkColumn], DataFrame]  # rows as they are in files, and a column to keep beside them


class ChainedFiles:
    """The files of some chains of a table at a path, whose columns with Hudi's own are those of `schema`."""

    def __init__(self, spark: SparkSession, path: str, schema: StructType, chains: Sequence[Chain]) -> None:
        self._spark = spark
        self._path = path
        # Hudi's own columns are marked as metadata; Spark would then hide the names of the files.
        self._schema = StructType([StructField(one.name, one.dataType) for one in schema.fields])
        self._chains = chains

    @cached_property
    def _files(self) -> DataFrame:
        rows = [
            (version.path.rpartition("/")[2], version.chain, version.place, version.n, then)
            for chain in self._chains
            for version, then in zip(chain, [*[one.n for one in chain[1:]], None], strict=True)
        ]
        return F.broadcast(self._spark.createDataFrame(rows, _FILES))

    def touched(self, shaped: Shape) -> DataFrame | None:
        """What `shaped` makes of the rows that a commit wrote or took away, with `n` and `side`; materialised.

        None where a version is in files that do not follow each other, or twice in one of them: no chain tells its story.
        None too where Spark leaves files out.
        """
        found = self._all_of([one.path for chain in self._chains for one in chain])
        if found is None:
            return None
        placed = found.select(F.col(_SEQNO).alias("version"), _name()).join(self._files, "name")
        whole = self._whole_rows(shaped).join(self._files.drop("n", "then"), "name")
        return touched_of(placed, whole)

    def _whole_rows(self, shaped: Shape) -> DataFrame:
        """Rows of the oldest files, and of the later ones those that came with a commit of the chains: each version once."""
        files = [one for chain in self._chains for one in chain]
        before = [one.path for one in files if one.place == 0 and one.n is None]
        later = [one for one in files if one.place or one.n is not None]
        times = [one.requested for one in later]
        own = F.col(_TIME).between(min(times), max(times))  # statistics of the files know ranges
        rows = shaped(self._scan([one.path for one in later]).where(own), _name())
        return rows.unionByName(shaped(self._scan(before), _name())) if before else rows

    def alive(self) -> DataFrame | None:
        """Rows of the last file of each chain that the commits asked for wrote. None where Spark leaves files out."""
        times = sorted({one.requested for chain in self._chains for one in chain if one.n is not None})
        rows = self._all_of([chain[-1].path for chain in self._chains])
        own = F.col(_TIME).between(times[0], times[-1]) & F.col(_TIME).isin(*times)
        return None if rows is None else rows.where(own)

    def new_rows(self, shaped: Shape) -> DataFrame | None:
        """What `shaped` makes of all rows of the file groups that the commits began, with `n`. None as in `touched`."""
        begun = [chain[0] for chain in self._chains if chain[0].n is not None]
        rows = self._all_of([one.path for one in begun]) if begun else self._nothing()
        return None if rows is None else shaped(rows, _name()).join(self._files.select("name", "n"), "name")

    def _nothing(self) -> DataFrame:
        return self._scan([self._chains[0][0].path]).limit(0)

    def _all_of(self, paths: Sequence[str]) -> DataFrame | None:
        """None where a path filter that is set for other tables (`mapreduce.input.pathFilter.class`) hides some of the files."""
        found = self._scan(paths)
        return found if len(found.inputFiles()) == len(paths) else None

    def _scan(self, paths: Sequence[str]) -> DataFrame:
        """Whole files by their names: one that the cleaner took is an error. Folders' names are not taken for columns."""
        how = {"recursiveFileLookup": "true", "ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
        reader = self._spark.read.schema(self._schema).options(**how)
        return reader.parquet(*[f"{self._path}/{path}" for path in paths])


def has_plain_types(schema: StructType) -> bool:
    """True where each column, nested ones too, is in the files as the type that it has in the table."""
    return _HUDI_TYPE not in schema.json()


def _name() -> SparkColumn:
    return F.col("_metadata.file_name").alias("name")
