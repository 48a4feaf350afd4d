"""Who approved which plan, as the audit log has it. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from hudi_reconcile.core.approved import Approved
from hudi_reconcile.evidence.audit import FIRST_PREVIOUS, record_hash, records
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.names import AUDIT_FILE

APPROVE = "approve"
_NAMES = tuple(one.name for one in fields(Approved))


def approvals(reports: Path) -> Iterator[Approved]:
    """Every approval, oldest first.

    Raises EvidenceError where a line was edited, removed or moved: then nobody knows who approved what.
    """
    path, previous = reports / AUDIT_FILE, FIRST_PREVIOUS
    for number, record in enumerate(records(path), start=1):
        if record.get("hash") != record_hash(record) or record.get("previous") != previous:
            raise EvidenceError(
                f"line {number} of {path} is not as it was written: approvals cannot be trusted",
                fix="look at it: hudi-reconcile audit verify",
            )
        previous = record["hash"]
        if record["command"] == APPROVE:
            yield from (_approved(table["approval"], path) for table in record["tables"])


def _approved(said: dict[str, object], path: Path) -> Approved:
    if set(said) != set(_NAMES):
        raise EvidenceError(f"{path} holds an approval of another version", fix="use the hudi-reconcile that wrote it")
    return Approved(**said)  # type: ignore[arg-type]
