"""Plans and the history as plain text. Pure: documents in, lines out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hudi_reconcile.core.command_lines import with_config
from hudi_reconcile.core.plan import PART
from hudi_reconcile.core.result import DRIFT_KINDS
from hudi_reconcile.report.advice import command_prefix, config_of
from hudi_reconcile.report.rule_words import open_rules_text
from hudi_reconcile.report.visible import visible
from hudi_reconcile.report.wording import counted, coverage_text, figure, listed

Document = Mapping[str, Any]
_MINUTES_FROM = 120  # seconds


def plan_text(run: Document, plan: Document, approval: Document | None = None) -> str:
    """What apply would do with a plan, whether its guards let it, and the command to type next.

    `approval` is what people said of it, None where its table's policy asks nobody.
    """
    return "\n".join([*_plan_lines(run, plan), *_approval_lines(approval), "", *_next_lines(run, plan, approval)])


def past_tables_text(tables: Sequence[Document]) -> str:
    """The tables of a past run in one line.

    `orders drift (deleted 3, 3 applied, 1 rule failed), items clean`
    """
    return ", ".join(f"{visible(table['name'])} {table['outcome']}{_what(table)}" for table in tables)


def consumer_text(lag: Document) -> str:
    """A consumer of changes in one line: where it is and what it lacks, or why its next delivery would be refused.

    >>> consumer_text({"table": "orders", "consumer": "shop", "type": "min-delta", "instant": "20261121145100499",
    ...                "pending": None, "behind_commits": 3, "waiting_seconds": 5400.0, "why": ""})
    'orders  shop  min-delta  at 20261121145100499, 3 commits behind, the oldest for 90 min'
    """
    place = f"at {lag['instant']}" if lag["instant"] else "at the beginning"
    under_way = f", under way to {lag['pending']}" if lag["pending"] else ""
    return f"{visible(lag['table'])}  {visible(lag['consumer'])}  {visible(lag['type'])}  {place}{under_way}, {_behind(lag)}"


def _behind(lag: Document) -> str:
    if lag["behind_commits"] is None:
        return f"REFUSED: {visible(lag['why'])}"
    if not lag["behind_commits"]:
        return "in step"
    seconds = lag["waiting_seconds"]
    waiting = f"{seconds:,.0f} s" if seconds < _MINUTES_FROM else f"{seconds / 60:,.0f} min"
    return f"{counted(lag['behind_commits'], 'commit')} behind, the oldest for {waiting}"


def _plan_lines(run: Document, plan: Document) -> Iterator[str]:
    yield f"{visible(plan['table'])}: {counted(plan['upserts'], 'upsert')}, {counted(plan['deletes'], 'delete')}"
    yield from (f"  {kind:<26}{plan['by_kind'][kind]:>12,}" for kind in DRIFT_KINDS if plan["by_kind"].get(kind))
    yield f"  plan      {plan['plan_id']}"
    yield f"  valid     {plan['created_utc']} to {plan['expires_utc']}"
    yield f"  lake      {visible(plan['lake']['path'])} at {plan['lake']['instant']}"
    yield f"  source    {visible(plan['source']['identity'])} at {visible(plan['source']['snapshot'])}"
    yield f"  key       {', '.join(map(visible, plan['key']))}"
    part = next((one["expected"] for one in plan.get("requirements", ()) if one["name"] == PART), None)
    if part is not None:
        yield f"  part      only {visible(part)} compared; the rest of the table is not in this plan"
    yield ""
    yield "apply would"
    yield from (f"  {number}. {visible(step['text'])}" for number, step in enumerate(plan["steps"], start=1))
    yield ""
    yield "guards"
    for guard in plan["guards"]:
        found = f"found {figure(guard['found'])}, limit {figure(guard['limit'])}"
        yield f"  {'ok    ' if guard['ok'] else 'NOT OK'}  {guard['name']:<20}{found}"
        if not guard["ok"] and guard.get("fix"):
            yield f"          fix: {visible(with_config(guard['fix'], config_of(run)))}"


def _approval_lines(approval: Document | None) -> Iterator[str]:
    if approval is None:
        return
    yield ""
    yield "approval (policy.require_approval)"
    if approval["given"] is None:
        yield f"  cannot be told: {visible(approval['why'])}"
    for one in approval["given"] or ():
        yield f"  {visible(one['by'])} ({visible(one['login'])}) at {one['at_utc']}"
    if approval["given"] == []:
        yield "  given by nobody yet"
    if approval["approver"] != "any":
        yield f"  counts of somebody who neither planned nor applies it (policy.approver: {approval['approver']})"


def _next_lines(run: Document, plan: Document, approval: Document | None) -> Iterator[str]:
    stopped = [guard["name"] for guard in plan["guards"] if not guard["ok"]]
    tool, run_id, table = command_prefix(run), shlex.quote(plan["run_id"]), shlex.quote(plan["table"])
    if not plan["upserts"] + plan["deletes"]:
        yield "next: nothing to apply"
        return
    if stopped:
        yield f"next: apply will refuse this plan ({listed(stopped)}). See the rows first:"
        yield f"  {tool} findings {run_id} -t {table}"
        return
    yield "next:"
    if approval is not None and not approval["given"]:
        yield f"  {tool} approve {run_id} -t {table} --as NAME"
    yield f"  {tool} apply {run_id} -t {table}"


def _what(table: Document) -> str:
    parts = [f"{kind} {table['findings'][kind]:,}" for kind in DRIFT_KINDS if table["findings"].get(kind)]
    parts += [f"{table['applied']:,} applied"] if table["applied"] else []
    parts += [one] if (one := coverage_text(table.get("coverage"))) else []
    parts += [one] if (one := open_rules_text(table.get("open_rules", 0), table["outcome"])) else []
    return f" ({', '.join(parts)})" if parts else ""
