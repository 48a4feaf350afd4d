"""Who approved which plan, as the audit log has it. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from hudi_reconcile.core.approved import Approved
from hudi_reconcile.evidence.chain import links
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.keys import NO_KEYS, KeyRing, lacking
from hudi_reconcile.evidence.names import AUDIT_FILE

APPROVE = "approve"
_NAMES = tuple(one.name for one in fields(Approved))


def approvals(reports: Path, keys: KeyRing = NO_KEYS) -> Iterator[Approved]:
    """Every approval, oldest first.

    Raises:
        EvidenceError: a line was edited, removed, moved or forged, or the end is not sealed though there is a key: then
            nobody knows who approved what.
        AuditKeyError: a line is sealed with a key that was not given.
    """
    path, found = reports / AUDIT_FILE, list[Approved]()
    sealed = True
    for link in links(path, keys):
        if link.record is None and not link.is_whole:
            continue  # cut by a crash; the next run removes it
        if link.unchecked:
            raise lacking(link.sealed_by, keys, f"line {link.number} of {path}")
        if link.flaws or link.record is None:
            raise _untrusted(f"line {link.number} of {path} is not as it was written")
        sealed = link.sealed_by is not None
        if link.record["command"] == APPROVE:
            found += [_approved(table["approval"], path) for table in link.record["tables"]]
    if found and keys.current is not None and not sealed:
        raise _untrusted(f"the last line of {path} is not sealed though there is a key")
    yield from found


def _untrusted(what: str) -> EvidenceError:
    return EvidenceError(
        f"{what}: approvals cannot be trusted", fix="look at it: hudi-reconcile audit verify; then approve again"
    )


def _approved(said: dict[str, object], path: Path) -> Approved:
    if set(said) != set(_NAMES):
        raise EvidenceError(f"{path} holds an approval of another version", fix="use the hudi-reconcile that wrote it")
    return Approved(**said)  # type: ignore[arg-type]
