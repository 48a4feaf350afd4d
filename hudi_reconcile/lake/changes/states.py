"""What commits did to rows of any table, from one reading of each state of the file groups that they wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.change_range import Commit, FileGroup
from hudi_reconcile.core.state_chains import StateChain
from hudi_reconcile.lake.changes.looks import by_moment, read_each
from hudi_reconcile.lake.changes.runs import touched_of

# `own`: the commit asked for that left the state; NULL where it is none of them: they may have taken away any row of it.
_STATES = "moment string, part string, file_id string, chain int, place int, n int, then int, own string"
Read = Callable[[str, frozenset[FileGroup]], DataFrame]


class ChainedStates:
    """The states of some file groups; `read` gives the rows of some of them as of a moment, with `moment` and `requested`."""

    def __init__(self, spark: SparkSession, chains: Sequence[StateChain], read: Read) -> None:
        self._chains = chains
        self._read = read
        rows = [
            (one.moment, *one.group, one.chain, one.place, one.n, then, one.requested)
            for chain in chains
            for one, then in zip(chain, [*[one.n for one in chain[1:]], None], strict=True)
        ]
        self._states = F.broadcast(spark.createDataFrame(rows, _STATES))

    def touched(self, commits: Sequence[Commit], *, keep: bool) -> DataFrame | None:
        """The rows that a commit wrote or took away, with `n` and `side`; materialised.

        With `keep` rows are read once and kept meanwhile, else twice. None where a version is in states that do not follow each
        other, or twice in one of them, or did not come with the commit that left the first state it is in.

        Raises UsageError for a moment that Hudi cannot show any more.
        """
        moments = by_moment((one.moment, one.group) for chain in self._chains for one in chain)
        rows = reduce(DataFrame.unionByName, read_each(moments, self._read, commits))
        placed = rows.join(self._states, ["moment", "part", "file_id"])
        is_whole = F.col("own").isNull() | (F.col("own") == F.col("requested"))
        columns = {name: F.when(is_whole, F.col(name)).alias(name) for name in ("key", "row")}
        placed = placed.select(
            "chain", "place", "n", "then", "version", "partition", is_whole.alias("whole"), *columns.values()
        )
        if keep:
            placed = placed.localCheckpoint()
        return touched_of(placed, placed.where("whole").drop("n", "then"))
