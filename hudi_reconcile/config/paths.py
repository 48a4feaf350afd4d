"""PURE: paths that must keep apart: no table lies on or inside another, and no output on a run or the runs' log.

Hadoop paths of lakes that are relative start at the config's folder, as local ones do.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hudi_reconcile.config.fields import Finding, Raw

_LINEAGE = ("openlineage", "file")
_OURS = re.compile(r"\.|audit\.|\d{8}T\d{6}Z-")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def resolve_lake_path(path: str, folder: Path) -> str:
    """The path as Hadoop gets it: as written where it has a scheme, else absolute.

    Raises:
        ValueError: blank, or starts with `~`, which Hadoop takes for a folder's name.
    """
    if not path.strip() or "\0" in path:
        raise ValueError("not a path")
    if path.startswith("~"):
        raise ValueError("~ is not expanded; write the path in full")
    return path if _SCHEME.match(path) else str(folder / path)


def lake_path_findings(paths: Sequence[str | None], folder: Path) -> Iterator[Finding]:
    """Tables whose lake path is that of an earlier table, or above or below one: their files would mix."""
    seen: list[str] = []
    for index, path in enumerate(paths):
        if path is None or not path.strip():
            continue
        here = _comparable(path, folder)
        if any(f"{here}/".startswith(f"{other}/") or f"{other}/".startswith(f"{here}/") for other in seen):
            yield ("tables", index, "lake", "path"), "is, or lies inside or around, the lake path of another table"
        seen.append(here)


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
