"""Changes from file versions, on real tables: held against the snapshots that were seen while the history was made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.changes.queries import Change, apply_changes, is_same_image
from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.core.tables.values import READ_SEQ, ChangeLog, LakeColumn, TableType
from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.changes.lakes import Lake
from tests.integration.changes.reading import (
    assert_part,
    assert_ranges,
    bare,
    service,
    span_between,
    whole_log,
)
from tests.integration.lake.support import checkpoint, frame, table_of


def test_every_range_of_a_history_applied_to_its_first_state_gives_its_last(
    spark: SparkSession, tmp_path: Path
) -> None:
    history_is_told_right(spark, tmp_path, "merge_on_read", "op_key_only")


def history_is_told_right(
    spark: SparkSession, tmp_path: Path, kind: TableType, log: ChangeLog | None
) -> tuple[Lake, tuple[Change, ...]]:
    lake = Lake(spark, tmp_path / "t", kind, log)
    lake.correct({1: ("b", 1), 4: ("b", 4)}, {2})  # 1 moves
    lake.pull({1: ("b", 6), 6: ("a", 6)}, seq=0)  # Hudi drops the older image of 1
    assert lake.states[-1][1]["v"] == 1
    assert service(spark, lake, kind)
    lake.pull({6: ("a", 6)})  # again, as it was
    carried = {one: (row["part"], row["v"]) for one, row in lake.states[-1].items() if one != 1}
    lake.pull(carried | {8: ("a", 7)}, replace=True)

    found = whole_log(lake.history())

    assert_ranges(lake, found)
    told = {(one.commit, one.op, one.key) for one in found if one.commit}
    again = {(one.commit, one.op, one.key) for one in found if one.op == "u" and is_same(one)}
    assert told - again == {(1, "u", 1), (1, "i", 4), (1, "d", 2), (2, "i", 6), (4, "d", 1), (4, "i", 8)}
    # On merge_on_read the older image of 1 is in the files: its row counts as written again.
    assert again == {(3, "u", 6), *([(2, "u", 1)] if kind == "merge_on_read" else [])}
    assert [one.instant.completed for one in lake.history().commits()] == lake.completed
    assert_part(lake, found, 2, 5)  # service and replacement are inside; `make change-histories` asks for many more
    assert_writers_at_once_are_refused(lake)
    return lake, found


def is_same(change: Change) -> bool:
    return change.before is not None and change.after is not None and is_same_image(change.before, change.after)


def assert_writers_at_once_are_refused(lake: Lake) -> None:
    """As if the second commit had ended after the third, which wrote the same files."""
    history = lake.history()
    first, second, third, *later = history.commits()
    slow = replace(second, instant=replace(second.instant, completed=later[0].instant.requested))
    history._commits = (first, slow, third, *later)
    for read in (history.versions, history.read_alive_upserts):
        with pytest.raises(UsageError, match="at the same time"):
            read((third,))
        read((first,))


def test_commit_that_is_archived_after_it_was_listed_ends_the_query_with_run_it_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(spark, tmp_path / "t", "copy_on_write", None)
    lake.pull({1: ("a", 2)})

    history = lake.history()
    (first,) = (tmp_path / "t" / ".hoodie" / "timeline").glob(f"*_{lake.completed[0]}.commit")
    first.unlink()
    with pytest.raises(LakeError) as refused:
        history.commits()
    assert refused.value.fix.startswith("run it again; ")


def test_history_that_the_cleaner_or_the_archiver_cut_is_refused_with_the_first_instant_that_works(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(spark, tmp_path / "t", "copy_on_write", None)
    options = {"hoodie.clean.commits.retained": "2", "hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4"}
    lake.lake = HudiLake(spark, str(tmp_path / "t"), name="t", options=options)
    for value in range(1, 5):
        lake.pull({1: ("a", value)})

    history = lake.history()
    with pytest.raises(UsageError) as refused:
        span_between(history, "earliest", "latest")
    usable = refused.value.fix.rsplit(" ", 1)[-1]

    place = lake.completed.index(usable)
    assert 0 < place < len(lake.completed) - 1
    reached = apply_changes(lake.states[place + 1], whole_log(history, usable))
    assert bare(reached) == bare(lake.states[-1])
    with pytest.raises(UsageError):
        span_between(history, lake.completed[place - 1], "latest")


def test_columns_that_came_or_were_widened_in_the_range_are_told_as_the_table_has_them_now(
    spark: SparkSession, tmp_path: Path
) -> None:
    widened_columns_are_told(spark, tmp_path, "merge_on_read")


def widened_columns_are_told(spark: SparkSession, tmp_path: Path, kind: TableType) -> None:
    lake = Lake(spark, tmp_path / "t", kind, None)
    wider = LakeColumn("v", "bigint"), LakeColumn("note", "string")
    table = table_of(lake.lake)
    columns = tuple(wider[0] if column.name == "v" else column for column in table.columns)
    table = replace(table, columns=(*columns, wider[1]))
    schema = f"id bigint, part string, v bigint, {READ_SEQ} bigint, note string"
    rows = frame(spark, schema, (2, "a", 9_000_000_000, 9, "new"))
    lake.completed.append(lake.lake.upsert(rows, table, checkpoint(9), {"kind": "pull"}).completed)

    log = whole_log(lake.history())

    first = {"part": "a", READ_SEQ: 1, "note": None}
    assert [one for one in log if one.key == 2] == [
        Change(0, 2, None, {"id": 2, "v": 0, **first}),
        Change(
            1, 2, {"id": 2, "v": 0, **first}, {"id": 2, "part": "a", "v": 9_000_000_000, READ_SEQ: 9, "note": "new"}
        ),
    ]
    assert len(log) == 4
