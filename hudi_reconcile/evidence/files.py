"""Acts on local files so that a crash leaves either the old state or the new one. Knows nothing of runs or tables.

Who can write the reports folder can put a link, a FIFO or a device in a file's place. A link would lead a write to any file
of the user (CWE-59), and a FIFO would hold a reader for ever: only regular files are opened, and the descriptor is asked
(fstat) what it is, not the path, which may mean another file by then.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hudi_reconcile.core.errors import RefusedError, UnverifiedError

# Evidence is its owner's alone whatever the umask: it names keys and holds values of rows. `reports.mode` widens folders
# to that mode and files to its rights to read and write.
OWNERS_MODE = 0o700
_FILE_BITS = 0o666
_CHUNK_BYTES = 1 << 20
# A thousand tables with every statement that was sent are some ten million bytes.
MOST_BYTES = 256 << 20
# A run keeps the lock for one append, a purge while it removes: five minutes is a process that hangs.
LOCK_SECONDS = 300.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.001, 0.1  # flock(2) has no deadline of its own: ask again and again


class EvidenceError(UnverifiedError):
    """Evidence on disk is missing, damaged or of an unknown version, or could not be written."""


class LockHeldError(RefusedError):
    """Another process held the lock past the deadline; nothing was written."""


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file, its owner's alone where it is made. No link in its place is followed; folders may be links.

    Raises:
        EvidenceError: it is a link, a FIFO, a folder or a device, or a file to write has another name elsewhere (hard link).
        OSError: it is missing, or may not be opened.
    """
    try:
        # O_NONBLOCK: a FIFO answers at once, whether or not it has another end. Regular files do not heed it.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, OWNERS_MODE & _FILE_BITS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _odd(path) from error
        raise
    status = os.fstat(descriptor)
    is_shared = flags & (os.O_WRONLY | os.O_RDWR) and status.st_nlink > 1
    if stat.S_ISREG(status.st_mode) and not is_shared:
        return descriptor
    os.close(descriptor)
    raise _build_shared_error(path) if is_shared and stat.S_ISREG(status.st_mode) else _odd(path)


def read_bytes(path: Path) -> bytes:
    """A whole file of evidence. Raises as `read_owned`."""
    return read_owned(path)[0]


def read_owned(path: Path) -> tuple[bytes, int]:
    """A whole file of evidence, and the user id that it belongs to: the same file, whatever becomes of the path.

    Raises:
        EvidenceError: it is no regular file, larger than any that this tool writes, or cannot be read.
        FileNotFoundError: it is missing.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            data, owner = stream.read(MOST_BYTES + 1), os.fstat(stream.fileno()).st_uid
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(str(path)) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(data) > MOST_BYTES:
        raise EvidenceError(
            f"{path} is larger than {MOST_BYTES >> 20} MiB: this tool wrote no such file",
            fix="choose another run: hudi-reconcile history",
        )
    return data, owner


@contextmanager
def lock_file(path: Path, mode: int = OWNERS_MODE, *, wait_seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold an exclusive lock on this file, made if absent; the kernel frees it when the process dies.

    Threads of one process exclude each other too.

    Raises:
        LockHeldError: another holder did not let go in time.
        EvidenceError: it is a link, or whatever else is no regular file.
    """
    descriptor = _open_lock(path, mode)
    try:
        _await_lock(descriptor, path, wait_seconds)
        yield
    finally:
        os.close(descriptor)


def try_lock(path: Path, mode: int = OWNERS_MODE) -> int | None:
    """Lock this file without waiting. A descriptor that holds the lock until closed; None while another holds it.

    Raises EvidenceError for a link, or whatever else is no regular file.
    """
    descriptor = _open_lock(path, mode)
    if _take(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _await_lock(descriptor: int, path: Path, wait_seconds: float) -> None:
    until, pause = time.monotonic() + wait_seconds, _FIRST_PAUSE_SECONDS
    while not _take(descriptor):
        if time.monotonic() >= until:
            raise _build_held_error(path, wait_seconds)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _take(descriptor: int) -> bool:
    """Take the lock if it is free; True where it is now ours."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_lock(path: Path, mode: int) -> int:
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    # flock(2) needs no right to write: who may only read the folder could hold the lock, and every run would wait.
    let_in(descriptor, sum(bits for bits in (0o600, 0o060, 0o006) if mode & bits & 0o222))
    return descriptor


def let_in(descriptor: int, mode: int) -> None:
    """Widen an open file of ours to what a folder's mode grants; never narrows, and leaves other users' files alone."""
    about = os.fstat(descriptor)
    wanted = stat.S_IMODE(about.st_mode) | mode & _FILE_BITS
    if about.st_uid == os.geteuid() and wanted != stat.S_IMODE(about.st_mode):
        os.fchmod(descriptor, wanted)


def make_folder(path: Path, mode: int) -> None:
    """Make a folder with exactly this mode. Raises FileExistsError."""
    path.mkdir(OWNERS_MODE)
    if mode != OWNERS_MODE:
        path.chmod(mode)


def set_modes(root: Path, mode: int) -> None:
    """Give everything below `root`, and `root` itself, the mode, files without x: Spark writes by the umask."""
    for folder, _, names in os.walk(root):
        for name in names:
            if not (path := Path(folder) / name).is_symlink():
                path.chmod(mode & _FILE_BITS)
        Path(folder).chmod(mode)


def write_new(path: Path, data: bytes, mode: int = OWNERS_MODE & _FILE_BITS) -> None:
    """Write a file that must not exist yet (no symlink is followed). On disk when this returns.

    Raises:
        EvidenceError: the disk refused. FileExistsError where the file exists: a bug of the caller.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    except OSError as error:
        raise EvidenceError(
            f"{path} could not be written: {error.strerror}", fix="free space there and run the command again"
        ) from error
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old one or the whole new one. Who may read it, the umask says.

    Raises:
        OSError: the folder is missing or the disk refused; the old file is as it was.
    """
    building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write_new(building, data, _FILE_BITS)
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; a short write goes on where it stopped."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_tree(root: Path) -> None:
    """Bring every file and folder below `root`, and `root` itself, to the disk."""
    for folder, _, names in os.walk(root):
        for name in names:
            _sync(Path(folder) / name)
        _sync(Path(folder))


def sync_folder(path: Path) -> None:
    """Bring a folder's entries to the disk: after a rename, so that it survives a power cut."""
    _sync(path)


def build_spark_address(path: Path) -> str:
    """A folder of this machine as Spark is to be told of it: on a cluster a bare path is one of the cluster's default store."""
    return f"file://{path.absolute()}"


def hash_tree(root: Path) -> dict[str, str]:
    """sha256 of each file below `root` by its path relative to it, with `/`, sorted. Symlinks are refused.

    Raises:
        EvidenceError: something below `root` is neither a file nor a folder.
    """
    hashes: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise EvidenceError(f"{path} is neither a file nor a folder", fix="remove it and run the command again")
        if path.is_file():
            hashes[path.relative_to(root).as_posix()] = hash_file(path)
    return hashes


def hash_file(path: Path) -> str:
    """sha256 of a file's bytes, in hex. Raises EvidenceError where it is no regular file, or cannot be read."""
    digest = hashlib.sha256()
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise _unreadable(path, error) from error
    return digest.hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _odd(path: Path) -> EvidenceError:
    return EvidenceError(
        f"{path} is no regular file: this tool follows no link there and reads no FIFO, folder or device",
        fix="look who put it there, remove it and run the command again",
    )


def _build_shared_error(path: Path) -> EvidenceError:
    return EvidenceError(
        f"{path} is a file of two names (a hard link): what is written to it would change the other too",
        fix=f"make it a file of its own: cp -p {path} {path}.own && mv {path}.own {path}",
    )


def _build_held_error(path: Path, wait_seconds: float) -> LockHeldError:
    return LockHeldError(
        f"another process has held the lock {path} for {wait_seconds:g} seconds",
        fix=f"find that process (fuser -v {path}), end it if it hangs, and run the command again; leave the file in place",
    )


def _unreadable(path: Path, error: OSError) -> EvidenceError:
    return EvidenceError(f"{path} cannot be read: {error.strerror}", fix="make it readable and run the command again")
