"""The comparer in memory: lists of dicts, one key at a time."""
# ruff: noqa: ARG002 - the signatures are those of the port

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hudi_reconcile.core.sweep.coverage import count_all_segments
from hudi_reconcile.core.sweep.drift import Facts, FindingKind, PendingRange, choose_repair, classify
from hudi_reconcile.core.sweep.drift_profile import ZONE_STEP_MICROS, Anatomy, DriftCell, WatermarkShift, map_keys
from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.canonical_text import HALF_BITS, SegmentSum, sum_digests
from hudi_reconcile.core.tables.key_encoding import Key
from hudi_reconcile.core.tables.odd_keys import is_odd
from hudi_reconcile.core.tables.values import IN_SCOPE, READ_SEQ
from hudi_reconcile.ports import (
    HELD_RULES,
    Corrective,
    Frame,
    KeyPlace,
    KeysOf,
    Look,
    OneSided,
    SegmentDigest,
    StatusCounts,
    WholeLake,
)
from tests.fakes.rows import SEQNO, Journal, Row, lies_in, rows_of, segment_of, spread_bits

RowKey = tuple[Any, ...]


@dataclass(slots=True)
class FakeComparer:
    """Compares lists of dicts, one key at a time, by the real classification."""

    journal: Journal
    disk: dict[str, list[Row]]
    agreement: Agreement
    cut: Segmentation

    def compare_digests(self, look: Look, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
        sides = [
            self._images([row for row in rows_of(frame) if row.get(IN_SCOPE, True)], side)
            for frame, side in ((look.source, "c"), (look.lake, "lake"))
        ]
        touched = {segment_of(self.cut, key) for side in sides for key in side}
        found = []
        for segment in sorted(touched if segments is None else touched & set(segments.ids)):
            ours, theirs = (
                sorted((repr((key, image)) for key, images in side.items() for image, _, _ in images
                        if segment_of(self.cut, key) == segment))
                for side in sides
            )  # fmt: skip
            (told,) = sum_digests((segment, spread_bits(one)) for one in theirs) or (SegmentSum(segment, 0, 0, 0),)
            gap = add_halves([(1, one) for one in ours] + [(-1, one) for one in theirs])
            found.append(SegmentDigest(segment, len(ours), len(theirs), ours == theirs, told.high, told.low, gap))
        return tuple(found)

    def sums(self, rows: list[Row], side: str) -> tuple[SegmentSum, ...]:
        images = self._images(rows, side).items()
        return sum_digests(
            (segment_of(self.cut, key), spread_bits(repr((key, image)))) for key, all_ in images for image, _, _ in all_
        )

    def digest_side(self, rows: Frame, side: Literal["source", "lake"]) -> tuple[SegmentSum, ...]:
        return self.sums(rows_of(rows), "c" if side == "source" else "lake")

    def digest_texts(self, lake: Frame) -> tuple[SegmentSum, ...]:
        return self.sums(rows_of(lake), "lake")

    def keep(self, lake: Frame, segments: SegmentSet) -> Frame:
        names = [item.column.lake_name for item in self.agreement.key]
        return Frame([row for row in rows_of(lake) if lies_in(self.cut, segments, tuple(row[n] for n in names))])

    def find_candidates(self, look: Look, segments: SegmentSet) -> Frame:
        return Frame([fact for fact in self._facts(look, segments) if not fact["equal"] and fact["in_scope"]])

    def count_one_sided(self, candidates: Frame) -> dict[int, OneSided]:
        facts = rows_of(candidates)
        return {
            segment: OneSided(
                sum(fact["in_source"] and not fact["seqnos"] for fact in facts if fact["segment"] == segment),
                sum(not fact["in_source"] for fact in facts if fact["segment"] == segment),
            )
            for segment in {fact["segment"] for fact in facts}
        }

    def locate(self, rows: Frame, finer: Segmentation, most: int) -> tuple[KeyPlace, ...] | None:
        by_place: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
        for fact in rows_of(rows):
            by_place[fact["segment"], segment_of(finer, fact["key"])].append(fact)
        found = [
            KeyPlace(
                *place,
                sum(fact["rows_more"] for fact in facts),
                (sum(fact["gap"][0] for fact in facts), sum(fact["gap"][1] for fact in facts)),
            )
            for place, facts in by_place.items()
        ]
        return None if len(found) > most else tuple(found)

    def judge_candidates(
        self,
        candidates: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        first = {fact["key"]: fact for fact in rows_of(candidates)}
        now = {fact["key"]: fact for fact in self._facts(look, segments)}
        found = []
        for key in first | now:
            fact = now.get(key) or self._fact(key, [], [])
            if key not in first and (fact["equal"] or not fact["in_scope"]):
                continue
            was = first.get(key)
            unchanged = was is not None and (was["source"], was["seqnos"]) == (fact["source"], fact["seqnos"])
            facts = Facts(
                fact["in_source"], len(fact["seqnos"]), fact["equal"], unchanged, fact["source_micros"],
                fact["lake_micros"], pending, fact["source_id"],
            )  # fmt: skip
            kind = classify(facts)
            silent = was is not None and (
                was.get("silent", False) or (kind not in ("pending", "settled") and silently(was, fact))
            )
            if is_odd(("id",), key, self.agreement.mixing) and kind not in ("settled", "moving"):
                kind = FindingKind.ODD_KEY
            found.append({**fact, "kind": kind.value, "action": choose_repair(kind).value, "silent": silent})
        return Frame(found)

    def judge_again(
        self,
        found: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        self.journal.reached("comparer.judge_again")
        moving = [row for row in rows_of(found) if row["kind"] == "moving"]
        keys = [row["key"] for row in moving]
        again = self.judge_candidates(Frame(moving), look, segments, pending, whole_lake=whole_lake)
        judged = [row for row in rows_of(again) if row["key"] in keys]
        return Frame([*(row for row in rows_of(found) if row["kind"] != "moving"), *judged])

    def named_keys(self, found: Frame, which: KeysOf, most: int) -> tuple[Key, ...] | None:
        keys = [row["key"] for row in rows_of(found) if self._is_chosen(row, which)]
        return None if len(keys) > most else tuple(tuple(None if k is None else str(k) for k in key) for key in keys)

    def unsettle(self, found: Frame, which: KeysOf) -> Frame:
        moving = {"kind": "moving", "action": "none"}
        return Frame([{**row, **moving} if self._is_chosen(row, which) else row for row in rows_of(found)])

    @staticmethod
    def _is_chosen(row: Row, which: KeysOf) -> bool:
        is_absent = row["kind"] == "settled" and not row["in_source"] and not row["seqnos"]
        return is_absent if which == "absent" else row["kind"] == which

    def count_hidden_rows(self, source: Frame) -> dict[str, int]:
        self.journal.reached("comparer.count_hidden_rows")
        names = [f"c{item.index}" for item in self.agreement.cut]
        hidden = [sum(row[name] is not None and row[name] % 10 != 0 for row in rows_of(source)) for name in names]
        return {item.column.name: rows for item, rows in zip(self.agreement.cut, hidden, strict=True)}

    def count(self, frame: Frame, *columns: str) -> dict[str, int]:
        return dict(Counter(" ".join(str(row[name]).lower() for name in columns) for row in rows_of(frame)))

    def save(self, findings: Frame, path: str, rows: int) -> None:
        assert rows == len(rows_of(findings))
        self.disk[path] = [dict(row) for row in rows_of(findings)]

    def load(self, path: str, files: Collection[str]) -> Frame:
        return Frame([dict(row) for row in self.disk[path]])

    def select_corrections(self, findings: Frame, action: str | None) -> Frame:
        legal = {"upsert", "delete"} if action is None else {action}
        return Frame([row for row in rows_of(findings) if row["action"] in legal])

    def _differing(self, findings: Frame) -> dict[str, int]:
        names = [item.column.name for item in self.agreement.columns]
        both = [row for row in rows_of(findings) if row["in_source"] and row["lake_row"]]
        held = [[row["lake_row"][item.column.lake_name] for item in self.agreement.columns] for row in both]
        pairs = [zip(names, row["source"], lake, strict=True) for row, lake in zip(both, held, strict=True)]
        return dict(Counter(name for pair in pairs for name, ours, theirs in pair if ours != theirs))

    def profile_drift(self, findings: Frame, rows: int, *, timed: bool, reached_micros: int | None) -> Anatomy:
        drift = rows_of(self.select_corrections(findings, None))
        assert rows == len(drift)
        cells = Counter(row["kind"] for row in drift)
        both = [(row["source_micros"], row["lake_micros"]) for row in drift]
        steps = [lake - ours for ours, lake in both if None not in (ours, lake) and lake != ours and timed]
        steps = [one for one in steps if one % ZONE_STEP_MICROS == 0]
        return Anatomy(
            tuple(DriftCell(kind, None, None, n) for kind, n in cells.items()),
            columns=self._differing(Frame(drift)),
            key_map=map_keys({row["segment"] for row in drift}, count_all_segments(self.cut)),
            shift=WatermarkShift(len(steps), min(steps), max(steps)) if steps else None,
        )

    def recheck(self, plan: Frame, look: Look, segments: SegmentSet, *, rows: int | None = None) -> Frame:
        now = {fact["key"]: fact for fact in self._facts(look, segments)}
        found = []
        for row in rows_of(plan):
            fact = now.get(row["key"]) or self._fact(row["key"], [], [])
            status = "doubled" if len(fact["seqnos"]) > 1 else "ready"
            if row["source"] != fact["source"] or fact["source_rows"] > 1:
                status = "moved"
            is_other_row = len(row["seqnos"]) == 1 and self._lake_image(row) != self._lake_image(fact)
            if row["seqnos"] != fact["seqnos"] or is_other_row:
                status = "superseded"
            planned = (row["source"], row["seqnos"])
            found.append({**fact, "action": row["action"], "status": status, "planned": planned, "rules": []})
        return Frame(found)

    def list_deletes(self, rechecked: Frame, most: int) -> tuple[Key, ...] | None:
        rows = [row for row in rows_of(rechecked) if _is_delete(row)]
        return None if len(rows) > most else tuple(tuple(None if k is None else str(k) for k in r["key"]) for r in rows)

    def stage_rows(self, source: Frame) -> tuple[Frame, int]:
        return source, len(rows_of(source))

    def mark_existing(self, rechecked: Frame, there: Frame | None) -> Frame:
        keys = None if there is None else set(self._images(rows_of(there), "c"))
        moved = [_is_delete(row) and (keys is None or row["key"] in keys) for row in rows_of(rechecked)]
        return Frame(
            [{**row, "status": "moved"} if gone else row for row, gone in zip(rows_of(rechecked), moved, strict=True)]
        )

    def mark_landed(
        self,
        rechecked: Frame,
        around: tuple[Frame, Frame],
        segments: SegmentSet,
        later: Sequence[tuple[Frame, Frame]] = (),
    ) -> Frame:
        shown = [self._images(rows_of(frame), "lake") for frame in around]
        moved = [[self._versions(frame) for frame in pair] for pair in later]
        found = []
        for row in rows_of(rechecked):
            was, then = (sorted(one[SEQNO] for _, _, one in side.get(row["key"], [])) for side in shown)
            now = then
            for old, new in moved:
                now = new.get(row["key"], []) if old.get(row["key"], []) == now else now
            wanted, planned = row["planned"]
            images = [image for image, _, _ in shown[1].get(row["key"], [])]
            made = was == planned != then and images == ([] if row["action"] == "delete" else [wanted])
            image_stays = row["action"] == "delete" or self._lake_image(row) == wanted
            found.append({**row, "status": "landed"} if made and now == row["seqnos"] and image_stays else row)
        return Frame(found)

    def carry_versions(self, plan: Frame, action: str, before: Frame, at: Frame) -> Frame:
        was, then = self._versions(before), self._versions(at)
        return Frame(
            [
                {**row, "seqnos": then[row["key"]]}
                if row["action"] == action
                and row["seqnos"]
                and was.get(row["key"]) == row["seqnos"]
                and row["key"] in then
                else row
                for row in rows_of(plan)
            ]
        )

    def _versions(self, frame: Frame) -> dict[RowKey, list[str]]:
        images = self._images(rows_of(frame), "lake").items()
        return {key: sorted(row[SEQNO] for _, _, row in copies) for key, copies in images}

    def _lake_image(self, row: Row) -> Any:
        return row["lake_row"] and tuple(row["lake_row"][item.column.lake_name] for item in self.agreement.columns)

    def hold(self, rechecked: Frame, keys: Frame) -> Frame:
        named = {(row["id"],): row[HELD_RULES] for row in rows_of(keys)}
        held = [{**row, "status": "held", "rules": named[row["key"]]}
                if row["action"] == "upsert" and row["key"] in named else row
                for row in rows_of(rechecked)]  # fmt: skip
        return Frame(held)

    def count_statuses(self, rechecked: Frame) -> StatusCounts:
        rows = [row for row in rows_of(rechecked) if row["status"] in ("ready", "doubled")]
        replaced = [row["lake_row"] for row in rows if row["lake_row"]]
        return StatusCounts(
            rows=self.count(rechecked, "status"),
            deletes=sum(row["action"] == "delete" for row in rows),
            newest_seq=max((row[READ_SEQ] for row in replaced if READ_SEQ in row), default=None),
        )

    def build_corrective(self, rechecked: Frame, status: str = "ready", *, rows: int | None = None) -> Corrective:
        found = [row for row in rows_of(rechecked) if row["status"] == status]
        assert rows in (None, len(found))
        return Corrective(
            upserts=Frame([row["source_row"] for row in found if row["action"] == "upsert"]),
            deletes=Frame([row["lake_row"] for row in found if row["action"] == "delete"]),
            expected=Frame([{"id": r["key"][0], "_hr_seqno": s} for r in found for s in (r["seqnos"] or [None])]),
            rows=rows,
        )

    def read_back(
        self, rechecked: Frame, lake: Frame, segments: SegmentSet, *, written: Collection[str] = ("ready", "doubled")
    ) -> Frame:
        images = self._images(rows_of(lake), "lake")
        found = []
        for row in rows_of(rechecked):
            shown = [image for image, _, _ in images.get(row["key"], [])]
            wanted = [] if row["action"] == "delete" else [row["source"]]
            status = "applied" if shown == wanted else "failed"
            found.append({**row, "status": status if row["status"] in written else row["status"]})
        return Frame(found)

    def name_reasons(self, rows: Frame, column: str, reasons: Mapping[str, str]) -> Frame:
        left = [row for row in rows_of(rows) if row[column] not in ("applied", "landed")]
        told = [(row["key"], reasons.get(row[column], row[column]), row.get("rules", [])) for row in left]
        return Frame([{"key": key, "reason": reason, "rules": rules} for key, reason, rules in told])

    def list_uncorrected(self, planned: Frame, ends: Sequence[Frame]) -> Frame:
        left = [row for one in ends for row in rows_of(one)]
        by_key = {row["key"]: row for row in left}
        assert len(by_key) == len(left), "a row is uncorrected for two reasons"
        return Frame([{**row, **by_key[row["key"]]} for row in rows_of(planned) if row["key"] in by_key])

    # --- helpers ---

    def _images(self, rows: list[Row], side: str) -> dict[RowKey, list[tuple[RowKey, int | None, Row]]]:
        def value(row: Row, item: Any) -> Any:
            return row[f"c{item.index}" if side == "c" else item.column.lake_name]

        images: dict[RowKey, list[tuple[RowKey, int | None, Row]]] = {}
        for row in rows:
            key = tuple(value(row, item) for item in self.agreement.key)
            items = self.agreement.moving if side == "c" else self.agreement.watermark
            marks = [mark for item in items if (mark := value(row, item)) is not None]
            image = tuple(value(row, item) for item in self.agreement.columns)
            images.setdefault(key, []).append((image, max(marks, default=None), row))
        return images

    def _facts(self, look: Look, segments: SegmentSet) -> list[Row]:
        source, lake = self._images(rows_of(look.source), "c"), self._images(rows_of(look.lake), "lake")
        keys = [key for key in {**source, **lake} if lies_in(self.cut, segments, key)]
        return [self._fact(key, source.get(key, []), lake.get(key, [])) for key in keys]

    def _fact(self, key: RowKey, source: list[Any], lake: list[Any]) -> Row:
        shown = max(lake, key=lambda item: item[2][SEQNO]) if lake else (None, None, None)
        ours = source[0] if source else (None, None, None)
        told = [
            (sign, repr((key, image)))
            for sign, images in ((1, source), (-1, lake))
            for image, _, row in images
            if row.get(IN_SCOPE, True)
        ]
        return {
            "key": key,
            "segment": segment_of(self.cut, key),
            "in_source": bool(source),
            "source_rows": len(source),
            "in_scope": any(row.get(IN_SCOPE, True) for _, _, row in (*source, *lake)),
            "source": ours[0],
            "source_micros": ours[1],
            "source_row": ours[2],
            "source_id": self._id(ours[2]),
            "seqnos": sorted(row[SEQNO] for _, _, row in lake),
            "lake_micros": shown[1],
            "lake_row": shown[2],
            "equal": len(source) == len(lake) == 1 and shown[0] == ours[0],
            "rows_more": sum(sign for sign, _ in told),
            "gap": add_halves(told),
        }

    def _id(self, row: Row | None) -> Any:
        item = self.agreement.incrementing
        return None if row is None or item is None else row[f"c{item.index}"]


def add_halves(rows: list[tuple[int, str]]) -> tuple[int, int]:
    """The halves of the rows' digests, each with its sign, in sums."""
    digests = [(sign, spread_bits(text)) for sign, text in rows]
    mask = (1 << HALF_BITS) - 1
    return sum(sign * (one >> HALF_BITS) for sign, one in digests), sum(sign * (one & mask) for sign, one in digests)


def _is_delete(row: Row) -> bool:
    return row["action"] == "delete" and row["status"] in ("ready", "doubled")


def silently(was: Row, now: Row) -> bool:
    """The source's row changed and its watermark did not."""
    marks = was["source_micros"] == now["source_micros"]
    return bool(was["in_source"] and now["in_source"] and was["source"] != now["source"] and marks)
