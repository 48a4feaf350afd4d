"""The parts of a run's result: what was compared, guarded, approved, pulled, corrected and spent. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class SideState:
    """One side of a comparison: how many rows, and which snapshot (source) or instant (lake, completion time)."""

    rows: int
    at: str


@dataclass(frozen=True, slots=True)
class Unverified:
    """Something that was not compared, why, and what to do about it."""

    what: Literal["column", "segment", "rows", "table"]
    name: str
    why: str
    fix: str


ChangeKind = Literal["added", "dropped", "renamed", "widened", "narrowed", "retyped"]


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One column whose two sides are no longer declared alike.

    `column` is the source's name, or the lake's where the source has none; `lake_column` the lake's where there is one.
    A type is None where that side lacks the column. `since_utc` is the start of the run that saw it first.
    """

    what: ChangeKind
    side: Literal["source", "lake"]
    column: str
    source_type: str | None
    lake_type: str | None
    since_utc: str | None
    compared: bool
    fix: str
    lake_column: str | None = None


@dataclass(frozen=True, slots=True)
class Precision:
    """A column that was compared on fewer digits than the source has, and how many source rows that hides."""

    column: str
    source: str
    lake: str
    compared: str
    rows_hidden: int


@dataclass(frozen=True, slots=True)
class CompareSettings:
    """What the config left out of the comparison or allowed for, by column."""

    exclude: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)


KILLED = "Killed"  # the type of the error of a table whose run was killed: what it committed, the lake alone knows
UNSYNCED = "CatalogSyncError"  # the error of a table with which all went well but its catalog


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that ended a table's work."""

    type: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Guard:
    """A limit that a plan is held against. `limit` and `found` are in the unit that `name` says."""

    name: str
    limit: int | float | str
    found: int | float | str
    ok: bool
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Corrections:
    """Planned and done. After an apply of the whole plan all but `savepoint`, `instants` and `steps` sum to `upserts + deletes`.

    `applied_before` are rows that earlier applies of the same plan wrote. `savepoint` is the instant that was kept from
    before, as Hudi's savepoint commands take it. `steps` are those of the plan's that the apply took, in order.
    """

    upserts: int = 0
    deletes: int = 0
    applied: int = 0
    superseded: int = 0
    moved: int = 0
    failed: int = 0
    instants: tuple[str, ...] = ()
    savepoint: str | None = None
    held: int = 0
    applied_before: int = 0
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pulled:
    """What one pull handed to Hudi. `pages` is in how many commits; `instant` is the last of them.

    `created`: there was no table before, so whatever was compared before was another. `reached_bound` is False where pages
    were left for the next pull. `odd_rows` were read and not handed over: the table does not tell their keys from others.
    """

    rows: int
    mode: Literal["full", "incremental"]
    checkpoint_before: str | None
    checkpoint_after: str | None
    instant: str | None
    null_watermark_rows: int = 0
    bound: str | None = None
    bound_why: str | None = None
    pages: int = 0
    created: bool = False
    reached_bound: bool = True
    odd_rows: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """What the table's work cost. `seconds` leaves out `session_seconds` (Spark's start).

    `lake_files_read` are the base and log files, each counted once, of the snapshots whose rows were read: to compare, to
    judge rules, to read back. What is read in order to write, by Hudi's index and merge above all, is not among them, and
    nobody tells it: `lake_files_counted` is False then, and where the files could not be told.

    `source_bytes_estimate` is rows times the catalog's row width, None where no catalog told it.
    """

    seconds: float = 0.0
    session_seconds: float = 0.0
    source_statements: int = 0
    source_rows_fetched: int = 0
    lake_files_read: int = 0
    phases_seconds: Mapping[str, float] = field(default_factory=dict)
    source_parts: int = 0
    source_parts_repeated: int = 0
    source_bytes_estimate: int | None = None
    lake_files_counted: bool = True

    def __add__(self, other: Cost) -> Cost:
        """Of two steps of a run: what stages measure, rows and phases. The rest is measured once, around all steps."""
        phases = {**self.phases_seconds}
        for name, seconds in other.phases_seconds.items():
            phases[name] = phases.get(name, 0.0) + seconds
        rows = self.source_rows_fetched + other.source_rows_fetched
        return replace(self, source_rows_fetched=rows, phases_seconds=phases)


@dataclass(frozen=True, slots=True)
class Approved:
    """One person's word for one plan. `run_id` is the run that made the plan; `login` and `uid` are who ran the command, where.

    `uid` is empty in the words of earlier versions.
    """

    plan_id: str
    run_id: str
    upserts: int
    deletes: int
    by: str
    login: str
    at_utc: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class CoverageSummary:
    """How much of a table a sweep compared, and how old the comparison of the rest is.

    Segments are parts of the key space, of which `compared` were looked at by this sweep and `never_compared` by none so
    far; `oldest_utc` is the oldest last comparison of the others. `budget` is as it was
    given, for all tables, `budget_seconds` this table's share. With `partitions` only rows of those were looked at. The rows
    left out are by each side's own count, None where it was not asked.

    `proven` segments were not compared again: they hold what they held when they were last compared and equal, on both sides.
    They have `proven_rows` rows at the source, and `proven_since_utc` is the oldest of those comparisons.
    """

    segments: int
    compared: int
    never_compared: int
    oldest_utc: str | None
    budget: str | None = None
    budget_seconds: float | None = None
    partitions: tuple[str, ...] = ()
    lake_rows_left_out: int | None = None
    source_rows_left_out: int | None = None
    proven: int = 0
    proven_rows: int = 0
    proven_since_utc: str | None = None
