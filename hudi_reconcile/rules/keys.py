"""The keys of rows that failed a rule: every one to Parquet, the first few to the result. Other columns go nowhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.rule_verdict import Keys
from hudi_reconcile.ports.rules import KeysTarget
from hudi_reconcile.rules.predicates import quoted, type_of
from hudi_reconcile.rules.values import CLOCKS

ROWS_PER_FILE = 200_000
SAMPLE_ROWS = 10


def written(failed: DataFrame, target: KeysTarget) -> Keys:
    """Write the keys, ordered, in as many files as their number asks for; count and sample come from what was written."""
    order = [quoted(name) for name in target.key]
    only = failed.select(*order)
    files = max(1, math.ceil(target.rows / ROWS_PER_FILE))
    spread = only.repartition(1) if files == 1 else only.repartitionByRange(files, *order)
    spread.sortWithinPartitions(*order).write.mode("errorifexists").parquet(target.folder)
    back = failed.sparkSession.read.schema(only.schema).parquet(target.folder)
    return Keys(back.count(), target.path, sample(back, target.key))


def sample(keys: DataFrame, key: tuple[str, ...]) -> tuple[Mapping[str, Any], ...]:
    """The first keys, spelled as in findings (contract §6): integers and booleans as such, all else as text."""
    spelled = [_spelled(quoted(name), type_of(keys, name)).alias(f"k{i}") for i, name in enumerate(key)]
    found = keys.select(*spelled).limit(SAMPLE_ROWS).collect()
    return tuple({name: _plain(row[i]) for i, name in enumerate(key)} for row in found)


def _spelled(value: Column, kind: str) -> Column:
    if kind in CLOCKS:
        zone = "'Z'" if kind == "timestamp" else ""
        return F.date_format(value, f"yyyy-MM-dd'T'HH:mm:ss.SSSSSS{zone}")
    if kind == "binary":
        return F.lower(F.hex(value))
    if kind in ("tinyint", "smallint", "int", "bigint", "boolean") or kind.startswith("decimal("):
        return value
    return value.cast("string")


def _plain(value: Any) -> Any:
    return f"{value:f}" if isinstance(value, Decimal) else value
