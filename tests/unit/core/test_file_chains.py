"""Which file of a group was made from which, as the commits of a copy_on_write table tell it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.changes.file_history import link_chains
from hudi_reconcile.core.changes.range import Commit, FileGroup, WrittenFile
from hudi_reconcile.core.tables.values import Instant


def commit(second: int, **made_from: int | None) -> Commit:
    """Requested at a second, and the second of the version that each group's new file was made from."""
    files = tuple(file(second, ("p", name), previous) for name, previous in made_from.items())
    groups: frozenset[FileGroup] = frozenset(one.group for one in files)
    return Commit(Instant(stamp(second), stamp(second, 500)), groups, files=files, schema="now")


def file(second: int, group: FileGroup, previous: int | None) -> WrittenFile:
    made_from = None if previous is None else stamp(previous)
    return WrittenFile(group, f"{group[0]}/{group[1]}_{stamp(second)}.parquet", made_from)


def stamp(second: int, milliseconds: int = 0) -> str:
    return f"202601010000{second:02d}{milliseconds:03d}"


WRITES = [commit(1, a=None), commit(2, a=1, b=None), commit(3, b=2), commit(4, a=2), commit(5, a=4)]


def test_files_of_a_group_are_chained_from_the_version_before_the_first_commit_to_the_last_one() -> None:
    found = link_chains([WRITES[1], WRITES[3]], WRITES)

    assert found is not None
    assert [[(one.place, one.requested, one.n) for one in chain] for chain in found] == [
        [(0, stamp(1), None), (1, stamp(2), 0), (2, stamp(4), 1)],
        [(0, stamp(2), 0)],  # b began with the first, and the second left it alone
    ]
    assert [chain[-1].path for chain in found] == [f"p/a_{stamp(4)}.parquet", f"p/b_{stamp(2)}.parquet"]


def test_version_of_a_commit_outside_of_the_range_is_in_the_chain_without_a_place_among_the_commits() -> None:
    found = link_chains([WRITES[1], WRITES[4]], WRITES)

    assert found is not None
    assert [one.n for one in found[0]] == [None, 0, None, 1]


def test_all_commits_asked_for_in_another_order_have_their_places_by_that_order() -> None:
    found = link_chains([WRITES[3], WRITES[1]], WRITES)

    assert found is not None
    assert [one.n for one in found[0]] == [None, 1, 0]


def without_schema(one: Commit) -> Commit:
    return replace(one, schema=None)


def in_millis(one: Commit) -> Commit:
    return replace(one, schema='{"type": "long", "logicalType": "timestamp-millis"}')


def late(one: Commit) -> Commit:
    return replace(one, schema="late", instant=replace(one.instant, completed=stamp(9)))


def twice(one: Commit) -> Commit:
    return replace(one, files=(*one.files, replace(one.files[0], path="p/again.parquet")))


REQUIRED = '{"type": "record", "name": "t", "fields": [{"name": "v", "type": "int"}]}'
NULLABLE = '{"type": "record", "name": "t", "fields": [{"name": "v", "type": ["null", "int"], "default": null}]}'


def test_batches_that_differ_in_what_may_be_null_alone_make_one_chain() -> None:
    writes = [replace(one, schema=(REQUIRED, NULLABLE)[n % 2]) for n, one in enumerate(WRITES)]
    other = [*writes[:-1], replace(writes[-1], schema=REQUIRED.replace('"int"', '"long"'))]

    assert link_chains(writes, writes) == link_chains(WRITES, WRITES) is not None
    assert link_chains(other, other) is None


FILELESS = replace(WRITES[4], files=())


@pytest.mark.parametrize(
    ("asked", "writes"),
    [
        pytest.param(WRITES[3:4], WRITES[2:], id="the version before is no longer on the timeline"),
        pytest.param(WRITES[4:], [*WRITES[:3], WRITES[4]], id="a version in between is missing"),
        pytest.param([WRITES[1], WRITES[4]], [*WRITES[:3], commit(4, a=1), WRITES[4]], id="made from an older one"),
        pytest.param([replace(WRITES[4], replaces=True)], WRITES, id="file groups were replaced"),
        pytest.param([WRITES[3], FILELESS], [*WRITES[:4], FILELESS], id="a commit tells a file group without its file"),
        pytest.param([twice(WRITES[0])], [twice(WRITES[0])], id="a commit tells two files of a file group"),
        pytest.param(WRITES[1:2], [twice(WRITES[0]), *WRITES[1:]], id="the version before is told twice"),
        pytest.param([commit(6, a=None)], [*WRITES, commit(6, a=None)], id="a file group was begun anew"),
        pytest.param(WRITES[3:4], [*WRITES, replace(commit(9, b=3), schema="later")], id="the schema changed later"),
        pytest.param(WRITES[1:2], [replace(WRITES[0], schema="was"), *WRITES[1:]], id="the schema changed before"),
        pytest.param(
            WRITES[3:4], [*WRITES[:2], late(WRITES[2]), *WRITES[3:]], id="the last to complete has another schema"
        ),
        pytest.param(
            WRITES[1:2], [in_millis(one) for one in WRITES], id="times of milliseconds, which Hudi may repair"
        ),
        pytest.param(WRITES[1:2], [without_schema(one) for one in WRITES], id="no commit tells its schema"),
        pytest.param(
            [replace(WRITES[4], files=())], [replace(one, files=()) for one in WRITES], id="no files are told"
        ),
    ],
)
def test_chains_are_none_where(asked: list[Commit], writes: list[Commit]) -> None:
    assert link_chains(asked, writes) is None


@pytest.mark.parametrize("path", ["p/a_1.orc", "p/.a_1.log.1_0-1-1", "p=[1]/a_1.parquet", "p/{x}/a_1.parquet"])
def test_file_that_spark_would_not_read_by_its_name_ends_the_chain(path: str) -> None:
    odd = replace(WRITES[0], files=(replace(WRITES[0].files[0], path=path),))

    assert link_chains([odd], [odd]) is None


def test_two_files_of_one_name_end_the_chains_since_rows_tell_only_the_name() -> None:
    here, there = (replace(WRITES[0].files[0], group=(part, "a"), path=f"{part}/a_1.parquet") for part in "pq")
    both = replace(WRITES[0], groups=frozenset({here.group, there.group}), files=(here, there))

    assert link_chains([both], [both]) is None


def test_no_commits_have_no_chains() -> None:
    assert link_chains([], WRITES) == ()
