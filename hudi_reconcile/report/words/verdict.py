"""What a run means in plain sentences, and how grave its outcome looks; the same on the command line and in the report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.core.result_queries import find_open_drift, lacks_catalog
from hudi_reconcile.report.words.rules import describe_rules, list_rule_errors, select_status

Document = Mapping[str, Any]

_PLAIN_VERDICTS = {
    Outcome.CLEAN: "Source and lake agree on {}.",
    Outcome.REFUSED: "Refused: a guard stopped {}. Nothing was written to it.",
    Outcome.USAGE: "The call does not fit {}. Nothing was done.",
}
_STOPPED = frozenset({Outcome.USAGE.value, Outcome.REFUSED.value})  # one that is unverified is the run's own ending
_WENT_ON = frozenset({Outcome.CORRECTED.value, Outcome.INCOMPLETE.value})
_MISFIT_AMONG_OTHERS = "The call does not fit {}. Nothing was done there."
_STOPPED_AFTER_PULL = "Refused: a guard stopped {}. The pull was made; nothing was corrected."


def count_text(number: int, noun: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> count_text(1, "row"), count_text(1200, "row"), count_text(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def list_text(names: Sequence[str], limit: int = 5) -> str:
    """Names in a sentence, the rest counted.

    >>> list_text(["a", "b", "c"]), list_text(["a", "b", "c"], limit=1)
    ('a, b and c', 'a and 2 more')
    """
    shown, rest = list(names[:limit]), len(names) - limit
    parts = [*shown, f"{rest:,} more"] if rest > 0 else shown
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def trust_lines(trust: Sequence[str]) -> list[str]:
    """What stands above everything else in plain text: one line for each check that the config gave up.

    >>> trust_lines(["source.x is true: nobody looks"])
    ['NOT CHECKED  source.x is true: nobody looks']
    """
    return [f"NOT CHECKED  {sentence}" for sentence in trust]


def count_drift_rows(table: Document) -> int:
    """All findings of drift of a table."""
    return sum(table["findings"].values())


def was_compared(table: Document) -> bool:
    """True where the run held rows of both sides against each other: without that, no drift is not none."""
    return count_drift_rows(table) > 0 or (table["source"] is not None and table["lake"] is not None)


def list_failed_guards(table: Document) -> list[Document]:
    """The guards that say no."""
    return [guard for guard in table["guards"] if not guard["ok"]]


def write_verdict(run: Document) -> str:
    """The run's ending in one sentence."""
    outcome = Outcome(run["outcome"])
    concerned = [table for table in run["tables"] if table["outcome"] == outcome.value]
    names = list_text([table["name"] for table in concerned]) if concerned else "the tables"
    if run["command"] == "check":
        return _describe_checked(concerned, names)
    rules = f" {rules_text}" if (rules_text := describe_rules(concerned)) else ""
    if outcome in _PLAIN_VERDICTS:
        plain = f"{_plain_verdict(outcome, run, concerned).format(names)}{_describe_carried(concerned)}"
        return f"{plain}{_describe_other_endings(run)}{rules}{_describe_hidden_rules(run)}"
    if outcome is Outcome.CORRECTED:
        return f"{_describe_corrected(concerned, names, run['command'])}{rules}"
    if outcome in (Outcome.PULLED, Outcome.APPROVED):
        return _describe_handed_over(concerned, names)
    if outcome is Outcome.DRIFT:
        return f"{_describe_drift(concerned)}{_rest(concerned)}{rules}"
    if outcome is Outcome.INCOMPLETE:
        return f"Corrected in part: {_describe_applied(concerned)} of {names}.{_drift_after_apply(concerned)}"
    return f"{_describe_unverified(run, concerned, names)}{_describe_stopped(run)}{rules}{_describe_hidden_rules(run)}"


def _describe_other_endings(run: Document) -> str:
    """Of tables that ended otherwise than the run: what was compared and differs, and what has no verdict either."""
    return f"{_known_drift([table for table in run['tables'] if table['outcome'] != run['outcome']])}{_describe_stopped(run)}"


def _known_drift(tables: Sequence[Document]) -> str:
    drift_rows = sum(sum(find_open_drift(table).values()) for table in tables)
    return f" In what was compared, {_differ(drift_rows)}." if drift_rows else ""


def _describe_stopped(run: Document) -> str:
    names = [table["name"] for table in run["tables"] if table["outcome"] in _STOPPED - {run["outcome"]}]
    return f" Stopped too, for other reasons: {list_text(names)}." if names else ""


def _describe_unverified(run: Document, tables: Sequence[Document], names: str) -> str:
    stale = [table["name"] for table in tables if lacks_catalog(table)]
    if stale:
        others = [table for table in tables if not lacks_catalog(table)]
        rest = f" {_describe_unverified(run, others, list_text([table['name'] for table in others]))}" if others else ""
        return f"The lake is as this run left it, but the catalog may not show that: {list_text(stale)}.{rest}"
    if run["command"] == "pull":
        return f"Not pulled: {names}."
    if run["command"] == "apply" and all(map(_is_written, tables)):
        return _describe_corrected(tables, names)
    others = [table for table in tables if not _has_only_rules_open(table)]
    if tables and not others:
        return _describe_compared(tables)
    names = list_text([table["name"] for table in others]) if others else names
    return f"Not verified: this run cannot say whether {names} agree{'s' * (len(others) == 1)}.{_known_drift(run['tables'])}"


def _has_only_rules_open(table: Document) -> bool:
    """True where all of the table was compared, and nothing but rules that could not run is in the way."""
    return (
        table["source"] is not None
        and table["lake"] is not None
        and is_whole_comparison(table)
        and not table["error"]
        and not has_gaps(table)
        and bool(select_status([table], "error"))
    )


def _describe_compared(tables: Sequence[Document]) -> str:
    """Of tables that were compared whole: those that agree, those corrected in part, and the others."""
    agree = [table for table in tables if not count_drift_rows(table)]
    part = [table for table in tables if _is_corrected_in_part(table)]
    rest = [table for table in tables if table not in agree and table not in part]
    said = [f"Source and lake agree on {list_text([table['name'] for table in agree])}."] if agree else []
    if part:
        names, drift_rows = (
            list_text([table["name"] for table in part]),
            sum(sum(find_open_drift(table).values()) for table in part),
        )
        said.append(f"{_describe_applied(part)} of {names} written and verified; {_differ(drift_rows)}.")
    return " ".join([*said, *([_describe_drift(rest)] if rest else [])])


def _is_corrected_in_part(table: Document) -> bool:
    """True where the run verified what it wrote, and left other findings."""
    drift = find_open_drift(table)
    return bool(drift) and table.get("findings_left") is not None and table["corrections"]["applied"] > 0


def list_reasons(table: Document) -> list[tuple[str, str]]:
    """Why a table is not verified or was refused: each reason with its fix, the gravest first."""
    reasons: list[tuple[str, str]] = []
    if table["error"] and not _is_guards_own(table):
        reasons.append((table["error"]["message"], table["error"]["fix"]))
    reasons += [(f"{entry['what']} {entry['name']}: {entry['why']}", entry["fix"]) for entry in table["unverified"]]
    if table["outcome"] not in _WENT_ON:  # else a person's word was given for them
        reasons += [(guard_sentence(guard), guard.get("fix", "")) for guard in list_failed_guards(table)]
    reasons += list_rule_errors(table)
    return reasons


def _is_guards_own(table: Document) -> bool:
    """True where the error says nothing but which guards stopped an apply: each is told by itself, with its own fix."""
    names = tuple(f"guard {guard['name']}: " for guard in list_failed_guards(table))
    is_told = table["outcome"] not in _WENT_ON
    return is_told and all(sentence.startswith(names) for sentence in table["error"]["message"].split("; "))


def describe_coverage(coverage: Document | None) -> str:
    """Which part of a table was compared and how old the comparison of the rest is; empty where all of it was.

    >>> describe_coverage({"segments": 9, "compared": 4, "never_compared": 0, "oldest_utc": "2026-03-01T10:00:00Z"})
    '4 of 9 segments compared, oldest comparison 2026-03-01T10:00:00Z'
    """
    if coverage is None:
        return ""
    parts = [f"only {list_text(coverage['partitions'])}"] if coverage.get("partitions") else []
    if coverage["compared"] + coverage.get("proven", 0) < coverage["segments"]:
        parts.append(f"{coverage['compared']:,} of {count_text(coverage['segments'], 'segment')} compared")
        parts += [f"{coverage['never_compared']:,} never yet"] if coverage["never_compared"] else []
        parts += [f"oldest comparison {coverage['oldest_utc']}"] if coverage["oldest_utc"] else []
    return ", ".join(parts)


def describe_proven(coverage: Document | None) -> str:
    """What was carried by content proof, and since when; empty where every segment was compared.

    >>> describe_proven({"segments": 9, "compared": 4, "proven": 5, "proven_rows": 7, "proven_since_utc": "2026-03-01T10:00:00Z"})
    '5 of 9 segments (7 rows) not compared again: unchanged on both sides since they were, the oldest at 2026-03-01T10:00:00Z'
    """
    if coverage is None or not coverage.get("proven"):
        return ""
    which = f"{coverage['proven']:,} of {count_text(coverage['segments'], 'segment')}"
    rows = count_text(coverage["proven_rows"], "row")
    since = coverage["proven_since_utc"]
    return f"{which} ({rows}) not compared again: unchanged on both sides since they were, the oldest at {since}"


def _describe_carried(tables: Sequence[Document]) -> str:
    sentences = [(table["name"], text) for table in tables if (text := describe_proven(table.get("coverage")))]
    return "".join(f" {f'{name}: ' if len(tables) > 1 else ''}{text}." for name, text in sentences)


def guard_sentence(guard: Document) -> str:
    """A guard with its numbers.

    >>> guard_sentence({"name": "max_deletes", "limit": 1000, "found": 1200, "ok": False})
    'max_deletes: found 1,200, limit 1,000'
    """
    return f"{guard['name']}: found {write_figure(guard['found'])}, limit {write_figure(guard['limit'])}"


def write_figure(value: object) -> str:
    """A number as people read it; any other value as it is.

    >>> write_figure(12000), write_figure(0.051234), write_figure("5%")
    ('12,000', '0.05123', '5%')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


# Sentences


def _plain_verdict(outcome: Outcome, run: Document, tables: Sequence[Document]) -> str:
    """A pull of the same run may have written before a guard stopped the corrections; other tables may have been worked on."""
    if outcome is Outcome.USAGE and len(tables) < len(run["tables"]):
        return _MISFIT_AMONG_OTHERS
    pulled = any((table.get("pull") or {}).get("rows") for table in tables)
    return _STOPPED_AFTER_PULL if pulled and outcome is Outcome.REFUSED else _PLAIN_VERDICTS[outcome]


def _describe_checked(tables: Sequence[Document], names: str) -> str:
    """Of a run that judged rules and compared nothing."""
    failed = [table["name"] for table in tables if table["error"]]
    if failed:
        return f"Not checked: {list_text(failed)}."
    return f"{names}: {describe_rules(tables)}"


def _describe_handed_over(tables: Sequence[Document], names: str) -> str:
    """Of a run that compared nothing."""
    words = [_describe_approval(table["approval"], table["name"]) for table in tables if table.get("approval")]
    rows = sum(table["pull"]["rows"] for table in tables if table.get("pull"))
    return " ".join(words) or f"{count_text(rows, 'row')} of {names} handed to the lake. Not compared yet."


def _describe_approval(word: Document, table: str) -> str:
    planned = f"{count_text(word['upserts'], 'upsert')} and {count_text(word['deletes'], 'delete')}"
    return f"{word['by']} approved the plan of run {word['run_id']} for {table}: {planned}."


def _describe_corrected(tables: Sequence[Document], names: str, command: str = "") -> str:
    if tables and all(table["already_applied"] for table in tables):
        if not any(table.get("plan_id") for table in tables):  # an undo's
            return f"What was corrected in {names} was taken back before. Nothing was left to write."
        return f"The plan of {names} was applied before. Nothing was left to write."
    applied = sum(table["corrections"]["applied"] for table in tables)
    if command == "undo":
        return f"{count_text(applied, 'correction')} of {names} taken back: the source differs again in these rows."
    proof = " and verified" if all(table["verified_at"] for table in tables) else "; not compared again"
    return f"{count_text(applied, 'correction')} of {names} written{proof}.{_rest(tables)}"


def _rest(tables: Sequence[Document]) -> str:
    return " Not everything was compared: the rest is not proven." if any(map(has_gaps, tables)) else ""


def _describe_hidden_rules(run: Document) -> str:
    """Of the tables with failed rules that a graver ending of others would hide."""
    failed = [table for table in run["tables"] if table["outcome"] == Outcome.DRIFT.value and table.get("rules")]
    if run["outcome"] == Outcome.DRIFT.value or not failed or not (rules_text := describe_rules(failed)):
        return ""
    return f" {list_text([table['name'] for table in failed])}: {rules_text}"


def has_gaps(table: Document) -> bool:
    """True where something of the table was not compared, and is named."""
    return bool(table["unverified"])


def _is_written(table: Document) -> bool:
    """True where every correction of the plan is in the lake and was compared again."""
    done = table["corrections"]
    planned = done["upserts"] + done["deletes"]
    return bool(table["verified_at"]) and 0 < planned == done["applied"] + done.get("applied_before", 0)


def _describe_drift(tables: Sequence[Document]) -> str:
    """Of tables with drift or failed rules: what is still open, and what the run corrected itself."""
    mended = [table for table in tables if count_drift_rows(table) and not find_open_drift(table)]
    others = [table for table in tables if table not in mended]
    said = [_describe_corrected(mended, list_text([table["name"] for table in mended]))] if mended else []
    if others:
        names = list_text([table["name"] for table in others])
        said.insert(0, f"{_differ(sum(map(count_drift_rows, others)), names)} between source and lake.")
    return " ".join(said)


def _differ(rows: int, names: str = "") -> str:
    return f"{count_text(rows, 'row')}{f' of {names}' if names else ''} {'differs' if rows == 1 else 'differ'}"


def _drift_after_apply(tables: Sequence[Document]) -> str:
    """Of rows that are not in the plan: the verification found them beside those that the plan wrote."""
    again = sum(map(count_drift_after_apply, tables))
    return f" {_differ(again)} in the segments that were compared again." if again else ""


def count_drift_after_apply(table: Document) -> int:
    """Rows of drift that the verification of an apply found; 0 where it was not made or not to its end."""
    return sum((table.get("findings_left") or {}).values())


def _describe_applied(tables: Sequence[Document]) -> str:
    done = [table["corrections"] for table in tables]
    planned = sum(corrections["upserts"] + corrections["deletes"] for corrections in done)
    applied = sum(corrections["applied"] + corrections.get("applied_before", 0) for corrections in done)
    return f"{applied:,} of {count_text(planned, 'correction')}"


TONES = {
    Outcome.CLEAN: "good",
    Outcome.CORRECTED: "mended",
    Outcome.PULLED: "plain",
    Outcome.APPROVED: "plain",
    Outcome.DRIFT: "warn",
    Outcome.INCOMPLETE: "warn",
    Outcome.UNVERIFIED: "bad",
    Outcome.REFUSED: "bad",
    Outcome.USAGE: "bad",
}


def choose_tone(outcome: str) -> str:
    """The tone of an outcome by its name; one that cannot be told, such as of an unreadable run, is bad.

    >>> choose_tone("clean"), choose_tone("unreadable")
    ('good', 'bad')
    """
    return TONES[Outcome(outcome)] if outcome in {member.value for member in Outcome} else "bad"
