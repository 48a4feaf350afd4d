"""The first look of a sweep that may stand on an earlier one: what did not change on either side is carried, the rest compared.

The source is asked for its row versions before a row of it is read, and after the lake was pinned; the lake is digested
meanwhile, as a whole: its digest is of what its files hold now, whoever wrote them and under whatever name. What is proven, and
what ends a proof, is decided in `core/sweep/proof.py`; which run may be believed, in the evidence room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.pull.cursor import watermark_text
from hudi_reconcile.core.result_parts import CoverageSummary
from hudi_reconcile.core.sweep.coverage import Coverage, continue_coverage, count_all_segments
from hudi_reconcile.core.sweep.proof import (
    NO_ROWS,
    ContentProof,
    ProvenSegment,
    SegmentVersions,
    Turn,
    find_changed,
    find_doubt,
    renew_proof,
    subject_digest,
    take_turns,
)
from hudi_reconcile.core.sweep.segments import NO_SEGMENTS, RangeSegments, SegmentSet
from hudi_reconcile.core.tables.canonical_text import SegmentSum
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import LakePin
from hudi_reconcile.ports import Edges, Frame, Look, RowVersions, SegmentDigest
from hudi_reconcile.stages.comparison import Sides, TablePair, cut_keys, join_sums
from hudi_reconcile.stages.job import PartialSweep, TableJob

_WORTH = 2  # from one half of the rows on, all are read: in parts, side by side


@dataclass(slots=True)
class ProofKeeper:
    """Makes the first look by what is proven, and remembers what it saw for the next proof: the last look counts.

    `base` is what is renewed; `past` the same where something may be carried from it, else None: every segment is compared.
    `note` says why an earlier proof was not used, for the reader of the result.
    """

    versions: RowVersions
    base: ContentProof
    past: ContentProof | None
    rotation: int
    now_micros: int
    note: str = ""
    _seen: tuple[SegmentVersions, ...] = field(default=(), init=False)
    _met: SegmentSet = field(default=NO_SEGMENTS, init=False)
    _is_blind: bool = field(default=False, init=False)
    _reads_all: bool = field(default=False, init=False)
    _lake: tuple[LakePin, tuple[SegmentSum, ...]] | None = field(default=None, init=False)
    _turn: Turn = field(default_factory=lambda: Turn(NO_SEGMENTS, NO_SEGMENTS, NO_SEGMENTS), init=False)

    @property
    def met(self) -> SegmentSet:
        """The segments that the last look compared."""
        return self._met

    def look(self, sides: Sides, pin: LakePin) -> tuple[tuple[SegmentDigest, ...], int, tuple[str, ...] | None]:
        """Digests of all segments, carried ones as equal; the rows that the source counted before; columns that a read alters.

        The columns are None where nobody looked. Where something may be carried, the lake is digested while the source reads
        its row versions, which it has to have done before it reads a row. A source that turns out to show no versions, as
        storage of another kind than it says, is compared as a whole.
        """
        self._met = SegmentSet.of(range(count_all_segments(self.base.coverage.cut)))
        receive = self.versions.begin(self.base.coverage.cut)
        lake = None if self.past is None else self._digest_lake(sides, pin)
        try:
            self._seen = receive()
        except SourceError as error:
            self._is_blind, self.past = True, None
            self.note = f"no content proof: the row versions could not be read: {error.message}"
            before_rows = sides.source.count_rows(sides.table)
            return self._compare(sides, pin, sides.source_in_scope(), lake), before_rows, None
        chosen = None if self.past is None or lake is None else self._choose(self.past, lake)
        source = sides.source_in_scope(chosen)  # asks the catalog, before another statement runs
        # What is carried has not changed: where a read altered none of its values then, it alters none now.
        is_rest_unaltered = self.past is not None and self.past.altered == ()
        answer = None if sides.survey is None else sides.survey(chosen if is_rest_unaltered else None)
        digests = self._compare(sides, pin, source, lake)
        return digests, sum(self._count_rows().values()), None if answer is None else answer().altered

    def _digest_lake(self, sides: Sides, pin: LakePin) -> tuple[SegmentSum, ...]:
        """The sums of the lake's rows; kept for a look at the same snapshot, whose source is then read sooner after its count."""
        if self._lake is None or self._lake[0] != pin:
            self._lake = (pin, sides.comparer.digest_side(sides.lake_rows(pin), "lake"))
        return self._lake[1]

    def _compare(
        self, sides: Sides, pin: LakePin, source: Frame, lake: tuple[SegmentSum, ...] | None
    ) -> tuple[SegmentDigest, ...]:
        """The digests of segments that meet, and of carried ones with as many rows as the source shows versions of."""
        if lake is None:
            return sides.comparer.compare_digests(Look(source, sides.lake_rows(pin)), None)
        met, rows = frozenset(self._met.ids), self._count_rows()
        carried = (replace(sums, rows=rows.get(sums.segment, 0)) for sums in lake if sums.segment not in met)
        read = (sums for sums in sides.comparer.digest_side(source, "source") if sums.segment in met)
        return join_sums((*carried, *read), lake, native=True)

    def _choose(self, past: ContentProof, lake: Sequence[SegmentSum]) -> SegmentSet | None:
        """Which segments of the source meet the lake's digests; None where that is all of them."""
        turn = take_turns(past, self._seen, self.rotation, self.now_micros)
        lake_sums = {sums.segment: (sums.rows, sums.high, sums.low) for sums in lake}
        chosen = SegmentSet.of((*turn.segments.ids, *find_changed(past, lake_sums, turn.segments).ids))
        rows = self._count_rows()
        chosen_rows = sum(rows.get(segment, 0) for segment in chosen.ids)
        self._turn, self._reads_all = turn, chosen_rows * _WORTH > sum(rows.values())
        if self._reads_all:
            return None
        self._met = chosen
        return chosen

    def _count_rows(self) -> dict[int, int]:
        """The source's rows by segment, as it counted them with their versions."""
        return {version.segment: version.rows for version in self._seen}

    def build_next_proof(
        self, digests: Sequence[SegmentDigest], run_id: str, altered: tuple[str, ...]
    ) -> ContentProof | None:
        """What is proven after the look that gave these digests; None where no versions were seen.

        `altered` are the columns in which the table holds values that a read alters, carried rows included.
        """
        if self._is_blind:
            return None
        digests_by_segment, rows = (
            {entry.segment: entry for entry in digests},
            {entry.segment: entry for entry in self._seen},
        )
        equal = {}
        for segment in self._met.ids:
            digest, version = digests_by_segment.get(segment), rows.get(segment)
            if digest is None and version is None:
                equal[segment] = NO_ROWS
            # Other rows than were counted: versions and values are of two moments.
            elif digest and version and digest.equal and digest.source_rows == version.rows:
                equal[segment] = ProvenSegment(version.rows, version.digest, digest.lake_high, digest.lake_low)
        return renew_proof(self.base, self._met, equal, self.now_micros, run_id, altered=altered)

    def describe(self, covered: CoverageSummary, digests: Sequence[SegmentDigest]) -> CoverageSummary:
        """The same with what was carried, and since when."""
        met = frozenset(self._met.ids)
        if self.past is None or len(met) == count_all_segments(self.base.coverage.cut):
            return covered
        carried = self.past.list_proven() - met
        oldest = min(
            stretch.compared_micros
            for stretch in self.past.coverage.stretches
            if any(segment in carried for segment in range(stretch.low, stretch.high))
        )
        return replace(
            covered,
            compared=len(met),
            proven=len(carried),
            proven_rows=sum(digest.source_rows for digest in digests if digest.segment in carried),
            proven_since_utc=watermark_text(Kind.TIMESTAMPTZ, oldest),
        )

    def explain(self) -> str:
        """Why segments were compared, in words."""
        if self.past is None:
            return f"every segment compared: {self.note or 'no earlier sweep to stand on, or --full'}"
        if self._reads_all:
            return "every segment compared: more than half of the rows are in segments that changed, were not proven or were due"
        turn, all_ids = self._turn, frozenset(self._turn.segments.ids)
        lake = sum(segment not in all_ids for segment in self._met.ids)
        return (
            f"by run {self.past.run_id}: {len(turn.changed.ids)} segments changed at the source, {lake} in the lake alone, "
            f"{len(turn.unproven.ids)} were not proven, {len(turn.due.ids)} were due (sweep.rotation: {self.rotation})"
        )


def keep_proof(job: TableJob, pair: TablePair, part: PartialSweep, edges: Edges, subject: str) -> ProofKeeper | str:
    """What the first look may stand on and adds to; why there is no content proof where there is none."""
    asked = part.proof
    if why := _hindrance(job, pair, part):
        return why
    source, now_micros = edges.source, edges.clock.utc_micros()
    versions = source.row_versions(pair.table, pair.agreement)
    if asked is None or versions.standing is None:
        return versions.why
    fresh = cut_keys(job.sweep, pair.table, source)
    if not isinstance(fresh, RangeSegments):
        return "the key does not begin with an integer"
    settings = (*sorted(job.columns.exclude), *(f"{a} is {b}" for a, b in job.columns.rename.items()), asked.maker)
    subject = subject_digest(subject, *settings)
    earlier, note = asked.known()
    if earlier is not None and (doubt := find_doubt(earlier, subject, versions.standing)):
        note = f"the content proof of run {earlier.run_id} was not used: {doubt}"
        earlier = None
    if earlier is not None:
        _, known = continue_coverage((earlier.coverage,), subject, fresh, job.sweep.segments)
        if known is not None:
            base = replace(earlier, standing=versions.standing)
            return ProofKeeper(versions, base, earlier, asked.rotation, now_micros)
        is_other = earlier.coverage.wanted != job.sweep.segments
        why = "sweep.segments was changed" if is_other else "the table outgrew its segments"
        note = f"the content proof of run {earlier.run_id} was not used: {why}"
    base = ContentProof(versions.standing, Coverage(subject, fresh, job.sweep.segments), NO_SEGMENTS, {})
    return ProofKeeper(versions, base, None, asked.rotation, now_micros, note)


def _hindrance(job: TableJob, pair: TablePair, part: PartialSweep) -> str:
    asked = part.proof
    if asked is None or part.partitions or part.budget_seconds is not None or part.is_sparing:
        return "only for sweeps of a whole table at once"
    if asked.rotation == 1:
        return "sweep.rotation: 1"
    if pair.table.rows_estimate < asked.least_rows:
        return f"under {asked.least_rows:,} rows all are compared in seconds"
    if job.source.is_query:
        return "a query shows no versions of its rows"
    if not job.source.is_decided_by_row:
        return "source.where asks a function, a clock or another table: rows may come in and leave without a change of theirs"
    if job.sweep.mode == "pushdown":
        return "sweep.mode: pushdown"
    return "some columns are compared on fewer digits" if pair.agreement.cut else ""
