"""What the stages ask of a comparison of two frames, which stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hudi_reconcile.core.sweep.drift import PendingRange
from hudi_reconcile.core.sweep.drift_profile import Anatomy
from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.canonical_text import SegmentSum
from hudi_reconcile.core.tables.key_encoding import Key
from hudi_reconcile.ports.lake import Corrective, Frame

Gap = tuple[int, int]
"""Digests of some source rows less those of some lake rows, by halves of 32 bits."""


@dataclass(frozen=True, slots=True)
class SegmentDigest:
    """Rows and checksum of one segment on both sides. `lake_high` and `lake_low` are the halves of the lake's own digest.

    `gap` is the source's digest less the lake's, by halves; None where the digests were not made of the rows in Spark.
    """

    segment: int
    source_rows: int
    lake_rows: int
    equal: bool
    lake_high: int = 0
    lake_low: int = 0
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """A segment, and one of a finer cut, in which rows lie: how many more of them the source has, and their gap."""

    segment: int
    finer: int
    rows_more: int
    gap: Gap


@dataclass(frozen=True, slots=True)
class OneSided:
    """How many candidates of a segment only the source had, and how many only the lake."""

    source_rows: int
    lake_rows: int


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of both sides: the source's rows and the lake's, whole rows, of the same segments.

    Frames that `Lake.mark_scope` has marked are about some partitions: digests and counts leave the other rows out, while
    candidates and findings are keys of which either side has a row there, judged by all the rows of the key.
    """

    source: Frame
    lake: Frame


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """Rechecked corrections by status, and of those that may be written (`ready`, `doubled`) how many are deletes.

    `newest_seq` is the greatest read sequence of the lake's rows that these replace; None without any.
    """

    rows: Mapping[str, int]
    deletes: int
    newest_seq: int | None


KeysOf = Literal["moving", "absent", "deleted"]
WholeLake = Callable[[], Frame]
"""Gives the lake's rows of all segments."""


class Comparer(Protocol):
    """Compares frames where they are; only digests and counts come back. Made for one table, agreement and segmentation."""

    def compare_digests(self, look: Look, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
        """Digest both sides at once, one entry per segment that holds a row on either side, ordered by segment."""
        ...

    def digest_side(self, rows: Frame, side: Literal["source", "lake"]) -> tuple[SegmentSum, ...]:
        """Digest one side's rows alone; each call reads them once more. Ordered by segment."""
        ...

    def digest_texts(self, lake: Frame) -> tuple[SegmentSum, ...]:
        """Digest the lake by canonical text, as a source that digests its own rows does; ordered by segment."""
        ...

    def keep(self, lake: Frame, segments: SegmentSet) -> Frame:
        """The lake's rows of these segments, materialised: looks at the same instant need not read the lake again."""
        ...

    def find_candidates(self, look: Look, segments: SegmentSet) -> Frame:
        """First look: the keys of these segments whose images differ, and what identified both images."""
        ...

    def count_one_sided(self, candidates: Frame) -> Mapping[int, OneSided]:
        """The candidates that only one side had a row of, by segment; every segment with a candidate is there."""
        ...

    def locate(self, rows: Frame, finer: Segmentation, most: int) -> tuple[KeyPlace, ...] | None:
        """The places of candidates, by exact digests, or of findings, which have no gap; None where more than `most`."""
        ...

    def judge_candidates(
        self,
        candidates: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        """Second look: what became of each candidate, classified, and `odd_key` where Hudi mixes its key up; materialised.

        An odd row of the lake may be the other one, in whatever segment: only then the whole lake is read.
        """
        ...

    def judge_again(
        self,
        findings: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        """A later look: the findings, those that were `moving` judged anew against the look before; materialised.

        The look holds all rows of these keys, and perhaps others, which are not judged.
        """
        ...

    def named_keys(self, findings: Frame, which: KeysOf, most: int) -> tuple[Key, ...] | None:
        """The keys of the findings that are `moving` or `deleted`, or that settled as neither side shows the row (`absent`).

        None where there are more than `most`.
        """
        ...

    def unsettle(self, findings: Frame, which: KeysOf) -> Frame:
        """The findings, those of `named_keys` as `moving`: nothing is done about them."""
        ...

    def count_hidden_rows(self, source: Frame) -> dict[str, int]:
        """Source rows whose value has digits that the comparison cuts off, by column; asked only where one is cut."""
        ...

    def count(self, frame: Frame, *columns: str) -> dict[str, int]:
        """How many rows have each value of a column, as text (`true`, `false`); of several columns, joined by blanks."""
        ...

    def save(self, findings: Frame, path: str, rows: int) -> None:
        """Write findings as Parquet."""
        ...

    def load(self, path: str, files: Collection[str]) -> Frame:
        """Findings that were saved, of these files of the folder alone."""
        ...

    def select_corrections(self, findings: Frame, action: str | None) -> Frame:
        """The findings that are corrections; of one action only where one is named."""
        ...

    def profile_drift(self, findings: Frame, rows: int, *, timed: bool, reached_micros: int | None) -> Anatomy:
        """Where the drift of these findings lies, by partition, day and column, and how far below a checkpoint late rows do.

        `rows` of them are drift. `timed`: the watermark is a time. Without a checkpoint nothing is said of lateness.
        """
        ...

    def recheck(self, plan: Frame, look: Look, segments: SegmentSet, *, rows: int | None = None) -> Frame:
        """Every planned correction held against both sides as they are now: `status` ready, doubled, moved or superseded.

        `rows`: how many there are at most, where known. Materialised.
        """
        ...

    def list_deletes(self, rechecked: Frame, most: int) -> tuple[Key, ...] | None:
        """The keys of the deletes that may be written; None where there are more than `most`. The only keys that leave Spark."""
        ...

    def stage_rows(self, source: Frame) -> tuple[Frame, int]:
        """Rows of the source, materialised, and how many were read: what several statements gave is there once."""
        ...

    def mark_existing(self, rechecked: Frame, there: Frame | None) -> Frame:
        """The rechecked corrections; a delete whose key is among these source rows has moved. None: every delete has."""
        ...

    def hold(self, rechecked: Frame, keys: Frame) -> Frame:
        """The rechecked corrections; those whose record key is among `keys` (of `Quarantine`) become `held`, with their rules."""
        ...

    def mark_landed(
        self,
        rechecked: Frame,
        around: tuple[Frame, Frame],
        segments: SegmentSet,
        later: Sequence[tuple[Frame, Frame]] = (),
    ) -> Frame:
        """The rechecked corrections, `landed` where one commit made them and they are as it left them.

        `around` are the lake's rows just before that commit and just after it; `later` the same of later commits of the plan,
        oldest first, which may have carried them into new files.
        """
        ...

    def carry_versions(self, plan: Frame, action: str, before: Frame, at: Frame) -> Frame:
        """A plan's rows, those of an action in the version that a commit between two lake snapshots gave them.

        The commit was not made for them: they were as compared before it, and it carried them into new files.
        """
        ...

    def count_statuses(self, rechecked: Frame) -> StatusCounts:
        """The rechecked corrections counted; one job."""
        ...

    def build_corrective(self, rechecked: Frame, status: str = "ready", *, rows: int | None = None) -> Corrective:
        """The corrections of one status: `upserts` still as source rows `c0, c1, …`, the rest as the lake wants it.

        `rows`: how many there are at most, where known.
        """
        ...

    def read_back(
        self, rechecked: Frame, lake: Frame, segments: SegmentSet, *, written: Collection[str] = ("ready", "doubled")
    ) -> Frame:
        """The rechecked corrections, those of these statuses now `applied` or `failed`, by what the lake really shows.

        The lake is read by the first job over the answer, and never again.
        """
        ...

    def name_reasons(self, rows: Frame, column: str, reasons: Mapping[str, str]) -> Frame:
        """Keys by what a column says of them, in the words of `reasons` where it has one; `applied` and `landed` left out."""
        ...

    def list_uncorrected(self, planned: Frame, ends: Sequence[Frame]) -> Frame:
        """The planned corrections of the keys that `ends` name, each with its `reason` and the `rules` it breaks."""
        ...


MakeComparer = Callable[[Agreement, Segmentation], Comparer]
