"""The audit log as far as a decision may stand on it: any line that is not as it was written ends in an error. Reads only."""

from __future__ import annotations

from pathlib import Path

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.evidence.audit import Record
from hudi_reconcile.evidence.chain import links
from hudi_reconcile.evidence.files import file_sha256
from hudi_reconcile.evidence.keys import NO_KEYS, KeyRing, lacking
from hudi_reconcile.evidence.logged import proven_before_key
from hudi_reconcile.evidence.names import AUDIT_FILE


def trusted_records(reports: Path, keys: KeyRing = NO_KEYS) -> list[Record]:
    """Every record that counts, oldest first, once the whole log was read.

    With a key those that nothing seals do not count, but for those of before the key, up to `audit.unsealed_head`.

    Raises:
        RefusedError: a line was edited, removed, moved or forged, or the end is not sealed though there is a key, or with
            one that was replaced.
        AuditKeyError: a line is sealed with a key that was not given.
    """
    path, is_sealed, is_old = reports / AUDIT_FILE, True, False
    before_key = proven_before_key(path, keys) if keys.unsealed_head is not None else frozenset[int]()
    found: list[Record] = []
    for link in links(path, keys):
        if link.record is None and not link.is_whole:
            continue  # cut by a crash; the next run removes it
        if link.unchecked:
            raise lacking(link.sealed_by, keys, f"line {link.number} of {path}")
        if link.flaws or link.record is None:
            raise _untrusted(f"line {link.number} of {path} is not as it was written")
        is_sealed = link.sealed_by is not None or link.number in before_key
        is_old = link.sealed_by is not None and not keys.is_current(link.sealed_by)
        if keys == NO_KEYS or is_sealed:
            found.append(link.record)
    if keys.current is not None and not is_sealed:
        raise _untrusted(f"the last line of {path} is not sealed though there is a key")
    if (
        keys.current is not None and is_old
    ):  # all of it could be by who has the old key; the next run seals with the new
        raise _untrusted(
            f"{path} ends with a line under a key that was replaced, and none is sealed with the new one yet"
        )
    return found


def refuse_edited(reports: Path, run_id: str, name: str, keys: KeyRing = NO_KEYS) -> None:
    """Hold one file of a run against its line in the log.

    Raises RefusedError where no line names it or it is not what the line says, and as `trusted_records`.
    """
    lines = [line for line in trusted_records(reports, keys) if line.get("run_id") == run_id]
    files = [line.get("files") for line in lines]
    hashes = [one.get(name) if isinstance(one, dict) else None for one in files]
    if hashes != [file_sha256(reports / run_id / name)]:
        raise _untrusted(f"{reports / run_id / name} is not what the audit log has of it")


def _untrusted(what: str) -> RefusedError:
    return RefusedError(
        f"{what}: approvals cannot be trusted",
        fix="look at it: hudi-reconcile audit verify; then sweep and approve again",
    )
