"""What a budgeted sweep goes on from is in the newest runs that left it, and in no other."""

from __future__ import annotations

from dataclasses import replace

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Pulled
from hudi_reconcile.core.sweep.coverage import Coverage, Stretch, build_coverage_document
from hudi_reconcile.core.sweep.segments import RangeSegments
from hudi_reconcile.evidence.history import list_past_coverage
from hudi_reconcile.evidence.store import Store
from tests.unit.evidence.conftest import NOON_MICROS, SECOND

FIRST = Coverage("s", RangeSegments("id", 0, 10, 4), None, (Stretch(0, 2, 5, "run"),))


def write(
    store: Store,
    number: int,
    coverage: Coverage | None,
    *,
    name: str = "orders",
    ends: bool = True,
    created: bool = False,
) -> str:
    pulled = Pulled(1, "full", None, None, None, created=True) if created else None
    with store.begin(NOON_MICROS + number * SECOND) as folder:
        if coverage is not None:
            folder.write_coverage(name, build_coverage_document(name, coverage))
        table = TableResult(name, Outcome.CLEAN, pull=pulled)
        folder.write_result(run_document(RunResult(folder.run_id, "sweep", "s", "e", (table,))))
        if ends:
            folder.finish()
    return folder.run_id


def test_newest_coverage_of_each_subject_is_found_newest_first(store: Store) -> None:
    other = replace(FIRST, subject="other")
    newer = replace(FIRST, stretches=(Stretch(0, 5, 9, "run2"),))
    for number, one in enumerate((FIRST, other, newer)):
        write(store, number, one)
    write(store, 7, replace(FIRST, stretches=()), name="items")

    assert list_past_coverage(store, "orders") == (newer, other)


def test_run_that_was_interrupted_leaves_coverage_as_it_was(store: Store) -> None:
    write(store, 0, FIRST)
    write(store, 1, replace(FIRST, stretches=(Stretch(0, 5, 9, "killed"),)), ends=False)

    assert list_past_coverage(store, "orders") == (FIRST,)


def test_damaged_coverage_is_passed_over_for_the_one_before(store: Store) -> None:
    write(store, 0, FIRST)
    damaged = [write(store, number, FIRST) for number in (1, 2)]
    (store.reports / damaged[0] / "orders" / "coverage.json").write_text("{")
    (store.reports / damaged[1] / "orders" / "coverage.json").write_text('{"version": 1, "table": "orders"}')

    assert list_past_coverage(store, "orders") == (FIRST,)
    assert list_past_coverage(store, "items") == ()


def test_coverage_from_before_the_table_was_made_is_of_another_table(store: Store) -> None:
    write(store, 0, FIRST)
    write(store, 1, None, name="items", created=True)
    assert list_past_coverage(store, "orders") == (FIRST,)

    write(store, 2, None, created=True)
    assert list_past_coverage(store, "orders") == ()

    own = replace(FIRST, subject="after the pull of the same run")
    write(store, 3, own, created=True)
    assert list_past_coverage(store, "orders") == (own,)


def test_coverage_from_before_a_run_that_cannot_be_read_is_not_gone_on_from(store: Store) -> None:
    write(store, 0, FIRST)
    made = write(store, 1, None, created=True)
    (store.reports / made / "result.json").write_text("{")

    assert list_past_coverage(store, "orders") == ()
