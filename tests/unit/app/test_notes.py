"""A table's notes as its result tells them: what costs most first."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from hudi_reconcile.app.run import add_provenance
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.notes import Note, Stake, find_stake
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult, build_table_document
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.world import job, pulled, swept


def test_result_tells_notes_by_what_they_cost_and_how_many_need_a_person(tmp_path: Path) -> None:
    table = {"name": "orders", "source": {"table": "orders"}, "lake": {"path": "lake/orders"}}
    config = {"version": 1, "source": {"url": "postgresql+psycopg://r@h/d"}, "tables": [table]}
    (tmp_path / "reconcile.yaml").write_text(json.dumps(config))
    notes = ("masked: email", Note(Stake.EFFORT, "no index"), Note(Stake.ROWS, "3 rows have no at"))

    told = add_provenance(
        TableResult("orders", Outcome.CLEAN, notes=notes),
        load_config(tmp_path / "reconcile.yaml", {}).tables[0],
        "",
        "",
    )

    document = build_table_document(told)
    assert document["notes"] == ["3 rows have no at", "no index", "masked: email"]
    assert document["notes_open"] == 2


def test_rows_that_pulls_miss_need_a_person_and_a_setting_that_is_meant_does_not() -> None:
    world = pulled((1, 10, 100), (2, 20, 200))
    world.source.put(3, 30, None)

    missed = [note for note in pull(job(), world.edges, full=False).notes if "NULL" in note]
    meant = [note for note in swept(world, exclude=frozenset({"v"})).result.notes if "compare.exclude" in note]

    assert [find_stake(note) for note in missed + meant] == [Stake.ROWS, Stake.RECORD]


def test_copy_of_a_note_keeps_its_text_and_what_is_at_stake() -> None:
    result = TableResult("orders", Outcome.CLEAN, notes=(Note(Stake.ROWS, "3 rows have no at"),))

    (copied,) = asdict(result)["notes"]

    assert (copied, find_stake(copied)) == ("3 rows have no at", Stake.ROWS)


def test_excluded_column_that_is_nowhere_is_not_called_left_out() -> None:
    notes = swept(pulled((1, 10, 100)), exclude=frozenset({"v", "nope"})).result.notes

    assert [note for note in notes if "compare.exclude" in note] == [
        "compare.exclude names what neither side has: nope",
        "left out on purpose (compare.exclude): v",
    ]
