"""What the stages are asked to do for one table, as plain values; and what ends them once a commit has landed (`LandedError`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from hudi_reconcile.core.plan.guards import Policy
from hudi_reconcile.core.plan.plan import EXPIRES_AFTER_MICROS
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.safe_text import read_message
from hudi_reconcile.core.sweep.coverage import Coverage
from hudi_reconcile.core.sweep.proof import ContentProof
from hudi_reconcile.core.tables.masking import AS_NAMED, Masking
from hudi_reconcile.core.tables.schema_drift import KnownColumns
from hudi_reconcile.core.tables.values import ChangeLog, PartitionField, TableType

Mode = Literal["auto", "pushdown", "stream"]


class LandedError(Exception):
    """What ended a table's work after a commit of it had landed, a named error too. `result` tells of the commit."""

    def __init__(self, result: TableResult, error: BaseException) -> None:
        super().__init__(read_message(error))
        self.result = result
        self.error = error


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How a pull is cut: rows of a page, None for one page; and after how many pages, or seconds, no further one begins."""

    limit_rows: int | None = None
    most: int | None = None
    stop_after_seconds: float | None = None

    def suffice(self, pages: int, seconds: float) -> bool:
        """Whether a pull that has made so many pages in that time goes no further."""
        is_many = self.most is not None and pages >= self.most
        return is_many or (self.stop_after_seconds is not None and seconds >= self.stop_after_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSettings:
    """Where the table lies in the lake, and how `pull` makes it: its type, partitions and change log.

    `adopt`: a table that another tool made is taken over.
    """

    path: str
    type: TableType
    partition_by: tuple[PartitionField, ...] = ()
    adopt: bool = False
    change_log: ChangeLog | None = None


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Which rows of the source the table is: those of the predicate `where`, of a query or of a table.

    `is_decided_by_row`: rows come in and leave by their own changes only, not by a clock or another table that `where` asks.
    """

    where: str | None = None
    is_query: bool = False
    is_decided_by_row: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PullSettings:
    """How pulls go forward. `watermark` and `incrementing` are those that the strategy uses, `pages` is how a pull is cut.

    `full_mode` says how a full fetch meets the table, `on_error` what a pull does that cannot go on from its checkpoint.
    """

    strategy: str
    watermark: tuple[str, ...] = ()
    incrementing: str | None = None
    is_text_watermark: bool = False
    overlap_micros: int = 0
    pages: PageLimits = PageLimits()
    full_mode: Literal["upsert", "overwrite"] | None = None
    on_error: Literal["fail", "full"] = "fail"

    @property
    def moving(self) -> tuple[str, ...]:
        """The columns by which pulls go forward."""
        return self.watermark if self.incrementing is None else (*self.watermark, self.incrementing)


@dataclass(frozen=True, slots=True)
class ColumnSettings:
    """Which columns are compared and under which names; `masking` says of which no value may be shown.

    `known` is what earlier runs saw of the columns.
    """

    exclude: frozenset[str] = frozenset()
    rename: Mapping[str, str] = field(default_factory=dict)
    tolerance: Mapping[str, Decimal] = field(default_factory=dict)
    masking: Masking = AS_NAMED
    known: KnownColumns = field(default_factory=KnownColumns)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSettings:
    """How a sweep looks: in how many segments (None: as many as suit), who makes the digests, how long it waits between looks."""

    mode: Mode = "auto"
    segments: int | None = None
    one_snapshot: bool = False
    settle_seconds: float = 0.0
    settle_limit_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableJob:
    """One table's settings in one run, grouped by what the stages ask for.

    `policy` and `max_plan_age_micros` are the limits of plans, `savepoint` says before which applies one is made.
    `audit_head` is the head of the audit log when the run began.
    """

    name: str
    run_id: str
    lake: LakeSettings
    pull: PullSettings
    source: SourceSettings = SourceSettings()
    columns: ColumnSettings = ColumnSettings()
    sweep: SweepSettings = SweepSettings()
    policy: Policy
    savepoint: str
    max_plan_age_micros: int = EXPIRES_AFTER_MICROS
    audit_head: str = ""

    def labels(self, kind: str) -> dict[str, str]:
        """What every commit of the run carries: what it is, by which run, and after which line of the audit log."""
        head = {"audit_head": self.audit_head} if self.audit_head else {}
        return {"kind": kind, "run_id": self.run_id, **head}


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """Content proof is wanted of tables of `least_rows` and more.

    Each segment is compared within `rotation` sweeps. `maker` is the tool that makes digests. `known` gives the newest proof
    that may be believed, or none, and why an earlier one is not; it is asked only where a proof is of use.
    """

    rotation: int
    least_rows: int
    maker: str
    known: Callable[[], tuple[ContentProof | None, str]]


@dataclass(frozen=True, slots=True)
class Pause:
    """When a sweep lets its source alone: as long as `find_reason` says why, which is empty where it may read.

    A pause that takes longer than `limit_seconds` ends the sweep of the table.
    """

    find_reason: Callable[[], str]
    limit_seconds: float


@dataclass(frozen=True, slots=True)
class PartialSweep:
    """Which part of a table a sweep is asked to compare; all of it, without end, where nothing is said.

    `partitions` are paths as Hudi stores them. `budget_seconds` is what is left for this table. `earlier` is what past
    sweeps left to go on from, newest first. `max_duty` is the share of the time that the first look may read, and `pause` says
    when it may not. Without `proof` every segment is compared, and none is proven for later sweeps.
    """

    partitions: tuple[str, ...] = ()
    budget_seconds: float | None = None
    budget_text: str = ""
    earlier: tuple[Coverage, ...] = ()
    max_duty: float = 1.0
    proof: ProofRequest | None = None
    pause: Pause | None = None

    @property
    def is_sparing(self) -> bool:
        """Whether the source is read in parts, so that it can be left alone between them."""
        return self.max_duty < 1 or self.pause is not None
