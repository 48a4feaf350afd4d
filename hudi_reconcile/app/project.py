"""The commands for programs: a config as a project, each command as one call, and results with types.

The same run folders and log lines as on the command line; nothing is printed and nothing is asked. What an exit code above 1
means to a shell before a run began is an exception here; a run's own outcome is in its result.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from hudi_reconcile.app.commands import (
    PartialSweepRequest,
    describe_rest,
    read_plans,
    run_all,
    run_apply,
    run_pull,
    run_sweep,
)
from hudi_reconcile.app.pages import compose_mail
from hudi_reconcile.app.rules import run_check, select_ruled_tables
from hudi_reconcile.app.run import Call, Finished
from hudi_reconcile.config.fields import duration_given
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.overlay import Overlay
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.config.selection import TableChoice, choose_tables
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.guards import ACCEPTABLE
from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, NOT_DRIFT_KINDS


@dataclass(frozen=True, slots=True)
class Project:
    """A config that was read. `file` is where it came from, as it was given."""

    config: Config
    file: str

    def choose(self, tables: Collection[str] | None, jobs: int = 1) -> Call:
        """The call on these tables, by name or pattern; None: on all. Raises UsageError for one that fits no table.

        `jobs` is how many of them are worked on side by side.
        """
        if jobs < 1:
            raise UsageError(f"jobs is {jobs}", fix="give 1 or more")
        if isinstance(tables, str) or (tables is not None and not tables):
            raise UsageError(
                f"tables is {tables!r}", fix='give a list of names or patterns such as ["orders"], or None for all'
            )
        return Call(
            self.config, self.file, choose_tables(self.config.tables, TableChoice(tuple(tables or ()))), jobs=jobs
        )


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run. `run` is its result as it was written, `folder` where its files are."""

    run: RunResult
    folder: Path

    @property
    def run_id(self) -> str:
        """By which `plan`, `apply` and the command line know the run."""
        return self.run.run_id

    @property
    def outcome(self) -> Outcome:
        """The gravest outcome of the tables; a text too: `result.outcome == "drift"`."""
        return self.run.outcome

    @property
    def exit_code(self) -> int:
        """What the command would have ended with."""
        return self.run.exit_code

    @property
    def tables(self) -> Mapping[str, TableResult]:
        """The tables by name, in the config's order. Every kind of finding has a count."""
        return MappingProxyType({table.name: _add_all_kinds(table) for table in self.run.tables})

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / "report.html"

    def to_dict(self) -> dict[str, Any]:
        """The document that `result.json` holds."""
        return run_document(self.run)

    def _repr_html_(self) -> str:
        return compose_mail(self.to_dict(), {})


def load(
    path: str | Path = "reconcile.yaml", profile: str | None = None, overrides: Mapping[str, object] | None = None
) -> Project:
    """Read a config. `overrides` lay keys, as dotted paths, over file and profile: `{"source.max_connections": 2}`.

    Raises:
        ConfigError: everything that is wrong with it, at once.
        UsageError: there is no such profile.
    """
    overlay = Overlay.of_values(profile, overrides or {})
    return Project(load_config(Path(path), os.environ, read_text_file, overlay), str(path))


def pull(project: Project, tables: Collection[str] | None = None, *, full: bool = False, jobs: int = 1) -> Result:
    """Bring the lake up to the source's safe bound. `tables` are names or patterns; None: all. `full` reads every row."""
    return _result(run_pull(project.choose(tables, jobs), full=full))


def sweep(
    project: Project,
    tables: Collection[str] | None = None,
    *,
    where_partition: Sequence[str] = (),
    budget: str | None = None,
    full: bool = False,
    jobs: int = 1,
) -> Result:
    """Compare source and lake, say what drifted and why, write a plan. Never writes the lake.

    `where_partition` and `budget` (such as `10m`) compare a part; the rest stays unverified; `full` compares every segment
    across the engines now. Raises UsageError for a budget that is no duration, and for `full` beside a part.
    """
    seconds = None if budget is None else duration_given("budget", budget).total_seconds()
    asked = PartialSweepRequest(tuple(dict.fromkeys(where_partition)), seconds, budget or "", full)
    return _result(run_sweep(project.choose(tables, jobs), asked))


def plan(project: Project, run_id: str = "latest", tables: Collection[str] | None = None) -> Mapping[str, Plan]:
    """The plans of a sweep by table, with their guards, checked byte for byte.

    Raises:
        UsageError: no such run, or it holds no plan.
        RefusedError: a file of it was changed.
    """
    plan_files = read_plans(project.config, run_id, _names(project, tables))
    return MappingProxyType({name: file.plan for name, file in plan_files.items()})


def apply(
    project: Project,
    run_id: str,
    tables: Collection[str] | None = None,
    *,
    only: Literal["upsert", "delete"] | None = None,
    approve_deletes: int | None = None,
    allow_empty_source: bool = False,
    accept: Collection[str] = (),
) -> Result:
    """Execute the plans of a sweep, as far as nothing moved since, and verify. Never asks; the words are those of the command.

    A guard that says no is the table's outcome, `refused`.

    Raises:
        UsageError: no such run, plan or word.
        RefusedError: a file of the plan was changed.
    """
    if unknown := sorted(set(accept) - set(ACCEPTABLE)):
        raise UsageError(f"accept holds {', '.join(unknown)}", fix=f"legal: {', '.join(ACCEPTABLE)}")
    if only not in (None, "upsert", "delete"):
        raise UsageError(f"only is {only!r}", fix='give "upsert" or "delete", or None for both')
    names = _names(project, tables)
    plan_files = read_plans(project.config, run_id, names)
    rest = describe_rest(project.config, run_id, names, plan_files)
    call = Call(project.config, project.file, project.config.select((*plan_files, *rest)))
    approval = Approval(only, approve_deletes, allow_empty_source, frozenset(accept))
    return _result(run_apply(call, plan_files, approval, rest))


def run(project: Project, tables: Collection[str] | None = None, *, apply: bool = False, jobs: int = 1) -> Result:
    """Pull and sweep, with `apply` correct within the policy's limits, then the rules: the nightly entry."""
    return _result(run_all(project.choose(tables, jobs), Approval() if apply else None))


def check(
    project: Project,
    tables: Collection[str] | None = None,
    *,
    fail_on: Literal["warn", "error"] = "error",
    jobs: int = 1,
) -> Result:
    """Judge the rules of the tables on the newest snapshot of the lake. Tables without rules are left out, unless named."""
    if fail_on not in ("warn", "error"):
        raise UsageError(f"fail_on is {fail_on!r}", fix='give "warn" or "error"')
    call = select_ruled_tables(project.choose(tables, jobs), TableChoice(tuple(tables or ())).names)
    return _result(run_check(call, fail_on))


def _result(done: Finished) -> Result:
    return Result(done.result, done.folder)


def _names(project: Project, tables: Collection[str] | None) -> tuple[str, ...]:
    return () if tables is None else tuple(table.name for table in project.choose(tables).tables)


def _add_all_kinds(table: TableResult) -> TableResult:
    return replace(
        table,
        findings={kind: table.findings.get(kind, 0) for kind in DRIFT_KINDS},
        not_drift={kind: table.not_drift.get(kind, 0) for kind in NOT_DRIFT_KINDS},
    )
