"""`init --from-database` on real servers: what is proposed, that `validate` and `doctor` accept it, and what is never written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.cli.main import run
from tests.support.mariadb import MariaDatabase
from tests.support.postgres import Database

Call = Callable[..., tuple[int, Any]]
HOSTILE = 'Größe ${env:HOME} "x"\n# a: b'
SECRET = "pw-never-shown"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command with `--format json`; gives code and document, and checks that no secret is in what it prints."""

    def called(*words: str) -> tuple[int, Any]:
        code = run([*words, "--format", "json"])
        told = capsys.readouterr()
        assert SECRET not in told.out + told.err
        return code, json.loads(told.out)

    return called


POSTGRES = (
    "create schema sales",
    """create table orders (order_id bigint generated always as identity primary key, status text,
       created_at timestamptz not null, updated_at timestamptz not null default now())""",
    "create index on orders (updated_at)",
    """create function touch() returns trigger language plpgsql as $$ begin new.updated_at := now(); return new; end $$""",
    "create trigger touch_orders before update on orders for each row execute function touch()",
    """create table sales.lines (a int not null, b text not null, modified timestamp, made_at date,
       unique (a, b), unique (b, made_at))""",
    "create table events (event_id bigserial primary key, created_at timestamptz not null, payload jsonb)",
    "create table countries (code char(2) primary key, name text, status_changed_at timestamptz)",
    f'create table "{HOSTILE.replace(chr(34), chr(34) * 2)}" ("a b" int primary key, place regclass)',
    "create table heap (note text, updated_at timestamptz)",
    "create table floats (id double precision primary key)",
    'create table twins (id int primary key, a int, "A" int)',
    "create view recent as select * from orders",
    "create materialized view totals as select 1 as one with no data",
    "create table hidden (id int primary key)",
    "create table guarded (id int primary key)",
    "alter table guarded enable row level security",
    """create table measured (id bigint, at timestamptz, value int, primary key (id, at)) partition by range (at)""",
    "create table measured_1 partition of measured for values from ('2026-01-01') to ('2026-02-01')",
)


def test_config_that_is_proposed_of_a_postgresql_catalog_is_accepted_by_validate_and_doctor(
    pg: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    role = f"{pg.name}_reader"
    pg.execute(*POSTGRES, f"create role {role} login password '{SECRET}'", f"grant usage on schema sales to {role}")
    pg.execute(f"grant select on all tables in schema public, sales to {role}", f"revoke all on hidden from {role}")
    monkeypatch.setenv("READER_PASSWORD", SECRET)
    monkeypatch.chdir(tmp_path)
    url = f"postgresql+psycopg://{role}@{pg.server.host}:{pg.server.port}/{pg.name}"
    ask = ("init", "shop", "--from-database", "--no-input", "--url", url, "--password-ref", "${env:READER_PASSWORD}")
    try:
        code, document = call(*ask)

        assert (code, document["error"]) == (0, None)
        text = Path("shop/reconcile.yaml").read_text()
        assert SECRET not in text
        found = {one["source_table"]: one for one in document["tables"]}
        orders, lines = found["public.orders"], found["sales.lines"]
        assert values(orders) == (["order_id"], "timestamp+incrementing", ["updated_at"], "order_id")
        assert "trigger touch_orders sets it at each update" in orders["watermark"]["reason"]
        assert orders["unknown"] == []
        assert values(lines) == (["a", "b"], "timestamp", ["modified"], None)
        said = ("the zone of modified", "rows of which modified is NULL", "whether every writer sets modified")
        assert [text.startswith(word) for text, word in zip(lines["unknown"], said, strict=True)] == [True] * 3
        assert (lines["name"], values(found["public.events"])[1]) == ("sales.lines", "incrementing")
        assert values(found["public.countries"]) == (["code"], "full", [], None)
        assert values(found["public.floats"])[0] == ["id"]
        assert found["public.measured"]["partition_by"]["value"] == ["month(at)"]
        (odd,) = (one for name, one in found.items() if "Größe" in name)
        assert odd["rename"] == {"a b": "a_b"}
        left_out = {one["source_table"]: one["why"] for one in document["left_out"]}
        assert {name: left_out.pop(f"public.{name}") for name in ("hidden", "guarded")} == {
            "hidden": f'this role may not read it: GRANT SELECT ON public.hidden TO "{role}"',
            "guarded": f'row-level security would hide rows from this role: ALTER ROLE "{role}" BYPASSRLS',
        }
        assert set(left_out) == {"public.heap", "public.twins", "public.recent", "public.totals"}
        assert re.search(r"^      key: \[order_id\] +# the primary key$", text, re.MULTILINE)

        config = ("-c", "shop/reconcile.yaml")
        assert call(*config, "config", "validate")[0] == 0
        code, doctor = call(*config, "doctor")
        assert (code, [one for one in doctor["checks"] if one["status"] == "fail"]) == (0, [])
        # The source of a config, and a choice of its tables; what is there stays.
        assert call(*ask)[0] == 2
        assert call(*config, "init", "other", "--from-database", "-t", "sales.*")[0] == 0
        assert "sales.lines" in Path("other/reconcile.yaml").read_text()
        assert "orders" not in Path("other/reconcile.yaml").read_text()
        assert call("-c", "other/reconcile.yaml", "doctor")[0] == 0
        assert (
            "no table fits -t" in call(*config, "init", "third", "--from-database", "-t", "sale")[1]["error"]["message"]
        )
        assert call(*config, "init", "third", "--from-database", "--schema", "nowhere")[0] == 2
        assert not Path("third").exists()
    finally:
        pg.execute(f"drop owned by {role}", f"drop role {role}")


def test_thousand_tables_are_proposed_in_files_that_together_are_one_valid_config(
    pg: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    pg.execute("do $$ begin for i in 1..1000 loop execute 'create table t' || i || ' (id bigserial primary key,"
               " updated_at timestamptz not null)'; end loop; end $$")  # fmt: skip
    (tmp_path / "pw").write_text(pg.server.password)
    monkeypatch.chdir(tmp_path)
    url = f"postgresql+psycopg://{pg.server.user}@{pg.server.host}:{pg.server.port}/{pg.name}"

    code, document = call("init", "--from-database", "--no-input", "--url", url, "--password-ref", "${file:pw}")

    assert (code, len(document["tables"])) == (0, 1000)
    assert [Path(name).name for name in document["files"]] == [
        "reconcile.yaml", "001.yaml", "002.yaml", "003.yaml", "004.yaml", ".gitignore",
    ]  # fmt: skip
    code, checked = call("config", "validate")
    assert (code, len(checked["tables"])) == (0, 1000)


MARIA = (
    """create table orders (id bigint unsigned auto_increment primary key, created datetime not null,
       changed timestamp(6) not null default current_timestamp(6) on update current_timestamp(6), index (changed))""",
    """create table `Order Items` (item int not null, part varchar(20) not null, updated_on datetime,
       created_on datetime not null, unique (item, part))""",
    "create table heap (note text)",
    "create view recent as select * from orders",
    """create table measured (id bigint, at datetime, primary key (id, at)) partition by range columns (at)
       (partition p0 values less than ('2026-01-01'), partition p1 values less than (maxvalue))""",
)


def test_config_that_is_proposed_of_a_mariadb_catalog_is_accepted_by_validate_and_doctor(
    maria: MariaDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    maria.execute(*MARIA)
    (tmp_path / "pw").write_text(maria.server.password)
    monkeypatch.chdir(tmp_path)
    url = f"mysql+pymysql://{maria.server.user}@{maria.server.host}:{maria.server.port}/{maria.name}"

    code, document = call("init", "--from-database", "--no-input", "--url", url, "--password-ref", "${file:pw}")

    assert (code, document["error"]) == (0, None)
    found = {one["source_table"]: one for one in document["tables"]}
    assert set(found) == {"orders", "`Order Items`", "measured"}
    assert values(found["orders"]) == (["id"], "timestamp+incrementing", ["changed"], "id")
    assert "ON UPDATE CURRENT_TIMESTAMP sets it at each update" in found["orders"]["watermark"]["reason"]
    items = found["`Order Items`"]
    assert (items["name"], values(items)) == (
        "Order_Items", (["item", "part"], "timestamp", ["updated_on", "created_on"], None),
    )  # fmt: skip
    assert found["measured"]["partition_by"]["value"] == ["month(at)"]
    assert {one["source_table"] for one in document["left_out"]} == {"heap", "recent"}
    assert call("config", "validate")[0] == 0
    code, doctor = call("doctor")
    assert (code, [one for one in doctor["checks"] if one["status"] == "fail"]) == (0, [])


def values(table: Any) -> tuple[list[str], str, list[str], str | None]:
    """Key, strategy, watermark and id as they are proposed."""
    key, strategy, watermark, number = (
        table[name]["value"] for name in ("key", "strategy", "watermark", "incrementing")
    )
    return key, strategy, watermark, number
