"""A killed run is ended by the next: with the tables that were done, the others named, and nothing that nobody sealed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult, build_table_document
from hudi_reconcile.evidence import run_folder
from hudi_reconcile.evidence.audit_log import NO_KEYS, KeyRing, audit_key
from hudi_reconcile.evidence.history import list_history
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import verify
from tests.unit.evidence.conftest import NOON_MICROS

KEY = KeyRing(audit_key("0123456789abcdef-canary", "test"))
OTHER = KeyRing(audit_key("fedcba9876543210-other", "test"))
BOTH_KEYS = pytest.mark.parametrize("keys", [NO_KEYS, KEY], ids=["without a key", "with a key"])
DONE = build_table_document(TableResult("orders", Outcome.DRIFT, findings={"deleted": 3}))

PROGRAM = """
import json, os, sys
from pathlib import Path
from hudi_reconcile.evidence.audit_log import NO_KEYS, KeyRing, audit_key
from hudi_reconcile.evidence.store import Store
told = json.loads(sys.argv[1])
keys = KeyRing(audit_key(told["key"], "test")) if told["key"] else NO_KEYS
folder = Store(Path(told["reports"]), keys).begin(1_795_262_400_000_000)
facts = {"command": "run", "started_utc": "2026-11-21T12:00:00Z", "provenance": {"tool": "1"}, "trust": []}
folder.draft.begin({**facts, "names": ["orders", "items"]})
for table in told["done"]:
    folder.write_plan(table["name"], {"version": 1, "upserts": 2})
    folder.draft.keep_table(table["name"], table, at_utc="2026-11-21T12:00:05Z", provenance={"spark": "3.5"})
folder.write_plan("items", {"version": 1, "upserts": 9})
folder.write_text("report.html", "half")
os.kill(os.getpid(), 9)
"""


def kill_a_run(reports: Path, keys: KeyRing = NO_KEYS, done: tuple[Any, ...] = (DONE,)) -> Path:
    """A run of two tables in a process of its own that is killed while it works on `items`; returns its draft."""
    key = "" if keys.current is None else keys.current.secret.decode()
    told = json.dumps({"reports": str(reports), "key": key, "done": done})
    ended = subprocess.run([sys.executable, "-c", PROGRAM, told], check=False, cwd=Path.cwd())
    assert ended.returncode == -signal.SIGKILL
    return next(reports.glob(".tmp-*.draft"))


def begin_next(store: Store) -> list[str]:
    """What the next run finds."""
    with store.begin(NOON_MICROS + 1_000_000):
        assert not [path.name for path in store.reports.glob(".tmp-20261121T120000Z*")]
        return store.run_ids()


@BOTH_KEYS
def test_killed_run_is_ended_by_the_next_with_what_was_done(tmp_path: Path, keys: KeyRing) -> None:
    store = Store(tmp_path / "reports", keys)
    kill_a_run(store.reports, keys)

    (run_id,) = begin_next(store)

    result = store.result(run_id)
    assert (result["command"], result["exit_code"], result["outcome"]) == ("run", 137, "unverified")
    assert (result["started_utc"], result["ended_utc"]) == ("2026-11-21T12:00:00Z", "2026-11-21T12:00:05Z")
    assert result["provenance"] == {"tool": "1", "spark": "3.5"}
    done, killed = result["tables"]
    assert done == json.loads(json.dumps(DONE))
    assert (killed["name"], killed["outcome"], killed["error"]["type"]) == ("items", "unverified", "Killed")
    assert store.plan(run_id, "orders") == {"version": 1, "upserts": 2}
    assert store.plan(run_id, "items") is None
    assert not (store.reports / run_id / "report.html").exists()
    found = verify(store.reports, keys=keys)
    assert (found.flaws, found.lines, found.sealed) == ([], 1, int(keys.current is not None))
    assert [run.outcome for run in list_history(store)] == ["unverified"]


def test_run_killed_before_a_table_was_done_is_told_all_the_same(tmp_path: Path) -> None:
    store = Store(tmp_path / "reports")
    kill_a_run(store.reports, done=())

    (run_id,) = begin_next(store)

    result = store.result(run_id)
    assert [table["error"]["type"] for table in result["tables"]] == ["Killed", "Killed"]
    assert result["ended_utc"] == result["started_utc"]


@pytest.mark.parametrize("name", ["orders/plan.json", "orders/more.json"])
def test_table_whose_files_changed_since_it_was_done_is_not_believed(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / "reports")
    draft = kill_a_run(store.reports)
    (store.reports / draft.name.removesuffix(".draft") / name).write_text("{}")

    (run_id,) = begin_next(store)

    assert [table["error"]["type"] for table in store.result(run_id)["tables"]] == ["Killed", "Killed"]
    assert store.plan(run_id, "orders") is None


@pytest.mark.parametrize("writer", [NO_KEYS, OTHER], ids=["no key", "another key"])
def test_draft_that_was_not_sealed_with_the_key_of_the_log_is_no_evidence(tmp_path: Path, writer: KeyRing) -> None:
    store = Store(tmp_path / "reports", KEY)
    kill_a_run(store.reports, writer)

    assert begin_next(store) == []
    assert not (store.reports / "audit.jsonl").exists()


@pytest.mark.parametrize("name", ["run.json", "table-orders.json"])
def test_sealed_draft_that_was_edited_proves_nothing_of_what_it_says(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / "reports", KEY)
    draft = kill_a_run(store.reports, KEY) / name
    draft.write_bytes(draft.read_bytes().replace(b'"drift"', b'"clean"').replace(b'"run"', b'"sweep"'))

    runs = begin_next(store)

    if name == "run.json":
        assert runs == []
    else:
        assert [table["outcome"] for table in store.result(runs[0])["tables"]] == ["unverified", "unverified"]


def test_draft_of_another_run_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    store = Store(tmp_path / "reports", KEY)
    draft = kill_a_run(store.reports, KEY)
    other = kill_a_run(tmp_path / "other", KEY)
    shutil.rmtree(draft)
    shutil.copytree(other, draft)

    assert begin_next(store) == []


@pytest.mark.parametrize("damage", [b"", b"{", b'{"version":1,"facts":{}}', b'{"version":2}', b"[]"])
def test_damaged_draft_is_no_evidence_and_stops_no_run(tmp_path: Path, damage: bytes) -> None:
    store = Store(tmp_path / "reports")
    (kill_a_run(store.reports) / "run.json").write_bytes(damage)

    assert begin_next(store) == []


def test_run_that_is_finished_or_given_up_leaves_no_draft(tmp_path: Path) -> None:
    store = Store(tmp_path / "reports")
    facts = {"command": "run", "started_utc": "", "names": ["orders"], "provenance": {}, "trust": []}
    with store.begin(NOON_MICROS) as finished:
        finished.draft.begin(facts)
        finished.write_result({**facts, "outcome": "clean", "exit_code": 0, "ended_utc": "", "tables": []})
        finished.finish()
    with store.begin(NOON_MICROS + 1) as failed:
        failed.draft.begin(facts)

    assert {path.name for path in store.reports.iterdir()} == {".lock", "audit.jsonl", finished.run_id}


def test_killed_run_that_the_disk_does_not_let_end_is_ended_by_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "reports")
    kill_a_run(store.reports)

    def refused(_: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(run_folder, "sync_tree", refused)
        store.begin(NOON_MICROS + 1_000_000).abandon()
    assert store.run_ids() == []

    (run_id,) = begin_next(store)

    assert [table["outcome"] for table in store.result(run_id)["tables"]] == ["drift", "unverified"]
