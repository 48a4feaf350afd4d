"""Every pull strategy by table type by partitioning, on real PostgreSQL and Hudi: one story, one source, one run of each command.

Each cell is a Hudi table of its own over the same source table. What a cell brings, what it must leave to the sweep and in
how many pages is said beside it; at the end every cell equals the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from pyspark.sql import SparkSession

from tests.integration.project import Project, Ran, in_source, in_table
from tests.support.postgres import Database

COLUMNS = ("order_id", "note", "day", "version", "iso", "updated_at")
COPY, MERGE = "copy_on_write", "merge_on_read"
TABLES = tuple(product((COPY, MERGE), (False, True)))  # table type, by day or not
LATE, SILENT, GONE = "late_arriving", "updated_without_watermark", "deleted"


@dataclass(frozen=True, slots=True)
class Told:
    """What a strategy sees of the story: rows and mode of the second pull, what one sweep finds, what it leaves waiting."""

    rows: int
    drift: Mapping[str, int]
    pending: int
    checkpoint: str | None
    mode: str = "incremental"
    said: str = ""
    waiting: frozenset[int] = frozenset({300})  # keys that are the next pull's


# Updates move no id: the touched row and the silent ones are the sweep's, and so is the one that committed late below.
BY_ID = Told(2, {LATE: 1, SILENT: 3, GONE: 3}, 1, "202", said="order_id has no clock: ")
BY_TIME = Told(3, {LATE: 1, SILENT: 2, GONE: 3}, 1, "2025-02-01T00:00:00.000000")
BY_BOTH = Told(3, {LATE: 1, SILENT: 2, GONE: 3}, 1, "2025-02-01T00:00:00.000000, 202")
BY_NUMBER = Told(3, {LATE: 1, SILENT: 2, GONE: 3}, 1, "744.0", said="version has no clock: ")
BY_TEXT = Told(3, {LATE: 1, SILENT: 2, GONE: 3}, 1, "2025-02-01T00:00:00Z")
# All that changed before the second pull is there, also what committed late; what changed after it is not waited for.
WHOLE = Told(101, {LATE: 1, SILENT: 1, GONE: 1}, 0, None, "full", waiting=frozenset())
# A version sees every change that is left to see: only deletes are the sweep's.
EXACT = Told(5, {GONE: 3}, 2, None, waiting=frozenset({300, 40}))

INCREMENTING = {"strategy": "incrementing", "incrementing": "order_id"}
TIMED = {"watermark": ["updated_at"]}
NUMBERED, WRITTEN = {"watermark": ["version"]}, {"watermark": ["iso"], "watermark_text": True}
BOTH = {"watermark": ["updated_at"], "incrementing": "order_id"}
# A strategy's pull settings and pages of the first pull in the four kinds of tables; later pulls have one page.
STRATEGIES: dict[str, list[tuple[Told, dict[str, Any], int]]] = {
    "incrementing": [(BY_ID, INCREMENTING, 1), (BY_ID, {**INCREMENTING, "limit": 40}, 3),
                     (BY_ID, {**INCREMENTING, "limit": 60}, 2), (BY_ID, INCREMENTING, 1)],
    "timestamp": [(BY_TIME, TIMED, 1), (BY_NUMBER, {**NUMBERED, "limit": 40}, 3),
                  (BY_TEXT, {**WRITTEN, "limit": 60}, 2), (BY_TIME, TIMED, 1)],
    "timestamp+incrementing": [(BY_BOTH, BOTH, 1), (BY_BOTH, {**BOTH, "limit": 30}, 4), (BY_BOTH, BOTH, 1),
                               (BY_BOTH, {**BOTH, "limit": 55}, 2)],
    "full": [(WHOLE, {"strategy": "full"}, 1)] * 4,
    "xmin": [(EXACT, {"strategy": "xmin"}, 1)] * 3 + [(EXACT, {"strategy": "xmin", "limit": 40}, 1)],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """One strategy into one kind of table."""

    name: str
    told: Told
    pull: dict[str, Any]
    lake: dict[str, Any] = field(default_factory=dict)
    pages: int = 1


def cells() -> list[Cell]:
    """All of them; a strategy that lacks one of the four kinds of tables is a mistake."""
    found = []
    for strategy, settings in STRATEGIES.items():
        for (told, pull, pages), (kind, by_day) in zip(settings, TABLES, strict=True):
            name = f"{strategy}_{kind}{'_by_day' if by_day else ''}".replace("+", "_")
            lake = {"path": f"lake/{name}", "type": kind, **({"partition_by": ["day"]} if by_day else {})}
            found.append(Cell(name, told, pull, lake, pages))
    return found


def rows(select: str) -> str:
    """INSERT of rows (id, at): every watermark tells the same time in its own way."""
    return (
        "insert into orders select id, 'n' || id, date '2025-01-01' + (id % 3)::int,"
        " extract(epoch from at - '2025-01-01') / 3600, to_char(at, 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), at"
        f" from ({select}) hr(id, at)"
    )


def fill(database: Database) -> None:
    """100 rows, ids 2, 4, …; ten rows share each time, so that pages of 30, 40 and 55 end between ties or inside."""
    database.execute(
        "create table orders (order_id bigint primary key, note text, day date, version numeric(8,1),"
        " iso text, updated_at timestamp)",
        rows("select 2 * i, timestamp '2025-01-01' + (i - 1) / 10 * interval '1 hour' from generate_series(1, 100) i"),
    )


def by_name(ran: Ran) -> dict[str, dict[str, Any]]:
    return {table["name"]: table for table in ran.document["tables"]}


def agree(
    found: dict[str, dict[str, Any]], all_cells: list[Cell], of: Callable[[Cell, dict[str, Any]], tuple[Any, Any]]
) -> None:
    """Hold what every cell showed against what it must show, all at once."""
    wrong = {cell.name: pair for cell in all_cells if (pair := of(cell, found[cell.name]))[0] != pair[1]}
    assert wrong == {}


def ends_equal(spark: SparkSession, project: Project, every: list[Cell]) -> None:
    """Inserts, updates, deletes and a late commit between pulls; one sweep, one apply; every cell equals the source."""
    pg = project.database
    tables = [{**project.settings, "name": cell.name, "pull": cell.pull, "lake": cell.lake} for cell in every]
    project.settings, project.more = tables[0], tables[1:]
    fill(pg)
    with pg.connect() as open_transaction:
        # Its id, times and version were taken before the first pull, and it commits after it.
        open_transaction.execute(rows("select 101, timestamp '2025-01-01 05:00'"))
        first = project.json("pull")
        open_transaction.commit()
    agree(by_name(first), every, lambda cell, found: (
        (found["pull"]["rows"], found["pull"]["mode"], found["pull"]["pages"]), (100, "full", cell.pages)
    ))  # fmt: skip
    pg.execute(
        rows("select i, timestamp '2025-02-01' from generate_series(201, 202) i"),
        "update orders set note = 'touched', version = 744, iso = '2025-02-01T00:00:00Z',"
        " updated_at = '2025-02-01' where order_id = 10",
        "update orders set note = 'silent' where order_id = 20",
        "delete from orders where order_id in (30, 200)",
    )

    second = by_name(project.json("pull"))
    newest = str(pg.query("select max(xmin::text::bigint) from orders")[0][0])
    pg.execute(
        rows("select 300, timestamp '2025-02-02'"),
        "update orders set note = 'silent' where order_id = 40",
        "delete from orders where order_id = 50",
    )
    sweep = project.json("sweep")
    applied = project.json("apply", "latest", "--yes")

    agree(second, every, lambda cell, found: (
        (found["pull"]["rows"], found["pull"]["mode"], found["pull"]["pages"]), (cell.told.rows, cell.told.mode, 1)
    ))  # fmt: skip
    agree(second, every, lambda cell, found: (
        found["checkpoint"], newest if cell.told is EXACT else cell.told.checkpoint
    ))  # fmt: skip
    agree(second, every, lambda cell, found: (
        [note for note in found["notes"] if cell.told.said and note.startswith(cell.told.said)] != [], bool(cell.told.said)
    ))  # fmt: skip
    assert (sweep.code, applied.code) == (1, 0), (sweep, applied)
    agree(by_name(sweep), every, lambda cell, found: (
        ({kind: count for kind, count in found["findings"].items() if count}, found["not_drift"]["pending"]),
        (cell.told.drift, cell.told.pending),
    ))  # fmt: skip
    agree(by_name(applied), every, lambda cell, found: (
        (found["outcome"], found["corrections"]["applied"]), ("corrected", sum(cell.told.drift.values()))
    ))  # fmt: skip
    source = in_source(project, *COLUMNS)
    for cell in every:
        held = in_table(spark, project.folder / str(cell.lake["path"]), *COLUMNS)
        assert ours(held, cell) == ours(source, cell), cell.name


def ours(found: list[tuple[Any, ...]], cell: Cell) -> list[tuple[Any, ...]]:
    """The rows that are not the next pull's."""
    return [row for row in found if row[0] not in cell.told.waiting]
