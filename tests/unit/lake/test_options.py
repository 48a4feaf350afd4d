"""Write options: what users may set, and what depends on the table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.errors import LakeError, NotBuiltError, UsageError
from hudi_reconcile.core.tables.values import ChangeLog, Foreign, LakeColumn, LakeTable, PartitionField, TableType
from hudi_reconcile.lake.correct import (
    BatchFacts,
    DeleteMark,
    build_correction_options,
    check_facts,
    choose_tombstone_seq,
)
from hudi_reconcile.lake.options import (
    WriteOptions,
    build_create_options,
    build_retention_options,
    split_lock_options,
    upsert_options,
)
from hudi_reconcile.lake.schema import find_hudi_type, list_differences, list_unholdable_names
from hudi_reconcile.ports import NewTable


def table(kind: TableType = "copy_on_write", path: str = "/lake/t", partitions: tuple[str, ...] = ()) -> LakeTable:
    return LakeTable(path, "t", kind, 8, (), ("a", "b"), partitions, ("_hr_read_seq",), "tool")


@pytest.mark.parametrize(
    "option",
    [
        "hoodie.table.name",
        "hoodie.index.type",
        "hoodie.write.concurrency.mode",
        "hoodie.payload.delete.field",
        "hoodie.datasource.write.insert.drop.duplicates",  # drops every row whose key is there, and so every update
        "hoodie.write.num.retries.on.conflict.failures",
        "hoodie.parquet.outputtimestamptype",
        "path",
    ],
)
def test_option_that_the_tool_owns_cannot_be_set(option: str) -> None:
    with pytest.raises(UsageError, match=option):
        WriteOptions(overrides={option: "x"})


def test_options_of_the_user_win_over_defaults() -> None:
    options = WriteOptions(overrides={"hoodie.metadata.enable": "true", "hoodie.clean.commits.retained": "7"})

    for found in (
        build_create_options(options, NewTable("t", "copy_on_write", ("a",), ())),
        upsert_options(options, table(), has_metadata_table=False),
    ):
        assert (found["hoodie.metadata.enable"], found["hoodie.clean.commits.retained"]) == ("true", "7")


def test_files_of_our_own_tables_are_zstd_unless_the_user_says_otherwise_and_of_others_what_hudi_makes() -> None:
    codec = "hoodie.parquet.compression.codec"
    foreign = replace(table(), ordering_fields=("ts",), foreign=Foreign("ComplexKeyGenerator"))
    new = NewTable("t", "copy_on_write", ("a",), ())

    assert build_create_options(WriteOptions(), new)[codec] == "zstd"
    assert upsert_options(WriteOptions(), table(), has_metadata_table=False)[codec] == "zstd"
    assert codec not in upsert_options(WriteOptions(), foreign, has_metadata_table=False)
    asked = WriteOptions(overrides={codec: "gzip"})
    assert build_create_options(asked, new)[codec] == "gzip"
    assert upsert_options(asked, table(), has_metadata_table=False)[codec] == "gzip"


def test_upsert_keeps_the_table_as_it_is() -> None:
    found = upsert_options(WriteOptions(), table(), has_metadata_table=True)

    assert found["hoodie.metadata.enable"] == "true"
    assert found["hoodie.write.table.version"] == "8"
    assert found["hoodie.write.auto.upgrade"] == "false"
    assert found["hoodie.compact.inline"] == "false"
    assert (
        upsert_options(WriteOptions(), table("merge_on_read"), has_metadata_table=True)["hoodie.compact.inline"]
        == "true"
    )


def test_write_under_a_lock_of_ours_takes_none_itself_and_the_lock_is_the_users() -> None:
    ours = {"hoodie.write.lock.provider": "their.Provider", "hoodie.write.lock.zookeeper.url": "zk"}
    optimistic = upsert_options(WriteOptions(overrides=ours), table(), has_metadata_table=False)

    inside, lock = split_lock_options(optimistic)

    assert {key: value for key, value in inside.items() if key.startswith("hoodie.write.lock.")} == {
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.NoopLockProvider"
    }
    assert inside["hoodie.write.concurrency.mode"] == "OPTIMISTIC_CONCURRENCY_CONTROL"
    assert inside["hoodie.clean.failed.writes.policy"] == "LAZY"
    assert lock.items() >= ours.items()
    assert lock["hoodie.write.concurrency.mode"] == "OPTIMISTIC_CONCURRENCY_CONTROL"


def test_partitioned_tables_are_searched_whole_for_a_row_that_moved() -> None:
    plain = build_create_options(WriteOptions(), NewTable("t", "copy_on_write", ("a",), ()))
    parted = build_create_options(
        WriteOptions(), NewTable("t", "copy_on_write", ("a",), (PartitionField("at", "month"),))
    )

    assert "hoodie.index.type" not in plain
    assert parted["hoodie.index.type"] == "GLOBAL_SIMPLE"
    assert parted["hoodie.datasource.write.partitionpath.field"] == "at_month"
    assert parted["hoodie.datasource.write.keygenerator.class"].endswith(".SimpleKeyGenerator")


def test_table_of_ours_is_written_with_the_index_of_the_config_and_anothers_is_not() -> None:
    bloom = WriteOptions(index="bloom")
    foreign = replace(table(), foreign=Foreign("SimpleKeyGenerator"), ordering_fields=("at",))

    made = build_create_options(bloom, NewTable("t", "copy_on_write", ("a",), ()))
    ours = upsert_options(bloom, table(), has_metadata_table=False)
    theirs = upsert_options(bloom, foreign, has_metadata_table=False)

    assert [one.get("hoodie.index.type") for one in (made, ours, theirs)] == ["BLOOM", "BLOOM", None]


@pytest.mark.parametrize("path", ["/lake/it's", "/lake/a;b", "/lake/a#b", "/lake/a\\b"])
def test_path_that_would_end_the_validators_text_is_refused(path: str) -> None:
    with pytest.raises(LakeError, match="cannot be corrected"):
        build_correction_options(table(path=path), "v", DeleteMark("x", "1"))


def test_tombstone_is_above_everything_handed_out() -> None:
    assert [
        choose_tombstone_seq(None, 0),
        choose_tombstone_seq(5, 3),
        choose_tombstone_seq(3, 5),
        choose_tombstone_seq(None, 5),
    ] == [1, 6, 6, 6]


@pytest.mark.parametrize(
    ("facts", "error", "named"),
    [
        (BatchFacts(2, 1, 1, 0, 0, 0, 0), LakeError, "1 keys occur twice"),
        (BatchFacts(1, 1, 1, 1, 0, 0, 0), LakeError, "1 upserts have no _hr_read_seq"),
        (BatchFacts(1, 1, 1, 0, 1, 0, 0), LakeError, "1 keys have no expected version"),
        (BatchFacts(1, 1, 1, 0, 0, 1, 0), NotBuiltError, "1 keys to be updated"),
    ],
)
def test_batch_that_is_not_well_formed_is_refused(facts: BatchFacts, error: type[Exception], named: str) -> None:
    check_facts(BatchFacts(1, 1, None, 0, 0, 0, 0), table())
    with pytest.raises(error, match=named):
        check_facts(facts, table())


def test_differences_of_schemas_are_all_named() -> None:
    wanted = (LakeColumn("id", "int"), LakeColumn("t", "string"), LakeColumn("gone", "date"))
    batch = (LakeColumn("id", "bigint"), LakeColumn("t", "varchar(9)"), LakeColumn("T", "string"))

    assert list_differences(batch, wanted) == (
        "gone date: missing in the batch",
        "T string: not in the lake table",
        "id: int in the lake table, bigint in the batch",
    )
    assert list_differences((LakeColumn("id", "smallint"),), (LakeColumn("id", "int"),)) == ()
    assert list_differences((LakeColumn("id", "int"),), (LakeColumn("id", "bigint"),)) == ()  # holds every value of it


def test_stored_type_has_no_small_integers_and_no_lengths() -> None:
    assert [find_hudi_type(text) for text in ("smallint", "tinyint", "int", "char(3)", "varchar(10)", "decimal(5,2)")] == [
        "int", "int", "int", "string", "string", "decimal(5,2)"
    ]  # fmt: skip


def test_names_that_a_lake_cannot_hold_are_found() -> None:
    assert list_unholdable_names(("id", "Order Id", "größe", "_hoodie_x", "1a", "_ok", "a$")) == (
        "Order Id",
        "größe",
        "_hoodie_x",
        "1a",
        "a$",
    )


@pytest.mark.parametrize("log", ["op_key_only", "data_before", "data_before_after"])
def test_change_log_is_switched_on_where_the_table_is_made_and_cannot_be_set_otherwise(log: ChangeLog) -> None:
    new = NewTable("t", "merge_on_read", ("a",), ())

    found = build_create_options(WriteOptions(), replace(new, change_log=log))
    assert found["hoodie.table.cdc.enabled"] == "true"
    assert found["hoodie.table.cdc.supplemental.logging.mode"] == log.upper()
    assert not any("cdc" in name for name in build_create_options(WriteOptions(), new))
    with pytest.raises(UsageError, match=r"cdc\.supplemental"):
        WriteOptions(overrides={"hoodie.table.cdc.supplemental.logging.mode": "OP_KEY_ONLY"})


def test_history_is_kept_for_as_many_commits_as_asked_and_the_archiver_stays_behind_the_cleaner() -> None:
    for kept in (1, 60, 500):
        found = upsert_options(WriteOptions(overrides=build_retention_options(kept)), table(), has_metadata_table=False)

        retained, least, most = (
            int(found[f"hoodie.{name}"]) for name in ("clean.commits.retained", "keep.min.commits", "keep.max.commits")
        )
        assert kept == retained < least < most
