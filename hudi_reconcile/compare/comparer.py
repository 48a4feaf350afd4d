"""The comparer of one table over Spark frames (`ports.Comparer`), and the digests and counts that come back to the driver.

Everything else stays in Spark: candidates, findings and corrections are frames, and lines hold no value that is masked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import cast

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.compare import candidates, corrections, findings
from hudi_reconcile.compare.canonical_text import collect_digests, digest_texts
from hudi_reconcile.compare.columns import (
    HIGH_HALF,
    LOW_HALF,
    ComparisonShape,
    Side,
    digest_rows,
    keep_rows,
    list_key_values,
    select_scope,
    write_digest,
    write_segment,
    write_segment_test,
)
from hudi_reconcile.compare.corrections import APPLIED, LANDED
from hudi_reconcile.compare.equality import write_canonical, write_source_name
from hudi_reconcile.compare.findings import Masks, write_key
from hudi_reconcile.core.sweep.coverage import count_all_segments
from hudi_reconcile.core.sweep.drift import FindingKind, PendingRange
from hudi_reconcile.core.sweep.drift_profile import (
    LATENESS_SECONDS,
    MOST_COUNTED,
    ZONE_STEP_MICROS,
    Anatomy,
    DriftCell,
    WatermarkShift,
    count_days,
    count_heat,
    map_keys,
    measure_lateness,
    select_fullest_cells,
    write_day,
)
from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.canonical_text import SegmentSum
from hudi_reconcile.core.tables.key_encoding import ASKED, Key
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import count_parts
from hudi_reconcile.ports import (
    Corrective,
    Frame,
    KeyPlace,
    KeysOf,
    Look,
    OneSided,
    RowFiles,
    SegmentDigest,
    StatusCounts,
    WholeLake,
)
from hudi_reconcile.sql.spark_text import text_literal


class SparkComparer:
    """Holds what is compared and how the key space is cut; every method is one Spark job or a lazy frame."""

    def __init__(
        self, spark: SparkSession, table: str, masks: Masks, *, agreement: Agreement, cut: Segmentation, files: RowFiles
    ) -> None:
        self._files = files
        self._spark = spark
        self._table = table
        self._masks = masks
        self._shape = ComparisonShape(agreement, cut)

    def compare_digests(self, look: Look, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
        """One entry per segment that holds a row on either side."""
        return digest_segments(_frame(look.source), _frame(look.lake), self._shape, segments)

    def digest_side(self, rows: Frame, side: Side) -> tuple[SegmentSum, ...]:
        """One side's rows digested alone."""
        return digest_one_side(_frame(rows), side, self._shape)

    def digest_texts(self, lake: Frame) -> tuple[SegmentSum, ...]:
        """The lake digested by canonical text."""
        return collect_digests(digest_texts(select_scope(_frame(lake)), "lake", self._shape))

    def keep(self, lake: Frame, segments: SegmentSet) -> Frame:
        """The lake's rows of these segments, materialised."""
        return Frame(keep_rows(_frame(lake), self._shape, segments))

    def find_candidates(self, look: Look, segments: SegmentSet) -> Frame:
        """Keys whose images differ now; materialised."""
        return Frame(candidates.find_differing(_frame(look.source), _frame(look.lake), self._shape, segments))

    def count_one_sided(self, frame: Frame) -> dict[int, OneSided]:
        """Candidates that one side lacked, by segment; one small job."""
        rows = candidates.count_one_sided(_frame(frame)).collect()
        return {int(row["segment"]): OneSided(int(row["source_rows"]), int(row["lake_rows"])) for row in rows}

    def locate(self, rows: Frame, finer: Segmentation, most: int) -> tuple[KeyPlace, ...] | None:
        """The places of candidates or findings; one small job."""
        places = candidates.locate(_frame(rows), self._shape, finer).limit(most + 1).collect()
        if len(places) > most:
            return None
        return tuple(KeyPlace(segment, at, more, (high, low)) for segment, at, more, high, low in places)

    def judge_candidates(
        self,
        frame: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        """What became of each candidate; materialised, so that counts, plan and files speak of the same rows."""
        before, (source, lake) = _frame(frame), self._images(look, segments)
        facts = candidates.look_again_by_digest(before, source, lake, self._shape, segments)
        if facts is None:
            facts = candidates.look_again(before, source, lake, self._shape)
        judged = findings.build_findings(facts, self._shape, table=self._table, pending=pending, masks=self._masks)
        return self._hold_odd(judged.localCheckpoint(eager=True), whole_lake)

    def judge_again(
        self,
        frame: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        """The findings, those that were moving judged by this look; materialised."""
        before = _frame(frame)
        facts = candidates.look_at_moving(before, *self._images(look, segments), self._shape)
        judged = findings.build_findings(facts, self._shape, table=self._table, pending=pending, masks=self._masks)
        others = before.where(f"kind <> '{FindingKind.MOVING.value}'")
        return self._hold_odd(others.unionByName(judged).localCheckpoint(eager=True), whole_lake)

    def named_keys(self, frame: Frame, which: KeysOf, most: int) -> tuple[Key, ...] | None:
        """The keys of some findings; one job."""
        return corrections.list_key_texts(_frame(frame).where(findings.CHOSEN[which]), self._shape, most)

    def unsettle(self, frame: Frame, which: KeysOf) -> Frame:
        """The findings, some of them as moving, in their lines too; lazy."""
        return Frame(
            findings.relabel(_frame(frame), findings.CHOSEN[which], FindingKind.MOVING, self._shape, self._table)
        )

    def count_hidden_rows(self, source: Frame) -> dict[str, int]:
        """Source rows whose value has digits that the comparison cuts off, by column; one job."""
        return count_hidden_rows(select_scope(_frame(source)), self._shape.agreement.cut)

    def count(self, frame: Frame, *columns: str) -> dict[str, int]:
        """How many rows have each value."""
        return corrections.count_by(_frame(frame), *columns)

    def save(self, frame: Frame, path: str, rows: int) -> None:
        """Write findings as Parquet."""
        findings.save(_frame(frame), path, rows=rows, shape=self._shape, files=self._files)

    def load(self, path: str, files: Collection[str]) -> Frame:
        """Findings that were saved, of these files of the folder alone: Spark would read whatever else lies there."""
        return self._files.load([f"{path}/{name}" for name in files])

    def select_corrections(self, frame: Frame, action: str | None) -> Frame:
        """The findings that are corrections."""
        rows = corrections.select_planned(_frame(frame))
        return Frame(rows if action is None else rows.where(F.col("action") == action))

    def profile_drift(self, frame: Frame, rows: int, *, timed: bool, reached_micros: int | None) -> Anatomy:
        """Where the drift lies; two small jobs."""
        drift = corrections.select_planned(_frame(frame)).coalesce(count_parts(rows))
        counted = count_cells(drift, timed=timed)
        cells, other_rows = select_fullest_cells(counted, rows)
        totals = count_drift_facts(
            drift, reached_micros, timed=timed, segments=count_all_segments(self._shape.segmentation)
        )
        return replace(totals, cells=cells, other_rows=other_rows, days=count_days(counted), heat=count_heat(counted))

    def recheck(self, plan: Frame, look: Look, segments: SegmentSet, *, rows: int | None = None) -> Frame:
        """Every planned correction held against both sides; materialised, then read in few parts."""
        planned = corrections.hold_plan(_frame(plan), self._shape)
        status_rows = corrections.recheck(planned, *self._images(look, segments), self._shape)
        # Kept anew: where a coalesce stands in the plan, Spark 3.5 does not find the fields of a composite key over an explode.
        few = status_rows if rows is None else status_rows.coalesce(count_parts(rows)).localCheckpoint(eager=False)
        return Frame(few)

    def list_deletes(self, rechecked: Frame, most: int) -> tuple[Key, ...] | None:
        """The keys of the deletes that may be written; one job."""
        return corrections.list_keys_to_delete(_frame(rechecked), self._shape, most)

    def stage_rows(self, source: Frame) -> tuple[Frame, int]:
        """The source's rows, materialised, and how many were read: one that two statements gave counts twice and is kept once."""
        rows = _frame(source).localCheckpoint(eager=True)
        kept = rows
        if ASKED in rows.columns:  # a key lies near those of the same statements whenever it is read
            first = (
                f"min({ASKED}) over (partition by {', '.join(f'c{item.index}' for item in self._shape.agreement.key)})"
            )
            kept = rows.selectExpr("*", f"{first} as hr_first").where(f"{ASKED} = hr_first").drop(ASKED, "hr_first")
        return Frame(kept), rows.count()

    def mark_existing(self, rechecked: Frame, there: Frame | None) -> Frame:
        """Deletes whose key is there have moved; materialised."""
        return Frame(
            corrections.mark_existing(_frame(rechecked), None if there is None else _frame(there), self._shape)
        )

    def hold(self, rechecked: Frame, keys: Frame) -> Frame:
        """Corrections of these record keys get the status `held`; materialised."""
        return Frame(corrections.hold(_frame(rechecked), _frame(keys), self._shape))

    def mark_landed(
        self,
        rechecked: Frame,
        around: tuple[Frame, Frame],
        segments: SegmentSet,
        later: Sequence[tuple[Frame, Frame]] = (),
    ) -> Frame:
        """The corrections that one commit made, marked; materialised."""
        made, *others = [self._versions(pair, segments) for pair in (around, *later)]
        return Frame(corrections.mark_landed(_frame(rechecked), made, others, self._shape))

    def carry_versions(self, plan: Frame, action: str, before: Frame, at: Frame) -> Frame:
        """The plan's rows in the version that a commit carried them into; materialised."""
        around = self._versions((before, at), SegmentSet.of(map(int, self.count(plan, "segment"))))
        return Frame(corrections.find_rewritten(_frame(plan), action, around, self._shape))

    def count_statuses(self, rechecked: Frame) -> StatusCounts:
        """The rechecked corrections counted; one job."""
        return corrections.count_statuses(_frame(rechecked))

    def build_corrective(
        self, rechecked: Frame, status: str = corrections.READY, *, rows: int | None = None
    ) -> Corrective:
        """The ready corrections, or the doubled ones."""
        selection = _frame(rechecked).where(F.col("status") == status)
        return Corrective(
            upserts=Frame(corrections.select_images(selection.where(F.col("action") == "upsert"), self._shape)),
            deletes=Frame(selection.where(F.col("action") == "delete").select("lake_row.*")),
            expected=Frame(corrections.list_expected_versions(selection, self._shape)),
            rows=rows,
        )

    def read_back(
        self, rechecked: Frame, lake: Frame, segments: SegmentSet, *, written: Collection[str] = corrections.WRITTEN
    ) -> Frame:
        """What the lake really shows for the corrections of these statuses; kept by the first job over it."""
        rows, shown = _frame(rechecked), candidates.digest_copies(_frame(lake), self._shape, segments)
        return Frame(corrections.read_back(rows, shown, tuple(written), self._shape))

    def name_reasons(self, rows: Frame, column: str, reasons: Mapping[str, str]) -> Frame:
        """Keys that were not corrected, by reason; lazy."""
        return Frame(list_reasons(_frame(rows), column, reasons, self._shape))

    def list_uncorrected(self, planned: Frame, ends: Sequence[Frame]) -> Frame:
        """The planned corrections of these keys; materialised."""
        return Frame(list_uncorrected(_frame(planned), [*map(_frame, ends)], self._shape, self._table))

    def _hold_odd(self, judged: DataFrame, whole_lake: WholeLake) -> Frame:
        return Frame(findings.hold_odd(judged, lambda: _frame(whole_lake()), self._shape, self._table))

    def _versions(self, around: tuple[Frame, Frame], segments: SegmentSet) -> tuple[DataFrame, DataFrame]:
        was, then = (candidates.select_lake_versions(_frame(rows), self._shape, segments) for rows in around)
        return was, then

    def _images(self, look: Look, segments: SegmentSet) -> tuple[DataFrame, DataFrame]:
        return (
            candidates.select_source_images(_frame(look.source), self._shape, segments),
            candidates.select_lake_images(_frame(look.lake), self._shape, segments),
        )


def _frame(frame: Frame) -> DataFrame:
    return cast("DataFrame", frame)


# Of rows that count as one on their own side and as none on the other.
_SUMS = (
    "sum(ours)",
    "sum(theirs)",
    f"sum((ours - theirs) * {HIGH_HALF})",
    f"sum((ours - theirs) * {LOW_HALF})",
    f"sum(theirs * {HIGH_HALF})",
    f"sum(theirs * {LOW_HALF})",
)


def digest_segments(
    source: DataFrame, lake: DataFrame, shape: ComparisonShape, segments: SegmentSet | None
) -> tuple[SegmentDigest, ...]:
    """Digest both sides at the same time and hold them against each other, segment by segment.

    A row's 64-bit digest is summed as two 32-bit halves, the lake's with a minus: equal segments sum to zero. One sum of
    64-bit values would wrap after a few rows; the halves hold to 2^31 rows a segment. Ordered by segment; segments
    without a row on either side are left out.
    """
    # Both sides in one stage: sums of each side alone, and then of both, took a fifth longer (1,000,000 rows, 8 columns).
    ours, theirs = _select_digests(source, "source", shape), _select_digests(lake, "lake", shape)
    digests = [
        SegmentDigest(
            segment,
            source_rows,
            lake_rows,
            source_rows == lake_rows and high == low == 0,
            lake_high,
            lake_low,
            (high, low),
        )
        for segment, source_rows, lake_rows, high, low, lake_high, lake_low in _collect_sums(
            ours.unionAll(theirs), _SUMS, segments
        )
    ]
    return tuple(sorted(digests, key=lambda item: item.segment))


def _select_digests(frame: DataFrame, side: Side, shape: ComparisonShape) -> DataFrame:
    """`segment` and `digest` of each row, and whose it is: no key, whose type may differ between the sides."""
    segment, digest = write_segment(shape, list_key_values(side, shape)), write_digest(side, shape)
    ours, theirs = ("1L", "0L") if side == "source" else ("0L", "1L")
    named = (f"{segment} as segment", f"{digest} as digest", f"{ours} as ours", f"{theirs} as theirs")
    return select_scope(frame).selectExpr(*named)


def digest_one_side(rows: DataFrame, side: Side, shape: ComparisonShape) -> tuple[SegmentSum, ...]:
    """Digest one side's rows alone, in a job of its own: two calls are two reads. Ordered by segment."""
    digests = digest_rows(select_scope(rows), side, shape)
    sums = _collect_sums(digests, ("count(1)", f"sum({HIGH_HALF})", f"sum({LOW_HALF})"), None)
    return tuple(sorted((SegmentSum(*row) for row in sums), key=lambda item: item.segment))


def _collect_sums(rows: DataFrame, sums: Sequence[str], segments: SegmentSet | None) -> list[Row]:
    """`segment` and the sums of its rows. One expression: each one more is some calls to the JVM."""
    chosen = rows if segments is None else rows.where(write_segment_test("segment", segments))
    struct = F.expr(f"struct({', '.join(sums)}) as sums")
    return chosen.groupBy("segment").agg(struct).select("segment", "sums.*").collect()


def count_hidden_rows(source: DataFrame, items: tuple[ComparedColumn, ...]) -> dict[str, int]:
    """Rows whose value is more than what is left of it, by column. One job that reads these columns only."""
    if not items:
        return {}
    counts = [
        f"count(case when {_hides(item, write_source_name(item))} then 1 end) as n{i}" for i, item in enumerate(items)
    ]
    row = source.agg(*map(F.expr, counts)).collect()[0]
    return {item.column.name: int(row[f"n{i}"]) for i, item in enumerate(items)}


def _hides(item: ComparedColumn, value: str) -> str:
    """True where something is cut off, as SQL; NULL hides nothing, and NaN is NaN in any width."""
    canonical_value = f"({write_canonical(item, value)})"
    if item.as_float:
        return f"cast({canonical_value} as double) <> {value}"
    if item.column.kind is Kind.DECIMAL:
        return f"{canonical_value} <> {value}"
    return f"{canonical_value} <> unix_micros(cast({value} as timestamp))"


_DAY_MICROS = 86_400_000_000
_LATE = "late_arriving"


def count_cells(drift: DataFrame, *, timed: bool) -> tuple[DriftCell, ...]:
    """The cells, of very many the fullest. `timed`: the watermark is a time, in microseconds."""
    day = (
        f"cast(floor(coalesce(source_micros, lake_micros) / {_DAY_MICROS}L) as bigint)"
        if timed
        else "cast(null as bigint)"
    )
    place = "get_json_object(line, '$.lake.partition_path') as place"
    grouped = drift.selectExpr("kind", place, f"{day} as day").groupBy("kind", "place", "day").count()
    rows = grouped.orderBy(F.desc("count"), "kind", "place", "day").limit(MOST_COUNTED).collect()
    return tuple(DriftCell(row["kind"], row["place"], write_day(row["day"]), row["count"]) for row in rows)


_COUNTED = "count(1) as rows, sum(number) as sum, min(number) as least, max(number) as most"


def count_drift_facts(drift: DataFrame, reached_micros: int | None, *, timed: bool, segments: int) -> Anatomy:
    """All but the cells: columns, keys that the lake lacks, its rows beyond the first of a key, lateness, shift, key map.

    One job: each row says each thing that is counted of it. Lateness is None without a checkpoint, and where no row is late.
    """
    column = "transform(columns, name -> named_struct('said', concat('column ', name), 'number', 0L))"
    segment = "array(named_struct('said', concat('segment ', segment), 'number', 0L))"
    said = [("missing", "lake_copies = 0", "0L"), ("extra", "lake_copies > 1", "lake_copies - 1L")]
    if reached_micros is not None:
        behind, late = f"({reached_micros}L - source_micros)", f"kind = '{_LATE}'"
        said += [("late", late, "0L"), ("marked", f"{late} and source_micros is not null", behind)]
        ends = enumerate((0, *LATENESS_SECONDS))
        said += [(f"behind {place}", f"{late} and {behind} >= {end * 1_000_000}L", "0L") for place, end in ends]
    if timed:
        later = "(lake_micros - source_micros)"
        said.append(("shifted", f"{later} <> 0 and {later} % {ZONE_STEP_MICROS}L = 0", later))
    each = ", ".join(
        f"case when {when} then named_struct('said', '{word}', 'number', {number}) end" for word, when, number in said
    )
    facts = drift.selectExpr(f"inline(concat({column}, {segment}, array_compact(array({each}))))")
    counts = facts.groupBy("said").agg(F.expr(f"struct({_COUNTED}) as of"))
    counts_by_word = {row["said"]: row["of"] for row in counts.collect()}
    rows = {word: int(of["rows"]) for word, of in counts_by_word.items()}
    columns = {word.removeprefix("column "): count for word, count in rows.items() if word.startswith("column ")}
    extra = int(counts_by_word["extra"]["sum"]) if "extra" in counts_by_word else 0
    greatest = int(counts_by_word["marked"]["most"]) if "marked" in counts_by_word else None
    behind_rows = [rows.get(f"behind {place}", 0) for place in range(len(LATENESS_SECONDS) + 1)]
    late_rows = measure_lateness(rows.get("late", 0), rows.get("marked", 0), behind_rows, greatest)
    shifted = counts_by_word.get("shifted")
    shift = None if shifted is None else WatermarkShift(rows["shifted"], int(shifted["least"]), int(shifted["most"]))
    drifted = (int(word.removeprefix("segment ")) for word in rows if word.startswith("segment "))
    return Anatomy((), 0, columns, late_rows, rows.get("missing", 0), extra, map_keys(drifted, segments), shift)


RULES = "rules"


def list_reasons(rows: DataFrame, column: str, reasons: Mapping[str, str], shape: ComparisonShape) -> DataFrame:
    """Keys by what a column says of them, in the words of `reasons` where it has one; without those that were corrected."""
    said = F.col(column)
    reason = reduce(lambda other, status: F.when(said == status, reasons[status]).otherwise(other), reasons, said)
    rules = F.col(RULES) if RULES in rows.columns else F.array().cast("array<string>")
    remaining_rows = rows.where(~said.isin(APPLIED, LANDED))
    return remaining_rows.select(*shape.key_names, reason.alias("reason"), rules.alias(RULES))


def list_uncorrected(planned: DataFrame, ends: Sequence[DataFrame], shape: ComparisonShape, table: str) -> DataFrame:
    """The planned corrections of these keys, each with `reason`, `rules` and its `line`. Materialised."""
    reason_rows = reduce(DataFrame.unionByName, ends).alias("e")
    plan = planned.drop("reason", RULES, "line").alias("p")
    same = [F.col(f"p.{name}").eqNullSafe(F.col(f"e.{name}")) for name in shape.key_names]
    rows = plan.join(reason_rows, reduce(Column.__and__, same)).select("p.*", "e.reason", f"e.{RULES}")
    named = f"{text_literal(table)} as `table`, kind, {write_key(shape)} as key, action, columns, reason, {RULES}"
    line = f"to_json(struct({named}), map('ignoreNullFields', 'false')) as line"
    return rows.selectExpr("*", line).localCheckpoint(eager=True)
