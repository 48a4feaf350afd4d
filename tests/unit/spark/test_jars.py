from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.jars import (
    Jar,
    JarMode,
    JarRequest,
    LockedJar,
    list_jar_folders,
    list_locked_jars,
    plan_jars,
    read_lock,
    verify,
)

BUNDLE, DRIVER = b"bundle bytes", b"driver bytes"


def locked(coordinate: str, name: str, content: bytes) -> LockedJar:
    return LockedJar(coordinate=coordinate, file_name=name, sha256=hashlib.sha256(content).hexdigest())


LOCK = (
    locked("org.apache.hudi:hudi-bundle_2.12:1.2.0", "hudi-bundle_2.12-1.2.0.jar", BUNDLE),
    locked("org.postgresql:postgresql:42.7.9", "postgresql-42.7.9.jar", DRIVER),
)


def write(folder: Path, **files: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.jar").write_bytes(content)
    return folder


def full_folder(folder: Path) -> Path:
    return write(folder, **{"hudi-bundle_2.12-1.2.0": BUNDLE, "postgresql-42.7.9": DRIVER})


def test_lock_of_this_version_names_the_hudi_bundle_and_the_drivers_with_full_hashes() -> None:
    lock = list_locked_jars()

    assert [(jar.coordinate.rsplit(":", 1)[0], jar.engine) for jar in lock] == [
        ("org.apache.hudi:hudi-spark3.5-bundle_2.12", ""),
        ("org.postgresql:postgresql", ""),
        ("org.mariadb.jdbc:mariadb-java-client", "mysql"),
    ]
    assert all(len(jar.sha256) == 64 for jar in lock)


def test_jar_of_one_engine_is_planned_for_that_engine_only() -> None:
    other = LockedJar(coordinate="g:other:1", file_name="other-1.jar", sha256="ff", engine="mysql")

    assert plan_jars(JarRequest(), (*LOCK, other), []).missing == LOCK
    assert plan_jars(JarRequest(engine="mysql"), (*LOCK, other), []).missing == (*LOCK, other)


def test_lock_passes_over_comments_and_blank_lines() -> None:
    assert read_lock("# head\n\ng:a:1   a-1.jar  ff\n") == (
        LockedJar(coordinate="g:a:1", file_name="a-1.jar", sha256="ff"),
    )


def test_auto_takes_the_first_folder_that_holds_all_jars(tmp_path: Path) -> None:
    half = write(tmp_path / "half", **{"postgresql-42.7.9": DRIVER})
    full = full_folder(tmp_path / "full")

    plan = plan_jars(JarRequest(), LOCK, [half, full])

    assert [path.parent for path in plan.present] == [full, full]
    assert plan.missing == ()


def test_auto_finds_jars_under_the_names_that_the_resolver_gives_them(tmp_path: Path) -> None:
    ivy = write(
        tmp_path / "jars",
        **{"org.apache.hudi_hudi-bundle_2.12-1.2.0": BUNDLE, "org.postgresql_postgresql-42.7.9": DRIVER},
    )

    assert plan_jars(JarRequest(), LOCK, [ivy]).missing == ()


def test_auto_without_a_full_folder_leaves_all_to_the_resolver(tmp_path: Path) -> None:
    half = write(tmp_path / "half", **{"postgresql-42.7.9": DRIVER})

    assert plan_jars(JarRequest(), LOCK, [half]).missing == LOCK


def test_packages_looks_into_no_folder(tmp_path: Path) -> None:
    full = full_folder(tmp_path)

    assert plan_jars(JarRequest(mode=JarMode.PACKAGES), LOCK, [full]).missing == LOCK


def test_paths_loads_exactly_the_given_files(tmp_path: Path) -> None:
    mine = write(tmp_path, mine=b"mine") / "mine.jar"

    plan = plan_jars(JarRequest(mode=JarMode.PATHS, paths=(mine,)), LOCK, [])

    assert (plan.present, plan.missing) == ((mine,), ())


def test_given_file_takes_the_place_of_the_locked_jar_of_the_same_artifact(tmp_path: Path) -> None:
    mine = write(tmp_path, **{"postgresql-42.2.0": b"old driver"}) / "postgresql-42.2.0.jar"

    plan = plan_jars(JarRequest(paths=(mine,)), LOCK, [])

    assert plan.present == (mine,)
    assert plan.missing == (LOCK[0],)


@pytest.mark.parametrize(
    "request_",
    [JarRequest(mode=JarMode.PATHS), JarRequest(paths=(Path("/no/such.jar"),))],
    ids=["paths without a path", "path without a file"],
)
def test_request_that_names_no_file_is_refused(request_: JarRequest) -> None:
    with pytest.raises(UsageError, match=r"jars\.paths"):
        plan_jars(request_, LOCK, [])


def test_locked_jar_with_other_bytes_is_refused_with_both_hashes(tmp_path: Path) -> None:
    forged = write(tmp_path, **{"postgresql-42.7.9": b"forged"}) / "postgresql-42.7.9.jar"

    with pytest.raises(UsageError) as refused:
        verify([forged], LOCK)

    assert LOCK[1].sha256 in refused.value.message
    assert hashlib.sha256(b"forged").hexdigest() in refused.value.message
    assert "postgresql-42.7.9.jar" in refused.value.message


def test_jar_outside_the_lock_is_reported_with_its_hash_and_without_coordinate(tmp_path: Path) -> None:
    mine = write(tmp_path, mine=b"mine") / "mine.jar"

    assert verify([mine], LOCK) == (Jar(coordinate=None, path=mine, sha256=hashlib.sha256(b"mine").hexdigest()),)


def test_named_jar_folder_is_the_only_one_looked_into(tmp_path: Path) -> None:
    assert list_jar_folders({"HUDI_RECONCILE_JARS": str(tmp_path)}, Path("/ivy")) == (tmp_path,)


def test_named_jar_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no folder"):
        list_jar_folders({"HUDI_RECONCILE_JARS": str(tmp_path / "gone")}, Path("/ivy"))


def test_jar_folders_are_our_cache_before_the_resolvers() -> None:
    assert list_jar_folders({"XDG_CACHE_HOME": "/cache"}, Path("/ivy")) == (
        Path("/cache/hudi-reconcile/jars"),
        Path("/ivy/jars"),
    )
