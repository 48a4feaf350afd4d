"""`audit verify` and `audit purge` as they are typed: keys from file or environment, nothing removed unasked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hudi_reconcile.app.store import open_store
from hudi_reconcile.cli.main import run
from hudi_reconcile.config.load import load_config
from hudi_reconcile.evidence.store import Store

KEY = "canary-0123456789abcdef"
CONFIG = """
version: 1
source: {url: "postgresql+psycopg://a@b/c"}
tables: [{name: orders, source: {table: a}, lake: {path: a}}]
"""
DAY = 86_400_000_000
NOW = int(datetime.now(UTC).timestamp()) * 1_000_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(folder: Path, audit: str, *ages_days: int) -> list[str]:
    """Write the config, and runs of these ages, oldest first."""
    (folder / "reconcile.yaml").write_text(f"{CONFIG}audit: {audit}\n")
    store = open_store(load_config(folder / "reconcile.yaml", {}), {"AUDIT_KEY": KEY})
    return [leave_run(store, NOW - days * DAY) for days in ages_days]


def leave_run(store: Store, micros: int) -> str:
    told = {"command": "sweep", "outcome": "clean", "exit_code": 0, "started_utc": "", "ended_utc": "", "tables": []}
    with store.begin(micros) as building:
        building.write_result({"version": 1, **told})
        building.finish()
    return building.run_id


def test_key_of_file_or_environment_seals_the_log_and_is_never_printed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "key").write_text(f"{KEY}\n")
    configure(folder, "{key: '${file:key}'}", 1)

    codes = [run(["audit", "verify"])]
    configure(folder, "{}")
    codes += [run(["audit", "verify"]), run(["audit", "verify", "--key-file", "key"])]
    configure(folder, "{key: '${env:AUDIT_KEY}'}")
    codes.append(run(["audit", "verify"]))
    monkeypatch.setenv("AUDIT_KEY", "another-0123456789")
    codes.append(run(["audit", "verify", "--format", "json"]))
    monkeypatch.setenv("AUDIT_KEY", KEY)
    codes += [run(["audit", "verify"]), run(["config", "show"])]

    out, err = capsys.readouterr()
    assert codes == [0, 3, 0, 2, 3, 0, 0]
    assert out.count("intact: 1 lines, 1 files, 1 lines sealed") == 3
    assert '"type": "AuditKeyError"' in out
    assert "AUDIT_KEY is not set" in err
    assert KEY not in out + err + (folder / "reports" / "audit.jsonl").read_text()


@pytest.mark.parametrize("key", ["0123456789abcdefgh", "x${env:AUDIT_KEY}", "${env:AUDIT_KEY:-0123456789abcdefgh}"])
def test_key_in_the_config_itself_is_refused_and_not_repeated(
    folder: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    (folder / "reconcile.yaml").write_text(f"{CONFIG}audit: {{key: '{key}'}}\n")

    assert run(["audit", "verify"]) == 2
    err = capsys.readouterr().err
    assert "audit.key: must be ${file:PATH} or ${env:NAME}" in err
    assert "0123456789" not in err


def test_purge_lists_what_is_old_enough_and_removes_it_only_with_yes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = configure(folder, "{retention: 30d}", 40, 10)

    assert run(["audit", "purge"]) == 0
    listed = capsys.readouterr().out
    assert old in listed
    assert new not in listed
    assert "nothing was removed" in listed
    assert (folder / "reports" / old).exists()

    assert run(["audit", "purge", "--yes", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["purged"]) == ([old], True)
    assert sorted(path.name for path in (folder / "reports").iterdir() if path.is_dir()) == [new]
    assert run(["audit", "verify", "--head", document["audit_head"]]) == 0
    out = capsys.readouterr().out
    assert "purged 1 runs" in out
    assert "the published head is that of line 3" in out


@pytest.mark.parametrize(
    ("audit", "arguments", "ends"),
    [
        ("{}", [], (2, "--older-than")),
        ("{}", ["--older-than", "old"], (2, "--older-than 10m")),
        ("{retention: 30d}", ["--older-than", "1d"], (5, "audit.retention keeps runs for 30d")),
        ("{hold: true}", ["--older-than", "1d"], (5, "audit.hold")),
    ],
)
def test_purge_that_may_not_be_is_refused_by_name(
    folder: Path, capsys: pytest.CaptureFixture[str], audit: str, arguments: list[str], ends: tuple[int, str]
) -> None:
    (run_id,) = configure(folder, audit, 400)

    assert run(["audit", "purge", "--yes", *arguments]) == ends[0]
    assert ends[1] in capsys.readouterr().err
    assert (folder / "reports" / run_id).exists()
