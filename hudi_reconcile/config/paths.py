"""PURE: paths that must keep apart: no table lies on or inside another, and no output on a run or the runs' log.

Hadoop paths of lakes that are relative start at the config's folder, as local ones do.
"""

from __future__ import annotations

import posixpath
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, WithJsonSchema

from hudi_reconcile.config.fields import Finding, Raw, Text, local_path

_LINEAGE = ("openlineage", "file")
_OURS = re.compile(r"\.|audit\.|\d{8}T\d{6}Z-")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# USER:SECRET@ before a host, also with a slash in the secret; not HOST:PORT before a path.
_CREDENTIALS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/@]*:(?!\d*(?:/|$))[^@]*@")
_Tree = dict[str | None, "_Tree"]

OWNERS_MODE = 0o700
_MODE = re.compile(r"0?[0-7]{3,4}")
_MODE_RULE = (
    "is the mode of folders in octal, as text: the owner has all rights and others cannot write, such as"
    ' "0700" or "0750"; files get it without x'
)
_REPORTS_KEYS = {"path", "mode"}


def _reports(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, Mapping):
        return _local_folder(value, info)
    if unknown := sorted(str(key) for key in value if key not in _REPORTS_KEYS):
        raise ValueError(f"unknown key {', '.join(map(ascii, unknown))}; legal: path, mode")
    reports_mode(value)
    return _local_folder(value.get("path", REPORTS), info)


def _local_folder(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and (scheme := _SCHEME.match(value)):
        raise ValueError(
            f"reports is a local or mounted folder: {scheme.group()} is a URL's scheme; write a path without one, such as"
            " /mnt/reports (a folder with a colon: ./NAME)"
        )
    return local_path(value, info)


def reports_mode(reports: object) -> int:
    """The mode of the folders below `reports`, the owner's alone unless the config widens it.

    >>> oct(reports_mode({"mode": "2750"})), oct(reports_mode("reports"))
    ('0o2750', '0o700')

    Raises:
        ValueError: no octal text, the owner lacks a right, or others may write.
    """
    if not isinstance(reports, Mapping) or "mode" not in reports:
        return OWNERS_MODE
    text = reports["mode"]
    mode = int(text, 8) if isinstance(text, str) and _MODE.fullmatch(text) else 0
    if mode & OWNERS_MODE != OWNERS_MODE or mode & (stat.S_IWOTH | stat.S_ISUID):
        raise ValueError(f"mode {_MODE_RULE}")
    return mode


REPORTS = "reports"
ReportsPath = Annotated[
    Path,
    BeforeValidator(_reports),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "path": {"type": "string", "minLength": 1},
                        "mode": {"type": "string", "pattern": r"^0?[0-7]?7[0-7][0145]$", "examples": ["0750"]},
                    },
                },
            ]
        }
    ),
]


_STORES = ("s3", "gs", "abfs", "hdfs", "file")


def _store(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in _STORES or parts.username or parts.password or "secret" in parts.query.lower():
        known = ", ".join(f"{scheme}://" for scheme in _STORES)
        raise ValueError(f"not an address without keys that starts with {known}; the machine gives the keys")
    return address


StoreAddress = Annotated[Text, AfterValidator(_store)]


def resolve_lake_path(path: str, folder: Path) -> str:
    """The path as Hadoop gets it: as written where it has a scheme, else absolute.

    Raises:
        ValueError: blank, starts with `~`, which Hadoop takes for a folder's name, or holds credentials.

    >>> resolve_lake_path("hdfs://name:8020/lake/a@b", Path("/etc"))
    'hdfs://name:8020/lake/a@b'
    """
    if not path.strip() or "\0" in path:
        raise ValueError("not a path")
    if _CREDENTIALS.match(path):
        raise ValueError("holds credentials, which every result would show; docs/object-stores.md says where they go")
    if path.startswith("~"):
        raise ValueError("~ is not expanded; write the path in full")
    return path if _SCHEME.match(path) else str(folder / path)


def lake_path_findings(paths: Sequence[str | None], folder: Path) -> Iterator[Finding]:
    """Tables whose lake path is that of an earlier table, or above or below one: their files would mix."""
    tree: _Tree = {}  # by the steps of the paths; None where one ends
    for index, path in enumerate(paths):
        if path is None or not path.strip():
            continue
        here, is_shared = tree, False
        for step in _comparable(path, folder).split("/"):
            is_shared |= None in here
            here = here.setdefault(step, {})
        if is_shared or here:
            yield ("tables", index, "lake", "path"), "is, or lies inside or around, the lake path of another table"
        here[None] = {}


def output_path_findings(outputs: Raw, reports: str, folder: Path) -> Iterator[Finding]:
    """Files that runs are told to which lie in the folder of a run, or have the name of the runs' log: both are evidence."""
    home = _comparable(reports, folder)
    lineage = outputs.section("openlineage").text("file")
    for place, path in (
        *(((key,), outputs.text(key)) for key in ("junit", "prometheus", "ndjson")),
        (_LINEAGE, lineage),
    ):
        if path and path.strip() and _is_evidence(_comparable(path, folder), home):
            yield ("outputs", *place), "lies among the runs and their log in `reports`; name another path"


def _is_evidence(path: str, reports: str) -> bool:
    """True for the folder of the runs itself, and for what is in it under a name of ours: runs, made or being made, the log."""
    inside = path.removeprefix(f"{reports}/")
    return path == reports or (inside != path and _OURS.match(inside) is not None)


def _comparable(path: str, folder: Path) -> str:
    text = re.sub(r"^file:/*", "/", path)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return posixpath.normpath(str(folder / text))
    return scheme.group() + posixpath.normpath(text[scheme.end() :])
