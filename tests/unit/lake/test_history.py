"""Commits as their metadata tells them, and as of when the rows around each are read."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.changes.range import Commit, WrittenFile
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.values import Instant
from hudi_reconcile.lake.bridge import TimelineAction, find_newest_completion
from hudi_reconcile.lake.changes.read_points import (
    AFTER,
    BEFORE,
    choose_moments,
    estimate_bytes,
    find_disturbance,
    has_older_logs,
    is_compaction,
    is_plain,
    is_service,
    list_looks,
    parse_commit,
    read_each,
)

ACTION = TimelineAction("20260101000000001", "20260101000000002", "commit")


def test_commit_touches_the_groups_that_it_wrote_and_those_that_it_replaced() -> None:
    document = {
        "operationType": "INSERT_OVERWRITE",
        "partitionToWriteStats": {"p": [{"fileId": "new"}], "q": []},
        "partitionToReplaceFileIds": {"p": ["old"]},
        "extraMetadata": {"schema": "{}", "_hr.kind": "apply", "_hr.run_id": "r"},
    }

    found = parse_commit(ACTION, document)

    assert found == Commit(
        Instant(ACTION.requested, str(ACTION.completed)),
        frozenset({("p", "new"), ("p", "old")}),
        replaces=True,
        labels={"kind": "apply", "run_id": "r"},
        schema="{}",
    )


def test_commit_without_files_or_labels_touches_nothing() -> None:
    assert parse_commit(ACTION, {"partitionToWriteStats": None, "extraMetadata": None}).groups == frozenset()


def test_commit_of_a_table_whose_columns_go_by_identity_tells_no_schema_that_files_could_be_held_against() -> None:
    assert parse_commit(ACTION, {"extraMetadata": {"schema": "{}", "latest_schema": "{}"}}).schema is None


def test_compaction_and_clustering_are_services_and_writes_of_any_kind_are_not() -> None:
    names = [
        "COMPACT",
        "LOG_COMPACT",
        "CLUSTER",
        "UPSERT",
        "BULK_INSERT",
        "DELETE_PARTITION",
        "INSERT_OVERWRITE_TABLE",
        None,
    ]

    assert [is_service({"operationType": name}) for name in names] == [True] * 3 + [False] * 5
    assert [is_compaction({"operationType": name}) for name in names] == [True] * 2 + [False] * 6


def test_rows_before_a_commit_are_read_as_of_whatever_was_done_last_before_it() -> None:
    first = Commit(Instant("20260101000000000", "20260101000001000"), frozenset({("", "a")}))
    second = Commit(Instant("20260101000010000", "20260101000011000"), frozenset({("", "b")}))
    clustering = "20260101000005000"

    done = [first.instant.requested, clustering, second.instant.requested]
    found = list(list_looks([first, second], done, None))

    assert next(list_looks([first], done, "20251201000000000")) == ("20251231235959999", "", "a", 0, BEFORE)
    assert found == [
        (first.instant.requested, "", "a", 0, AFTER),
        (clustering, "", "b", 1, BEFORE),
        (second.instant.requested, "", "b", 1, AFTER),
    ]


def test_commit_whose_forerunner_is_archived_is_not_held_against_an_older_one_that_a_savepoint_keeps_active() -> None:
    commit = Commit(Instant("20260101000010000", "20260101000011000"), frozenset({("", "a")}))
    savepoint, archived = "20260101000001000", "20260101000005000"

    for done, moment in (([savepoint], "20260101000009999"), ([savepoint, "20260101000008000"], "20260101000008000")):
        first, _ = list_looks([commit], [*done, commit.instant.requested], archived)
        assert first == (moment, "", "a", 0, BEFORE)


def test_archived_write_without_a_completion_time_counts_as_completed_with_the_oldest_that_is_active() -> None:
    def action(requested: str, completed: str | None) -> TimelineAction:
        return TimelineAction(requested, completed, "commit")

    active = [action("5", "6"), action("7", "8")]

    assert find_newest_completion([], active) is None
    assert find_newest_completion([action("1", "2"), action("3", "4")], active) == "4"
    assert find_newest_completion([action("1", "2"), action("3", None)], active) == "6"
    assert find_newest_completion([action("3", None)], []) == "3"


def test_group_is_as_large_as_its_largest_base_file_and_all_logs_and_of_no_size_where_only_logs_are_known() -> None:
    def wrote(**sizes: int) -> dict[str, object]:
        stats = [
            {"fileId": path[0], "path": path.replace("_", "."), "fileSizeInBytes": size} for path, size in sizes.items()
        ]
        return {"partitionToWriteStats": {"p": stats}}

    documents = [wrote(a_parquet=7), wrote(a_log_1=2, b_log_1=3), wrote(a_parquet=5, a_log_2=1), {}]

    assert estimate_bytes(documents) == {("p", "a"): 10}


def test_groups_are_read_as_of_the_newest_commit_at_once_but_for_those_that_somebody_wrote_or_replaced_since() -> None:
    def wrote(second: int, *names: str) -> Commit:
        stamp = f"202601010000{second:02d}"
        return Commit(Instant(f"{stamp}000", f"{stamp}500"), frozenset(("p", name) for name in names))

    one, two, three = wrote(10, "a", "b", "c"), wrote(20, "b"), wrote(30, "d")
    clustering, later = wrote(25, "c"), wrote(40, "a")

    found = choose_moments([one, two, three], [one, two, three, clustering, later])

    assert found == {
        three.instant.requested: frozenset({("p", "a"), ("p", "b"), ("p", "d")}),
        one.instant.requested: frozenset({("p", "c")}),
    }
    assert choose_moments([], [one]) == {}


def test_older_logs_are_ruled_out_by_a_base_file_that_is_known_and_no_later_than_the_commit() -> None:
    def wrote(second: int, path: str) -> Commit:
        group = ("p", "a")
        stamp = f"202601010000{second:02d}"
        files = (WrittenFile(group, path, None),)
        return Commit(Instant(f"{stamp}000", f"{stamp}500"), frozenset({group}), files=files)

    base, log, later_base = wrote(10, "p/a.parquet"), wrote(20, "p/.a_0.log.1"), wrote(30, "p/a_2.parquet")

    assert not has_older_logs([log], [base, log])
    assert not has_older_logs([base, log], [base, log])
    assert has_older_logs([log], [log])
    assert has_older_logs([log], [log, later_base])
    assert not has_older_logs([], [log])


def test_commits_are_plain_where_nothing_was_replaced_from_the_first_of_them_to_the_last() -> None:
    def at(requested: int, completed: int, *, replaces: bool = False) -> Commit:
        return Commit(Instant(f"202601010000{requested:02d}000", f"202601010000{completed:02d}000"), replaces=replaces)

    asked = [at(10, 11), at(20, 21)]

    for outside in (at(7, 8, replaces=True), at(22, 23, replaces=True), at(15, 16)):
        assert is_plain(asked, [*asked, outside])
    for inside in (at(15, 16, replaces=True), at(8, 12, replaces=True), at(19, 30, replaces=True)):
        assert not is_plain(asked, [*asked, inside])
    assert is_plain([], [at(1, 2, replaces=True)])


def test_reading_is_disturbed_by_who_took_a_commit_back_or_began_before_the_last_of_them_and_wrote_its_files() -> None:
    def at(requested: int, *groups: str) -> Commit:
        instant = Instant(f"202601010000{requested:02d}000", f"202601010000{requested + 30}000")
        return Commit(instant, frozenset(("p", group) for group in groups))

    asked = [at(10, "a"), at(20, "b")]
    there = {one.instant.requested for one in asked}

    assert find_disturbance(asked, there, [at(21, "a", "b"), at(15, "c")]) is None
    assert find_disturbance([], set(), [at(1, "a")]) is None
    assert "20260101000045000 began in the range or before" in str(find_disturbance(asked, there, [at(15, "c", "a")]))
    assert "20260101000050000 was taken back" in str(find_disturbance(asked, {asked[0].instant.requested}, []))


def test_range_with_columns_of_other_types_is_refused_with_the_commit_that_changed_them_as_first_usable_instant() -> (
    None
):
    commits = [Commit(Instant(f"2026010100000{n}000", f"2026010100000{n}500")) for n in range(1, 5)]
    moments = {one.instant.requested: frozenset({("", one.instant.completed)}) for one in reversed(commits)}

    def read(moment: str, _groups: frozenset[tuple[str, str]]) -> str:
        if moment <= commits[1].instant.requested:
            raise UsageError("v was float, is double", fix="")
        return moment

    with pytest.raises(UsageError, match="v was float") as refused:
        read_each(moments, read, commits)
    assert refused.value.fix.endswith(f"--from {commits[2].instant.completed}")
    assert read_each(dict([*moments.items()][:2]), read, commits) == [one.instant.requested for one in commits[2:]]
