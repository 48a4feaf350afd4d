"""The SQL that brings a PostgreSQL table in step, and what is refused before a connection is made."""

from __future__ import annotations

import pytest
from psycopg import sql

from hudi_reconcile.changefeed.postgres_sink import (
    PostgresTarget,
    TargetColumn,
    build_statements,
    check_columns,
    suggest_fix,
)
from hudi_reconcile.core.errors import UsageError

TYPES = {
    "id": TargetColumn("bigint", "bigint", is_not_null=True),
    'odd "name"': TargetColumn("bytea", "bytea"),
    "part": TargetColumn("character varying", "character varying(3)"),
}
COLUMNS = ["other", "id", 'odd "name"', "part"]


def texts(key: list[str]) -> list[str]:
    return [one.as_string(None) for one in build_statements(sql.Identifier("s", "T"), TYPES, COLUMNS, key)]


def test_rows_are_deleted_and_upserted_by_key_with_the_types_of_the_target_and_quoted_names() -> None:
    delete, insert = texts(["id"])

    assert delete == """delete from "s"."T" t using _hr_changes s where s.op = 'd' and t."id" = "s"."c1"::bigint"""
    assert insert == (
        'insert into "s"."T" ("id", "odd ""name""", "part") select "s"."c1"::bigint, decode("s"."c2", \'hex\'), '
        '"s"."c3"::character varying from _hr_changes s where s.op <> \'d\' on conflict ("id") do update set '
        '"odd ""name""" = excluded."odd ""name""", "part" = excluded."part"'
    )


def test_keys_with_a_null_part_which_no_constraint_knows_again_are_deleted_before_they_are_written() -> None:
    _, nulls, _ = texts(["id", "part"])

    assert nulls == (
        'delete from "s"."T" t using _hr_changes s where ("s"."c3"::character varying is null) and '
        't."id" is not distinct from "s"."c1"::bigint and t."part" is not distinct from "s"."c3"::character varying'
    )


def test_table_of_nothing_but_its_key_is_kept_in_step_too() -> None:
    _, insert = build_statements(sql.Identifier("t"), {"id": TYPES["id"]}, COLUMNS, ["id"])

    assert insert.as_string(None).endswith('on conflict ("id") do nothing')


@pytest.mark.parametrize(
    ("lake", "target"),
    [
        ("timestamp", "date"),
        ("timestamp_ntz", "time without time zone"),
        ("double", "real"),
        ("bigint", "double precision"),
        ("decimal(10,2)", "double precision"),
        ("binary", "text"),
        ("string", "bytea"),
        ("string", "name"),
        ("string", "double precision"),
        ("string", "date"),
    ],
)
def test_column_of_a_type_that_keeps_less_without_a_word_is_refused_and_its_like_is_not(lake: str, target: str) -> None:
    key = {"id": TYPES["id"]}
    with pytest.raises(UsageError, match=f"v is .* in the lake, and {target}"):
        check_columns("t", {**key, "v": TargetColumn(target, target)}, {"id": "bigint", "v": lake}, ["id"])
    exact = {"timestamp": "timestamp with time zone", "double": "double precision", "binary": "bytea"}.get(lake, "text")
    check_columns("t", {**key, "v": TargetColumn(exact, exact)}, {"id": "bigint", "v": lake}, ["id"])


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:hunter2@nowhere/db",
        "postgresql://me:hun@ter2@nowhere/db",
        "postgresql://me@nowhere/db?sslmode=require&password=hunter2",
        "postgresql://nowhere/db?%70assword=hunter2",
    ],
)
def test_url_with_a_password_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageError, match="holds a password") as refused:
        PostgresTarget(url, "t").apply(iter(()), {"id": "bigint"}, ["id"])

    assert "ter2" not in f"{refused.value} {refused.value.fix}"


def test_refusal_of_the_database_is_told_with_what_to_look_at_for_its_class() -> None:
    assert [suggest_fix(state).split()[0] for state in ("23505", "22003", "42501", None)] == [
        "drop",
        "give",
        "grant",
        "check",
    ]


def test_refusal_that_a_deferrable_constraint_would_not_mend_names_what_would() -> None:
    assert suggest_fix("23514").startswith("drop the check")
    assert "drop not null" in suggest_fix("23502")
    assert not any("deferrable" in suggest_fix(state) for state in ("23514", "23502"))


@pytest.mark.parametrize("kind", ["smallint", "integer", "bigint"])
def test_key_of_text_needs_a_target_that_keeps_texts_apart(kind: str) -> None:
    with pytest.raises(UsageError, match="takes different texts for one"):
        check_columns("t", {"k": TargetColumn(kind, kind)}, {"k": "string"}, ["k"])
    check_columns("t", {"k": TargetColumn(kind, kind)}, {"k": "int"}, ["k"])
    check_columns("t", {"k": TargetColumn("uuid", "uuid")}, {"k": "string"}, ["k"])
