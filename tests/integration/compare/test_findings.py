"""Two looks, findings as their NDJSON lines, masks, and corrections, on Spark frames without Hudi."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.compare.findings import Masks
from hudi_reconcile.core.pull.cursor import Mark
from hudi_reconcile.core.sweep.drift import PendingRange
from hudi_reconcile.core.sweep.drift_profile import WatermarkShift
from hudi_reconcile.core.sweep.segments import HashSegments, RangeSegments, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.ports import Comparer, Frame
from tests.contracts.comparer import unread_lake
from tests.integration.compare.support import (
    ALL,
    UUID,
    agreement,
    comparer,
    lake_frame,
    look,
    row,
    source_frame,
    spark_frame,
)

HOUR = 3_600_000_000
ONE = RangeSegments("id", 0, 1000, 1)
AFTER = int(datetime(2026, 6, 1, tzinfo=UTC).timestamp()) * 1_000_000
PENDING = PendingRange(Mark(AFTER), 2**62)


def loaded(compare: Comparer, folder: Path) -> Frame:
    """What was saved, with a file of every row beside it that no plan names: Spark reads any name without _ or a dot."""
    (part,) = (folder / "findings").glob("*.parquet")
    shutil.copy(part, folder / "findings" / "added")
    return compare.load(str(folder / "findings"), [part.name])


def lines(frame: Frame) -> list[dict[str, Any]]:
    return sorted(
        (json.loads(item["line"]) for item in spark_frame(frame).collect()), key=lambda item: str(item["key"])
    )


def judged(
    spark: SparkSession, source: Frame, lake: Frame, *, found: Agreement | None = None, masks: Masks | None = None,
    cut: Any = ONE, after: int | None = AFTER,
) -> Frame:  # fmt: skip
    """The findings of two equal looks."""
    compare = comparer(spark, cut, found, masks)
    both = look(source, lake)
    return compare.judge_candidates(
        compare.find_candidates(both, ALL),
        both,
        ALL,
        None if after is None else PendingRange(Mark(after), 2**62),
        whole_lake=unread_lake,
    )


def test_findings_of_every_kind_are_lines_of_the_contract(spark: SparkSession) -> None:
    early, late = datetime(2025, 1, 1), datetime(2026, 7, 1)  # noqa: DTZ001
    source = source_frame(
        spark,
        row(id=1), row(id=2), row(id=3, txt="new"), row(id=4, ts=early), row(id=6), row(id=7, ts=late),
        row(id=8, ts=datetime(2026, 2, 1)),  # noqa: DTZ001
    )  # fmt: skip
    lake = lake_frame(
        spark, row(id=1), row(id=3), row(id=4), row(id=5, _partition="p=1", _commit="20260301000000000"),
        row(id=6, _seqno="a"), row(id=6, _seqno="b"), row(id=8),
    )  # fmt: skip

    found = lines(judged(spark, source, lake))

    assert [(item["key"], item["kind"], item["action"], item["columns"]) for item in found] == [
        ({"id": 2}, "late_arriving", "upsert", []),
        ({"id": 3}, "updated_without_watermark", "upsert", ["txt"]),
        ({"id": 4}, "regressed", "upsert", ["ts"]),
        ({"id": 5}, "deleted", "delete", []),
        ({"id": 6}, "duplicate_key", "upsert", []),
        ({"id": 7}, "pending", "none", []),
        ({"id": 8}, "late_arriving", "upsert", ["ts"]),
    ]
    assert [list(item) for item in found[:1]] == [["table", "kind", "key", "action", "columns", "source", "lake"]]
    assert {item["table"] for item in found} == {"orders"}
    assert (found[0]["lake"], found[3]["source"]) == (None, None)
    gone = found[3]["lake"]
    assert (gone["partition_path"], gone["commit_time"], gone["copies"]) == ("p=1", "20260301000000000", 1)
    assert found[4]["lake"]["copies"] == 2
    assert found[2]["source"]["watermark"] == "2025-01-01T00:00:00.000000"
    assert found[1]["source"]["digest"] != found[1]["lake"]["digest"]
    assert len(found[1]["source"]["digest"]) == 16
    anatomy = comparer(spark, ONE).profile_drift(
        judged(spark, source, lake), 6, timed=True, reached_micros=AFTER
    )  # fmt: skip
    assert {(cell.kind, cell.partition, cell.day): cell.rows for cell in anatomy.cells} == {
        (
            item["kind"],
            item["lake"] and item["lake"]["partition_path"],
            (item["source"] or item["lake"])["watermark"][:10],
        ): 1
        for item in found
        if item["kind"] != "pending"
    }
    assert (anatomy.other_rows, anatomy.columns) == (0, {"txt": 1, "ts": 2})
    assert (anatomy.missing_rows, anatomy.extra_copies) == (1, 1)
    assert anatomy.lateness is not None
    assert sum(anatomy.lateness.rows) == 2


@pytest.mark.parametrize(
    ("lake_hours", "shift"),
    [
        ({1: 2, 2: 2, 3: 2}, WatermarkShift(3, 2 * HOUR, 2 * HOUR)),
        ({1: 1, 2: 2, 3: 2}, WatermarkShift(3, HOUR, 2 * HOUR)),
        ({1: -5.5, 2: -5.5}, WatermarkShift(2, -11 * HOUR // 2, -11 * HOUR // 2)),
        ({1: 2, 2: 2.1}, WatermarkShift(1, 2 * HOUR, 2 * HOUR)),
        ({1: 0.1}, None),
    ],
)
def test_rows_whose_watermark_the_lake_has_in_another_zone_are_counted_with_the_hours(
    spark: SparkSession, lake_hours: dict[int, float], shift: WatermarkShift | None
) -> None:
    at = datetime(2025, 1, 1)  # noqa: DTZ001 - the column has no zone
    source = source_frame(spark, *(row(id=key, ts=at) for key in lake_hours))
    lake = lake_frame(spark, *(row(id=key, ts=at + timedelta(hours=hours)) for key, hours in lake_hours.items()))

    profile = partial(comparer(spark, ONE).profile_drift, judged(spark, source, lake), len(lake_hours))

    assert profile(timed=True, reached_micros=None).shift == shift
    assert profile(timed=False, reached_micros=None).shift is None


def test_values_are_spelled_as_the_contract_says(spark: SparkSession) -> None:
    (found,) = lines(
        judged(spark, source_frame(spark, row(num=Decimal("-1234567890.10"), ch="ab  ")), lake_frame(spark))
    )

    assert found["source"]["values"] == {
        "id": 1, "small": 7, "num": "-1234567890.10", "flag": True, "a.b": "dot", "txt": "text", "ch": "ab", "uid": UUID,
        "raw": "00ff", "day": "2026-01-02", "ts": "2026-01-02T03:04:05.000006", "tz": "2026-01-02T03:04:05.000006Z",
        "re": "1.5", "dbl": "2.5",
    }  # fmt: skip


def test_small_and_null_values_keep_all_digits_and_stay_null(spark: SparkSession) -> None:
    nulls = dict.fromkeys(("small", "flag", "a.b", "txt", "ch", "uid", "raw", "day", "tz", "re", "dbl", "ts"))

    (found,) = lines(judged(spark, source_frame(spark, row(num=Decimal("0.01"), **nulls)), lake_frame(spark)))

    values = found["source"]["values"]
    assert values["num"] == "0.01"
    assert {name: values[name] for name in nulls} == nulls
    assert found["source"]["watermark"] is None


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        (("txt", "small"), {"txt": 'ä "x", \\\u2028\n', "small": None}, {"txt": 'ä "x", \\\u2028\n', "small": None}),
        (("uid",), {"uid": UUID.upper()}, {"uid": UUID}),
        (("day", "flag"), {}, {"day": "2026-01-02", "flag": True}),
        (("num",), {"num": Decimal("1.10")}, {"num": "1.10"}),
        (("raw",), {}, {"raw": "00ff"}),
        (("ts",), {}, {"ts": "2026-01-02T03:04:05.000006"}),
        (("a.b",), {}, {"a.b": "dot"}),
        (("id",), {"id": 2**53 + 1}, {"id": 2**53 + 1}),
        (("ch",), {"ch": "ab"}, {"ch": "ab"}),
    ],
)
def test_key_of_any_kind_is_told_in_json(
    spark: SparkSession, key: tuple[str, ...], values: dict[str, Any], expected: dict[str, Any]
) -> None:
    source, lake = source_frame(spark, row(**values)), lake_frame(spark, row(**{**values, "dbl": 9.0}))

    (found,) = lines(judged(spark, source, lake, found=agreement(*key), cut=HashSegments(key, 2)))

    assert found["key"] == expected
    assert (found["kind"], found["columns"]) == ("updated_without_watermark", ["dbl"])


def test_nulls_in_a_part_of_the_key_meet_each_other(spark: SparkSession) -> None:
    source = source_frame(spark, row(txt=None), row(txt=""), row(txt="x", small=None))
    lake = lake_frame(spark, row(txt=None), row(txt=""), row(txt="x", small=None))

    assert (
        lines(judged(spark, source, lake, found=agreement("txt", "small"), cut=HashSegments(("txt", "small"), 2))) == []
    )


def test_masked_values_stand_in_no_byte_of_the_findings(spark: SparkSession, tmp_path: Path) -> None:
    secret, hidden = "top-secret-value", "hidden-value"
    masks = Masks({"txt": "hmac", "a.b": "redact", "ts": "redact", "num": "hmac"}, b"k" * 80)
    source = source_frame(spark, row(txt=secret, **{"a.b": hidden}), row(id=2, txt=None))
    lake = lake_frame(spark, row(txt=secret + "2", **{"a.b": hidden + "2"}))
    compare = comparer(spark, ONE, None, masks)

    found = judged(spark, source, lake, masks=masks)
    compare.save(found, str(tmp_path / "findings"), 2)

    first, second = lines(loaded(compare, tmp_path))
    key = hashlib.sha256(b"k" * 80).digest() if len(b"k" * 80) > 64 else b"k" * 80
    assert first["source"]["values"]["txt"] == hmac.new(key, secret.encode(), "sha256").hexdigest()
    assert first["source"]["values"]["num"] == hmac.new(b"k" * 80, b"10.25", "sha256").hexdigest()
    assert second["source"]["values"]["txt"] is None
    assert "a.b" not in first["source"]["values"]
    assert first["source"]["watermark"] is None
    assert set(first["columns"]) == {"a.b", "txt"}
    written = b"".join(path.read_bytes() for path in (tmp_path / "findings").rglob("*") if path.is_file())
    for value in (secret, hidden, "10.25", "2026-01-02T03:04:05"):
        plain = [item for item in lines(loaded(compare, tmp_path)) if value in json.dumps(item)]
        if value == "2026-01-02T03:04:05":
            plain = [item for item in plain if value in str(item["source"]["values"].get("ts"))]
        assert plain == []
    assert secret.encode() not in written
    assert hidden.encode() not in written


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 64, b"y" * 65])
def test_hmac_is_pythons_whatever_the_key_and_text(spark: SparkSession, key: bytes) -> None:
    texts = ["", "a", "ä 中 🙂", "x" * 200]
    masks = Masks({"txt": "hmac"}, key)
    source = source_frame(spark, *(row(id=i, txt=text) for i, text in enumerate(texts)))

    found = lines(judged(spark, source, lake_frame(spark), masks=masks))

    assert [item["source"]["values"]["txt"] for item in found] == [
        hmac.new(key, text.encode(), "sha256").hexdigest() for text in texts
    ]


def test_findings_are_saved_by_kind_and_key_and_load_the_same(spark: SparkSession, tmp_path: Path) -> None:
    source = source_frame(spark, *(row(id=i) for i in (30, 4, 200)))
    lake = lake_frame(spark, *(row(id=i) for i in (9, 100)))
    compare = comparer(spark, ONE)
    found = judged(spark, source, lake)

    compare.save(found, str(tmp_path / "findings"), 5)

    saved = [json.loads(item["line"]) for item in spark_frame(loaded(compare, tmp_path)).collect()]
    assert [(item["kind"], item["key"]["id"]) for item in saved] == [
        ("deleted", 9), ("deleted", 100), ("late_arriving", 4), ("late_arriving", 30), ("late_arriving", 200),
    ]  # fmt: skip


def test_what_changed_between_the_looks_is_settled_or_moving_and_never_drift(spark: SparkSession) -> None:
    compare = comparer(spark, ONE)
    first = look(
        source_frame(spark, row(id=1, txt="new"), row(id=3), row(id=5), row(id=6, txt="x")),
        lake_frame(spark, *(row(id=i, _seqno=f"s{i}") for i in (1, 2, 4, 5, 6))),
    )
    second = look(
        source_frame(spark, row(id=1), row(id=2), row(id=4, txt="z"), row(id=5, txt="later"), row(id=6, txt="x")),
        lake_frame(spark, *(row(id=i, _seqno=f"s{i}") for i in (1, 2, 4, 5)), row(id=6, _seqno="s7")),
    )

    found = compare.judge_candidates(compare.find_candidates(first, ALL), second, ALL, PENDING, whole_lake=unread_lake)

    assert {item["key"]["id"]: item["kind"] for item in lines(found)} == {
        1: "settled", 2: "settled", 3: "settled", 4: "moving", 5: "moving", 6: "moving",
    }  # fmt: skip
    assert compare.count(found, "kind") == {"settled": 3, "moving": 3}


def test_later_look_judges_what_was_moving_against_the_look_before_and_nothing_else(spark: SparkSession) -> None:
    compare = comparer(spark, ONE)
    lake = lake_frame(spark, *(row(id=i, _seqno=f"s{i}") for i in (1, 2, 3, 4, 5, 7, 8)))
    later = datetime(2026, 7, 1)  # noqa: DTZ001
    looks = [
        source_frame(
            spark, *(row(id=i, txt=f"look {n}") for i in (1, 2, 3, 4)), row(id=5), row(id=7, txt="drift"), row(id=8)
        )
        for n in (1, 2)
    ]
    first, second = (look(source, lake) for source in looks)
    found = compare.judge_candidates(compare.find_candidates(first, ALL), second, ALL, PENDING, whole_lake=unread_lake)
    assert sorted(compare.named_keys(found, "moving", 10) or ()) == [("1",), ("2",), ("3",), ("4",)]
    assert compare.named_keys(found, "moving", 3) is None

    # Of the keys that are asked for now, 2 is equal, 3 gone, 4 newer; what is not asked for is not judged as gone.
    third = source_frame(spark, row(id=1, txt="look 2"), row(id=2), row(id=4, txt="new", ts=later))
    again = compare.judge_again(found, look(third, lake), ALL, PENDING, whole_lake=unread_lake)
    last = compare.judge_again(again, look(source_frame(spark), lake), ALL, PENDING, whole_lake=unread_lake)

    assert {item["key"]["id"]: item["kind"] for item in lines(again)} == {
        1: "updated_without_watermark", 2: "settled", 3: "moving", 4: "pending", 7: "updated_without_watermark",
    }  # fmt: skip
    assert {item["key"]["id"]: item["kind"] for item in lines(last)}[3] == "deleted"
    assert compare.count(again, "silent")["true"] == 4  # each was seen to change between the first two looks


def test_settled_rows_that_neither_side_shows_can_be_asked_for_and_be_moving_in_their_lines_too(
    spark: SparkSession,
) -> None:
    compare = comparer(spark, ONE)
    lake = lake_frame(spark, row(id=1, _seqno="s1"), row(id=4, _seqno="s4"))
    first = look(source_frame(spark, row(id=1, txt="new"), row(id=2), row(id=3)), lake)
    second = look(source_frame(spark, row(id=1), row(id=3)), lake)
    found = compare.judge_candidates(compare.find_candidates(first, ALL), second, ALL, PENDING, whole_lake=unread_lake)

    assert compare.named_keys(found, "absent", 10) == (("2",),)
    assert compare.named_keys(found, "absent", 0) is None
    doubted = compare.unsettle(found, "absent")

    kinds = {item["key"]["id"]: item["kind"] for item in lines(doubted)}
    assert kinds == {1: "settled", 2: "moving", 3: "late_arriving", 4: "deleted"}
    assert compare.count(doubted, "kind") == {"settled": 1, "moving": 1, "late_arriving": 1, "deleted": 1}
    (line,) = [item for item in lines(doubted) if item["key"]["id"] == 2]
    assert line == {**line, "action": "none", "columns": [], "source": None, "lake": None}
    assert compare.named_keys(doubted, "moving", 10) == (("2",),)
    again = compare.judge_again(
        doubted, look(source_frame(spark, row(id=2)), lake), ALL, PENDING, whole_lake=unread_lake
    )
    assert {item["key"]["id"]: item["kind"] for item in lines(again)}[2] == "moving"


def test_only_asked_segments_are_compared(spark: SparkSession) -> None:
    cut = RangeSegments("id", 0, 10, 3)
    compare = comparer(spark, cut)
    both = look(source_frame(spark, *(row(id=i) for i in (5, 15, 25))), lake_frame(spark))
    chosen = SegmentSet.of([1])

    found = compare.judge_candidates(
        compare.find_candidates(both, chosen), both, chosen, PENDING, whole_lake=unread_lake
    )

    assert [item["key"]["id"] for item in lines(found)] == [15]
    assert set(compare.count(compare.select_corrections(found, None), "segment")) == {str(one) for one in chosen.ids}
    assert [digest.segment for digest in compare.compare_digests(both, chosen)] == [1]


def test_planned_keys_are_ready_moved_or_superseded_and_only_ready_ones_are_written(spark: SparkSession) -> None:
    compare = comparer(spark, ONE)
    lake_rows = [row(id=i, _seqno=f"s{i}") for i in (1, 2, 3, 4, 5)]
    then = look(
        source_frame(spark, row(id=1, txt="n"), row(id=2, txt="n"), row(id=3, txt="n"), row(id=6), row(id=7)),
        lake_frame(spark, *lake_rows),
    )
    plan = compare.select_corrections(
        compare.judge_candidates(compare.find_candidates(then, ALL), then, ALL, PENDING, whole_lake=unread_lake), None
    )
    now_lake = lake_frame(spark, row(id=1, _seqno="s1"), row(id=2, _seqno="s9"), *lake_rows[2:])
    twice = [row(id=7), row(id=7)]  # a view that doubles a key now: which of its rows is right cannot be told
    now = look(
        source_frame(spark, row(id=1, txt="n"), row(id=2, txt="n"), row(id=3, txt="nn"), row(id=4), row(id=6), *twice),
        now_lake,
    )

    rechecked = compare.recheck(plan, now, ALL)
    ready = compare.build_corrective(rechecked)

    status = {item["k0"]: item["status"] for item in spark_frame(rechecked).collect()}
    assert status == {1: "ready", 2: "superseded", 3: "moved", 4: "moved", 5: "ready", 6: "ready", 7: "moved"}
    assert sorted(item["c0"] for item in spark_frame(ready.upserts).collect()) == [1, 6]
    assert [item["id"] for item in spark_frame(ready.deletes).collect()] == [5]
    expected = sorted((item["id"], item["_hr_seqno"]) for item in spark_frame(ready.expected).collect())
    assert expected == [(1, "s1"), (5, "s5"), (6, None)]
    only = compare.select_corrections(compare.select_corrections(plan, None), "delete")
    assert sorted(item["k0"] for item in spark_frame(only).collect()) == [4, 5]

    after = lake_frame(spark, row(id=1, txt="n"), row(id=2), row(id=3), row(id=4), row(id=5), row(id=6))
    shown = compare.read_back(rechecked, after, ALL)
    assert compare.count(shown, "status") == {"applied": 2, "failed": 1, "moved": 3, "superseded": 1}

    left = compare.list_uncorrected(plan, [compare.name_reasons(shown, "status", {"moved": "held"})])
    assert compare.count(left, "reason") == {"superseded": 1, "held": 3, "failed": 1}
    assert lines(left)[0] == {
        "table": "orders", "kind": "updated_without_watermark", "key": {"id": 2}, "action": "upsert", "columns": ["txt"],
        "reason": "superseded", "rules": [],
    }  # fmt: skip
    assert [item["key"]["id"] for item in lines(left)] == [2, 3, 4, 5, 7]


def test_doubled_keys_are_told_apart_and_every_copy_of_them_is_expected(spark: SparkSession) -> None:
    compare = comparer(spark, ONE)
    copies = [row(id=i, _seqno=f"{i}{copy}") for i in (1, 2) for copy in "ab"]
    both = look(source_frame(spark, row(id=1)), lake_frame(spark, *copies))
    plan = compare.select_corrections(
        compare.judge_candidates(compare.find_candidates(both, ALL), both, ALL, PENDING, whole_lake=unread_lake), None
    )

    rechecked = compare.recheck(plan, both, ALL)
    doubled = compare.build_corrective(rechecked, "doubled")

    assert compare.count(rechecked, "status") == {"doubled": 2}
    expected = sorted((item["id"], item["_hr_seqno"]) for item in spark_frame(doubled.expected).collect())
    assert expected == [(1, "1a"), (1, "1b"), (2, "2a"), (2, "2b")]
    assert [item["c0"] for item in spark_frame(doubled.upserts).collect()] == [1]
    assert spark_frame(compare.build_corrective(rechecked).expected).collect() == []


def test_corrections_that_one_commit_made_and_nobody_touched_since_are_landed(spark: SparkSession) -> None:
    compare = comparer(spark, ONE)
    lake_rows = [row(id=i, _seqno=f"s{i}") for i in (1, 2, 3, 4, 5)]
    source_rows = [row(id=i, txt="n") for i in (1, 2, 3)]  # 4 and 5 are to be deleted, 6 is to be inserted
    then = look(source_frame(spark, *source_rows, row(id=6)), lake_frame(spark, *lake_rows))
    plan = compare.select_corrections(
        compare.judge_candidates(compare.find_candidates(then, ALL), then, ALL, PENDING, whole_lake=unread_lake), None
    )
    # Another writer deletes 5; the commit writes 1, 2 and 6 and deletes 4; another writer writes 2 again.
    before = lake_rows[:4]
    at = [row(id=1, txt="n", _seqno="c1"), row(id=2, txt="n", _seqno="c2"), lake_rows[2], row(id=6, _seqno="c6")]
    now = [at[0], row(id=2, txt="n", _seqno="d2"), *at[2:]]

    rechecked = compare.recheck(plan, look(then.source, lake_frame(spark, *now)), ALL)
    fewer = Frame(spark_frame(lake_frame(spark, *before)).drop("txt"))  # a column that the table did not have yet
    found = compare.mark_landed(rechecked, (fewer, lake_frame(spark, *at)), ALL)

    status = {item["k0"]: item["status"] for item in spark_frame(found).collect()}
    assert status == {1: "landed", 2: "superseded", 3: "ready", 4: "landed", 5: "superseded", 6: "landed"}
    assert [item["c0"] for item in spark_frame(compare.build_corrective(found).upserts).collect()] == [3]


def test_rows_that_a_commit_of_the_other_part_carried_are_as_compared_and_what_others_changed_before_it_is_not(
    spark: SparkSession,
) -> None:
    compare = comparer(spark, ONE)
    lake_rows = [row(id=i, _seqno=f"s{i}") for i in (1, 2, 3)]
    then = look(source_frame(spark, row(id=1, txt="n"), row(id=2, txt="n"), row(id=4)), lake_frame(spark, *lake_rows))
    plan = compare.select_corrections(
        compare.judge_candidates(compare.find_candidates(then, ALL), then, ALL, PENDING, whole_lake=unread_lake), None
    )
    # Another writer writes 2; then our commit for other keys writes all rows anew.
    before = [lake_rows[0], row(id=2, _seqno="x2"), lake_rows[2]]
    at = lake_frame(spark, *(row(id=i, _seqno=f"r{i}") for i in (1, 2, 3)))

    carried = compare.carry_versions(plan, "upsert", lake_frame(spark, *before), at)
    rechecked = compare.recheck(carried, look(then.source, at), ALL)

    status = {item["k0"]: item["status"] for item in spark_frame(rechecked).collect()}
    assert status == {1: "ready", 2: "superseded", 3: "superseded", 4: "ready"}, (
        "3 is a delete, of the commit's own part"
    )


def test_row_that_a_commit_made_and_a_later_one_of_ours_carried_is_landed(spark: SparkSession) -> None:
    compare = comparer(spark, ONE)
    was = [row(id=i, _seqno=f"s{i}") for i in (1, 2)]
    then = look(source_frame(spark, row(id=1, txt="n"), row(id=2, txt="n")), lake_frame(spark, *was))
    plan = compare.select_corrections(
        compare.judge_candidates(compare.find_candidates(then, ALL), then, ALL, PENDING, whole_lake=unread_lake), None
    )
    made = [row(id=i, txt="n", _seqno=f"c{i}") for i in (1, 2)]
    # Another writer writes 2 as it is; then a later commit of ours writes both anew.
    between = lake_frame(spark, made[0], row(id=2, txt="n", _seqno="x2"))
    now = lake_frame(spark, *(row(id=i, txt="n", _seqno=f"r{i}") for i in (1, 2)))

    rechecked = compare.recheck(plan, look(then.source, now), ALL)
    around = (lake_frame(spark, *was), lake_frame(spark, *made))
    found = compare.mark_landed(rechecked, around, ALL, [(between, now)])

    status = {item["k0"]: item["status"] for item in spark_frame(found).collect()}
    assert status == {1: "landed", 2: "superseded"}


FEW, MANY = SegmentSet.of(range(20)), SegmentSet.of(range(2_000))
EACH = RangeSegments("id", 0, 1, 2_000)


def drifted_sides(spark: SparkSession) -> tuple[Frame, Frame]:
    """Rows 0 to 11, whose second key part is NULL in every third: lost, extra, changed and doubled ones among them."""
    rows = [row(id=number, txt=None if number % 3 == 0 else f"t{number}") for number in range(12)]
    source = source_frame(spark, *rows[:2], row(id=2, txt="t2", num=Decimal(7)), *rows[4:])
    lake = lake_frame(spark, *rows[:9], {**rows[9], "_seqno": "a"}, {**rows[9], "_seqno": "b"}, rows[10])
    return source, lake


@pytest.mark.parametrize("moved", [{}, {5: "moving"}], ids=["the same again", "a row that differs only now"])
def test_second_look_at_many_segments_finds_what_it_finds_in_few(spark: SparkSession, moved: dict[int, str]) -> None:
    compare, (source, lake) = comparer(spark, EACH, agreement("id", "txt")), drifted_sides(spark)
    later = Frame(spark_frame(source).withColumn("c1", F.when(F.col("c0").isin(*moved), 99).otherwise(F.col("c1"))))
    found = [
        compare.judge_candidates(
            compare.find_candidates(look(source, lake), ids), look(later, lake), ids, PENDING, whole_lake=unread_lake
        )
        for ids in (FEW, MANY)
    ]

    few, many = map(lines, found)

    assert many == few
    kinds = {item["key"]["id"]: item["kind"] for item in many}
    assert kinds == {
        2: "updated_without_watermark",
        3: "deleted",
        9: "duplicate_key",
        11: "late_arriving",
        **moved,
    }


def test_corrections_in_many_segments_are_rechecked_and_read_back_as_in_few(spark: SparkSession) -> None:
    compare, (source, lake) = comparer(spark, EACH, agreement("id", "txt")), drifted_sides(spark)
    plan = compare.select_corrections(
        compare.judge_candidates(
            compare.find_candidates(look(source, lake), FEW), look(source, lake), FEW, PENDING, whole_lake=unread_lake
        ),
        None,
    )
    moved = Frame(spark_frame(source).withColumn("c1", F.expr("if(c0 = 11, 99, c1)")))
    wrote = Frame(spark_frame(lake).where("id not in (3, 4)"))

    ends = []
    for ids in (FEW, MANY):
        rechecked = compare.recheck(plan, look(moved, lake), ids)
        shown = compare.read_back(rechecked, wrote, ids)
        ends.append(
            [
                sorted(map(tuple, spark_frame(rows).select("k0", "k1", "status").collect()))
                for rows in (rechecked, shown)
            ]
        )

    assert ends[1] == ends[0]
    statuses = {key: status for key, _, status in ends[1][0]}
    assert statuses == {2: "ready", 3: "ready", 9: "doubled", 11: "moved"}
    assert {key: status for key, _, status in ends[1][1]} == {2: "failed", 3: "applied", 9: "failed", 11: "moved"}
