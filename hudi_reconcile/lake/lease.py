"""One writer of ours a table: the lease file `.<name>.hr-lease.json` beside its folder, taken, renewed and given back.

The lease keeps our own processes apart and tells the next one that the last one died. It does not protect the data: that is
what the lock, optimistic concurrency and compare-and-set are for, whatever a clock or a storage does.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Self
from uuid import uuid4

from hudi_reconcile.core.errors import LakeError, RefusedError, SupersededError
from hudi_reconcile.core.safe_text import parse_json
from hudi_reconcile.lake.files import Files

LEASE_MS = 300_000
RENEW_SECONDS = 60.0
_LEFT = "left"  # no process began then: the lease is of work that is no more


@dataclass(frozen=True, slots=True)
class Holder:
    """A process. `scope` names the boot and process namespace in which `pid` and `started` mean something."""

    host: str
    scope: str
    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds the table, for which run, since when and until when if it does not renew (epoch milliseconds).

    `since` is the time of the lake's timeline at the start, `yyyyMMddHHmmssSSS`: instants of the holder are not older.
    """

    holder: Holder
    owner: str
    token: str
    since: str
    since_ms: int
    expires_ms: int


class Claim(StrEnum):
    """What a process may do about a lease it finds."""

    FREE = "free"
    OURS_DEAD = "ours-dead"
    EXPIRED = "expired"
    HELD = "held"


def decide_claim(lease: Lease | None, me: Holder, *, now_ms: int, is_alive: bool) -> Claim:
    """Decide on the lease found. `is_alive` says whether its process runs, and is asked for within one scope only.

    A dead process of this host and boot is known to be dead; of any other only silence can be known.
    """
    if lease is None:
        return Claim.FREE
    if (lease.holder.host, lease.holder.scope) == (me.host, me.scope):
        return Claim.HELD if is_alive else Claim.OURS_DEAD
    return Claim.EXPIRED if lease.expires_ms <= now_ms else Claim.HELD


def inherit_lease(lease: Lease, dead: Lease | None) -> Lease:
    """The lease while it clears up after a dead one: killed meanwhile, it leaves both processes' instants to the next."""
    if dead is None:
        return lease
    return replace(lease, since=min(lease.since, dead.since), since_ms=min(lease.since_ms, dead.since_ms))


def decide_damaged_claim(modified_ms: int, *, now_ms: int) -> Claim:
    """A file that is no lease may be one just being written: it counts as held until a lease's time has passed."""
    return Claim.EXPIRED if modified_ms + LEASE_MS <= now_ms else Claim.HELD


def format_lease(lease: Lease) -> str:
    """The lease as JSON."""
    return json.dumps({"version": 1, **asdict(lease)}, sort_keys=True, indent=1)


def parse_lease(text: str) -> Lease | None:
    """The lease in a text; None where it is none: half written, or of another version."""
    try:
        document = parse_json(text)
        if not isinstance(document, dict) or document.pop("version", None) != 1:
            return None
        holder = Holder(**document.pop("holder"))
        lease = Lease(holder=holder, **document)
    except (ValueError, TypeError, KeyError):
        return None
    return lease if _is_typed(lease) and _is_typed(holder) else None


def _is_typed(value: Lease | Holder) -> bool:
    kinds = {"int": int, "str": str, "Holder": Holder}
    return all(isinstance(getattr(value, field.name), kinds[str(field.type)]) for field in fields(value))


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease that this process holds, and the one of a dead process that it took over, if any."""

    lease: Lease
    dead: Lease | None

    @property
    def heir(self) -> Lease:
        """What stands in the file until the dead one's instants are rolled back."""
        return inherit_lease(self.lease, self.dead)


def build_lease_path(table_path: str) -> str:
    """The lease's file: beside the table's folder, because a table may not exist yet and Hudi owns what is inside."""
    parent, _, name = table_path.rstrip("/").rpartition("/")
    return f"{parent}/.{name}.hr-lease.json" if parent or table_path.startswith("/") else f".{name}.hr-lease.json"


def take(files: Files, table_path: str, owner: str, since: str) -> HeldLease:
    """Take the lease. Raises RefusedError while another living process holds it."""
    path, me, now_ms = build_lease_path(table_path), describe_process(), _read_clock_ms()
    mine = Lease(me, owner, uuid4().hex, since, now_ms, now_ms + LEASE_MS)
    content = files.read(path)
    if content is None:
        if files.create(path, format_lease(mine)):
            return HeldLease(mine, None)
        raise _build_held_error(path, _read_lease(files, path))
    text, modified_ms = content
    lease = parse_lease(text)
    if lease is None:
        claim = decide_damaged_claim(modified_ms, now_ms=now_ms)
    else:
        claim = decide_claim(lease, me, now_ms=now_ms, is_alive=is_alive(lease.holder))
    taken = HeldLease(mine, lease if claim is Claim.OURS_DEAD else None)
    if claim is Claim.HELD or not files.supplant(path, text, format_lease(taken.heir)):
        raise _build_held_error(path, lease if claim is Claim.HELD else _read_lease(files, path))
    return taken


def clear_inheritance(files: Files, table_path: str, taken: HeldLease) -> None:
    """Nothing of the dead process is left: from now on the lease speaks of our own instants alone."""
    if taken.dead is not None:
        _renew(files, build_lease_path(table_path), taken.lease)


def give_back(files: Files, table_path: str, taken: HeldLease) -> None:
    """Remove the lease if it is still ours."""
    path = build_lease_path(table_path)
    lease = _read_lease(files, path)
    if lease is not None and lease.token == taken.lease.token:
        files.delete(path)


def leave_behind(files: Files, table_path: str, taken: HeldLease) -> None:
    """Leave the lease as that of a process that died, if it is still ours: the next holder clears up what its work began."""
    path, now_ms = build_lease_path(table_path), _read_clock_ms()
    content = files.read(path)
    lease = None if content is None else parse_lease(content[0])
    if content is not None and lease is not None and lease.token == taken.lease.token:
        dead = replace(lease, holder=replace(lease.holder, started=_LEFT), expires_ms=now_ms)
        files.swap(path, content[0], format_lease(dead))


@contextmanager
def release_lease(
    files: Files, table_path: str, taken: HeldLease, leaves_work: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Give the lease back at the end, and after an error; an interrupted process leaves it, and an error that `leaves_work`.

    Java may be gone by then, through which files are removed, and only the lease of a dead process lets the next one take over.
    """
    try:
        yield
    except (Exception, GeneratorExit):
        with suppress(Exception):  # what is told is why the work ended; a lease that stays is taken over
            (leave_behind if leaves_work() else give_back)(files, table_path, taken)
        raise
    give_back(files, table_path, taken)


class Renewal:
    """Renews a lease from a thread until stopped; a renewal that fails is tried again a minute later.

    `left` are the instants of failed writes under it that are still to be rolled back.
    """

    def __init__(self, files: Files, table_path: str, lease: Lease) -> None:
        self._files, self._path, self._lease = files, build_lease_path(table_path), lease
        self.left = set[str]()
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
    seen = files.read(path)
    stored_lease = None if seen is None else parse_lease(seen[0])
    if seen is None or stored_lease is None or stored_lease.token != lease.token:
        return False
    return files.swap(path, seen[0], format_lease(replace(lease, expires_ms=_read_clock_ms() + LEASE_MS)))


def _read_lease(files: Files, path: str) -> Lease | None:
    content = files.read(path)
    return None if content is None else parse_lease(content[0])


def _build_held_error(path: str, lease: Lease | None) -> RefusedError:
    who = "another process"
    if lease is not None:
        who = f"{lease.owner} (host {lease.holder.host}, process {lease.holder.pid})"
    return RefusedError(
        f"the table's lease is held by {who}",
        fix=f"wait until it ends; if that process is gone for certain, delete {path}",
    )


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


_PROC = Path("/proc")


def describe_process() -> Holder:
    """This process as a holder."""
    return Holder(socket.gethostname(), _scope(), os.getpid(), start_time(os.getpid()) or "")


def is_alive(holder: Holder) -> bool:
    """True where the holder's process runs in this scope. A new process under an old pid is not it."""
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    started = start_time(holder.pid)
    return started is None or not holder.started or started == holder.started


def start_time(pid: int) -> str | None:
    """When the process began, in ticks since boot; None where the system does not tell. A zombie has ended."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The command's name stands in brackets and may hold blanks and brackets itself.
    fields = stat.rpartition(")")[2].split()
    return "ended" if fields[0] in "ZX" else fields[19]


def _scope() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return "unknown"
