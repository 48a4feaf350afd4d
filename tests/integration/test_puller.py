"""The puller through the command line on real parts: properties instead of a config, replacing a table, a query as source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.config.hoodiestreamer.properties import parse_properties
from hudi_reconcile.config.load import load_config
from hudi_reconcile.demo.shop import Shop, open_shop
from tests.integration.project import Project, in_lake, in_source
from tests.support.docs import ROOT
from tests.support.postgres import Database

COLUMNS = ("order_id", "status", "updated_at")


def fill(pg: Database, rows: int = 200) -> None:
    pg.execute(
        "create table orders (order_id bigint primary key, status text, updated_at timestamp)",
        "insert into orders select i, 's' || i % 3, timestamp '2025-01-01' + i * interval '1 s'"
        f" from generate_series(1, {rows}) i",
    )


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run([*arguments, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_properties_file_pulls_and_the_config_made_of_it_sweeps_the_same_table(
    spark: SparkSession,
    pg: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file of examples/, in the demo's database, within --source-limit first."""
    monkeypatch.chdir(tmp_path)
    shop = open_shop(pg.server, 200)
    try:
        _pull_and_sweep(Database(pg.server, "shop"), shop, tmp_path, capsys)
    finally:
        with pg.connect(autocommit=True) as admin:
            admin.execute("drop database shop with (force)")
            admin.execute("drop role reader")
    _same_as_java(spark)


def _pull_and_sweep(database: Database, shop: Shop, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "secrets").mkdir(mode=0o700)
    secret = folder / "secrets" / "shop_password"
    secret.write_text(f"{shop.reader_password}\n")
    secret.chmod(0o600)
    text = (ROOT / "examples" / "hoodiestreamer" / "orders.properties").read_text("utf-8")
    place = f"jdbc:postgresql://{database.server.host}:{database.server.port}/shop"
    assert "jdbc:postgresql://127.0.0.1:5432/shop" in text
    (folder / "orders.properties").write_text(text.replace("jdbc:postgresql://127.0.0.1:5432/shop", place))

    first = called(capsys, "pull", "--props", "orders.properties", "--source-limit", "150")
    second = called(capsys, "pull", "--props", "orders.properties")
    database.execute("delete from orders where order_id = 7")
    third = called(capsys, "pull", "--props", "orders.properties")

    told = [(code, *(found["tables"][0]["pull"][name] for name in ("rows", "pages", "reached_bound", "mode")))
            for code, found in (first, second, third)]  # fmt: skip
    assert told == [
        (0, 150, 1, False, "full"), (0, 50, 1, True, "incremental"), (0, 0, 0, True, "incremental"),
    ]  # fmt: skip
    assert len(list((folder / "reports").glob("*/result.json"))) == 3
    assert called(capsys, "init", "--from-props", "orders.properties")[0] == 0
    config = folder / "reconcile.yaml"
    written = config.read_text("utf-8")
    assert f"${{file:{secret}}}" in written
    config.write_text(written.replace(f"${{file:{secret}}}", f"${{file:{secret.as_uri()}}}"))  # read by Hadoop
    code, swept = called(capsys, "sweep")
    assert code == 1, swept
    assert {kind: count for kind, count in swept["tables"][0]["findings"].items() if count} == {"deleted": 1}
    config.write_text(written.replace(f"${{file:{secret}}}", f"${{file:{secret.as_uri()}.none}}"))
    code, refused = called(capsys, "sweep")
    assert (code, "FileNotFoundException" in refused["error"]["message"]) == (2, True), refused


def _same_as_java(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    for text in (
        "a=b\n c : d\n\te\tf\ng\\ h\\=i=j\n#no\n!no\nk=l\\\n   m\\\\\nn=\\u00e9\\t\\q\n\\\n#o=p\nq=r\\\n\n=s\nt==u\nv=\\",
        "a\\:b\\\r\n  c d = e \rf\fg\r\n\\u0041=\\ x \n" + "h" * 3 + "\\",
        "\\\n\n  \\\n  # no\nend=1\\\n",
    ):
        found = jvm.java.util.Properties()
        found.load(jvm.java.io.StringReader(text))
        java = {str(name): str(found.getProperty(name)) for name in found.stringPropertyNames().toArray()}
        assert {one.key: one.value for one in parse_properties(text)} == java


@pytest.mark.parametrize("strategy", ["incrementing", "timestamp"])
def test_incremental_column_of_a_properties_file_is_a_number_or_a_time_as_the_database_says(
    pg: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    strategy: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    column = "order_id" if strategy == "incrementing" else "updated_at"
    fill(pg)
    (tmp_path / "password").write_text(pg.server.password)
    (tmp_path / "password").chmod(0o600)
    keys = {
        "url": f"jdbc:postgresql://{pg.server.host}:{pg.server.port}/{pg.name}",
        "user": pg.server.user,
        "password.file": "password",
        "table.name": "public.orders",
        "incremental.pull": "true",
        "table.incremental.column.name": column,
    }
    lines = [f"hoodie.datasource.jdbc.{key}={value}" for key, value in keys.items()]
    lines += ["hoodie.table.name=orders", "hoodie.base.path=lake/orders"]
    (tmp_path / "orders.properties").write_text("\n".join(lines))

    assert called(capsys, "init", "--from-props", "orders.properties")[0] == 0

    (table,) = load_config(tmp_path / "reconcile.yaml", {}).tables
    assert (table.pull.strategy, table.pull.incrementing, table.pull.watermark) == (
        (strategy, column, ()) if strategy == "incrementing" else (strategy, None, (column,))
    )


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_full_pull_replaces_the_table_within_the_policy(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], table_type: str
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    fill(pg)
    project.settings["pull"] = {"strategy": "full"}
    project.settings["lake"] |= {"type": table_type}
    project.settings["lake"] |= {"partition_by": ["status"]} if table_type == "copy_on_write" else {}
    project.settings["policy"] = {"max_deletes": 20}
    assert project.json("pull").code == 0
    pg.execute("delete from orders where order_id <= 30", "update orders set status = 's9' where order_id = 40")

    refused = project.json("pull")
    assert (refused.code, refused.document["error"]["type"]) == (5, "RefusedError")
    assert {guard["name"]: guard["ok"] for guard in refused.table["guards"]} == {
        "empty_source": True, "max_deletes": False, "max_delete_share": False,
    }  # fmt: skip
    assert len(in_lake(spark, project, "order_id")) == 200
    assert project.json("pull", "--approve-deletes", "30").code == 0

    assert in_lake(spark, project, *COLUMNS) == in_source(project, *COLUMNS)
    assert project.json("sweep").code == 0
    pg.execute("truncate orders")
    assert project.json("pull", "--approve-deletes", "170").code == 5
    assert len(in_lake(spark, project, "order_id")) == 170
    assert project.json("pull", "--approve-deletes", "170", "--allow-empty-source").code == 0
    assert in_lake(spark, project, "order_id") == []
    pg.execute("insert into orders values (1, 'again', '2025-03-01')")
    assert project.json("pull").table["pull"]["rows"] == 1
    assert in_lake(spark, project, *COLUMNS) == in_source(project, *COLUMNS)
    assert project.json("sweep").code == 0


def test_query_is_pulled_and_swept_as_a_table_and_one_that_lies_is_never_clean(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    fill(pg)
    query = """
        with paid as (select order_id, status, updated_at::timestamptz(3) as seen, '{"a": [1, 2]}'::jsonb -> 'a' as doc,
                             (order_id * 1.10)::numeric(12,2) as amount, 'x:y'::varchar(9) as note, 100 % 7 as rest
                        from orders where order_id % 2 = 0)
        select * from paid -- one row an order: its own :note
    """
    project.settings["source"] = {"query": query, "key": ["order_id"]}
    project.settings["pull"] = {"strategy": "full"}

    first = project.json("pull")
    assert (first.code, first.table["pull"]["rows"]) == (0, 100), first
    assert first.table["columns"]["source"] == {
        "order_id": "bigint", "status": "text", "seen": "timestamp(3) with time zone", "doc": "jsonb",
        "amount": "numeric(12,2)", "note": "character varying(9)", "rest": "integer",
    }  # fmt: skip
    clean = project.json("sweep")
    assert (clean.code, clean.document["outcome"]) == (0, "clean"), clean
    pg.execute("delete from orders where order_id = 10", "update orders set status = 'z' where order_id = 20")
    assert project.json("sweep").drift == {"deleted": 1, "updated_without_watermark": 1}
    project.settings["policy"] = {"max_delete_share": "50%"}
    assert project.json("pull").code == 0
    assert project.json("sweep").code == 0
    assert len(in_lake(spark, project, "order_id")) == 99
    assert project.run("doctor").code in (0, 2)

    project.settings["source"]["query"] = "select order_id, status, random() as dice from orders"
    project.settings["lake"]["path"] = "lake/dice"
    assert project.json("pull").code == 0
    lying = project.json("sweep")
    assert lying.code == 3
    assert any("moving rows" in one["why"] for one in lying.table["unverified"])
    project.settings["source"]["query"] = "select order_id fro orders"
    assert project.json("pull").code == 2
