"""Connection properties by allow-list: what a driver may be told, in any spelling; the rest needs trust_properties."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import parse_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.databases.jdbc.products import PRODUCTS
from hudi_reconcile.databases.registry import known_drivers

POSTGRES, MARIADB, DERBY = "postgresql://reader@h/d", "mariadb+pymysql://reader@h/d", "jdbc:derby:/data/shop"
FILE = """\
version: 1
source:
  url: '%s'
  jdbc: %s
%stables:
  - {name: orders, source: {table: orders, key: [id]}, lake: {path: lake}}
"""


def load(url: str, jdbc: str = "{}", more: str = "") -> Config:
    text = FILE % (url, jdbc, more and f"  {more}\n")
    return parse_config(text, Place("reconcile.yaml", Path("/base")), {}, read_text_file).config


def problems(url: str, jdbc: str = "{}", more: str = "") -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(url, jdbc, more)
    return caught.value.problems


@pytest.mark.parametrize("url", [POSTGRES, MARIADB, DERBY])
@pytest.mark.parametrize(
    "key",
    [
        "sessionInitStatement", "SESSIONINITSTATEMENT", "prepareQuery", "dbTable", "customSchema", "socketFactory",
        "socketFactoryArg", "sslfactory", "sslHostnameVerifier", "loggerFile", "loggerLevel", "authenticationPluginClassName",
        "autosave", "jaasApplicationName", "credentialType", "plugins", "serverRsaPublicKeyFile", "traceFile", "INIT",
        "TRACE_LEVEL_FILE", "bootPassword", "shutdown", "drop", "session_init_sql_file",
    ],
)  # fmt: skip
def test_key_that_runs_sql_or_loads_code_is_refused_on_its_line(url: str, key: str) -> None:
    (problem,) = problems(url, f"{{{key}: x}}")

    assert problem.startswith(f"reconcile.yaml:4: source.jdbc.{key}: ")


@pytest.mark.parametrize(
    ("url", "keys"),
    [
        (POSTGRES, ["options", "opTions", "User", "currentSchema", "prepareThreshold", "readOnly", "sslmode"]),
        (MARIADB, ["initSql", "INITSQL", "sessionVariables", "allowLocalInfile", "user", "permitRedirect", "sslMode"]),
        (DERBY, ["query", "preferTimestampNTZ", "pushDownPredicate"]),
    ],
)
def test_key_that_the_tool_sets_itself_is_refused_whoever_is_trusted(url: str, keys: list[str]) -> None:
    for key in keys:
        for more in ("", "trust_properties: true"):
            (problem,) = problems(url, f"{{{key}: x}}", more)
            assert "is set by the tool" in problem or "belongs into source.url" in problem


def test_refusal_names_the_nearest_legal_key_all_of_them_and_the_way_past() -> None:
    (problem,) = problems(POSTGRES, "{conectTimeout: 5}")

    assert "did you mean connectTimeout?" in problem
    assert "legal: fetchsize, queryTimeout, ApplicationName, connectTimeout" in problem
    assert "source.trust_properties: true" in problem


@pytest.mark.parametrize(
    ("jdbc", "said"),
    [
        ("{fetchsize: 1, FetchSize: 2}", "source.jdbc.FetchSize: is another spelling of fetchsize"),
        ("{'fetchsize ': 1}", "source.jdbc.fetchsize : holds a character that no option has"),
        ("{optıons: x}", "holds a character that no option has"),  # noqa: RUF001 - Java's equalsIgnoreCase takes it for an i
        ("{fetchsize: many}", "source.jdbc.fetchsize: expected a whole number from 1 up"),
        ("{socketTimeout: 0}", "source.jdbc.socketTimeout: expected a whole number from 1 up"),
        ("{ApplicationName: 'a&b=c'}", "source.jdbc.ApplicationName: expected at most 64 letters"),
    ],
)
def test_odd_spelling_or_value_is_refused(jdbc: str, said: str) -> None:
    assert any(said in problem for problem in problems(POSTGRES, jdbc))


@pytest.mark.parametrize(
    ("url", "jdbc"),
    [
        (POSTGRES, "{fetchsize: 500, QUERYTIMEOUT: 30, socketTimeout: '60', tcpKeepAlive: true, ApplicationName: 'a b: c/d'}"),
        (MARIADB, "{fetchsize: 500, connectTimeout: 5000, useCompression: true}"),
        (DERBY, "{user: reader, fetchsize: 10}"),
        ("jdbc:derby://h:1527/shop;create=false;ssl=basic", "{user: reader}"),
        ("jdbc:h2:/data/shop", "{user: reader}"),
        ("jdbc:h2:tcp://host:9092/~/shop;SCHEMA=A;ifexists=true", "{}"),
        ("jdbc:h2:file:/data/my-ü&shop;ACCESS_MODE_DATA=r", "{}"),
        ("jdbc:duckdb:/data/shop.db", "{threads: 2}"),
        ("jdbc:sap://host:39015/?databaseName=SHOP&encrypt=true", "{user: READER}"),
        ("jdbc:tibero:thin:@host:8629:SHOP", "{user: r}"),
        ("jdbc:teradata://host/DATABASE=shop,TMODE=ANSI", "{user: r}"),
        ("jdbc:db2://host:50000/SHOP", "{}"),
        ("jdbc:db2://host:50000/SHOP:currentSchema=A;sslConnection=true;", "{}"),
        ("jdbc:oracle:thin:@//host:1521/shop.example", "{user: r}"),
        ("jdbc:sqlserver://host\\inst;databaseName=shop;encrypt=true", "{user: 'DOM\\r'}"),
    ],
)  # fmt: skip
def test_what_the_docs_name_and_databases_need_is_legal(url: str, jdbc: str) -> None:
    assert load(url, jdbc).source.url == url


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("jdbc:h2:/data/shop;INIT=RUNSCRIPT", "attribute INIT: is nothing that H2 may be told"),
        ("jdbc:h2:/data/shop;SCHEMA=a\\;init=b", "attribute SCHEMA: expected a name"),
        ("jdbc:h2:/data/shop;IFEXISTS=FALSE", "attribute IFEXISTS: expected true"),
        ("jdbc:h2:/data/shop;TRACE_LEVEL_FILE=3", "attribute TRACE_LEVEL_FILE: is nothing"),
        ("jdbc:h2:/data/shop;AUTO_SERVER=TRUE", "attribute AUTO_SERVER: is nothing"),
        ("jdbc:h2:zip:/data/shop.zip!/a", "not a URL of H2"),
        ("jdbc:derby:/data/shop;create=true", "attribute create: expected false"),
        ("jdbc:derby:/data/shop;Create=TRUE", "attribute Create: expected false"),
        ("jdbc:derby:/data/shop;create=false;create=true", "attribute create is another spelling"),
        ("jdbc:derby:/data/shop;shutdown=true", "attribute shutdown: is nothing that Apache Derby"),
        ("jdbc:derby:memory:shop;drop=true", "not a URL of Apache Derby"),
        ("jdbc:derby:classpath:shop", "not a URL of Apache Derby"),
        ("jdbc:duckdb:md:shop", "not a URL of DuckDB"),
        ("jdbc:duckdb:https://evil.example/x.db", "not a URL of DuckDB"),
        ("jdbc:duckdb:/data/x.db;session_init_sql_file=/tmp/x.sql", "attribute session_init_sql_file: is nothing"),
        ("jdbc:duckdb:/data/x.db;access_mode=read_write", "attribute access_mode: expected read_only"),
        ("jdbc:sap://host:39015/?traceFile=/tmp/x", "attribute traceFile: is nothing that SAP HANA"),
        ("jdbc:sqlserver://host;trustServerCertificate=true", "attribute trustServerCertificate: expected false"),
        ("jdbc:sqlserver://host;databaseName={a;socketFactoryClass=b}", "attribute databaseName: expected a name"),
        ("jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=h)))", "not a URL of Oracle"),
        ("jdbc:oracle:thin:@ldap://evil.example/x,cn=y", "not a URL of Oracle"),
        ("jdbc:oracle:thin:@shop?TNS_ADMIN=/tmp", "not a URL of Oracle"),
        ("jdbc:db2://h:1/S:clientRerouteServerListJNDIName=x;", "attribute clientRerouteServerListJNDIName: is nothing"),
        ("jdbc:teradata://host/RUNSTARTUP=ON", "attribute RUNSTARTUP: is nothing that Teradata"),
        ("jdbc:teradata://host/DATABASE='a,RUNSTARTUP=ON'", "attribute DATABASE: expected a name"),
        ("jdbc:derby:/data/shop;hunter2", "holds something after the place that is no key=value"),
        ("jdbc:hsqldb:file:/x", "no JDBC driver is known for jdbc:hsqldb (known: h2, derby,"),
        ("jdbc:hive2://h:1/d", "no JDBC driver is known for jdbc:hive2"),
    ],
)  # fmt: skip
def test_url_attribute_scheme_or_form_that_is_not_listed_is_refused(url: str, said: str) -> None:
    (problem,) = problems(url.replace("'", "''"))

    assert problem.startswith("reconcile.yaml:3: source.url: ")
    assert said in problem
    assert "hunter2" not in problem
    assert "evil" not in problem


def test_only_known_driver_classes_are_loaded() -> None:
    (problem,) = problems(DERBY, "{}", "driver: org.apache.derby.jdbc.EmbeddedDrivr")

    assert problem.startswith("reconcile.yaml:5: source.driver: is no JDBC driver that is known")
    assert "did you mean org.apache.derby.jdbc.EmbeddedDriver?" in problem
    assert problems("jdbc:foo://h/d", "{}", "driver: a.Driver")


@pytest.mark.parametrize(
    ("url", "jdbc", "more"),
    [
        ("jdbc:foo://host/shop;INIT=x", "{anything: x, sslfactory: a.B}", "trust_properties: true\n  driver: a.Driver"),
        ("jdbc:derby:/data/shop;create=true", "{}", "trust_properties: true"),
        (POSTGRES, "{sslfactory: a.B}", "trust_properties: true"),
    ],
)
def test_trust_passes_on_what_is_not_listed(url: str, jdbc: str, more: str) -> None:
    assert load(url, jdbc, more).source.trust_properties


def test_trust_does_not_make_a_password_in_the_url_legal() -> None:
    (problem,) = problems("jdbc:foo://h/d;password=hunter2", "{}", "trust_properties: true")

    assert "holds a password" in problem


def classes() -> list[str]:
    return [name for one in known_drivers().values() for name in one.classes]


def test_every_product_has_its_driver_on_the_list() -> None:
    assert set(PRODUCTS) <= set(known_drivers())
    assert {one.driver for one in PRODUCTS.values()} <= set(classes())


def test_docs_list_what_each_driver_may_be_told() -> None:
    text = (Path(__file__).parents[3] / "docs" / "jdbc.md").read_text("utf-8")
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \|$", text.split("## What a driver may be told")[1].split("## ")[0], re.MULTILINE
    )
    told = {title: re.findall(r"`([^`]+)`", keys) for title, keys in rows if title != "driver"}

    assert told == {one.title: list(one.keys) for one in known_drivers().values()}
    assert [name for name in classes() if f"`{name}`" not in text and name not in text.split("## Products")[1]] == [
        "org.postgresql.Driver", "org.mariadb.jdbc.Driver",
    ]  # fmt: skip


def lake_problems(options: str) -> tuple[str, ...]:
    text = (FILE % (POSTGRES, "{}", "")).replace("path: lake", f"path: lake, options: {options}")
    with pytest.raises(ConfigError) as caught:
        parse_config(text, Place("reconcile.yaml", Path("/base")), {}, read_text_file)
    return caught.value.problems


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.Write.concurrency.mode", "hoodie.Clean.failed.writes.policy", "hoodie.Table.name", "hoodie.TABLE.type",
        "hoodie.table.keygenerator.class", "hoodie.table.timeline.timezone", "hoodie.base.Path", "hoodie.Precommit.validators",
        "hoodie.datasource.write.record.merger.impls", "hoodie.compaction.payload.class", "hoodie.write.ignore.failed",
        "hoodie.datasource.write.table.name", "hoodie.timeline.path", "hoodie.errortable.enable", "hoodie.writestatus.class",
    ],
)  # fmt: skip
def test_option_that_hudi_gets_from_the_tool_is_refused_in_any_case_and_under_its_older_names(key: str) -> None:
    (problem,) = lake_problems(f"{{{key}: x}}")

    assert problem.startswith(f"reconcile.yaml:6: tables[0].lake.options.{key}: is set by the tool itself")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{hoodie.keep.max.commits: 9, hoodie.Keep.max.commits: 8}", "is another spelling of hoodie.keep.max.commits"),
        ("{'hoodie.table.name ': x}", "holds a character that no option of Hudi's has"),
        ("{hoodie.tаble.name: x}", "holds a character that no option of Hudi's has"),  # noqa: RUF001 - a Cyrillic letter
        ("{Hoodie.table.name: x}", "must start with `hoodie.`"),
    ],
)
def test_two_spellings_blanks_and_look_alikes_are_refused(options: str, said: str) -> None:
    assert any(said in problem for problem in lake_problems(options))


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.write.lock.provider", "hoodie.write.lock.zookeeper.url", "hoodie.clustering.plan.strategy.class",
        "hoodie.table.services.enabled", "hoodie.metadata.enable", "hoodie.bucket.index.num.buckets",
        "hoodie.write.commit.callback.http.url", "hoodie.metadata.index.column.stats.inMemory.projection.threshold",
        "hoodie.datasource.hive_sync.jdbcurl", "hoodie.parquet.compression.codec",
    ],
)  # fmt: skip
def test_option_that_is_the_users_own_stays_legal(key: str) -> None:
    text = (FILE % (POSTGRES, "{}", "")).replace("path: lake", f"path: lake, options: {{{key}: x}}")

    loaded = parse_config(text, Place("reconcile.yaml", Path("/base")), {}, read_text_file)
    assert loaded.config.tables[0].lake.options == {key.lower(): "x"}


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ("{spark.Master: local}", "use `spark: {master: …}`"),
        ("{'spark.jars ': /x.jar}", "without blanks"),
        ("{spark.executor.memory: 1g, spark.executor.Memory: 2g}", "is another spelling of spark.executor.memory"),
    ],
)
def test_odd_spelling_of_a_spark_setting_is_refused(conf: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(
            f"spark: {{conf: {conf}}}\n" + FILE % (POSTGRES, "{}", ""), Place("r", Path("/")), {}, read_text_file
        )

    (problem,) = caught.value.problems
    assert said in problem
