"""The comparer of one table: implements `ports.Comparer` over Spark frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.compare import (
    absence,
    anatomy,
    candidates,
    corrections,
    digests,
    findings,
    precision,
    uncorrected,
    versions,
)
from hudi_reconcile.compare.canonical_text import collected, text_digested
from hudi_reconcile.compare.sides import Shape, kept, scoped
from hudi_reconcile.compare.spelling import Masks
from hudi_reconcile.core.agreement import Agreement
from hudi_reconcile.core.anatomy import Anatomy, fullest
from hudi_reconcile.core.canon import SegmentSum
from hudi_reconcile.core.classify import PendingRange
from hudi_reconcile.core.keys import Key
from hudi_reconcile.core.segments import Segmentation, SegmentSet
from hudi_reconcile.ports import Corrective, Frame, Look, SegmentDigest


class SparkComparer:
    """Holds what is compared and how the key space is cut; every method is one Spark job or a lazy frame."""

    def __init__(
        self, spark: SparkSession, table: str, masks: Masks, *, agreement: Agreement, cut: Segmentation
    ) -> None:
        self._spark = spark
        self._table = table
        self._masks = masks
        self._shape = Shape(agreement, cut)

    def digests(self, look: Look, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
        """One entry per segment that holds a row on either side."""
        return digests.segment_digests(_frame(look.source), _frame(look.lake), self._shape, segments)

    def source_digests(self, source: Frame) -> tuple[SegmentSum, ...]:
        """The source's rows digested alone."""
        return digests.source_digests(_frame(source), self._shape)

    def text_digests(self, lake: Frame) -> tuple[SegmentSum, ...]:
        """The lake digested by canonical text."""
        return collected(text_digested(scoped(_frame(lake)), "lake", self._shape))

    def keep(self, lake: Frame, segments: SegmentSet) -> Frame:
        """The lake's rows of these segments, materialised."""
        return Frame(kept(_frame(lake), self._shape, segments))

    def candidates(self, look: Look, segments: SegmentSet) -> Frame:
        """Keys whose images differ now; materialised."""
        source, lake = self._images(look, segments)
        return Frame(candidates.differing(source, lake, self._shape))

    def findings(self, found: Frame, look: Look, segments: SegmentSet, pending: PendingRange | None) -> Frame:
        """What became of each candidate; materialised, so that counts, plan and files speak of the same rows."""
        source, lake = self._images(look, segments)
        facts = candidates.second_look(_frame(found), source, lake, self._shape)
        judged = findings.findings_of(facts, self._shape, table=self._table, pending=pending, masks=self._masks)
        return Frame(judged.localCheckpoint(eager=True))

    def hidden_rows(self, source: Frame) -> dict[str, int]:
        """Source rows whose value has digits that the comparison cuts off, by column; one job."""
        return precision.hidden_rows(scoped(_frame(source)), self._shape.agreement.cut)

    def count(self, frame: Frame, column: str) -> dict[str, int]:
        """Rows by the values of one column."""
        return corrections.counted(_frame(frame), column)

    def save(self, frame: Frame, path: str, rows: int) -> None:
        """Write findings as Parquet."""
        findings.save(_frame(frame), path, rows=rows, shape=self._shape)

    def load(self, path: str, files: Collection[str]) -> Frame:
        """Findings that were saved, of these files of the folder alone: Spark would read whatever else lies there."""
        return Frame(self._spark.read.parquet(*(f"{path}/{name}" for name in files)))

    def planned(self, frame: Frame, action: str | None) -> Frame:
        """The findings that are corrections."""
        rows = corrections.planned_keys(_frame(frame))
        return Frame(rows if action is None else rows.where(F.col("action") == action))

    def differing_columns(self, frame: Frame) -> dict[str, int]:
        """Findings by the columns in which they differ."""
        return corrections.differing_columns(_frame(frame))

    def anatomy(self, frame: Frame, rows: int, *, timed: bool, reached_micros: int | None) -> Anatomy:
        """Where the drift lies; four small jobs."""
        drift = corrections.planned_keys(_frame(frame))
        cells, other_rows = fullest(anatomy.cells_of(drift, timed=timed), rows)
        lateness = None if reached_micros is None else anatomy.lateness_of(drift, reached_micros)
        return Anatomy(cells, other_rows, self.differing_columns(Frame(drift)), lateness, *anatomy.held_of(drift))

    def recheck(self, plan: Frame, look: Look, segments: SegmentSet) -> Frame:
        """Every planned correction held against both sides; materialised."""
        source, lake = self._images(look, segments)
        return Frame(corrections.recheck(_frame(plan), source, lake, self._shape))

    def to_delete(self, rechecked: Frame, most: int) -> tuple[Key, ...] | None:
        """The keys of the deletes that may be written; one job."""
        return absence.keys_to_delete(_frame(rechecked), self._shape, most)

    def held_rows(self, source: Frame) -> tuple[Frame, int]:
        """Rows of the source, materialised, and counted."""
        rows = _frame(source).localCheckpoint(eager=True)
        return Frame(rows), rows.count()

    def still_there(self, rechecked: Frame, there: Frame | None) -> Frame:
        """Deletes whose key is there have moved; materialised."""
        return Frame(absence.still_there(_frame(rechecked), None if there is None else _frame(there), self._shape))

    def hold(self, rechecked: Frame, keys: Frame) -> Frame:
        """Corrections of these record keys get the status `held`; materialised."""
        return Frame(corrections.hold(_frame(rechecked), _frame(keys), self._shape))

    def landed(
        self,
        rechecked: Frame,
        around: tuple[Frame, Frame],
        segments: SegmentSet,
        later: Sequence[tuple[Frame, Frame]] = (),
    ) -> Frame:
        """The corrections that one commit made, marked; materialised."""
        made, *others = [self._versions(pair, segments) for pair in (around, *later)]
        return Frame(versions.landed(_frame(rechecked), made, others, self._shape))

    def carried(self, plan: Frame, action: str, before: Frame, at: Frame) -> Frame:
        """The plan's rows in the version that a commit carried them into; materialised."""
        around = self._versions((before, at), self.segments_of(plan))
        return Frame(versions.carried(_frame(plan), action, around, self._shape))

    def ready(self, rechecked: Frame, status: str = corrections.READY) -> Corrective:
        """The ready corrections, or the doubled ones."""
        rows = _frame(rechecked).where(F.col("status") == status)
        return Corrective(
            upserts=Frame(rows.where(F.col("action") == "upsert").select("source_row.*")),
            deletes=Frame(rows.where(F.col("action") == "delete").select("lake_row.*")),
            expected=Frame(corrections.expected_versions(rows, self._shape)),
        )

    def read_back(
        self, rechecked: Frame, look: Look, segments: SegmentSet, *, written: Collection[str] = corrections.WRITTEN
    ) -> Frame:
        """What the lake really shows for the corrections of these statuses; materialised."""
        return Frame(
            corrections.read_back(_frame(rechecked), self._images(look, segments), tuple(written), self._shape)
        )

    def ended(self, rows: Frame, column: str, reasons: Mapping[str, str]) -> Frame:
        """Keys that were not corrected, by reason; lazy."""
        return Frame(uncorrected.ended(_frame(rows), column, reasons, self._shape))

    def uncorrected(self, planned: Frame, ends: Sequence[Frame]) -> Frame:
        """The planned corrections of these keys; materialised."""
        return Frame(uncorrected.uncorrected(_frame(planned), [*map(_frame, ends)], self._shape, self._table))

    def segments_of(self, plan: Frame) -> SegmentSet:
        """The segments that a plan touches."""
        return SegmentSet.of(row["segment"] for row in _frame(plan).select("segment").distinct().collect())

    def _versions(self, around: tuple[Frame, Frame], segments: SegmentSet) -> tuple[DataFrame, DataFrame]:
        was, then = (candidates.lake_versions(_frame(rows), self._shape, segments) for rows in around)
        return was, then

    def _images(self, look: Look, segments: SegmentSet) -> tuple[DataFrame, DataFrame]:
        return (
            candidates.source_images(_frame(look.source), self._shape, segments),
            candidates.lake_images(_frame(look.lake), self._shape, segments),
        )


def _frame(frame: Frame) -> DataFrame:
    return cast("DataFrame", frame)
