"""Rules on a real Hudi table: every kind of check, passing, failing, waived and unable to run; then inside `run`."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.rules.rules import ValueRange
from hudi_reconcile.rules.predicates import select_broken
from tests.integration.project import Project, in_lake
from tests.support.postgres import Database

SECRET = "canary-7f3a"
TABLE = """create table orders (order_id bigint primary key, customer_id int, status text, amount numeric(20, 2), email text,
    placed_on date, rate numeric, weight double precision, updated_at timestamptz not null)"""
# 40 rows: 1 and 2 without customer; 3, 4 and 5 share an e-mail; 6 and 7 have none; 8 has one without @; 9 costs too much.
ROWS = f"""insert into orders select i, case when i > 2 then i end,
    case when i % 4 = 0 then 'PAID' when i = 11 then 'ODD' else 'NEW' end,
    case when i = 9 then 123456789012345678.91 else i end,
    case when i in (3, 4, 5) then '{SECRET}@same'
         when i in (6, 7) then null when i = 8 then 'nobody' else i || '@{SECRET}' end,
    date '2026-01-01' + i::int, case when i = 10 then 12345678901234567890.125 else i + 0.5 end, i,
    timestamptz '2026-03-01 10:00:00+00' + i * interval '1 second' from generate_series(1, 40) i"""

Expected = tuple[str, int, list[int] | None]
PASS: Expected = ("pass", 0, None)
ERROR: Expected = ("error", 0, None)
# id, the rest of the rule, and: status, failed rows, keys of failed rows.
RULES: list[tuple[str, dict[str, Any], Expected]] = [
    ("nn-pass", {"check": "not_null", "column": "status"}, PASS),
    ("nn-fail", {"check": "not_null", "column": "customer_id"}, ("fail", 2, [1, 2])),
    ("uq-pass", {"check": "unique", "columns": ["order_id"]}, PASS),
    ("uq-fail", {"check": "unique", "columns": ["email"]}, ("fail", 3, [3, 4, 5])),
    ("uq-two", {"check": "unique", "columns": ["status", "email"]}, ("fail", 2, [3, 5])),
    ("uq-null", {"check": "unique", "columns": ["customer_id", "order_id"]}, PASS),
    ("bt-warn", {"check": "between", "column": "amount", "min": 0, "max": 100, "severity": "warn"}, ("fail", 1, [9])),
    ("bt-share", {"check": "between", "column": "amount", "max": 100, "allow": "2.5%"}, ("pass", 1, None)),
    ("bt-count", {"check": "between", "column": "amount", "max": 100, "allow": 1}, ("pass", 1, None)),
    ("bt-exact", {"check": "between", "column": "amount", "max": "123456789012345678.90", "allow": 1}, ("pass", 1, None)),
    ("bt-exactly", {"check": "between", "column": "amount", "max": "123456789012345678.91"}, PASS),
    ("bt-text", {"check": "between", "column": "rate", "min": 1, "max": 100, "allow": 1}, ("pass", 1, None)),
    ("bt-date", {"check": "between", "column": "placed_on", "min": "2026-01-03", "allow": 1}, ("pass", 1, None)),
    ("bt-time", {"check": "between", "column": "updated_at", "max": "2026-03-01T11:00:39+01:00"}, ("fail", 1, [40])),
    ("in-pass", {"check": "in_set", "column": "status", "values": ["NEW", "PAID", "ODD"]}, PASS),
    ("in-waived", {"check": "in_set", "column": "status", "values": ["NEW", "PAID"]}, ("waived", 1, [11])),
    ("in-expired", {"check": "in_set", "column": "status", "values": ["NEW", "PAID"]}, ("fail", 1, [11])),
    ("in-number", {"check": "in_set", "column": "weight", "values": list(range(1, 40)), "allow": 1}, ("pass", 1, None)),
    ("in-time", {"check": "in_set", "column": "updated_at", "values": ["2026-03-01T10:00:01Z"], "allow": 39}, ("pass", 39, None)),
    ("re-fail", {"check": "matches", "column": "email", "regex": "^[^@]+@[^@]+$"}, ("fail", 1, [8])),
    ("re-broken", {"check": "matches", "column": "email", "regex": "(["}, ERROR),
    ("sql-fail", {"check": "sql", "query": "SELECT order_id, email FROM {batch} WHERE status='PAID' AND email rlike 'd{0,1}y$';"},
     ("fail", 1, [8])),
    ("sql-alias", {"check": "sql", "query": "SELECT 1000 + order_id AS order_id FROM {batch} WHERE status = 'ODD'"},
     ("fail", 1, None)),
    ("sql-nameless", {"check": "sql", "query": "SELECT status FROM {batch} WHERE status = 'ODD'"}, ("fail", 1, None)),
    ("sql-pass", {"check": "sql", "query": "SELECT 1 FROM {batch} WHERE amount < 0"}, PASS),
    ("sql-wrong", {"check": "sql", "query": "SELECT nope FROM {batch}"}, ERROR),
    ("sql-command", {"check": "sql", "query": "FROM {batch} INSERT OVERWRITE DIRECTORY 'gone' USING parquet SELECT *"}, ERROR),
    ("drift", {"check": "drift", "kinds": ["updated_without_watermark", "deleted"]}, ("fail", 2, None)),
    ("drift-other", {"check": "drift", "kinds": ["late_arriving"]}, PASS),
    ("total-fail", {"check": "total", "column": "amount", "tolerance": 0.01}, ("fail", 1, None)),
    ("total-pass", {"check": "total", "column": "amount", "tolerance": 40}, PASS),
    ("total-text", {"check": "total", "column": "rate", "tolerance": 40.5}, PASS),
    ("total-words", {"check": "total", "column": "status"}, ERROR),
    ("fresh-pass", {"check": "freshness", "max_age": "36500d"}, PASS),
    ("fresh-fail", {"check": "freshness", "max_age": "1h"}, ("fail", 1, None)),
    ("gx-pass", {"check": "gx", "type": "expect_column_values_to_be_unique", "kwargs": {"column": "order_id"}}, PASS),
    ("gx-fail", {"check": "gx", "type": "expect_column_values_to_not_be_null", "kwargs": {"column": "customer_id"}},
     ("fail", 2, None)),
    ("gx-mostly", {"check": "gx", "type": "expect_column_values_to_not_be_null", "kwargs": {"column": "email", "mostly": 0.9}},
     ("pass", 2, None)),
    ("gx-table", {"check": "gx", "type": "expect_table_row_count_to_equal", "kwargs": {"value": 41}}, ("fail", 1, None)),
    ("gx-columns", {"check": "gx", "type": "expect_table_column_count_to_equal", "kwargs": {"value": 5 + 9 + 1}}, PASS),
    ("gx-unknown", {"check": "gx", "type": "expect_column_values_to_be_uniqe", "kwargs": {}}, ERROR),
    ("gx-argument", {"check": "gx", "type": "expect_column_values_to_be_unique", "kwargs": {"colum": "order_id"}}, ERROR),
    ("no-column", {"check": "not_null", "column": "statu"}, ERROR),
    ("no-number", {"check": "between", "column": "amount", "max": "much"}, ERROR),
]  # fmt: skip
WAIVERS = [
    {"rule": "in-waived", "reason": "T-1", "owner": "finance", "expires": "2999-01-01"},
    {"rule": "in-expired", "reason": "T-2", "expires": "2020-01-01"},
]
WHY = {
    "re-broken": "could not run: PatternSyntaxException",
    "gx-unknown": "did you mean 'expect_column_values_to_be_unique'?",
    "gx-argument": "takes no 'colum'; did you mean 'column'?",
    "no-column": "no column 'statu'; did you mean 'status'?",
    "no-number": "a value of the rule is no number",
    "sql-wrong": "nope",
    "total-words": "only numbers have a sum",
    "drift": "updated_without_watermark 1, deleted 1",
    "in-expired": "",
}


def write_rules(project: Project, rules: list[tuple[str, dict[str, Any], Expected]]) -> None:
    listed = [{"id": name, **rule} for name, rule, _ in rules]
    waivers = [waiver for waiver in WAIVERS if waiver["rule"] in {name for name, _, _ in rules}]
    path = project.folder / "rules" / "orders.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"version": 1, "table": "orders", "rules": listed, "waivers": waivers}))
    project.settings["rules"] = "rules/orders.yaml"


def verdicts(rules: list[dict[str, Any]]) -> dict[str, tuple[str, int]]:
    return {rule["id"]: (rule["status"], rule["failed_rows"]) for rule in rules}


def keys_of(run: Path, rule: dict[str, Any]) -> list[int] | None:
    """The keys on disk, and nothing but keys."""
    if rule["keys"] is None:
        return None
    found = pq.read_table(run / rule["keys"]["path"])
    assert found.column_names == ["order_id"]
    assert [key["order_id"] for key in rule["keys"]["sample"]] == found["order_id"].to_pylist()
    return list(found["order_id"].to_pylist())


@pytest.mark.usefixtures("spark")
def test_every_kind_of_rule_tells_pass_fail_waived_and_error_apart(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    project.settings["mask"] = {"email": "redact"}
    pg.execute(TABLE, ROWS)
    assert project.json("pull").code == 0
    pg.execute("update orders set amount = amount + 1 where order_id = 20", "delete from orders where order_id = 39")
    swept = project.json("sweep")
    assert swept.code == 1, swept.err
    write_rules(project, RULES)

    ran = project.json("check")

    assert (ran.code, ran.document["outcome"]) == (3, "unverified"), ran
    assert verdicts(ran.table["rules"]) == {name: (status, rows) for name, _, (status, rows, _) in RULES}
    run = project.folder / "reports" / ran.document["run_id"]
    assert {rule["id"]: keys_of(run, rule) for rule in ran.table["rules"]} == {
        name: keys for name, _, (_, _, keys) in RULES
    }
    by_id = {rule["id"]: rule for rule in ran.table["rules"]}
    assert {name: by_id[name]["why"] for name, words in WHY.items() if words not in by_id[name]["why"]} == {}
    ends = [
        [Decimal(by_id["total-text"]["totals"][side][end]) for end in ("min", "max")] for side in ("source", "lake")
    ]
    assert ends == [[Decimal("1.5"), Decimal("12345678901234567890.125")]] * 2
    assert by_id["total-fail"]["totals"]["lake"]["max"] == "123456789012345678.91"
    assert (by_id["in-waived"]["waiver"]["reason"], by_id["in-expired"]["waiver"]) == ("T-1", None)
    assert [path for path in run.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()] == []
    rules = (run / "report.html").read_text("utf-8").split("<h3>Rules, ")[1]
    assert rules.index("no-column") < rules.index("nn-fail") < rules.index("in-waived") < rules.index("nn-pass")

    write_rules(project, [rule for rule in RULES if rule[0] in ("bt-warn", "nn-pass")])
    assert project.run("check").code == 0
    assert project.run("check", "--fail-on", "warn").code == 1


@pytest.mark.usefixtures("spark")
def test_rules_inside_run_are_judged_on_what_the_correction_left(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    pg.execute(TABLE, ROWS)
    write_rules(project, [rule for rule in RULES if rule[0] in ("drift", "total-fail", "nn-pass")])
    assert project.json("pull").code == 0
    url = project.source["url"]
    project.source["url"] = "postgresql+psycopg://nobody@127.0.0.1:1/nowhere"
    first = project.json("check")
    assert first.code == 3
    assert verdicts(first.table["rules"]) == {"drift": ("error", 0), "total-fail": ("error", 0), "nn-pass": ("pass", 0)}
    project.source["url"] = url
    pg.execute("update orders set amount = amount + 1 where order_id = 20", "delete from orders where order_id = 39")

    drifted = project.json("run")

    assert (drifted.code, drifted.document["outcome"]) == (1, "drift")
    assert verdicts(drifted.table["rules"]) == {"drift": ("fail", 2), "total-fail": ("fail", 1), "nn-pass": ("pass", 0)}

    corrected = project.json("run", "--apply")

    assert (corrected.code, corrected.document["outcome"]) == (0, "corrected")
    assert set(verdicts(corrected.table["rules"]).values()) == {("pass", 0)}
    assert project.run("audit", "verify").code == 0


def test_corrections_that_break_a_rule_are_held_back_and_listed(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    pg.execute(TABLE, ROWS)
    cheap: dict[str, Any] = {"check": "between", "column": "weight", "max": 100, "quarantine": True}
    write_rules(project, [("cheap", cheap, PASS), ("named", {"check": "not_null", "column": "status"}, PASS)])
    assert project.json("pull").code == 0
    pg.execute(
        "update orders set weight = 1000 where order_id = 20",
        "update orders set weight = 21.5 where order_id = 21",
        "update orders set status = null where order_id = 22",
        "delete from orders where order_id = 39",
    )

    held = project.json("run", "--apply")

    assert (held.code, held.document["outcome"]) == (4, "incomplete"), held.err
    assert (held.table["corrections"]["applied"], held.table["corrections"]["held"]) == (3, 1)
    listed = pq.read_table(project.folder / "reports" / held.document["run_id"] / "orders" / "held")
    assert listed.to_pylist() == [{"order_id": 20, "_hr_rules": ["cheap"]}]
    assert project.left(held) == {20: "held"}
    shown = dict(in_lake(spark, project, "order_id", "weight"))
    assert (shown[20], shown[21], 39 in shown) == (20.0, 21.5, False)
    assert verdicts(held.table["rules"]) == {"cheap": ("pass", 0), "named": ("fail", 1)}


TEXTS = [None, "0", "1", "1.000000000000000000", "1.0000000000000000004", "0.9999999999999999996", "100000000000000000001",
         "-100000000000000000001", "NaN", "Infinity", "-Infinity", "no number"]  # fmt: skip
DECIMALS = [Decimal(99_999), Decimal(2 * 10**37), Decimal(-2 * 10**37), None]
DOUBLES = [None, 0.0, 1.0, float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize(
    ("values", "kind", "ends", "outside"),
    [
        (TEXTS, "string", (None, 1), {4, 5, 6, 8, 9, 11}),
        (TEXTS, "string", (1, None), {1, 4, 5, 7, 8, 10, 11}),
        (TEXTS, "string", (None, Decimal(99999999999999999999)), {6, 8, 9, 11}),
        (DECIMALS, "decimal(38,0)", (None, Decimal("99999.5")), {1}),
        (DECIMALS, "decimal(38,0)", (Decimal("-99999.5"), None), {2}),
        (DOUBLES, "double", (0, None), {3, 5}),
        (DOUBLES, "double", (None, 1), {3, 4}),
    ],
)
def test_range_leaves_out_what_is_no_number_and_what_it_cannot_compare_to_the_last_digit(
    spark: SparkSession, values: list[Any], kind: str, ends: tuple[Any, Any], outside: set[int]
) -> None:
    rows = spark.createDataFrame(list(enumerate(values)), f"n int, v {kind}")

    broken = select_broken(rows, ValueRange("v", *ends))

    assert broken is not None
    assert {row["n"] for row in broken.collect()} == outside
