"""Parts of `make bench`: scattered drifts swept and applied beside the bare write of the same rows, and wide tables.

Each figure has its base in the same run: what counts are the ratios.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import psycopg
import shop
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.app.connections import World
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.sweep.segments import choose
from hudi_reconcile.core.tables.values import READ_SEQ
from hudi_reconcile.evidence.files import build_spark_address, hash_tree
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Frame
from hudi_reconcile.stages.apply.apply import apply
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import Swept, sweep

LIMITS = "    policy: {max_deletes: 1000000, max_delete_share: 100%, max_upsert_share: 100%, savepoint: never}\n"
WIDTHS = (8, 50, 200)
WIDE_ROWS = 5_000
SMALL_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Scatter:
    """So many drifts of a table that `shop.fill` filled: 40 % silent updates, 30 % that the lake lacks, 30 % it has alone."""

    table: str
    rows: int
    drifts: int
    turn: int = 0

    @property
    def changed(self) -> str:
        """The rows that are updated, as SQL that both sides read; others in each turn, as all of these."""
        return f"order_id % {self.rows * 10 // (self.drifts * 4)} = {11 + 2 * self.turn} and order_id > 0"

    @property
    def gone(self) -> str:
        """The rows that are deleted."""
        return f"order_id % {self.rows * 10 // (self.drifts * 3)} = {12 + 2 * self.turn} and order_id > 0"

    @property
    def new(self) -> str:
        """The rows that are inserted."""
        return f"order_id between {1 - self._first - max(1, self.drifts * 3 // 10)} and {-self._first}"

    @property
    def _first(self) -> int:
        return 1 + self.turn * self.drifts

    def happen(self, url: str) -> Mapping[str, int]:
        """Let the source drift; how many findings of each kind a sweep must have."""
        new = max(1, self.drifts * 3 // 10)
        with psycopg.connect(url, autocommit=True) as opened:
            deleted = opened.execute(f"delete from {self.table} where {self.gone}").rowcount
            updated = opened.execute(f"update {self.table} set amount = amount + 0.01 where {self.changed}").rowcount
            opened.execute(
                f"insert into {self.table} select 0 - i, 1, 'NEW', 1, true, null, '2024-12-31', '2024-12-31' "
                f"from generate_series({self._first}, {self._first + new - 1}) i"
            )
        return {"late_arriving": new, "updated_without_watermark": updated, "deleted": deleted}


def table_text(name: str, source: str) -> str:
    """A table's lines of the config."""
    return (
        shop.TABLE.replace("name: orders", f"name: {name}")
        .replace("public.orders", f"public.{source}")
        .replace("lake/orders", f"lake/{name}")
        + LIMITS
    )


def fill_wide(url: str, columns: int) -> str:
    """A table of so many columns beside the key and the watermark's; its name."""
    name, more = f"wide_{columns}", columns - 2
    kinds = ("bigint", "text", "numeric(12,2)", "boolean")
    values = ("i", "'v' || i", "i / 100.0", "i % 2 = 0")
    listed = ", ".join(f"c{place} {kinds[place % len(kinds)]}" for place in range(more))
    filled = ", ".join(values[place % len(values)] for place in range(more))
    with psycopg.connect(url, autocommit=True) as opened:
        opened.execute(f"create table {name} (order_id bigint primary key, {listed}, updated_at timestamp(6) not null)")
        opened.execute(
            f"insert into {name} select i, {filled}, timestamp '2025-01-01' + i * interval '17 seconds' "
            f"from generate_series(1, {WIDE_ROWS}) i"
        )
        opened.execute(f"analyze {name}")
    return name


def found_by(swept: Swept) -> dict[str, int]:
    """The findings that are drift."""
    return {kind: count for kind, count in swept.result.findings.items() if count}


def leave(swept: Swept, folder: Path) -> tuple[Plan, str]:
    """The plan with its files, as a sweep leaves them, and where they are."""
    swept.save(build_spark_address(folder))
    if swept.draft is None:
        raise RuntimeError(f"no plan: {swept.result.outcome}, {swept.result.unverified}")
    named = hash_tree(folder).items()
    files = {f"findings/{name}": digest for name, digest in named if not name.startswith(("_", "."))}
    return replace(swept.draft, files=files), build_spark_address(folder)


def apply_seconds(world: World, table: TableConfig, swept: Swept, folder: Path) -> float:
    """Apply the plan of this sweep, `corrected` at the end. Raises RuntimeError for any other outcome."""
    plan, path = leave(swept, folder)
    approval = Approval(approve_deletes=plan.deletes or None)
    begun = time.monotonic()
    result = apply(build_job(table, f"apply-{folder.name}"), plan, path, approval, world.edges(table))
    seconds = time.monotonic() - begun
    if result.outcome.value != "corrected":
        raise RuntimeError(f"{result.outcome}: {result.corrections}, {result.unverified}, {result.error}")
    return seconds


def bare_seconds(world: World, table: TableConfig, scatter: Scatter) -> float:
    """The same rows and deletes in one Hudi upsert with the table's own options, and nothing else. Frames are made before."""
    edges = world.edges(table)
    lake = cast("HudiLake", edges.lake)
    made, pin = lake.look(), lake.pin()
    if made is None or pin is None:
        raise RuntimeError("no table")
    described = edges.source.describe()
    job = build_job(table, "bare")
    cut = choose(described.key, edges.source.measure_extent(described), integer_key=True, wanted=None)
    rows = cast("DataFrame", edges.source.read_rows(described, cut))
    wanted = rows.where(f"({scatter.changed}) or ({scatter.new})".replace("order_id", "c0"))
    names = [column.name for column in made.columns]
    built = lake.build_batch(Frame(wanted), described.columns, job.lake.partition_by, 5)
    images = cast("DataFrame", built.rows).select(*names)
    there = cast("DataFrame", lake.read_rows(pin)).where(scatter.gone).select(*names)
    batch = images.unionByName(there.withColumn(READ_SEQ, F.lit(6).cast("bigint"))).localCheckpoint(eager=True)
    options = {
        **lake._writer.options(made),  # noqa: SLF001  the table's own options, as our writes take them
        "hoodie.payload.delete.field": READ_SEQ,
        "hoodie.payload.delete.marker": "6",
    }
    begun = time.monotonic()
    batch.write.format("hudi").options(**options).mode("append").save(table.lake.path)
    return time.monotonic() - begun


def beside_bare(world: World, names: tuple[str, str], scatter: Scatter, url: str, folder: Path) -> dict[str, float]:
    """One round of drift: the sweep, the apply, and the bare write into a copy of the lake."""
    table, bare = (next(one for one in world.config.tables if one.name == name) for name in names)
    copy = Path(bare.lake.path)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(table.lake.path, copy)
    expected = scatter.happen(url)
    begun = time.monotonic()
    swept = sweep(build_job(table, f"sweep-{folder.name}"), world.edges(table))
    seconds = time.monotonic() - begun
    if found_by(swept) != dict(expected):
        raise RuntimeError(f"found {found_by(swept)}, not {expected}")
    written = bare_seconds(world, bare, scatter)
    applied = apply_seconds(world, table, swept, folder)
    return {"sweep": seconds, "apply": applied, "bare upsert with deletes": written}


@contextmanager
def counted(spark: Any) -> Iterator[dict[str, int]]:
    """Calls from Python to the JVM and Spark's jobs within the block."""
    client = spark.sparkContext._gateway._gateway_client  # noqa: SLF001  py4j and Spark have no public doors
    scheduler, send = spark.sparkContext._jsc.sc().dagScheduler(), client.send_command  # noqa: SLF001
    found = {"calls": 0, "jobs": -int(scheduler.numTotalJobs())}

    def count(command: str, *arguments: Any, **named: Any) -> Any:
        found["calls"] += not command.startswith("m\n")  # what the garbage collector dropped
        return send(command, *arguments, **named)

    client.send_command = count
    try:
        yield found
    finally:
        del client.send_command
        found["jobs"] += int(scheduler.numTotalJobs())


def by_width(world: World, url: str, repeats: int) -> Iterator[str]:
    """A line per width: seconds of a clean sweep, calls and jobs when clean and with three drifts."""
    for width in WIDTHS:
        table = next(one for one in world.config.tables if one.name == f"wide_{width}")
        pull(build_job(table, "bench"), world.edges(table), full=False)
        clean_sweep = partial(_sweep_once, world, table)
        times = sorted(_timed(clean_sweep) for _ in range(repeats + 1))
        clean, dirty = _counts(world, table), {"calls": 0, "jobs": 0}
        with psycopg.connect(url, autocommit=True) as opened:
            opened.execute(f"update {table.name} set c0 = c0 + 1 where order_id in (5, 2500, 4999)")
        dirty = _counts(world, table)
        yield (
            f"  {width:3d} columns x {WIDE_ROWS:,} rows: clean {times[len(times) // 2]:.2f} s, {clean['calls']} calls, "
            f"{clean['jobs']} jobs; 3 drifts {dirty['calls']} calls, {dirty['jobs']} jobs"
        )


def _counts(world: World, table: TableConfig) -> dict[str, int]:
    if world.session is None:
        raise RuntimeError("no session")
    with counted(world.session.spark) as found:
        sweep(build_job(table, "bench"), world.edges(table))
    return found


def _sweep_once(world: World, table: TableConfig) -> Swept:
    return sweep(build_job(table, "bench"), world.edges(table))


def _timed(act: Callable[[], object]) -> float:
    begun = time.monotonic()
    act()
    return time.monotonic() - begun
