"""What a run means in plain sentences, and the command to type next. Pure: reads `result.json` documents, decides nothing.

The command line and the HTML report say the same because both ask here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.open_drift import corrected_whole, open_drift
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.report.rule_words import of_status, rule_errors, rules_sentence

Document = Mapping[str, Any]

_PLAIN_VERDICTS = {
    Outcome.CLEAN: "Source and lake agree on {}.",
    Outcome.REFUSED: "Refused: a guard stopped {}. Nothing was written to it.",
    Outcome.USAGE: "The call does not fit {}. Nothing was done.",
}
_STOPPED_AFTER_PULL = "Refused: a guard stopped {}. The pull was made; nothing was corrected."


@dataclass(frozen=True, slots=True)
class Advice:
    """One sentence of what to do, and the commands to paste, in order; none where there is nothing to type."""

    sentence: str
    commands: tuple[str, ...] = ()


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[str], limit: int = 5) -> str:
    """Names in a sentence, the rest counted.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], limit=1)
    ('a, b and c', 'a and 2 more')
    """
    shown, rest = list(names[:limit]), len(names) - limit
    parts = [*shown, f"{rest:,} more"] if rest > 0 else shown
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def drift_rows(table: Document) -> int:
    """All findings of drift of a table."""
    return sum(table["findings"].values())


def was_compared(table: Document) -> bool:
    """True where the run held rows of both sides against each other: without that, no drift is not none."""
    return drift_rows(table) > 0 or (table["source"] is not None and table["lake"] is not None)


def failed_guards(table: Document) -> list[Document]:
    """The guards that say no."""
    return [guard for guard in table["guards"] if not guard["ok"]]


def verdict(run: Document) -> str:
    """The run's ending in one sentence."""
    outcome = Outcome(run["outcome"])
    concerned = [table for table in run["tables"] if table["outcome"] == outcome.value]
    names = listed([table["name"] for table in concerned]) if concerned else "the tables"
    if run["command"] == "check":
        return _checked(concerned, names)
    rules = f" {told}" if (told := rules_sentence(concerned)) else ""
    if outcome in _PLAIN_VERDICTS:
        return f"{_plain_verdict(outcome, concerned).format(names)}{rules}"
    if outcome is Outcome.CORRECTED:
        return f"{_corrected(concerned, names)}{rules}"
    if outcome in (Outcome.PULLED, Outcome.APPROVED):
        return _said(concerned, names)
    if outcome is Outcome.DRIFT:
        return f"{_drifted(concerned)}{rules}"
    if outcome is Outcome.INCOMPLETE:
        return f"Corrected in part: {_left_over(concerned)} of {names}."
    if run["command"] == "pull":
        return f"Not pulled: {names}."
    found = sum(map(drift_rows, run["tables"]))
    known = f" In what was compared, {_differ(found)}." if found else ""
    return f"Not verified: this run cannot say whether {names} agree{'s' * (len(concerned) == 1)}.{known}{rules}"


def advice(run: Document, *, guards: Mapping[str, Sequence[Document]] | None = None) -> Advice:
    """What to do next. `guards` are those of the plans by table, where they tell more than the result's."""
    outcome = Outcome(run["outcome"])
    concerned = [table for table in run["tables"] if table["outcome"] == outcome.value]
    tool = command_prefix(run)
    match outcome:
        case Outcome.CLEAN | Outcome.CORRECTED:
            return Advice("Nothing to do.")
        case Outcome.PULLED:
            return Advice("Compare source and lake:", (*_config_first(run), f"{tool} sweep{_tables(run, concerned)}"))
        case Outcome.APPROVED:
            runs = dict.fromkeys(table["approval"]["run_id"] for table in concerned)
            return Advice("Apply it:", tuple(f"{tool} apply {one}{_tables(run, concerned)}" for one in runs))
        case Outcome.DRIFT if not any(map(open_drift, concerned)) and of_status(concerned, "fail"):
            again = f"{tool} {run['command']}{_tables(run, concerned)}"
            return Advice("Correct the rows at the source, or waive the rule until a day, then:", (again,))
        case Outcome.DRIFT:
            return _drift_advice(run, [table for table in concerned if not corrected_whole(table)], guards or {})
        case Outcome.INCOMPLETE:
            again = f"{tool} sweep{_tables(run, concerned)}"
            return Advice("What is left needs a new comparison and a new plan:", (again, f"{tool} plan latest"))
        case Outcome.UNVERIFIED | Outcome.REFUSED | Outcome.USAGE:
            return _mend_advice(run, concerned)


def command_prefix(run: Document) -> str:
    """The tool's name with the config file of the run, where that is not the default."""
    config = run.get("provenance", {}).get("config")
    if not isinstance(config, str) or config == "reconcile.yaml":
        return "hudi-reconcile"
    return f"hudi-reconcile -c {shlex.quote(config)}"


def _config_first(run: Document) -> tuple[str, ...]:
    props = run.get("provenance", {}).get("props")
    return (f"hudi-reconcile init --from-props {shlex.quote(props)}",) if isinstance(props, str) else ()


def reasons(table: Document) -> list[tuple[str, str]]:
    """Why a table is not verified or was refused: each reason with its fix, the gravest first."""
    found: list[tuple[str, str]] = []
    if table["error"]:
        found.append((table["error"]["message"], table["error"]["fix"]))
    found += [(f"{one['what']} {one['name']}: {one['why']}", one["fix"]) for one in table["unverified"]]
    found += [(guard_sentence(guard), guard.get("fix", "")) for guard in failed_guards(table)]
    found += rule_errors(table)
    return found


def coverage_text(coverage: Document | None) -> str:
    """Which part of a table was compared and how old the comparison of the rest is; empty where all of it was.

    >>> coverage_text({"segments": 9, "compared": 4, "never_compared": 0, "oldest_utc": "2026-03-01T10:00:00Z"})
    '4 of 9 segments compared, oldest comparison 2026-03-01T10:00:00Z'
    """
    if coverage is None:
        return ""
    parts = [f"only {listed(coverage['partitions'])}"] if coverage.get("partitions") else []
    if coverage["compared"] < coverage["segments"]:
        parts.append(f"{coverage['compared']:,} of {counted(coverage['segments'], 'segment')} compared")
        parts += [f"{coverage['never_compared']:,} never yet"] if coverage["never_compared"] else []
        parts += [f"oldest comparison {coverage['oldest_utc']}"] if coverage["oldest_utc"] else []
    return ", ".join(parts)


def guard_sentence(guard: Document) -> str:
    """A guard with its numbers.

    >>> guard_sentence({"name": "max_deletes", "limit": 1000, "found": 1200, "ok": False})
    'max_deletes: found 1,200, limit 1,000'
    """
    return f"{guard['name']}: found {figure(guard['found'])}, limit {figure(guard['limit'])}"


def figure(value: object) -> str:
    """A number as people read it; any other value as it is.

    >>> figure(12000), figure(0.051234), figure("5%")
    ('12,000', '0.05123', '5%')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


# Sentences


def _plain_verdict(outcome: Outcome, tables: Sequence[Document]) -> str:
    """A pull of the same run may have written before a guard stopped the corrections."""
    pulled = any((table.get("pull") or {}).get("rows") for table in tables)
    return _STOPPED_AFTER_PULL if pulled and outcome is Outcome.REFUSED else _PLAIN_VERDICTS[outcome]


def _checked(tables: Sequence[Document], names: str) -> str:
    """Of a run that judged rules and compared nothing."""
    failed = [table["name"] for table in tables if table["error"]]
    if failed:
        return f"Not checked: {listed(failed)}."
    return f"{names}: {rules_sentence(tables)}"


def _said(tables: Sequence[Document], names: str) -> str:
    """Of a run that compared nothing."""
    words = [_approved(table["approval"], table["name"]) for table in tables if table.get("approval")]
    rows = sum(table["pull"]["rows"] for table in tables if table.get("pull"))
    return " ".join(words) or f"{counted(rows, 'row')} of {names} handed to the lake. Not compared yet."


def _approved(word: Document, table: str) -> str:
    planned = f"{counted(word['upserts'], 'upsert')} and {counted(word['deletes'], 'delete')}"
    return f"{word['by']} approved the plan of run {word['run_id']} for {table}: {planned}."


def _corrected(tables: Sequence[Document], names: str) -> str:
    if tables and all(table["already_applied"] for table in tables):
        if not any(table.get("plan_id") for table in tables):  # an undo's
            return f"What was corrected in {names} was taken back before. Nothing was left to write."
        return f"The plan of {names} was applied before. Nothing was left to write."
    applied = sum(table["corrections"]["applied"] for table in tables)
    proof = " and verified" if all(table["verified_at"] for table in tables) else "; not compared again"
    return f"{counted(applied, 'correction')} of {names} written{proof}."


def _drifted(tables: Sequence[Document]) -> str:
    """Of tables with drift or failed rules: what is still open, and what the run corrected itself."""
    mended = [table for table in tables if corrected_whole(table)]
    others = [table for table in tables if not corrected_whole(table)]
    said = [_corrected(mended, listed([table["name"] for table in mended]))] if mended else []
    if others:
        names = listed([table["name"] for table in others])
        said.insert(0, f"{_differ(sum(map(drift_rows, others)), names)} between source and lake.")
    return " ".join(said)


def _differ(rows: int, names: str = "") -> str:
    return f"{counted(rows, 'row')}{f' of {names}' if names else ''} {'differs' if rows == 1 else 'differ'}"


def _left_over(tables: Sequence[Document]) -> str:
    done = [table["corrections"] for table in tables]
    planned = sum(one["upserts"] + one["deletes"] for one in done)
    applied = sum(one["applied"] + one.get("applied_before", 0) for one in done)
    return f"{applied:,} of {counted(planned, 'correction')}"


def _drift_advice(run: Document, tables: Sequence[Document], guards: Mapping[str, Sequence[Document]]) -> Advice:
    tool, run_id = command_prefix(run), shlex.quote(run["run_id"])
    stopped = [guard for table in tables for guard in guards.get(table["name"], table["guards"]) if not guard["ok"]]
    look = f"{tool} plan {run_id}"
    if stopped:
        fixes = " ".join(dict.fromkeys(guard.get("fix", "") for guard in stopped)).strip()
        why = f"{counted(len(stopped), 'guard')} will refuse the plan ({listed([one['name'] for one in stopped])})."
        return Advice(f"{why} {fixes}".strip() + " Look at the plan first:", (look,))
    if not any(table["corrections"]["upserts"] + table["corrections"]["deletes"] for table in tables):
        return Advice("Look at the findings:", (f"{tool} findings {run_id}",))
    return Advice("Look at the plan, then apply it:", (look, f"{tool} apply {run_id}"))


def _mend_advice(run: Document, tables: Sequence[Document]) -> Advice:
    fixes = [f"{table['name']}: {fix}" for table in tables for _, fix in reasons(table) if fix]
    again = f"{command_prefix(run)} {run['command']}{_tables(run, tables)}{_budget(tables)}"
    if run["command"] == "apply":
        again = f"{command_prefix(run)} sweep{_tables(run, tables)}"
    if not fixes:
        return Advice("See the reasons below, then run again:", (again,))
    if run["outcome"] == Outcome.REFUSED.value:
        return Advice(" ".join(dict.fromkeys(fixes)))
    more = f" ({counted(len(fixes) - 1, 'more fix', 'more fixes')} below)" if len(fixes) > 1 else ""
    return Advice(f"{fixes[0]}{more}; then:", (again,))


def _budget(tables: Sequence[Document]) -> str:
    """The options of a sweep whose budget was spent: the next one goes on with them."""
    parts = [table["coverage"] for table in tables if table.get("coverage")]
    spent = next((part for part in parts if part["budget"] and part["compared"] < part["segments"]), None)
    if spent is None:
        return ""
    named = "".join(f" --where-partition {shlex.quote(path)}" for path in spent["partitions"])
    return f"{named} --budget {spent['budget']}"


def _tables(run: Document, tables: Sequence[Document]) -> str:
    if len(tables) == len(run["tables"]):
        return ""
    return "".join(f" -t {shlex.quote(table['name'])}" for table in tables)
