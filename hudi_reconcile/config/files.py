"""Reads small files that people name: regular ones, and pipes within a deadline. Nothing else, however it is named.

A named pipe without a writer, or a device, would hold a command for ever or fill its memory. Pipes stay legal, for
`-c <(generate)` and `-c /dev/stdin`; a writer that never comes, or never ends, is an error that says so.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from pathlib import Path

PIPE_SECONDS = 30.0
_CHUNK = 65_536


def read_small(path: Path, largest_bytes: int) -> bytes:
    """The bytes of a file, and at most one more than `largest_bytes`, by which a caller knows that it is larger.

    Raises:
        OSError: it cannot be opened, is a folder, device or socket, or a pipe that did not end in time; `strerror` says which.
    """
    _refuse_others(os.stat(path).st_mode)  # noqa: PTH116 - opening a device may already do something
    # A pipe that nobody writes to would block in open itself.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        mode = os.fstat(file).st_mode
        _refuse_others(mode)
        until = time.monotonic() + PIPE_SECONDS
        content = b""
        while len(content) <= largest_bytes:
            if stat.S_ISFIFO(mode):
                _await(file, until)
            chunk = os.read(file, min(_CHUNK, largest_bytes + 1 - len(content)))
            if not chunk:
                break
            content += chunk
        return content
    finally:
        os.close(file)


# --- helpers ---


def _refuse_others(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "is a folder, not a file")
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise OSError(errno.EINVAL, "is a device or a socket, not a file")


def _await(file: int, until: float) -> None:
    poll = select.poll()
    poll.register(file, select.POLLIN)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
        raise TimeoutError(errno.ETIMEDOUT, f"is a pipe that was not written to its end within {PIPE_SECONDS:g} s")
