"""First and second look at the rows of unequal segments: which keys differ, and what each side holds for them.

Both sides are put in one heap and grouped by key: one shuffle, and NULL parts of a key meet by themselves. Everything
stays in Spark; what must not be read twice is materialised at once and fails, rather than being read again, if a part
of it is lost (localCheckpoint cuts the lineage).
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.columns import (
    HIGH_HALF,
    LOW_HALF,
    ComparisonShape,
    list_lake_values,
    list_source_values,
    place_rows,
    write_digest,
    write_halves,
    write_scope,
    write_segment,
    write_source_id,
    write_watermark,
    write_whole_row,
)
from hudi_reconcile.compare.equality import rows_are_close
from hudi_reconcile.core.sweep.drift import FindingKind
from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet
from hudi_reconcile.core.tables.key_encoding import MOST_ASKED
from hudi_reconcile.core.tables.values import IN_SCOPE
from hudi_reconcile.sql.spark_text import quote_name

SEQNO = "_hoodie_commit_seqno"
COMMIT_TIME = "_hoodie_commit_time"
PARTITION = "_hoodie_partition_path"
_SIDE = "side"
_IN_SCOPE = "in_scope"
# What a candidate adds to the gap of its segment (`ports.SegmentDigest`), and how many rows more the source has of it.
_GAP = ("rows_more", "gap_high", "gap_low")


def select_source_images(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The source's rows of some segments: key, digest, watermark, and the whole row as `source_row`."""
    facts = (
        f"{write_digest('source', shape)} as source_digest",
        f"{write_watermark('source', shape)} as source_micros",
        f"{write_source_id(shape)} as source_id",
        f"{write_scope(frame)} as {_IN_SCOPE}",
        f"{write_whole_row(name for name in frame.columns if name != IN_SCOPE)} as source_row",
        f"'source' as {_SIDE}",
    )
    return place_rows(frame, "source", shape, segments, *facts)


def select_lake_images(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The lake's rows of some segments, one line per copy: key, version, and what that copy holds as `image`."""
    own = [name for name in frame.columns if not name.startswith("_hoodie_") and name != IN_SCOPE]
    image = (
        f"{write_digest('lake', shape)} as digest",
        f"{write_watermark('lake', shape)} as lake_micros",
        f"{COMMIT_TIME} as lake_commit_time",
        f"{PARTITION} as lake_partition_path",
        f"{write_whole_row(own)} as lake_row",
    )
    facts = (
        f"{SEQNO} as seqno",
        f"{write_scope(frame)} as {_IN_SCOPE}",
        f"struct({', '.join(image)}) as image",
        f"'lake' as {_SIDE}",
    )
    return place_rows(frame, "lake", shape, segments, *facts)


def select_lake_versions(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """Key and version of the lake's rows of some segments, one line per copy; needs no other column of the table."""
    return place_rows(frame, "lake", shape, segments, f"{SEQNO} as seqno")


def digest_copies(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """Key and digest of the lake's rows of some segments, one line per copy."""
    return place_rows(frame, "lake", shape, segments, f"{write_digest('lake', shape)} as lake_digest")


def is_worth_picking(keys: DataFrame, segments: SegmentSet) -> bool:
    """Whether the rows of these keys are to be picked before rows are grouped: few keys in many segments; one small job.

    Every task gets all the keys, so that there is an end to their number. Of finer segments nearly every row is asked for.
    """
    return segments.is_many and segments.finer is None and keys.limit(MOST_ASKED + 1).count() <= MOST_ASKED


def pick_images(images: DataFrame, keys: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The images of these keys alone, so that no other row is shuffled; lazy."""
    return images.join(F.broadcast(_rename_keys(keys, shape)), _same_key(shape), "left_semi")


def _rename_keys(keys: DataFrame, shape: ComparisonShape) -> DataFrame:
    return keys.selectExpr(*[f"{name} as hr_{name}" for name in shape.key_names])


def _same_key(shape: ComparisonShape) -> Column:
    return F.expr(" and ".join(f"{name} <=> hr_{name}" for name in shape.key_names))


def group_by_key(source: DataFrame, lake: DataFrame, shape: ComparisonShape, *others: DataFrame) -> DataFrame:
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
    facts = {
        "in_source": f"max(coalesce({_SIDE} = 'source', false))",
        "source_rows": f"count(case when {_SIDE} = 'source' then 1 end)",
        **{name: f"max({name})" for name in ("source_digest", "source_micros", "source_id")},
        "source_row": "first(source_row, true)",
        "lake_copies": f"count(case when {_SIDE} = 'lake' then 1 end)",
        _IN_SCOPE: f"coalesce(max({_IN_SCOPE}), false)",
        "lake_seqnos": "sort_array(collect_list(seqno))",
        "image": "max_by(image, seqno)",
        **{name: f"first({quote_name(name)}, true)" for name in kept},
    }
    # One expression, taken apart again: each one more is some calls to the JVM.
    listed = ", ".join(f"{fact} as {quote_name(name)}" for name, fact in facts.items())
    grouped = heap.groupBy("segment", *shape.key_names).agg(F.expr(f"struct({listed}) as facts"))
    image = ("lake_micros", "lake_commit_time", "lake_partition_path", "lake_row")
    return grouped.selectExpr(
        "segment",
        *shape.key_names,
        *[f"facts.{quote_name(name)} as {quote_name(name)}" for name in facts if name != "image"],
        "facts.image.digest as lake_digest",
        *[f"facts.image.{name} as {name}" for name in image],
        f"facts.source_rows = 1 and facts.lake_copies = 1 and {_same_row(shape)} as equal",
    )


def _same_row(shape: ComparisonShape) -> str:
    """By digest, or column by column where one has a tolerance; the digest itself stays exact: it tells what moved."""
    by_digest = "coalesce(facts.source_digest = facts.image.digest, false)"
    items = shape.agreement.columns
    rows = (list_source_values(items, "facts.source_row"), list_lake_values(items, "facts.image.lake_row"))
    close = rows_are_close(items, *rows)
    return by_digest if close is None else f"({by_digest} or (facts.in_source and {close}))"


def find_differing(source: DataFrame, lake: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """Keys in scope whose images differ, with what identified both images. Materialised; one row per key.

    A key is in scope where any row of it is; it is judged by all of them, so a row that moved is neither missing nor new.
    """
    if shape.agreement.is_tolerant:
        images = select_source_images(source, shape, segments), select_lake_images(lake, shape, segments)
        candidates = group_by_key(*images, shape).where(f"not equal and {_IN_SCOPE}").selectExpr(*_first_look(shape))
        return candidates.localCheckpoint(eager=True)
    return _narrow(source, lake, shape, segments).localCheckpoint(eager=True)


def _narrow(source: DataFrame, lake: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The same by digests alone: numbers are grouped, and no whole row."""
    ours = _source_numbers(write_digest("source", shape), write_watermark("source", shape), write_scope(source))
    theirs = _lake_numbers(write_digest("lake", shape), SEQNO, write_scope(lake))
    rows = place_rows(source, "source", shape, segments, *ours), place_rows(lake, "lake", shape, segments, *theirs)
    different = _unlike(*rows, shape)
    first = [f"facts.{name} as first_{name}" for name in ("source_digest", "source_micros", "versions")]
    return different.selectExpr(*_head(shape), *first, "false as was_silent", *[f"facts.{name}" for name in _GAP])


_UNKNOWN = "cast(null as bigint)"


def _source_numbers(digest: str, micros: str, scope: str) -> tuple[str, ...]:
    """What tells whether a row differs, as SQL of the source's side; the lake's has the same columns."""
    own = f"{digest} as source_digest", f"{micros} as source_micros"
    return (*own, f"{_UNKNOWN} as lake_digest", f"{_UNKNOWN} as version", f"{scope} as {_IN_SCOPE}")


def _lake_numbers(digest: str, seqno: str, scope: str) -> tuple[str, ...]:
    own = f"{digest} as lake_digest", f"{number_version(seqno)} as version", f"{scope} as {_IN_SCOPE}"
    return (f"{_UNKNOWN} as source_digest", "null as source_micros", *own)


def _unlike(ours: DataFrame, theirs: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The keys in scope whose digests differ, with what both sides hold of them as `facts`; lazy."""
    halves = zip(write_halves("source_digest"), write_halves("lake_digest"), strict=True)
    adds = ("if(source_digest is null, -1L, 1L)", *(f"coalesce({plus}, -{minus})" for plus, minus in halves))
    facts = (
        *(f"sum(if({_IN_SCOPE}, {added}, 0L)) as {name}" for name, added in zip(_GAP, adds, strict=True)),
        "max(source_digest) as source_digest",
        "max(source_micros) as source_micros",
        "count(source_digest) = 1 and count(lake_digest) = 1 and max(source_digest) = max(lake_digest) as equal",
        "coalesce(sum(version), 0L) as versions",
        f"max({_IN_SCOPE}) as {_IN_SCOPE}",
    )
    grouped = ours.unionAll(theirs).groupBy("segment", *shape.key_names)
    return grouped.agg(F.expr(f"struct({', '.join(facts)}) as facts")).where(f"not facts.equal and facts.{_IN_SCOPE}")


def _head(shape: ComparisonShape) -> tuple[str, ...]:
    return ("segment", *shape.key_names, "true as was_candidate")


def _first_look(shape: ComparisonShape, was_silent: str = "false") -> tuple[str, ...]:
    images = ("source_digest", "source_micros")
    first = [f"{name} as first_{name}" for name in images]
    return (*_head(shape), *first, f"{_VERSIONS} as first_versions", f"{was_silent} as was_silent")


def number_version(seqno: str) -> str:
    """A version of a row as a number whose sum over a key's copies names them all; of 40 bits, so that none overflows."""
    return f"shiftrightunsigned(xxhash64({seqno}), 24)"


_VERSIONS = f"aggregate(lake_seqnos, 0L, (total, seqno) -> total + {number_version('seqno')})"


def count_one_sided(candidates: DataFrame) -> DataFrame:
    """By segment, how many candidates only the source had (`source_rows`), and how many only the lake (`lake_rows`); lazy."""
    facts = (
        "count_if(first_source_digest is not null and first_versions = 0) as source_rows",
        "count_if(first_source_digest is null) as lake_rows",
    )
    return candidates.groupBy("segment").agg(*map(F.expr, facts))


def locate(rows: DataFrame, shape: ComparisonShape, finer: Segmentation) -> DataFrame:
    """`segment` and segment of the `finer` cut in which rows lie; of candidates the sums of their gaps; lazy."""
    place, columns = write_segment(replace(shape, segmentation=finer)), rows.columns
    gaps = [name if name in columns else f"0L as {name}" for name in _GAP]
    placed = rows.selectExpr("segment", f"{place} as finer", *gaps)
    return placed.groupBy("segment", "finer").agg(*[F.expr(f"sum({name}) as {name}") for name in _GAP])


def look_again(candidates: DataFrame, source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The facts, after the second read, of every candidate and of every key that differs only now; one row per key.

    Keys that differ only now were never seen twice: they are not `unchanged`, so they can be pending or moving but never
    drift. Without them a difference that the first read missed would vanish from the verdict.
    """
    was_candidate = "coalesce(was_candidate, false)"
    before = candidates.drop(*_GAP)
    compared = group_by_key(source, lake, shape, before).where(f"{was_candidate} or (not equal and {_IN_SCOPE})")
    return compared.selectExpr(
        "*", f"{was_candidate} and {_SAME_IMAGES} as unchanged", f"{_CHANGED_SILENTLY} as silently"
    )


def look_again_by_digest(
    candidates: DataFrame, source: DataFrame, lake: DataFrame, shape: ComparisonShape, segments: SegmentSet
) -> DataFrame | None:
    """The facts of `look_again`, by the candidates' whole rows and by the digests of all other keys.

    None where these do not suffice, so that all whole rows are to be read and grouped: rows of different digests may be
    equal, there is little to save, or another key differs now.
    """
    if shape.agreement.is_tolerant or not is_worth_picking(candidates, segments):
        return None
    known = _rename_keys(candidates, shape).selectExpr("*", f"true as {_KNOWN}")
    # The source is read once: for the candidates' whole rows, and for the digests of all others.
    marked = source.join(F.broadcast(known), _same_key(shape), "left")
    others = [name for name in source.columns if name != "source_row"]
    row = f"if({_KNOWN}, source_row, null) as source_row"
    ours = marked.selectExpr(*others, row, f"coalesce({_KNOWN}, false) as {_KNOWN}").localCheckpoint(eager=True)
    key = ("segment", *shape.key_names)
    rest = ours.where(f"not {_KNOWN}").selectExpr(*key, *_source_numbers("source_digest", "source_micros", _IN_SCOPE))
    numbers = lake.selectExpr(*key, *_lake_numbers("image.digest", "seqno", _IN_SCOPE))
    copies = numbers.join(F.broadcast(known), _same_key(shape), "left_anti")
    # Where all sums are equal no other key differs, as at the first look; rows are shuffled by key only where one is not.
    if _has_unequal_sums(rest, copies) and _unlike(rest, copies, shape).count():
        return None
    theirs = pick_images(lake, candidates, shape)
    return look_again(candidates, ours.where(_KNOWN).drop(_KNOWN), theirs, shape)


def _has_unequal_sums(ours: DataFrame, theirs: DataFrame) -> bool:
    """Whether the number of rows, or the sum of their digests, differs between the sides in any segment. One job."""
    plus = ours.selectExpr("segment", "source_digest as digest", "1L as side")
    sides = plus.unionAll(theirs.selectExpr("segment", "lake_digest", "-1L"))
    sums = ("sum(side)", f"sum(side * {HIGH_HALF})", f"sum(side * {LOW_HALF})")
    differs = " or ".join(f"{total} <> 0" for total in sums)
    return sides.groupBy("segment").agg(F.expr(f"{differs} as differs")).where("differs").count() > 0


_KNOWN = "hr_known"
_SAME_IMAGES = f"(first_source_digest <=> source_digest and first_versions <=> {_VERSIONS})"
# The source's row changed between the looks while its watermark stayed.
_CHANGED_SILENTLY = (
    "coalesce(was_candidate and first_source_digest <> source_digest and first_source_micros <=> source_micros, false)"
)


def look_at_moving(findings: DataFrame, source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The facts of the findings that were moving, held against the look before; of no other key."""
    moving = findings.where(f"kind = '{FindingKind.MOVING.value}'")
    before = moving.selectExpr(*_first_look(shape, "silent"))
    return look_again(before, source, lake, shape).where("was_candidate")
