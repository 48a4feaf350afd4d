"""Others at work in the middle of a change query: its answer is that of its range, or an error; never a part of it.

What others leave is made beforehand, in copies of the table's folder, and put in its place while the query is at work.
"""

from __future__ import annotations

import copy
import filecmp
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.app import changes
from hudi_reconcile.app.changes import ChangeQuery, ask
from hudi_reconcile.cli.main import run
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.changes.queries import QueryType
from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.core.tables.values import TableType
from hudi_reconcile.lake.bridge import _write_client
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.spark.session import Session
from tests.integration.changes.lakes import Lake
from tests.integration.changes.reading import service
from tests.integration.lake.support import TYPES

KINDS: tuple[QueryType, ...] = ("min-delta", "upsert")
Place = tuple[Any, str]
# The range is known and nothing is read; files are listed, and the keys of some of them read, but no whole row.
BEFORE_FILES, BEFORE_ROWS = PLACES = ((changes, "_answer"), (HudiHistory, "_shape_rows"))
THREE_COMMITS = {"hoodie.clean.commits.retained": "3"}
ONE_VERSION = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
CONFIG = {
    "version": 1,
    "source": {"url": "postgresql+psycopg://nobody@127.0.0.1:1/none"},  # is not asked
    "tables": [{"name": "t", "source": {"table": "t"}, "lake": {"path": "t"}}],
}
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Other:
    """What others made of a table: its folder, and its commits with theirs."""

    path: Path
    lake: Lake


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """A table that is asked while others are at work."""

    lake: Lake
    kind: TableType
    session: Session
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "t"

    @property
    def config(self) -> Path:
        return self.folder / "reconcile.yaml"

    def answers_right(self, kind: QueryType, start: str = "earliest") -> bool:
        """True where the answer is that of the range up to the last commit before others came."""
        return is_right(self.lake, kind, start, self.ask(kind, start))

    def ask(self, kind: QueryType, start: str) -> list[Line]:
        config = load_config(self.config, {})
        found = ask(config, ChangeQuery.of(config.table("t"), kind, start, "latest"), self.session)
        return [json.loads(line) for line in found.lines()]

    def other(self, name: str, *acts: Callable[[Lake], object], options: Mapping[str, str] = NO_OPTIONS) -> Other:
        """A copy of the table on which others acted."""
        path = self.folder / name
        shutil.copytree(self.path, path)
        lake = copy.copy(self.lake)
        lake.lake = HudiLake(lake.spark, str(path), name="t", options=options)
        lake.states, lake.completed = list(lake.states), list(lake.completed)
        for act in acts:
            act(lake)
        return Other(path, lake)

    @contextmanager
    def beside(self, other: Other, place: Place) -> Iterator[None]:
        """What others did is there just before the query comes to the place for the first time; undone at the end."""
        owner, function = place
        original, before = getattr(owner, function), self.folder / "before"
        shutil.copytree(self.path, before)

        def after_the_others(*given: Any, **named: Any) -> Any:
            patch.undo()
            become(self.path, other.path)
            return original(*given, **named)

        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(owner, function, after_the_others)
                yield
                assert getattr(owner, function) is original, "the query did not come there"
        finally:
            become(self.path, before)
            shutil.rmtree(before)


def become(path: Path, other: Path) -> None:
    """Give a folder what another holds."""
    theirs = files_of(other)
    for name in files_of(path) - theirs:
        (path / name).unlink()
    for name in theirs:
        if not (path / name).exists() or not filecmp.cmp(path / name, other / name, shallow=False):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(other / name, path / name)


def files_of(path: Path) -> set[Path]:
    return {one.relative_to(path) for one in path.rglob("*") if one.is_file()}


@pytest.fixture(scope="module", params=TYPES)
def table(
    request: pytest.FixtureRequest, spark: SparkSession, spark_session: Session, tmp_path_factory: Any
) -> Meanwhile:
    folder = tmp_path_factory.mktemp("meanwhile")
    (folder / "reconcile.yaml").write_text(json.dumps(CONFIG))
    lake = Lake(spark, folder / "t", request.param, None)
    lake.correct({1: ("b", 1), 4: ("b", 4)}, {2})  # 1 moves
    if request.param == "merge_on_read":
        assert service(spark, lake, request.param)  # a cleaner takes nothing that is not compacted
    lake.pull({1: ("b", 2), 3: ("a", 3), 6: ("a", 6)})
    lake.pull({2: ("a", 9), 1: ("b", 3)})
    return Meanwhile(lake, request.param, spark_session, folder)


def is_right(lake: Lake, kind: QueryType, start: str, lines: Sequence[Line]) -> bool:
    """True where the changes lead from the state at an instant to the last one, each key's at once."""
    first = lake.states[lake.completed.index(start) + 1 if start in lake.completed else 0]
    last = lake.states[-1]
    found = {line["key"]["id"]: (line["before"], line["after"]) for line in lines}
    # A row that was written has another sequence of the tool's.
    wanted = {
        key: (first.get(key) if kind == "min-delta" else None, last.get(key))
        for key in first.keys() | last.keys()
        if first.get(key) != last.get(key) and (kind == "min-delta" or key in last)
    }
    return len(found) == len(lines) and found == wanted


@pytest.fixture(scope="module")
def cleaned(table: Meanwhile) -> Mapping[str, Other]:
    """After one more pull, whose cleaner took file versions: by commits kept, by versions, and one that has not ended."""
    found = {"three commits": table.other("commits", pull, options=THREE_COMMITS)}
    if table.kind == "copy_on_write":  # the timeline says it alike for both
        found["one version"] = table.other("version", pull, options=ONE_VERSION)
    found["under way"] = replace(found["three commits"], path=table.folder / "under way")
    shutil.copytree(found["three commits"].path, found["under way"].path)
    (done,) = (found["under way"].path / ".hoodie" / "timeline").glob("*.clean")
    done.unlink()
    for name, other in found.items():
        gone = files_of(table.path) - files_of(other.path)
        assert any(one.suffix == ".parquet" for one in gone), f"{name}: nothing was cleaned"
    return found


def pull(lake: Lake) -> None:
    lake.pull({3: ("a", 8), 4: ("b", 8)})


def test_range_whose_file_versions_a_cleaner_takes_meanwhile_is_refused_with_the_first_instant_that_works(
    table: Meanwhile, cleaned: Mapping[str, Other]
) -> None:
    for place, kind in product(PLACES, KINDS):
        with table.beside(cleaned["three commits"], place):
            refused_from(table, kind)
    for other in cleaned.values():
        with table.beside(other, BEFORE_ROWS):
            usable = refused_from(table, "min-delta")
            assert is_right(other.lake, "min-delta", usable, table.ask("min-delta", usable))


def refused_from(table: Meanwhile, kind: QueryType) -> str:
    """The instant that the refusal of the whole history names."""
    with pytest.raises(UsageError, match="the cleaner removed older file versions") as refused:
        table.ask(kind, "earliest")
    return refused.value.fix.removeprefix("the first usable instant is --from ")


def test_range_that_a_cleaner_leaves_is_answered_whole(table: Meanwhile, cleaned: Mapping[str, Other]) -> None:
    for kind in KINDS:
        with table.beside(cleaned["three commits"], BEFORE_ROWS):
            assert table.answers_right(kind, table.lake.completed[2])


def test_commits_of_others_meanwhile_are_not_in_the_answer_and_take_nothing_from_it(table: Meanwhile) -> None:
    def write(lake: Lake) -> None:
        lake.pull({1: ("a", 50), 7: ("a", 7)})
        assert service(lake.spark, lake, table.kind)
        lake.pull({4: ("b", 51)}, replace=True)

    other = table.other("written", write)
    for place, kind in product(PLACES, KINDS):
        with table.beside(other, place):
            assert table.answers_right(kind)


def test_range_whose_commits_are_taken_back_meanwhile_is_refused(table: Meanwhile) -> None:
    def restore(lake: Lake) -> None:
        first = lake.history().commits()[0].instant.requested
        with _write_client(lake.spark, str(lake.lake._path), "t", {"hoodie.metadata.enable": "false"}) as client:
            client.restoreToInstant(first, False)  # noqa: FBT003 - Java's own

    restored = table.other("restored", restore)
    for place, kind in product(PLACES, KINDS):
        with table.beside(restored, place), pytest.raises(LakeError, match="was taken back while it was read"):
            table.ask(kind, "earliest")


def test_range_whose_files_a_clustering_replaces_meanwhile_is_refused_and_then_answered_whole(
    spark: SparkSession, spark_session: Session, tmp_path: Path
) -> None:
    (tmp_path / "reconcile.yaml").write_text(json.dumps(CONFIG))
    lake = Lake(spark, tmp_path / "t", "merge_on_read", None)
    lake.pull({4: ("b", 4), 5: ("b", 5)})
    spark.sql(
        f"call run_clustering(path => '{tmp_path / 't'}', op => 'schedule', selected_partitions => 'part=b')"
    ).collect()
    lake.pull({1: ("a", 1)})
    table = Meanwhile(lake, "merge_on_read", spark_session, tmp_path)

    def cluster(other: Lake) -> None:
        spark.sql(f"call run_clustering(path => '{other.lake._path}', op => 'execute')").collect()

    clustered = table.other("clustered", cluster)
    for kind in KINDS:
        with table.beside(clustered, BEFORE_FILES):
            with pytest.raises(LakeError, match="began in the range or before and completed while it was read"):
                table.ask(kind, "earliest")
            assert table.answers_right(kind)


def test_command_whose_file_versions_a_cleaner_takes_meanwhile_prints_nothing_and_names_the_first_instant_that_works(
    table: Meanwhile, cleaned: Mapping[str, Other], capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["-c", str(table.config), "changes", "-t", "t", "--type", "min-delta", "--format", "ndjson"]
    with table.beside(cleaned["three commits"], BEFORE_ROWS):
        assert run(call) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert f"the first usable instant is --from {table.lake.completed[2]}" in err
