from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hudi_reconcile.spark.versions import UsedVersion, find_spark, find_used_java, list_used_versions


def java(folder: Path, release: str | None) -> Path:
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\nexit 1\n")  # whoever runs it gets no answer
    if release is not None:
        (folder / "release").write_text(release)
    return binary


def test_java_is_the_first_supported_one_by_its_release_file(tmp_path: Path) -> None:
    old = java(tmp_path / "8", 'JAVA_VERSION="1.8.0_392"\n')
    new = java(tmp_path / "21", 'IMPLEMENTOR="x"\nJAVA_VERSION="21.0.8"\nOS_ARCH="x"\n')
    last = java(tmp_path / "17", 'JAVA_VERSION="17.0.15"\n')

    assert find_used_java([("gone", tmp_path / "no"), ("a", old), ("b", new), ("c", last)]) == UsedVersion(
        "Java", "21.0.8", "b"
    )


def test_java_behind_a_link_is_that_of_the_runtime_it_leads_to(tmp_path: Path) -> None:
    link = tmp_path / "java"
    link.symlink_to(java(tmp_path / "17", 'JAVA_VERSION="17.0.15"\n'))

    assert find_used_java([("path", link)]).version == "17.0.15"


@pytest.mark.parametrize("release", [None, "", 'JAVA_VERSION="\x1b[2J"\n'])
def test_java_without_a_release_file_is_unknown_and_no_later_one_is_named(tmp_path: Path, release: str | None) -> None:
    silent = java(tmp_path / "a", release)
    later = java(tmp_path / "b", 'JAVA_VERSION="17.0.15"\n')

    found = find_used_java([("first", silent), ("second", later)])

    assert found.version is None
    assert found.origin == "first has no release file: hudi-reconcile doctor"


def test_no_supported_java_lists_what_was_found(tmp_path: Path) -> None:
    old = java(tmp_path / "11", 'JAVA_VERSION="11.0.2"\n')

    found = find_used_java([("JAVA_HOME=/j", tmp_path / "no"), ("path", old)])

    assert (found.version, "JAVA_HOME=/j: did not run; path: Java 11.0.2" in found.origin) == (None, True)


def test_spark_home_is_the_spark_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()

    assert find_spark({"SPARK_HOME": str(tmp_path)}).version == "3.5.1"
    assert find_spark({"SPARK_HOME": str(tmp_path / "no")}).version is None
    assert find_spark({}).origin == "pyspark"


def test_versions_are_found_without_pyspark_or_a_process() -> None:
    code = (
        "import os, sys; from hudi_reconcile.spark.versions import list_used_versions;"
        "sys.addaudithook(lambda event, _: sys.exit(event) if event == 'subprocess.Popen' else None);"
        "list_used_versions(os.environ); sys.exit(str([one for one in ('pyspark', 'py4j') if one in sys.modules]))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == "[]"


def test_hudi_is_the_one_of_the_lock() -> None:
    assert {one.name: one.version for one in list_used_versions({})}["Hudi"] == "1.2.0"
