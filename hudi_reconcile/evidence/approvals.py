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
_NAMES = tuple(one.name for one in fields(Approved))


def approvals(reports: Path, keys: KeyRing = NO_KEYS) -> Iterator[Approved]:
    """Every approval, oldest first, once the whole log was read.

    Raises as `trusted_records`: where a line is not as it was written nobody knows who approved what.
    """
    lines = list(trusted_records(reports, keys))
    for line in lines:
        if line["command"] == APPROVE:
            yield from (_approved(table["approval"], reports / AUDIT_FILE) for table in line["tables"])


def _approved(said: dict[str, object], path: Path) -> Approved:
    if set(said) != set(_NAMES):
        raise EvidenceError(f"{path} holds an approval of another version", fix="use the hudi-reconcile that wrote it")
    return Approved(**said)  # type: ignore[arg-type]
