"""What became of a plan's corrections: how many were written, how many were not and why, and where those are listed. Pure.

The counts stand in the commit, which is all that a killed apply leaves. They are known before: a commit is made whole or
not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.safe_text import parse_json

NOT_COMMITTED, NOT_ASKED, UNKNOWN, REFUSED, ERROR = "not_committed", "not_asked", "unknown", "refused", "error"

# Each reason with what it means for the row and what to do. A list has no rows of the last two: they are about all of the plan.
REASONS: Mapping[str, str] = {
    "superseded": "the lake holds another version than was compared: sweep again",
    NOT_COMMITTED: "as compared, but another writer was at work and the commit was not made: run the same apply again",
    "moved": "the source's row is no longer the one that was compared: sweep again",
    "failed": "the lake does not show the row as it should be: sweep again",
    "held": "the row breaks the rules that are named: correct it at the source and sweep again, or waive the rule",
    NOT_ASKED: "left out by --only: run the same apply without it",
    UNKNOWN: "not written by an earlier apply of the plan, whose commit does not tell why: sweep again",
    REFUSED: "the plan was refused as a whole: this run wrote nothing",
    ERROR: "an error ended the apply before a commit of it was seen",
}

STILL_DONE = frozenset({NOT_COMMITTED, NOT_ASKED})  # by the same apply, run again
WHOLE = frozenset({REFUSED, ERROR})


@dataclass(frozen=True, slots=True)
class Uncorrected:
    """Planned corrections that neither this apply nor an earlier one of the same plan made.

    `listed_rows` of them are below `path` in the run's folder, a row each; where that is not all of them, `why` says so.
    `by_kind` counts the listed ones by their kind.
    `plan_run` is the sweep whose plan it was. Of a plan that was refused as a whole they are all of its rows, whatever an
    earlier apply wrote, and the findings of `plan_run` are the list.
    """

    rows: int = 0
    by_reason: Mapping[str, int] = field(default_factory=dict)
    listed_rows: int = 0
    path: str | None = None
    why: str = ""
    plan_run: str | None = None
    by_kind: Mapping[str, int] = field(default_factory=dict)


def count_untouched(rows: int, plan_run: str, reason: str, why: str) -> Uncorrected:
    """A plan of which this run wrote nothing: every row has the one reason, so the findings of its sweep are the list.

    >>> count_untouched(3, "20261121T132616Z-400a1c", "refused", "guard max_deletes: limit 1, found 3").by_reason
    {'refused': 3}
    """
    return Uncorrected(rows, {reason: rows}, why=why, plan_run=plan_run) if rows else Uncorrected()


def count_unfinished(status: Mapping[str, int], rows: int, plan_run: str) -> Uncorrected:
    """An apply that an error ended after a commit: counted by status, and not listed. No status is what it was not asked for.

    >>> count_unfinished({"applied": 1, "failed": 1}, 3, "20261121T132616Z-400a1c").by_reason
    {'failed': 1, 'not_asked': 2}
    """
    rows_by_reason = {reason: count for reason, count in status.items() if reason in REASONS and count}
    if (others := rows - sum(rows_by_reason.values())) > 0:
        rows_by_reason[NOT_ASKED] = others
    why = "an error ended the apply before they could be listed: run the same apply again"
    return Uncorrected(rows, rows_by_reason, why=why, plan_run=plan_run) if rows else Uncorrected()


def infer_reasons(counts: Mapping[str, int], seen: Mapping[str, int]) -> Mapping[str, str]:
    """What the rows that an earlier commit left are to be called, from how they stood just after it.

    `counts` are that commit's own counts; it does not say which row. `seen` are the rows by how they stood. One reason is the
    reason of all; where the others come out even, the one that is over is that of the rows that nothing is seen of.

    >>> infer_reasons({"moved": 2}, {"unknown": 1, "superseded": 1})
    {'unknown': 'moved', 'superseded': 'moved'}
    >>> infer_reasons({"superseded": 1, "held": 1}, {"unknown": 1, "superseded": 1})
    {'unknown': 'held'}
    >>> infer_reasons({"superseded": 1, "held": 1}, {"unknown": 2})
    {}
    """
    over = {reason: rows for reason, rows in counts.items() if rows and rows != seen.get(reason)}
    if len([rows for rows in counts.values() if rows]) == 1:
        return dict.fromkeys(seen, next(iter(counts)))
    if len(over) == 1 and over == {reason: seen.get(UNKNOWN, 0) for reason in over}:
        return {UNKNOWN: next(iter(over))}
    return {}


WRITTEN = "written"  # by this commit, or by one before it of the same plan and part
LEFT = "left"  # for the second of two commits


def format_counts(counts: Mapping[str, int]) -> str:
    """Canonical JSON, without what is none.

    >>> format_counts({"written": 2, "moved": 1, "held": 0})
    '{"moved":1,"written":2}'
    """
    return json.dumps({name: rows for name, rows in counts.items() if rows}, sort_keys=True, separators=(",", ":"))


def parse_counts(text: str) -> Mapping[str, int]:
    """The counts that `format_counts` wrote. Raises LakeError for any other text."""
    try:
        counts = parse_json(text)
    except ValueError as error:
        raise _unreadable() from error
    if not isinstance(counts, dict) or not all(type(rows) is int and rows >= 0 for rows in counts.values()):
        raise _unreadable()
    return counts


def _unreadable() -> LakeError:
    return LakeError(
        "the counts of a corrective commit cannot be read",
        fix="run the version of hudi-reconcile that wrote them, or sweep again",
    )
