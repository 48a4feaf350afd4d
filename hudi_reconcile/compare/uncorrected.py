"""The planned corrections that were not made: each key with its reason, as a line for people and scripts.

A line holds the key and no other value of the row: what the row looked like is in the findings of the plan's sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.corrections import APPLIED, LANDED
from hudi_reconcile.compare.findings import key_struct
from hudi_reconcile.compare.sides import Shape

RULES = "rules"


def ended(rows: DataFrame, column: str, reasons: Mapping[str, str], shape: Shape) -> DataFrame:
    """Keys by what a column says of them, in the words of `reasons` where it has one; without those that were corrected."""
    said = F.col(column)
    reason = reduce(lambda other, one: F.when(said == one, reasons[one]).otherwise(other), reasons, said)
    rules = F.col(RULES) if RULES in rows.columns else F.array().cast("array<string>")
    left = rows.where(~said.isin(APPLIED, LANDED))
    return left.select(*shape.key_names, reason.alias("reason"), rules.alias(RULES))


def uncorrected(planned: DataFrame, ends: Sequence[DataFrame], shape: Shape, table: str) -> DataFrame:
    """The planned corrections of these keys, each with `reason`, `rules` and its `line`. Materialised."""
    left = reduce(DataFrame.unionByName, ends).alias("e")
    plan = planned.drop("reason", RULES, "line").alias("p")
    same = [F.col(f"p.{name}").eqNullSafe(F.col(f"e.{name}")) for name in shape.key_names]
    rows = plan.join(left, reduce(Column.__and__, same)).select("p.*", "e.reason", f"e.{RULES}")
    line = F.to_json(
        F.struct(
            F.lit(table).alias("table"),
            F.col("kind"),
            key_struct(shape).alias("key"),
            F.col("action"),
            F.col("columns"),
            F.col("reason"),
            F.col(RULES),
        ),
        {"ignoreNullFields": "false"},
    )
    return rows.withColumn("line", line).localCheckpoint(eager=True)
