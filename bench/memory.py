"""The memory of a process and its Java, as the kernel counts it: now (`VmRSS`), and at the most so far (`VmHWM`)."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.1
_KIB_A_MIB = 1024


@dataclass(frozen=True, slots=True)
class Memory:
    """In MiB; 0 for Java where none was started."""

    python_mib: int = 0
    java_mib: int = 0

    def or_more(self, other: Memory) -> Memory:
        """The greater of each."""
        return Memory(max(self.python_mib, other.python_mib), max(self.java_mib, other.java_mib))


def wait_and_watch(process: subprocess.Popen[bytes], patience_seconds: float) -> Memory:
    """Wait for the process; the most that it had. Raises TimeoutExpired, and leaves it alive, where it takes longer."""
    until, memory = time.monotonic() + patience_seconds, Memory()
    while process.poll() is None:
        memory = memory.or_more(read_memory(process.pid, "VmHWM"))
        if time.monotonic() > until:
            raise subprocess.TimeoutExpired(process.args, patience_seconds)
        time.sleep(_POLL_SECONDS)
    return memory


def read_memory(pid: int, line: str = "VmRSS") -> Memory:
    """Of the process, and of the largest Java that it or its children started."""
    java = [_mebibytes(child, line) for child in _children(pid) if _name(child) == "java"]
    return Memory(_mebibytes(pid, line), max(java, default=0))


def _children(pid: int) -> list[int]:
    """Children and theirs; none of a process that is gone."""
    try:
        texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    direct = [int(word) for text in texts for word in text.split()]
    return [found for child in direct for found in (child, *_children(child))]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # it ended just now
        return ""


def _mebibytes(pid: int, line: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(text.split()[1]) // _KIB_A_MIB for text in lines if text.startswith(f"{line}:")), 0)
