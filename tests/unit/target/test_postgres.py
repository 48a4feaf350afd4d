"""The SQL that brings a PostgreSQL table in step, and what is refused before a connection is made."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.target.postgres import PostgresTarget, statements

TYPES = {"id": "bigint", 'odd "name"': "bytea"}
COLUMNS = ["other", "id", 'odd "name"']


def test_rows_are_deleted_and_upserted_by_key_with_the_types_of_the_target_and_quoted_names() -> None:
    delete, insert = (one.as_string(None) for one in statements('s."T"', TYPES, COLUMNS, ["id"]))

    assert delete == (
        """delete from s."T" t using _hr_changes s where s.op = 'd' and t."id" is not distinct from "s"."c1"::bigint"""
    )
    assert insert == (
        'insert into s."T" ("id", "odd ""name""") select "s"."c1"::bigint, decode("s"."c2", \'hex\') from _hr_changes s '
        'where s.op <> \'d\' on conflict ("id") do update set "odd ""name""" = excluded."odd ""name"""'
    )


def test_table_of_nothing_but_its_key_is_kept_in_step_too() -> None:
    _, insert = statements("t", {"id": "bigint"}, COLUMNS, ["id"])

    assert insert.as_string(None).endswith('on conflict ("id") do nothing')


def test_url_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError) as refused:
        PostgresTarget("postgresql+psycopg://me:hunter2@nowhere/db", "t").apply(iter(()), ["id"], ["id"])

    assert "hunter2" not in f"{refused.value} {refused.value.fix}"
