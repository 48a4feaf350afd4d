"""Statements as `-v` shows them: names and words, and no value."""

from __future__ import annotations

import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.base import log_statement
from hudi_reconcile.databases.mysql import dialect as mysql
from hudi_reconcile.databases.postgres import dialect as postgres
from hudi_reconcile.sql.reads import keys_predicate
from hudi_reconcile.sql.statement_text import hide_values

SHOWN = [
    ('select "a""b" from "s"."t" where "x" >= 7', '"', 'select "a""b" from "s"."t" where "x" >= ?'),
    ("select `it's` from t where x = 'y'", "`", "select `it's` from t where x = ?"),
    ('select 1 from t where x = "Ann"', "`", "select ? from t where x = ?"),
    (
        "select t1.hr_2 from t1 where x in (-1.5e3, 0xAB, X'AB', 10)",
        '"',
        "select t1.hr_2 from t1 where x in (-?, ?, X?, ?)",
    ),
    ("select 'a''b', \"q\"\n from   t", '"', 'select ?, "q" from t'),
    ("x = 'open", '"', "x = ?…"),
    (r"x = 'a\' or y = 'Ann'", '"', "x = ?…"),
    ("a -- don't\n and x = 'Ann'", '"', "a …"),
    ("a /* don't */ and x = 'Ann'", '"', "a …"),
    ("a # don't\n and x = 'Ann'", "`", "a …"),
    ("x = $$Ann$$ and y = 'Ann'", '"', "x = …"),
    ("x in (/* keys */ id in (7) /* end of keys */) and y = 1", '"', "x in (/* keys */) and y = ?"),
]


@pytest.mark.parametrize(("sql", "quote", "shown"), SHOWN)
def test_statement_shows_names_and_hides_values(sql: str, quote: str, shown: str) -> None:
    assert hide_values(sql, quote) == shown


@pytest.mark.parametrize("dialect", [postgres, mysql])
@given(st.text(min_size=1).filter(lambda text: "\0" not in text), st.integers(), st.text())
def test_no_value_of_a_statement_of_ours_is_shown(dialect: object, name: str, number: int, value: str) -> None:
    assert dialect in (postgres, mysql)
    quote = postgres.quote if dialect is postgres else mysql.quote
    secret = f"Ann{value}7319"
    literal = "'" + secret.replace("'", "''") + "'"
    sql = f"select {quote(name)} from t where a = {literal} and b = {number}7319 and c < {literal}"

    shown = hide_values(sql, quote("x")[0]).replace(" ".join(quote(name).split()), "")

    assert "Ann" not in shown
    assert "7319" not in shown


@given(st.lists(st.integers(10**9, 10**12), min_size=1, max_size=20))
def test_keys_that_are_asked_for_are_not_shown(keys: list[int]) -> None:
    column = Column("id", Kind.INTEGER, "bigint", nullable=False)
    sql = f"select 1 from t where {keys_predicate(postgres, (column,), [(str(key),) for key in keys])}"

    assert not re.search(r"\d", hide_values(sql, '"'))
    assert not re.search(r"\d", hide_values(sql.replace("/* end of keys */", ""), '"'))


def test_long_statement_is_cut() -> None:
    assert len(hide_values("select " + "column_of_a_wide_table, " * 1000, '"')) < 2_100


def test_statement_is_said_with_v_alone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "hudi_reconcile"):
        log_statement("select 1", '"')
    assert not caplog.records

    with caplog.at_level(logging.DEBUG, "hudi_reconcile"):
        log_statement("select 1", '"')
    assert caplog.messages == ["sql: select ?"]
