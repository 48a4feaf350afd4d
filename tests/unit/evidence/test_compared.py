"""The newest comparison of a table is found among other runs and tables, and a run that cannot be read stops the search."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.history import find_newest_comparison
from hudi_reconcile.evidence.store import Store

RunWriter = Callable[..., str]


def test_newest_sweep_or_run_of_the_table_is_found(store: Store, write_run: RunWriter) -> None:
    write_run("sweep", "orders")
    newest = write_run("run", "orders")
    write_run("pull", "orders")
    write_run("check", "orders")
    write_run("sweep", "items")

    found = find_newest_comparison(store, "orders")

    assert found is not None
    assert (found.run_id, found.table["name"], found.since) == (newest, "orders", "")


def test_table_that_was_never_compared_has_none(store: Store, write_run: RunWriter) -> None:
    write_run("pull", "orders")

    assert find_newest_comparison(store, "orders") is None


def test_newer_run_that_cannot_be_read_is_not_passed_over(store: Store, write_run: RunWriter) -> None:
    write_run("sweep", "orders")
    (store.reports / write_run("sweep", "orders") / "result.json").write_text("{")

    with pytest.raises(RefusedError):
        find_newest_comparison(store, "orders")
    (store.reports / "audit.jsonl").unlink()
    with pytest.raises(EvidenceError):
        find_newest_comparison(store, "orders")
