"""`make bench-losses`: six kinds of writers for a minute, and what each way to pull has lost of them at the end.

Pollers ask five times a second: those by hand as people write them, ours by the tool's own bound, window and SQL. The same rows
are pulled by `hudi-reconcile` itself into one Hudi table per strategy; one sweep then has to find exactly what is missing there.
Exits 1 where a bounded strategy lost a row it must not lose, or a sweep found another number than is missing.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import shop

from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.jobs import build_job, build_table_request
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.pull.cursor import Mark, build_next_window, choose_next_checkpoint, rank
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS
from hudi_reconcile.databases.postgres.engine import PostgresEngine
from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.sql import windows
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import sweep
from hudi_reconcile.stages.watermark import choose_watermark

CREATE = """
create sequence ids;
create table orders (order_id bigint primary key, kind text not null, version int not null, updated_at timestamptz not null);
create index on orders (updated_at)
"""
KINDS = ("short", "waits", "writes late", "two-phase", "held ids", "client clock")
SILENT = "silent updates"
LONGEST_SECONDS = 3.0
TABLES = """  - name: incrementing
    source: {table: public.orders}
    pull: {strategy: incrementing, incrementing: order_id}
    lake: {path: lake/incrementing}
  - name: timestamp
    source: {table: public.orders}
    pull: {strategy: timestamp, watermark: [updated_at]}
    lake: {path: lake/timestamp}
  - name: timestamp-and-id
    source: {table: public.orders}
    pull: {strategy: timestamp+incrementing, watermark: [updated_at], incrementing: order_id}
    lake: {path: lake/both}
  - name: xmin
    source: {table: public.orders}
    pull: {strategy: xmin}
    lake: {path: lake/xmin}
"""
# What a strategy must not lose: kinds of rows.
BOUNDED = {"short", "waits", "writes late", "two-phase"}
EXACT = {*KINDS, SILENT}
MUST_HOLD: dict[str, set[str]] = {
    "timestamp": BOUNDED | {"held ids"}, "timestamp-and-id": BOUNDED | {"held ids"}, "xmin": EXACT,
}  # fmt: skip
Seen = dict[int, int]  # order_id to the newest version seen
RANDOM = secrets.SystemRandom()
POLL_SECONDS = 0.2
REST_SECONDS = 6.0  # longer than every delay and bound


@dataclass(frozen=True, slots=True)
class Written:
    """A row as it is at the end; `born` is its watermark in epoch seconds."""

    order_id: int
    kind: str
    version: int
    born: float


def main() -> int:
    """Start a server, write beside pollers and pulls, and print what is missing."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--writers", type=int, default=3, help="sessions of each kind")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-losses-") as folder, run_postgres() as server:
        url = shop.plain(server)
        with psycopg.connect(url, autocommit=True) as admin:
            for statement in CREATE.split(";"):
                admin.execute(statement)
        with open_world(shop.configured(Path(folder), server, tables=TABLES)) as world, hold_session(world):
            return run(world, url, given)


# --- writers: each connects for itself and writes rows of its kind until the time is up ---


def insert(connection: Any, kind: str, order_id: Any = None, at: str = "now()") -> None:
    """One row; `now()` is the transaction's start, as a column's default gives it."""
    value = "nextval('ids')" if order_id is None else str(order_id)
    connection.execute(f"insert into orders values ({value}, '{kind}', 1, {at})")


def short(connection: Any) -> None:
    """One statement, one transaction."""
    insert(connection, "short")
    connection.commit()


def waits(connection: Any) -> None:
    """Inserts, works on, commits."""
    insert(connection, "waits")
    time.sleep(RANDOM.uniform(0, LONGEST_SECONDS))
    connection.commit()


def writes_late(connection: Any) -> None:
    """Begins and takes its id, works on, and only then writes."""
    (taken,) = connection.execute("select nextval('ids')").fetchone()
    time.sleep(RANDOM.uniform(0, LONGEST_SECONDS))
    insert(connection, "writes late", taken)
    connection.commit()


def two_phase(connection: Any) -> None:
    """Prepared, and committed by somebody else."""
    name = f"p{RANDOM.getrandbits(60)}"
    insert(connection, "two-phase")
    time.sleep(RANDOM.uniform(0, LONGEST_SECONDS / 3))
    connection.execute(f"prepare transaction '{name}'")
    connection.commit()
    time.sleep(RANDOM.uniform(0, LONGEST_SECONDS))
    connection.autocommit = True
    connection.execute(f"commit prepared '{name}'")
    connection.autocommit = False


def held_ids(connection: Any) -> None:
    """A block of ids taken at once, as a cached sequence or an ORM does, used up over seconds."""
    block = [row[0] for row in connection.execute("select nextval('ids') from generate_series(1, 50)")]
    connection.commit()
    for one in block:
        insert(connection, "held ids", one)
        connection.commit()
        time.sleep(0.3)


def client_clock(connection: Any) -> None:
    """The time of a machine that is up to a minute behind."""
    insert(connection, "client clock", at=f"clock_timestamp() - interval '{RANDOM.uniform(0, 60):.3f} s'")
    connection.commit()
    time.sleep(0.2)


def silent(connection: Any) -> None:
    """Changes a row that was written some seconds ago, and not its time."""
    connection.execute(
        "update orders set version = version + 1 where order_id = (select order_id from orders where updated_at < now() "
        "- interval '10 s' and kind = 'short' order by random() limit 1)"
    )
    connection.commit()
    time.sleep(0.25)


ACTS: dict[str, Callable[[Any], None]] = {
    "short": short, "waits": waits, "writes late": writes_late, "two-phase": two_phase, "held ids": held_ids,
    "client clock": client_clock, SILENT: silent,
}  # fmt: skip


def write(url: str, act: Callable[[Any], None], stop: threading.Event) -> None:
    """One session; what it has begun it ends."""
    with psycopg.connect(url) as connection:
        while not stop.is_set():
            act(connection)
            if act is short:
                time.sleep(0.05)


# --- pollers: what each has seen ---


@dataclass(slots=True)
class Poller:
    """A way to pull, polled; `read` gives rows (order_id, version) and moves on."""

    name: str
    read: Callable[[Any], list[tuple[int, int]]]
    seen: Seen = field(default_factory=dict)
    first: dict[int, float] = field(default_factory=dict)
    polls: int = 0

    def poll(self, url: str, stop: threading.Event) -> None:
        """Until told to stop, and once more."""
        with psycopg.connect(url, autocommit=True) as connection:
            is_last = False
            while not is_last:
                is_last = stop.is_set()
                for order_id, version in self.read(connection):
                    self.seen[order_id] = max(version, self.seen.get(order_id, 0))
                    self.first.setdefault(order_id, time.time())
                self.polls += 1
                time.sleep(POLL_SECONDS)


def by_hand(name: str, column: str, start: str, delay: str = "") -> Poller:
    """`where x > :last`, and the greatest x is the next last; a fixed delay where one is given."""
    last = start

    def read(connection: Any) -> list[tuple[int, int]]:
        nonlocal last
        below = f" and updated_at < clock_timestamp() - interval '{delay}'" if delay else ""
        query = f"select order_id, version, {column}::text as at from orders where {column} > '{last}'{below} order by {column}"
        found = connection.execute(query).fetchall()
        last = found[-1][2] if found else last
        return [(row[0], row[1]) for row in found]

    return Poller(name, read)


def ours(world: World, table: TableConfig) -> Poller:
    """The tool's own bound, window, SQL and checkpoint, without Spark and Hudi around them."""
    given = world.engine
    if not isinstance(given, PostgresEngine):
        raise TypeError(f"the losses are those of PostgreSQL, not of {given.place}")
    engine = PostgresEngine(given.connection)  # one for each thread
    described = engine.describe(build_table_request(table)).table
    watermark = choose_watermark(build_job(table, "bench"), described)
    columns = {column.name: column for column in described.read_columns}
    place = windows.place(engine.dialect, columns[watermark.order.columns[0]])
    value = f"(extract(epoch from {place}) * 1000000)::bigint" if watermark.has_clock else place
    select = f"select order_id, version, {value}, {watermark.order.id_column or 'null'}::bigint from orders where "
    reached: Mark | None = None

    def read(connection: Any) -> list[tuple[int, int]]:
        nonlocal reached
        bound = watermark.bound(engine.moment(), lambda _: 0)
        where = windows.window_predicate(engine.dialect, build_next_window(watermark.order, reached, bound), columns)
        found = connection.execute(select + (where or "true")).fetchall()
        reached = choose_next_checkpoint(reached, max((Mark(row[2], row[3]) for row in found), default=None, key=rank))
        return [(row[0], row[1]) for row in found]

    return Poller(f"{table.name}, polled", read)


# --- the minute, and the table ---


def run(world: World, url: str, given: argparse.Namespace) -> int:
    """Writers, pollers and pulls beside each other; then everything comes to rest, and what is missing is counted."""
    tables = world.config.tables
    pollers = [
        by_hand("id > last, by hand", "order_id", "0"),
        by_hand("time > last, by hand", "updated_at", "-infinity"),
        by_hand("time, 1 s behind, by hand", "updated_at", "-infinity", "1 s"),
        by_hand("time, 5 s behind, by hand", "updated_at", "-infinity", "5 s"),
        *(ours(world, table) for table in tables),
    ]
    over, rest, early = threading.Event(), threading.Event(), threading.Event()
    polling = [threading.Thread(target=one.poll, args=(url, rest), daemon=True) for one in pollers]
    writing = [
        threading.Thread(target=write, args=(url, act, early if kind == "two-phase" else over), daemon=True)
        for kind, act in ACTS.items()
        for _ in range(given.writers)
    ]
    for thread in (*polling, *writing):
        thread.start()
    rounds, begun = 0, time.monotonic()
    while time.monotonic() - begun < given.seconds:
        # A prepared transaction holds a bound of times 15 minutes back, so its writers are there for the first third only.
        if time.monotonic() - begun > given.seconds / 3:
            early.set()
        pulled(world)
        rounds += 1
    early.set()
    over.set()
    for thread in writing:
        thread.join()
    time.sleep(REST_SECONDS)
    rest.set()
    for thread in polling:
        thread.join()
    pulled(world)
    return report(world, truth(url), pollers, rounds + 1)


def pulled(world: World) -> None:
    """Every table once, as `hudi-reconcile pull` does it."""
    for table in world.config.tables:
        pull(build_job(table, "bench"), world.edges(table), full=False)


def truth(url: str) -> list[Written]:
    """All rows there are."""
    with psycopg.connect(url) as connection:
        found = connection.execute("select order_id, kind, version, extract(epoch from updated_at) from orders")
        return [Written(row[0], row[1], row[2], float(row[3])) for row in found]


def lost(written: list[Written], seen: Seen) -> Counter[str]:
    """Rows that were not seen, by kind, and rows whose last version was not."""
    found = Counter(dict.fromkeys((*KINDS, SILENT), 0))
    for row in written:
        if row.order_id not in seen:
            found[row.kind] += 1
        elif seen[row.order_id] < row.version:
            found[SILENT] += 1
    return found


def report(world: World, written: list[Written], pollers: list[Poller], rounds: int) -> int:
    """Print the table; 1 where a strategy lost what it must not, or its sweep did not find all that is missing."""
    all_of = Counter(row.kind for row in written) + Counter({SILENT: sum(row.version > 1 for row in written)})
    columns = (*KINDS, SILENT)
    print(
        "| lost rows of | " + " | ".join(f"{kind} ({all_of[kind]:,})" for kind in columns) + " | polls or pulls | lag |"
    )
    print("|---|" + "---|" * (len(columns) + 2))
    wrong = []
    for poller in pollers:
        found = lost(written, poller.seen)
        lags = [
            poller.first[row.order_id] - row.born
            for row in written
            if row.kind == "short" and row.order_id in poller.seen
        ]
        lag = f"{statistics.median(lags):.1f} / {max(lags):.1f} s" if lags else "-"
        line(poller.name, found, f"{poller.polls} | {lag}")
        wrong += too_many(poller.name, poller.name.removesuffix(", polled"), found)
    for table in world.config.tables:
        found = lost(written, in_lake(world, table))
        line(f"pull: {table.name}", found, f"{rounds} | -")
        wrong += too_many(f"pull: {table.name}", table.name, found)
        wrong += not_found(world, table, found)
    print(f"\nlag of rows written and committed at once, median / greatest\n{'; '.join(wrong) or 'as it must be'}")
    return 1 if wrong else 0


def line(name: str, found: Counter[str], rest: str) -> None:
    """One line of the table."""
    print(f"| {name} | " + " | ".join(f"{found[kind]:,}" for kind in (*KINDS, SILENT)) + f" | {rest} |")


def too_many(name: str, strategy: str, found: Counter[str]) -> list[str]:
    """What a bounded strategy lost all the same."""
    return [
        f"WRONG: {name} lost {found[kind]} of {kind}" for kind in sorted(MUST_HOLD.get(strategy, ())) if found[kind]
    ]


def not_found(world: World, table: TableConfig, missing: Counter[str]) -> list[str]:
    """Sweep, say what it found, and whether that is what is missing."""
    result = sweep(build_job(table, "bench"), world.edges(table)).result
    drift = {kind: result.findings[kind] for kind in DRIFT_KINDS if result.findings.get(kind)}
    print(f"|   its sweep finds | {drift or 'nothing'}" + " |" * (len(KINDS) + 3))
    same = sum(drift.values()) == sum(missing.values()) and not result.unverified
    return [] if same else [f"WRONG: {table.name} misses {sum(missing.values())}, its sweep found {drift}"]


def in_lake(world: World, table: TableConfig) -> Seen:
    """What the Hudi table holds."""
    if world.session is None:
        raise RuntimeError("no session")
    rows = world.session.spark.read.format("hudi").load(table.lake.path).select("order_id", "version").collect()
    return {row[0]: row[1] for row in rows}


if __name__ == "__main__":
    sys.exit(main())
