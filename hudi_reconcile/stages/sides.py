"""The two sides of one table's comparison: what every look at them needs, and how it looks."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.agreement import Agreement
from hudi_reconcile.core.partitions import PartitionScope
from hudi_reconcile.core.segments import Segmentation, SegmentSet
from hudi_reconcile.core.values import LakePin, SourceTable
from hudi_reconcile.ports import Comparer, Frame, Lake, Look, Source


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared, and where it is.

    `pushdown`: a look at all segments digests the source's rows inside the source. `one_snapshot`: each look sees one
    moment of the source, however many connections read it. `scope`: the comparison is about some partitions only; what
    differs there is judged by all rows of its key, wherever they lie.
    """

    table: SourceTable
    agreement: Agreement
    cut: Segmentation
    source: Source
    lake: Lake
    comparer: Comparer
    pushdown: bool = False
    one_snapshot: bool = False
    scope: PartitionScope | None = None

    def source_rows(self, segments: SegmentSet | None = None) -> Frame:
        """The source's rows of some segments, or of all."""
        return self._marked_source(self.source.rows(self.table, self.cut, segments))

    def lake_rows(self, pin: LakePin) -> Frame:
        """The lake's rows at the pin."""
        rows = self.lake.rows(pin)
        return rows if self.scope is None else self.lake.marked(rows, "lake", self.scope)

    def first_look(self, pin: LakePin, segments: SegmentSet | None = None) -> Look:
        """Both sides for their digests: of the source only what may be in scope is asked for."""
        return Look(self.source_in_scope(segments), self.lake_rows(pin))

    def source_in_scope(self, segments: SegmentSet | None = None) -> Frame:
        """The source's rows in scope, and perhaps others."""
        near = None if self.scope is None else self.scope.near
        return self._marked_source(self.source.rows(self.table, self.cut, segments, near=near))

    def _marked_source(self, rows: Frame) -> Frame:
        return rows if self.scope is None else self.lake.marked(rows, "source", self.scope)
