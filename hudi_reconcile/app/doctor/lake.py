"""What `doctor` says of a lake's path, its folders and its other writers, by looking at local files alone. Writes nothing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from hudi_reconcile.app.doctor.server import Check, build_failed_check
from hudi_reconcile.config.hoodiestreamer.properties import PropertiesError, parse_properties
from hudi_reconcile.config.secrets import read_small
from hudi_reconcile.core.errors import LakeError, ReconcileError
from hudi_reconcile.core.lake.locks import choose_lock, list_client_classes, read_scheme
from hudi_reconcile.core.lake.ownership import (
    NEWEST,
    SETTINGS,
    Adoption,
    Writers,
    describe_adoption,
    describe_table,
    judge_adoption,
    warn_of_foreign_writer,
    warn_of_silent_writer,
)
from hudi_reconcile.core.tables.values import LakeTable, SourceTable
from hudi_reconcile.lake.table import build_lake_table
from hudi_reconcile.ports import Origin
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.preconditions import refuse_mismatch

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LEASES = {"s3a": "the lease is exclusive where the store honours conditional writes"}
_RIGHTS = 0o777
_LARGEST_BYTES = 1_048_576


def check_folder(name: str, folder: Path) -> Check:
    """Whether files can be made in a folder, or the folder itself where it is not there yet."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        return Check(name, "fail", f"{there} is no folder", "name another path")
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(name, "fail", f"{there} cannot be written by this user", "change its owner, or name another path")
    return Check(name, "ok", f"{folder} {'can be written' if there == folder else 'can be made'}")


def check_folder_mode(name: str, folder: Path, mode: int, fix: str) -> Iterator[Check]:
    """A warning where a folder lets in more people than this mode; nothing where it is not there."""
    folder_mode = stat.S_IMODE(folder.stat().st_mode) if folder.is_dir() else mode
    if folder_mode & _RIGHTS & ~mode:
        yield Check(name, "warn", f"{folder} has mode {folder_mode:04o}: others of this machine can look into it", fix)


def check_lake(job: TableJob, source: SourceTable | None, origin: Callable[[str], Origin]) -> Iterator[Check]:
    """The lake path of one table: free, ours, or another tool's, with what it is and what will be done with it.

    `source` None: neither the key nor the columns were compared. `origin` reads the timeline of another tool's table.
    """
    name = f"{job.name}: lake"
    folder = find_local_path(job.lake.path)
    if folder is None:
        yield Check(
            name, "warn", f"{job.lake.path} was not checked: it is not a local path", "the first pull will tell"
        )
        return
    properties = folder / ".hoodie" / "hoodie.properties"
    if not properties.is_file():
        if folder.is_dir() and any(entry.name != ".hoodie" for entry in folder.iterdir()):
            yield Check(name, "fail", f"{folder} holds files but no Hudi table", "set lake.path to an empty folder")
            return
        yield check_folder(name, folder)
        return
    try:
        table = build_lake_table(str(folder), _read_properties(properties), ())
        if source is not None:
            refuse_mismatch(job, source, table)
    except ReconcileError as error:
        yield build_failed_check(name, error)
        return
    if table.owned:
        yield Check(name, "ok", f"{folder} is a {table.type} table of ours")
        return
    yield from _foreign_checks(job, source, table, origin)


def check_lock(name: str, path: str, options: Mapping[str, str], jars: Sequence[Path]) -> Iterator[Check]:
    """How writers are kept apart on a lake path that is not local; nothing for a local one. `jars` are those of the config."""
    if find_local_path(path) is not None:
        return
    check = f"{name}: lock"
    try:
        way = choose_lock(path, options, has_client=hold_classes(jars, list_client_classes(path)))
    except ReconcileError as error:
        yield build_failed_check(check, error)
        return
    lease = (
        "" if way.is_lease_exclusive else f"; {_LEASES.get(read_scheme(path), 'the lease only names the holder there')}"
    )
    yield Check(check, "ok", f"{way.provider} keeps writers of {path} apart (not tried){lease}")


def hold_classes(jars: Sequence[Path], names: Sequence[str]) -> bool:
    """Whether these jars hold every one of these classes; False for none."""
    wanted = {name.replace(".", "/") + ".class" for name in names}
    if not wanted:
        return False
    for jar in jars:
        with suppress(OSError, BadZipFile), ZipFile(jar) as archive:
            wanted -= set(archive.namelist())
    return not wanted


def _foreign_checks(
    job: TableJob, source: SourceTable | None, table: LakeTable, origin: Callable[[str], Origin]
) -> Iterator[Check]:
    name = f"{job.name}: lake"
    adoption = Adoption() if source is None else judge_adoption(table, source, job.lake.partition_by)
    fix = (
        ""
        if job.lake.adopt or adoption.apply
        else "to pull and correct it, write lake: {adopt: true}; sweeps need nothing"
    )
    yield Check(
        name, "ok" if job.lake.adopt and not adoption.apply else "warn", f"{table.path} was made by another tool", fix
    )
    try:
        writer = _writer(origin(job.lake.path))
    except ReconcileError as error:
        writer = (f"checkpoint: its timeline was not read: {'; '.join(error.message.splitlines())}",)
    for line in (*describe_table(table), *writer, *describe_adoption(table, adoption, adopt=job.lake.adopt)):
        yield Check(name, "ok", line)


def _writer(origin: Origin) -> tuple[str, ...]:
    if origin.streamer_checkpoint is None:
        return (
            "written by: not HoodieStreamer, which would have left a checkpoint; the first pull reads every row (--full)",
        )
    at = "" if origin.instant is None else f", commit {origin.instant.completed}"
    return (
        f"written by: HoodieStreamer; its checkpoint is {origin.streamer_checkpoint!r} ({origin.streamer_key}{at})",
        "pull: begins there, and hands its own checkpoint back under the same key",
    )


def find_local_path(path: str) -> Path | None:
    """The local folder that a Hadoop path means; None for another file system.

    >>> find_local_path("/data/lake"), find_local_path("file:///data/my%20lake"), find_local_path("s3a://bucket/lake")
    (PosixPath('/data/lake'), PosixPath('/data/my lake'), None)
    """
    if path.startswith("file:"):
        return Path(unquote("/" + path.removeprefix("file:").lstrip("/")))
    return None if _SCHEME.match(path) else Path(path)


def _read_properties(path: Path) -> dict[str, str]:
    """What Hudi reads there: Java's properties in Latin-1, the last of two where a key is given twice."""
    try:
        content = read_small(path, _LARGEST_BYTES)
        if len(content) > _LARGEST_BYTES:
            raise LakeError(f"{path} is larger than 1 MiB", fix="look at the file: no Hudi table has such properties")
        return {entry.key: entry.value for entry in parse_properties(content.decode("iso-8859-1"))}
    except OSError as error:
        raise LakeError(f"{path} cannot be read: {error.strerror}", fix="let this user read it") from error
    except PropertiesError as error:
        raise LakeError(f"{path}:{error.line}: {error}", fix="repair the table's properties") from error


_OURS = b"_hr.commit"  # the label under which a commit of ours carries its token; commits are not compressed
_FILE = re.compile(r"(\d{14,17})(?:_(\d{14,17}))?\.(\w+)(?:\.(requested|inflight))?")
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_REPLACEMENT, _CLUSTERS = ".replacecommit.requested", b"CLUSTER"
_SERVICES = frozenset({"compaction", "logcompaction", "clustering"})


def check_writers(job: TableJob) -> Iterator[Check]:
    """Other writers of one table; nothing where there is no local table."""
    name = f"{job.name}: writers"
    folder = find_local_path(job.lake.path)
    if folder is None or not (folder / ".hoodie" / "hoodie.properties").is_file():
        return
    writers = find_writers(folder)
    said = "; ".join(
        warning
        for warning in (warn_of_silent_writer(writers.without_heartbeat), warn_of_foreign_writer(writers))
        if warning
    )
    if said:
        yield Check(name, "warn", said, f"give every other writer {SETTINGS}")
    else:
        yield Check(name, "ok", f"no other writer in the newest {writers.commits} commits, and none in flight")


def find_writers(folder: Path) -> Writers:
    """What a local table's timeline tells of its writers."""
    beating = _names(folder / ".hoodie" / ".heartbeat")
    # Up to table version 6 the timeline lies in `.hoodie` itself.
    home = next((path for path in (folder / ".hoodie" / "timeline", folder / ".hoodie") if path.is_dir()), folder)
    names = {_name_in_newest_form(home, name) for name in _names(home)}
    beating |= _names(folder / ".hoodie" / ".heartbeat")
    done, pending = sort_files(sorted(names))
    newest = done[:NEWEST]
    foreign = sum(_OURS not in (home / name).read_bytes() for name in newest)
    return Writers(len(newest), foreign, tuple(instant for instant in pending if instant not in beating))


def sort_files(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files of completed writes, newest completion first, and the requested times of writes in flight.

    Compactions and clusterings end as writes too, and are left out: they change no row.

    >>> sort_files(["20260101000000000_20260101000001000.commit", "20260101000002000.commit.requested"])
    (('20260101000000000_20260101000001000.commit',), ('20260101000002000',))
    """
    matches = [(match, name) for name in names if (match := _FILE.fullmatch(name))]
    services = {match[1] for match, _ in matches if match[3] in _SERVICES}
    done: dict[str, tuple[str, str]] = {}
    pending: set[str] = set()
    for match, name in matches:
        requested, completed, action, state = match.groups()
        if requested in services:
            continue
        if state is None and action in _WRITES:
            done[requested] = (completed or requested, name)
        elif action in _WRITES or (action, state) == ("inflight", None):  # a commit in flight is `<requested>.inflight`
            pending.add(requested)
    return tuple(name for _, name in sorted(done.values(), reverse=True)), tuple(sorted(pending - done.keys()))


def _name_in_newest_form(home: Path, name: str) -> str:
    """Up to table version 6 a clustering is requested as what it ends as, a replacement; its plan tells them apart."""
    if not name.endswith(_REPLACEMENT) or _CLUSTERS not in (home / name).read_bytes():
        return name
    return name.removesuffix(_REPLACEMENT) + ".clustering.requested"


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
