"""Decides which jar files Spark loads, and checks that they are the bytes named in `jars.lock`.

Knows folders and hashes; fetching is in `resolve`, loading in `session`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from pathlib import Path

from hudi_reconcile.core.errors import UsageError

FOLDER_VARIABLE = "HUDI_RECONCILE_JARS"


class JarMode(StrEnum):
    """Where the locked jars come from (config `jars.mode`)."""

    AUTO = "auto"
    PACKAGES = "packages"
    PATHS = "paths"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedJar:
    """One line of `jars.lock`: the only bytes that may be loaded under this coordinate.

    `engine` is the only kind of source that needs it; empty where every session loads it.
    """

    coordinate: str
    file_name: str
    sha256: str
    engine: str = ""

    @property
    def ivy_name(self) -> str:
        """The file's name in the folder where Spark's resolver puts it."""
        return f"{self.coordinate.split(':')[0]}_{self.file_name}"

    @property
    def artifact(self) -> str:
        """The coordinate's middle part; two jars with the same one cannot be loaded together."""
        return self.coordinate.split(":")[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jar:
    """A jar file as loaded. `coordinate` is None where it is not in the lock (given by hand)."""

    coordinate: str | None
    path: Path
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JarRequest:
    """The config's `jars`: the mode, and files to load beside, or with `paths` instead of, the locked ones.

    `engine` is the kind of source, where that has a jar of its own.
    """

    mode: JarMode = JarMode.AUTO
    paths: tuple[Path, ...] = ()
    engine: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JarPlan:
    """Files that are here, and locked jars that the resolver must bring first."""

    present: tuple[Path, ...]
    missing: tuple[LockedJar, ...]


def locked_jars() -> tuple[LockedJar, ...]:
    """The jars that this version was tested with."""
    return read_lock((resources.files("hudi_reconcile.spark") / "jars.lock").read_text("utf-8"))


def read_lock(text: str) -> tuple[LockedJar, ...]:
    """The lines of a lock file: coordinate, file name, sha256, and the engine if only one needs it. `#` begins a comment."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return tuple(
        LockedJar(coordinate=coordinate, file_name=name, sha256=sha, engine="".join(engine))
        for coordinate, name, sha, *engine in lines
    )


def plan_jars(request: JarRequest, lock: Sequence[LockedJar], folders: Iterable[Path]) -> JarPlan:
    """Which files to load: those given by hand, and for the rest the first folder that holds all of them.

    A file given by hand takes the place of the locked jar of the same artifact. `packages` looks into no folder.

    Raises:
        UsageError: a file given by hand is not there, or `paths` was chosen without any.
    """
    _refuse_absent(request)
    if request.mode is JarMode.PATHS:
        return JarPlan(present=request.paths, missing=())
    names = [path.name for path in request.paths]
    needed = (jar for jar in lock if jar.engine in ("", request.engine))
    wanted = tuple(jar for jar in needed if not any(name.startswith(f"{jar.artifact}-") for name in names))
    for folder in folders if request.mode is JarMode.AUTO else ():
        files = [_in_folder(folder, jar) for jar in wanted]
        here = tuple(file for file in files if file is not None)
        if len(here) == len(wanted):
            return JarPlan(present=here + request.paths, missing=())
    return JarPlan(present=request.paths, missing=wanted)


def jar_folders(environ: Mapping[str, str], ivy: Path) -> tuple[Path, ...]:
    """Where `auto` looks, in this order: `$HUDI_RECONCILE_JARS` alone if set, else our cache, then the resolver's.

    Raises:
        UsageError: the variable names no folder.
    """
    if named := environ.get(FOLDER_VARIABLE):
        if not Path(named).is_dir():
            raise UsageError(
                f"{FOLDER_VARIABLE}={named} is no folder", fix=f"unset it, or: hudi-reconcile jars fetch --to {named}"
            )
        return (Path(named),)
    return cache_folder(environ), ivy / "jars"


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where `jars fetch` puts the jars unless told otherwise."""
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else home_folder(environ) / ".cache") / "hudi-reconcile" / "jars"


def home_folder(environ: Mapping[str, str]) -> Path:
    """The user's home; `/` for a user id without an account, as containers have them."""
    try:
        return Path.home() if "HOME" not in environ else Path(environ["HOME"])
    except RuntimeError:
        return Path("/")


def verify(paths: Iterable[Path], lock: Sequence[LockedJar]) -> tuple[Jar, ...]:
    """The files with their hashes; those that carry a locked jar's name must be its very bytes.

    Raises:
        UsageError: a hash differs; names the jar, the expected and the found one.
    """
    named = {name: jar for jar in lock for name in (jar.file_name, jar.ivy_name)}
    return tuple(_verify_one(path, named.get(path.name)) for path in paths)


def sha256_of(path: Path) -> str:
    """Hash of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=64)
def _hash_known(path: Path, _inode: int, _bytes: int, _modified_ns: int) -> str:
    # Calls that join a running Spark come by the hundred, and the bundle is large: the same file is read once.
    return sha256_of(path)


def _verify_one(path: Path, locked: LockedJar | None) -> Jar:
    stat = path.stat()
    found = _hash_known(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if locked is not None and locked.sha256 != found:
        raise UsageError(
            f"jar {path} is not {locked.coordinate}: sha256 expected {locked.sha256}, found {found}",
            fix=f"remove {path} and run: hudi-reconcile jars fetch",
        )
    return Jar(coordinate=locked.coordinate if locked else None, path=path, sha256=found)


def _in_folder(folder: Path, jar: LockedJar) -> Path | None:
    candidates = (folder / jar.file_name, folder / jar.ivy_name)
    return next((file for file in candidates if file.is_file()), None)


def _refuse_absent(request: JarRequest) -> None:
    if request.mode is JarMode.PATHS and not request.paths:
        raise UsageError("jars.mode is paths, and jars.paths is empty", fix="list the Hudi bundle and the JDBC driver")
    for path in request.paths:
        if not path.is_file():
            raise UsageError(f"jars.paths: {path} is no file", fix="give the path of a jar file")
