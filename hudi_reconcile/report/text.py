"""Plans, history, findings, differences and changes as text, CSV or NDJSON, one line at a time. Pure: documents in, lines out."""

from __future__ import annotations

import csv
import io
import itertools
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from hudi_reconcile.core.plan.plan import PART
from hudi_reconcile.core.result_queries import add_config
from hudi_reconcile.core.safe_text import escape_controls, escape_json
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, ChangedFinding
from hudi_reconcile.report.safe import spell_hidden, write_key, write_value
from hudi_reconcile.report.words.advice import read_config_names, write_command_prefix
from hudi_reconcile.report.words.rules import describe_open_rules
from hudi_reconcile.report.words.verdict import count_text, describe_coverage, list_text, write_figure

Document = Mapping[str, Any]
_MINUTES_FROM = 120  # seconds


def plan_text(run: Document, plan: Document, approval: Document | None = None) -> str:
    """What apply would do with a plan, whether its guards let it, and the command to type next.

    `approval` is what people said of it, None where its table's policy asks nobody.
    """
    return "\n".join([*_plan_lines(run, plan), *_approval_lines(approval), "", *_next_lines(run, plan, approval)])


def describe_past_tables(tables: Sequence[Document]) -> str:
    """The tables of a past run in one line.

    `orders drift (deleted 3, 3 applied, 1 rule failed), items clean`
    """
    return ", ".join(f"{spell_hidden(table['name'])} {table['outcome']}{_what(table)}" for table in tables)


def describe_past_run(past: Document) -> Iterator[str]:
    """A run of the history: one line, and where it has several tables a line for each, with how long its work took."""
    tables, run = past["tables"], f"{past['run_id']}  {past['command']:<10}  {past['outcome']:<10}"
    if past["why"] or len(tables) <= 1:
        yield f"{run}  {past['why'] or describe_past_tables(tables)}"
        return
    outcomes = Counter(table["outcome"] for table in tables)
    yield f"{run}  {len(tables)} tables: {', '.join(f'{count:,} {outcome}' for outcome, count in outcomes.items())}"
    for table in tables:
        yield f"    {describe_past_tables((table,))}, {table['seconds']:,.1f} s"


def describe_consumer(lag: Document) -> str:
    """A consumer of changes in one line: where it is and what it lacks, or why its next delivery would be refused.

    >>> describe_consumer({"table": "orders", "consumer": "shop", "type": "min-delta", "instant": "20261121145100499",
    ...                "pending": None, "behind_commits": 3, "waiting_seconds": 5400.0, "why": ""})
    'orders  shop  min-delta  at 20261121145100499, 3 commits behind, the oldest for 90 min'
    """
    place = f"at {lag['instant']}" if lag["instant"] else "at the beginning"
    under_way = f", under way to {lag['pending']}" if lag["pending"] else ""
    named = "  ".join(spell_hidden(lag[name]) for name in ("table", "consumer", "type"))
    return f"{named}  {place}{under_way}, {_behind(lag)}"


def _behind(lag: Document) -> str:
    if lag["behind_commits"] is None:
        return f"REFUSED: {spell_hidden(lag['why'])}"
    if not lag["behind_commits"]:
        return "in step"
    seconds = lag["waiting_seconds"]
    waiting = f"{seconds:,.0f} s" if seconds < _MINUTES_FROM else f"{seconds / 60:,.0f} min"
    return f"{count_text(lag['behind_commits'], 'commit')} behind, the oldest for {waiting}"


def _plan_lines(run: Document, plan: Document) -> Iterator[str]:
    yield f"{spell_hidden(plan['table'])}: {count_text(plan['upserts'], 'upsert')}, {count_text(plan['deletes'], 'delete')}"
    yield from (f"  {kind:<26}{plan['by_kind'][kind]:>12,}" for kind in DRIFT_KINDS if plan["by_kind"].get(kind))
    yield f"  plan      {plan['plan_id']}"
    yield f"  valid     {plan['created_utc']} to {plan['expires_utc']}"
    yield f"  lake      {spell_hidden(plan['lake']['path'])} at {plan['lake']['instant']}"
    yield f"  source    {spell_hidden(plan['source']['identity'])} at {spell_hidden(plan['source']['snapshot'])}"
    yield f"  key       {', '.join(map(spell_hidden, plan['key']))}"
    part = next(
        (requirement["expected"] for requirement in plan.get("requirements", ()) if requirement["name"] == PART), None
    )
    if part is not None:
        yield f"  part      only {spell_hidden(part)} compared; the rest of the table is not in this plan"
    yield ""
    yield "apply would"
    yield from (f"  {number}. {spell_hidden(step['text'])}" for number, step in enumerate(plan["steps"], start=1))
    yield ""
    yield "guards"
    for guard in plan["guards"]:
        figures = f"found {write_figure(guard['found'])}, limit {write_figure(guard['limit'])}"
        yield f"  {'ok    ' if guard['ok'] else 'NOT OK'}  {guard['name']:<20}{figures}"
        if not guard["ok"] and guard.get("fix"):
            yield f"          fix: {spell_hidden(add_config(guard['fix'], *read_config_names(run)))}"


def _approval_lines(approval: Document | None) -> Iterator[str]:
    if approval is None:
        return
    yield ""
    yield "approval (policy.require_approval)"
    if approval["given"] is None:
        yield f"  cannot be told: {spell_hidden(approval['why'])}"
    for entry in approval["given"] or ():
        yield f"  {spell_hidden(entry['by'])} ({spell_hidden(entry['login'])}) at {entry['at_utc']}"
    if approval["given"] == []:
        yield "  given by nobody yet"
    if approval["approver"] != "any":
        yield f"  counts of somebody who neither planned nor applies it (policy.approver: {approval['approver']})"


def _next_lines(run: Document, plan: Document, approval: Document | None) -> Iterator[str]:
    stopped = [guard["name"] for guard in plan["guards"] if not guard["ok"]]
    tool, run_id, table = write_command_prefix(run), shlex.quote(plan["run_id"]), shlex.quote(plan["table"])
    if not plan["upserts"] + plan["deletes"]:
        yield "next: nothing to apply"
        return
    if stopped:
        yield f"next: apply will refuse this plan ({list_text(stopped)}). See the rows first:"
        yield f"  {tool} findings {run_id} -t {table}"
        return
    yield "next:"
    if approval is not None and not approval["given"]:
        yield f"  {tool} approve {run_id} -t {table} --as NAME"
    yield f"  {tool} apply {run_id} -t {table}"


def _what(table: Document) -> str:
    parts = [f"{kind} {table['findings'][kind]:,}" for kind in DRIFT_KINDS if table["findings"].get(kind)]
    parts += [f"{table['pulled_rows']:,} pulled"] if table.get("pulled_rows") else []
    parts += [f"{table['applied']:,} applied"] if table["applied"] else []
    parts += [part] if (part := describe_coverage(table.get("coverage"))) else []
    parts += [part] if (part := describe_open_rules(table.get("open_rules", 0), table["outcome"])) else []
    parts += [spell_hidden(table["error"])] if table.get("error") else []
    return f" ({', '.join(parts)})" if parts else ""


FindingsFormat = Literal["table", "ndjson", "csv"]
CSV_COLUMNS = ("table", "kind", "action", "key", "columns", "source", "lake")
LEFT_CSV_COLUMNS = ("table", "kind", "action", "key", "columns", "reason", "rules")

_LISTS = frozenset({"columns", "rules"})
_SEEN_FIRST = 200
_WIDEST = 48
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # the wide ones count in some languages


def format_findings(lines: Iterable[str], how: FindingsFormat) -> Iterator[str]:
    """The findings (JSON texts) as output lines without line ends, in the same order, all of them."""
    if how == "ndjson":
        return map(escape_json, lines)
    if how == "csv":
        return _csv_lines(lines, CSV_COLUMNS)
    return align_rows(("table", "kind", "action", "key", "columns"), (_table_row(json.loads(line)) for line in lines))


def format_uncorrected(lines: Iterable[str], how: FindingsFormat) -> Iterator[str]:
    """What an apply left (JSON texts) as output lines, as `format_findings` does: each row with its reason."""
    if how == "ndjson":
        return map(escape_json, lines)
    if how == "csv":
        return _csv_lines(lines, LEFT_CSV_COLUMNS)
    return align_rows(
        ("table", "reason", "action", "kind", "key", "rules"), (_left_row(json.loads(line)) for line in lines)
    )


def write_csv_cell(text: str) -> str:
    """A CSV cell that no spreadsheet takes for a formula: such text gets a leading quote mark.

    >>> write_csv_cell("=1+1"), write_csv_cell("  @x"), write_csv_cell("-5"), write_csv_cell("plain")
    ("'=1+1", "'  @x", "'-5", 'plain')
    """
    if text[:1] in ("\t", "\r", "\n") or text.lstrip()[:1] in _FORMULA:
        return "'" + text
    return text


def _csv_lines(lines: Iterable[str], columns: tuple[str, ...]) -> Iterator[str]:
    yield ",".join(columns)
    for line in lines:
        finding = json.loads(line)
        cells = (" ".join(finding[name]) if name in _LISTS else finding[name] for name in columns)
        buffer = io.StringIO()
        # Before Python 3.13 only the characters of the line end make the writer quote a cell that holds them.
        writer = csv.writer(buffer, lineterminator="\r\n")
        writer.writerow([write_csv_cell(_csv_text(cell)) for cell in cells])
        yield escape_json(buffer.getvalue().removesuffix("\r\n"))


def _csv_text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    # Where commas are for decimals, spreadsheets cut at semicolons, also in here: what follows one could be a formula.
    return json.dumps(cell, ensure_ascii=False, separators=(",", ":")).replace(";", "\\u003b")


def align_rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Rows in columns below a head; nothing for none. Widths come from the first rows, so that the rest pass by one at a time."""
    rest = iter(rows)
    first = list(itertools.islice(rest, _SEEN_FIRST))
    if not first:
        return
    widths = [min(_WIDEST, max(len(row[place]) for row in (head, *first))) for place in range(len(head))]
    for row in itertools.chain((head,), first, rest):
        yield escape_controls("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _left_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    rules = ", ".join(map(spell_hidden, row["rules"])) or "-"
    return (spell_hidden(row["table"]), row["reason"], row["action"], row["kind"], write_key(row["key"]), rules)


def _table_row(finding: Mapping[str, Any]) -> tuple[str, ...]:
    columns = ", ".join(spell_hidden(name) for name in finding["columns"]) or "-"
    return (spell_hidden(finding["table"]), finding["kind"], finding["action"], write_key(finding["key"]), columns)


_SIGNS = {"gained": "+", "lost": "-"}


def change_line(finding: ChangedFinding) -> str:
    """A finding as NDJSON, with what became of it as its first field."""
    (line,) = format_findings(
        [json.dumps({"change": finding.change, **json.loads(finding.line)}, ensure_ascii=False)], "ndjson"
    )
    return line


def diff_lines(table: str, counts: Mapping[str, Mapping[str, int]], changes: Iterable[ChangedFinding]) -> Iterator[str]:
    """The counts of a table, then each finding that was gained (+) or lost (-); what was kept is only counted.

    `orders: 1 gained, 0 lost, 2 kept`
    """
    yield f"{spell_hidden(table)}: {', '.join(f'{sum(kinds.values()):,} {change}' for change, kinds in counts.items())}"
    for entry in changes:
        if entry.change in _SIGNS:
            finding = json.loads(entry.line)
            columns = ", ".join(spell_hidden(name) for name in finding["columns"])
            yield f"  {_SIGNS[entry.change]} {entry.kind:<26}{write_key(finding['key'])}{f'  ({columns})' if columns else ''}"


ChangesFormat = Literal["table", "ndjson", "debezium", "json"]
HEAD = ("instant", "op", "key", "correction", "change")


def format_changes(lines: Iterable[str], how: ChangesFormat, head: Mapping[str, object]) -> Iterator[str]:
    """The changes (JSON texts) as output lines without line ends, in the same order, all of them.

    `head` are the fields that stand before them in the one document of `json`.
    """
    if how in ("ndjson", "debezium"):
        return map(escape_json, lines)
    if how == "json":
        return _document(map(escape_json, lines), head)
    return align_rows(HEAD, (_row(json.loads(line)) for line in lines))


def _document(lines: Iterator[str], head: Mapping[str, object]) -> Iterator[str]:
    yield f'{escape_json(json.dumps(head, ensure_ascii=False))[:-1]}, "changes": ['
    last = next(lines, None)
    for line in lines:
        yield f"{last},"
        last = line
    yield "]}" if last is None else f"{last}]}}"


def _row(change: Mapping[str, Any]) -> tuple[str, ...]:
    correction = change["correction"]
    origin = "-" if correction is None else f"{correction['kind'] or '?'} ({correction['run_id']})"
    return (change["instant"], change["op"], write_key(change["key"]), spell_hidden(origin), _change_text(change))


def _change_text(change: Mapping[str, Any]) -> str:
    """An update by the columns that changed, anything else by the row; a hash in place of a value is marked as one."""
    before, after = change["before"], change["after"]
    masked = frozenset(change.get("masked", ()))

    def show_value(row: Mapping[str, Any], name: str) -> str:
        value = row.get(name)
        return f"masked:{value}" if name in masked and value is not None else _value(value)

    if before is None or after is None:
        row = (after if before is None else before) or {}
        return ", ".join(f"{spell_hidden(name)}={show_value(row, name)}" for name in row if name not in change["key"])
    differing = [name for name in after if before.get(name) != after[name]]
    differences = ", ".join(
        f"{spell_hidden(name)}: {show_value(before, name)} -> {show_value(after, name)}" for name in differing
    )
    return differences or "no shown column differs"


def _value(value: object) -> str:
    return "NULL" if value is None else write_value(value)
