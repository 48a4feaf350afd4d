"""`doctor` against a real PostgreSQL: what a role may, what a table lacks, and what does not answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from hudi_reconcile.cli.main import run
from tests.support.pooler import pooler
from tests.support.postgres import Database

CONFIG = """
version: 1
source: {{url: "postgresql+psycopg://{user}@{host}:{port}/{database}", password: "${{env:DOCTOR_PASSWORD}}"}}
tables:
  - name: orders
    source: {{table: {table}}}
    pull: {{strategy: timestamp, watermark: [updated_at]}}
    lake: {{path: lake/orders}}
"""
ORDERS = "create table orders (order_id bigint primary key, place regclass, updated_at timestamptz)"


@pytest.fixture
def reader(pg: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    role = f"{pg.name}_reader"
    pg.execute(ORDERS, f"create role {role} login password 'pw-1'", f"grant select on orders to {role}")
    monkeypatch.setenv("DOCTOR_PASSWORD", "pw-1")
    yield role
    pg.execute(f"drop owned by {role}", f"drop role {role}")


def doctor(folder: Path, pg: Database, user: str, capsys: pytest.CaptureFixture[str], **changed: object) -> Any:
    values = {"user": user, "host": pg.server.host, "port": pg.server.port, "database": pg.name, "table": "orders"}
    (folder / "reconcile.yaml").write_text(CONFIG.format(**{**values, **changed}))
    code = run(["-c", str(folder / "reconcile.yaml"), "doctor", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    return document


def statuses(document: Any) -> dict[str, str]:
    return {check["name"]: check["status"] for check in document["checks"]}


def test_plain_role_and_plain_table_pass_with_warnings(
    tmp_path: Path, pg: Database, reader: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = doctor(tmp_path, pg, reader, capsys)

    found = statuses(document)
    assert (document["exit_code"], document["error"]) == (0, None)
    warned = ("safe bound", "orders: watermark", "orders: columns")
    assert {found[name] for name in warned} == {"warn"}
    assert {found[name] for name in ("source", "orders: source", "orders: key", "orders: lake", "reports")} == {"ok"}
    assert "orders: role" not in found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reconcile.yaml"]


def test_grants_change_what_is_said(
    tmp_path: Path, pg: Database, reader: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pg.execute(f"grant pg_read_all_stats to {reader}", f"grant update on orders to {reader}")

    found = statuses(doctor(tmp_path, pg, reader, capsys))

    assert (found["safe bound"], found["orders: role"]) == ("ok", "warn")


@pytest.mark.parametrize(
    ("changed", "failing", "said"),
    [
        ({"table": "ordres"}, "orders: source", "does not exist"),
        ({"database": "nowhere"}, "source", "does not exist"),
        ({"port": 1}, "source", "cannot connect"),
    ],
)
def test_what_does_not_answer_fails_with_exit_2(
    tmp_path: Path,
    pg: Database,
    reader: str,
    capsys: pytest.CaptureFixture[str],
    *,
    changed: Any,
    failing: str,
    said: str,
) -> None:
    document = doctor(tmp_path, pg, reader, capsys, **changed)

    (bad,) = [check for check in document["checks"] if check["status"] == "fail"]
    assert (document["exit_code"], document["error"]["type"]) == (2, "UsageError")
    assert bad["name"] == failing
    assert said in bad["detail"]
    assert bad["fix"]


@pytest.mark.parametrize(("password", "failing"), [(None, "password"), ("wrong-1", "source")])
def test_password_that_is_missing_or_wrong_fails_and_is_never_shown(
    tmp_path: Path,
    pg: Database,
    reader: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    password: str | None,
    failing: str,
) -> None:
    if password is None:
        monkeypatch.delenv("DOCTOR_PASSWORD")
    else:
        monkeypatch.setenv("DOCTOR_PASSWORD", password)

    document = doctor(tmp_path, pg, reader, capsys)

    assert statuses(document)[failing] == "fail"
    assert "wrong-1" not in json.dumps(document)


def test_rows_that_the_watermark_hides_are_counted(
    tmp_path: Path, pg: Database, reader: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pg.execute(
        "insert into orders select i, null, case when i > 2 then now() - interval '1 hour' end from generate_series(1, 9) i",
        "insert into orders values (10, null, now() + interval '1 day')",
    )

    pg.execute("create table allow as select order_id as id from orders", f"grant select on allow to {reader}")

    document = doctor(tmp_path, pg, reader, capsys, table='orders, where: "order_id in (select id from allow)"')

    told = [check for check in document["checks"] if check["name"] == "orders: rows"]
    assert [check["status"] for check in told] == ["warn", "warn"]
    assert "2 rows have no updated_at (NULL)" in told[0]["detail"]
    assert "1 row has updated_at ahead of the database's clock" in told[1]["detail"]
    assert told[0]["fix"] == f"after pulls: hudi-reconcile -c {tmp_path}/reconcile.yaml sweep -t orders"


@pytest.mark.parametrize("does", ["refuses", "drops"])
def test_pooler_in_between_fails_with_the_way_past_it(
    does: Literal["refuses", "drops"], tmp_path: Path, pg: Database, reader: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"refuses": "turned our session away", "drops": "settings of our session are not in force"}[does]
    with pooler(pg.server.host, pg.server.port, does) as port:
        document = doctor(tmp_path, pg, reader, capsys, host="127.0.0.1", port=port)
        assert run(["-c", str(tmp_path / "reconcile.yaml"), "pull"]) == 3

    found = {check["name"]: check for check in document["checks"]}
    assert (document["exit_code"], found["source"]["status"]) == (2, "fail")
    assert said in found["source"]["detail"]
    assert "past the pooler" in found["source"]["fix"]
    assert said in capsys.readouterr().err


def test_column_that_the_lake_cannot_hold_fails_beside_a_rules_file_that_cannot_be_read(
    tmp_path: Path, pg: Database, reader: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pg.execute('alter table orders add "to-do" text')
    (tmp_path / "orders.yaml").write_text("rules: [")

    document = doctor(tmp_path, pg, reader, capsys, table="orders}\n    rules: orders.yaml\n    compare: {")

    failed = [check["detail"] for check in document["checks"] if check["status"] == "fail"]
    assert (document["exit_code"], sum("to-do" in detail for detail in failed), len(failed)) == (2, 1, 2), failed
