"""What is written is what is read: every stored type, through every kind of commit, and what is refused instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import LakeError, RefusedError
from hudi_reconcile.core.tables.values import TableType
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Corrective, Frame
from tests.integration.lake.support import (
    TYPES,
    checkpoint,
    content,
    corrective,
    frame,
    new_table,
    pinned,
    table_of,
    versions,
)

TYPED = """
cast({id} as smallint) small, cast({id} as bigint) big, cast('{at}' as date) day, cast(0.10 * {id} as decimal(9,2)) price,
cast('-99999999999999999999.123456789012345678' as decimal(38,18)) wide, timestamp_ntz'{at}' wall, timestamp'{at}' utc,
unhex('{hex}') bytes, cast('{real}' as float) r, cast('{real}' as double) d, {id} % 2 = 0 flag, {text} as words,
{seq}L _hr_read_seq
"""


def typed(spark: SparkSession, number: int, at: str, seq: int, *, real: str = "-0.0", text: str = "''") -> DataFrame:
    row = spark.sql(
        "select " + TYPED.format(id=number, at=at, seq=seq, hex="00ff" * (number % 3), real=real, text=text)
    )
    if number < 90:
        return row
    kept = ("small", "big", "_hr_read_seq")
    blank = [f for f in row.schema.fields if f.name not in kept]
    return row.withColumns({field.name: F.lit(None).cast(field.dataType) for field in blank})


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_survives_creation_upsert_compaction_and_correction_exactly(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    every_commit = {"hoodie.compact.inline.max.delta.commits": "1"} if kind == "merge_on_read" else {}
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options=every_commit)
    created = (
        typed(spark, 1, "2024-03-31 02:30:00.123456", 1, real="NaN", text="'é🙂 '")
        .union(typed(spark, 2, "0001-01-01 00:00:00.000001", 1, real="Infinity", text="cast(null as string)"))
        .union(typed(spark, 3, "9999-12-31 23:59:59.999999", 1))
        .union(typed(spark, 91, "2024-01-01 00:00:00", 1))
    )
    lake.create(Frame(created), new_table(kind, ("small", "big"), ("day",)), checkpoint(1), {})
    stored = [column.type for column in table_of(lake).columns]
    assert stored[:3] == ["int", "bigint", "date"]
    assert stored[5:8] == ["timestamp_ntz", "timestamp", "binary"]
    assert_holds(lake, created)

    upserted = typed(spark, 2, "1899-12-31 23:59:59.999999", 2).union(typed(spark, 4, "1500-03-01 12:00:00.5", 2))
    lake.upsert(Frame(upserted), table_of(lake), checkpoint(2), {})
    now = created.where("small != 2").union(upserted)
    assert_holds(lake, now)

    corrected = typed(spark, 1, "1969-12-31 23:59:59.999999", 3, real="1.1").union(
        typed(spark, 5, "2024-01-01 00:00:00", 3)
    )
    keys = [(number, number) for number in (1, 3, 5, 91)]
    expected = frame(spark, "small int, big bigint, _hr_seqno string", *versions(lake, ("small", "big"), *keys))
    deletes = Frame(pinned(lake).where("small in (3, 91)"))
    lake.correct(Corrective(Frame(corrected), deletes, expected), table_of(lake), checkpoint(3), {})
    assert_holds(lake, now.where("small not in (1, 3, 91)").union(corrected))


def assert_holds(lake: HudiLake, rows: DataFrame) -> None:
    found, wanted = as_text(pinned(lake).select(*rows.columns)), as_text(rows)
    assert found == wanted


def as_text(rows: DataFrame) -> list[str]:
    """Every value as exact text: floats by their bits, bytes as hex."""
    columns = [F.hex(name) if name == "bytes" else F.col(name).cast("string") for name in rows.columns]
    return sorted(str(tuple(row)) for row in rows.select(*columns).collect())


@pytest.mark.parametrize(
    ("select", "identity", "named"),
    [
        ("timestamp'2024-01-01 00:00:00' k", (("k",), ()), "key k timestamp"),
        ("unhex('00') k", (("k",), ()), "key k binary"),
        ("1 k", (("other",), ()), "key other is missing"),
        ("1 k, timestamp_ntz'2024-01-01 00:00:00' p", (("k",), ("p",)), "partition p timestamp_ntz"),
        ("1 k, '' p", (("k",), ("p",)), "partition p: empty text .* in 1 rows"),
        ("'' k", (("k",), ()), "key k: empty text in 1 rows"),
        ("cast(null as int) k", (("k",), ()), "key k: NULL in 1 rows"),
        ("'1,b:2' a, '3' b", (("a", "b"), ()), "key a: text like the joint"),
        ("'__null__' a, 3 b", (("a", "b"), ()), "key a: the text __null__"),
        ("cast(null as string) a, cast(null as int) b", (("a", "b"), ()), "key a: NULL or empty in every part"),
        ("1 k, 2 as `Order Id`", (("k",), ()), "Order Id"),
    ],
)
def test_rows_that_hudi_would_mix_up_are_refused_and_nothing_is_made(
    spark: SparkSession, tmp_path: Path, select: str, identity: tuple[tuple[str, ...], tuple[str, ...]], named: str
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})

    with pytest.raises(RefusedError, match=named):
        lake.create(
            Frame(spark.sql(f"select {select}, 1L _hr_read_seq")),
            new_table("copy_on_write", *identity),
            checkpoint(1),
            {},
        )

    assert not (tmp_path / "orders").exists()


@pytest.mark.parametrize("kind", TYPES)
def test_part_of_a_composite_key_may_be_null_or_empty_from_the_first_commit_on(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "a string, b int, v string, _hr_read_seq bigint"
    first = frame(spark, schema, ("", 0, "x", 1), (None, 0, "x", 1), ("k", None, "x", 1), ("k", 1, "x", 1))

    lake.create(first, new_table(kind, ("a", "b")), checkpoint(1), {})
    lake.upsert(frame(spark, schema, (None, 0, "y", 2), ("k", None, "y", 2)), table_of(lake), checkpoint(2), {})

    assert sorted(content(lake, "a", "b", "v"), key=str) == sorted(
        [("", 0, "x"), (None, 0, "y"), ("k", None, "y"), ("k", 1, "x")], key=str
    )


# Of the first four Hudi makes two record keys, of the next three too, and the last two it does not take.
ODD_KEYS = (
    ("1,b:2", "3"), ("1", "2,b:3"), (None, "x"), ("__null__", "x"), ("", "x"), ("__empty__", "x"), ("x", None), ("x", "__null__"),
    ("=__null__&=x", ""), ("", ""), (None, ""), ("a&=b", "%,b:"), ("plain", "one"),
)  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_keys_that_hudi_would_mix_up_are_told_apart_where_the_table_spells_them(
    spark: SparkSession, tmp_path: Path, kind: TableType, partition_by: tuple[str, ...]
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "a string, b string, p int, v string, _hr_read_seq bigint"
    table = replace(new_table(kind, ("a", "b"), partition_by), spelled=True)
    odd, others = ODD_KEYS[::2], ODD_KEYS[1::2]

    lake.create(frame(spark, schema, *((*key, 1, "old", 1) for key in odd)), table, checkpoint(1), {})
    made = table_of(lake)
    # Half of them arrive now, and of the first half each second one moves to another partition.
    batch = [*((*key, 1, "old", 2) for key in others), *((*key, 2, "new", 2) for key in odd[::2])]
    lake.upsert(frame(spark, schema, *batch), made, checkpoint(2), {})
    gone, kept = others[::2], others[1::2]
    where = " or ".join(f"(a <=> {_sql(a)} and b <=> {_sql(b)})" for a, b in gone)
    fixed = [(*key, 1, "fixed", 3) for key in kept]
    expected = versions(lake, ("a", "b"), *gone, *kept)
    batch_of = corrective(spark, lake, schema, upserts=fixed, deletes=where, expected=expected)
    lake.correct(batch_of, made, checkpoint(3), {})

    assert made.record_key == ("a", "b")
    assert "_hr_record_key" not in [column.name for column in made.columns]
    assert content(lake, "a", "b", "v") == sorted(
        [
            *((*key, "new") for key in odd[::2]),
            *((*key, "old") for key in odd[1::2]),
            *((*key, "fixed") for key in kept),
        ],
        key=str,
    )
    spelled = {(row[0], row[1]): row[2] for row in content(lake, "a", "b", "_hr_record_key")}
    assert spelled[("plain", "one")] is None
    assert len({*spelled.values()} - {None}) == sum(one is not None for one in spelled.values())


def _sql(text: str | None) -> str:
    return "null" if text is None else f"'{text}'"


@pytest.mark.parametrize("kind", TYPES)
def test_empty_text_is_a_key_where_the_first_rows_have_one_and_null_is_none(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "k string, v string, _hr_read_seq bigint"

    lake.create(
        frame(spark, schema, ("", "x", 1), ("__empty__", "x", 1)),
        replace(new_table(kind, ("k",)), spelled=True),
        checkpoint(1),
        {},
    )
    lake.upsert(frame(spark, schema, ("", "y", 2)), table_of(lake), checkpoint(2), {})

    assert content(lake, "k", "v") == [("", "y"), ("__empty__", "x")]
    plain = HudiLake(spark, str(tmp_path / "plain"), name="plain", options={})
    plain.create(frame(spark, schema, ("a", "x", 1)), replace(new_table(kind, ("k",)), spelled=True), checkpoint(1), {})
    assert "_hr_record_key" not in spark.read.format("hudi").load(str(tmp_path / "plain")).columns
    with pytest.raises(RefusedError, match="key k: NULL in 1 rows"):
        lake.upsert(frame(spark, schema, (None, "y", 3)), table_of(lake), checkpoint(3), {})


def test_commit_that_fails_leaves_no_instant_and_tells_no_value(spark: SparkSession, tmp_path: Path) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={"hoodie.metadata.enable": "true"})
    schema = "id int, note string, _hr_read_seq bigint"
    failing = Frame(spark.sql("select 1 id, cast(raise_error('secret') as string) note, 1L _hr_read_seq"))
    with pytest.raises(LakeError) as caught:
        lake.create(failing, new_table("copy_on_write", ("note", "id")), checkpoint(1), {})
    with pytest.raises(LakeError) as caught:
        lake.create(failing, new_table("copy_on_write"), checkpoint(1), {})
    assert "secret" not in str(caught.value)
    assert lake.look() is None
    lake.create(frame(spark, schema, (1, "a", 1)), new_table("merge_on_read"), checkpoint(1), {})
    pin = lake.pin()
    plain = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})

    with pytest.raises(LakeError) as caught:
        plain.upsert(failing, table_of(plain), checkpoint(2), {})

    assert "secret" not in str(caught.value)
    assert plain.pin() == pin
    plain.upsert(frame(spark, schema, (2, "b", 2)), table_of(plain), checkpoint(2), {})
    assert sorted(row["id"] for row in pinned(plain).collect()) == [1, 2]
    assert (tmp_path / "orders" / ".hoodie" / "metadata" / "files").exists(), "the table's own metadata table is kept"


def test_commit_whose_answer_is_lost_is_found_and_one_that_was_not_made_leaves_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "id int, qty int, _hr_read_seq bigint"
    lake.create(frame(spark, schema, (1, 1, 1)), new_table("copy_on_write"), checkpoint(1), {})
    save = DataFrameWriter.save

    def save_and_lose_the_answer(self: DataFrameWriter, path: str) -> None:
        save(self, path)
        raise PySparkException("the storage answered with an error after it had renamed the file")

    def fail(*_: object) -> None:
        raise PySparkException("the storage does not answer")

    monkeypatch.setattr(DataFrameWriter, "save", save_and_lose_the_answer)
    landed = lake.upsert(frame(spark, schema, (1, 2, 2)), table_of(lake), checkpoint(2), {"run_id": "r2"})
    assert dict(lake.find_labels("run_id")).get("r2") == landed
    assert content(lake, "id", "qty") == [(1, 2)]
    pin = lake.pin()

    monkeypatch.setattr(DataFrameWriter, "save", fail)
    with pytest.raises(LakeError, match="the commit was not made"):
        lake.upsert(frame(spark, schema, (1, 3, 3)), table_of(lake), checkpoint(3), {"run_id": "r3"})
    assert lake.pin() == pin


@pytest.mark.parametrize("kind", TYPES)
def test_image_that_was_read_before_a_correction_and_is_written_after_it_does_not_win(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "id int, qty int, _hr_read_seq bigint"
    lake.create(frame(spark, schema, (1, 1, 1), (2, 2, 1)), new_table(kind), checkpoint(1), {})
    stale = frame(spark, schema, (1, 10, 5), (2, 20, 5))
    batch = corrective(
        spark, lake, schema, upserts=[(1, 11, 6)], deletes="false", expected=versions(lake, ("id",), (1,))
    )
    lake.correct(batch, table_of(lake), checkpoint(6), {})

    lake.upsert(stale, table_of(lake), checkpoint(7), {})  # begun after the correction: no conflict for Hudi to see

    assert content(lake, "id", "qty") == [(1, 11), (2, 20)]
