"""Acts on local files so that a crash leaves either the old state or the new one. Knows nothing of runs or tables."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hudi_reconcile.core.errors import UnverifiedError

_CHUNK_BYTES = 1 << 20


class EvidenceError(UnverifiedError):
    """Evidence on disk is missing, damaged or of an unknown version, or could not be written."""


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on this file, made if absent; the kernel frees it when the process dies.

    Waits for the holder, who keeps it for one append. Threads of one process exclude each other too.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def try_lock(path: Path) -> int | None:
    """Lock this file without waiting. A descriptor that holds the lock until closed; None while another holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet (no symlink is followed). On disk when this returns.

    Raises:
        EvidenceError: the disk refused. FileExistsError where the file exists: a bug of the caller.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
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
    """Write a file so that readers see the old one or the whole new one.

    Raises:
        OSError: the folder is missing or the disk refused; the old file is as it was.
    """
    building = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write_new(building, data)
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


def tree_hashes(root: Path) -> dict[str, str]:
    """sha256 of each file below `root` by its path relative to it, with `/`, sorted. Symlinks are refused.

    Raises:
        EvidenceError: something below `root` is neither a file nor a folder.
    """
    hashes: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise EvidenceError(f"{path} is neither a file nor a folder", fix="remove it and run the command again")
        if path.is_file():
            hashes[path.relative_to(root).as_posix()] = file_sha256(path)
    return hashes


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
