from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hudi_reconcile.core.pull.cursor import Mark, Order, build_next_window
from hudi_reconcile.core.sweep.segments import KeyRange
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.mysql import dialect
from hudi_reconcile.sql import reads, windows

SECOND = 1_000_000


def column(data_type: str, declared: str = "", **digits: Any) -> Column:
    return dialect.classify_column("c", data_type, declared or data_type, nullable=True, **digits)


# --- names ---


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("order", "`order`"), ("a`; drop table x; --", "`a``; drop table x; --`"), ('a"b\\', '`a"b\\`'), ("😀", "`😀`")],
)
def test_name_is_quoted_by_backticks_whatever_it_holds(name: str, quoted: str) -> None:
    assert dialect.quote(name) == quoted


def test_name_with_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        dialect.quote("a\0b")


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("orders", (None, "orders")),
        ("shop.orders", ("shop", "orders")),
        ("`Order Items`", (None, "Order Items")),
        ("shop . `a``b.c`", ("shop", "a`b.c")),
        ("`my-shop`.2024", ("my-shop", "2024")),
        ("Größe$1", (None, "Größe$1")),
    ],
)
def test_table_name_is_split_as_sql_reads_it(written: str, names: tuple[str | None, str]) -> None:
    assert dialect.split_name(written) == names


@pytest.mark.parametrize("written", ["", "a.b.c", "a b", "`a", "`a`b", "a.", ".a", "``", "a;b", '"a"'])
def test_text_that_is_no_table_name_is_refused(written: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any: the caller names the setting
        dialect.split_name(written)


# --- types ---


@pytest.mark.parametrize(
    ("data_type", "declared", "kind", "bits"),
    [
        ("tinyint", "tinyint(1)", Kind.INTEGER, 32),
        ("int", "int(11)", Kind.INTEGER, 32),
        ("int", "int(10) unsigned", Kind.INTEGER, 64),
        ("mediumint", "mediumint unsigned", Kind.INTEGER, 32),
        ("bigint", "bigint(20)", Kind.INTEGER, 64),
        ("year", "year(4)", Kind.INTEGER, 32),
        ("varchar", "varchar(20)", Kind.TEXT, None),
        ("char", "char(3)", Kind.CHAR, None),
        ("varbinary", "varbinary(9)", Kind.BYTES, None),
        ("float", "float", Kind.REAL, None),
        ("double", "double", Kind.DOUBLE, None),
        ("uuid", "uuid", Kind.UUID, None),
        *((name, name, Kind.OWN_TEXT, None) for name in ("time", "enum", "set", "json", "inet6", "point", "vector")),
        ("xmltype", "xmltype", Kind.OTHER, None),
    ],
)
def test_type_has_its_kind(data_type: str, declared: str, kind: Kind, bits: int | None) -> None:
    found = column(data_type, declared)

    assert (found.kind, found.bits, found.native) == (kind, bits, data_type)
    assert bool(found.why) == (kind is Kind.OTHER)


@pytest.mark.parametrize(
    ("data_type", "declared", "digits", "kind", "agreed"),
    [
        ("decimal", "decimal(38,10)", (38, 10), Kind.DECIMAL, (38, 10)),
        ("decimal", "decimal(65,30)", (65, 30), Kind.NUMBER, (None, None)),
        ("bigint", "bigint(20) unsigned", (20, 0), Kind.DECIMAL, (20, 0)),
    ],
)
def test_number_beyond_38_digits_is_carried_as_text(
    data_type: str, declared: str, digits: tuple[int, int], kind: Kind, agreed: tuple[int | None, int | None]
) -> None:
    found = column(data_type, declared, precision=digits[0], scale=digits[1])

    assert (found.kind, found.precision, found.scale) == (kind, *agreed)


def test_one_bit_is_a_boolean_and_more_are_their_digits() -> None:
    assert column("bit", "bit(1)", precision=1).kind is Kind.BOOLEAN
    assert dialect.read(column("bit", "bit(1)", precision=1)) == "`c`"
    assert dialect.read(column("bit", "bit(10)", precision=10)) == "lpad(bin(`c` + 0), 10, '0')"


# --- values ---


@pytest.mark.parametrize(
    ("found", "expression"),
    [
        (column("bigint"), "`c`"),
        (column("varchar"), "convert(`c` using utf8mb4)"),
        (column("float"), "`c` + 0e0"),
        (column("datetime", fraction=6), "cast(`c` as char)"),
        (column("decimal", precision=65, scale=0), "cast(`c` as char)"),
        (column("point"), "lower(hex(`c`))"),
        (Column("c", Kind.OWN_TEXT, "timestamp", native="timestamp"), "date_format(`c`, '%Y-%m-%dT%H:%i:%s.%fZ')"),
        (Column("c", Kind.OWN_TEXT, "blob", native="blob"), "lower(hex(`c`))"),
    ],
)
def test_column_is_read_so_that_the_driver_cannot_alter_it(found: Column, expression: str) -> None:
    assert dialect.read(found) == expression


@pytest.mark.parametrize(
    ("data_type", "micros", "literal"),
    [
        ("date", 0, "date '1970-01-01'"),
        ("datetime", 1, "timestamp '1970-01-01 00:00:00.000001'"),
        ("timestamp", 86_400 * SECOND, "timestamp '1970-01-02 00:00:00.000000'"),
    ],
)
def test_literal_is_of_the_columns_type_in_utc(data_type: str, micros: int, literal: str) -> None:
    assert dialect.literal(column(data_type), micros) == literal


def test_window_is_written_per_column() -> None:
    found = windows.window_predicate(
        dialect, build_next_window(Order(("c",)), Mark(0), SECOND), {"c": column("datetime")}
    )

    assert found == ("(`c` > timestamp '1970-01-01 00:00:00.000000') and `c` < timestamp '1970-01-01 00:00:01.000000'")


@pytest.mark.parametrize(("data_type", "has_test"), [("date", True), ("timestamp", True), ("int", False)])
def test_only_calendar_values_can_be_altered(data_type: str, has_test: bool) -> None:  # noqa: FBT001
    assert (dialect.find_altered(column(data_type)) is not None) == has_test


def test_text_keys_are_grouped_by_bytes_and_shown_as_text() -> None:
    found = reads.key_faults_query(dialect, "`t`", (column("varchar"), column("int")), ())

    assert "group by cast(convert(`c` using utf8mb4) as binary), `c`" in found
    assert "convert(hr_0 using utf8mb4)" in reads.key_sample_query(dialect, "`t`", (column("varchar"),), ())


# --- ranges and shares ---


def edges(sql: str) -> list[list[int]]:
    found = re.search(r"json_table\('([^']*)'", sql)
    assert found is not None
    return [list(edge) for edge in json.loads(found[1])]


def test_ranges_are_joined_as_closed_edges_within_bigint() -> None:
    ranges = (KeyRange(None, 5), KeyRange(7, 9), KeyRange(11, None))

    found = dialect.ranges_query("`a` as c0", "`t`", "id", ranges, ("`x` = 1",))

    assert edges(found) == [[-(2**63), 4], [7, 8], [11, 2**63 - 1]]
    assert "straight_join `t` where (`x` = 1) and (`id` between hr_r.hr_low and hr_r.hr_last)" in found
    assert "union all" not in found


def test_range_of_null_keys_is_a_select_of_its_own() -> None:
    assert dialect.ranges_query("`a` as c0", "`t`", "id", (KeyRange(None, None, keys=False, nulls=True),), ()) == (
        "select `a` as c0 from `t` where (`id` is null)"
    )


def test_shares_hash_the_lengths_too_so_that_parts_of_a_key_cannot_run_together() -> None:
    found = dialect.hash_predicate((("c0", column("varchar")), ("c1", column("int"))), 1, 4)

    assert found == (
        "crc32(concat_ws(',', coalesce(length(c0), 0), coalesce(cast(c0 as binary), ''),"
        " coalesce(length(c1), 0), coalesce(cast(c1 as binary), ''))) % 4 = 1"
    )


# --- sessions and the bound ---


def test_session_is_read_only_in_utc_and_bounded_on_both_products() -> None:
    found = dialect.session(1.5)

    for part in ("time_zone = '+00:00'", "/*M!, tx_read_only = 1, tx_isolation = 'READ-COMMITTED' */",
                 "/*!80000 , transaction_read_only = 1, transaction_isolation = 'READ-COMMITTED' */",
                 "/*M!, max_statement_time = 1.500 */", "/*!80000 , max_execution_time = 1500 */"):  # fmt: skip
        assert part in found
    assert "max_statement_time" not in dialect.session()


@pytest.mark.parametrize(
    ("oldest", "running", "sees_all", "bound", "why"),
    [
        (None, None, True, 98 * SECOND, "clock minus 2 s"),
        (40 * SECOND, None, True, 38 * SECOND, "oldest open transaction"),
        (40 * SECOND, 80, True, 17 * SECOND, "oldest running statement"),
        (None, 0, True, 97 * SECOND, "oldest running statement"),
        (10 * SECOND, 80, False, 95 * SECOND, "GRANT PROCESS"),
    ],
)
def test_bound_lies_below_all_open_work_that_the_user_may_see(
    oldest: int | None, running: int | None, sees_all: bool, bound: int, why: str  # noqa: FBT001
) -> None:  # fmt: skip
    found, told = dialect.bound(100 * SECOND, oldest, running, sees_all=sees_all)

    assert (found, why in told) == (bound, True)


@pytest.mark.parametrize(
    ("oldest", "sees_all", "bound", "why"),
    [
        (None, True, 95 * SECOND, "clock of a replica"),
        (40 * SECOND, True, 38 * SECOND, "oldest open transaction"),  # what it is still applying
        (99 * SECOND, True, 95 * SECOND, "clock of a replica"),
        (None, False, 95 * SECOND, "clock"),
    ],
)
def test_bound_on_a_replica_lies_below_what_it_is_still_applying(
    oldest: int | None, sees_all: bool, bound: int, why: str  # noqa: FBT001
) -> None:  # fmt: skip
    found, told = dialect.bound(100 * SECOND, oldest, 3_600, sees_all=sees_all, is_replica=True)

    assert (found, why in told) == (bound, True)
