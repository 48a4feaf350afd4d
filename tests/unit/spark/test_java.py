from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.jvm import JavaRuntime, SilentJava, choose, find_java, parse_report

DEBIAN_17 = """Property settings:
    java.home = /usr/lib/jvm/java-17-openjdk-amd64
    java.specification.version = 17
    java.version = 17.0.15
openjdk version "17.0.15" 2025-04-15
"""


def runtime(major: int, origin: str) -> JavaRuntime:
    return JavaRuntime(home=Path(f"/java/{major}"), major=major, origin=origin)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (DEBIAN_17, (17, Path("/usr/lib/jvm/java-17-openjdk-amd64"))),
        ("    java.home = /Library/Java Machines/21/Home\n    java.specification.version = 21\n",
         (21, Path("/Library/Java Machines/21/Home"))),
        ('java version "1.8.0_392"\n', (8, None)),
        ('openjdk version "25" 2025-09-16\n', (25, None)),
        ("    java.specification.version = 1.8\n", (8, None)),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_report_of_a_java_tells_major_version_and_home(report: str, expected: tuple[int, Path | None] | None) -> None:
    assert parse_report(report) == expected


def test_choice_takes_the_first_supported_java_and_asks_no_later_place() -> None:
    asked = []

    def answers(origin: str, major: int) -> JavaRuntime:
        asked.append(origin)
        return runtime(major, origin)

    places = [("JAVA_HOME", 25), ("path", 21), ("wheel", 17)]

    assert choose(answers(*place) for place in places).origin == "path"
    assert asked == ["JAVA_HOME", "path"]


def test_choice_without_a_supported_java_lists_what_was_found_and_how_to_get_one() -> None:
    answers: list[JavaRuntime | SilentJava] = [
        runtime(25, "JAVA_HOME=/j25"),
        runtime(11, "java on PATH (/usr/bin/java)"),
        SilentJava(origin="wheel"),
    ]

    with pytest.raises(UsageError) as refused:
        choose(answers)

    assert refused.value.message == (
        "Spark needs Java 17 or 21; found JAVA_HOME=/j25: Java 25; java on PATH (/usr/bin/java): Java 11;"
        " wheel: did not run"
    )
    assert "hudi-reconcile[demo]" in refused.value.fix


def test_choice_without_any_java_says_so() -> None:
    with pytest.raises(UsageError, match="no Java at all"):
        choose([])


def fake_java(folder: Path, version: str) -> Path:
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\necho '    java.home = {folder}' >&2\necho 'openjdk version \"{version}\"' >&2\n")
    binary.chmod(0o755)
    return folder


def test_search_passes_over_a_java_home_of_the_wrong_version(tmp_path: Path) -> None:
    old, fit = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "fit", "21.0.1")

    found = find_java({"JAVA_HOME": str(old), "PATH": f"{fit / 'bin'}:/bin:/usr/bin"})

    assert (found.home, found.major) == (fit, 21)


def test_search_prefers_java_home_over_path(tmp_path: Path) -> None:
    first, second = fake_java(tmp_path / "first", "17.0.2"), fake_java(tmp_path / "second", "21.0.1")

    assert find_java({"JAVA_HOME": str(first), "PATH": str(second / "bin")}).home == first
