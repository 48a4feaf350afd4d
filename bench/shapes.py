"""`make bench-shapes`: tables of odd shapes, each pulled, swept with planted drift and corrected in processes of their own.

What counts is that each command ends as it should, finds exactly what was planted, and how much memory Python and Java had
at most. Exits 1 where one does not. The seconds are those of a command with Spark's start, and need a machine at rest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import shop
from memory import Memory, wait_and_watch

from hudi_reconcile.demo.postgres import PostgresServer, run_postgres

PATIENCE_SECONDS = 3600
_STARTS = "timestamp '2025-01-01'"
_LATE = "timestamp '2024-12-01'"


@dataclass(frozen=True, slots=True)
class Shape:
    """A table, and drift that no pull sees: `silent` rows change, `late` ones come with an old watermark, `deleted` ones go."""

    name: str
    rows: int
    columns: str  # beside order_id and updated_at: `name type, …`
    values: str  # of row i: `expression, …`
    change: str  # a SET clause
    silent: int = 0
    late: int = 0
    deleted: int = 0
    partition_by: Sequence[str] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def planted(self) -> dict[str, int]:
        """What a sweep has to find."""
        found = {"updated_without_watermark": self.silent, "late_arriving": self.late, "deleted": self.deleted}
        return {kind: count for kind, count in found.items() if count}

    def fill(self) -> tuple[str, ...]:
        """Statements that make the table."""
        watermark = f"{_STARTS} + i * interval '1 second'"
        return (
            "drop table if exists orders",
            f"create table orders (order_id bigint primary key, {self.columns}, updated_at timestamp not null)",
            f"insert into orders select i, {self.values}, {watermark} from generate_series(1, {self.rows}) i",
            "analyze orders",
        )

    def drift(self) -> tuple[str, ...]:
        """Statements that plant it, scattered over the whole table: odd keys are deleted, even ones changed."""
        changed, gone = (2 * max(self.rows // max(2 * count, 1), 1) for count in (self.silent, self.deleted))
        last = self.rows + self.late
        to_change = f"select 2 + {changed} * g from generate_series(0, {self.silent - 1}) g"
        return (
            f"delete from orders where order_id in (select 1 + {gone} * g from generate_series(0, {self.deleted - 1}) g)",
            f"update orders set {self.change} where order_id in ({to_change})",
            f"insert into orders select i, {self.values}, {_LATE} from generate_series({self.rows + 1}, {last}) i",
        )


def wide(columns: int) -> Shape:
    """Of every kind that a shop has, in turn."""
    kinds = (
        ("bigint", "i * {n}"),
        ("text", "'value {n} of row ' || i"),
        ("numeric(12,2)", "i / 100.0"),
        ("boolean", "i % 2 = 0"),
        ("timestamp", _STARTS + " + i * interval '1 minute'"),
        ("double precision", "i / 7.0"),
    )
    chosen = [(number, *kinds[number % len(kinds)]) for number in range(columns - 2)]
    return Shape(
        f"{columns} columns",
        5_000,
        ", ".join(f"c{number} {kind}" for number, kind, _ in chosen),
        ", ".join(value.format(n=number) for number, _, value in chosen),
        "c1 = 'changed'",
        silent=40,
        late=5,
        deleted=5,
    )


def days(count: int) -> Shape:
    """Rows spread over so many day partitions."""
    return Shape(
        f"{count:,} day partitions",
        20_000,
        "placed_on date not null, note text",
        f"date '1960-01-01' + i % {count}, 'note ' || i",
        "note = 'changed'",
        silent=40,
        late=5,
        deleted=5,
        partition_by=("day(placed_on)",),
    )


def large(mebibytes: int, rows: int) -> Shape:
    """Text that does not repeat itself, so that no codec makes it small; and the same as bytes."""
    block = "(select string_agg(md5(i::text || g), '') from generate_series(1, 32768) g)"  # 1 MiB
    text = block if mebibytes == 1 else f"repeat({block}, {mebibytes})"
    return Shape(
        f"values of {mebibytes} MiB",
        rows,
        "body text, raw bytea",
        f"{text}, convert_to({text}, 'UTF8')",
        "body = 'x' || substr(body, 2)",
        silent=2,
        late=1,
        deleted=1,
        settings={"policy": {"max_upsert_share": "100%", "max_delete_share": "100%"}},
    )


def orders(rows: int, silent: int, late: int, deleted: int) -> Shape:
    """Orders as a shop has them; what grows with their number, and what with their drift."""
    return Shape(
        f"{rows:,} rows, {silent + late + deleted:,} drifted",
        rows,
        "customer_id int not null, status text not null, amount numeric(12,2) not null, note text",
        "i % 100000, (array['NEW','PAID','SHIPPED','RETURNED'])[1 + i % 4], i / 100.0, 'note of order ' || i",
        "amount = amount + 0.01",
        silent=silent,
        late=late,
        deleted=deleted,
    )


SHAPES = {
    "empty": Shape("0 rows", 0, "note text", "'note'", "note = 'changed'"),
    "days-2000": days(2_000),
    "days-20000": days(20_000),
    "columns-200": wide(200),
    "columns-500": wide(500),
    "value-1": large(1, 100),
    "value-50": large(50, 4),
    "drift": orders(3_000_000, 270_000, 20_000, 10_000),
    "rows-1m": orders(1_000_000, 60, 20, 20),
    "rows-5m": orders(5_000_000, 60, 20, 20),
    "rows-20m": orders(20_000_000, 60, 20, 20),
}


@dataclass(frozen=True, slots=True)
class Ran:
    """One command in a process of its own."""

    command: str
    code: int
    document: dict[str, Any]
    memory: Memory
    seconds: float

    def findings(self) -> dict[str, int]:
        """Kinds with a count."""
        return {
            name: count
            for table in self.document.get("tables", ())
            for name, count in table["findings"].items()
            if count
        }


@dataclass(frozen=True, slots=True)
class Bench:
    """A server, a folder of configs, and the heap that each command gets."""

    server: PostgresServer
    folder: Path
    heap: str

    def execute(self, statements: Sequence[str]) -> None:
        """Run statements, each in a transaction of its own."""
        with psycopg.connect(shop.plain(self.server), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def configure(self, shape: Shape, folder: Path) -> Path:
        """A config for this shape alone."""
        os.environ[shop.VARIABLE] = self.server.password
        place = f"{self.server.user}@{self.server.host}:{self.server.port}/{self.server.database}"
        table = {
            "name": "orders",
            "source": {"table": "public.orders"},
            "pull": {"strategy": "timestamp", "watermark": ["updated_at"]},
            "lake": {"path": "lake/orders", "partition_by": list(shape.partition_by)},
            **shape.settings,
        }
        path = folder / "reconcile.yaml"
        source = {"url": f"postgresql+psycopg://{place}", "password": f"${{env:{shop.VARIABLE}}}"}
        spark = {"conf": {"spark.driver.memory": self.heap}}
        path.write_text(json.dumps({"version": 1, "source": source, "spark": spark, "tables": [table]}))
        return path

    def run(self, config: Path, *arguments: str) -> Ran:
        """Run a command to its end, and watch its memory."""
        command = [sys.executable, "-m", "hudi_reconcile", "-c", str(config), *arguments, "--format", "json"]
        begun = time.monotonic()
        with (config.parent / "out.json").open("wb") as out, (config.parent / "err.log").open("wb") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err)
        memory = wait_and_watch(process, PATIENCE_SECONDS)
        document = json.loads((config.parent / "out.json").read_text() or "{}")
        return Ran(arguments[0], process.returncode, document, memory, time.monotonic() - begun)


def play(bench: Bench, shape: Shape) -> int:
    """Pull, plant, sweep, apply; a line each. The number of commands that did not end as they should."""
    with tempfile.TemporaryDirectory(prefix="hr-shape-", dir=bench.folder) as name:
        config = bench.configure(shape, Path(name))
        bench.execute(shape.fill())
        wrong = tell(shape, bench.run(config, "pull"), 0, {}, Path(name))
        bench.execute(shape.drift() if shape.planted else ())
        drifted = 1 if shape.planted else 0
        wrong += tell(shape, bench.run(config, "sweep"), drifted, shape.planted, Path(name))
        if shape.planted:
            applied = bench.run(config, "apply", "latest", "--yes", "--approve-deletes", str(shape.deleted))
            wrong += tell(shape, applied, 0, {}, Path(name))
            corrected = sum(table["corrections"]["applied"] for table in applied.document.get("tables", ()))
            wrong += corrected != sum(shape.planted.values())
    return wrong


def tell(shape: Shape, ran: Ran, code: int, planted: dict[str, int], folder: Path) -> int:
    """One line of the table; 1, and what the command said, where it is not what it should be."""
    found = ran.findings() if ran.command == "sweep" else {}
    is_right = ran.code == code and (ran.command != "sweep" or found == planted)
    shown = f"{sum(found.values()):,} of {sum(planted.values()):,}" if ran.command == "sweep" else ""
    cells = (shape.name, ran.command, ran.code, shown, ran.memory.python_mib, ran.memory.java_mib, f"{ran.seconds:.0f}")
    print(f"| {' | '.join(map(str, cells))} |{'' if is_right else ' WRONG'}", flush=True)
    if not is_right:
        print((folder / "out.json").read_text()[-3000:], (folder / "err.log").read_text()[-6000:], file=sys.stderr)
    return 0 if is_right else 1


def main() -> int:
    """Play the shapes that were asked for, and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("shapes", nargs="*", choices=[*SHAPES, []], help="all unless named")
    arguments.add_argument("--heap", default="2g", help="spark.driver.memory")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as folder, run_postgres() as server:
        print("| shape | command | exit | drift found | Python MiB | Java MiB | seconds |\n|" + "---|" * 7, flush=True)
        bench = Bench(server, Path(folder), given.heap)
        wrong = sum(play(bench, SHAPES[name]) for name in given.shapes or SHAPES)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
