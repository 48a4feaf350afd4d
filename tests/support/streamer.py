"""A real HoodieStreamer: its jars, checked by sha256, on the Spark that its release runs on, each run in a process of its own.

`make streamer` makes that Spark. Another release is named by STREAMER_SPARK_HOME and STREAMER_JARS (paths, a comma between,
the one that holds HoodieStreamer first); only the release of the lock was ever run.
"""

from __future__ import annotations

import os
import struct
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.spark.jars import ResolverSettings, cache_folder, fetch, list_locked_jars, read_lock
from hudi_reconcile.spark.jvm import find_java
from tests.support.alone import alone
from tests.support.docs import ROOT

_LOCK = Path(__file__).with_name("streamer.lock")
_RUN_SECONDS = 300
# HoodieStreamer's own jar names these packages as they are; Hudi's bundle holds them below its own, and so do the published
# bundles of HoodieStreamer.
_MOVED = (b"com/beust/jcommander/", b"com/codahale/metrics/", b"org/apache/spark/sql/avro/")
_BELOW = b"org/apache/hudi/"
_TEXT_CONSTANT = 1
_CONSTANT_BYTES = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
_WIDE_CONSTANTS = (5, 6)  # they count twice


@dataclass(frozen=True, slots=True)
class Streamer:
    """HoodieStreamer's JDBC source into one table. `jars` begin with the one that holds it; `zone` is its process's."""

    spark_home: Path
    jars: tuple[Path, ...]
    props: Path
    table: Path
    table_type: str
    zone: str = "UTC"

    @staticmethod
    def of(props: Path, table: Path, table_type: str) -> Streamer:
        named = os.environ.get("STREAMER_JARS")
        jars = tuple(Path(one) for one in named.split(",")) if named else _fetched()
        return Streamer(_spark_home(), jars, props, table, table_type)

    def run(self) -> None:
        """One run: it reads what is above its checkpoint, commits it and ends."""
        first, *others = self.jars
        command = [
            str(self.spark_home / "bin" / "spark-submit"),
            *("--master", "local[2]", "--driver-memory", "1g"),
            *("--conf", "spark.serializer=org.apache.spark.serializer.KryoSerializer"),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"),
            *("--class", "org.apache.hudi.utilities.streamer.HoodieStreamer"),
            *("--jars", ",".join(str(jar) for jar in others), str(first)),
            *("--props", self.props.as_uri(), "--source-class", "org.apache.hudi.utilities.sources.JdbcSource"),
            *("--source-ordering-field", "updated_at"),  # and UPSERT, its default
            *("--target-base-path", self.table.as_uri(), "--target-table", "orders"),
            *("--table-type", self.table_type.upper()),
        ]
        home = str(find_java(os.environ).home)
        env = {**os.environ, "JAVA_HOME": home, "SPARK_HOME": str(self.spark_home), "TZ": self.zone}
        done = subprocess.run(
            command, check=False, env=env, cwd=self.props.parent, capture_output=True, text=True, timeout=_RUN_SECONDS
        )
        assert done.returncode == 0, done.stderr[-6_000:]


def _fetched() -> tuple[Path, ...]:
    lock = read_lock(_LOCK.read_text())
    driver = [jar for jar in list_locked_jars() if jar.artifact == "postgresql"]
    with alone("jars"):
        folder = cache_folder(os.environ).parent / "test-jars"
        jars = fetch((*lock, *driver), folder, ResolverSettings(), lambda: find_java(os.environ))
        bundled = folder / f"bundled-{jars[0].path.name}"
        move_packages(jars[0].path, bundled)
    return (bundled, *(jar.path for jar in jars[1:]))


def move_packages(jar: Path, to: Path) -> None:
    """The jar as it is bundled: where its classes name packages that the bundle moved, they name them there."""
    part = to.with_suffix(".part")
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(part, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, _moved(content) if name.endswith(".class") else content)
    part.replace(to)


def _moved(code: bytes) -> bytes:
    """A class file with other names among its constants; all else refers to these by their number."""
    (count,) = struct.unpack_from(">H", code, 8)
    out, at, number = [code[:10]], 10, 1
    while number < count:
        tag = code[at]
        if tag == _TEXT_CONSTANT:
            (length,) = struct.unpack_from(">H", code, at + 1)
            text, at = code[at + 3 : at + 3 + length], at + 3 + length
            for package in _MOVED:
                text = text.replace(package, _BELOW + package)
            out.append(struct.pack(">BH", tag, len(text)) + text)
        else:
            end = at + 1 + _CONSTANT_BYTES[tag]
            out.append(code[at:end])
            at = end
        number += 2 if tag in _WIDE_CONSTANTS else 1
    return b"".join((*out, code[at:]))


def _spark_home() -> Path:
    if named := os.environ.get("STREAMER_SPARK_HOME"):
        return Path(named)
    found = list((ROOT / ".venv-streamer").glob("lib/*/site-packages/pyspark"))
    assert found, "HoodieStreamer's Spark is not here: make streamer"
    return found[0]
