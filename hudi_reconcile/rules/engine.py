"""`SparkRules`: rules on a frame of the lake, as the port `RuleEngine` asks for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any, cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import UnverifiedError
from hudi_reconcile.core.rule_reach import BATCH
from hudi_reconcile.core.rule_verdict import Keys, Measured
from hudi_reconcile.core.rules import OnBatch, Rule, Sql
from hudi_reconcile.core.totals import Totals
from hudi_reconcile.core.traces import trace_of
from hudi_reconcile.ports import Frame
from hudi_reconcile.ports.rules import KeysTarget
from hudi_reconcile.rules import gx, totals
from hudi_reconcile.rules.expectations import (
    Asked,
    NotRunnableError,
    asked,
    exception_of,
    exception_trace,
    measured,
    sql_text,
)
from hudi_reconcile.rules.keys import written
from hudi_reconcile.rules.predicates import broken
from hudi_reconcile.rules.reach import confined

log = logging.getLogger("hudi_reconcile")
_CORRECT = "correct the rule, then: hudi-reconcile rules lint"


class SparkRules:
    """Great Expectations counts all rules in one pass; keys are fetched for failed ones only, by our own filter."""

    def measured(self, rows: Frame, rules: tuple[Rule, ...]) -> Mapping[str, Measured]:
        """What was counted for each rule, by its id."""
        frame = _spark(rows)
        found: dict[str, Measured] = {}
        ready: dict[str, Asked] = {}
        for number, rule in enumerate(rules):
            try:
                with confined(frame.sparkSession):
                    ready[rule.id] = asked(frame, rule, number)
            except NotRunnableError as error:
                found[rule.id] = Measured(problem=str(error), fix=_CORRECT)
        with confined(frame.sparkSession):
            results = _validated(frame, ready)
        counted = frame.count() if any(isinstance(rule.check, Sql) for rule in rules if rule.id in ready) else 0
        for rule in rules:
            if rule.id in results:
                found[rule.id] = measured(rule, results[rule.id], counted)
        return found

    def keys(self, rows: Frame, rule: Rule, target: KeysTarget) -> Keys | None:
        """Write the keys of every failed row as Parquet; None where the rule names no rows."""
        frame = _spark(rows)
        with _reading(rule), confined(frame.sparkSession):
            failed = _failed(frame, rule)
            if failed is None or not target.key or not set(target.key) <= set(failed.columns):
                return None
            if isinstance(rule.check, Sql) and not _are_keys(failed, frame, target.key):
                return None
            return written(failed, target)

    def total(self, rows: Frame, column: str) -> Totals:
        """The column's exact sum and its ends on the lake."""
        frame = _spark(rows)
        try:
            with confined(frame.sparkSession):
                return totals.total(frame, column)
        except PySparkException as error:
            log.debug("the sum of a column failed: %s", trace_of(error))
            raise UnverifiedError(
                f"the lake's rows could not be summed ({type(error).__name__})", fix="where it ended: -v"
            ) from None


# --- helpers ---


def _validated(frame: DataFrame, ready: Mapping[str, Asked]) -> dict[str, Any]:
    """All expectations in one pass; those that ended in an error once more, each alone: one must not take others along."""
    wider = frame
    for one in ready.values():
        if one.column is not None:
            wider = wider.withColumn(*one.column)
    with _quiet():
        whole = {rule_id: one for rule_id, one in ready.items() if one.is_whole} if wider is not frame else {}
        found = _tried(wider, {rule_id: one for rule_id, one in ready.items() if rule_id not in whole})
        found |= _tried(frame, whole)
        failed = [rule_id for rule_id, result in found.items() if exception_of(result)]
        for rule_id in failed if len(ready) > 1 else ():
            found |= _tried(frame if rule_id in whole else wider, {rule_id: ready[rule_id]})
    for rule_id, result in found.items():
        if exception_of(result):
            log.debug("rule %s: %s", rule_id, exception_trace(result))
    return found


def _tried(frame: DataFrame, ready: Mapping[str, Asked]) -> dict[str, Any]:
    """The results by rule; where the library itself gives up, that is each rule's result."""
    try:
        return gx.validated(frame, [one.expectation for one in ready.values()])
    except Exception as error:  # noqa: BLE001 - each rule of it tells so
        log.debug("Great Expectations gave up: %s", trace_of(error))
        return dict.fromkeys(ready, error)


def _failed(frame: DataFrame, rule: Rule) -> DataFrame | None:
    if isinstance(rule.check, Sql):
        frame.createOrReplaceTempView(BATCH)
        return frame.sparkSession.sql(sql_text(rule.check.query, BATCH))
    assert isinstance(rule.check, OnBatch)
    return broken(frame, rule.check)


def _are_keys(found: DataFrame, frame: DataFrame, key: tuple[str, ...]) -> bool:
    """True where what a query calls by the key's names is the key of rows: it may be another column, a masked one too."""
    if any(found.columns.count(name) > 1 or found.schema[name].dataType != frame.schema[name].dataType for name in key):
        return False
    named, there = found.select(*key).alias("f"), frame.select(*key).alias("t")
    same = [F.col(f"f.`{name}`").eqNullSafe(F.col(f"t.`{name}`")) for name in key]
    return named.join(there, reduce(Column.__and__, same), "left_anti").isEmpty()


@contextmanager
def _reading(rule: Rule) -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        log.debug("the keys of rule %s could not be written: %s", rule.id, trace_of(error))
        raise UnverifiedError(
            f"the failed rows of rule {rule.id} could not be listed ({type(error).__name__})", fix="where it ended: -v"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Great Expectations logs what it is told to report, and prints hints to stdout."""
    names = ("great_expectations", "py.warnings")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _spark(frame: Frame) -> DataFrame:
    return cast("DataFrame", frame)
