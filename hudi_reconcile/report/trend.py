"""A table's drift over its comparisons, and when it was last compared whole and last found right. Pure.

Only runs that compare are points: a pull or an apply says nothing of the whole table. What an apply wrote counts with the
comparison before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hudi_reconcile.core.open_drift import open_rules
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import compared_whole
from hudi_reconcile.report.tones import tone_of
from hudi_reconcile.report.wording import counted, coverage_text

Document = Mapping[str, Any]

MOST_POINTS = 30
COMPARING_COMMANDS = frozenset({"sweep", "run"})
_RIGHT = frozenset({Outcome.CLEAN.value, Outcome.CORRECTED.value})
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Point:
    """One comparison. `drift` is None where nothing was compared; `share` is its part of the greatest, in percent.

    `written` are the corrections that it and the applies after it wrote. `compared` says how much was looked at.
    """

    run_id: str
    ended_utc: str
    outcome: str
    tone: str
    drift: int | None
    written: int
    compared: str
    is_whole: bool
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Trend:
    """A table's comparisons, the oldest first, in one sentence each: how drift went, and what was last known.

    `unread` says how many earlier runs are no part of it, since they cannot be read or are not to be believed; else empty.
    """

    points: tuple[Point, ...]
    sentence: str
    last_whole: str
    last_right: str
    unread: str = ""


def trend_of(table: str, past: Iterable[Document]) -> Trend | None:
    """The trend of a table over the runs of a history (newest first), the newest `MOST_POINTS`; None without a comparison."""
    past = list(past)
    points = _points(table, past)
    if not points:
        return None
    known = [point.drift for point in points if point.drift is not None]
    most = max(known, default=0) or 1
    shown = tuple(replace(one, share=100 * (one.drift or 0) / most) for one in points)
    return Trend(
        shown,
        _sentence(shown, known),
        _last("Last compared whole", [one for one in shown if one.is_whole]),
        _last("Last found right", [one for one in shown if one.is_whole and one.outcome in _RIGHT]),
        _unread(sum(1 for run in past if run.get("why"))),
    )


def as_past(run: Document) -> dict[str, Any]:
    """A run's `result.json` as a line of the history, so that it can stand at the end of its own trend."""
    told = ("run_id", "command", "outcome", "started_utc", "ended_utc")
    tables = [
        {
            "name": one["name"],
            "outcome": one["outcome"],
            "findings": one["findings"],
            "applied": one["corrections"]["applied"],
            "whole": compared_whole(one),
            "coverage": one.get("coverage"),
            "applied_before": one["corrections"].get("applied_before", 0),
            "plan_id": one.get("plan_id"),
            "open_rules": open_rules(one),
        }
        for one in run["tables"]
    ]
    return {**{name: run[name] for name in told}, "tables": tables}


def written_rows(runs: Iterable[Document], plan_id: str | None) -> int:
    """The corrections that these runs of a table wrote. Of the plan also those that a killed apply wrote, which has no result.

    Each apply of a plan says what earlier ones of it wrote; of another plan that may be told with an older comparison.
    """
    told_by = tuple(runs)
    own = [one for one in told_by if plan_id is not None and one["plan_id"] == plan_id]
    others = [one for one in told_by if one not in own]
    known: int = max((one["applied"] + one["applied_before"] for one in own), default=0)
    told: int = sum(one["applied"] for one in own)
    apart: int = sum(one["applied"] for one in others)
    return max(known, told) + apart


def _points(table: str, past: Iterable[Document]) -> list[Point]:
    found: list[Point] = []
    since: list[Document] = []
    for run, one in _of(table, past):
        if run["command"] in COMPARING_COMMANDS:
            found.append(_point(run, one, written_rows([one, *since], one["plan_id"])))
            since = []
            if len(found) == MOST_POINTS:
                break
        else:
            since.append(one)
    return found[::-1]


def _of(table: str, past: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
    return ((run, one) for run in past for one in run["tables"] if one["name"] == table)


def _point(run: Document, one: Document, written: int) -> Point:
    coverage = one["coverage"]
    was_compared = one["whole"] or coverage is not None
    part = coverage_text(coverage) or ("in part" if was_compared else NOTHING)
    return Point(
        run_id=run["run_id"],
        ended_utc=run["ended_utc"],
        outcome=one["outcome"],
        tone=tone_of(one["outcome"]),
        drift=sum(one["findings"].values()) if was_compared else None,
        written=written,
        compared="every row" if one["whole"] else part,
        is_whole=one["whole"],
    )


def _unread(runs: int) -> str:
    if not runs:
        return ""
    are = "is" if runs == 1 else "are"
    return f"{counted(runs, 'earlier run')} {are} left out, unreadable or changed since: hudi-reconcile history, audit verify."


def _sentence(points: Sequence[Point], known: Sequence[int]) -> str:
    over = f"the last {counted(len(points), 'comparison')}" if len(points) > 1 else "the only comparison so far"
    if not known:
        return f"Nothing was compared in {over}."
    now = points[-1].drift
    newest = "the newest compared nothing" if now is None else f"{now:,} in the newest"
    if not any(known):
        return f"No drifted rows in {over}" + (f"; {newest}." if now is None else ".")
    if len(points) == 1:
        return f"{counted(known[0], 'drifted row')} in {over}."
    return f"Drifted rows over {over}: {min(known):,} to {max(known):,}, {newest}."


def _last(what: str, points: Sequence[Point]) -> str:
    if not points:
        return f"{what}: never in the runs that are kept."
    return f"{what}: {points[-1].ended_utc}, run {points[-1].run_id}, {points[-1].outcome}."
