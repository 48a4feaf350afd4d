from __future__ import annotations

import re
from dataclasses import replace

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.settings import HUDI_EXTENSION, REQUIRED, Launch, Machine, build_session_conf, place_jars

MACHINE = Machine(cores=2, memory_bytes=8 << 30)
LOCAL = Launch(master="local[2]", jars=("/jars/a.jar", "/jars/b.jar"), log_settings="/log.properties", scratch="/tmp")


def test_session_has_every_setting_that_correctness_needs_and_the_jars() -> None:
    conf = build_session_conf({}, LOCAL, MACHINE)

    assert conf.items() >= REQUIRED.items()
    assert conf["spark.jars"] == "/jars/a.jar,/jars/b.jar"
    assert conf["spark.sql.extensions"] == HUDI_EXTENSION
    assert "-Duser.timezone=UTC" in conf["spark.driver.extraJavaOptions"]
    assert "-Duser.timezone=UTC" in conf["spark.executor.extraJavaOptions"]


def test_jars_of_the_executors_machines_are_refused_where_the_drivers_class_path_cannot_name_one() -> None:
    with pytest.raises(UsageError, match=r"jars\.executor_folder: .*/b:c/d\.jar, whose path has a colon"):
        place_jars(["/a.jar", "/b:c/d.jar"], "/opt/jars", "spark://h:7077")
    assert place_jars(["/b:c/d.jar"], None, "spark://h:7077") == ([], ["/b:c/d.jar"], [])


def test_jars_of_the_executors_machines_come_before_the_users_own() -> None:
    launch = replace(LOCAL, jars=(), executor_jars=("/opt/a.jar", "/opt/b.jar"))

    conf = build_session_conf({"spark.executor.extraClassPath": "/own/*"}, launch, MACHINE)

    assert conf["spark.executor.extraClassPath"] == "/opt/a.jar:/opt/b.jar:/own/*"
    assert "spark.executor.extraClassPath" not in build_session_conf({}, LOCAL, MACHINE)


def test_users_setting_wins_over_a_default() -> None:
    conf = build_session_conf({"spark.driver.memory": "9g", "spark.sql.shuffle.partitions": "7"}, LOCAL, MACHINE)

    assert (conf["spark.driver.memory"], conf["spark.sql.shuffle.partitions"]) == ("9g", "7")


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("spark.hadoop.fs.s3a.secret.key", True),
        ("spark.hadoop.fs.s3a.encryption.key", True),
        ("spark.hadoop.fs.gs.auth.service.account.private.key", True),
        ("spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net", True),
        ("spark.hadoop.fs.azure.sas.shop.x", True),
        ("spark.ssl.keyPassword", True),
        ("spark.hadoop.store.passw", True),
        ("spark.hadoop.store.keyring", True),
        ("spark.hadoop.fs.s3a.endpoint", False),
        ("spark.sql.shuffle.partitions", False),
    ],
)
def test_secrets_of_stores_are_redacted_in_what_spark_writes_down(name: str, *, hidden: bool) -> None:
    pattern = build_session_conf({}, None, MACHINE)["spark.redaction.regex"]

    assert bool(re.search(pattern, name)) is hidden


def test_users_lists_are_joined_with_ours() -> None:
    user = {"spark.sql.extensions": "my.Extension", "spark.driver.extraJavaOptions": "-Xss4m"}

    conf = build_session_conf(user, LOCAL, MACHINE)

    assert conf["spark.sql.extensions"] == f"my.Extension,{HUDI_EXTENSION}"
    assert conf["spark.driver.extraJavaOptions"].endswith(" -Xss4m")


def test_settings_against_correctness_are_refused_all_at_once() -> None:
    user = {
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.driver.extraJavaOptions": "-Duser.timezone=Asia/Tokyo",
        "spark.sql.files.ignoreMissingFiles": "true",
        "spark.jars": "/x.jar",
        "spark.master": "local",
    }

    with pytest.raises(UsageError) as refused:
        build_session_conf(user, LOCAL, MACHINE)

    assert [key for key in user if key not in refused.value.message] == []


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("spark.sql.session.timezone", "spark.sql.session.timeZone"),
        ("spark.Jars", "spark.jars"),
        ("spark.driver.extrajavaoptions", "spark.driver.extraJavaOptions"),
    ],
)
def test_key_of_ours_in_another_case_is_refused_with_its_spelling(key: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"{key} is spelled {meant}"):
        build_session_conf({key: "x"}, LOCAL, MACHINE)


def test_required_value_in_other_case_is_no_contradiction() -> None:
    assert (
        build_session_conf({"spark.sql.session.timeZone": "utc"}, LOCAL, MACHINE)["spark.sql.session.timeZone"] == "UTC"
    )


def test_remote_master_gets_no_settings_of_this_machine_but_the_memory_of_the_driver_in_it() -> None:
    remote = Launch(master="spark://host:7077", jars=(), log_settings="/log.properties", scratch="/tmp")

    conf = build_session_conf({}, remote, MACHINE)

    assert conf["spark.master"] == "spark://host:7077"
    assert conf.keys() & {"spark.driver.host", "spark.sql.shuffle.partitions"} == set()
    assert conf["spark.driver.memory"] == "2048m"


def test_session_under_spark_submit_sets_neither_master_nor_jars_nor_java_options() -> None:
    conf = build_session_conf({}, None, MACHINE)

    assert conf.keys() & {"spark.master", "spark.jars", "spark.driver.extraJavaOptions"} == set()
    assert conf.items() >= REQUIRED.items()


def test_short_run_compiles_quickly_and_a_long_one_well() -> None:
    short = build_session_conf({}, replace(LOCAL, short=True), MACHINE)["spark.driver.extraJavaOptions"]
    long = build_session_conf({}, LOCAL, MACHINE)["spark.driver.extraJavaOptions"]

    assert ("-XX:TieredStopAtLevel=1" in short, "-XX:TieredStopAtLevel=1" in long) == (True, False)
    assert "-XX:ReservedCodeCacheSize=240m" in short  # what the JVM has by itself with both compilers


def test_users_own_collector_stands_alone() -> None:
    options = build_session_conf({"spark.driver.extraJavaOptions": "-XX:+UseZGC"}, LOCAL, MACHINE)

    assert options["spark.driver.extraJavaOptions"].count("GC") == 1
