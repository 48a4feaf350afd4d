"""A change query from a table's history to printed lines: what the app calls of this room. Frames are opaque outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.changefeed.answers import FEW_ROWS, answer, require_one_row_each
from hudi_reconcile.changefeed.lines import Mask, render_json_value, render_lines, require_struct
from hudi_reconcile.changefeed.log import check_log, filter_touched, pair_versions
from hudi_reconcile.changefeed.origin import COLUMNS, FindingsAudit, add_origin, audit_against_findings, load_kinds
from hudi_reconcile.core.changes.consumers import Chunk
from hudi_reconcile.core.changes.queries import Envelope, QueryType
from hudi_reconcile.core.changes.range import Commit, LoggedCommit, count_rows_written
from hudi_reconcile.ports import Frame


@dataclass(frozen=True, slots=True)
class Findings:
    """Where the findings are that corrections came from: folders by sweep run, and the key's columns by source name."""

    folders: Mapping[str, str] = field(default_factory=dict)
    key: Sequence[str] = ()


def select_touched(versions: Frame, *, few: bool = False) -> Frame:
    """Of the rows just before and just after each commit those that it did something to. `few` are read once, more twice."""
    return Frame(filter_touched(cast("DataFrame", versions), few=few))


def pair_images(changed: Frame, commits: Sequence[Commit]) -> Frame:
    """The change log of these commits from what they `select_touched`."""
    replacing = [n for n, commit in enumerate(commits) if commit.replaces]
    return Frame(pair_versions(cast("DataFrame", changed), replacing))


def answer_query(kind: QueryType, log: Frame, commits: Sequence[Commit], *, is_kept: bool = False) -> Frame:
    """The answer over the change log of these commits, materialised: `n`, `op`, `key`, `before`, `after`.

    `is_kept`: the log is materialised too. Raises UsageError where a key is in the table more than once and the query has no
    one row for it.
    """
    return Frame(answer(kind, cast("DataFrame", log), _instants(commits), is_kept=is_kept))


def read_log(changes: Frame, key: Sequence[str], counted: Sequence[LoggedCommit]) -> Frame | None:
    """The change log from Hudi's own, where that holds what the commits counted; None where it is not to be believed."""
    log = check_log(cast("DataFrame", changes), key, counted)
    return None if log is None else Frame(log)


def list_rows(alive: Frame, commits: Sequence[Commit] = ()) -> Frame:
    """The answer to `upsert` where its rows could be read as they are, materialised.

    Raises UsageError where a key is in it more than once.
    """
    few = count_rows_written(commits) <= FEW_ROWS
    return Frame(require_one_row_each(cast("DataFrame", alive), _instants(commits), few=few))


def _instants(commits: Sequence[Commit]) -> list[str]:
    return [commit.instant.completed for commit in commits]


def add_provenance(changes: Frame, commits: Sequence[Commit], findings: Findings, *, corrections_only: bool) -> Frame:
    """The answer with `instant` and `correction` of each change."""
    rows = cast("DataFrame", changes)
    kinds = load_kinds(rows.sparkSession, findings.folders, findings.key)
    return Frame(add_origin(rows, commits, kinds, corrections_only=corrections_only))


# As JSON, no key can look like more than one, or move the cursor of a terminal.
_KEY_TEXT = "to_json(key, map('ignoreNullFields', 'false'))"


def count_changes(rows: Frame) -> tuple[Mapping[str, int], int]:
    """How many changes there are of each op, and how many keys they are of."""
    frame = cast("DataFrame", rows)
    keys = frame.select("key").distinct().count()
    return {row[0]: row[1] for row in frame.groupBy("op").count().collect()}, keys


def find_keys_among(rows: Frame, others: Frame, most: int) -> tuple[int, tuple[str, ...]]:
    """How many keys of the changes are among others too, and the first of them in order as JSON, `most` at most."""
    keys = cast("DataFrame", rows).select("key").distinct().join(cast("DataFrame", others), "key", "left_semi")
    count = keys.count()
    if not (count and most):
        return count, ()
    return count, tuple(str(row[0]) for row in keys.orderBy("key").limit(most).selectExpr(_KEY_TEXT).collect())


def take_first(rows: Frame, limit: int) -> Frame:
    """The first changes by instant and key."""
    return Frame(cast("DataFrame", rows).orderBy("n", "key").limit(limit))


def audit_findings(rows: Frame, folder: str, key: Sequence[str], columns: Mapping[str, str]) -> FindingsAudit:
    """What of these changes the findings in a folder do not bear out."""
    return audit_against_findings(cast("DataFrame", rows), folder, key, columns)


def print_lines(rows: Frame, masks: Mapping[str, Mask], envelope: Envelope | None = None) -> Iterator[str]:
    """One JSON text per change, ordered by instant and key, a part of them at a time."""
    for row in render_lines(cast("DataFrame", rows), masks, envelope).toLocalIterator():
        yield str(row[0])


def count_by_commit(rows: Frame, commits: int) -> tuple[int, ...]:
    """How many changes there are of each of so many commits."""
    counts = {row[0]: row[1] for row in cast("DataFrame", rows).groupBy("n").count().collect()}
    return tuple(counts.get(n, 0) for n in range(commits))


def select_chunk(rows: Frame, chunk: Chunk) -> Frame:
    """The changes of a chunk. The hash is of the key's text, which no widening of its type changes."""
    of_commits = f"n >= {chunk.first} and n < {chunk.end}"
    of_keys = f" and pmod(xxhash64(to_json(key)), {chunk.shares}) = {chunk.share}" if chunk.shares > 1 else ""
    return Frame(cast("DataFrame", rows).where(of_commits + of_keys))


def save_changes(rows: Frame, path: str) -> None:
    """Write the columns that users of the API see as Parquet, in place of what is at the path."""
    show_frame(rows).write.mode("overwrite").parquet(path)


def print_rows(rows: Frame, columns: Sequence[str]) -> Iterator[tuple[str, Sequence[str | None]]]:
    """Each change as its op and the row it leaves (the row it removes, for `d`), as text, a part of them at a time."""
    frame = cast("DataFrame", rows)
    image = frame.schema["after"].dataType
    row = F.coalesce("after", "before")
    values = [render_json_value(row[name], require_struct(image)[name].dataType).cast("string") for name in columns]
    for change in frame.select("op", F.array(*values)).toLocalIterator():
        yield change[0], change[1]


def show_frame(rows: Frame) -> DataFrame:
    """The columns that users of the API see."""
    return cast("DataFrame", rows).select(*COLUMNS)
