"""Old runs go, the chain holds, and the log says what is gone; nothing else ever goes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.audit_log import KeyRing, audit_key
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.purge import find_old_runs, purge
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import verify
from tests.unit.evidence.conftest import NOON_MICROS, SECOND, RunWriter

FACTS = {"by": "alice", "login": "alice@desk", "ended_utc": "2026-11-21T12:00:00Z", "older_than": "90d"}


def test_runs_from_before_go_and_the_log_names_them_and_still_holds(store: Store, write_run: RunWriter) -> None:
    ids = [write_run() for _ in range(4)]
    before = verify(store.reports).head

    old = find_old_runs(store, NOON_MICROS + 2 * SECOND)
    assert (old.runs, old.unfinished, store.run_ids()) == (tuple(ids[:2]), (), ids[::-1])
    assert old.bytes > 0
    head = purge(store, old, FACTS)

    found = verify(store.reports, before)
    assert (found.flaws, found.head, found.lines, found.published_line) == ([], head, 5, 4)
    assert [(one.line, one.by, one.runs) for one in found.purges] == [(5, "alice", tuple(ids[:2]))]
    assert store.run_ids() == ids[:1:-1]
    later = write_run()
    assert verify(store.reports).flaws == []
    assert find_old_runs(store, NOON_MICROS + 2 * SECOND).runs == ()
    assert later in store.run_ids()


def test_purge_that_was_killed_is_told_and_finished_by_the_next(
    store: Store, write_run: RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [write_run() for _ in range(3)]
    old = find_old_runs(store, NOON_MICROS + 2 * SECOND)

    def killed(_: Path) -> None:
        raise OSError(5, "killed")

    with monkeypatch.context() as broken:
        broken.setattr(shutil, "rmtree", killed)
        with pytest.raises(EvidenceError, match="could not be removed"):
            purge(store, old, FACTS)
    (store.reports / ids[0] / "result.json").unlink()  # half of it is gone

    told = {flaw.run_id: flaw.what for flaw in verify(store.reports).flaws}
    assert set(told) == set(ids[:2])
    assert all("audit purge --yes" in what for what in told.values())
    left = find_old_runs(store, NOON_MICROS)
    assert (left.runs, left.unfinished) == ((), tuple(ids[:2]))
    purge(store, left, FACTS)
    assert (verify(store.reports).flaws, verify(store.reports).lines) == ([], 4)


def test_two_purges_at_once_name_each_run_once(store: Store, write_run: RunWriter) -> None:
    ids = [write_run() for _ in range(3)]
    one, other = (find_old_runs(store, NOON_MICROS + 2 * SECOND) for _ in range(2))

    heads = {purge(store, one, FACTS), purge(store, other, FACTS)}

    found = verify(store.reports)
    assert (found.flaws, {found.head}, store.run_ids()) == ([], heads, ids[2:])
    assert [one.runs for one in found.purges] == [tuple(ids[:2])]


@pytest.mark.parametrize("purged", [5, [5], [{"run": "x"}], []])
def test_purge_that_names_no_runs_is_a_flaw(store: Store, write_run: RunWriter, purged: object) -> None:
    write_run()
    audit_log.append(store.reports / "audit.jsonl", {**FACTS, "command": "purge", "run_id": None, "purged": purged})

    found = verify(store.reports)

    assert [(flaw.line, flaw.what) for flaw in found.flaws] == [(2, "is a purge that names no runs")]
    assert found.purges == []


def test_evidence_that_was_changed_is_not_purged_away(store: Store, write_run: RunWriter) -> None:
    run_id = write_run()
    (store.reports / run_id / "report.html").write_text("clean")

    with pytest.raises(RefusedError, match="remove the proof"):
        find_old_runs(store, NOON_MICROS + SECOND)


def test_line_that_purges_what_no_line_names_is_a_flaw(store: Store, write_run: RunWriter) -> None:
    run_id = write_run()
    purge(store, find_old_runs(store, NOON_MICROS + SECOND), FACTS)
    again = {**FACTS, "command": "purge", "run_id": None, "tables": [], "purged": [{"run_id": run_id, "hash": "x"}]}
    audit_log.append(store.reports / "audit.jsonl", again)

    (flaw,) = verify(store.reports).flaws
    assert (flaw.line, flaw.run_id) == (3, run_id)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda gone: [{**gone[0], "hash": gone[1]["hash"]}, gone[1]], "another hash than that of line 1"),
        (lambda gone: [gone[0], {"run_id": gone[1]["run_id"]}], "another hash than that of line 2"),
        (lambda gone: gone[::-1], "the oldest first"),
        (lambda gone: [gone[0], gone[0], gone[1]], "no line before names, or another purge"),
    ],
)
def test_line_of_a_purge_that_is_not_as_the_lines_before_say_is_a_flaw_and_stops_the_next_purge(
    store: Store, write_run: RunWriter, change: Callable[[list[Any]], list[Any]], what: str
) -> None:
    ids = [write_run() for _ in range(3)]
    log = store.reports / "audit.jsonl"
    gone = [{"run_id": line["run_id"], "hash": line["hash"]} for line in audit_log.read_records(log)][:2]
    audit_log.append(log, {**FACTS, "command": "purge", "run_id": None, "tables": [], "purged": change(gone)})
    for run_id in ids[:2]:
        shutil.rmtree(store.reports / run_id)

    (flaw,) = verify(store.reports).flaws

    assert flaw.line == 4
    assert what in flaw.what
    with pytest.raises(RefusedError, match="not what it was"):
        find_old_runs(store, NOON_MICROS + 9 * SECOND)


def test_purged_run_whose_folder_is_there_again_is_named(store: Store, write_run: RunWriter) -> None:
    run_id = write_run()
    purge(store, find_old_runs(store, NOON_MICROS + SECOND), FACTS)
    (store.reports / run_id).mkdir()

    (flaw,) = verify(store.reports).flaws
    assert (flaw.run_id, "was purged, and its folder is there" in flaw.what) == (run_id, True)


def test_line_of_a_purge_is_sealed_as_every_other(store: Store) -> None:
    keyed = Store(store.reports, KeyRing(audit_key("0123456789abcdef", "test")))
    with keyed.begin(NOON_MICROS) as folder:
        folder.write_result(
            {"command": "sweep", "outcome": "clean", "exit_code": 0, "started_utc": "", "ended_utc": "", "tables": []}
        )
        folder.finish()

    purge(keyed, find_old_runs(keyed, NOON_MICROS + SECOND), FACTS)

    assert verify(store.reports, keys=keyed.keys).sealed == 2
