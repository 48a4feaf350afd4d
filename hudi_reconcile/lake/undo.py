"""What one corrective commit changed, as a batch that takes it back, from the lake's own history; and savepoints of ours.

The commit was made while no other writer was in flight, so the snapshots just before and at it differ by it alone. Hudi
shows a snapshot whose files were cleaned without them and without a word: then rows would look as if the commit had brought
or removed them. So the cleaner is asked before and after the read, and the keys are counted. One savepoint is kept, older
ones of ours are given up, those of others stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.tables.values import READ_SEQ, Instant, LakeColumn, LakePin, LakeTable
from hudi_reconcile.lake.bridge import Savepoints, Timeline
from hudi_reconcile.lake.commit import Target
from hudi_reconcile.lake.correct import match_keys
from hudi_reconcile.lake.reads import redact_failures
from hudi_reconcile.lake.table import METADATA_PARTITIONS
from hudi_reconcile.lake.timeline import KEYS, WrittenKeys, parse_keys
from hudi_reconcile.ports import Corrective, Frame, TakenBack

MOST_COMMITS_SINCE = 10  # Hudi's own default of commits whose files a cleaner keeps
_SEQNO = "_hoodie_commit_seqno"


_FORWARD = "correct forward: hudi-reconcile sweep, then apply; and set policy.savepoint: always for the next time"
# Timestamps to the microsecond: rows that differ in less than Spark's default shows are not the same.
_EXACT = dict.fromkeys(("timestampFormat", "timestampNTZFormat"), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")


@dataclass(frozen=True, slots=True)
class Wrote:
    """A commit of ours: the keys that it says it wrote (None: it does not say), and whether it wrote partitions anew."""

    instant: Instant
    keys: WrittenKeys | None
    anew: bool


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The table just before the commit, at it, and now; and after each commit between the last two."""

    before: DataFrame
    at: DataFrame
    now: DataFrame
    between: tuple[DataFrame, ...] = ()


def find_snapshots_around(line: Timeline, commit: Instant, path: str) -> tuple[LakePin, LakePin]:
    """The snapshots just before the commit and just after it.

    Raises RefusedError where files of theirs may have been cleaned. True for the timeline as given: ask again after reading.
    """
    done = line.list_completed()
    before = max((action.requested for action in done if (action.completed or "") < commit.completed), default=None)
    kept = line.savepoints()
    both = [instant for instant in (before, commit.requested) if instant is not None]
    cleaned = {instant for instant in both if instant not in kept and line.has_cleaned(instant)}
    since = None
    if any(action.requested == commit.requested for action in done):
        since = sum((action.completed or "") > commit.completed for action in done)
    why = find_snapshot_fault(before, commit.requested, since=since, kept=kept, cleaned=cleaned)
    if why is not None:
        raise RefusedError(f"Hudi table {path}: the rows from before {commit.completed} {why}", fix=_FORWARD)
    return LakePin(Instant(before or "", before or ""), ()), LakePin(commit, ())


def find_snapshot_fault(
    before: str | None, at: str, *, since: int | None, kept: Collection[str], cleaned: Collection[str]
) -> str | None:
    """Why the snapshots before a commit and at it need not be whole; None where they are.

    `since`: completed writes after the commit, None where it is archived; `kept` have a savepoint; of `cleaned` the cleaner
    may have taken files. A savepoint keeps the files of its own snapshot alone. Pure.
    """
    if before is None or since is None:
        return "are no longer on the active timeline"
    if before in cleaned:
        return "may be cleaned: a cleaner ran since, and no savepoint from before"
    if since > MOST_COMMITS_SINCE and before not in kept:
        return f"may be cleaned: {since} commits since (limit {MOST_COMMITS_SINCE}), and no savepoint from before"
    if at in cleaned:
        return "cannot be told from later changes: a cleaner took what the commit itself left"
    return None


def read_written(line: Timeline, commit: Instant) -> Wrote:
    """What the commit says of itself."""
    said = [text for text, action in line.metadata(KEYS, archived=False) if action.requested == commit.requested]
    anew = any(
        action.requested == commit.requested and action.action == "replacecommit" for action in line.list_completed()
    )
    return Wrote(commit, parse_keys(said[0]) if said else None, anew)


def list_snapshots_since(line: Timeline, commit: Instant) -> tuple[LakePin, ...]:
    """The snapshots after each write since the commit but the newest."""
    after = [action for action in line.list_completed() if (action.completed or "") > commit.completed]
    times = sorted(action.requested for action in after if not line.is_service(action))
    return tuple(LakePin(Instant(time, time), ()) for time in times[:-1])


def revert_rows(seen: Snapshots, table: LakeTable, wrote: Wrote, read_seq: int) -> TakenBack:
    """Every key that the commit wrote and nobody touched since, as it was before. Few jobs, then lazy frames.

    Raises RefusedError where the keys are not as many as the commit says that it wrote, or none.
    """
    rows = _judge_rows(seen, table, wrote).localCheckpoint(eager=True)
    if seen.between and not rows.where(_is_gone()).isEmpty():
        rows = _drop_revived(rows, seen.between, table).localCheckpoint(eager=True)
    counts = {
        (row["action"], row["status"]): row["count"] for row in rows.groupBy("action", "status").count().collect()
    }
    refuse_unlike(counts, wrote, table.path)
    keys = [F.col(f"`{name}`") for name in table.record_key]
    ready = rows.where("status = 'ready'")
    upserts = ready.where("action = 'upsert'").select("before.row.*")
    if table.foreign is None:
        upserts = upserts.withColumn(READ_SEQ, F.lit(read_seq).cast("bigint"))
    expected = ready.select(*keys, F.col("now.sn").alias("_hr_seqno"))
    deletes = ready.where("action = 'delete'").select("now.row.*")
    return TakenBack(counts, Corrective(Frame(upserts), Frame(deletes), Frame(expected), sum(counts.values())))


def refuse_unlike(counts: Mapping[tuple[str, str], int], wrote: Wrote, path: str) -> None:
    """Raises RefusedError where the rows by (action, status) are not those that the commit says it wrote, or none. Pure."""
    shown = {name: sum(rows for (action, _), rows in counts.items() if action == name) for name in ("upsert", "delete")}
    keys = WrittenKeys(there=shown["upsert"], new=shown["delete"])
    if keys == WrittenKeys(0, 0) or wrote.keys not in (None, keys):
        said = (
            "rows" if wrote.keys is None else f"{wrote.keys.there} rows that the lake had and {wrote.keys.new} new ones"
        )
        raise RefusedError(
            f"Hudi table {path}: commit {wrote.instant.completed} wrote {said}, and the lake's history shows {keys.there} and "
            f"{keys.new}: files are cleaned, or the merge dropped rows",
            fix=_FORWARD,
        )


def _judge_rows(seen: Snapshots, table: LakeTable, wrote: Wrote) -> DataFrame:
    marked = [
        _images(seen.before, table, "before"),
        _images(seen.at, table, "at"),
        _images(seen.now, table, "now"),
    ]
    heap = reduce(lambda heap, frame: heap.unionByName(frame, allowMissingColumns=True), marked)
    by_key = heap.groupBy(*[F.col(f"`{name}`") for name in table.record_key]).agg(
        *[F.first(name, ignorenulls=True).alias(name) for name in ("before", "at", "now")],
        F.count("at").alias("copies_at"),
        F.count("now").alias("copies"),
    )
    ours = F.col("at.sn").startswith(f"{wrote.instant.requested}_")
    changed = ours | (F.col("at").isNull() & F.col("before").isNotNull())
    if wrote.anew:
        # Partitions that were written anew hold other rows, too, as they were: a key that stays doubled is one of those.
        same = F.to_json("before.row", _EXACT).eqNullSafe(F.to_json("at.row", _EXACT))
        changed = changed & ~same & (F.col("copies_at") <= 1)
    untouched = F.col("at.sn").eqNullSafe(F.col("now.sn")) & (F.col("copies") <= 1)
    return (
        by_key.where(changed)
        .withColumn("status", F.when(untouched, "ready").otherwise("superseded"))
        .withColumn("action", F.when(F.col("before").isNull(), "delete").otherwise("upsert"))
    )


def _is_gone() -> SparkColumn:
    return (F.col("status") == "ready") & F.col("now").isNull()


def _drop_revived(rows: DataFrame, between: tuple[DataFrame, ...], table: LakeTable) -> DataFrame:
    """Keys that the commit removed, that came back since and are gone again, are superseded: absence has no version."""
    key_types = [column for column in table.columns if column.name in table.record_key]
    shown = [frame.select(*[_cast_column(c, set(frame.columns)).alias(c.name) for c in key_types]) for frame in between]
    asked = rows.where(_is_gone()).select(*table.record_key).alias("a")
    seen = reduce(DataFrame.unionByName, shown).alias("s")
    back = seen.join(asked, match_keys("s", "a", table.record_key), "left_semi").distinct()
    marked = back.withColumn("_hr_back", F.lit(True)).alias("b")
    joined = rows.alias("r").join(marked, match_keys("r", "b", table.record_key), "left")
    status = F.when(F.col("_hr_back"), "superseded").otherwise(F.col("status")).alias("status")
    return joined.select(*[F.col(f"r.`{name}`") for name in rows.columns if name != "status"], status)


def count_matching(upserts: DataFrame, now: DataFrame, table: LakeTable) -> int:
    """How many of the upserts the lake shows as they should be, but for the read sequence."""
    columns = [column.name for column in table.columns if column.name != READ_SEQ]
    both = upserts.alias("u").join(now.alias("n"), reduce(SparkColumn.__and__, _same(table.record_key)))
    return both.where(reduce(SparkColumn.__and__, _same(columns))).count()


def _same(names: tuple[str, ...] | list[str]) -> list[SparkColumn]:
    return [F.col(f"u.`{name}`").eqNullSafe(F.col(f"n.`{name}`")) for name in names]


def _images(frame: DataFrame, table: LakeTable, name: str) -> DataFrame:
    # An earlier snapshot has the columns and types of its time; types only ever get wider.
    there = set(frame.columns)
    row = F.struct(*[_cast_column(column, there).alias(column.name) for column in table.columns]).alias("row")
    keys = [F.col(f"`{key}`") for key in table.record_key]
    return frame.select(*keys, F.struct(F.col(_SEQNO).alias("sn"), row).alias(name))


def _cast_column(column: LakeColumn, there: set[str]) -> SparkColumn:
    return (F.col(f"`{column.name}`") if column.name in there else F.lit(None)).cast(column.type)


def revert_batch(
    spark: SparkSession,
    commit: Instant,
    table: LakeTable,
    now: LakePin,
    read_seq: int,
    *,
    read: Callable[[LakePin], DataFrame],
) -> TakenBack:
    """What takes a corrective commit back, for keys untouched until `now`.

    Raises RefusedError where files of the snapshots around the commit may have been cleaned.
    """
    path = table.path
    line = Timeline(spark, path)  # not older than the snapshot: no commit between is overlooked
    pins = (*find_snapshots_around(line, commit, path), now, *list_snapshots_since(line, commit))
    before, at, newest, *between = (read(pin) for pin in pins)
    with redact_failures(path):
        seen = Snapshots(before, at, newest, tuple(between))
        reversal = revert_rows(seen, table, read_written(line, commit), read_seq)
    find_snapshots_around(Timeline(spark, path), commit, path)  # a cleaner may have come while it was read
    return reversal


SAVED_BY = "hudi-reconcile"


def keep_one(target: Target, comment: str, earlier: Sequence[str] = ()) -> str:
    """Keep the first of the earlier snapshots that still has a savepoint, else the newest. Returns its instant.

    One that has a savepoint already, whoever made it, is kept as it is.
    """
    line = Timeline(target.spark, target.path)
    newest, kept = max((action.requested for action in line.list_completed()), default=""), line.savepoints()
    requested = next((instant for instant in earlier if instant in kept), newest)
    if requested not in kept:
        line.drop_unfinished_savepoint(requested)
        _savepoints(target, line).make(requested, SAVED_BY, comment)
    return requested


def drop_ours(target: Target, keep: str) -> tuple[str, ...]:
    """Remove every savepoint of ours but one; those of others stay. Returns those removed."""
    line = Timeline(target.spark, target.path)
    old = tuple(instant for instant, user in line.savepoints().items() if user == SAVED_BY and instant != keep)
    for requested in old:
        _savepoints(target, line).remove(requested)
    return old


def _savepoints(target: Target, line: Timeline) -> Savepoints:
    has_metadata_table = bool(line.properties().get(METADATA_PARTITIONS, ""))
    return Savepoints(target.spark, target.path, target.name, has_metadata_table)
