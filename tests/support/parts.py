"""What is inside the tool: packages of the lock file, locked jars, and the parts that lie inside PySpark and the bundle."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.spark.jars import JarRequest, list_jars
from tests.support.docs import ROOT

# Parts with a history: whichever of them is found must be judged in docs/advisories.toml, at its very version.
WATCHED = re.compile(
    r"parquet-avro|libthrift|zookeeper|derby|jackson-mapper-asl|log4j-core|lz4-java|netty-(codec|codec-http2?|common|handler)"
)
_JAR = re.compile(r"(.+?)-(\d[\w.+-]*)\.jar")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A package or jar: its name, version, Maven group where that is known, hashes and licence where these are stated."""

    name: str
    version: str
    group: str = ""
    sha256: tuple[str, ...] = ()
    licence: str = ""


def locked_packages() -> Iterator[Part]:
    """What requirements.lock pins, with the hashes that pip accepts and the licence that the package states."""
    for block in re.split(r"\n(?=[A-Za-z0-9])", (ROOT / "requirements.lock").read_text("utf-8")):
        if pin := _PIN.match(block):
            hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
            yield Part(name=pin[1], version=pin[2], sha256=hashes, licence=stated_licence(pin[1]))


def stated_licence(package: str) -> str:
    """The licence as the installed package states it; empty where it is not installed here or states none."""
    try:
        about = importlib.metadata.metadata(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
    classifiers = [one for one in about.get_all("Classifier") or [] if one.startswith("License :: OSI Approved :: ")]
    short = (about["License"] or "").strip()
    first = classifiers[0].rpartition(" :: ")[2] if classifiers else ""
    return about["License-Expression"] or first or (short if len(short) < 40 else "")


def pyspark_jars() -> Iterator[Part]:
    """The jars in PySpark's wheel, as their names say."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    for path in sorted((Path(spec.origin).parent / "jars").glob("*.jar")):
        if name := _JAR.fullmatch(path.name):
            yield Part(name=name[1], version=name[2])


def bundled_parts() -> Iterator[Part]:
    """What lies inside the Hudi bundle, as its pom.properties say. The bundle must be here: `hudi-reconcile jars fetch`."""
    (bundle,) = (jar.path for jar in list_jars(JarRequest(), {}) if jar.path and "hudi-" in jar.path.name)
    with zipfile.ZipFile(bundle) as jar:
        for name in sorted(jar.namelist()):
            if name.endswith("/pom.properties"):
                about = dict(re.findall(r"^(\w+)=(.*?)\s*$", jar.read(name).decode(), re.MULTILINE))
                yield Part(name=about["artifactId"], version=about["version"], group=about["groupId"])


def unjudged() -> list[str]:
    """Watched parts whose version nobody has judged, and judgements of what is not here any more."""
    found = {(part.name, part.version) for part in (*pyspark_jars(), *bundled_parts()) if WATCHED.fullmatch(part.name)}
    judged = {(one["name"], version) for one in judgements() for version in one["versions"]}
    return [
        *(f"{name} {version} is here, and docs/advisories.toml does not judge it" for name, version in found - judged),
        *(f"{name} {version} is judged in docs/advisories.toml, and not here" for name, version in judged - found),
    ]


def judgements() -> list[dict[str, Any]]:
    """The entries of docs/advisories.toml."""
    entries: list[dict[str, Any]] = tomllib.loads((ROOT / "docs" / "advisories.toml").read_text("utf-8"))["component"]
    return entries


if __name__ == "__main__":
    raise SystemExit("\n".join(unjudged()) or None)
