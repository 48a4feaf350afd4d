"""Takes, renews and gives back the lease file of a table: `.<name>.hr-lease.json` beside its folder."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Self
from uuid import uuid4

from hudi_reconcile.core.errors import LakeError, RefusedError, SupersededError
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.lease import (
    LEASE_MS,
    RENEW_SECONDS,
    Claim,
    Lease,
    claim_on,
    claim_on_damaged,
    heir,
    lease_text,
    parse_lease,
)
from hudi_reconcile.lake.process import is_alive, this_process


@dataclass(frozen=True, slots=True)
class Taken:
    """A lease that this process holds, and the one of a dead process that it took over, if any."""

    lease: Lease
    dead: Lease | None

    @property
    def heir(self) -> Lease:
        """What stands in the file until the dead one's instants are rolled back."""
        return heir(self.lease, self.dead)


def lease_path(table_path: str) -> str:
    """The lease's file: beside the table's folder, because a table may not exist yet and Hudi owns what is inside."""
    parent, _, name = table_path.rstrip("/").rpartition("/")
    return f"{parent}/.{name}.hr-lease.json" if parent or table_path.startswith("/") else f".{name}.hr-lease.json"


def take(files: Files, table_path: str, owner: str, since: str) -> Taken:
    """Take the lease. Raises RefusedError while another living process holds it."""
    path, me, now_ms = lease_path(table_path), this_process(), _now_ms()
    mine = Lease(me, owner, uuid4().hex, since, now_ms, now_ms + LEASE_MS)
    found = files.read(path)
    if found is None:
        if files.create(path, lease_text(mine)):
            return Taken(mine, None)
        raise _held(path, _lease_at(files, path))
    text, modified_ms = found
    lease = parse_lease(text)
    if lease is None:
        claim = claim_on_damaged(modified_ms, now_ms=now_ms)
    else:
        claim = claim_on(lease, me, now_ms=now_ms, is_alive=is_alive(lease.holder))
    if claim is Claim.HELD or not _supplant(files, path, text):
        raise _held(path, lease)
    taken = Taken(mine, lease if claim is Claim.OURS_DEAD else None)
    if not files.create(path, lease_text(taken.heir)):
        raise _held(path, _lease_at(files, path))
    return taken


def cleared(files: Files, table_path: str, taken: Taken) -> None:
    """Nothing of the dead process is left: from now on the lease speaks of our own instants alone."""
    if taken.dead is not None:
        _renew(files, lease_path(table_path), taken.lease)


def give_back(files: Files, table_path: str, taken: Taken) -> None:
    """Remove the lease if it is still ours."""
    path = lease_path(table_path)
    found = _lease_at(files, path)
    if found is not None and found.token == taken.lease.token:
        files.delete(path)


@contextmanager
def given_back(files: Files, table_path: str, taken: Taken) -> Iterator[None]:
    """Give the lease back at the end, and after an error; an interrupted process leaves it.

    Java may be gone by then, through which files are removed, and only the lease of a dead process lets the next one take over.
    """
    interrupted = False
    try:
        yield
    except BaseException as error:
        interrupted = not isinstance(error, Exception | GeneratorExit)
        raise
    finally:
        if not interrupted:
            give_back(files, table_path, taken)


class Renewal:
    """Renews a lease from a thread until stopped; a renewal that fails is tried again a minute later."""

    def __init__(self, files: Files, table_path: str, lease: Lease) -> None:
        self._files, self._path, self._lease = files, lease_path(table_path), lease
        self._stop = threading.Event()
        self._one = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="lease renewal", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    def refuse_lost(self) -> None:
        """Renew the lease at once. Raises SupersededError where it is no longer ours: this process stood still too long."""
        with self._one:
            lost = not _renew(self._files, self._path, self._lease)
        if lost:
            raise SupersededError(
                f"the table's lease {self._path} was lost while this process stood still, or was removed; nothing more of "
                "ours is written",
                fix="run it again",
            )

    def _run(self) -> None:
        while not self._stop.wait(RENEW_SECONDS):
            with suppress(LakeError), self._one:
                _renew(self._files, self._path, self._lease)


def _renew(files: Files, path: str, lease: Lease) -> bool:
    """False where the lease is no longer ours; then nothing is written."""
    found = _lease_at(files, path)
    if found is None or found.token != lease.token:
        return False
    files.replace(path, lease_text(replace(lease, expires_ms=_now_ms() + LEASE_MS)))
    return True


def _supplant(files: Files, path: str, text: str) -> bool:
    """Move the dead lease away; False where another process was faster. Of several movers one wins."""
    aside = f"{path}.{uuid4().hex[:8]}.old"
    if not files.rename(path, aside):
        return False
    moved = files.read(aside)
    ours = moved is not None and moved[0] == text
    if not ours and moved is not None:
        files.create(path, moved[0])  # it was a living one's: put it back
    files.delete(aside)
    return ours


def _lease_at(files: Files, path: str) -> Lease | None:
    found = files.read(path)
    return None if found is None else parse_lease(found[0])


def _held(path: str, lease: Lease | None) -> RefusedError:
    who = "another process"
    if lease is not None:
        who = f"{lease.owner} (host {lease.holder.host}, process {lease.holder.pid})"
    return RefusedError(
        f"the table's lease is held by {who}",
        fix=f"wait until it ends; if that process is gone for certain, delete {path}",
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
