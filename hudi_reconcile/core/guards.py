"""Limits that a plan is held against before anything is written (contract §2 `policy`). Pure arithmetic on counts."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.result import Guard


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's limits; shares are fractions of the lake's rows."""

    max_deletes: int
    max_delete_share: float
    max_upsert_share: float


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """What a plan would do, and to how much."""

    upserts: int
    deletes: int
    source_rows: int
    lake_rows: int


def guards(counts: PlanCounts, policy: Policy) -> tuple[Guard, ...]:
    """Every guard with its limit and what was found; a plan may be applied where all are ok."""
    delete_share = _share(counts.deletes, counts.lake_rows)
    upsert_share = _share(counts.upserts, counts.lake_rows)
    approve = f"if the source really lost these rows: apply with --approve-deletes {counts.deletes}"
    return (
        Guard(
            "empty_source",
            limit="at least 1 source row",
            found=counts.source_rows,
            ok=counts.source_rows > 0 or counts.lake_rows == 0,
            fix="an empty source looks like a broken one; if it is meant: apply with --allow-empty-source",
        ),
        Guard("max_deletes", policy.max_deletes, counts.deletes, counts.deletes <= policy.max_deletes, approve),
        Guard(
            "max_delete_share", policy.max_delete_share, delete_share, delete_share <= policy.max_delete_share, approve
        ),
        Guard(
            "max_upsert_share",
            policy.max_upsert_share,
            upsert_share,
            counts.lake_rows == 0 or upsert_share <= policy.max_upsert_share,
            "so many differences look like a wrong mapping; if they are real: pull --full, or raise policy.max_upsert_share",
        ),
    )


def refusals(
    found: tuple[Guard, ...], *, deletes: int, approved: int | None, allow_empty: bool, only: str | None = None
) -> tuple[Guard, ...]:
    """The guards that forbid an apply, given what the operator approved.

    A wrong `--approve-deletes` is refused even where the limits would have allowed the deletes: whoever typed it looked
    at another plan. With `only` the limits of the other part do not count: it writes nothing.
    """
    no = []
    other = {"upsert": ("max_deletes", "max_delete_share"), "delete": ("max_upsert_share",)}.get(only or "", ())
    for guard in found:
        if guard.name in other:
            continue
        approvable = guard.name in ("max_deletes", "max_delete_share") and approved == deletes
        allowed = guard.name == "empty_source" and allow_empty
        if not guard.ok and not approvable and not allowed:
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
