"""One table with a column of every kind that PostgreSQL has: pulled, equal at once, and every one-step change found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.project import Project
from tests.support.postgres import Database

pytestmark = pytest.mark.usefixtures("spark")  # commands join the one session: a JVM of their own each costs 10 s

ROWS = 1000
# Type, a value made of the row's number i, and one step away from it. NULL every seventh row.
KINDS: dict[str, tuple[str, str, str]] = {
    "i2": ("smallint", "i % 30000", "i2 + 1"),
    "i4": ("integer", "-2147483648 + i", "i4 + 1"),
    "i8": ("bigint", "9223372036854774000 + i % 1000", "i8 + 1"),
    "n": ("numeric(38,10)", "1234567890123456789012345678.0123456789 - i", "n + 0.0000000001"),
    "n_free": ("numeric", "i * 1.10000000000000000000000000000000000000000001", "n_free + 1e-60"),
    "n_odd": ("numeric", "case i % 3 when 0 then 'NaN' when 1 then 'Infinity'::numeric else i end", "n_odd - 'Infinity'"),
    "n_nan": ("numeric(12,2)", "case when i % 5 = 0 then 'NaN' else i::numeric end", "'-0.01'"),
    "r": ("real", "i * 1.1", "r * 1.0000002::real"),
    "d": ("double precision", "i / 3.0::float8", "d * (1 + 2.220446049250313e-16::float8)"),
    "b": ("boolean", "i % 2 = 0", "not b"),
    "t": ("text", "'täxt ' || i", "t || ' '"),
    "v": ("varchar(40)", "'a|b' || i", "upper(v)"),
    "c": ("char(8)", "'c' || i % 10", "'C' || substr(c, 2)"),
    "by": ("bytea", "decode(lpad(to_hex(i), 8, '0'), 'hex')", r"by || '\x00'"),
    "da": ("date", "date '1970-01-01' + i", "da + 1"),
    "da_odd": ("date", "case when i % 2 = 0 then 'infinity' else date '0044-03-15 BC' + i end", "date '0044-03-15' + 7"),
    "ts": ("timestamp", "timestamp '1969-12-31 23:59:59.999999' + i * interval '1 microsecond'",
           "ts + interval '1 microsecond'"),
    "ts3": ("timestamp(3)", "timestamp '2024-01-01' + i * interval '1 millisecond'", "ts3 + interval '1 ms'"),
    "tz": ("timestamptz", "timestamptz '2024-10-27 00:30:00+00' + i * interval '1 minute'", "tz + interval '1 microsecond'"),
    "tz_odd": ("timestamptz", "case when i % 2 = 0 then '-infinity' else timestamptz '2024-01-01 00:00+00' end",
               "'infinity'::timestamptz"),
    "ti": ("time", "time '00:00' + i * interval '1 microsecond'", "ti + interval '1 microsecond'"),
    "tt": ("timetz", "timetz '12:00:00.000001+02'", "timetz '12:00:00.000002+02'"),
    "iv": ("interval", "i * interval '1 month 1 day 0.000001 second'", "iv + interval '1 microsecond'"),
    "u": ("uuid", "md5(i::text)::uuid", "md5(i8::text || 'x')::uuid"),
    "e": ("mood", "case when i % 2 = 0 then 'ok' else 'bad' end::mood", "case e when 'ok' then 'bad' else 'ok' end::mood"),
    "j": ("json", """('{"b": 1, "a":  ' || i || '}')::json""", """(j::text || ' ')::json"""),
    "jb": ("jsonb", """jsonb_build_object('a', i, 'b', null)""", "jb - 'b'"),
    "ai": ("int[]", "array[i, null, 3]", "ai || null::int"),
    "at": ("text[]", "array['a,b', 'c\"d', null, '']", "array['a', 'b,c\"d', null, '']"),
    "an": ("int4range", "int4range(i, i + 10)", "int4range(5, 10)"),
    "ip": ("inet", "'10.0.0.0/8'::inet + i", "ip + 1"),
    "ci": ("cidr", "'10.0.0.0/8'::cidr", "'10.0.0.0/9'::cidr"),
    "ma": ("macaddr", "'08:00:2b:01:02:03'::macaddr", "'08:00:2b:01:02:04'::macaddr"),
    "bi": ("bit(8)", "i::bit(8)", "~bi"),
    "bv": ("varbit", "i::bit(11)::varbit", "bv || B'0'"),
    "mo": ("money", "i::money", "mo + 0.01::money"),
    "po": ("point", "point(i, 0.1)", "po + point(0, 1)"),
    "xm": ("xml", "('<a>' || i || '</a>')::xml", "'<a/>'::xml"),
    "do": ("positive", "i + 1", '"do" + 1'),
    "co_null": ("pair", "row(null, null)::pair", "row(null, '')::pair"),
    "k0": ("int", "i", "k0 + 1"),  # names that the comparison itself uses
    "Segment": ("int", "i", '"Segment" + 1'),
    "co": ("pair", "row(i, 'x,y')::pair", "row(0, 'z')::pair"),
}  # fmt: skip


def columns() -> str:
    return ", ".join(f'"{name}" {kind}' for name, (kind, _, _) in KINDS.items())


def values() -> str:
    return ", ".join(f"case when i % 7 <> 0 then {value} end" for _, value, _ in KINDS.values())


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    pg.execute(
        "create type mood as enum ('ok', 'bad')",
        "create domain positive as int check (value > 0)",
        "create type pair as (a int, b text)",
        f"create table orders (order_id bigint primary key, updated_at timestamp not null default '2025-01-01', {columns()})",
        f"insert into orders select i, '2025-01-01', {values()} from generate_series(1, {ROWS}) i",
    )
    return Project.of(tmp_path, pg, capsys)


def test_every_kind_is_equal_after_a_pull_and_each_change_of_one_value_is_found_and_repaired(project: Project) -> None:
    pulled = project.json("pull")
    assert (pulled.code, pulled.table["pull"]["rows"]) == (0, ROWS), pulled
    project.settings["sweep"] = {"mode": "pushdown"}  # tests/conformance holds every kind in both modes
    clean = project.json("sweep")
    assert (clean.code, clean.table["unverified"], clean.drift) == (0, [], {}), clean
    assert clean.table["segments"]["unequal"] == 0, clean.table["segments"]

    # One row per kind where the column is not NULL, and one where the NULL becomes a value or a value NULL.
    changes = {}
    for place, (name, (_, _, step)) in enumerate(KINDS.items()):
        changes[8 + 7 * place] = name
        project.database.execute(f'update orders set "{name}" = {step} where order_id = {8 + 7 * place}')
    for place, name in enumerate(KINDS):
        changes[401 + 7 * place] = name
        project.database.execute(f'update orders set "{name}" = null where order_id = {401 + 7 * place}')

    project.settings["sweep"] = {"mode": "stream"}
    sweep = project.json("sweep")
    found = {item["key"]["order_id"]: item["columns"] for item in project.findings()}
    assert found == {key: [name] for key, name in changes.items()}
    assert sweep.drift == {"updated_without_watermark": 2 * len(KINDS)}
    assert sweep.table["unverified"] == []
    applied = project.json("apply", "latest", "--yes")
    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 2 * len(KINDS)), applied
    assert project.run("sweep").code == 0


KEY_KINDS = ("i8", "n", "n_free", "b", "t", "c", "by", "da", "ts", "tz", "ti", "iv", "u", "e", "jb", "ai", "ip", "bi")


def test_key_of_any_kinds_with_null_parts_names_its_rows_through_pull_sweep_and_apply(
    pg: Database, project: Project
) -> None:
    project.settings["sweep"] = {"mode": "pushdown"}
    names = ", ".join(f'"{name}"' for name in KEY_KINDS)
    pg.execute(
        'alter table orders rename to "Order Items"',
        'alter table "Order Items" add column "naïve Größe" int',
    )
    project.settings["source"] = {"table": '"Order Items"', "key": [*KEY_KINDS, "order_id"]}
    project.settings["compare"] = {"rename": {"naïve Größe": "size"}}
    pulled = project.json("pull")
    assert pulled.code == 0, pulled
    clean = project.run("sweep")
    assert clean.code == 0, clean.err
    pg.execute(
        'delete from "Order Items" where order_id = 15',
        "update \"Order Items\" set tz = tz + interval '1 microsecond' where order_id = 16",
        'update "Order Items" set xm = null where order_id = 17',
        f'insert into "Order Items" (order_id, updated_at, {names}) select 2000, updated_at, {names}'
        ' from "Order Items" where order_id = 21',
    )

    sweep = project.json("sweep")

    assert sweep.drift == {"late_arriving": 2, "updated_without_watermark": 1, "deleted": 2}, sweep
    keys = {item["key"]["tz"] for item in project.findings("--kind", "deleted")}
    assert all(key.endswith("Z") and "T" in key for key in keys), keys
    applied = project.json("apply", "latest", "--yes")
    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 5), applied
    assert project.run("sweep").code == 0
