from __future__ import annotations

import os
from pathlib import Path

import pytest

from hudi_reconcile.spark.class_archive import ClassArchive, find_archive, is_usable, list_parts

FINISHED = bytes.fromhex("a8ab0bf0") + b"classes"
NOW, DAY = 2_000_000_000.0, 86_400.0


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    jars = [tmp_path / name for name in ("libjvm.so", "hudi.jar")]
    for jar in jars:
        jar.write_bytes(b"bytes")
    return jars


def found(folder: Path, parts: list[Path], *, now: float = NOW, may_make: bool = True) -> ClassArchive | None:
    return find_archive(folder, parts, may_make=may_make, now_seconds=now)


def claimed(folder: Path, parts: list[Path], *, holds: bytes = b"", age_seconds: float = 0) -> Path:
    archive = found(folder, parts)
    assert archive is not None
    assert archive.lock is not None
    os.close(archive.lock)
    archive.path.write_bytes(holds)
    os.utime(archive.path, (NOW - age_seconds, NOW - age_seconds))
    return archive.path


def test_first_process_makes_the_archive_and_the_next_one_waits_for_it(tmp_path: Path, parts: list[Path]) -> None:
    first, second = found(tmp_path / "c", parts), found(tmp_path / "c", parts)

    assert first is not None
    assert first.is_made_now
    assert "ArchiveClassesAtExit" in first.option
    assert second is None
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o700


def test_finished_archive_is_used_and_remembers_when(tmp_path: Path, parts: list[Path]) -> None:
    path = claimed(tmp_path / "c", parts, holds=FINISHED, age_seconds=DAY)

    archive = found(tmp_path / "c", parts, may_make=False)

    assert archive == ClassArchive(path)
    assert f"-XX:SharedArchiveFile={path}" in archive.option
    assert path.stat().st_mtime == NOW


@pytest.mark.parametrize("holds", [b"", b"\0" * 64], ids=["empty", "half written"])
def test_archive_that_was_never_finished_is_not_used_and_is_made_again(
    tmp_path: Path, parts: list[Path], holds: bytes
) -> None:
    claimed(tmp_path / "c", parts, holds=holds)
    assert found(tmp_path / "c", parts, may_make=False) is None

    again = found(tmp_path / "c", parts)

    assert again is not None
    assert again.is_made_now


def test_no_archive_is_begun_by_a_run_that_may_not_make_one(tmp_path: Path, parts: list[Path]) -> None:
    assert found(tmp_path / "c", parts, may_make=False) is None
    assert list((tmp_path / "c").iterdir()) == []


def test_other_bytes_of_a_jar_are_another_archive(tmp_path: Path, parts: list[Path]) -> None:
    path = claimed(tmp_path / "c", parts, holds=FINISHED)
    parts[1].write_bytes(b"other bytes")

    archive = found(tmp_path / "c", parts)

    assert archive is not None
    assert archive.is_made_now
    assert archive.path != path


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_folder_that_others_may_write_holds_no_archive(tmp_path: Path, parts: list[Path], mode: int) -> None:
    claimed(tmp_path / "c", parts, holds=FINISHED)
    (tmp_path / "c").chmod(mode)

    assert found(tmp_path / "c", parts) is None


def test_folder_that_others_could_exchange_holds_no_archive(tmp_path: Path, parts: list[Path]) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    claimed_below = tmp_path / "shared" / "hudi-reconcile" / "c"

    assert found(claimed_below, parts) is None
    (tmp_path / "shared").chmod(0o1777)
    assert found(claimed_below, parts) is not None


def test_archive_that_others_may_write_or_that_is_a_link_is_not_used(tmp_path: Path, parts: list[Path]) -> None:
    path = claimed(tmp_path / "c", parts, holds=FINISHED)
    path.chmod(0o666)
    assert found(tmp_path / "c", parts, may_make=False) is None

    path.rename(tmp_path / "elsewhere.jsa").chmod(0o400)
    path.symlink_to(tmp_path / "elsewhere.jsa")
    assert found(tmp_path / "c", parts, may_make=False) is None


def test_link_in_the_folders_place_holds_no_archive(tmp_path: Path, parts: list[Path]) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "c").symlink_to(tmp_path / "real")

    assert found(tmp_path / "c", parts) is None


def test_java_without_an_archive_of_its_own_gets_none(tmp_path: Path, parts: list[Path]) -> None:
    assert found(tmp_path / "c", [*parts, tmp_path / "classes.jsa"]) is None


def test_archives_that_no_run_used_for_a_month_go(tmp_path: Path, parts: list[Path]) -> None:
    old = claimed(tmp_path / "c", parts, holds=FINISHED, age_seconds=31 * DAY)
    parts[1].write_bytes(b"next version")
    young = claimed(tmp_path / "c", parts, holds=FINISHED, age_seconds=29 * DAY)
    parts[1].write_bytes(b"the version after it")

    archive = found(tmp_path / "c", parts)

    assert archive is not None
    assert list((tmp_path / "c").glob("*.jsa")) == [young]
    assert not old.with_suffix(".lock").exists()


def test_folder_with_a_colon_which_java_reads_as_two_files_holds_none(tmp_path: Path, parts: list[Path]) -> None:
    assert found(tmp_path / "a:b", parts) is None


def test_parts_are_java_sparks_jars_and_ours(tmp_path: Path) -> None:
    (tmp_path / "spark.jar").touch()

    assert list_parts(Path("/java"), tmp_path, [Path("/hudi.jar")]) == (
        Path("/java/lib/server/libjvm.so"),
        Path("/java/lib/server/classes.jsa"),
        tmp_path / "spark.jar",
        Path("/hudi.jar"),
    )


@pytest.mark.parametrize(
    ("conf", "environ"),
    [
        ({"spark.driver.extraJavaOptions": "-Xshare:off"}, {}),
        ({"spark.driver.extraJavaOptions": "-javaagent:/a.jar"}, {}),
        ({"spark.driver.extraClassPath": "/etc/classes"}, {}),
        ({}, {"SPARK_CONF_DIR": "/etc/spark"}),
        ({}, {"HADOOP_CONF_DIR": "/etc/hadoop"}),
        ({}, {"JAVA_TOOL_OPTIONS": "-XX:SharedArchiveFile=/x.jsa"}),
    ],
)
def test_users_own_options_and_folders_on_the_class_path_go_without_an_archive(
    tmp_path: Path, conf: dict[str, str], environ: dict[str, str]
) -> None:
    assert is_usable({}, {}, tmp_path)
    assert not is_usable(conf, environ, tmp_path)


def test_spark_with_a_folder_of_settings_goes_without_an_archive(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()

    assert not is_usable({}, {}, tmp_path)
