"""The audit log as far as a decision may stand on it: any line that is not as it was written ends in an error. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hudi_reconcile.evidence.audit import Record
from hudi_reconcile.evidence.chain import links
from hudi_reconcile.evidence.files import EvidenceError, file_sha256
from hudi_reconcile.evidence.keys import NO_KEYS, KeyRing, lacking
from hudi_reconcile.evidence.names import AUDIT_FILE


def trusted_records(reports: Path, keys: KeyRing = NO_KEYS) -> Iterator[Record]:
    """Every record, oldest first; the last line's fitness is known once all were taken.

    Raises:
        EvidenceError: a line was edited, removed, moved or forged, or the end is not sealed though there is a key.
        AuditKeyError: a line is sealed with a key that was not given.
    """
    path, sealed = reports / AUDIT_FILE, True
    for link in links(path, keys):
        if link.record is None and not link.is_whole:
            continue  # cut by a crash; the next run removes it
        if link.unchecked:
            raise lacking(link.sealed_by, keys, f"line {link.number} of {path}")
        if link.flaws or link.record is None:
            raise _untrusted(f"line {link.number} of {path} is not as it was written")
        sealed = link.sealed_by is not None
        yield link.record
    if keys.current is not None and not sealed:
        raise _untrusted(f"the last line of {path} is not sealed though there is a key")


def refuse_edited(reports: Path, run_id: str, name: str, keys: KeyRing = NO_KEYS) -> None:
    """Hold one file of a run against its line in the log.

    Raises EvidenceError where no line names it or it is not what the line says, and as `trusted_records`.
    """
    hashes = [
        dict(line.get("files", {})).get(name) for line in trusted_records(reports, keys) if line["run_id"] == run_id
    ]
    if hashes != [file_sha256(reports / run_id / name)]:
        raise _untrusted(f"{reports / run_id / name} is not what the audit log has of it")


def _untrusted(what: str) -> EvidenceError:
    return EvidenceError(
        f"{what}: approvals cannot be trusted",
        fix="look at it: hudi-reconcile audit verify; then sweep and approve again",
    )
