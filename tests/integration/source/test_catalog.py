"""What the catalog says of tables with every kind of oddity."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import PartitionField, SourceTable
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.postgres.catalog import COLUMNS_QUERY
from tests.integration.source.support import engine, source
from tests.support.postgres import Database

NASTY = ["select", "a.b", "a b", 'a"b', "a:b", "::x", "100%", "%s", "a\\:b", "it's", "Größe", "c0", "Ünï 中文 🙂", "?"]


def described(database: Database, table: str, **request: Any) -> SourceTable:
    with source(database, table, **request) as found:
        return found.describe()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def test_every_supported_type_has_its_kind_and_every_other_is_named(pg: Database) -> None:
    pg.execute(
        "create type mood as enum ('ok')",
        "create domain positive as int check (value > 0)",
        "create table t (id bigint primary key, i2 int2, i4 int4, n numeric(12,2), whole numeric(7), big numeric(39,0),"
        " free numeric, b bool, t text, v varchar(3), vv varchar, c char(5), d date, ts timestamp, ts0 timestamp(0),"
        " tz timestamptz(3), u uuid, bytes bytea, r real, dbl double precision,"
        " j json, jb jsonb, iv interval, tm time, arr int[], m mood, p positive, x xml, mon money, neg numeric(3,-2),"
        " rc regclass)",
    )

    found = {column.name: column for column in described(pg, "t").columns}

    kinds: dict[Kind, set[str]] = {}
    for column in found.values():
        kinds.setdefault(column.kind, set()).add(column.name)
    assert kinds == {
        Kind.INTEGER: {"id", "i2", "i4"},
        Kind.DECIMAL: {"n", "whole"},
        Kind.BOOLEAN: {"b"},
        Kind.TEXT: {"t", "v", "vv"},
        Kind.CHAR: {"c"},
        Kind.DATE: {"d"},
        Kind.TIMESTAMP: {"ts", "ts0"},
        Kind.TIMESTAMPTZ: {"tz"},
        Kind.UUID: {"u"},
        Kind.BYTES: {"bytes"},
        Kind.REAL: {"r"},
        Kind.DOUBLE: {"dbl"},
        Kind.NUMBER: {"big", "free", "neg"},
        Kind.OWN_TEXT: {"j", "jb", "iv", "tm", "arr", "m", "p", "x", "mon"},
        Kind.OTHER: {"rc"},
    }
    assert (found["n"].precision, found["n"].scale) == (12, 2)
    assert [found[name].precision for name in ("ts", "ts0", "tz")] == [6, 0, 3]
    assert not found["id"].nullable
    assert all(found[name].why for name in kinds[Kind.OTHER])


def test_odd_names_of_schema_table_and_columns_are_read_as_they_are(pg: Database) -> None:
    columns = ", ".join(f"{quoted(name)} int" for name in NASTY)
    pg.execute(
        'create schema "Sales 2026: 100%"',
        f'create table "Sales 2026: 100%"."Order ""Items"":x" ("Id" bigint primary key, {columns})',
        'insert into "Sales 2026: 100%"."Order ""Items"":x" ("Id") values (1), (2)',
    )
    name = '"Sales 2026: 100%"."Order ""Items"":x"'

    with source(pg, name, key=("Id", "a:b")) as found:
        table = found.describe()
        assert (table.name, table.key) == (name, ("Id", "a:b"))
        assert [column.name for column in table.columns] == ["Id", *NASTY]
        assert found.count_rows(table) == 2
        assert (found.measure_extent(table).low, found.measure_extent(table).high) == (1, 2)
        assert found.find_key_faults(table).duplicated_keys == 0


def test_predicate_with_colons_and_percents_is_sent_as_it_stands(pg: Database) -> None:
    pg.execute(
        "create table t (id int primary key, note text, at timestamp)",
        "insert into t values (1, 'a:b 100%', '2026-01-01 10:11:12'), (2, 'x', '2026-01-02')",
    )
    where = "note like 'a:b 100%' and at = timestamp '2026-01-01 10:11:12'::timestamp and 7 % 4 = 3"

    with source(pg, "t", where=where) as found:
        assert found.count_rows(found.describe()) == 1


def test_composite_key_keeps_the_order_of_the_index_and_not_of_the_columns(pg: Database) -> None:
    pg.execute("create table t (a int, b int, c int, primary key (c, a))")

    assert described(pg, "t").key == ("c", "a")


def test_generated_columns_views_partitioned_and_materialised_tables_can_be_read(pg: Database) -> None:
    pg.execute(
        "create table t (id int primary key, twice int generated always as (id * 2) stored)",
        "insert into t select i from generate_series(1, 3) i",
        "create view v as select * from t",
        "create materialized view m as select * from t",
        "create table p (id int, day date, primary key (id, day)) partition by range (day)",
        "create table p1 partition of p for values from ('2026-01-01') to ('2027-01-01')",
        "insert into p values (1, '2026-05-05')",
    )

    for name, key, rows in (("t", (), 3), ("v", ("id",), 3), ("m", ("id",), 3), ("p", (), 1)):
        with source(pg, name, key=key) as found:
            table = found.describe()
            assert found.count_rows(table) == rows
    assert [column.name for column in described(pg, "t").columns] == ["id", "twice"]
    assert described(pg, "p").key == ("id", "day")


@pytest.mark.parametrize(
    ("table", "request_", "error", "message"),
    [
        ("keyless", {}, UsageError, "has no primary key"),
        ("missing", {}, UsageError, "table missing does not exist"),
        ("public.missing", {}, UsageError, "does not exist"),
        ("nowhere.t", {}, UsageError, "does not exist"),
        ("a b", {}, UsageError, "is not a table name"),
        ("t; drop table t", {}, UsageError, "is not a table name"),
        ('"', {}, UsageError, "is not a table name"),
        ("s", {}, UsageError, "is not a table or view"),
        ("t", {"key": ("nr",)}, UsageError, "source.key names column nr, which t does not have"),
        ("t", {"watermark": ("update_at",)}, UsageError, r"did you mean updated_at\?"),
        ("t", {"columns": ("nope",)}, UsageError, "source.columns names column nope"),
        ("t", {"key": ("what",)}, UsageError, "what is regclass, which cannot identify a row"),
        ("t", {"rename": {"updated_at": "RATIO"}}, UsageError, "updated_at and ratio would both be RATIO in the lake"),
        (
            "t",
            {"rename": {"ratio": "Updated_At_Day"}, "partition_by": (PartitionField("updated_at", "day"),)},
            UsageError,
            "ratio would be Updated_At_Day in the lake, as is the partition column that lake.partition_by derives",
        ),
        ("twins", {}, RefusedError, "2 columns differ only by case: Note, note"),
    ],
)
def test_table_that_cannot_be_read_is_refused_by_name(
    pg: Database, table: str, request_: dict[str, Any], error: type[Exception], message: str
) -> None:
    pg.execute(
        "create table keyless (id int)",
        "create sequence s",
        "create table t (id int primary key, updated_at timestamp, ratio double precision, what regclass)",
        'create table twins (id int primary key, "Note" text, note text)',
    )

    with pytest.raises(error, match=message):
        described(pg, table, **request_)


def test_chosen_columns_come_with_key_watermark_and_partition_columns(pg: Database) -> None:
    pg.execute("create table t (id int primary key, a int, b int, at timestamp, day date)")

    found = described(
        pg, "t", columns=("b",), watermark=("at",), partition_by=(PartitionField("day"),), rename={"b": "bb"}
    )

    assert [(column.name, column.lake_name) for column in found.columns] == [
        ("id", "id"), ("b", "bb"), ("at", "at"), ("day", "day"),
    ]  # fmt: skip


def test_identity_tells_databases_and_tables_apart_and_stays_the_same(pg: Database) -> None:
    pg.execute("create table t (id int primary key)", "create table u (id int primary key)")

    assert described(pg, "t").identity == described(pg, "public.t").identity
    assert described(pg, "t").identity != described(pg, "u").identity


# --- keys ---


def test_key_of_the_catalog_needs_no_query(pg: Database) -> None:
    pg.execute("create table t (id int primary key)")

    with source(pg, "t") as found:
        table = found.describe()
        sent = len(found.list_statements())
        assert found.find_key_faults(table).duplicated_keys == 0
        assert len(found.list_statements()) == sent


@pytest.mark.parametrize("index", ["(a, b) where a > 5", "(a, b, extra)", "((a + extra))"])
def test_keys_that_no_complete_index_proves_are_counted_with_a_sample(pg: Database, index: str) -> None:
    pg.execute(
        "create table t (a int, b text, extra serial)",
        f"create unique index on t {index}",
        "insert into t values (1, 'x'), (1, 'x'), (2, null), (2, null), (3, 'y'), (null, null), (null, 'z')",
    )

    with source(pg, "t", key=("a", "b")) as found:
        faults = found.find_key_faults(found.describe())

    assert (faults.duplicated_keys, faults.null_keys) == (2, 1)
    assert sorted(faults.sample) == ["(1, x)", "(2, NULL)"]


def test_partial_unique_index_over_columns_that_are_not_null_proves_nothing(pg: Database) -> None:
    pg.execute(
        "create table t (a int not null)",
        "create unique index on t (a) where a > 5",
        "insert into t values (1), (1)",
    )

    with source(pg, "t", key=("a",)) as found:
        assert found.find_key_faults(found.describe()).duplicated_keys == 1


def test_primary_key_of_a_parent_proves_nothing_of_its_children(pg: Database) -> None:
    pg.execute(
        "create table t (a int primary key)",
        "create table t_1 (primary key (a)) inherits (t)",
        "create table t_2 (primary key (a)) inherits (t)",
        "insert into t_1 values (5)",
        "insert into t_2 values (5)",
    )

    with source(pg, "t") as found:
        assert found.find_key_faults(found.describe()).duplicated_keys == 1


def test_primary_key_of_a_partitioned_table_is_proof(pg: Database) -> None:
    pg.execute(
        "create table t (a int primary key) partition by range (a)",
        "create table t_1 partition of t for values from (0) to (9)",
    )
    with source(pg, "t") as found:
        found.describe()
        asked = found.find_key_faults
        pg.execute("drop table t")  # a count would fail

        assert asked(SourceTable("t", (), (), 0, "")).duplicated_keys == 0


def test_unique_index_over_nullable_columns_proves_nothing(pg: Database) -> None:
    pg.execute("create table t (a int unique)", "insert into t values (null), (null), (1)")

    with source(pg, "t", key=("a",)) as found:
        assert found.find_key_faults(found.describe()).null_keys == 2


def test_predicate_narrows_the_count_of_faulty_keys(pg: Database) -> None:
    pg.execute("create table t (a int, live bool)", "insert into t values (1, true), (1, false)")

    with source(pg, "t", key=("a",), where="live") as found:
        assert found.find_key_faults(found.describe()).duplicated_keys == 0


def test_sequences_that_hand_out_more_than_one_id_at_once_are_known(pg: Database) -> None:
    pg.execute(
        "create sequence apart cache 7",
        "create table t (id bigint generated always as identity (cache 20) primary key, s bigserial,"
        " d bigint default nextval('apart'), n bigint)",
    )

    with engine(pg) as found:
        facts = found.table_facts(TableRequest(name="t", table="t"))

    assert facts.id_cache == {"id": 20, "d": 7}


def test_not_null_is_believed_of_rows_that_the_server_holds_to_it_alone(pg: Database) -> None:
    pg.execute(
        "create table parent (id int primary key, a text)",
        "create table child () inherits (parent)",
        "alter table only parent alter a set not null",
        "insert into child values (1, null)",
        "create table parted (id int not null, a text not null) partition by range (id)",
        "create table part partition of parted for values from (0) to (9)",
        "create foreign data wrapper nowhere",
        "create server files foreign data wrapper nowhere",
        "create foreign table far (id int not null, a text not null) server files",
        "create table mixed (id int not null, a text not null) partition by range (id)",
        "create foreign table far_part partition of mixed for values from (0) to (9) server files",
    )

    nullable = {}
    for table in ("child", "parent", "part", "parted", "far", "mixed"):
        rows = pg.query(COLUMNS_QUERY.replace(" :oid ", f" '{table}'::regclass "))
        nullable[table] = [row[-1] for row in rows]

    assert nullable == {
        "child": [False, True], "parent": [True, True], "part": [False, False], "parted": [False, False],
        "far": [True, True], "mixed": [True, True],
    }  # fmt: skip
