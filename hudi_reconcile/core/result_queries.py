"""What is asked of a table's result: what it leaves open, its one line for a log, and the commands to type next. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import UNSYNCED, Failure, Unverified
from hudi_reconcile.core.sweep.coverage import are_outside

Document = Mapping[str, Any]
_MOST_MESSAGE_CHARS = 200
_LEFT = ("superseded", "moved", "failed", "held")
# Any graver outcome may hide an apply whose verification still found drift, or was not steady.
_VERIFIED_FULLY = frozenset({Outcome.CORRECTED.value, Outcome.DRIFT.value})


BEGUN = "begun_utc"


def read_begin(table: Document) -> str:
    """When the table's turn in its run began, from its provenance; empty in results of earlier versions."""
    return str(table.get("provenance", {}).get(BEGUN, ""))


def is_wholly_corrected(table: Document) -> bool:
    """True where every finding of the run was corrected, by this run or before, and the touched segments proved equal.

    Of what was compared: ask `is_whole_comparison` too where the whole table matters. Each finding has one correction, so
    corrections that are fewer than findings cover not all of them; what is pending, settled or moving is no finding.
    """
    done = table["corrections"]
    planned = done["upserts"] + done["deletes"]
    return (
        (table["outcome"] in _VERIFIED_FULLY or lacks_catalog(table))
        and bool(table["verified_at"])
        and done["applied"] + done.get("applied_before", 0) == planned > 0
        and not any(done.get(status, 0) for status in _LEFT)
        and sum(table["findings"].values()) <= planned
    )


_SIDES = ("lake_path", "source_at", "source_of", "source_columns", "source_key")


def list_changed_settings(earlier: Document, later: Document) -> list[str]:
    """What two comparisons of a table did not have in common, as far as both show it: the sides, or the settings.

    What one of them left out or allowed for, it calls equal. Results of earlier versions show less.
    """
    was, now = (table.get("provenance", {}) for table in (earlier, later))
    known = [name for name in _SIDES if name in was and name in now]
    changed = [f"{was[name]} (now {now[name]})" for name in known if was[name] != now[name]]
    settings, others = earlier.get("compare"), later.get("compare")
    if settings is None or others is None:
        return changed
    pairs = {name: (settings[name], others[name]) for name in ("rename", "tolerance")}
    pairs["exclude"] = sorted(settings["exclude"]), sorted(others["exclude"])
    changed += [f"with another compare.{name} than the config has now" for name, (a, b) in pairs.items() if a != b]
    return changed


def lacks_catalog(table: Document) -> bool:
    """True where all went well, but that the catalog was not brought up to date."""
    return (table.get("error") or {}).get("type") == UNSYNCED


def describe_result(result: TableResult) -> str:
    """Outcome, counts and seconds, or the error; nothing of a row.

    >>> describe_result(TableResult("orders", Outcome.DRIFT, findings={"deleted": 3}))
    'drift, 3 findings, 0.0 s'
    """
    done, drifted = result.corrections, sum(result.findings.values())
    counts = {
        "rows pulled": 0 if result.pull is None else result.pull.rows,
        "findings": drifted,
        "not compared": len(result.unverified),
        "corrected": done.applied,
        "not corrected": sum(getattr(done, name) for name in _LEFT),
        "rules failed": sum(rule.status in ("fail", "error") for rule in result.rules),
    }
    parts = [f"{count:,} {what}" for what, count in counts.items() if count]
    if result.error is not None:
        parts.append(f"{result.error.type}: {' '.join(result.error.message.split())[:_MOST_MESSAGE_CHARS]}")
    return ", ".join((result.outcome.value, *parts, f"{result.cost.seconds:.1f} s"))


def describe_commits(results: Iterable[TableResult]) -> tuple[str, ...]:
    """A sentence for each commit of a run whose evidence could not be written: the lake has it all the same."""
    return tuple(
        f"{result.name}: commit {instant} was made and stands in the lake, whatever this run could not write down"
        for result in results
        for instant in (*filter(None, [result.pull and result.pull.instant]), *result.corrections.instants)
    )


def find_open_drift(table: Document) -> dict[str, int]:
    """The findings by kind that the run left as they are; none where it corrected and verified all of them.

    Where a verification proved the rest of them, those that it still found and those that were not corrected are left. Rows
    that are left and of no known kind count for each kind: never less than the truth.
    """
    if is_wholly_corrected(table):
        return {}
    findings = {kind: rows for kind, rows in table["findings"].items() if rows}
    again, listed = table.get("findings_left"), table.get("uncorrected")
    if again is None or listed is None or not table["verified_at"]:
        return findings
    done, by_kind = table["corrections"], listed.get("by_kind", {})
    unknown = max(0, sum(findings.values()) - done["applied"] - done.get("applied_before", 0) - sum(by_kind.values()))
    kinds = {**findings, **again}
    open_rows = {k: max(again.get(k, 0), min(findings.get(k, 0), by_kind.get(k, 0) + unknown)) for k in kinds}
    return {kind: rows for kind, rows in open_rows.items() if rows}


def select_after_apply(table: Document, applied: Document) -> Document:
    """The part of a sweep's or run's result after an apply of its plan: what was compared, and what was corrected."""
    names = ("outcome", "corrections", "verified_at", "findings_left", "uncorrected")
    return {**table, **{name: applied.get(name) for name in names}}


def count_open_rules(table: Document) -> int:
    """How many rules of the table could not run, or failed at a severity that makes the run fail."""
    by_warning = table["provenance"].get("fail_on") == "warn"
    return sum(
        rule["status"] == "error" or (rule["status"] == "fail" and (by_warning or rule["severity"] == "error"))
        for rule in table.get("rules", ())
    )


_RIGHT = (Outcome.CLEAN, Outcome.CORRECTED)


def restore_result_without_plan(table: Mapping[str, Any], run_id: str) -> TableResult | None:
    """The result of a table as the run left it; None where it was found right.

    Without it, an apply of the other tables would be `corrected`, and a table that nobody compared would seem right.
    """
    outcome = Outcome(table["outcome"])
    if outcome in _RIGHT or lacks_catalog(table):
        return None
    error = table.get("error")
    if outcome is Outcome.DRIFT:
        note = f"run {run_id} found drift but holds no plan: what its rules found is not repaired by an apply"
        return TableResult(table["name"], outcome, notes=(note,))
    why = "it could not be compared" if error is None else error["message"]
    unverified = Unverified(
        "table", table["name"], f"run {run_id} ended {outcome} and holds no plan: {why}", _fix(table)
    )
    failure = None if error is None else Failure(error["type"], error["message"], error["fix"])
    return TableResult(table["name"], outcome, error=failure, unverified=(unverified,))


def list_unjudged_rows(table: Mapping[str, Any]) -> tuple[Unverified, ...]:
    """What the run's sweep says of rows that never rested: seen, named by key, and judged by nobody.

    Rows outside the partitions that it was asked for are none of them: an apply says by itself what its plan is a part of.
    """
    named = (
        Unverified(entry["what"], entry["name"], entry["why"], entry["fix"]) for entry in table.get("unverified", ())
    )
    return tuple(entry for entry in named if entry.what == "rows" and not are_outside(entry))


def _fix(table: Mapping[str, Any]) -> str:
    mend: Mapping[str, Any] = table.get("error") or next(iter(table.get("unverified", ())), {})
    first = f"{mend['fix']}; then: " if mend.get("fix") else ""
    return f"{first}hudi-reconcile sweep -t {table['name']}"


TOOL = "hudi-reconcile"
DEFAULT_CONFIG = "reconcile.yaml"
# Those that read the config; `hudi-reconcile` before any other word is the tool itself.
_COMMAND = re.compile(
    rf"{TOOL} (?=(?:apply|approve|audit|changes|check|config|diff|doctor|findings|history|plan|pull|report|rules|run|state"
    r"|sweep|undo)\b)"
)


def write_tool_command(config: str | None, profile: str | None = None) -> str:
    """The tool's name with a config file, where that is not the default, and with the profile.

    >>> write_tool_command("reconcile.yaml"), write_tool_command(None), write_tool_command("my shop.yaml", "prod")
    ('hudi-reconcile', 'hudi-reconcile', "hudi-reconcile -c 'my shop.yaml' --profile prod")
    """
    named = TOOL if config in (None, DEFAULT_CONFIG) else f"{TOOL} -c {shlex.quote(str(config))}"
    return named if profile is None else f"{named} --profile {shlex.quote(profile)}"


def add_config(text: str, config: str | None, profile: str | None = None) -> str:
    """A text whose commands carry the config file and the profile; what carries one already stays as it is.

    >>> add_config("look: hudi-reconcile plan latest; then sweep with the hudi-reconcile that wrote it", "shop.yaml")
    'look: hudi-reconcile -c shop.yaml plan latest; then sweep with the hudi-reconcile that wrote it'
    """
    tool = write_tool_command(config, profile)
    return _COMMAND.sub(lambda _: f"{tool} ", text)


def add_config_to_fixes(result: TableResult, config: str | None, profile: str | None = None) -> TableResult:
    """A table's result whose fixes name config file and profile: of its error, its guards, rules and what was not compared."""
    error = result.error
    return replace(
        result,
        error=None if error is None else replace(error, fix=add_config(error.fix, config, profile)),
        guards=tuple(replace(guard, fix=add_config(guard.fix, config, profile)) for guard in result.guards),
        unverified=tuple(replace(entry, fix=add_config(entry.fix, config, profile)) for entry in result.unverified),
        rules=tuple(replace(rule, fix=add_config(rule.fix, config, profile)) for rule in result.rules),
    )


def join_attempts(result: TableResult, earlier: TableResult) -> TableResult:
    """The result of a table that was begun again, with what the attempt before it pulled, and why that one ended.

    Rows that the earlier attempt read and did not hand over lie behind its checkpoint: no later attempt says them again.
    """
    ended = "" if earlier.error is None else f"begun again: {earlier.error.message}"
    pull, before = result.pull, earlier.pull
    if pull is not None and before is not None:
        pull = replace(
            pull,
            rows=before.rows + pull.rows,
            mode=before.mode,
            checkpoint_before=before.checkpoint_before,
            instant=pull.instant or before.instant,
            pages=before.pages + pull.pages,
            created=before.created or pull.created,
            null_watermark_rows=before.null_watermark_rows + pull.null_watermark_rows,
            odd_rows=before.odd_rows + pull.odd_rows,
        )
    notes = tuple(
        dict.fromkeys((*(note for note in earlier.notes if note.startswith("begun again")), ended, *result.notes))
    )
    unverified = tuple(
        dict.fromkeys((*(earlier.unverified if before is not None and before.odd_rows else ()), *result.unverified))
    )
    is_open = bool(unverified) and result.outcome in (Outcome.PULLED, Outcome.CLEAN)
    return replace(
        result,
        outcome=Outcome.UNVERIFIED if is_open else result.outcome,
        unverified=unverified,
        schema=tuple(dict.fromkeys((*earlier.schema, *result.schema))),
        pull=pull or before,
        notes=tuple(note for note in notes if note),
    )
