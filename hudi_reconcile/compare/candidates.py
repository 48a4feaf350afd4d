"""First and second look at the rows of unequal segments: which keys differ, and what each side holds for them.

Both sides are put in one heap and grouped by key: one shuffle, and NULL parts of a key meet by themselves. Everything
stays in Spark; what must not be read twice is materialised at once and fails, rather than being read again, if a part
of it is lost (localCheckpoint cuts the lineage).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.columns import (
    ComparisonShape,
    add_segment,
    digest_rows,
    in_scope,
    key_columns,
    lake_values,
    select_segments,
    source_id,
    source_values,
    watermark_micros,
    whole_row,
)
from hudi_reconcile.compare.equality import quoted, rows_are_close
from hudi_reconcile.core.sweep.drift import FindingKind
from hudi_reconcile.core.sweep.segments import SegmentSet
from hudi_reconcile.core.tables.values import IN_SCOPE

SEQNO = "_hoodie_commit_seqno"
COMMIT_TIME = "_hoodie_commit_time"
PARTITION = "_hoodie_partition_path"
_SIDE = "side"
_IN_SCOPE = "in_scope"


def source_images(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The source's rows of some segments: key, digest, watermark, and the whole row as `source_row`."""
    marks = (
        f"{watermark_micros('source', shape)} as source_micros",
        f"{source_id(shape)} as source_id",
        f"{in_scope(frame)} as {_IN_SCOPE}",
        f"{whole_row(name for name in frame.columns if name != IN_SCOPE)} as source_row",
    )
    rows = select_segments(digest_rows(frame, "source", shape, *marks), segments)
    return rows.withColumnRenamed("digest", "source_digest").selectExpr("*", f"'source' as {_SIDE}")


def lake_images(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The lake's rows of some segments, one line per copy: key, version, and what that copy holds as `image`."""
    own = [name for name in frame.columns if not name.startswith("_hoodie_") and name != IN_SCOPE]
    facts = (
        f"{in_scope(frame)} as {_IN_SCOPE}",
        f"{SEQNO} as seqno",
        f"{watermark_micros('lake', shape)} as lake_micros",
        f"{COMMIT_TIME} as lake_commit_time",
        f"{PARTITION} as lake_partition_path",
        f"{whole_row(own)} as lake_row",
    )
    rows = select_segments(digest_rows(frame, "lake", shape, *facts), segments)
    image = "struct(digest, lake_micros, lake_commit_time, lake_partition_path, lake_row) as image"
    return rows.selectExpr("segment", *shape.key_names, "seqno", _IN_SCOPE, image, f"'lake' as {_SIDE}")


def lake_versions(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """Key and version of the lake's rows of some segments, one line per copy; needs no other column of the table."""
    placed = add_segment(frame.selectExpr(*key_columns("lake", shape), f"{SEQNO} as seqno"), shape)
    return select_segments(placed, segments)


def by_key(source: DataFrame, lake: DataFrame, shape: ComparisonShape, *others: DataFrame) -> DataFrame:
    """One line per key with what both sides hold: `in_source`, `source_*`, `lake_copies`, `lake_seqnos`, `lake_*`, `in_scope`.

    `source_rows` says how many rows the source has of it: of more than one, `source_digest` and `source_row` may be of two.

    Of a key that the lake holds twice, the copy with the greatest version is shown, so that two looks agree. `others`
    hold the key and further columns, at most one line per key; those columns are kept.
    """
    heap = source.unionByName(lake, allowMissingColumns=True)
    kept: list[str] = []
    for other in others:
        kept += [name for name in other.columns if name not in ("segment", *shape.key_names)]
        heap = heap.unionByName(other, allowMissingColumns=True)
    facts = (
        f"max(coalesce({_SIDE} = 'source', false)) as in_source",
        f"count(case when {_SIDE} = 'source' then 1 end) as source_rows",
        *[f"max({name}) as {name}" for name in ("source_digest", "source_micros", "source_id")],
        "first(source_row, true) as source_row",
        f"count(case when {_SIDE} = 'lake' then 1 end) as lake_copies",
        f"coalesce(max({_IN_SCOPE}), false) as {_IN_SCOPE}",
        "sort_array(collect_list(seqno)) as lake_seqnos",
        "max_by(image, seqno) as image",
        *[f"first({quoted(name)}, true) as {quoted(name)}" for name in kept],
    )
    # One expression, taken apart again: each one more is some calls to the JVM.
    grouped = heap.groupBy("segment", *shape.key_names).agg(F.expr(f"struct({', '.join(facts)}) as facts"))
    image = ("lake_micros", "lake_commit_time", "lake_partition_path", "lake_row")
    flat = grouped.selectExpr("segment", *shape.key_names, "facts.*")
    return flat.selectExpr(
        *[quoted(name) for name in flat.columns if name != "image"],
        "image.digest as lake_digest",
        *[f"image.{name} as {name}" for name in image],
        f"lake_copies = 1 and {_same_row(shape)} as equal",
    )


def _same_row(shape: ComparisonShape) -> str:
    """By digest, or column by column where one has a tolerance; the digest itself stays exact: it tells what moved."""
    by_digest = "coalesce(source_digest = image.digest, false)"
    items = shape.agreement.columns
    close = rows_are_close(items, source_values(items), lake_values(items, "image.lake_row"))
    return by_digest if close is None else f"({by_digest} or (in_source and {close}))"


def find_differing(source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """Keys in scope whose images differ, with what identified both images. Materialised; one row per key.

    A key is in scope where any row of it is; it is judged by all of them, so a row that moved is neither missing nor new.
    """
    differing = by_key(source, lake, shape).where(f"not equal and {_IN_SCOPE}")
    return differing.selectExpr(*_first_look(shape), "false as was_silent").localCheckpoint(eager=True)


def _first_look(shape: ComparisonShape) -> tuple[str, ...]:
    images = ("source_digest", "source_micros", "lake_seqnos")
    return ("segment", *shape.key_names, "true as was_candidate", *(f"{name} as first_{name}" for name in images))


def look_again(candidates: DataFrame, source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The facts, after the second read, of every candidate and of every key that differs only now; one row per key.

    Keys that differ only now were never seen twice: they are not `unchanged`, so they can be pending or moving but never
    drift. Without them a difference that the first read missed would vanish from the verdict.
    """
    was_candidate = "coalesce(was_candidate, false)"
    compared = by_key(source, lake, shape, candidates).where(f"{was_candidate} or (not equal and {_IN_SCOPE})")
    return compared.selectExpr(
        "*", f"{was_candidate} and {_SAME_IMAGES} as unchanged", f"{_CHANGED_SILENTLY} as silently"
    )


_SAME_IMAGES = "(first_source_digest <=> source_digest and first_lake_seqnos <=> lake_seqnos)"
# The source's row changed between the looks while its watermark stayed.
_CHANGED_SILENTLY = (
    "coalesce(was_candidate and first_source_digest <> source_digest and first_source_micros <=> source_micros, false)"
)


def look_at_moving(found: DataFrame, source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The facts of the findings that were moving, held against the look before; of no other key."""
    moving = found.where(f"kind = '{FindingKind.MOVING.value}'")
    before = moving.selectExpr(*_first_look(shape), "silent as was_silent")
    return look_again(before, source, lake, shape).where("was_candidate")
