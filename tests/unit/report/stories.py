"""Invented runs, one for each ending, built with the values that real runs are built with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.apply_outcome import Uncorrected, count_untouched
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import (
    Corrections,
    Cost,
    Failure,
    Guard,
    Precision,
    Pulled,
    SchemaChange,
    SideState,
    Unverified,
)
from hudi_reconcile.core.rules.rules import Waiver
from hudi_reconcile.core.rules.verdict import BothTotals, FailedKeys, RuleResult, Totals
from hudi_reconcile.core.sweep.coverage import Coverage, Stretch
from hudi_reconcile.core.sweep.drift_profile import Anatomy, DriftCell, Lateness, map_keys
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.report.page.sections import RunDocuments

Document = Mapping[str, Any]
RUN_ID = "20261121T132616Z-3f9a1c"
SQL = (
    'SELECT "order_id", "customer_id", "amount", "status", "updated_at"\n'
    'FROM "public"."orders"\nWHERE "order_id" >= $1 AND "order_id" < $2'
)


@dataclass(frozen=True, slots=True)
class Story:
    """The documents of one invented run."""

    run: Document
    plans: Mapping[str, Document]
    samples: Mapping[str, Sequence[Document]]
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    past: Sequence[Document] = ()
    left: Mapping[str, Sequence[Document]] = field(default_factory=dict)

    @property
    def kept(self) -> RunDocuments:
        return RunDocuments(self.plans, self.samples, self.coverage, self.past, left=self.left)


def side(**values: Any) -> dict[str, Any]:
    digest = {"watermark": values.pop("at", "2026-11-20T22:14:03.120044Z"), "digest": "9f31c2aa04be77d1"}
    return {**digest, "values": {"customer_id": 4711, "amount": "129.90", "status": "PAID", **values}}


def in_lake(**values: Any) -> dict[str, Any]:
    return {
        **side(**values),
        "commit_time": "20261121020012345",
        "partition_path": "created_month=2026-11",
        "copies": 1,
    }


def finding(kind: str, key: Document, columns: Sequence[str], source: Any, lake: Any) -> Document:
    action = {"deleted": "delete"}.get(kind, "upsert")
    document = {"table": "orders", "kind": kind, "key": key, "action": action, "columns": list(columns)}
    return {**document, "source": source, "lake": lake}


FINDINGS = [
    finding("late_arriving", {"order_id": 100231}, [], side(note="rush"), None),
    finding(
        "updated_without_watermark",
        {"order_id": 88412},
        ["status", "amount"],
        side(status="REFUNDED", amount="0.00"),
        in_lake(),
    ),
    finding("updated_without_watermark", {"order_id": 90017}, ["note"], side(note="Zürich "), in_lake(note="Zürich")),
    finding(
        "updated_without_watermark",
        {"order_id": 90018},
        ["note"],
        side(note="<script>alert(1)</script>"),
        in_lake(note=None),
    ),
    finding(
        "updated_without_watermark",
        {"order_id": 90044},
        ["note", "memo"],
        side(note="a\u202eb\x1b[2J", memo=""),
        in_lake(note="x" * 900, memo="n/a"),
    ),
    finding("deleted", {"order_id": 77123}, [], None, in_lake(status="NEW", note=None)),
]

GUARDS = (
    Guard("max_deletes", 1000, 3, ok=True),
    Guard("max_delete_share", "5%", "0.03%", ok=True),
    Guard("max_upsert_share", "20%", "0.06%", ok=True),
)
PLAN: Document = {
    "version": 1,
    "plan_id": "5d0f6b1e3c7a4a0c9f2b8e6d1a7c3f5e0b9d8c7a6f5e4d3c2b1a09f8e7d6c5b4",
    "run_id": RUN_ID,
    "table": "orders",
    "created_utc": "2026-11-21T13:26:31Z",
    "expires_utc": "2026-11-22T13:26:31Z",
    "lake": {"path": "/data/lake/orders", "instant": "20261121132501872"},
    "source": {"identity": "postgresql:7381920465012345678/16403", "snapshot": "000001A4-00000F2C-1"},
    "key": ["order_id"],
    "upserts": 6,
    "deletes": 3,
    "by_kind": {"late_arriving": 1, "updated_without_watermark": 5, "deleted": 3},
    "guards": [
        {"name": guard.name, "limit": guard.limit, "found": guard.found, "ok": True, "fix": ""} for guard in GUARDS
    ],
    "requirements": [
        {"name": "lake instant", "expected": "20261121132501872"},
        {"name": "source identity", "expected": "postgresql:7381920465012345678/16403"},
    ],
    "files": {"findings/part-00000.parquet": "ab" * 32},
    "steps": [
        {"step": "guards", "text": "Check the guards and what must still hold."},
        {"step": "reread", "text": "Read the 9 keys once more; drop what moved since."},
        {
            "step": "write",
            "text": "Write 6 upserts and 3 deletes in one commit, only if every key is still as compared.",
        },
        {"step": "verify", "text": "Read the written keys back and digest their segments on both sides."},
    ],
}

ORDERS = TableResult(
    name="orders",
    outcome=Outcome.DRIFT,
    source=SideState(10_000, "000001A4-00000F2C-1"),
    lake=SideState(10_002, "20261121132501872"),
    checkpoint="2026-11-20T23:59:58.000412Z",
    findings={"late_arriving": 1, "updated_without_watermark": 5, "deleted": 3},
    anatomy=Anatomy(
        (
            DriftCell("updated_without_watermark", "created_month=2026-11", "2026-11-20", 4),
            DriftCell("deleted", "created_month=2026-10", "2026-11-18", 3),
            DriftCell("updated_without_watermark", "created_month=2026-10", "2026-11-18", 1),
            DriftCell("late_arriving", None, "2026-11-20", 1),
        ),
        0,
        {"status": 5, "amount": 2},
        Lateness((0, 0, 0, 1, 0, 0, 0, 0), 432.5),
        missing_rows=1,
        extra_copies=0,
        key_map=map_keys((2, 3, 17, 18, 18, 90, 131, 140, 156), 157),
    ),
    not_drift={"pending": 0, "settled": 2},
    guards=GUARDS,
    corrections=Corrections(upserts=6, deletes=3),
    plan_id=PLAN["plan_id"],
    segments={"total": 157, "unequal": 9},
    provenance={"source_sql": SQL},
    cost=Cost(4.21, 3.4, 12, 10_611, 8, {"digest": 2.9, "confirm": 0.8}),
)
ITEMS = replace(
    ORDERS,
    name="Order Items",
    outcome=Outcome.CLEAN,
    source=SideState(41_220, "000001A4-00000F2C-1"),
    lake=SideState(41_220, "20261121132502913"),
    anatomy=None,
    findings={},
    not_drift={},
    corrections=Corrections(),
    guards=(),
    plan_id=None,
)
JARS = [
    {"coordinate": "org.postgresql:postgresql:42.7.14", "file": "postgresql-42.7.14.jar", "sha256": "73914527" * 8},
    {
        "coordinate": "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0",
        "file": "hudi-spark3.5-bundle_2.12-1.2.0.jar",
        "sha256": "cc79fba0" * 8,
    },
]
PROVENANCE = {
    "config": "shop/reconcile.yaml",
    "tool": "0.1.0",
    "python": "3.11.7",
    "spark": "3.5.9",
    "java": "21.0.8",
    "jars": JARS,
}


APART: Mapping[str, Any] = {
    "schema": (
        SchemaChange("renamed", "source", "memo", "text", "string", "2026-11-20T02:00:00Z", compared=False, fix="",
                     lake_column="note"),
        SchemaChange("widened", "lake", "amount", "integer", "bigint", None, compared=True, fix=""),
    ),
    "precision": (
        Precision("price", "numeric(12,4)", "decimal(12,2)", "2 digits after the point", 1200),
        Precision("rate", "numeric(5,3)", "decimal(5,2)", "2 digits after the point", 0),
    ),
}  # fmt: skip


RULES = (
    RuleResult("r-pass", "error", "pass", 0, "not_null", "customer_id is not null"),
    RuleResult("r-fail", "error", "fail", 1200, "matches", "email matches <script>.*@", why="ask the <b>shop</b> team",
               keys=FailedKeys(1200, "orders/rules/r-fail",
                               tuple({"order_id": number, "code": "a\u202eb"} for number in range(10)))),
    RuleResult("r-warn", "warn", "fail", 3, "between", "amount is at most 100", allow="0.1%", judged_rows=500),
    RuleResult("r-waived", "error", "waived", 2, "unique", "email is unique",
               waiver=Waiver("r-waived", "TICKET-1", date(2026, 12, 1), "finance")),
    RuleResult("r-error", "warn", "error", 0, "sql", "the query returns no row", why="the query is no Spark SQL", fix="mend it"),
)  # fmt: skip
SUMMED = RuleResult(
    "t-amount", "error", "fail", 1, "total", "sum of amount is the same on both sides", why="source 1, lake 2, difference 1",
    totals=BothTotals("amount", Totals(Decimal("1250417.30"), Decimal(-3), Decimal(990)),
                      Totals(Decimal("1250389.10"), Decimal(-3), Decimal("1200.5"))),
)  # fmt: skip
HIDDEN_SUM = RuleResult("t-pay", "error", "pass", 0, "total", "sum of pay is the same on both sides")
CHECKED = TableResult("orders", Outcome.UNVERIFIED, lake=SideState(10_000, "20261121132501872"), rules=RULES)


def run_of(command: str, *tables: TableResult) -> Document:
    run = RunResult(RUN_ID, command, "2026-11-21T13:26:16Z", "2026-11-21T13:26:31Z", tables, PROVENANCE)
    return run_document(run)


PART = {"segments": 157, "compared": 40, "never_compared": 7, "oldest_utc": "2026-11-17T02:00:04Z"}


def past_run(day: int, table: str, outcome: str, drift: int | None, **said: Any) -> Document:
    """One line of the history; `drift` None: nothing was compared."""
    found = {"deleted": drift or 0}
    one = {
        "name": table,
        "outcome": outcome,
        "findings": found,
        "applied": 0,
        "whole": drift is not None,
        "coverage": None,
        "applied_before": 0,
        "plan_id": said.pop("plan", "p"),
        "open_rules": 0,
    }
    run_id, at = f"202611{day:02}T020000Z-{day:06x}", f"2026-11-{day:02}T02:00:04Z"
    about = {
        "run_id": run_id,
        "command": said.pop("command", "sweep"),
        "outcome": outcome,
        "started_utc": at,
        "ended_utc": at,
    }
    return {**about, "tables": [{**one, **said}]}


def earlier(table: str) -> tuple[Mapping[str, Coverage], Sequence[Document]]:
    """What was kept of a table before the run of the stories: coverage of several ages, and eight runs, the newest first."""
    stretches = tuple(
        Stretch(low, high, 1_795_267_591_000_000 - behind * 1_000_000, run_id)
        for low, high, behind, run_id in (
            (0, 90, 2, RUN_ID),
            (90, 120, 7_200, "b"),
            (120, 140, 3 * 86_400, "c"),
            (140, 150, 40 * 86_400, "d"),
        )
    )
    past = [
        past_run(20, table, "drift", 4),
        past_run(19, table, "unverified", 2, whole=False, coverage=PART),
        past_run(18, table, "unverified", None),
        past_run(17, table, "corrected", 0, command="apply", applied=31, whole=False),
        past_run(17, table, "drift", 31),
        past_run(16, table, "pulled", 0, command="pull", whole=False),
        past_run(16, table, "clean", 0),
        past_run(15, table, "corrected", 12, command="run", applied=12),
    ]
    return {table: Coverage("orders", HashSegments(("order_id",), 157), None, stretches)}, past


# What an apply of the findings left.
LEFT = [
    {"table": "orders", "kind": kind, "key": {"order_id": number}, "action": action, "columns": [], "reason": reason,
     "rules": rules}
    for kind, number, action, reason, rules in (
        ("deleted", 77123, "delete", "superseded", []),
        ("late_arriving", 90001, "upsert", "moved", ["ord-001"]),
    )
]  # fmt: skip


def all_stories() -> Mapping[str, Story]:
    gap = Unverified("column", "tags", "text[] has no tested rule of comparison", "exclude it: compare.exclude: [tags]")
    lost = Failure(
        "SourceError", "127.0.0.1:5432/shop did not answer within 10 s", "start the database, then sweep again"
    )
    stopped = Guard(
        "max_deletes",
        1000,
        4811,
        ok=False,
        fix="see why so many rows are gone, then: hudi-reconcile apply RUN --approve-deletes 4811",
    )
    done = replace(
        ORDERS,
        outcome=Outcome.CORRECTED,
        corrections=Corrections(6, 3, 9, instants=("20261121133002417",)),
        verified_at="20261121133002417",
        lake=SideState(10_000, "20261121133002417"),
    )
    many = replace(
        ORDERS,
        outcome=Outcome.REFUSED,
        lake=SideState(14_810, "20261121132501872"),
        findings={"deleted": 4811, "late_arriving": 1},
        guards=(stopped, *GUARDS[1:]),
        corrections=Corrections(1, 4811),
        uncorrected=count_untouched(4812, RUN_ID, "refused", "guard max_deletes: limit 1000, found 4811"),
    )
    part = replace(
        done,
        outcome=Outcome.INCOMPLETE,
        corrections=Corrections(6, 3, 7, moved=1, superseded=1),
        uncorrected=Uncorrected(2, {"superseded": 1, "moved": 1}, 2, "orders/uncorrected"),
    )
    broken = TableResult("payments", Outcome.UNVERIFIED, error=lost)
    pulled = TableResult(
        "orders",
        Outcome.PULLED,
        pull=Pulled(1240, "incremental", "2026-11-19T23:59:58Z", "2026-11-20T23:59:58Z", "20261121132501872"),
    )
    plans, samples = {"orders": PLAN}, {"orders": FINDINGS}
    return {
        "drift": Story(run_of("sweep", replace(ORDERS, whole=True)), plans, samples, *earlier("orders")),
        "clean": Story(run_of("sweep", replace(ITEMS, name="orders", whole=True)), {}, {}),
        "corrected": Story(run_of("apply", done), plans, samples),
        "unverified": Story(
            run_of("sweep", replace(ORDERS, outcome=Outcome.UNVERIFIED, unverified=(gap,), **APART), ITEMS, broken),
            plans,
            samples,
            *earlier("orders"),
        ),
        "refused": Story(run_of("apply", many), {}, {}),
        "incomplete": Story(run_of("apply", part), plans, {}, left={"orders": LEFT}),
        "pulled": Story(run_of("pull", pulled), {}, {}),
        "checked": Story(run_of("check", replace(CHECKED, source=None)), {}, {}),
        "rules failed": Story(
            run_of("run", replace(ITEMS, name="orders", outcome=Outcome.DRIFT, rules=RULES[:2])), {}, {}
        ),
        "rules hold": Story(run_of("check", replace(CHECKED, outcome=Outcome.CLEAN, rules=RULES[:1] * 2)), {}, {}),
        "summed": Story(
            run_of("run", replace(ORDERS, whole=True, rules=(SUMMED, HIDDEN_SUM))), plans, samples, *earlier("orders")
        ),
        "usage": Story(run_of("sweep", TableResult("orders", Outcome.USAGE, error=lost)), {}, {}),
    }
