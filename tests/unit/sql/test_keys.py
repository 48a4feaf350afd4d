"""Rows by their keys, in each dialect."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.tables.key_encoding import Key
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.mysql import dialect as mysql
from hudi_reconcile.databases.postgres import dialect as postgres
from hudi_reconcile.sql.dialect import Dialect
from hudi_reconcile.sql.reads import hide_keys, keys_predicate

ID = Column("id", Kind.INTEGER, "bigint", bits=64)
CODE = Column("code", Kind.TEXT, "varchar")
DAY = Column("day", Kind.DATE, "date")
AT = Column("at", Kind.TIMESTAMP, "timestamp", precision=6)
RAW = Column("raw", Kind.BYTES, "bytea")
FLAG = Column("flag", Kind.BOOLEAN, "boolean")
PRICE = Column("price", Kind.DECIMAL, "numeric(9,2)", precision=9, scale=2)


def said(dialect: Dialect, columns: tuple[Column, ...], *keys: Key) -> str:
    found = keys_predicate(dialect, columns, keys)
    assert found is not None
    return found.removeprefix("/* keys */ ").removesuffix(" /* end of keys */")


def test_whole_numbers_are_one_list() -> None:
    assert said(postgres, (ID,), ("7",), ("-8",)) == '"id" in (7, -8)'


def test_parts_that_can_be_said_narrow_a_key_and_others_leave_it_wide() -> None:
    assert said(postgres, (FLAG, ID), ("true", "7"), (None, "8")) == '("id" = 7) or ("flag" is null and "id" = 8)'


def test_key_of_which_nothing_can_be_said_is_none() -> None:
    assert keys_predicate(postgres, (FLAG,), [("true",)]) is None


@pytest.mark.parametrize(
    ("dialect", "test"),
    [
        (postgres, """("raw" = '\\x0AFF'::bytea)"""),
        (mysql, "(`raw` = x'0AFF')"),
    ],
)
def test_bytes_are_said_by_their_hex_digits(dialect: Dialect, test: str) -> None:
    assert said(dialect, (RAW,), ("0AFF",)) == test
    assert keys_predicate(dialect, (RAW,), [("0AF",)]) is None


@pytest.mark.parametrize("text", ["a\\b", "a\nb", "a\x00"])
def test_text_that_means_something_to_a_literal_is_not_said(text: str) -> None:
    assert keys_predicate(mysql, (CODE,), [("plain",), (text,)]) is None


@pytest.mark.parametrize(
    ("dialect", "test"),
    [
        (postgres, """("code"::text = 'O''Brien ß')"""),
        (mysql, """(`code` = 'O''Brien ß')"""),
    ],
)
def test_text_is_quoted_as_the_dialect_reads_it(dialect: Dialect, test: str) -> None:
    assert said(dialect, (CODE,), ("O'Brien ß",)) == test


def test_empty_text_is_said_and_met_as_null_too_where_a_database_takes_it_for_that() -> None:
    assert said(postgres, (CODE,), ("",)) == """(("code"::text = '' or "code" is null))"""
    assert said(mysql, (CODE, ID), ("", "7")) == "((`code` = '' or `code` is null) and `id` = 7)"


def test_times_and_decimals_are_met_by_what_lies_around_them() -> None:
    assert said(postgres, (DAY,), ("0",)) == "((\"day\" >= date '1970-01-01' and \"day\" <= date '1970-01-02'))"
    assert "'1969-12-31T23:59:59.000001'" in said(postgres, (AT,), ("1",))
    assert said(postgres, (PRICE,), ("1.25",)) == '(("price" > 0.25 and "price" < 2.25))'


@pytest.mark.parametrize("column", [AT, DAY])
def test_time_at_the_end_of_the_calendar_is_not_said(column: Column) -> None:
    assert keys_predicate(postgres, (column,), [(str(2**62),)]) is None


@pytest.mark.parametrize("column", [ID, PRICE, AT, DAY])
def test_number_that_is_none_is_never_sent(column: Column) -> None:
    assert keys_predicate(postgres, (column,), [("1) or (1 = 1",)]) is None
    assert keys_predicate(postgres, (column,), [("NaN",)]) is None


def test_statement_is_logged_without_its_keys_even_where_a_key_looks_like_the_mark() -> None:
    test = keys_predicate(postgres, (CODE,), [("secret",), ("/* end of keys */ secret",)])

    assert hide_keys(f"select count(*) from t where ({test})") == "select count(*) from t where (/* keys */)"
