"""A real Flink: its SQL, run in a JVM of its own on a cluster within it, with Hudi's writer for Flink where one is named.

`make flink` brings Flink. Hudi's bundle for Flink 1.20 is named by HUDI_FLINK_BUNDLE, the path of its jar.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from hudi_reconcile.spark.jvm import find_java
from tests.support.docs import ROOT

BUNDLE = "HUDI_FLINK_BUNDLE"
# As Flink's own configuration opens them on Java 17.
_OPENED = (
    *(f"java.{name}" for name in ("io", "lang", "lang.reflect", "net", "nio", "text", "time", "util")),
    *(f"java.util.{name}" for name in ("concurrent", "concurrent.atomic", "concurrent.locks")),
    "sun.nio.ch",
)
_HADOOP = ("hadoop-client-api", "hadoop-client-runtime", "commons-logging")
_SETTINGS = {"parallelism.default": "1", "table.local-time-zone": "UTC"}
Change = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Flink:
    """A Flink that runs one job after another."""

    gateway: Any

    def run(self, *statements: str, streaming: bool = False, settings: Mapping[str, str] = _SETTINGS) -> None:
        """Carry the statements out, each job to its end."""
        environment = self._environment({**_SETTINGS, **settings}, streaming=streaming)
        for statement in statements:
            result = environment.executeSql(statement)
            if result.getJobClient().isPresent():
                getattr(result, "await")()

    def rows(self, *statements: str) -> list[tuple[Any, ...]]:
        """What the query, the last statement, gives in batch mode, sorted as text."""
        with _collected(self._environment(_SETTINGS, streaming=False), statements) as found:
            return sorted((row for _, row in found), key=str)

    @contextmanager
    def follow(self, *statements: str) -> Iterator[Iterator[Change]]:
        """The changes of a query that goes on, for the length of a block."""
        with _collected(self._environment(_SETTINGS, streaming=True), statements) as found:
            yield found

    def _environment(self, settings: Mapping[str, str], *, streaming: bool) -> Any:
        jvm = self.gateway.jvm
        kind = jvm.org.apache.flink.table.api.EnvironmentSettings.newInstance()
        kind = kind.inStreamingMode() if streaming else kind.inBatchMode()
        environment = jvm.org.apache.flink.table.api.TableEnvironment.create(kind.build())
        for key, value in settings.items():
            environment.getConfig().set(key, value)
        return environment


@contextmanager
def _collected(environment: Any, statements: Sequence[str]) -> Iterator[Iterator[Change]]:
    *first, query = statements
    for statement in first:
        environment.executeSql(statement)
    found = environment.executeSql(query).collect()
    try:
        yield map(_change, iter(lambda: found.next() if found.hasNext() else None, None))
    finally:
        found.close()


def _change(row: Any) -> Change:
    return str(row.getKind().shortString()), tuple(_value(row.getField(place)) for place in range(row.getArity()))


def _value(found: Any) -> Any:
    """As Spark gives it: a time without a zone, in UTC."""
    if not hasattr(found, "getClass"):
        return found
    return datetime.fromisoformat(str(found.toString())).replace(tzinfo=None)


def bundle() -> Path:
    """Hudi's bundle for Flink."""
    named = os.environ.get(BUNDLE)
    assert named, f"{BUNDLE} names no jar: org.apache.hudi:hudi-flink1.20-bundle of Hudi 1.2.0"
    assert Path(named).is_file(), named
    return Path(named)


@contextmanager
def any_flink(*jars: Path) -> Iterator[Flink]:
    """Flink with these jars for the length of a block."""
    libraries = next((ROOT / ".venv-flink").glob("lib/*/site-packages/pyflink/lib"), None)
    assert libraries, "Flink is not here: make flink"
    spark = Path(pyspark.__file__).parent / "jars"
    hadoop = [next(spark.glob(f"{name}-*.jar")) for name in _HADOOP]
    (py4j,) = spark.glob("py4j-*.jar")
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
    port = launch_gateway(
        jarpath=str(py4j),
        classpath=":".join([f"{libraries}/*", *map(str, (*jars, *hadoop))]),
        javaopts=["-Xmx1g", "-Duser.timezone=UTC", *opened],
        java_path=str(find_java(os.environ).home / "bin" / "java"),
        die_on_exit=True,
        redirect_stderr=sys.stderr,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        yield Flink(gateway)
    finally:
        gateway.shutdown()
