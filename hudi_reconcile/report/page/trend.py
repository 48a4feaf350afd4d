"""How each table stands over its runs: its drift as a curve, when it was last found right, and all tables worst first. Pure.

Only runs that compare are points; what an apply wrote counts with the comparison before it. A table stands as its newest
comparison says, and as every newer run of another command does, the gravest of them. An apply of its plan settles what a
comparison found; it never settles that something was not compared, or a failed rule. No sweep judges rules: those that did not
hold at the newest check stay open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hudi_reconcile.core.outcome import Outcome, find_gravest
from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.core.result_queries import count_open_rules
from hudi_reconcile.report.words.rules import describe_open_rules
from hudi_reconcile.report.words.verdict import choose_tone, count_text, describe_coverage

Document = Mapping[str, Any]

MOST_POINTS = 30
COMPARING_COMMANDS = frozenset({"sweep", "run"})
_JUDGING_COMMANDS = frozenset({"check", "run"})
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


def build_trend(table: str, past: Iterable[Document]) -> Trend | None:
    """The trend of a table over the runs of a history (newest first), the newest `MOST_POINTS`; None without a comparison."""
    past = list(past)
    points = _points(table, past)
    if not points:
        return None
    known = [point.drift for point in points if point.drift is not None]
    most = max(known, default=0) or 1
    shown = tuple(replace(point, share=100 * (point.drift or 0) / most) for point in points)
    return Trend(
        shown,
        _sentence(shown, known),
        _last("Last compared whole", [point for point in shown if point.is_whole]),
        _last("Last found right", [point for point in shown if point.is_whole and point.outcome in _RIGHT]),
        _unread(sum(1 for run in past if run.get("why"))),
    )


def build_history_line(run: Document) -> dict[str, Any]:
    """A run's `result.json` as a line of the history, so that it can stand at the end of its own trend."""
    fields = ("run_id", "command", "outcome", "started_utc", "ended_utc")
    tables = [
        {
            "name": table["name"],
            "outcome": table["outcome"],
            "findings": table["findings"],
            "applied": table["corrections"]["applied"],
            "whole": is_whole_comparison(table),
            "coverage": table.get("coverage"),
            "applied_before": table["corrections"].get("applied_before", 0),
            "plan_id": table.get("plan_id"),
            "open_rules": count_open_rules(table),
            "pulled_rows": (table.get("pull") or {}).get("rows"),
            "error": (table.get("error") or {}).get("type"),
            "seconds": table["cost"]["seconds"],
        }
        for table in run["tables"]
    ]
    return {**{name: run[name] for name in fields}, "tables": tables}


def count_written_rows(runs: Iterable[Document], plan_id: str | None) -> int:
    """The corrections that these runs of a table wrote. Of the plan also those that a killed apply wrote, which has no result.

    Each apply of a plan says what earlier ones of it wrote; of another plan that may be told with an older comparison.
    """
    told_by = tuple(runs)
    own = [run for run in told_by if plan_id is not None and run["plan_id"] == plan_id]
    others = [run for run in told_by if run not in own]
    known: int = max((run["applied"] + run["applied_before"] for run in own), default=0)
    own_rows: int = sum(run["applied"] for run in own)
    apart: int = sum(run["applied"] for run in others)
    return max(known, own_rows) + apart


def _points(table: str, past: Iterable[Document]) -> list[Point]:
    points: list[Point] = []
    since: list[Document] = []
    for run, entry in _select_table(table, past):
        if run["command"] in COMPARING_COMMANDS:
            points.append(_point(run, entry, count_written_rows([entry, *since], entry["plan_id"])))
            since = []
            if len(points) == MOST_POINTS:
                break
        else:
            since.append(entry)
    return points[::-1]


def _select_table(table: str, past: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
    return ((run, entry) for run in past for entry in run["tables"] if entry["name"] == table)


def _whole(coverage: Document | None) -> str:
    proven = (coverage or {}).get("proven", 0)
    return f"every row, {count_text(proven, 'segment')} by content proof" if proven else "every row"


def _point(run: Document, table: Document, written: int) -> Point:
    coverage = table["coverage"]
    was_compared = table["whole"] or coverage is not None
    part = describe_coverage(coverage) or ("in part" if was_compared else NOTHING)
    return Point(
        run_id=run["run_id"],
        ended_utc=run["ended_utc"],
        outcome=table["outcome"],
        tone=choose_tone(table["outcome"]),
        drift=sum(table["findings"].values()) if was_compared else None,
        written=written,
        compared=_whole(coverage) if table["whole"] else part,
        is_whole=table["whole"],
    )


def _unread(runs: int) -> str:
    if not runs:
        return ""
    are = "is" if runs == 1 else "are"
    return f"{count_text(runs, 'earlier run')} {are} left out, unreadable or changed since: hudi-reconcile history, audit verify."


def _sentence(points: Sequence[Point], known: Sequence[int]) -> str:
    over = f"the last {count_text(len(points), 'comparison')}" if len(points) > 1 else "the only comparison so far"
    if not known:
        return f"Nothing was compared in {over}."
    now = points[-1].drift
    newest = "the newest compared nothing" if now is None else f"{now:,} in the newest"
    if not any(known):
        return f"No drifted rows in {over}" + (f"; {newest}." if now is None else ".")
    if len(points) == 1:
        return f"{count_text(known[0], 'drifted row')} in {over}."
    return f"Drifted rows over {over}: {min(known):,} to {max(known):,}, {newest}."


def _last(what: str, points: Sequence[Point]) -> str:
    if not points:
        return f"{what}: never in the runs that are kept."
    return f"{what}: {points[-1].ended_utc}, run {points[-1].run_id}, {points[-1].outcome}."


NEVER = "not compared"
_SETTLED_BY_APPLY = frozenset({"drift", "incomplete", "refused"})
# Worst first; a table that no run compared stands before those that were found right.
_WORST_FIRST = ("unverified", "usage", "refused", "incomplete", "drift", NEVER, "corrected", "clean")


@dataclass(frozen=True, slots=True)
class TableStanding:
    """How a table stands. `drift` is that of its newest comparison, None where that compared nothing or there is none.

    `run_id` is the run to look at, `place` the table's number in it, from 1. `why`: rules of that run that did not hold, and
    that the drift beside them was corrected.
    """

    name: str
    outcome: str
    tone: str
    drift: int | None
    compared: str
    run_id: str
    place: int
    ended_utc: str
    last_right: str
    why: str
    trend: Trend | None


@dataclass(frozen=True, slots=True)
class Index:
    """The page: the tables worst first, and runs that cannot be read, so that nothing stands better than it is for them."""

    as_of: str
    sentence: str
    tables: tuple[TableStanding, ...]
    unreadable: tuple[str, ...]


def build_index(past: Sequence[Document], *, as_of: str, older: Sequence[Document] = ()) -> Index:
    """The index over the runs of a history, newest first. `as_of` is the run it looks back from.

    `older` are runs before these, as many as tables need that these do not compare; for others they would be a history
    with gaps, and do not count.
    """
    readable, before = ([run for run in runs if not run["why"]] for runs in (past, older))
    compared = {table["name"] for run in readable if run["command"] in COMPARING_COMMANDS for table in run["tables"]}
    names = dict.fromkeys(table["name"] for run in (*readable, *before) for table in run["tables"])
    standings = [_standing(name, readable if name in compared else (*readable, *before)) for name in names]
    ordered = tuple(sorted(standings, key=_worst_first))
    unreadable = tuple(f"{run['run_id']}: {run['why']}" for run in (*past, *older) if run["why"])
    return Index(as_of, _summary(ordered), ordered, unreadable)


def _worst_first(standing: TableStanding) -> tuple[int, int, str, str]:
    place = _WORST_FIRST.index(standing.outcome) if standing.outcome in _WORST_FIRST else 0
    return place, -(standing.drift or 0), standing.ended_utc, standing.name


def _standing(name: str, past: Sequence[Document]) -> TableStanding:
    touched = [(run, table) for run in past for table in run["tables"] if table["name"] == name]
    newer, compared = _split_at_comparison(touched)
    newer += _list_open_check(touched)
    outcome = _outcome(newer, compared)
    shown, said = next(((run, table) for run, table in newer if table["outcome"] == outcome), compared or touched[0])
    trend = build_trend(name, past)
    point = trend.points[-1] if trend else None
    return TableStanding(
        name=name,
        outcome=outcome,
        tone="bad" if outcome == NEVER else choose_tone(outcome),
        drift=point.drift if point else None,
        compared=point.compared if point else "never",
        run_id=shown["run_id"],
        place=1 + [table["name"] for table in shown["tables"]].index(name),
        ended_utc=point.ended_utc if point else "",
        last_right=trend.last_right if trend else "",
        why=_why(said, point, newer),
        trend=trend,
    )


Touch = tuple[Document, Document]


def _why(said: Document, point: Point | None, newer: Iterable[Touch]) -> str:
    rules = describe_open_rules(said["open_rules"], said["outcome"])
    is_written = point is not None and point.drift and point.written >= point.drift
    # A graver outcome may hide that the verification still found drift.
    is_right = said["outcome"] == Outcome.DRIFT.value and not any(run["command"] == "undo" for run, _ in newer)
    return f"{rules}; the drift was corrected" if rules and is_written and is_right else rules


def _split_at_comparison(touched: Iterable[Touch]) -> tuple[list[Touch], Touch | None]:
    """The runs after the newest comparison, newest first, and that comparison."""
    newer: list[Touch] = []
    for run, table in touched:
        if run["command"] in COMPARING_COMMANDS:
            return newer, (run, table)
        newer.append((run, table))
    return newer, None


def _list_open_check(touched: Sequence[Touch]) -> list[Touch]:
    """The newest run that judged rules, where some did not hold and only sweeps compared since; else nothing."""
    for place, (run, entry) in enumerate(touched):
        if run["command"] in _JUDGING_COMMANDS and not entry.get("error"):
            has_sweep = any(since["command"] in COMPARING_COMMANDS for since, _ in touched[:place])
            return [(run, entry)] if has_sweep and entry["open_rules"] else []
    return []


def _outcome(newer: Sequence[Touch], compared: Touch | None) -> str:
    """The gravest of what still counts: of each command the newest run."""
    newest = {run["command"]: Outcome(table["outcome"]) for run, table in reversed(newer)}
    said = [outcome for command, outcome in newest.items() if command != "undo"]
    if "undo" in newest:
        said += [newest["undo"], Outcome.DRIFT]
    if compared is None:
        graver = [outcome for outcome in said if outcome.exit_code]
        return find_gravest(graver).value if graver else NEVER
    comparison_outcome = Outcome(compared[1]["outcome"])
    said += [] if _is_settled(newer, compared[1]) else [comparison_outcome]
    counting = [outcome for outcome in said if outcome not in (Outcome.PULLED, Outcome.APPROVED)]
    return find_gravest(counting).value


def _is_settled(newer: Sequence[Touch], compared: Document) -> bool:
    """True where applies of the comparison's own plan wrote all that it found, and the newest of them ended well.

    Rules that failed, or could not run, no apply judges again: a check since then does, whose outcome counts for itself.
    """
    applies = [table for run, table in newer if run["command"] == "apply" and table["plan_id"] == compared["plan_id"]]
    finding_count = sum(compared["findings"].values())
    if compared["outcome"] not in _SETTLED_BY_APPLY or compared["plan_id"] is None or not applies or not finding_count:
        return False
    if compared["open_rules"] and not any(run["command"] == "check" for run, _ in newer):
        return False
    return (
        count_written_rows(applies, compared["plan_id"]) >= finding_count
        and not Outcome(applies[0]["outcome"]).exit_code
    )


def _summary(tables: Sequence[TableStanding]) -> str:
    if not tables:
        return "No run has touched a table yet."
    right = [table for table in tables if table.outcome in ("clean", "corrected")]
    bad = len(tables) - len(right)
    if not bad:
        return f"All {len(tables):,} tables are clean or corrected." if len(tables) > 1 else "The table is right."
    return f"{bad:,} of {count_text(len(tables), 'table')} need{'s' * (bad == 1)} a look."
