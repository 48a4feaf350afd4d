"""Which part of a plan an apply has to do, given the plan's commits on the timeline. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hudi_reconcile.core.plan import Plan
from hudi_reconcile.stages.landed import Landed, parts_of


@dataclass(frozen=True, slots=True)
class Remaining:
    """The part that is to be done (None: both); `again`: it is done already, so that nothing is written.

    `landed` are all of the plan's commits. `commits` are those that may have written rows of the parts that were done before
    and count for the result; these have `rows_before` planned rows, of `action_before` alone where it is not None. `rows`
    are the planned rows of all parts that the result is about; `finishes`: that is all.
    """

    action: str | None
    again: bool
    landed: tuple[Landed, ...]
    commits: tuple[Landed, ...]
    rows_before: int
    action_before: str | None
    rows: int
    finishes: bool


def remaining(plan: Plan, landed: tuple[Landed, ...], only: str | None) -> Remaining:
    """What is left of the plan, or of the part that `--only` names."""
    done = parts_of(landed)
    action, again = _left(plan, done, only)
    before = done & {action} if again and action else done
    parts = before if again else before | {action or "all"}
    commits = tuple(one for one in landed if _wrote_of(before, one))
    alone = next(iter(before)) if len(before) == 1 and "all" not in before else None
    return Remaining(
        action, again, landed, commits, _rows(plan, before), alone, _rows(plan, parts), _is_whole(plan, parts)
    )


def other_part(action: str | None) -> str:
    """The part of a plan beside this one."""
    return "delete" if action == "upsert" else "upsert"


def _wrote_of(parts: Collection[str], one: Landed) -> bool:
    """True for the commits that ended these parts, and for those of killed applies that may have begun them.

    An apply that was killed between two commits may have been asked for more, or for less, than the one that ended the part.
    """
    if one.last or not parts:
        return one.part in parts
    return one.part in parts or one.part == "all" or "all" in parts


def _left(plan: Plan, done: Collection[str], only: str | None) -> tuple[str | None, bool]:
    if done and _is_whole(plan, done):
        return None, True
    if only is not None:
        return only, only in done
    if done:
        return other_part("upsert" if "upsert" in done else "delete"), False
    return None, False


def _is_whole(plan: Plan, parts: Collection[str]) -> bool:
    """True where these parts leave nothing of the plan to be done."""
    planned = {part for part, rows in (("upsert", plan.upserts), ("delete", plan.deletes)) if rows}
    return "all" in parts or planned <= set(parts)


def _rows(plan: Plan, parts: Collection[str]) -> int:
    by_part = {"upsert": plan.upserts, "delete": plan.deletes}
    return plan.upserts + plan.deletes if "all" in parts else sum(by_part[part] for part in parts)
