"""What `doctor` can say of a lake path and of folders without Spark: by looking at local files. Writes nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from hudi_reconcile.app.doctor_checks import Check, failed
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.values import LakeTable, SourceTable
from hudi_reconcile.lake.table import table_of
from hudi_reconcile.stages.lake_state import refuse_mismatch
from hudi_reconcile.stages.request import TableJob

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPED = re.compile(r"\\(.)")


def folder_check(name: str, folder: Path) -> Check:
    """Whether files can be made in a folder, or the folder itself where it is not there yet."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        return Check(name, "fail", f"{there} is no folder", "name another path")
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(name, "fail", f"{there} cannot be written by this user", "change its owner, or name another path")
    return Check(name, "ok", f"{folder} {'can be written' if there == folder else 'can be made'}")


def lake_check(job: TableJob, source: SourceTable | None) -> Check:
    """The lake path of one table: free, ours, or another writer's. `source` None: the key was not compared."""
    name = f"{job.name}: lake"
    folder = local_path(job.lake_path)
    if folder is None:
        return Check(
            name, "warn", f"{job.lake_path} was not checked: it is not a local path", "the first pull will tell"
        )
    properties = folder / ".hoodie" / "hoodie.properties"
    if not properties.is_file():
        if folder.is_dir() and any(entry.name != ".hoodie" for entry in folder.iterdir()):
            return Check(name, "fail", f"{folder} holds files but no Hudi table", "set lake.path to an empty folder")
        return folder_check(name, folder)
    try:
        table = table_of(str(folder), parse_properties(properties.read_text("utf-8")), ())
        if source is not None:
            refuse_mismatch(job, source, table)
    except ReconcileError as error:
        return failed(name, error)
    return _table_check(name, folder, table)


def local_path(path: str) -> Path | None:
    """The local folder that a Hadoop path means; None for another file system.

    >>> local_path("/data/lake"), local_path("file:///data/my%20lake"), local_path("s3a://bucket/lake")
    (PosixPath('/data/lake'), PosixPath('/data/my lake'), None)
    """
    if path.startswith("file:"):
        return Path(unquote("/" + path.removeprefix("file:").lstrip("/")))
    return None if _SCHEME.match(path) else Path(path)


def parse_properties(text: str) -> dict[str, str]:
    r"""A Java properties file as Hudi writes it: `key=value` lines, some characters escaped.

    >>> parse_properties("#written\nhoodie.table.name=orders\nhoodie.x=a\\:b\\=c\n")
    {'hoodie.table.name': 'orders', 'hoodie.x': 'a:b=c'}
    """
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith(("#", "!")))
    return {_ESCAPED.sub(r"\1", key.strip()): _ESCAPED.sub(r"\1", value.strip()) for key, value in pairs}


def _table_check(name: str, folder: Path, table: LakeTable) -> Check:
    if table.owned:
        return Check(name, "ok", f"{folder} is a {table.type} table of ours")
    ordering = ", ".join(table.ordering_fields) or "none"
    detail = (
        f"{folder} was made by another writer (ordering field: {ordering}): sweep reads it, pull and apply refuse it"
    )
    return Check(name, "warn", detail, "to pull and correct, name a new lake.path")
