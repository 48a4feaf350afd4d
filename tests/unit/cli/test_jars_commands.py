"""`jars list`: what is here and what is not, with or without a config. Fetching is tested with Spark's room."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudi_reconcile.cli.main import run


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HUDI_RECONCILE_JARS", raising=False)
    return tmp_path


def test_jars_that_are_not_here_are_listed_with_the_hash_they_must_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["jars", "list", "--format", "json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert {jar["coordinate"].split(":")[0] for jar in document["jars"]} == {"org.apache.hudi", "org.postgresql"}
    assert [jar["path"] for jar in document["jars"]] == [None, None]
    assert all(len(jar["sha256"]) == 64 for jar in document["jars"])


def test_text_names_the_command_that_brings_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["jars", "list"]) == 0
    assert capsys.readouterr().out.count("hudi-reconcile jars fetch") == 2


def test_config_that_is_named_but_missing_is_not_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-c", "other.yaml", "jars", "list"]) == 2
    assert "other.yaml: there is no such config file" in capsys.readouterr().err


def test_jar_with_other_bytes_is_refused(empty_machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = empty_machine / ".cache" / "hudi-reconcile" / "jars"
    cache.mkdir(parents=True)
    for name in ("hudi-spark3.5-bundle_2.12-1.2.0.jar", "postgresql-42.7.14.jar"):
        (cache / name).write_bytes(b"not a jar")

    assert run(["jars", "list", "--format", "json"]) == 2
    assert "sha256 expected" in json.loads(capsys.readouterr().out)["error"]["message"]
