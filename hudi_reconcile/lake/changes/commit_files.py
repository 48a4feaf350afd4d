"""What a commit's metadata tells of the files that it wrote or replaced. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from hudi_reconcile.core.change_range import Commit, FileGroup, RowCounts, WrittenFile
from hudi_reconcile.lake.bridge import Action
from hudi_reconcile.lake.metadata import PREFIX
from hudi_reconcile.lake.timeline import instant_of

_REPLACED = "partitionToReplaceFileIds"
_WRITTEN = "partitionToWriteStats"
# Where a table has this, its columns go by identity and not by the names that are in the files.
_BY_IDENTITY = "latest_schema"


def is_service(document: dict[str, Any]) -> bool:
    """True for the metadata of a compaction or clustering."""
    return document.get("operationType") in ("COMPACT", "LOG_COMPACT", "CLUSTER")


def is_compaction(document: dict[str, Any]) -> bool:
    """True for the metadata of a compaction: rows stay in their file group and keep their versions."""
    return document.get("operationType") in ("COMPACT", "LOG_COMPACT")


def commit_of(action: Action, document: dict[str, Any]) -> Commit:
    """A commit from its metadata. `schema` is none where the names of columns in files may be others than the table's."""
    written = {
        (part, stat["fileId"])
        for part, stats in (document.get(_WRITTEN) or {}).items()
        for stat in stats
        if stat.get("fileId")
    }
    replaced = {(part, one) for part, ids in (document.get(_REPLACED) or {}).items() for one in ids}
    extra = document.get("extraMetadata") or {}
    labels = {name.removeprefix(PREFIX): text for name, text in extra.items() if name.startswith(PREFIX)}
    schema = None if _BY_IDENTITY in extra else extra.get("schema")
    return Commit(
        instant_of(action), frozenset(written | replaced), bool(replaced), labels, tuple(_files(document)), schema
    )


def _files(document: dict[str, Any]) -> Iterator[WrittenFile]:
    for part, stats in (document.get(_WRITTEN) or {}).items():
        for stat in stats:
            if stat.get("fileId") and stat.get("path"):
                previous = stat.get("prevCommit")
                yield WrittenFile(
                    (part, stat["fileId"]),
                    stat["path"],
                    None if previous in (None, "null") else previous,
                    _counts(stat),
                    bool(stat.get("cdcStats")),
                )


def _counts(stat: dict[str, Any]) -> RowCounts | None:
    counts = [stat.get(name) for name in ("numWrites", "numInserts", "numUpdateWrites", "numDeletes")]
    return None if None in counts else RowCounts(*map(int, cast("list[int]", counts)))


def bytes_of(documents: Iterable[dict[str, Any]]) -> Mapping[FileGroup, float]:
    """At most how large one version of each file group is: its largest base file and all its log files. Pure."""
    base: Counter[FileGroup] = Counter()
    logs: Counter[FileGroup] = Counter()
    for document in documents:
        for part, stats in (document.get(_WRITTEN) or {}).items():
            for stat in stats:
                group, size = (part, stat["fileId"]), stat.get("fileSizeInBytes") or 0
                if ".log." in (stat.get("path") or ""):
                    logs[group] += size
                else:
                    base[group] = max(base[group], size)
    return {group: base[group] + logs[group] for group in base}
