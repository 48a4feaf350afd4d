"""A database that is down is asked twice and said once; a table that it has no answer for holds up no other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudi_reconcile.app.table_work import _check_tables
from hudi_reconcile.cli.commands.work import print_result
from hudi_reconcile.core.errors import ReconcileError, SourceError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult
from hudi_reconcile.core.result_parts import Failure

NAMES = ("a", "b", "c", "d", "e")
DOWN = SourceError("db: cannot connect: refused", fix="check the host")


@dataclass
class Source:
    """A database that fails for some tables, and for questions about none."""

    of_table: dict[str, ReconcileError]
    of_itself: ReconcileError | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def engine(self) -> Any:
        return SimpleNamespace(moment=self._moment)

    def expect_rows(self, table: Any) -> int:
        self.asked.append(table.name)
        if table.name in self.of_table:
            raise self.of_table[table.name]
        return 10

    def _moment(self) -> None:
        if self.of_itself is not None:
            raise self.of_itself


def checked(source: Source) -> tuple[dict[str, TableResult], int]:
    return _check_tables(cast("Any", source), [cast("Any", SimpleNamespace(name=name)) for name in NAMES])


def test_database_that_is_down_is_not_asked_for_every_table() -> None:
    source = Source(dict.fromkeys(NAMES, DOWN), DOWN)

    failed, _ = checked(source)

    assert source.asked == ["a"]
    assert [(name, one.error and one.error.message) for name, one in failed.items()] == [
        (name, DOWN.message) for name in NAMES
    ]


@pytest.mark.parametrize(
    ("error", "itself"),
    [
        (DOWN, None),
        (SourceError("a: no such column", fix="x"), DOWN),
        (UsageError("a: no such table", fix="x"), UsageError("a: no such table", fix="x")),
    ],
)
def test_table_that_the_database_has_no_answer_for_holds_up_no_other(
    error: ReconcileError, itself: ReconcileError | None
) -> None:
    source = Source({"b": error}, itself)

    failed, expected_rows = checked(source)

    assert source.asked == list(NAMES)
    assert (list(failed), expected_rows) == (["b"], 40)


def test_error_of_many_tables_is_said_once_and_counts_them(capsys: pytest.CaptureFixture[str]) -> None:
    down = Failure("SourceError", DOWN.message, DOWN.fix)
    own = Failure("LakeError", "its timeline cannot be read", "doctor")
    tables = [TableResult(name, Outcome.UNVERIFIED, error=own if name == "c" else down) for name in NAMES]
    result = RunResult("r", "sweep", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", tuple(tables), {}, ())

    print_result(cast("Any", SimpleNamespace(result=result, folder=Path(), audit_head="", said=())), "json")

    said = capsys.readouterr().err
    assert said.count(DOWN.message) == 1
    assert f"{DOWN.message} (4 tables: a, b, d, …)" in said
    assert "error: its timeline cannot be read\n" in said
