"""What `doctor` can say of a table's other writers without Spark: by the names and labels of local timeline files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hudi_reconcile.app.doctor_checks import Check
from hudi_reconcile.app.doctor_lake import local_path
from hudi_reconcile.core.writers import NEWEST, SETTINGS, Writers, default_writer, foreign_writer
from hudi_reconcile.stages.request import TableJob

_OURS = b"_hr.commit"  # the label under which a commit of ours carries its token; commits are not compressed
_FILE = re.compile(r"(\d{14,17})(?:_(\d{14,17}))?\.(\w+)(?:\.(requested|inflight))?")
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_REPLACEMENT, _CLUSTERS = ".replacecommit.requested", b"CLUSTER"
_SERVICES = frozenset({"compaction", "logcompaction", "clustering"})


def writers_check(job: TableJob) -> Iterator[Check]:
    """Other writers of one table; nothing where there is no local table."""
    name = f"{job.name}: writers"
    folder = local_path(job.lake_path)
    if folder is None or not (folder / ".hoodie" / "hoodie.properties").is_file():
        return
    found = writers_at(folder)
    said = "; ".join(one for one in (default_writer(found.without_heartbeat), foreign_writer(found)) if one)
    if said:
        yield Check(name, "warn", said, f"give every other writer {SETTINGS}")
    else:
        yield Check(name, "ok", f"no other writer in the newest {found.commits} commits, and none in flight")


def writers_at(folder: Path) -> Writers:
    """What a local table's timeline tells of its writers."""
    beating = _names(folder / ".hoodie" / ".heartbeat")
    # Up to table version 6 the timeline lies in `.hoodie` itself.
    home = next((one for one in (folder / ".hoodie" / "timeline", folder / ".hoodie") if one.is_dir()), folder)
    names = {_as_of_today(home, name) for name in _names(home)}
    beating |= _names(folder / ".hoodie" / ".heartbeat")
    done, pending = sort_files(sorted(names))
    newest = done[:NEWEST]
    foreign = sum(_OURS not in (home / name).read_bytes() for name in newest)
    return Writers(len(newest), foreign, tuple(one for one in pending if one not in beating))


def sort_files(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files of completed writes, newest completion first, and the requested times of writes in flight.

    Compactions and clusterings end as writes too, and are left out: they change no row.

    >>> sort_files(["20260101000000000_20260101000001000.commit", "20260101000002000.commit.requested"])
    (('20260101000000000_20260101000001000.commit',), ('20260101000002000',))
    """
    found = [(match, name) for name in names if (match := _FILE.fullmatch(name))]
    services = {match[1] for match, _ in found if match[3] in _SERVICES}
    done: dict[str, tuple[str, str]] = {}
    pending: set[str] = set()
    for match, name in found:
        requested, completed, action, state = match.groups()
        if requested in services:
            continue
        if state is None and action in _WRITES:
            done[requested] = (completed or requested, name)
        elif action in _WRITES or (action, state) == ("inflight", None):  # a commit in flight is `<requested>.inflight`
            pending.add(requested)
    return tuple(name for _, name in sorted(done.values(), reverse=True)), tuple(sorted(pending - done.keys()))


def _as_of_today(home: Path, name: str) -> str:
    """Up to table version 6 a clustering is requested as what it ends as, a replacement; its plan tells them apart."""
    if not name.endswith(_REPLACEMENT) or _CLUSTERS not in (home / name).read_bytes():
        return name
    return name.removesuffix(_REPLACEMENT) + ".clustering.requested"


def _names(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()} if folder.is_dir() else set()
