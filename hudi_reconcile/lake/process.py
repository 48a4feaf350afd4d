"""This process and others of this host, as far as a lease must tell them apart."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from hudi_reconcile.lake.lease import Holder

_PROC = Path("/proc")


def this_process() -> Holder:
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
