"""What a table's work cost: the lake's files, the source's rows and the seconds, in the result and on the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from hudi_reconcile.app import commands
from hudi_reconcile.app.table_work import TableRun, sum_cost
from hudi_reconcile.app.time_limit import TimeLimit
from hudi_reconcile.config.tables import SweepConfig
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Cost
from hudi_reconcile.core.rules.rules import NotNull, Rule, RuleSet
from hudi_reconcile.report.page.html import render_report
from hudi_reconcile.report.page.sections import RunDocuments
from hudi_reconcile.stages.check import RuleJob, check
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.world import World, applied, job, pulled, swept
from tests.unit.report.stories import Document, run_of
from tests.unit.stages.test_check import FakeEngine

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))


def told(world: World, result: TableResult, seconds: float = 10.0) -> Cost:
    return sum_cost(
        result, world.edges, world.edges.lake.count_files(), seconds=seconds, session_seconds=0.0, statements=0
    )


def page_of(document: Document) -> str:
    return render_report(document, RunDocuments())


def shown(command: str, world: World, result: TableResult) -> tuple[Mapping[str, object], str]:
    """The cost in the document, and what the page says of the lake's files."""
    document = run_of(command, replace(result, cost=told(world, result)))
    return document["tables"][0]["cost"], files_on(page_of(document))


def files_on(page: str) -> str:
    _, _, rest = page.partition("Lake files read")
    return rest.partition("</td></tr>")[0].rpartition(">")[2]


def again(world: World) -> World:
    """The same lake in a command of its own: nothing is read of it yet."""
    world.lake.files.clear()
    world.lake.wrote = False
    return world


def test_lake_files_of_a_sweep_are_counted_once_and_shown() -> None:
    world = again(pulled(*ROWS))
    world.source.put(2, 21, 200)

    cost, page = shown("sweep", world, swept(world).result)

    assert (cost["lake_files_read"], cost["lake_files_counted"], page) == (1, True, "1")


def test_pull_that_makes_the_table_reads_no_lake_file() -> None:
    world = World.new()
    world.source.put(1, 10, 100)

    cost, page = shown("pull", world, pull(job(), world.edges, full=False))

    assert (cost["lake_files_read"], cost["lake_files_counted"], page) == (0, True, "0")


def test_pull_into_a_table_shows_no_zero_for_what_hudi_read() -> None:
    world = again(pulled(*ROWS))
    world.source.put(4, 40, 400)

    cost, page = shown("pull", world, pull(job(), world.edges, full=False))

    assert (cost["lake_files_read"], cost["lake_files_counted"], page) == (0, False, "not counted")


def test_apply_counts_both_snapshots_and_says_what_it_left_out() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    plan = swept(world).draft
    again(world)

    cost, page = shown("apply", world, applied(world, plan))

    assert (cost["lake_files_read"], cost["lake_files_counted"]) == (2, False)
    assert page == "2, and those that Hudi read in order to write, which are not counted"


def test_page_of_a_run_that_never_counted_shows_no_zero() -> None:
    document = run_of("sweep", TableResult("t", Outcome.CLEAN))
    del document["tables"][0]["cost"]["lake_files_counted"]

    assert files_on(page_of(document)) == "not counted"


def checked(world: World) -> TableResult:
    rules = RuleJob(job(), RuleSet("t", (Rule("nulls", NotNull("v")),)))
    return check(rules, world.edges, FakeEngine(), compared=None, keys_folder=lambda rule: (rule, rule))


@pytest.mark.parametrize(
    ("command", "phases"),
    [
        ("pull", {"write", "other"}),
        ("sweep", {"compare", "judge", "other"}),
        ("apply", {"recheck", "write", "verify", "other"}),
        ("check", {"rules", "other"}),
    ],
)
def test_phases_of_a_command_are_measured_and_sum_to_its_time(command: str, phases: set[str]) -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    world.source.put(4, 40, 400)
    world.clock.step_micros = 1_234_567
    begun = world.clock.now_micros
    result = {
        "pull": lambda: pull(job(), world.edges, full=False),
        "sweep": lambda: swept(world).result,
        "apply": lambda: applied(world, plan),
        "check": lambda: checked(world),
    }[command]()
    seconds = (world.clock.now_micros - begun) / 1_000_000 + 0.5

    found = told(world, result, seconds)

    assert found.phases_seconds.keys() == phases
    assert all(took > 0 for took in found.phases_seconds.values()), found
    assert sum(found.phases_seconds.values()) == pytest.approx(found.seconds)


def test_run_adds_up_what_its_steps_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {
        "pull": Cost(source_rows_fetched=1, phases_seconds={"write": 1.0}),
        "sweep": Cost(source_rows_fetched=10, phases_seconds={"judge": 2.0, "compare": 4.0}),
        "apply": Cost(source_rows_fetched=100, phases_seconds={"verify": 8.0, "write": 16.0}),
    }
    results = {name: TableResult("t", Outcome.DRIFT, cost=cost) for name, cost in steps.items()}
    plan = SimpleNamespace(plan=None)
    monkeypatch.setattr(commands, "_job", lambda _: None)
    monkeypatch.setattr(commands, "_pull", lambda *_, **__: results["pull"])
    monkeypatch.setattr(commands, "sweep", lambda *_: None)
    monkeypatch.setattr(commands, "_leave", lambda *_: (results["sweep"], plan))
    monkeypatch.setattr(commands, "_apply", lambda *_: results["apply"])
    table = SimpleNamespace(name="t", sweep=SweepConfig())
    one = cast("TableRun", SimpleNamespace(table=table, edges=None, limit=TimeLimit(), pause=None))

    cost = commands._nightly(one, Approval(), None).cost

    assert cost.source_rows_fetched == 111
    assert cost.phases_seconds == {"write": 17.0, "judge": 2.0, "compare": 4.0, "verify": 8.0}
