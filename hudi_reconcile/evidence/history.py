"""What ran, how it ended, and what earlier runs left to go on from, newest first. Reads only; decides nothing about a run.

A run that cannot be read is listed as `unreadable` with the reason, never left out. A table with a schedule of its own may
have its last run behind hundreds of others: the log names each run's command and tables, so that ten thousand runs cost one
file, and only the results that say something of such a table are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import islice
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.core.result_parts import SchemaChange
from hudi_reconcile.core.result_queries import count_open_rules, read_begin
from hudi_reconcile.core.sweep.coverage import Coverage, parse
from hudi_reconcile.core.sweep.proof import ContentProof
from hudi_reconcile.core.sweep.proof import parse as parse_proof
from hudi_reconcile.core.tables.schema_drift import KnownColumns
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.run_folder import COVERAGE_FILE
from hudi_reconcile.evidence.store import COMPARED, UNUSABLE, Store, read_proof
from hudi_reconcile.evidence.trust import LOOK, UntrustedError

UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class PastTable:
    """How a run ended for one table. `findings` are drifts by kind, `applied` the corrections written.

    `applied_before` are corrections of the same plan that earlier applies wrote, of killed ones too; `plan_id` is the plan that
    the run made or applied. `open_rules` counts rules that could not run, or failed for the run.
    `whole`: every row of both sides was compared. `coverage` is how much was compared and how old the rest is, as in the
    run's result; None where the run compared nothing, or is older than these fields. `pulled_rows` is None where nothing was to
    be pulled, `error` the type of the error that ended the table's work. `seconds` are those of the table's work.
    """

    name: str
    outcome: str
    findings: Mapping[str, int] = field(default_factory=dict)
    applied: int = 0
    whole: bool = False
    coverage: Mapping[str, Any] | None = None
    applied_before: int = 0
    plan_id: str | None = None
    open_rules: int = 0
    pulled_rows: int | None = None
    error: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PastRun:
    """One line of the history. `why` is set for an unreadable run only; such a run has no command, times or tables."""

    run_id: str
    command: str
    outcome: str
    started_utc: str
    ended_utc: str
    tables: tuple[PastTable, ...]
    why: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The line as a JSON document."""
        return asdict(self)


def list_history(store: Store, *, tables: Collection[str] = (), before: str | None = None) -> Iterator[PastRun]:
    """The runs of a store, newest first; with `tables` only those that touched one of them, and these only.

    `before`: only those older than this run. Runs that cannot be read, or are not what the log has of them, are always
    listed. Reads one run at a time.
    """
    for run_id in store.run_ids():
        if before is not None and run_id >= before:
            continue
        past = read_past_run(store, run_id)
        touched = tuple(table for table in past.tables if not tables or table.name in tables)
        if touched or not tables or past.why:
            yield replace(past, tables=touched)


def read_past_run(store: Store, run_id: str) -> PastRun:
    """One run's line; `unreadable` with the reason where its `result.json` cannot be read, or is not to be believed."""
    try:
        return _past(run_id, store.result(run_id))
    except UntrustedError as error:
        why = f"{error.doubt}: {LOOK}"
    except EvidenceError as error:
        why = error.message
    return PastRun(run_id, UNREADABLE, UNREADABLE, "", "", (), why=why)


def _past(run_id: str, document: Mapping[str, Any]) -> PastRun:
    tables = tuple(
        PastTable(
            table["name"],
            table["outcome"],
            dict(table["findings"]),
            table["corrections"]["applied"],
            is_whole_comparison(table),
            table.get("coverage"),
            table["corrections"].get("applied_before", 0),
            table.get("plan_id"),
            count_open_rules(table),
            (table.get("pull") or {}).get("rows"),
            (table.get("error") or {}).get("type"),
            table["cost"]["seconds"],
        )
        for table in document["tables"]
    )
    times = (document["started_utc"], document["ended_utc"])
    return PastRun(run_id, document["command"], document["outcome"], *times, tables)


def list_older_runs(
    store: Store, older: Sequence[str], newest: Sequence[PastRun], *, comparisons: int
) -> Iterator[PastRun]:
    """Of the runs `older`, newest first, those that tell of tables that `newest` does not compare.

    Each such table's newest `comparisons` with the applies after them, and of every other command the newest run. A run that
    no line of the log names that is to be believed is read always.
    """
    comparisons_left = {table.name: 0 for run in newest if run.command in COMPARED for table in run.tables}
    seen = {(run.command, table.name) for run in newest for table in run.tables}
    logged = store.log().runs if older else {}
    for run_id in older:
        line = next((run_line for run_line in logged.get(run_id, ()) if not run_line.doubt), None)
        if line is not None and not any(
            _is_wanted(line.command, name, comparisons_left.get(name, comparisons), seen) for name in line.tables
        ):
            continue
        run = read_past_run(store, run_id)
        yield run
        command, names = (
            (run.command, tuple(table.name for table in run.tables))
            if run.command != UNREADABLE or line is None
            else (line.command, line.tables)
        )
        seen.update((command, name) for name in names)
        if command in COMPARED:
            comparisons_left.update({name: max(0, comparisons_left.get(name, comparisons) - 1) for name in names})


def _is_wanted(command: str, name: str, comparisons_left: int, seen: set[tuple[str, str]]) -> bool:
    return comparisons_left > 0 and (command in COMPARED or command == "apply" or (command, name) not in seen)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run that compared the table, and its part of the result. `since` says why the table is another one now, if it is.

    `compared_utc` is when the table's turn began, of runs of earlier versions when they ended.

    `applied` is the newest apply of the run's own plan that was verified, as its id and its part of the result.
    """

    run_id: str
    compared_utc: str
    table: Mapping[str, Any]
    since: str = ""
    applied: tuple[str, Mapping[str, Any]] | None = None


def find_newest_comparison(store: Store, table: str) -> Comparison | None:
    """The newest sweep or run that holds the table; None where there is none.

    Raises:
        EvidenceError: a newer run cannot be read, so nobody knows whether it compared the table.
    """
    since: dict[bool, str] = {}  # by whether the run changed the table itself, the newest of each
    applied: dict[str, tuple[str, Mapping[str, Any]]] = {}  # by plan, the newest of each
    for run_id in store.run_ids():
        document = store.result(run_id)
        for entry in document["tables"]:
            if entry["name"] != table:
                continue
            if document["command"] in COMPARED:
                other = since.get(True) or since.get(False, "")
                compared_utc = read_begin(entry) or document["ended_utc"]
                return Comparison(run_id, compared_utc, entry, other, applied.get(entry["plan_id"] or ""))
            if document["command"] == "apply" and entry["verified_at"] and entry["plan_id"]:
                applied.setdefault(entry["plan_id"], (run_id, entry))
            if why := _describe_later_change(run_id, document["command"], entry):
                since.setdefault(not entry["already_applied"], why)
    return None


def _describe_later_change(run_id: str, command: str, table: Mapping[str, Any]) -> str:
    done = table["corrections"]
    if command == "undo" and done["applied"] + done.get("applied_before", 0):
        return f"corrections were taken back since, by run {run_id}"
    if command == "undo" and table["error"] and table["outcome"] == Outcome.UNVERIFIED.value:
        return f"corrections may have been taken back since, by run {run_id}, which broke off"
    if (table.get("pull") or {}).get("created"):
        return f"the lake table was made anew since, by run {run_id}"
    return ""


_MOST_COVERAGE_RUNS = 200  # beyond these a table counts as never compared: more work, never less


def list_past_coverage(store: Store, table: str) -> tuple[Coverage, ...]:
    """The newest of each subject and segmentation. Coverage that cannot be read is passed over.

    Nothing is taken from before a run that made the lake table, or of which that cannot be told.
    """
    coverages: list[Coverage] = []
    for coverage in _documents(store, table):
        if all(
            (coverage.subject, coverage.cut, coverage.wanted) != (known.subject, known.cut, known.wanted)
            for known in coverages
        ):
            coverages.append(coverage)
    return tuple(coverages)


def _documents(store: Store, table: str) -> Iterator[Coverage]:
    for run_id in islice(store.run_ids(), _MOST_COVERAGE_RUNS):
        with suppress(*UNUSABLE, ValueError):
            document = store.read_left(run_id, table, COVERAGE_FILE)
            if document is not None and document.get("table") == table:
                yield parse(document)
        try:
            if _has_made_table(store.result(run_id), table):
                return
        except UNUSABLE:  # it may have made the table: what lies before is then of another one
            return


def find_past_proof(store: Store, table: str) -> tuple[ContentProof | None, str]:
    """The newest content proof of a table, and why it is not believed where it is not: then there is none, not an older one.

    A proof says what rows were equal, so that runs since then that left none do not end it.
    """
    for run_id in islice(store.run_ids(), _MOST_COVERAGE_RUNS):
        try:
            proof = _proof_of_run(store, run_id, table)
        except (*UNUSABLE, ValueError) as error:
            why = error.doubt if isinstance(error, UntrustedError) else str(error)
            return None, f"the content proof of run {run_id} is not believed: {why}"
        if proof is not None:
            return proof, ""
    return None, ""


def _proof_of_run(store: Store, run_id: str, table: str) -> ContentProof | None:
    document = read_proof(store, run_id, table)
    if document is None:
        return None
    proof = parse_proof(document)
    if (document.get("table"), proof.run_id) != (table, run_id):
        raise ValueError("it is the proof of another run or table")
    return proof


def _has_made_table(result: Mapping[str, Any], table: str) -> bool:
    """True where the run made the lake table: what was compared before it was another one, at the same path."""
    return any(
        entry["name"] == table and (entry.get("pull") or {}).get("created") for entry in result.get("tables", ())
    )


_MOST_KNOWN_RUNS = 100  # a pull and a comparison are among the newest few, or the reports folder is not this table's
_CHANGE_FIELDS = {attribute.name for attribute in fields(SchemaChange)}


def find_known_columns(store: Store, table: str) -> KnownColumns:
    """Look back until a pull and a comparison of the table were found. Runs that cannot be read are passed over.

    Where no pull is among them, the oldest comparison says what the source's types were.
    """
    source: Mapping[str, str] | None = None
    compared: Mapping[str, Any] | None = None
    oldest: Mapping[str, str] = {}
    for past in islice(_past_tables(store, table), _MOST_KNOWN_RUNS):
        columns = past["columns"]
        oldest = columns["source"]
        if source is None and past.get("pull") is not None:
            source = columns["source"]
        if compared is None and "lake" in columns:
            compared = past
        if source is not None and compared is not None:
            break
    lake = {} if compared is None else compared["columns"]["lake"]
    listed = () if compared is None else tuple(_change(change) for change in compared["schema"])
    return KnownColumns(oldest if source is None else source, lake, listed)


def _past_tables(store: Store, table: str) -> Iterator[Mapping[str, Any]]:
    for run_id in islice(store.run_ids(), _MOST_KNOWN_RUNS):
        with suppress(*UNUSABLE):
            tables = store.result(run_id).get("tables", ())
            yield from (entry for entry in tables if entry["name"] == table and entry.get("columns"))


def _change(document: Mapping[str, Any]) -> SchemaChange:
    return SchemaChange(**{name: value for name, value in document.items() if name in _CHANGE_FIELDS})
