"""The demo: a shop, its Hudi table, real drift, and the same calls that the commands make; told step by step.

Every step is held against what it must give, so that a demo that ends well has shown what it says.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from hudi_reconcile.app.archive import RunArchive
from hudi_reconcile.app.commands import read_plans, run_apply, run_pull, run_sweep
from hudi_reconcile.app.connections import request_session
from hudi_reconcile.app.demo_text import Story
from hudi_reconcile.app.host import HostClock
from hudi_reconcile.app.run import Call, Finished
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.errors import UnverifiedError, UsageError
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS
from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.demo.shop import LEAST_ROWS, Shop, make_drift, open_late_order, open_shop
from hudi_reconcile.evidence.files import write_new
from hudi_reconcile.report.text import plan_text
from hudi_reconcile.spark.session import open_session

CONFIG = """\
version: 1
source:
  url: {url}
  password: ${{file:secrets/shop_password}}
tables:
  - name: orders
    source: {{table: public.orders}}
    pull: {{strategy: timestamp, watermark: [updated_at]}}
    lake: {{path: lake/orders}}
"""
# A pull reads up to 2 s behind the database's clock; the ordinary order must be older than that to be read.
_BEHIND_CLOCK_SECONDS = 3
_PLANTED = {"late_arriving": 1, "updated_without_watermark": 5, "deleted": 3}
_DRIFT = {kind: _PLANTED.get(kind, 0) for kind in DRIFT_KINDS}


class DemoError(UnverifiedError):
    """A step of the demo did not give what it must."""


@dataclass(frozen=True, slots=True)
class ToldRun:
    """One run of the story."""

    command: str
    outcome: str
    report: Path


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that ended well, and where its runs are."""

    folder: Path
    runs: tuple[ToldRun, ...]


@dataclass(slots=True)
class _Stage:
    """Where the story plays, and the runs so far."""

    shop: Shop
    call: Call
    story: Story
    runs: list[ToldRun] = field(default_factory=list)

    def ran(self, finished: Finished) -> TableResult:
        """Keep the run, hand its only table on."""
        result = finished.result
        self.runs.append(ToldRun(result.command, result.outcome.value, finished.folder / "report.html"))
        table = result.tables[0]
        if table.error is not None:
            raise DemoError(f"the demo's {result.command} failed: {table.error.message}", fix=table.error.fix)
        return table


def run_demo(rows: int, keep: Path | None, tell: Callable[[str], None]) -> Demo:
    """Play the whole story. Raises DemoError where a step gave something else, UsageError where it cannot begin."""
    if rows < LEAST_ROWS:
        raise UsageError(f"--rows {rows}: the story needs at least {LEAST_ROWS} orders", fix=f"--rows {LEAST_ROWS}")
    clock = HostClock()
    begun = clock.monotonic_seconds()
    story = Story(tell)
    with _folder(keep) as folder, run_postgres() as server:
        shop = open_shop(server, rows)
        call = _write_config(folder, shop)
        story.shop(server.version, rows, folder)
        story.spark_starts()
        # One session for all runs: each of them joins the Spark that is there.
        with open_session(request_session(call.config)) as session:
            story.spark_runs(session.spark_version, session.java_version, session.start_seconds)
            stage = _Stage(shop, call, story)
            _pull_and_drift(stage)
            _run_second_pull(stage, clock)
            _repair(stage)
        runs = tuple(stage.runs)
    reports = [(run.command, run.outcome, run.report) for run in runs if run.command != "pull"]
    story.end(clock.monotonic_seconds() - begun, folder if keep else None, reports)
    return Demo(folder, runs)


def _pull_and_drift(stage: _Stage) -> None:
    shop = stage.shop
    stage.story.tell_open_till(shop.late)
    with open_late_order(shop):
        pulled = stage.ran(run_pull(stage.call, full=False)).pull
    _expect("first pull", {"rows": shop.rows}, {"rows": pulled.rows if pulled else None})
    stage.story.tell_pull(shop.rows, pulled.checkpoint_after if pulled else None)
    make_drift(shop)
    stage.story.tell_drift(shop.late, shop.silent, shop.deleted, shop.ordinary)


def _run_second_pull(stage: _Stage, clock: HostClock) -> None:
    clock.sleep(_BEHIND_CLOCK_SECONDS)
    pulled = stage.ran(run_pull(stage.call, full=False)).pull
    _expect("second pull", {"rows": 1}, {"rows": pulled.rows if pulled else None})
    stage.story.tell_second_pull(stage.shop.ordinary)


def _repair(stage: _Stage) -> None:
    config, rows = stage.call.config, stage.shop.rows
    swept = stage.ran(run_sweep(stage.call))
    sides = {"source": rows - 1, "lake": rows + 1}
    _expect("sweep", {"outcome": "drift", **sides, **_DRIFT}, {**_ending(swept), **swept.findings})
    archive = RunArchive.of(config.reports)
    planned = archive.plans("latest", tables=())
    stage.story.tell_sweep(sides, _DRIFT, plan_text(planned.run, planned.plans[0]))
    plan_files = read_plans(config, "latest", ())
    applied = stage.ran(run_apply(stage.call, plan_files, Approval()))
    done = applied.corrections
    _expect(
        "apply", {"outcome": "corrected", "applied": 9}, {"outcome": applied.outcome.value, "applied": done.applied}
    )
    stage.story.tell_apply(done.upserts, done.deletes, done.instants)
    proof = stage.ran(run_sweep(stage.call))
    _expect("proof", {"outcome": "clean", "source": rows - 1, "lake": rows - 1}, _ending(proof))
    stage.story.tell_proof(rows - 1)


def _ending(table: TableResult) -> dict[str, object]:
    return {
        "outcome": table.outcome.value,
        "source": table.source.rows if table.source else None,
        "lake": table.lake.rows if table.lake else None,
    }


def _expect(step: str, expected: dict[str, object], facts: dict[str, object]) -> None:
    wrong = [
        f"{name}: expected {value}, found {facts.get(name)}"
        for name, value in expected.items()
        if facts.get(name) != value
    ]
    if wrong:
        raise DemoError(f"the demo's {step} gave something else: {'; '.join(wrong)}", fix="report it with this output")


def _write_config(folder: Path, shop: Shop) -> Call:
    password = folder / "secrets" / "shop_password"
    password.parent.mkdir(mode=0o700)
    write_new(password, f"{shop.reader_password}\n".encode())
    path = folder / "reconcile.yaml"
    path.write_text(CONFIG.format(url=shop.reader_url), "utf-8")
    config = load_config(path, os.environ)
    return Call(config, path.name, config.select(()))


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The folder to keep, new or empty; else a temporary one of which only the reports are left."""
    if keep is None:
        folder = Path(tempfile.mkdtemp(prefix="hudi-reconcile-demo-"))
        try:
            yield folder
        finally:
            for rest in folder.iterdir():
                if rest.name != "reports":
                    shutil.rmtree(rest) if rest.is_dir() else rest.unlink()
            with suppress(OSError):  # it stays where a run has left its report
                folder.rmdir()
        return
    try:
        keep.parent.mkdir(parents=True, exist_ok=True)
        keep.mkdir(0o700, exist_ok=True)
        taken = any(keep.iterdir())
    except OSError as error:
        raise UsageError(f"--keep {keep}: {error.strerror}", fix="name a new folder") from error
    if taken:
        raise UsageError(f"--keep {keep}: the folder is not empty", fix="name a new or empty folder")
    yield keep.resolve()
