"""The scratch folder of one JVM: rows pass through it while Spark sorts, so that nobody but its owner may enter it.

It lies in the temporary folder (`TMPDIR`) under a name that cannot be foretold, with mode 0700. A lock says that it is
in use: Python and the JVM hold it together, so that it falls when both are gone, whatever ended them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.core.errors import UsageError

PREFIX = "hudi-reconcile-scratch-"
_TRIES = 10
_FIX = "set TMPDIR to a folder on a local disk that this user may write and that has room for sorted rows"


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder of this process and its JVM. `lock` is the open folder whose lock says that it is in use."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove the folder and let go of the lock. A second time does nothing; what cannot go now is swept later."""
        if _is_at(self.path, self.lock):  # a second time the number may be another file's
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self.lock)


@contextmanager
def open_scratch() -> Iterator[Scratch]:
    """A scratch folder for the length of a block. Raises UsageError as `make_scratch`."""
    scratch = make_scratch()
    try:
        yield scratch
    finally:
        scratch.remove()


def make_scratch() -> Scratch:
    """A new folder of mode 0700, after those that dead processes of this user left were removed.

    Raises:
        UsageError: the temporary folder cannot be written, its file system has no locks, or rows would not be hidden in it.
    """
    try:
        parent = Path(tempfile.gettempdir()).absolute()
        _refuse_open(parent)
        sweep_scratch(parent)
        for _ in range(_TRIES):
            path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            lock = _open_folder(path)
            # A sweep of another process may come between making and locking: then it has the lock, or the folder is gone.
            if _take(lock) and _is_at(path, lock):
                return Scratch(path, lock)
            os.close(lock)
    except OSError as error:
        raise UsageError(f"no scratch folder for Spark could be made: {error.strerror or error}", fix=_FIX) from error
    raise UsageError(f"no scratch folder for Spark could be made in {parent}: others take it each time", fix=_FIX)


def _refuse_open(parent: Path) -> None:
    # Spark takes a comma in spark.local.dir for the end of a path, and makes the folders that it then reads for all to enter.
    if "," in str(parent):
        raise UsageError(f"the temporary folder {parent} has a comma, at which Spark would part its path", fix=_FIX)
    mode = parent.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise UsageError(
            f"in the temporary folder {parent} every user may put a folder of their own in the place of ours",
            fix=f"chmod +t {parent}, or set TMPDIR to a folder of your own",
        )


def sweep_scratch(parent: Path) -> None:
    """Remove the scratch folders that dead processes of this user left. Of others, of living ones, and links: never."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # gone meanwhile, another user's, or a link
            _sweep_one(folder)


def _sweep_one(path: Path) -> None:
    lock = _open_folder(path)
    try:
        about = os.fstat(lock)
        is_ours = about.st_uid == os.geteuid() and stat.S_IMODE(about.st_mode) == stat.S_IRWXU
        if is_ours and _take(lock) and _is_at(path, lock):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _open_folder(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: Path, lock: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(lock))
    except OSError:
        return False
