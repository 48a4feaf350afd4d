"""The JSON documents of a run's folder: read once, strictly, so that no two readers can take one for two things.

JSON says nothing of doubled keys, and Python's reader takes more than JSON (NaN, UTF-16, lone surrogates): what this tool
did not write is no document of its own, and is refused by name. The shape of a `result.json` is checked here as well. Later
versions add fields, so unknown ones are let through; fields that the first version did not have may be missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.rules.verdict import STATUSES
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, LATER_KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.evidence.files import EvidenceError

Document = Mapping[str, Any]

_MOST_DIGITS = (
    40  # a decimal(38), its sign and point: more is no number of ours, and costs the square of its digits to read
)
_FIX = "choose another run: hudi-reconcile history"


def parse_document(data: bytes, path: Path, version: int) -> Document:
    """The document of a file's bytes.

    Raises:
        EvidenceError: it is no JSON object as this tool writes them, or of another version.
    """
    try:
        text = data.decode("utf-8")
        document = json.loads(
            text,
            object_pairs_hook=_refuse_doubled_keys,
            parse_constant=_finite,
            parse_float=_finite,
            parse_int=_integer,
        )
        if "\\u" in text:  # the one way to spell half a surrogate pair, which no file, terminal or database can take
            json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:  # a UnicodeError is a ValueError
        raise EvidenceError(f"{path} is no JSON document of this tool: {_describe_damage(error)}", fix=_FIX) from error
    file_version = document.get("version") if isinstance(document, dict) else None
    if type(file_version) is not int or file_version != version:
        raise EvidenceError(
            f"{path} is of version {str(file_version)[:20]}, this hudi-reconcile reads version {version}",
            fix="use the hudi-reconcile that wrote the run, or sweep again: hudi-reconcile sweep",
        )
    return dict(document)


def _describe_damage(error: Exception) -> str:
    """What is wrong, without the words of the document: they may be of a row."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeError):
        return "its text is no UTF-8"
    return f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)


def _refuse_doubled_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a key stands in it twice")
    return mapping


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("a number in it is too long")
    return int(text)


def _finite(text: str) -> float:
    number = float(text) if len(text) <= 10 * _MOST_DIGITS else math.inf
    if not math.isfinite(number):
        raise ValueError("a number in it is not finite")
    return number


_MOST = (1 << 63) - 1
Rows = Annotated[int, Field(ge=0, le=_MOST)]
Share = Annotated[float, Field(ge=0, le=float(_MOST))]
Text = str | None
Texts = Mapping[str, str]


def _check_day(text: str) -> str:
    if date.fromisoformat(text).isoformat() != text:
        raise ValueError("no day as YYYY-MM-DD")
    return text


Day = Annotated[str, AfterValidator(_check_day)]
Scalar = bool | int | float | str | None


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", protected_namespaces=())


class _Source(_Part):
    rows: Rows
    snapshot: str


class _Lake(_Part):
    rows: Rows
    instant: str


class _Gap(_Part):
    what: str
    name: str
    why: str
    fix: str


class _Change(_Part):
    what: str
    side: Literal["source", "lake"]
    column: str
    source_type: Text
    lake_type: Text
    since_utc: Text
    compared: bool
    fix: str
    lake_column: Text = None


class _Precision(_Part):
    column: str
    source: str
    lake: str
    compared: str
    rows_hidden: Rows


class _Settings(_Part):
    exclude: list[str]
    rename: Texts
    tolerance: Mapping[str, Share]


class _Failure(_Part):
    type: str
    message: str
    fix: str


class _Guard(_Part):
    name: str
    limit: int | float | str
    found: int | float | str
    ok: bool
    fix: str = ""


class _Corrections(_Part):
    upserts: Rows
    deletes: Rows
    applied: Rows
    superseded: Rows
    moved: Rows
    failed: Rows
    instants: list[str]
    savepoint: Text = None
    held: Rows = 0
    applied_before: Rows = 0
    steps: list[str] = []


class _Keys(_Part):
    rows: Rows
    path: str
    sample: list[Mapping[str, Any]]


class _Waiver(_Part):
    rule: str
    reason: str
    owner: str
    expires: str


class _Rule(_Part):
    id: str
    severity: Literal["error", "warn"]
    status: str
    failed_rows: Rows
    check: str
    what: str
    allow: str
    judged_rows: Rows
    why: str
    fix: str
    waiver: _Waiver | None = None
    keys: _Keys | None = None
    totals: Mapping[str, Any] | None = None
    notes: list[str] = []


class _Pull(_Part):
    rows: Rows
    mode: Literal["full", "incremental"]
    checkpoint_before: Text
    checkpoint_after: Text
    instant: Text
    null_watermark_rows: Rows = 0
    odd_rows: Rows = 0
    bound: Text = None
    bound_why: Text = None
    pages: Rows = 0
    created: bool = False
    reached_bound: bool = True


class _Cost(_Part):
    seconds: Share
    session_seconds: Share
    source_statements: Rows
    source_rows_fetched: Rows
    lake_files_read: Rows
    lake_files_counted: bool = False
    phases_seconds: Mapping[str, float] = {}
    source_bytes_estimate: Rows | None = None
    source_parts: Rows = 0
    source_parts_repeated: Rows = 0


class _Cell(_Part):
    kind: str
    partition: Text
    day: Day | None
    rows: Rows


class _Heat(_Part):
    partition: Text
    time: Text
    rows: Rows


class _Lateness(_Part):
    rows: list[Rows]
    greatest_seconds: Share
    unmarked_rows: Rows
    ahead_rows: Rows = 0


class _WatermarkShift(_Part):
    rows: Rows
    least_micros: int
    most_micros: int


class _KeyMap(_Part):
    segments: Rows
    unequal: list[Rows]


class _Anatomy(_Part):
    cells: list[_Cell]
    other_rows: Rows
    columns: Mapping[str, Rows]
    lateness: _Lateness | None
    missing_rows: Rows | None = None
    extra_copies: Rows | None = None
    key_map: _KeyMap | None = None
    shift: _WatermarkShift | None = None
    days: Mapping[Day, Rows] = {}
    heat: list[_Heat] = []


class _Covered(_Part):
    segments: Rows
    compared: Rows
    never_compared: Rows
    oldest_utc: Text
    budget: Text = None
    budget_seconds: Share | None = None
    partitions: list[str] = []
    lake_rows_left_out: Rows | None = None
    source_rows_left_out: Rows | None = None
    proven: Rows = 0
    proven_rows: Rows = 0
    proven_since_utc: Text = None


class _Uncorrected(_Part):
    rows: Rows
    by_reason: Mapping[str, Rows]
    listed_rows: Rows
    path: Text
    why: str
    plan_run: Text
    by_kind: Mapping[str, Rows] = {}


class _Table(_Part):
    name: str
    outcome: str
    source: _Source | None
    lake: _Lake | None
    checkpoint: Text
    findings: Mapping[str, Rows]
    not_drift: Mapping[str, Rows]
    unverified: list[_Gap]
    error: _Failure | None
    guards: list[_Guard]
    corrections: _Corrections
    already_applied: bool
    plan_id: Text
    verified_at: Text
    segments: Mapping[str, Scalar]
    rules: list[_Rule]
    notes: list[str]
    notes_open: Rows = 0
    provenance: Texts
    cost: _Cost
    findings_left: Mapping[str, Rows] | None = None
    schema_: list[_Change] = Field([], alias="schema")
    precision: list[_Precision] = []
    compare: _Settings | None = None
    columns: Mapping[str, Texts] = {}
    whole: bool = False
    coverage: _Covered | None = None
    anatomy: _Anatomy | None = None
    approval: Mapping[str, str | int] | None = None
    pull: _Pull | None = None
    uncorrected: _Uncorrected | None = None


class _Result(_Part):
    run_id: str
    command: str
    outcome: str
    exit_code: int
    started_utc: str
    ended_utc: str
    tables: list[_Table]
    provenance: Mapping[str, Any] = {}


def check_result(document: Mapping[str, Any], run_id: str, path: Path) -> Mapping[str, Any]:
    """The document, where it is the result of this run as a run writes it. Raises EvidenceError where it is not."""
    try:
        result = _Result.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise _build_damage_error(path, f"{place or 'it'}: {first['msg']}") from error
    if result.run_id != run_id:
        raise _build_damage_error(path, f"it is the result of run {result.run_id[:40]}")
    for what in _nonsense(result):
        raise _build_damage_error(path, what)
    return document


def _nonsense(result: _Result) -> list[str]:
    """What has the right type and no meaning."""
    known = {outcome.value for outcome in Outcome}
    names = [table.name for table in result.tables]
    said = [
        f"outcome {outcome[:40]!r} is none"
        for outcome in (result.outcome, *(t.outcome for t in result.tables))
        if outcome not in known
    ]
    said += ["a table stands in it twice"] if len(set(names)) < len(names) else []
    for table in result.tables:
        for kinds, counts in ((DRIFT_KINDS, table.findings), (NOT_DRIFT_KINDS, table.not_drift)):
            if not set(kinds) - LATER_KINDS <= set(counts) <= set(kinds):
                said.append(f"table {table.name}: it counts other kinds than {', '.join(kinds)}")
        said += [f"rule {rule.id[:80]!r}: unknown status" for rule in table.rules if rule.status not in STATUSES]
    return said


def _build_damage_error(path: Path, what: str) -> EvidenceError:
    return EvidenceError(f"{path} is damaged: {what}", fix="choose another run: hudi-reconcile history")
