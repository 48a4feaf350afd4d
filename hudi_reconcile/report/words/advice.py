"""What to do after a run: one sentence and the commands to paste, the same on the command line and in the report. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.apply_outcome import NOT_ASKED, STILL_DONE
from hudi_reconcile.core.result_queries import add_config, find_open_drift, is_wholly_corrected, write_tool_command
from hudi_reconcile.report.words.rules import select_status
from hudi_reconcile.report.words.verdict import count_text, has_gaps, list_reasons, list_text

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Advice:
    """One sentence of what to do, and the commands to paste, in order; none where there is nothing to type."""

    sentence: str
    commands: tuple[str, ...] = ()


def advise(run: Document, *, guards: Mapping[str, Sequence[Document]] | None = None) -> Advice:
    """What to do next. `guards` are those of the plans by table, where they tell more than the result's."""
    outcome = Outcome(run["outcome"])
    concerned = [table for table in run["tables"] if table["outcome"] == outcome.value]
    tool = write_command_prefix(run)
    match outcome:
        case Outcome.CLEAN | Outcome.CORRECTED if run["command"] != "undo" and not any(map(has_gaps, concerned)):
            return Advice("Nothing to do.")
        case Outcome.CLEAN | Outcome.CORRECTED | Outcome.PULLED:
            return Advice("Compare source and lake:", (*_config_first(run), f"{tool} sweep{_choice(run, concerned)}"))
        case Outcome.APPROVED:
            runs = dict.fromkeys(table["approval"]["run_id"] for table in concerned)
            return Advice("Apply it:", tuple(f"{tool} apply {run_id}{_tables(run, concerned)}" for run_id in runs))
        case Outcome.DRIFT if not any(map(find_open_drift, concerned)) and select_status(concerned, "fail"):
            return _rule_advice(run, concerned)
        case Outcome.DRIFT:
            return _drift_advice(run, [table for table in concerned if not is_wholly_corrected(table)], guards or {})
        case Outcome.INCOMPLETE:
            return _rest_advice(run, concerned)
        case Outcome.UNVERIFIED | Outcome.REFUSED | Outcome.USAGE:
            return _mend_advice(run, concerned)


def _rest_advice(run: Document, tables: Sequence[Document]) -> Advice:
    tool = write_command_prefix(run)
    words, look = _advise_on_held(run, tables)
    anew = (f"{tool} sweep{_choice(run, tables)}", f"{tool} plan latest")
    if all(map(_same_plan_does, tables)):
        what, then = "The same plan still does what is left", _same_applies(run, tables)
    elif part := [table for table in tables if _is_left_out(table)]:
        what = "The same plan still does what --only left out; what else is left needs a new comparison and a new plan"
        then = (*_same_applies(run, part), *anew)
    else:
        what, then = "What is left needs a new comparison and a new plan", anew
    return Advice(f"{what}{words}:", (*look, *then))


def _same_applies(run: Document, tables: Sequence[Document]) -> tuple[str, ...]:
    runs = dict.fromkeys(shlex.quote(table["uncorrected"]["plan_run"]) for table in tables)
    return tuple(f"{write_command_prefix(run)} apply {run_id}{_tables(run, tables)}" for run_id in runs)


def _is_left_out(table: Document) -> bool:
    """True where `--only` left rows of the plan out: the same plan does them, whatever became of the others."""
    uncorrected = table.get("uncorrected")
    return bool(uncorrected and uncorrected["plan_run"] and uncorrected["by_reason"].get(NOT_ASKED))


def _same_plan_does(table: Document) -> bool:
    """True where all that differs is what the apply was not asked for, or could not commit beside another writer."""
    uncorrected = table.get("uncorrected")
    if uncorrected is None or not uncorrected["plan_run"] or uncorrected["listed_rows"] < uncorrected["rows"]:
        return False
    return set(uncorrected["by_reason"]) <= STILL_DONE and 0 < uncorrected["rows"] >= sum(table["findings"].values())


def write_command_prefix(run: Document) -> str:
    """The tool's name with the config file of the run, where that is not the default, and its profile."""
    return write_tool_command(*read_config_names(run))


def read_config_names(run: Document) -> tuple[str | None, str | None]:
    """The config file of a run, as it was typed, and its profile; None where it does not say."""
    known = run.get("provenance", {})
    config, profile = known.get("config"), known.get("profile")
    return config if isinstance(config, str) else None, profile if isinstance(profile, str) else None


def _config_first(run: Document) -> tuple[str, ...]:
    props = run.get("provenance", {}).get("props")
    return (f"hudi-reconcile init --from-props {shlex.quote(props)}",) if isinstance(props, str) else ()


def _rule_advice(run: Document, tables: Sequence[Document]) -> Advice:
    tool, which = write_command_prefix(run), _choice(run, tables)
    if {rule["check"] for rule in select_status(tables, "fail")} & {"drift", "total"}:
        return Advice(
            "Source and lake differ: compare, then look at the plan:", (f"{tool} sweep{which}", f"{tool} plan latest")
        )
    again = _write_same_command(run, tables)
    return Advice("Correct the rows at the source, or waive the rule until a day, then:", (again,))


def _drift_advice(run: Document, tables: Sequence[Document], guards: Mapping[str, Sequence[Document]]) -> Advice:
    tool, run_id = write_command_prefix(run), shlex.quote(run["run_id"])
    look = f"{tool} plan {run_id}"
    said, free = [], []
    for table in tables:
        no = [guard for guard in guards.get(table["name"], table["guards"]) if not guard["ok"]]
        if no:
            fixes = "; ".join(dict.fromkeys(guard["fix"] for guard in no if guard.get("fix")))
            names = list_text([guard["name"] for guard in no])
            fixes = add_config(fixes, *read_config_names(run))
            said.append(
                f"{table['name']}: {count_text(len(no), 'guard')} will refuse the plan ({names}). {fixes}".strip()
            )
        else:
            free.append(table)
    planned = [entry for entry in free if _has_plan(entry)]
    words = [f"{tool} approve {run_id}{_tables(run, planned)} --as NAME"] if any(map(_waits_for_word, planned)) else []
    apply = [*words, f"{tool} apply {run_id}{_tables(run, planned)}"] if planned else []
    if said:
        rest = (
            f"; then apply what no guard stops ({list_text([entry['name'] for entry in planned])}):" if planned else ":"
        )
        return Advice(f"{'. '.join(said).rstrip('.')}. Look at the plan first{rest}", (look, *apply))
    if not planned:
        return Advice("Look at the findings:", (f"{tool} findings {run_id}",))
    then = "let somebody else approve it, then apply it:" if words else "then apply it:"
    return Advice(f"Look at the plan, {then}", (look, *apply))


def _has_plan(table: Document) -> bool:
    return bool(table["corrections"]["upserts"] + table["corrections"]["deletes"])


def _waits_for_word(table: Document) -> bool:
    return bool(table["provenance"].get("require_approval") == "true")


def _mend_advice(run: Document, tables: Sequence[Document]) -> Advice:
    fixes = [f"{table['name']}: {fix}" for table in tables for _, fix in list_reasons(table) if fix]
    rest = [
        table
        for table in run["tables"]
        if table["outcome"] == Outcome.DRIFT.value and find_open_drift(table) and _has_plan(table)
    ]
    plan = (f"{write_command_prefix(run)} plan {shlex.quote(run['run_id'])}",) if rest else ()
    look_at = f"look at the plan of {list_text([table['name'] for table in rest])}:" if rest else ""
    again = f"{_write_same_command(run, tables)}{_budget(tables)}"
    if run["command"] == "apply":
        again = f"{write_command_prefix(run)} sweep{_choice(run, tables)}"
    if not fixes:
        return Advice(f"See the reasons below, then run again{f', and {look_at}' if rest else ':'}", (again, *plan))
    if run["outcome"] == Outcome.REFUSED.value:
        return Advice(" ".join([*dict.fromkeys(fixes), *([f"Then {look_at}"] if rest else [])]), plan)
    more = f" ({count_text(len(fixes) - 1, 'more fix', 'more fixes')} below)" if len(fixes) > 1 else ""
    words, look = _advise_on_held(run, tables)
    return Advice(
        f"{fixes[0]}{more}{words}; then{f' run again, and {look_at}' if rest else ':'}", (*look, again, *plan)
    )


def _advise_on_held(run: Document, tables: Sequence[Document]) -> tuple[str, tuple[str, ...]]:
    """What to do about corrections that rules held back, and the command that lists them; nothing where none were."""
    held_tables = [table for table in tables if table["corrections"].get("held", 0)]
    if not held_tables:
        return "", ()
    rows = sum(table["corrections"]["held"] for table in held_tables)
    words = (
        f"; {count_text(rows, 'row was', 'rows were')} held back: correct {'it' if rows == 1 else 'them'} at the source"
    )
    arguments = f"findings {shlex.quote(run['run_id'])}{_tables(run, held_tables)} --uncorrected --reason held"
    return f"{words}, or waive the rule", (f"{write_command_prefix(run)} {arguments}",)


def _budget(tables: Sequence[Document]) -> str:
    """The options of a sweep whose budget was spent: the next one goes on with them."""
    parts = [table["coverage"] for table in tables if table.get("coverage")]
    spent = next((part for part in parts if part["budget"] and part["compared"] < part["segments"]), None)
    if spent is None:
        return ""
    named = "".join(f" --where-partition {shlex.quote(path)}" for path in spent["partitions"])
    return f"{named} --budget {spent['budget']}"


def _write_same_command(run: Document, tables: Sequence[Document]) -> str:
    """The same command on these tables, with the options that it was given."""
    return f"{write_command_prefix(run)} {run['command']}{_choice(run, tables)}{_arguments(run, 'options')}"


def _choice(run: Document, tables: Sequence[Document]) -> str:
    """As `_tables`; where they are all of the run, what its command line said, which may leave out some of the config."""
    return _tables(run, tables) or _arguments(run, "choice")


def _arguments(run: Document, name: str) -> str:
    """Arguments that the run's provenance keeps. Quoted here: evidence that was forged must not become another command."""
    return "".join(f" {shlex.quote(str(word))}" for word in run.get("provenance", {}).get(name, ()))


def _tables(run: Document, tables: Sequence[Document]) -> str:
    if len(tables) == len(run["tables"]):
        return ""
    return "".join(f" -t {shlex.quote(table['name'])}" for table in tables)
