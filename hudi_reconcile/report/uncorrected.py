"""What an apply left uncorrected, in words: how many rows for which reason, the first of them, and how to see all. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.uncorrected import REASONS, WHOLE
from hudi_reconcile.report.advice import command_prefix
from hudi_reconcile.report.formats import key_text
from hudi_reconcile.report.visible import visible
from hudi_reconcile.report.wording import counted

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LeftRow:
    """One row that was not corrected; `rules` are those that held it back."""

    key: str
    action: str
    reason: str
    rules: str


@dataclass(frozen=True, slots=True)
class LeftView:
    """What is left of a table's plan. `command` lists it: rows with reasons, or where a plan was left whole its findings.

    It is empty where there is no list.
    """

    sentence: str
    reasons: tuple[tuple[str, str], ...]
    rows: tuple[LeftRow, ...]
    command: str


def left_of(run: Document, table: Document, sample: Sequence[Document] = ()) -> LeftView | None:
    """What the run left of a table's plan; None where it applied nothing or left nothing."""
    left = table.get("uncorrected")
    if left is None or not left["rows"]:
        return None
    by_reason = sorted(left["by_reason"].items(), key=lambda one: (-one[1], one[0]))
    told = ", ".join(f"{reason} {rows:,}" for reason, rows in by_reason)
    why = f"; {left['why']}" if left["why"] else ""
    by = " by this run" if _is_whole(left) else ""  # what an earlier apply of the plan wrote, it did not look
    return LeftView(
        sentence=f"{counted(left['rows'], 'planned row')} not corrected{by}: {told}{why}",
        reasons=tuple((reason, REASONS[reason]) for reason, _ in by_reason if reason in REASONS),
        rows=tuple(
            LeftRow(key_text(one["key"]), one["action"], one["reason"], ", ".join(map(visible, one["rules"])))
            for one in sample
        ),
        command=_command(run, table),
    )


def unlisted(run: Document, table: Document) -> str:
    """Why not every row that was left is in the list, and where such rows are to be seen; empty where all are."""
    left = table["uncorrected"]
    if not left["why"]:
        return ""
    return f"{left['why']}; every row of the plan: {_command(run, table)}" if _is_whole(left) else str(left["why"])


def _is_whole(left: Document) -> bool:
    return set(left["by_reason"]) <= WHOLE


def _command(run: Document, table: Document) -> str:
    left = table["uncorrected"]
    which = f" -t {shlex.quote(table['name'])}" if len(run["tables"]) > 1 else ""
    if _is_whole(left):
        return f"{command_prefix(run)} findings {shlex.quote(left['plan_run'])}{which}"
    return f"{command_prefix(run)} findings {shlex.quote(run['run_id'])} --uncorrected{which}" if left["path"] else ""
