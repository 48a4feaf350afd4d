"""Limits that a plan is held against before anything is written. Pure arithmetic on counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from hudi_reconcile.core.result_parts import Guard

LEAST_OVERLAP = 0.5
MOST_IN_ONE_COLUMN = 0.2
LEAST_KEYS, LEAST_ROWS = 10, 100  # of fewer, a share says nothing
LEAST_LOST_ROWS = 10
# What `--accept` may name: guards that an operator who knows better may pass, one by one.
ACCEPTABLE = (
    "max_upsert_share",
    "key_overlap",
    "same_column_share",
    "shrunken_source",
    "replica_deletes",
    "changed_filter",
    "restored_source",
    "changed_schema",
    "expired_plan",
)


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's limits; shares are fractions of the lake's rows that were compared."""

    max_deletes: int
    max_delete_share: float
    max_upsert_share: float


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """What a plan would do, and to how much. `by_column`: rows that differ in a column, watermarks left out.

    Rows are those compared, so shares are of what was looked at. `table_rows` is the source's own count of the whole table
    where only a part was compared: an empty partition is no empty source.
    """

    upserts: int
    deletes: int
    source_rows: int
    lake_rows: int
    by_column: Mapping[str, int] = field(default_factory=dict)
    table_rows: int | None = None


def judge_replacement(counts: PlanCounts, policy: Policy) -> tuple[Guard, ...]:
    """The guards of a pull that replaces the whole table: what it would delete; how much it writes is its nature."""
    wanted = ("empty_source", "max_deletes", "max_delete_share")
    return tuple(guard for guard in judge_guards(counts, policy, verb="pull") if guard.name in wanted)


def judge_guards(counts: PlanCounts, policy: Policy, *, verb: str = "apply") -> tuple[Guard, ...]:
    """Every guard with its limit and what was found; a plan may be applied where all are ok.

    `verb` is the command that takes the approval.
    """
    delete_share = _share(counts.deletes, counts.lake_rows)
    upsert_share = _share(counts.upserts, counts.lake_rows)
    all_rows = counts.source_rows if counts.table_rows is None else counts.table_rows
    approve = f"if the source really lost these rows: {verb} with --approve-deletes {counts.deletes}"
    return (
        Guard(
            "empty_source",
            limit="at least 1 source row",
            found=all_rows,
            ok=all_rows > 0 or counts.lake_rows == 0,
            fix=f"an empty source looks like a broken one; if it is meant: {verb} with --allow-empty-source",
        ),
        Guard("max_deletes", policy.max_deletes, counts.deletes, counts.deletes <= policy.max_deletes, approve),
        Guard(
            "max_delete_share", policy.max_delete_share, delete_share, delete_share <= policy.max_delete_share, approve
        ),
        Guard(
            "max_upsert_share",
            policy.max_upsert_share,
            upsert_share,
            # A table that is empty wants all its rows; that no part of it was looked at says nothing of the table.
            (counts.lake_rows == 0 and counts.table_rows is None) or upsert_share <= policy.max_upsert_share,
            "so many differences look like a wrong mapping; if they are real: pull --full, or apply with --accept "
            "max_upsert_share, or raise policy.max_upsert_share and sweep again",
        ),
        _key_overlap(counts),
        _same_column(counts),
    )


def tighten_guards(guards: tuple[Guard, ...], policy: Policy) -> tuple[Guard, ...]:
    """The guards of a plan under the limits of now, where those are lower: what was allowed then may not be any more."""
    limits = {
        "max_deletes": policy.max_deletes,
        "max_delete_share": policy.max_delete_share,
        "max_upsert_share": policy.max_upsert_share,
    }
    return tuple(_tighten_guard(guard, limits[guard.name]) if guard.name in limits else guard for guard in guards)


def _tighten_guard(guard: Guard, limit: float) -> Guard:
    planned, value = guard.limit, guard.found
    if isinstance(planned, str) or isinstance(value, str) or limit >= planned:
        return guard
    exempt = guard.ok and value > planned  # a table that is empty wants all its rows
    return replace(guard, limit=limit, ok=guard.ok and (exempt or value <= limit))


def _key_overlap(counts: PlanCounts) -> Guard:
    fewer = min(counts.source_rows, counts.lake_rows)
    overlap = min(1.0, round((counts.lake_rows - counts.deletes) / fewer, 6)) if fewer else 1.0
    return Guard(
        "key_overlap",
        LEAST_OVERLAP,
        overlap,
        ok=fewer < LEAST_KEYS or overlap >= LEAST_OVERLAP,
        fix="so few common keys look like a wrong mapping: another table, key or key column; "
        "if they are meant: apply with --accept key_overlap",
    )


def _same_column(counts: PlanCounts) -> Guard:
    column, rows = max(counts.by_column.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    share = _share(rows, counts.lake_rows)
    return Guard(
        "same_column_share",
        MOST_IN_ONE_COLUMN,
        share,
        ok=counts.lake_rows < LEAST_ROWS or share <= MOST_IN_ONE_COLUMN,
        fix=f"{rows} rows differ in column {column}: the same value may be written in two forms (time zone, padding, "
        "case); look at the findings; if they are real: apply with --accept same_column_share",
    )


def guard_replica_deletes(deletes: int) -> Guard:
    """Deletes from a replica: a row that the lake has from the primary, and that is not replayed yet, looks deleted."""
    return Guard(
        "replica_deletes",
        limit="no deletes from a replica",
        found=deletes,
        ok=deletes == 0,
        fix="sweep against the primary; or, where every pull reads this same replica: apply with --accept replica_deletes",
    )


def guard_shrunken_source(planned_rows: int, rows_now: int, policy: Policy) -> Guard:
    """The source's rows at apply against those of the sweep: a source that is being emptied must not delete on."""
    least = planned_rows - max(LEAST_LOST_ROWS, int(planned_rows * policy.max_delete_share))
    return Guard(
        "shrunken_source",
        f"at least {max(least, 0)} source rows ({planned_rows} at the sweep)",
        rows_now,
        ok=rows_now >= least,
        fix="sweep again; if the rows are meant to be gone: apply with --accept shrunken_source",
    )


def list_failed_guards(
    guards: tuple[Guard, ...],
    *,
    deletes: int,
    approved: int | None,
    allow_empty: bool,
    only: str | None = None,
    accepted: Collection[str] = (),
) -> tuple[Guard, ...]:
    """The guards that forbid an apply, given what the operator approved.

    A wrong `--approve-deletes` is refused even where the limits would have allowed the deletes: whoever typed it looked
    at another plan. With `only` the limits of the other part do not count: it writes nothing.
    """
    no = []
    other = {
        "upsert": ("max_deletes", "max_delete_share", "replica_deletes", "changed_filter", "shrunken_source"),
        "delete": ("max_upsert_share", "same_column_share"),
    }.get(only or "", ())
    for guard in guards:
        if guard.name in other:
            continue
        approvable = guard.name in ("max_deletes", "max_delete_share") and approved == deletes
        allowed = guard.name == "empty_source" and allow_empty
        if not guard.ok and not approvable and not allowed and guard.name not in accepted:
            no.append(guard)
    if approved is not None and approved != deletes:
        no.append(
            Guard(
                "approve_deletes", deletes, approved, ok=False, fix="look at the plan again: hudi-reconcile plan latest"
            )
        )
    return tuple(no)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else (1.0 if part else 0.0)
