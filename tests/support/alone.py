"""What two test processes must not do at the same time, such as fetching the same jar into the same folder."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Hold the machine's lock of that name; it falls with the process."""
    path = Path(tempfile.gettempdir()) / f"hudi-reconcile-tests-{what}.lock"
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
