"""Corrections that break a rule, found among the images that an apply is about to write."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.rules.rules import OnBatch, Rule
from hudi_reconcile.ports import HELD_RULES, Frame, QuarantinedRows, RowFiles
from hudi_reconcile.rules.predicates import build_column, flag_breach
from hudi_reconcile.rules.reach import confine_sql


class SparkQuarantine:
    """Implements `ports.Quarantine`. Keys and rule ids of what is held go to Parquet below `folder`, no other column.

    `alone` is held while settings of the session are changed, where other tables are worked on in it.
    """

    def __init__(
        self,
        rules: tuple[Rule, ...],
        folder: str,
        files: RowFiles,
        alone: AbstractContextManager[object] | None = None,
    ) -> None:
        self._files = files
        self._rules = rules
        self._alone = alone or nullcontext()
        self._folder = folder

    def hold_rows(self, images: Frame, key: tuple[str, ...]) -> QuarantinedRows:
        """The images that break a rule."""
        frame = cast("DataFrame", images)
        try:
            with self._alone, confine_sql(frame.sparkSession):
                marks = [F.when(self._breaks(frame, rule), F.lit(rule.id)) for rule in self._rules]
            listed = frame.select(
                *[build_column(name) for name in key], F.array_compact(F.array(*marks)).alias(HELD_RULES)
            )
            broken_rows = listed.where(F.size(HELD_RULES) > 0).localCheckpoint(eager=True)
            counted = broken_rows.select(F.explode(HELD_RULES).alias("rule")).groupBy("rule").count().collect()
            if counted:
                self._files.save(Frame(broken_rows), self._folder, broken_rows.count())
        except PySparkException as error:
            raise _build_refusal("the rows could not be judged", type(error).__name__) from None
        return QuarantinedRows(Frame(broken_rows), {row["rule"]: row["count"] for row in sorted(counted)})

    def _breaks(self, frame: DataFrame, rule: Rule) -> Column:
        assert isinstance(rule.check, OnBatch)
        column = getattr(rule.check, "column", None)
        if column not in frame.columns:
            raise _build_refusal(f"rule {rule.id} names column {column!r}", "the lake table has none of that name")
        try:
            breach = flag_breach(frame, rule.check)
        except ValueError as error:
            raise _build_refusal(f"rule {rule.id} cannot be judged", str(error)) from None
        if breach is None:
            raise _build_refusal(f"rule {rule.id} cannot be judged", "it is no rule on single rows")
        return breach


def _build_refusal(what: str, why: str) -> RefusedError:
    return RefusedError(
        f"quarantine: {what}: {why}; nothing was written", fix="correct the rule, then: hudi-reconcile rules lint"
    )
