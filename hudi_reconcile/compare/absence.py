"""The keys of a plan's deletes as they are asked for at the source once more, and what comes of the answer."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.canonical import canonical
from hudi_reconcile.compare.corrections import MOVED, WRITTEN
from hudi_reconcile.compare.sides import Shape, values_of
from hudi_reconcile.core.keys import Key
from hudi_reconcile.core.kinds import Kind


def keys_to_delete(rechecked: DataFrame, shape: Shape, most: int) -> tuple[Key, ...] | None:
    """The keys of the deletes that may be written, as text; None where there are more than `most`."""
    columns = [F.col(name) for name in shape.key_names]
    kinds = [item.column.kind for item in shape.agreement.key]
    texts = [F.hex(one) if kind is Kind.BYTES else one.cast("string") for one, kind in zip(columns, kinds, strict=True)]
    found = rechecked.where(_deletes()).select(*texts).limit(most + 1).collect()
    return None if len(found) > most else tuple(tuple(row) for row in found)


def still_there(rechecked: DataFrame, there: DataFrame | None, shape: Shape) -> DataFrame:
    """Deletes whose key is among these source rows get the status `moved`; without rows all do. Materialised."""
    status = F.when(_deletes(), MOVED).otherwise(F.col("status"))
    if there is None:
        return rechecked.withColumn("status", status).localCheckpoint(eager=True)
    key = shape.agreement.key
    values = zip(shape.key_names, key, values_of("source", key), strict=True)
    keys = there.select(*[canonical(item, value).alias(f"there_{name}") for name, item, value in values]).distinct()
    same = [F.col(name).eqNullSafe(F.col(f"there_{name}")) for name in shape.key_names]
    joined = rechecked.join(keys.withColumn("there", F.lit(True)), reduce(Column.__and__, same), "left")
    marked = joined.withColumn("status", F.when(F.col("there"), status).otherwise(F.col("status")))
    return marked.select(*rechecked.columns).localCheckpoint(eager=True)


def _deletes() -> Column:
    return (F.col("action") == "delete") & F.col("status").isin(*WRITTEN)
