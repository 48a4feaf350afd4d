"""Quoted names stay names: whatever stands in one, SQL reads one identifier and gives it back."""

from __future__ import annotations

import sqlite3

from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.databases.postgres.dialect import quote
from hudi_reconcile.sql import reads

names = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=30)


@given(names)
@example('a"; drop table x; --')
@example('"')
def test_quoted_name_is_one_identifier_that_doubles_only_its_quotes(name: str) -> None:
    quoted = quote(name)

    assert quoted[0] == quoted[-1] == '"'
    assert '"' not in quoted[1:-1].replace('""', "")
    assert quoted[1:-1].replace('""', '"') == name


@given(names)
@example("a:b")
@example("a%sb")
def test_select_list_reads_the_column_of_that_name_and_no_other(name: str) -> None:
    column = Column(name, Kind.INTEGER, "bigint", bits=64)
    with sqlite3.connect(":memory:") as database:
        database.execute(f"create table t ({quote(name)} integer)")
        database.execute("insert into t values (7)")
        found = database.execute(f"select {reads.select_list(dialect, (column,))} from t")
        assert [item[0] for item in found.description] == ["c0"]
        assert found.fetchall() == [(7,)]
    database.close()
