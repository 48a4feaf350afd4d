"""A process that hangs while it holds the lock of the reports folder ends other runs by name: none of them waits for ever."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from hudi_reconcile.app.archive import RunArchive
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.evidence.files import EvidenceError, LockHeldError, lock_file, try_lock
from hudi_reconcile.evidence.purge import find_old_runs, purge
from hudi_reconcile.evidence.run_folder import STORE_LOCK, build_run_id, name_building_folder
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import verify
from tests.unit.evidence.conftest import NOON_MICROS

SHORT = 0.2


@contextmanager
def held(reports: Path) -> Iterator[int]:
    """The lock in the hands of somebody who does not let go: each open file has a lock of its own, as each process."""
    descriptor = try_lock(reports / STORE_LOCK)
    assert descriptor is not None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture
def hasty(store: Store) -> Store:
    return Store(store.reports, lock_seconds=SHORT)


@pytest.mark.timeout(30)
def test_run_behind_a_holder_that_hangs_is_refused_by_the_locks_name(
    hasty: Store, write_run: Callable[..., str]
) -> None:
    write_run()
    with held(hasty.reports), pytest.raises(LockHeldError) as refused:
        hasty.begin(NOON_MICROS * 2)

    path = hasty.reports / STORE_LOCK
    assert (refused.value.outcome, refused.value.outcome.exit_code) == (Outcome.REFUSED, 5)
    assert (str(path) in refused.value.message, f"fuser -v {path}" in refused.value.fix) == (True, True)
    assert [one.name for one in hasty.reports.glob(".tmp-*")] == []


@pytest.mark.timeout(30)
def test_run_that_ends_behind_such_a_holder_is_unverified_and_logs_nothing(
    hasty: Store, result_of: Callable[..., Mapping[str, Any]]
) -> None:
    with hasty.begin(NOON_MICROS) as folder:
        folder.write_result(result_of("apply", run_id=folder.run_id))
        with held(hasty.reports), pytest.raises(EvidenceError) as ended:
            folder.finish()

    assert (ended.value.outcome, "fuser" in ended.value.fix) == (Outcome.UNVERIFIED, True)
    assert folder.run_id in ended.value.message
    assert hasty.run_ids() == []
    assert not (hasty.reports / "audit.jsonl").exists()


@pytest.mark.timeout(30)
def test_readers_and_a_purge_behind_such_a_holder_end_by_the_same_name(
    hasty: Store, write_run: Callable[..., str]
) -> None:
    run_id = write_run()
    old = find_old_runs(hasty, NOON_MICROS * 2)
    (hasty.reports / run_id).rename(hasty.reports / "elsewhere")

    with held(hasty.reports):
        for act in (hasty.list_open, hasty.run_ids, lambda: purge(hasty, old, {})):
            with pytest.raises(LockHeldError):
                act()

    lines = (hasty.reports / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["run_id"] for line in lines] == [run_id]


@pytest.mark.timeout(30)
def test_list_of_killed_runs_waits_for_no_holder_and_has_none_that_the_log_names(
    store: Store, write_run: Callable[..., str]
) -> None:
    logged, killed = write_run(), build_run_id(NOON_MICROS, 1)
    (store.reports / logged).rename(name_building_folder(store.reports, logged))
    name_building_folder(store.reports, killed).mkdir()

    with held(store.reports):
        assert RunArchive(store).list_killed() == ()

    assert RunArchive(store).list_killed() == (killed,)


@pytest.mark.timeout(30)
def test_verify_behind_such_a_holder_tells_its_flaws_all_the_same(store: Store, write_run: Callable[..., str]) -> None:
    run_id = write_run()
    (store.reports / run_id / "report.html").write_text("another")

    with held(store.reports):
        flaws = verify(store.reports, lock_seconds=SHORT).flaws

    assert [(flaw.run_id, flaw.what) for flaw in flaws] == [(run_id, "report.html was changed")]


@pytest.mark.timeout(30)
def test_lock_that_is_let_go_within_the_deadline_is_taken(tmp_path: Path) -> None:
    descriptor = try_lock(tmp_path / STORE_LOCK)
    assert descriptor is not None
    Timer(SHORT, os.close, [descriptor]).start()

    with lock_file(tmp_path / STORE_LOCK, wait_seconds=20):
        assert try_lock(tmp_path / STORE_LOCK) is None
