"""`SparkRules`, the port `RuleEngine` on a frame of the lake: counts, exact sums, and the keys of rows that broke a rule.

Every such key goes to Parquet, the first few to the result; other columns go nowhere.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any, cast

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import UnverifiedError, suggest_name
from hudi_reconcile.core.rules.reach import BATCH
from hudi_reconcile.core.rules.rules import OnBatch, Rule, Sql
from hudi_reconcile.core.rules.verdict import FailedKeys, Measured, Totals
from hudi_reconcile.core.safe_text import describe_trace
from hudi_reconcile.ports import Frame, RowFiles
from hudi_reconcile.ports.rules import KeysTarget
from hudi_reconcile.rules import expectations
from hudi_reconcile.rules.expectations import (
    ExpectationRequest,
    NotRunnableError,
    build_request,
    has_exception,
    read_measures,
    trace_exception,
    write_subquery,
)
from hudi_reconcile.rules.predicates import CLOCKS, FLOATING, INTEGRAL, build_column, read_type, select_broken
from hudi_reconcile.rules.reach import confine_sql
from hudi_reconcile.sql.spark_text import quote_name

log = logging.getLogger("hudi_reconcile")
_CORRECT = "correct the rule, then: hudi-reconcile rules lint"


class SparkRules:
    """Great Expectations counts all rules in one pass; keys are fetched for failed ones only, by our own filter.

    `alone` is held meanwhile, where other tables are worked on in the session: its settings are changed and a view is made.
    """

    def __init__(self, files: RowFiles, alone: AbstractContextManager[object] | None = None) -> None:
        self._files = files
        self._alone = alone or nullcontext()

    def measure(self, rows: Frame, rules: tuple[Rule, ...]) -> Mapping[str, Measured]:
        """What was counted for each rule, by its id."""
        with self._alone:
            return self._measure_rules(_spark(rows), rules)

    def _measure_rules(self, frame: DataFrame, rules: tuple[Rule, ...]) -> Mapping[str, Measured]:
        measures: dict[str, Measured] = {}
        ready: dict[str, ExpectationRequest] = {}
        for number, rule in enumerate(rules):
            try:
                with confine_sql(frame.sparkSession):
                    ready[rule.id] = build_request(frame, rule, number)
            except NotRunnableError as error:
                measures[rule.id] = Measured(problem=str(error), fix=_CORRECT)
        with confine_sql(frame.sparkSession):
            results = _validate_all(frame, ready)
        counted = frame.count() if any(isinstance(rule.check, Sql) for rule in rules if rule.id in ready) else 0
        for rule in rules:
            if rule.id in results:
                measures[rule.id] = read_measures(rule, results[rule.id], counted)
        return measures

    def save_keys(self, rows: Frame, rule: Rule, target: KeysTarget) -> FailedKeys | None:
        """Write the keys of every failed row as Parquet; None where the rule names no rows."""
        frame = _spark(rows)
        with self._alone, _reading(rule), confine_sql(frame.sparkSession):
            failed = _select_failed(frame, rule)
            if failed is None or not target.key or not set(target.key) <= set(failed.columns):
                return None
            if isinstance(rule.check, Sql) and not _are_keys(failed, frame, target.key):
                return None
            return write_keys(failed, target, self._files)

    def sum_column(self, rows: Frame, column: str) -> Totals:
        """The column's exact sum and its ends on the lake."""
        frame = _spark(rows)
        try:
            with self._alone, confine_sql(frame.sparkSession):
                return sum_totals(frame, column)
        except PySparkException as error:
            log.debug("the sum of a column failed: %s", describe_trace(error))
            raise UnverifiedError(
                f"the lake's rows could not be summed ({type(error).__name__})", fix="where it ended: -v"
            ) from None


# --- helpers ---


def _validate_all(frame: DataFrame, ready: Mapping[str, ExpectationRequest]) -> dict[str, Any]:
    """All expectations in one pass; those that ended in an error once more, each alone: one must not take others along."""
    wider = frame
    for request in ready.values():
        if request.column is not None:
            wider = wider.withColumn(*request.column)
    with _quiet():
        whole = (
            {rule_id: request for rule_id, request in ready.items() if request.is_whole} if wider is not frame else {}
        )
        results = _try_all(wider, {rule_id: request for rule_id, request in ready.items() if rule_id not in whole})
        results |= _try_all(frame, whole)
        failed = [rule_id for rule_id, result in results.items() if has_exception(result)]
        for rule_id in failed if len(ready) > 1 else ():
            results |= _try_all(frame if rule_id in whole else wider, {rule_id: ready[rule_id]})
    for rule_id, result in results.items():
        if has_exception(result):
            log.debug("rule %s: %s", rule_id, trace_exception(result))
    return results


def _try_all(frame: DataFrame, ready: Mapping[str, ExpectationRequest]) -> dict[str, Any]:
    """The results by rule; where the library itself gives up, that is each rule's result."""
    try:
        return expectations.validate(frame, [request.expectation for request in ready.values()])
    except Exception as error:  # noqa: BLE001 - each rule of it tells so
        log.debug("Great Expectations gave up: %s", describe_trace(error))
        return dict.fromkeys(ready, error)


def _select_failed(frame: DataFrame, rule: Rule) -> DataFrame | None:
    if isinstance(rule.check, Sql):
        frame.createOrReplaceTempView(BATCH)
        return frame.sparkSession.sql(write_subquery(rule.check.query, BATCH))
    assert isinstance(rule.check, OnBatch)
    return select_broken(frame, rule.check)


def _are_keys(query_rows: DataFrame, frame: DataFrame, key: tuple[str, ...]) -> bool:
    """True where what a query calls by the key's names is the key of rows: it may be another column, a masked one too."""
    if any(
        query_rows.columns.count(name) > 1 or query_rows.schema[name].dataType != frame.schema[name].dataType
        for name in key
    ):
        return False
    named, there = query_rows.select(*key).alias("f"), frame.select(*key).alias("t")
    same = [F.col(f"f.`{name}`").eqNullSafe(F.col(f"t.`{name}`")) for name in key]
    return named.join(there, reduce(Column.__and__, same), "left_anti").isEmpty()


@contextmanager
def _reading(rule: Rule) -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        log.debug("the keys of rule %s could not be written: %s", rule.id, describe_trace(error))
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


_DIGITS = 38


def sum_totals(rows: DataFrame, column: str) -> Totals:
    """Sum and ends, NULLs left out.

    Raises:
        UnverifiedError: no such column, no numbers in it, or a sum that needs more than 38 digits.
    """
    if column not in rows.columns:
        raise _build_sum_error(f"the lake table has no column {column!r}{suggest_name(column, rows.columns)}")
    kind = read_type(rows, column)
    if kind in FLOATING:
        return _floating(rows, column)
    if kind in INTEGRAL:
        return _exact(rows, column, 0)
    if kind.startswith("decimal("):
        return _exact(rows, column, int(kind.removesuffix(")").split(",")[1]))
    if kind == "string":  # numbers that no decimal type of the lake holds are carried as text
        point = F.instr(build_column(column), ".")
        scale = rows.agg(F.max(F.when(point > 0, F.length(build_column(column)) - point))).collect()[0][0]
        return _exact(rows, column, int(scale or 0))
    raise _build_sum_error(f"column {column} is {kind}: only numbers have a sum")


def _exact(rows: DataFrame, column: str, scale: int) -> Totals:
    if scale > _DIGITS:
        raise _build_sum_error(f"column {column} holds numbers of {scale} decimal places: more than {_DIGITS} digits")
    number = f"try_cast({quote_name(column)} as decimal({_DIGITS},{scale}))"
    row = rows.agg(
        F.count(build_column(column)).alias("there"),
        F.expr(f"count({number})").alias("summed"),
        F.expr(f"try_sum({number})"),
        F.expr(f"min({number})"),
        F.expr(f"max({number})"),
    ).collect()[0]
    if row[0] != row[1]:
        raise _build_sum_error(
            f"column {column} holds {row[0] - row[1]} values that are no numbers of {_DIGITS} digits"
        )
    if row[2] is None and row[1]:
        raise _build_sum_error(f"the sum of column {column} needs more than {_DIGITS} digits")
    return Totals(Decimal(0) if row[2] is None else Decimal(row[2]), row[3], row[4])


def _floating(rows: DataFrame, column: str) -> Totals:
    value = build_column(column).cast("double")
    figures = [
        None if figure is None else Decimal(repr(figure))
        for figure in rows.agg(F.sum(value), F.min(value), F.max(value)).collect()[0]
    ]
    whole = figures[0] or Decimal(0)
    if not whole.is_finite():
        raise _build_sum_error(f"the sum of column {column} is not finite")
    return Totals(whole, figures[1], figures[2])


def _build_sum_error(why: str) -> UnverifiedError:
    return UnverifiedError(why, fix="name a column of numbers in the rule, then: hudi-reconcile rules lint")


ROWS_PER_FILE = 200_000
SAMPLE_ROWS = 10


def write_keys(failed: DataFrame, target: KeysTarget, files: RowFiles) -> FailedKeys:
    """Write the keys, ordered, in as many files as their number asks for; count and sample come from what was written."""
    only = failed.select(*[build_column(name) for name in target.key])
    only = only.repartition(1) if target.rows <= ROWS_PER_FILE else only
    kept_rows = files.save(Frame(only), target.folder, target.rows, target.key)
    names = sorted(Path(target.folder.removeprefix("file://")).glob("*.parquet"))
    back = _spark(files.load([f"file://{name}" for name in names]))
    return FailedKeys(kept_rows, target.path, sample(back, target.key))


def sample(keys: DataFrame, key: tuple[str, ...]) -> tuple[Mapping[str, Any], ...]:
    """The first keys, spelled as in findings: integers and booleans as such, all else as text."""
    spelled = [_spell_value(build_column(name), read_type(keys, name)).alias(f"k{i}") for i, name in enumerate(key)]
    rows = keys.select(*spelled).limit(SAMPLE_ROWS).collect()
    return tuple({name: _plain(row[i]) for i, name in enumerate(key)} for row in rows)


def _spell_value(value: Column, kind: str) -> Column:
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
