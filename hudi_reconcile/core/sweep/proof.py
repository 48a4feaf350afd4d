"""Content proof: which segments are what they were when they were last compared, on both sides, and which must meet again. Pure.

A segment was compared across the engines and was equal. Since then the source's rows there are the same row versions, and the
lake's digest there is the same: so it is equal still, and is carried. All others are compared, and beside them a share of those
that were compared longest ago, so that each is compared within `rotation` sweeps.

What is not certain is compared: a segment that differed, that no proof names, or of which the two reads counted other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from hudi_reconcile.core.sweep.coverage import (
    Coverage,
    build_coverage_document,
    count_all_segments,
    order_by_age,
    renew_coverage,
)
from hudi_reconcile.core.sweep.coverage import parse as parse_coverage
from hudi_reconcile.core.sweep.segments import SegmentSet

VERSION = 1
MOST_TRANSACTIONS = 2**31  # a row version's number has 32 bits: beyond half a round it could come again
_DAY_MICROS = 86_400_000_000
_BITS = 2**64
_CHANGED = {
    "subject": "the comparison's columns, key, filter or settings, the lake's path or the tool changed",
    "server": "the source is another server, or another history of it",
    "start": "the source's server was started again",
    "table": "the source's table is another one",
    "catalog": "the source table's definition changed",
}


@dataclass(frozen=True, slots=True)
class SegmentVersions:
    """Which versions of rows the source shows in a segment: how many, and a digest of their transactions' numbers."""

    segment: int
    rows: int
    digest: int


@dataclass(frozen=True, slots=True)
class ProvenSegment:
    """A segment that was equal: the source's row versions, and the halves of the digest of the lake's rows, as many."""

    rows: int
    versions: int
    high: int
    low: int


NO_ROWS = ProvenSegment(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Standing:
    """What row versions hang on, by name: another value of any of them, and no earlier version is known.

    `transactions` is how many the server has begun so far.
    """

    facts: Mapping[str, str]
    transactions: int


@dataclass(frozen=True, slots=True)
class ContentProof:
    """What is known to be equal. `coverage` says when each segment was last compared; `open_segments` were not equal then.

    A segment that was compared, is not open and has no entry held no row on either side. `altered` are the columns that held
    values which a read alters, in whatever row; None where the proof does not say.
    """

    standing: Standing
    coverage: Coverage
    open_segments: SegmentSet
    entries: Mapping[int, ProvenSegment]
    run_id: str = ""
    altered: tuple[str, ...] | None = None

    def list_proven(self) -> frozenset[int]:
        """The segments of which something is proven."""
        compared = {segment for stretch in self.coverage.stretches for segment in range(stretch.low, stretch.high)}
        return frozenset(compared - set(self.open_segments.ids))


@dataclass(frozen=True, slots=True)
class Turn:
    """Why segments are compared across the engines: their source changed, nothing is proven of them, or it is their turn."""

    changed: SegmentSet
    unproven: SegmentSet
    due: SegmentSet

    @property
    def segments(self) -> SegmentSet:
        """All of them."""
        return SegmentSet.of((*self.changed.ids, *self.unproven.ids, *self.due.ids))


def subject_digest(subject: str, *settings: str) -> str:
    """One name for what is compared and how it is digested."""
    return sha256("\0".join((subject, f"proof {VERSION}", *settings)).encode()).hexdigest()


def find_doubt(proof: ContentProof, subject: str, now: Standing) -> str:
    """Why a proof says nothing of the table as it is now; empty where it does."""
    past_facts = {"subject": proof.coverage.subject, **proof.standing.facts}
    facts = {"subject": subject, **now.facts}
    for name in dict.fromkeys((*_CHANGED, *past_facts, *facts)):
        if past_facts.get(name) != facts.get(name):
            return _CHANGED.get(name, f"the source's {name} changed")
    if not 0 <= now.transactions - proof.standing.transactions < MOST_TRANSACTIONS:
        return "the source's count of transactions went back, or on by too many"
    return ""


def take_turns(proof: ContentProof, versions: Iterable[SegmentVersions], rotation: int, now_micros: int) -> Turn:
    """Which segments meet across the engines by what the source shows now; the lake may add to them.

    Due are those compared longest ago, one in `rotation` of all, and those compared `rotation` days ago or longer.
    """
    segments, proven = count_all_segments(proof.coverage.cut), proof.list_proven()
    now = {version.segment: (version.rows, version.digest) for version in versions}
    changed = [
        segment for segment in proven if now.get(segment, (0, 0)) != _versions(proof.entries.get(segment, NO_ROWS))
    ]
    order = order_by_age(proof.coverage, segments)
    oldest = now_micros - rotation * _DAY_MICROS
    aged = [
        segment
        for stretch in proof.coverage.stretches
        if stretch.compared_micros <= oldest
        for segment in range(stretch.low, stretch.high)
    ]
    due = order[: -(-segments // rotation)]
    return Turn(SegmentSet.of(changed), SegmentSet.of(set(range(segments)) - proven), SegmentSet.of((*due, *aged)))


def find_changed(proof: ContentProof, lake: Mapping[int, tuple[int, int, int]], met: SegmentSet) -> SegmentSet:
    """The segments beside those that `met` whose lake is not what was proven. `lake`: rows and digest halves by segment."""
    rest = proof.list_proven() - set(met.ids)
    nothing = (0, 0, 0)
    return SegmentSet.of(
        segment for segment in rest if lake.get(segment, nothing) != _lake(proof.entries.get(segment, NO_ROWS))
    )


def renew_proof(
    proof: ContentProof,
    met: SegmentSet,
    equal: Mapping[int, ProvenSegment],
    micros: int,
    run_id: str,
    *,
    altered: tuple[str, ...] | None = None,
) -> ContentProof:
    """The proof after a sweep that compared the segments that `met`, of which `equal` may be carried from now on.

    What is carried stays as it was, with its age. A clock that stood still or went back does not mix up whose turn is next.
    """
    compared = set(met.ids)
    newest = max((stretch.compared_micros for stretch in proof.coverage.stretches), default=micros - 1)
    kept = {segment: entry for segment, entry in proof.entries.items() if segment not in compared}
    left_open = {segment for segment in proof.open_segments.ids if segment not in compared}
    left_open |= {segment for segment in compared if equal.get(segment) is None}
    return ContentProof(
        proof.standing,
        renew_coverage(proof.coverage, compared, max(micros, newest + 1), run_id),
        SegmentSet.of(left_open),
        {**kept, **{segment: entry for segment, entry in equal.items() if segment in compared and entry.rows}},
        run_id,
        altered,
    )


def wrap_digest(total: int) -> int:
    """A sum of 64-bit numbers as 64 bits, not negative."""
    return total % _BITS


def build_proof_document(table: str, proof: ContentProof) -> dict[str, Any]:
    """`proof.json`. One list a field: there are thousands of segments."""
    order = sorted(proof.entries)
    entries = [proof.entries[segment] for segment in order]
    return {
        "version": VERSION,
        "table": table,
        "run_id": proof.run_id,
        "standing": dict(proof.standing.facts),
        "transactions": proof.standing.transactions,
        "coverage": build_coverage_document(table, proof.coverage),
        "altered": None if proof.altered is None else list(proof.altered),
        "open": list(proof.open_segments.ids),
        "segments": order,
        "rows": [entry.rows for entry in entries],
        "versions": [f"{entry.versions:x}" for entry in entries],
        "high": [entry.high for entry in entries],
        "low": [entry.low for entry in entries],
    }


def parse(document: Mapping[str, Any]) -> ContentProof:
    """The proof of a `proof.json`. Raises ValueError where it is none, is odd, or of an unknown version."""
    try:
        if document["version"] != VERSION:
            raise ValueError(f"proof.json is version {document['version']!r}, this tool reads {VERSION}")
        coverage = parse_coverage(document["coverage"])
        names = ("segments", "rows", "high", "low")
        if not all(type(number) is int for name in (*names, "open") for number in document[name]):
            raise ValueError("proof.json holds something else where numbers are")
        altered = document.get("altered")  # which earlier versions did not write
        if not isinstance(altered, list | None) or not all(isinstance(name, str) for name in altered or ()):
            raise ValueError("proof.json names altered columns oddly")
        versions = [int(text, 16) for text in document["versions"]]
        columns = (document["rows"], versions, document["high"], document["low"])
        entries = {
            segment: ProvenSegment(*values)
            for segment, values in zip(document["segments"], zip(*columns, strict=True), strict=True)
        }
        facts = {str(name): str(value) for name, value in document["standing"].items()}
        standing = Standing(facts, int(document["transactions"]))
        open_segments = SegmentSet.of(document["open"])
        proof = ContentProof(
            standing,
            coverage,
            open_segments,
            entries,
            str(document["run_id"]),
            None if altered is None else tuple(altered),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("proof.json lacks a field, or one is odd") from error
    if len(entries) != len(document["segments"]) or not set(entries) <= proof.list_proven():
        raise ValueError("proof.json lists a segment twice, or one that was not compared")
    return proof


def _versions(entry: ProvenSegment) -> tuple[int, int]:
    return entry.rows, entry.versions


def _lake(entry: ProvenSegment) -> tuple[int, int, int]:
    return entry.rows, entry.high, entry.low
