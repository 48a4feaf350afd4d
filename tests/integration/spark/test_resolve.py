"""The resolver against a repository in a folder: no network, and a Maven mirror as a user would name one."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark import jvm
from hudi_reconcile.spark.jars import LockedJar, ResolverSettings, fetch
from hudi_reconcile.spark.jvm import JavaRuntime, find_java
from hudi_reconcile.spark.scratch import open_scratch

_PYSPARK_LEAVES_STDIN_OPEN = pytest.mark.filterwarnings("ignore:unclosed file <_io.BufferedWriter:ResourceWarning")

CONTENT = b"bytes of a driver"
LOCK = (
    LockedJar(
        coordinate="org.example:driver:1.0", file_name="driver-1.0.jar", sha256=hashlib.sha256(CONTENT).hexdigest()
    ),
)
SETTINGS = """<ivysettings>
  <settings defaultResolver="mirror"/>
  <resolvers>
    <filesystem name="mirror" m2compatible="true">
      <ivy pattern="{root}/[organisation]/[module]/[revision]/[artifact]-[revision].pom"/>
      <artifact pattern="{root}/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"/>
    </filesystem>
  </resolvers>
</ivysettings>
"""
POM = """<project><modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>driver</artifactId><version>1.0</version>
</project>
"""


@pytest.fixture(scope="module")
def java() -> JavaRuntime:
    return find_java(os.environ)


@pytest.fixture
def mirror(tmp_path: Path) -> ResolverSettings:
    folder = tmp_path / "mirror" / "org" / "example" / "driver" / "1.0"
    folder.mkdir(parents=True)
    (folder / "driver-1.0.pom").write_text(POM)
    (folder / "driver-1.0.jar").write_bytes(CONTENT)
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(SETTINGS.format(root=tmp_path / "mirror"))
    return ResolverSettings(ivy=str(tmp_path / "ivy"), ivy_settings=str(settings))


def test_fetched_jar_is_checked_lands_in_the_folder_and_is_not_fetched_twice(
    mirror: ResolverSettings, java: JavaRuntime, tmp_path: Path
) -> None:
    folder = tmp_path / "jars"

    fetched = fetch(LOCK, folder, mirror, lambda: java)
    again = fetch(LOCK, folder, mirror, lambda: pytest.fail("asked for Java: nothing was missing"))

    assert [(jar.coordinate, jar.path) for jar in fetched] == [("org.example:driver:1.0", folder / "driver-1.0.jar")]
    assert again == fetched
    assert [path.name for path in folder.iterdir()] == ["driver-1.0.jar"]


def test_fetched_jar_with_other_bytes_never_reaches_the_folder(
    mirror: ResolverSettings, java: JavaRuntime, tmp_path: Path
) -> None:
    for jar in (tmp_path / "mirror").rglob("*.jar"):
        jar.write_bytes(b"forged")

    with pytest.raises(UsageError, match=LOCK[0].sha256):
        fetch(LOCK, tmp_path / "jars", mirror, lambda: java)

    assert list((tmp_path / "jars").iterdir()) == []


def test_jar_that_no_repository_has_is_named_with_the_mirror_settings(
    mirror: ResolverSettings, java: JavaRuntime, tmp_path: Path
) -> None:
    unknown = LockedJar(coordinate="org.example:driver:9.9", file_name="driver-9.9.jar", sha256="0" * 64)

    with pytest.raises(UsageError) as refused:
        fetch((unknown,), tmp_path / "jars", mirror, lambda: java)

    assert "org.example:driver:9.9" in refused.value.message
    assert "DEFAULT_ARTIFACT_REPOSITORY" in refused.value.fix
    assert "spark.jars.ivySettings" in refused.value.fix


@_PYSPARK_LEAVES_STDIN_OPEN
def test_jvm_that_ends_over_a_users_package_is_explained_as_the_resolvers_failure(
    mirror: ResolverSettings, java: JavaRuntime
) -> None:
    conf = {
        "spark.jars.packages": "org.example:driver:9.9",
        "spark.jars.ivy": mirror.ivy or "",
        "spark.jars.ivySettings": mirror.ivy_settings or "",
    }

    with (
        pytest.raises(UsageError, match=r"resolver could not fetch org\.example:driver:9\.9"),
        open_scratch() as scratch,
    ):
        jvm.launch(conf, java, scratch)


@_PYSPARK_LEAVES_STDIN_OPEN
def test_jvm_that_cannot_start_shows_javas_own_words(java: JavaRuntime) -> None:
    with pytest.raises(UsageError, match=r"JAVA_GATEWAY_EXITED.*heap"), open_scratch() as scratch:
        jvm.launch({"spark.driver.memory": "1k"}, java, scratch)
