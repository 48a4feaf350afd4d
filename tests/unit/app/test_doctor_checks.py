"""What facts mean to the doctor: which are fine, which are warned of, and what to type."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.app.doctor.server import Check, check_jars, check_names, check_server, check_table
from hudi_reconcile.config.rules_load import parse_rules
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.base import ServerFacts, TableFacts, TableRequest
from hudi_reconcile.databases.mysql import dialect

SERVER = ServerFacts(
    product="PostgreSQL",
    version="18.4",
    place="postgresql://127.0.0.1:5432/shop",
    role="reader",
    link="no TLS (this machine)",
    is_link_safe=True,
    sees_all=True,
    grant_to_see='GRANT pg_read_all_stats TO "reader";',
    blind_seconds=5.0,
    is_superuser=False,
    is_replica=False,
)
ID = Column("order_id", Kind.INTEGER, "bigint", nullable=False)
CHANGED = Column("updated_at", Kind.TIMESTAMPTZ, "timestamp with time zone", nullable=False)
ODD = Column("place", Kind.OTHER, "point", why="type point is not compared yet")
TABLE = SourceTable("public.orders", (ID, CHANGED), ("order_id",), 1200, "server/table")
FACTS = TableFacts(
    TABLE, key_proven=True, can_read=True, can_write=False, indexed=frozenset({"order_id", "updated_at"})
)
REQUEST = TableRequest("orders", "public.orders", watermark=("updated_at",))


def with_columns(*columns: Column) -> TableFacts:
    return replace(FACTS, table=replace(TABLE, columns=columns))


def bad(found: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.status) for check in found if check.status != "ok"]


def test_good_server_and_table_are_ok_throughout() -> None:
    found = [*check_server(SERVER), *check_table("orders", FACTS, REQUEST)]

    assert bad(found) == []
    assert len(found) == 5


@pytest.mark.parametrize(
    ("server", "name", "fix"),
    [
        (replace(SERVER, sees_all=False), "safe bound", 'GRANT pg_read_all_stats TO "reader";'),
        (replace(SERVER, is_superuser=True), "role", "SELECT only"),
        (replace(SERVER, is_replica=True), "replica", "pull.overlap"),
        (replace(SERVER, unproven="nobody knows"), "read only", "nothing but SELECT"),
        (replace(SERVER, link="no TLS", is_link_safe=False), "source", "sslmode=verify-full"),
    ],
)
def test_weakness_of_the_server_is_a_warning_with_its_fix(server: ServerFacts, name: str, fix: str) -> None:
    (found,) = [check for check in check_server(server) if check.status != "ok"]

    assert (found.name, found.status) == (name, "warn")
    assert fix in found.fix


@pytest.mark.parametrize(
    ("facts", "name", "status", "fix"),
    [
        (replace(FACTS, asks=("current_user",)), "orders: rows", "warn", "read a view without it"),
        (replace(FACTS, runs=("app.f()",)), "orders: functions", "warn", "trust its owner"),
        (replace(FACTS, can_write=True), "orders: role", "warn", "SELECT-only"),
        (replace(FACTS, key_proven=False), "orders: key", "warn", 'unique index on ("order_id")'),
        (
            replace(FACTS, indexed=frozenset()),
            "orders: watermark",
            "warn",
            'CREATE INDEX ON public.orders ("updated_at")',
        ),
        (with_columns(ID, replace(CHANGED, nullable=True)), "orders: watermark", "warn", "SET NOT NULL"),
        (with_columns(ID, replace(CHANGED, kind=Kind.TEXT)), "orders: watermark", "fail", "strategy: full"),
        (with_columns(ID, CHANGED, ODD), "orders: columns", "warn", "compare: {exclude: [place]}"),
    ],
)
def test_weakness_of_a_table_is_named_with_its_fix(facts: TableFacts, name: str, status: str, fix: str) -> None:
    (found,) = [check for check in check_table("orders", facts, REQUEST) if check.status != "ok"]

    assert (found.name, found.status) == (name, status)
    assert fix in found.fix


def test_rows_are_said_to_be_counted_or_about_so_many() -> None:
    (estimated, *_), (counted, *_) = (
        list(check_table("orders", facts, REQUEST)) for facts in (FACTS, replace(FACTS, are_rows_counted=True))
    )

    assert (estimated.detail, counted.detail) == (
        "public.orders, 2 columns, about 1,200 rows", "public.orders, 2 columns, 1,200 rows counted",
    )  # fmt: skip


def test_table_that_may_not_be_read_fails_and_nothing_more_is_said_of_it() -> None:
    found = list(check_table("orders", replace(FACTS, can_read=False, key_proven=False), REQUEST))

    assert bad(found) == [("orders: source", "fail")]


def test_column_that_is_left_out_on_purpose_is_no_warning() -> None:
    request = replace(REQUEST, exclude=("place",))

    assert bad(list(check_table("orders", with_columns(ID, CHANGED, ODD), request))) == []


def test_table_pulled_by_the_version_of_its_rows_needs_no_watermark() -> None:
    found = list(check_table("orders", FACTS, replace(REQUEST, watermark=(), by_version=True)))

    assert bad(found) == []
    assert any("every pull scans the whole table" in check.detail for check in found)


def test_table_without_watermark_is_warned_of() -> None:
    assert bad(list(check_table("orders", FACTS, replace(REQUEST, watermark=())))) == [("orders: watermark", "warn")]


@pytest.mark.parametrize(
    ("facts", "column", "status", "said"),
    [
        (FACTS, "order_id", "ok", "no clock: rows that commit late are found by sweeps only"),
        (replace(FACTS, id_cache={"order_id": 50}), "order_id", "warn", "CACHE 50"),
        (FACTS, "updated_at", "fail", "an integer or a decimal"),
        (with_columns(replace(ID, nullable=True), CHANGED), "order_id", "warn", "may be NULL"),
    ],
)
def test_incrementing_column_is_judged_beside_the_watermark(
    facts: TableFacts, column: str, status: str, said: str
) -> None:
    request = replace(REQUEST, incrementing=column)

    (found,) = [one for one in check_table("orders", facts, request) if one.name == "orders: incrementing"]

    assert found.status == status
    assert said in found.detail


def test_jars_that_are_not_here_yet_are_named() -> None:
    assert check_jars([], 2).status == "ok"
    assert "a:b:1 will be fetched" in check_jars(["a:b:1"], 2).detail


def test_columns_that_the_lake_cannot_hold_fail_as_a_pull_would_until_there_is_a_lake_with_its_own() -> None:
    odd = (
        replace(ODD, name="Order No", lake_name="Order No", kind=Kind.TEXT),
        replace(ODD, name="a b", lake_name="a_b"),
    )
    table = TableConfig.model_validate({"name": "orders", "source": {"table": "orders"}, "lake": {"path": "/lake"}})
    found = with_columns(ID, CHANGED, *odd).table
    fix = 'compare: {rename: {"Order No": Order_No}}, or leave them out with source.columns'

    for is_new, status in ((True, "fail"), (False, "warn")):
        (check,) = check_names(table, found, None, is_new=is_new)
        assert (check.name, check.status, check.fix) == ("orders: columns", status, fix)


@pytest.mark.parametrize(
    ("changed", "fixes"),
    [
        ({"indexed": frozenset()}, ["CREATE INDEX `orders_updated_at` ON `shop`.`Order Items` (`updated_at`)"]),
        (
            {"table": replace(TABLE, name="`shop`.`v`", columns=(ID, replace(CHANGED, nullable=True)))},
            ["make `updated_at` of `shop`.`v` NOT NULL, or after pulls: hudi-reconcile sweep -t orders"],
        ),
        ({"key_proven": False}, ["create a unique index on (`order_id`) over NOT NULL columns"]),
    ],
)
def test_fix_is_in_the_words_of_the_databases_own_sql(changed: dict[str, object], fixes: list[str]) -> None:
    facts = replace(FACTS, **{"table": replace(TABLE, name="`shop`.`Order Items`"), **changed})  # type: ignore[arg-type]

    assert [check.fix for check in check_table("orders", facts, REQUEST, dialect) if check.status != "ok"] == fixes


def test_view_gets_no_statement_that_only_a_table_takes() -> None:
    columns = (ID, replace(CHANGED, nullable=True))
    facts = replace(with_columns(*columns), key_proven=False, indexed=frozenset(), has_indexes=False)

    fixes = [check.fix for check in check_table("orders", facts, REQUEST) if check.status != "ok"]
    assert fixes == [
        "read a table instead, of which an index proves the key; this one has no indexes of its own",
        "after pulls: hudi-reconcile sweep -t orders",
    ]


RULES = """\
version: 1
table: orders
rules:
  - {id: r1, check: not_null, column: order_id}
  - {id: r2, check: unique, columns: [order_id, updated_at_day, _hoodie_record_key]}
  - {id: r3, check: between, column: amuont, min: 0}
  - {id: r4, check: total, column: order_id}
  - {id: r5, check: gx, type: expect_column_values_to_be_unique, kwargs: {column: Order_ID}}
  - {id: r6, check: sql, query: "SELECT 1 FROM {batch} WHERE anything = 1"}
  - {id: r7, check: freshness, max_age: 1d}
"""


def test_mask_and_rule_on_a_column_that_the_source_has_not_fail_until_there_is_a_lake_that_may_have_it() -> None:
    values = {
        "name": "orders", "source": {"table": "orders"}, "lake": {"path": "/lake", "partition_by": ["day(updated_at)"]},
        "mask": {"emial": "hmac", "UPDATED_AT": "show"},
    }  # fmt: skip
    table, rules = TableConfig.model_validate(values), parse_rules(RULES, "orders.yaml", "orders")

    found = list(check_names(table, TABLE, rules, is_new=True))

    assert bad(found) == [("orders: mask", "fail"), ("orders: rules", "fail")]
    assert "mask names emial" in found[0].detail
    assert "rule r3 names amuont" in found[1].detail
    assert {one.status for one in check_names(table, TABLE, rules, is_new=False)} == {"warn"}
    assert list(check_names(table.model_copy(update={"mask": {}}), TABLE, None, is_new=True)) == []


@pytest.mark.parametrize(
    ("settings", "label", "said"),
    [
        ({"mask": {"order_id": "hmac"}}, "orders: mask", "part of the key"),
        ({"compare": {"tolerance": {"updated_at": 0.1}}}, "orders: tolerance", "compare.tolerance names updated_at"),
    ],
)
def test_setting_that_a_sweep_refuses_by_the_columns_fails_here_already(
    settings: dict[str, object], label: str, said: str
) -> None:
    values = {"name": "orders", "source": {"table": "orders"}, "lake": {"path": "/lake"}, **settings}
    (check,) = check_names(TableConfig.model_validate(values), TABLE, None, is_new=False)

    assert (check.name, check.status) == (label, "fail")
    assert said in check.detail
