"""A column's exact sum on the lake, and its least and greatest value."""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import UnverifiedError
from hudi_reconcile.core.spelling import nearest
from hudi_reconcile.core.totals import Totals
from hudi_reconcile.rules.predicates import quoted, quoted_name, type_of
from hudi_reconcile.rules.values import FLOATING, INTEGRAL

_DIGITS = 38


def total(rows: DataFrame, column: str) -> Totals:
    """Sum and ends, NULLs left out.

    Raises:
        UnverifiedError: no such column, no numbers in it, or a sum that needs more than 38 digits.
    """
    if column not in rows.columns:
        close = nearest(column, rows.columns)
        hint = f"; did you mean {close!r}?" if close else ""
        raise _unsummed(f"the lake table has no column {column!r}{hint}")
    kind = type_of(rows, column)
    if kind in FLOATING:
        return _floating(rows, column)
    if kind in INTEGRAL:
        return _exact(rows, column, 0)
    if kind.startswith("decimal("):
        return _exact(rows, column, int(kind.removesuffix(")").split(",")[1]))
    if kind == "string":  # numbers that no decimal type of the lake holds are carried as text
        point = F.instr(quoted(column), ".")
        scale = rows.agg(F.max(F.when(point > 0, F.length(quoted(column)) - point))).collect()[0][0]
        return _exact(rows, column, int(scale or 0))
    raise _unsummed(f"column {column} is {kind}: only numbers have a sum")


def _exact(rows: DataFrame, column: str, scale: int) -> Totals:
    if scale > _DIGITS:
        raise _unsummed(f"column {column} holds numbers of {scale} decimal places: more than {_DIGITS} digits")
    number = f"try_cast({quoted_name(column)} as decimal({_DIGITS},{scale}))"
    found = rows.agg(
        F.count(quoted(column)).alias("there"),
        F.expr(f"count({number})").alias("summed"),
        F.expr(f"try_sum({number})"),
        F.expr(f"min({number})"),
        F.expr(f"max({number})"),
    ).collect()[0]
    if found[0] != found[1]:
        raise _unsummed(f"column {column} holds {found[0] - found[1]} values that are no numbers of {_DIGITS} digits")
    if found[2] is None and found[1]:
        raise _unsummed(f"the sum of column {column} needs more than {_DIGITS} digits")
    return Totals(Decimal(0) if found[2] is None else Decimal(found[2]), found[3], found[4])


def _floating(rows: DataFrame, column: str) -> Totals:
    value = quoted(column).cast("double")
    found = [
        None if one is None else Decimal(repr(one))
        for one in rows.agg(F.sum(value), F.min(value), F.max(value)).collect()[0]
    ]
    whole = found[0] or Decimal(0)
    if not whole.is_finite():
        raise _unsummed(f"the sum of column {column} is not finite")
    return Totals(whole, found[1], found[2])


def _unsummed(why: str) -> UnverifiedError:
    return UnverifiedError(why, fix="name a column of numbers in the rule, then: hudi-reconcile rules lint")
