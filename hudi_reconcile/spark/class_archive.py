"""The class archive of the driver's Java: what it loaded once is mapped at the next start, not read and checked again.

Half of what a short run costs is Java loading the classes of Spark and Hudi. HotSpot writes them down as it ends, and maps
them where Java, its jars and their order are the same (JEP 350, dynamic class-data sharing). The file is made once, after a
run that nobody waits for longer; a run without it is slower and nothing else.

Whoever can write the file can put code into our Java: the folder is this user's alone, or there is no archive.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

# HotSpot writes the header last (`ArchiveBuilder::write_archive`): a file that was not finished does not begin with this.
_MAGIC = 0xF00BABA8.to_bytes(4, "little")
_UNUSED_SECONDS = 30 * 24 * 3600
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Options that choose an archive, or change classes as they are loaded: the user's word stands alone.
_USERS_OWN = (
    "-Xshare",
    "SharedArchiveFile",
    "ArchiveClassesAtExit",
    "-javaagent",
    "-agent",
    "-Xbootclasspath",
    "--patch",
)
# What they name comes before our jars on the class path; a folder with files there is refused by HotSpot.
_FIRST_ON_CLASS_PATH = "spark.driver.extraClassPath"
_OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_ON_CLASS_PATH = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """Where the archive lies. `lock` is the open file by which the JVM that gets the option is the only one to make it.

    The lock falls when the JVM is gone, whatever ended it.
    """

    path: Path
    lock: int | None = None

    @property
    def is_made_now(self) -> bool:
        """Whether the JVM writes it as it ends."""
        return self.lock is not None

    @property
    def option(self) -> str:
        """The Java options. What HotSpot says of classes that it cannot archive is of no use to anybody."""
        name = "ArchiveClassesAtExit" if self.is_made_now else "SharedArchiveFile"
        return f'"-XX:{name}={self.path}" -Xlog:cds*=off'


def find_archive(folder: Path, parts: Iterable[Path], *, may_make: bool, now_seconds: float) -> ClassArchive | None:
    """The archive of a Java with these files, or the task to make it; None where there is none and none is to be made.

    Of several processes one makes it; where that one died, another does. Archives that no run used for a month go. Raises
    nothing: a folder that cannot be used is no archive.
    """
    try:
        path = folder / f"{_build_name(parts)}.jsa"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(folder) or set(str(path)) & set('":\\'):  # of two files, HotSpot's word for them has a colon
            return None
        if _is_finished(path):
            os.utime(path, (now_seconds, now_seconds))
            return ClassArchive(path)
        if not may_make:
            return None
        _remove_unused(folder, now_seconds)
        return ClassArchive(path, _take(path.with_suffix(".lock")))
    except OSError:
        return None


def list_parts(java_home: Path, spark_jars: Path, jars: Sequence[Path]) -> tuple[Path, ...]:
    """The files that an archive stands on: Java with its own archive, Spark's jars, ours. HotSpot checks the last two too."""
    server = java_home / "lib" / "server"
    return (server / "libjvm.so", server / "classes.jsa", *sorted(spark_jars.glob("*.jar")), *jars)


def is_usable(conf: Mapping[str, str], environ: Mapping[str, str], spark_home: Path) -> bool:
    """Whether neither the user's Java options nor what else is on the class path speak against an archive."""
    if (
        any(environ.get(name) for name in _ON_CLASS_PATH)
        or _FIRST_ON_CLASS_PATH in conf
        or (spark_home / "conf").is_dir()
    ):
        return False
    options = " ".join([*conf.values(), *(environ.get(name, "") for name in _OPTION_VARIABLES)])
    return not any(word in options for word in _USERS_OWN)


def _build_name(parts: Iterable[Path]) -> str:
    """A name that changes with any of the files, by path, size and time. Raises OSError where one is not there."""
    stats = [(path, path.stat()) for path in parts]
    lines = [f"{path}\0{status.st_size}\0{status.st_mtime_ns}" for path, status in stats]
    return sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _is_ours(folder: Path) -> bool:
    status = folder.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
    return is_ours and not any(map(_lets_others_in, folder.resolve().parents))


def _lets_others_in(parent: Path) -> bool:
    """Whether another user could put a folder in the place of one below it, between our look and Java's."""
    status = parent.stat()
    is_open = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
    return bool(is_open) or status.st_uid not in (0, os.geteuid())


def _is_finished(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE and file.read(4) == _MAGIC


def _take(lock: Path) -> int:
    """The open lock. Raises OSError where another process has it."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove_unused(folder: Path, now_seconds: float) -> None:
    for path in folder.glob("*.jsa"):
        if now_seconds - path.lstat().st_mtime > _UNUSED_SECONDS:
            path.unlink(missing_ok=True)
            path.with_suffix(".lock").unlink(missing_ok=True)
