"""How much memory a process may use, and rows that travel through the driver."""

from __future__ import annotations

import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from hudi_reconcile.core.errors import LakeError, RefusedError
from hudi_reconcile.spark.cluster import explain_lost_executor, find_class, read_machine

NODE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
GIB = 1 << 30


def group(root: Path, lines: str, **limits: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(lines)
    for name, text in limits.items():
        file = root / "sys/fs/cgroup" / name.replace("__", "/").replace("_max", ".max").replace("_bytes", "_in_bytes")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_containers_limit_counts_where_it_is_lower_than_the_machines_memory(tmp_path: Path) -> None:
    second = group(tmp_path / "v2", "0::/kube/pod\n", memory_max="max\n", kube__pod__memory_max=f"{GIB}\n")
    inside = group(tmp_path / "inside", "0::/../../pod\n", memory_max=f"{2 * GIB}\n")
    first = group(tmp_path / "v1", "4:memory:/docker/x\n1:cpu:/\n")
    (first / "sys/fs/cgroup/memory").mkdir(parents=True)
    (first / "sys/fs/cgroup/memory/memory.limit_in_bytes").write_text(f"{3 * GIB}\n")

    assert [read_machine(one).memory_bytes for one in (second, inside, first)] == [GIB, 2 * GIB, 3 * GIB]


def test_machine_without_limits_has_all_of_its_memory(tmp_path: Path) -> None:
    endless = group(tmp_path / "v2", "0::/\n", memory_max=f"{1 << 62}\n")

    assert [read_machine(one).memory_bytes for one in (endless, tmp_path)] == [NODE, NODE]


class FromSparkError(Exception):
    """As pyspark raises it."""


FromSparkError.__module__ = "pyspark.errors"


@pytest.mark.parametrize(
    "words", ["ExecutorLostFailure (executor 3 exited caused by", "Checkpoint block rdd_9_0 not found"]
)
def test_error_with_another_name_that_a_lost_executor_led_to_is_told_as_that(words: str) -> None:
    error = LakeError("the lake could not be read", fix="doctor")
    error.__cause__ = FromSparkError(words)

    found = explain_lost_executor(error)

    assert found is not None
    assert found.type == "ExecutorLostError"
    assert explain_lost_executor(LakeError("x", fix="y")) is None


def test_refusal_stays_what_it_is_whatever_executors_did() -> None:
    error = RefusedError("the plan is stale", fix="sweep again")
    error.__cause__ = FromSparkError("ExecutorLostFailure")

    assert explain_lost_executor(error) is None


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("META-INF/versions/11/a/B.class", "a/package-info.class", "a/B$C.class", "a/B.class"), "a/B.class"),
        (("META-INF/MANIFEST.MF", "reference.conf"), None),
    ],
)
def test_jar_is_told_by_a_class_that_every_java_sees(tmp_path: Path, names: tuple[str, ...], found: str | None) -> None:
    with ZipFile(tmp_path / "x.jar", "w") as jar:
        for name in names:
            jar.writestr(name, "")

    assert find_class(str(tmp_path / "x.jar")) == found
