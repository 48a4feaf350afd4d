"""What replacing all rows of a table would take away, counted by record key. Reads both frames, writes nothing."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.values import LakeTable
from hudi_reconcile.lake.schema import as_table
from hudi_reconcile.ports import Replaced


def would_overwrite(rows: DataFrame, lake: DataFrame, table: LakeTable) -> Replaced:
    """The lake's rows, and how many have a key that none of the new rows has. NULL parts of a key are equal."""
    keys = as_table(rows, table.columns, table.path).select(*table.record_key).withColumn("_hr_there", F.lit(True))
    same = reduce(
        SparkColumn.__and__, (F.col(f"l.`{name}`").eqNullSafe(F.col(f"n.`{name}`")) for name in table.record_key)
    )
    joined = lake.select(*table.record_key).alias("l").join(keys.alias("n"), same, "left")
    found = joined.agg(F.count(F.lit(1)), F.count(F.when(F.col("_hr_there").isNull(), 1))).collect()[0]
    return Replaced(int(found[0]), int(found[1]))
