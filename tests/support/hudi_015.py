"""A table as Hudi 0.15 itself writes and reads it: in a process of its own, with that version's bundle.

As a program it writes commits and then reads the table: `python -m tests.support.hudi_015 JAR PATH OUT`, with the options and
batches as JSON on stdin; OUT gets the rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hudi_reconcile.spark.jars import ResolverSettings, cache_folder, fetch, read_lock
from hudi_reconcile.spark.jvm import find_java
from tests.support.alone import alone
from tests.support.docs import ROOT

_LOCK = Path(__file__).with_suffix(".lock")
_CONF = {
    "spark.master": "local[1]",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
}
Batch = tuple[str, Sequence[Sequence[Any]]]


def write(path: Path, schema: str, batches: Sequence[Batch], options: Mapping[str, str]) -> list[dict[str, Any]]:
    """A commit for each batch, an operation and its rows; gives the table's rows as Hudi 0.15 then reads them."""
    java = find_java(os.environ)
    folder = cache_folder(os.environ).parent / "test-jars"
    with alone("jars"):
        (jar,) = fetch(read_lock(_LOCK.read_text()), folder, ResolverSettings(), lambda: java)
    out = path.with_name(f"{path.name}.rows.json")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.hudi_015", str(jar.path), str(path), str(out)],
        input=json.dumps({"schema": schema, "batches": batches, "options": dict(options)}),
        env={**os.environ, "JAVA_HOME": str(java.home), "PYSPARK_PYTHON": sys.executable},
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    found: list[dict[str, Any]] = json.loads(out.read_text())
    return found


def main(jar: str, path: str, out: str) -> None:
    asked = json.load(sys.stdin)
    builder = SparkSession.builder.config("spark.jars", jar)
    for key, value in _CONF.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for operation, rows in asked["batches"]:
        frame = spark.createDataFrame([tuple(row) for row in rows], asked["schema"]).coalesce(1)
        how = {**asked["options"], "hoodie.datasource.write.operation": operation}
        frame.write.format("hudi").options(**how).mode("append").save(path)
    names = [field.split(" ")[0] for field in asked["schema"].split(", ")]
    rows = spark.read.format("hudi").load(path).select(*names).collect()
    Path(out).write_text(json.dumps([row.asDict() for row in rows]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
