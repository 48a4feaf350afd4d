"""Settings of the tool's own against odd spellings, on real servers and tables: refused at load, and without effect past it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from psycopg import sql
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.databases.postgres.engine import PostgresEngine
from hudi_reconcile.databases.urls import build_connection
from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.lake.support import checkpoint, frame, new_table, table_of
from tests.integration.project import Project
from tests.integration.source.support import engine
from tests.support.postgres import Database

pytestmark = pytest.mark.usefixtures("spark")  # commands join the one session: a JVM of their own each costs 10 s

SCHEMA = "id int, at timestamp_ntz, amount decimal(10,2), note string, _hr_read_seq bigint"
PLANTED = {"opTions": "-c application_name=x", "sessionInitStatement": "create table pwned_by_init(i int)"}
STOLEN = {
    "hoodie.Table.name": "stolen",
    "hoodie.TABLE.type": "MERGE_ON_READ",
    "hoodie.datasource.Write.table.type": "MERGE_ON_READ",
    "hoodie.Datasource.write.recordkey.field": "note",
    "hoodie.table.Ordering.fields": "at",
    "hoodie.Record.merge.mode": "COMMIT_TIME_ORDERING",
    "hoodie.Datasource.write.commitmeta.key.prefix": "stolen_",
    "hoodie.Write.concurrency.mode": "SINGLE_WRITER",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
}


def test_planted_jdbc_options_are_refused_at_load_and_have_no_effect_past_it(
    pg: Database, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pg.execute("create table orders (order_id bigint primary key, updated_at timestamp)")
    project = Project.of(tmp_path, pg, capsys)
    project.source["jdbc"] = PLANTED

    ran = project.json("pull")
    with engine(pg, jdbc_options=tuple(PLANTED.items())) as found:
        target = found.jdbc()
    asked = "(select current_setting('default_transaction_read_only') || current_setting('row_security') as said) x"
    (row,) = spark.read.jdbc(target.url, asked, properties=dict(target.properties)).collect()

    assert (ran.code, ran.document["error"]["type"]) == (2, "ConfigError")
    assert [problem.split(": ")[1] for problem in ran.document["error"]["problems"]] == [
        "source.jdbc.opTions", "source.jdbc.sessionInitStatement",
    ]  # fmt: skip
    assert row["said"] == "onoff"
    assert pg.query("select to_regclass('pwned_by_init')") == [(None,)]


def test_database_with_an_odd_name_is_read_by_both_drivers_and_names_no_parameter(
    pg: Database, spark: SparkSession
) -> None:
    name = f"ü a&b?socketFactory=c%26+d {pg.name}"
    with pg.connect(autocommit=True) as admin:
        admin.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
    try:
        server = pg.server
        url = f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{quote(name, safe='')}"
        found = PostgresEngine(build_connection(url, server.password))
        target = found.jdbc()
        (here,) = found.rows("select current_database() as name")
        found.close()
        (there,) = spark.read.jdbc(
            target.url, "(select current_database()::text as name) x", properties=dict(target.properties)
        ).collect()
    finally:
        with pg.connect(autocommit=True) as admin:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))

    assert (here["name"], there["name"]) == (name, name)


def test_hudis_own_record_of_a_table_and_its_commits_keeps_our_options_whatever_case_others_come_in(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "orders"
    with pytest.raises(UsageError, match=r"hoodie\.Table\.name"):
        HudiLake(spark, str(path), name="orders", options=STOLEN)
    lake = HudiLake(spark, str(path), name="orders", options={})
    object.__setattr__(lake._options, "overrides", STOLEN)  # as if nobody had looked

    lake.create(frame(spark, SCHEMA, (1, None, None, "a", 1)), new_table("copy_on_write"), checkpoint(1), {})
    lake.upsert(frame(spark, SCHEMA, (1, None, None, "b", 2)), table_of(lake), checkpoint(2), {})

    written = (path / ".hoodie" / "hoodie.properties").read_text("utf-8").splitlines()
    kept = dict(line.split("=", 1) for line in written if not line.startswith("#"))
    assert {name: kept[f"hoodie.{name}"] for name in ("table.name", "table.type", "table.recordkey.fields")} == {
        "table.name": "orders", "table.type": "COPY_ON_WRITE", "table.recordkey.fields": "id",
    }  # fmt: skip
    assert kept["hoodie.table.ordering.fields"] == "_hr_read_seq"
    assert kept["hoodie.record.merge.mode"] == "EVENT_TIME_ORDERING"
    assert "NonpartitionedKeyGenerator" in kept.get("hoodie.table.keygenerator.class", "NonpartitionedKeyGenerator")
    assert "stolen" not in "\n".join(written)
    found = lake.find_checkpoint()  # from the commits' own metadata
    assert found is not None
    assert found.checkpoint == checkpoint(2)
