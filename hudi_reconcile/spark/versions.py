"""Which Spark, Hudi and Java a session would use, read from files: no JVM is started and pyspark is not imported.

`SPARK_HOME`, where it is set, is the Spark that pyspark launches. Java is the first of the places that `find_java` asks;
here each is judged by its runtime's `release` file, which is as good as an answer of `java -version`. Where a Java has no
such file, what a session would take is not known without running it, and that is what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from hudi_reconcile.spark.jars import list_locked_jars
from hudi_reconcile.spark.jvm import SUPPORTED_MAJORS, list_places, parse_report

_HUDI_GROUP = "org.apache.hudi:"
_CORE_JAR = re.compile(r"spark-core_[\d.]+-(.+)\.jar")
_DOCTOR = "hudi-reconcile doctor"


@dataclass(frozen=True, slots=True)
class UsedVersion:
    """A part that a session stands on. `version` is None where files do not show it; `origin` says where it is from, or why."""

    name: str
    version: str | None
    origin: str


def list_used_versions(environ: Mapping[str, str]) -> tuple[UsedVersion, ...]:
    """Spark, Hudi and Java in this order. Raises nothing: what cannot be told has no version."""
    return (find_spark(environ), _find_hudi(), find_used_java(list_places(environ)))


def find_spark(environ: Mapping[str, str]) -> UsedVersion:
    """The Spark of `SPARK_HOME`, else the one inside the installed pyspark."""
    try:
        installed = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return UsedVersion("Spark", None, f"pyspark is not installed: {_DOCTOR}")
    home = environ.get("SPARK_HOME")
    if not home:
        return UsedVersion("Spark", installed, "pyspark")
    names = sorted(path.name for path in (Path(home) / "jars").glob("spark-core_*.jar"))
    versions = [match[1] for name in names if (match := _CORE_JAR.fullmatch(name))]
    if len(versions) != 1:
        return UsedVersion("Spark", None, f"SPARK_HOME={home} holds {len(versions)} jars of spark-core: unset it")
    return UsedVersion("Spark", versions[0], f"SPARK_HOME={home}; pyspark {installed}")


def find_used_java(places: Iterable[tuple[str, Path]]) -> UsedVersion:
    """The first supported Java of the places; one that is not there, or is of another major version, is passed over."""
    passed = []
    for origin, java in places:
        if not java.exists():
            passed.append(f"{origin}: did not run")
            continue
        version = _read_release(java.resolve().parent.parent)
        if version is None:
            return UsedVersion("Java", None, f"{origin} has no release file: {_DOCTOR}")
        report = parse_report(f'version "{version}"')
        if report is not None and report[0] in SUPPORTED_MAJORS:
            return UsedVersion("Java", version, origin)
        passed.append(f"{origin}: Java {version}")
    return UsedVersion("Java", None, f"17 or 21 is needed, found {'; '.join(passed) or 'no Java at all'}: {_DOCTOR}")


# --- helpers ---


def _find_hudi() -> UsedVersion:
    (bundle,) = [jar for jar in list_locked_jars() if jar.coordinate.startswith(_HUDI_GROUP)]
    return UsedVersion("Hudi", bundle.coordinate.rpartition(":")[2], bundle.coordinate)


def _read_release(home: Path) -> str | None:
    try:
        text = (home / "release").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    match = re.search(r'^JAVA_VERSION="?([\w.+-]+)"?\s*$', text, re.MULTILINE)
    return match[1] if match else None
