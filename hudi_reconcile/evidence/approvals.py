"""Who approved which plan, as the audit log has it. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from hudi_reconcile.core.approved import Approved
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.keys import NO_KEYS, KeyRing
from hudi_reconcile.evidence.names import AUDIT_FILE
from hudi_reconcile.evidence.trusted import trusted_records

APPROVE = "approve"
_NAMES = {one.name: {"str": str, "int": int}[str(one.type)] for one in fields(Approved)}


def approvals(reports: Path, keys: KeyRing = NO_KEYS) -> Iterator[Approved]:
    """Every approval, oldest first, once the whole log was read.

    Raises as `trusted_records`: where a line is not as it was written nobody knows who approved what.
    """
    for line in trusted_records(reports, keys):
        if line.get("command") == APPROVE:
            tables = line.get("tables")
            for table in tables if isinstance(tables, list) else ():
                yield _approved(table.get("approval") if isinstance(table, dict) else None, reports / AUDIT_FILE)


def _approved(said: object, path: Path) -> Approved:
    words = {"uid": "", **said} if isinstance(said, dict) else {}  # earlier versions did not write it
    if set(words) != set(_NAMES) or any(type(words[name]) is not kind for name, kind in _NAMES.items()):
        raise EvidenceError(f"{path} holds an approval of another version", fix="use the hudi-reconcile that wrote it")
    return Approved(**words)
