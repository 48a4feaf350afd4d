"""The same rules said twice: as our rules files say them, and as users of Great Expectations write them without us.

The table is that of `rows`: a few rows in a thousand break the failing rules, one in five has no note.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY = "order_id"


@dataclass(frozen=True, slots=True)
class Said:
    """One rule: our words for it, and the class and arguments of the expectation that says the same. `fails`: it must."""

    id: str
    ours: Mapping[str, Any]
    theirs: str
    kwargs: Mapping[str, Any]
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What either said of a rule. `keys` are those of the failed rows, in order; None where it names none."""

    passed: bool
    failed_rows: int
    keys: tuple[int, ...] | None = None


_STATES = ["NEW", "PAID", "SHIPPED", "RETURNED"]
_NOTE = "^note of order [0-9]+$"
_LATER = "ExpectColumnPairValuesAToBeGreaterThanB"
_LATER_TYPE = "expect_column_pair_values_a_to_be_greater_than_b"
_UNPAID = "SELECT order_id FROM {batch} WHERE paid AND amount < 0"
_STRANGE = "SELECT order_id FROM {batch} WHERE status NOT IN ('NEW', 'PAID', 'SHIPPED', 'RETURNED', 'LOST')"


def _column(name: str, **more: Any) -> dict[str, Any]:
    return {"column": name, **more}


def _later(one: str, other: str) -> tuple[dict[str, Any], str, dict[str, Any]]:
    pair = {"column_A": one, "column_B": other}
    return {"check": "gx", "type": _LATER_TYPE, "kwargs": pair}, _LATER, pair


def _counted(low: int, high: int | None) -> tuple[dict[str, Any], str, dict[str, Any]]:
    ends = {"min_value": low, "max_value": high}
    ours = {"check": "gx", "type": "expect_table_row_count_to_be_between", "kwargs": ends}
    return ours, "ExpectTableRowCountToBeBetween", ends


SAID: tuple[Said, ...] = (
    Said("nn-pass", {"check": "not_null", "column": "status"}, "ExpectColumnValuesToNotBeNull", _column("status")),
    Said("nn-fail", {"check": "not_null", "column": "note"}, "ExpectColumnValuesToNotBeNull", _column("note"), fails=True),
    Said("nn-share", {"check": "not_null", "column": "note", "allow": "50%"}, "ExpectColumnValuesToNotBeNull",
         _column("note", mostly=0.5)),
    Said("uq-pass", {"check": "unique", "columns": [KEY]}, "ExpectColumnValuesToBeUnique", _column(KEY)),
    Said("uq-fail", {"check": "unique", "columns": ["amount"]}, "ExpectColumnValuesToBeUnique", _column("amount"), fails=True),
    Said("uq2-pass", {"check": "unique", "columns": ["customer_id", "created_at"]}, "ExpectCompoundColumnsToBeUnique",
         {"column_list": ["customer_id", "created_at"]}),
    Said("uq2-fail", {"check": "unique", "columns": ["status", "amount"]}, "ExpectCompoundColumnsToBeUnique",
         {"column_list": ["status", "amount"]}, fails=True),
    Said("bt-pass", {"check": "between", "column": "amount", "min": -1, "max": 1_000_000}, "ExpectColumnValuesToBeBetween",
         _column("amount", min_value=-1, max_value=1_000_000)),
    Said("bt-fail", {"check": "between", "column": "amount", "min": 0}, "ExpectColumnValuesToBeBetween",
         _column("amount", min_value=0), fails=True),
    Said("in-pass", {"check": "in_set", "column": "status", "values": [*_STATES, "LOST"]}, "ExpectColumnValuesToBeInSet",
         _column("status", value_set=[*_STATES, "LOST"])),
    Said("in-fail", {"check": "in_set", "column": "status", "values": _STATES}, "ExpectColumnValuesToBeInSet",
         _column("status", value_set=_STATES), fails=True),
    Said("re-pass", {"check": "matches", "column": "note", "regex": "^(note|x)"}, "ExpectColumnValuesToMatchRegex",
         _column("note", regex="^(note|x)")),
    Said("re-fail", {"check": "matches", "column": "note", "regex": _NOTE}, "ExpectColumnValuesToMatchRegex",
         _column("note", regex=_NOTE), fails=True),
    Said("sql-pass", {"check": "sql", "query": _STRANGE}, "UnexpectedRowsExpectation", {"unexpected_rows_query": _STRANGE}),
    Said("sql-fail", {"check": "sql", "query": _UNPAID}, "UnexpectedRowsExpectation", {"unexpected_rows_query": _UNPAID},
         fails=True),
    Said("pair-pass", *_later("updated_at", "promised_at")),
    Said("pair-fail", *_later("updated_at", "created_at"), fails=True),
    Said("rows-pass", *_counted(1, None)),
    Said("rows-fail", *_counted(0, 1), fails=True),
)  # fmt: skip


def rules_file(table: str) -> dict[str, Any]:
    """The rules as the document of a rules file."""
    return {"version": 1, "table": table, "rules": [{"id": one.id, **one.ours} for one in SAID]}


def rows(spark: SparkSession, count: int) -> DataFrame:
    """The table: `count` rows by `order_id` from 1 on, nine columns, the same ones each time."""
    states = ", ".join(f"'{one}'" for one in _STATES)
    return (
        spark.range(1, count + 1)
        .toDF(KEY)
        .selectExpr(
            KEY,
            "cast(order_id * 7919 % 100000 as int) as customer_id",
            f"if(order_id % 1000 = 1, 'LOST', element_at(array({states}), cast(1 + order_id % 4 as int))) as status",
            "cast(if(order_id % 5000 = 9, -1, order_id / 100) as decimal(12,2)) as amount",
            "order_id % 3 = 0 as paid",
            "case when order_id % 500 = 3 then 'x' when order_id % 5 != 0 then concat('note of order ', order_id) end as note",
            "timestamp_seconds(1735689600 + order_id * 17) as promised_at",
            "timestamp_seconds(1735689601 + order_id * 17 + if(order_id % 2000 = 7, 86400, 0)) as created_at",
            "timestamp_seconds(1735689602 + order_id * 17) as updated_at",
        )
    )


def validated(frame: DataFrame, form: str, *, persist: bool = True) -> dict[str, Verdict]:
    """What Great Expectations alone says, in an ephemeral context of its own; `form` is BASIC or COMPLETE.

    COMPLETE asks for the keys of all failed rows, as its documentation shows it. `persist`, its default, keeps the rows in
    Spark's memory while it validates them.
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx  # noqa: PLC0415 - takes seconds
    import great_expectations.expectations as gxe  # noqa: PLC0415

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    assets = context.data_sources.add_spark("alone", persist=persist).add_dataframe_asset("rows")
    batch = assets.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    asked = [getattr(gxe, one.theirs)(**one.kwargs, meta={"rule": one.id}) for one in SAID]
    result_format: Any = {"result_format": form}
    if form == "COMPLETE":
        result_format["unexpected_index_column_names"] = [KEY]
    try:
        found = batch.validate(gx.ExpectationSuite("alone", expectations=asked), result_format=result_format)
    finally:
        frame.unpersist()  # what its defaults keep in memory, so that the next turn reads anew
    return {one.expectation_config.meta["rule"]: _verdict(one) for one in found.results}


def _verdict(result: Any) -> Verdict:
    told = dict(result.result or {})
    info = result.exception_info or {}
    if info.get("raised_exception") or any(
        isinstance(one, dict) and one.get("raised_exception") for one in info.values()
    ):
        raise RuntimeError(f"{result.expectation_config.meta['rule']}: {info}")
    if "unexpected_count" in told:
        listed = told.get("unexpected_index_list")
        keys = None if listed is None else tuple(sorted(one[KEY] for one in listed))
        return Verdict(bool(result.success), int(told["unexpected_count"]), keys)
    if result.expectation_config.type == "unexpected_rows_expectation":
        return Verdict(bool(result.success), int(told["observed_value"]))
    return Verdict(bool(result.success), 0 if result.success else 1)
