"""The names of things under `<reports>/`: run ids and table folders. Pure: knows no path, clock or randomness."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta

AUDIT_FILE = "audit.jsonl"
RESULT_FILE = "result.json"
PLAN_FILE = "plan.json"
COVERAGE_FILE = "coverage.json"
REPORT_FILE = "report.html"
FINDINGS_FOLDER = "findings"
HELD_FOLDER = "held"
UNCORRECTED_FOLDER = "uncorrected"
RULES_FOLDER = "rules"
BUILDING_PREFIX = ".tmp-"
PURGE = "purge"  # the command of lines that name runs which are gone

_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_RESERVED = frozenset({RESULT_FILE, REPORT_FILE, AUDIT_FILE})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SLUG_LETTERS = 40


def run_id_at(now_micros: int, entropy: int) -> str:
    """The id of a run that starts now: UTC second, then three hex digits of its fraction and three of `entropy`.

    Ids of runs more than a quarter of a millisecond apart sort as the runs did.

    >>> run_id_at(1_795_267_576_250_000, 0xA1C)
    '20261121T132616Z-400a1c'
    """
    second = _EPOCH + timedelta(seconds=now_micros // 1_000_000)
    fraction = now_micros % 1_000_000 * 4096 // 1_000_000
    return f"{second:%Y%m%dT%H%M%SZ}-{fraction:03x}{entropy & 0xFFF:03x}"


def is_run_id(text: str) -> bool:
    """True where the text has the form of a run id; says nothing about whether there is such a run."""
    return _RUN_ID.fullmatch(text) is not None


def table_folder(table: str) -> str:
    """The folder of a table inside a run: its name where that is safe as a file name, else a readable part and a hash.

    >>> table_folder("orders")
    'orders'
    >>> table_folder("../Order Items")
    'Order-Items-400c621e'
    """
    if _SAFE_NAME.fullmatch(table) and table not in _RESERVED:
        return table
    readable = re.sub(r"[^A-Za-z0-9_]+", "-", table).strip("-")[:_SLUG_LETTERS] or "table"
    return f"{readable}-{hashlib.sha256(table.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
