"""The two sides of one table's comparison: what every look at them needs, and how it looks."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.agreement import Agreement
from hudi_reconcile.core.segments import Segmentation
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.ports import Comparer, Lake, Source


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared, and where it is.

    `pushdown`: a look at all segments digests the source's rows inside the source. `one_snapshot`: each look sees one
    moment of the source, however many connections read it.
    """

    table: SourceTable
    agreement: Agreement
    cut: Segmentation
    source: Source
    lake: Lake
    comparer: Comparer
    pushdown: bool = False
    one_snapshot: bool = False
