"""What is proposed for a table: by its key, by the names and types of its columns, and by what the catalog says of them."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.source.proposal import (
    CatalogColumn,
    CatalogTable,
    TableProposal,
    UniqueKey,
    build_proposals_document,
    describe_proposals,
    propose_table,
)
from hudi_reconcile.core.tables.kinds import Column, Kind

ID = CatalogColumn(Column("id", Kind.INTEGER, "bigint", nullable=False), numbered=True)
KEY = UniqueKey(("id",), is_primary=True, is_proof=True)


def time(name: str, kind: Kind = Kind.TIMESTAMPTZ, *, nullable: bool = False, **facts: Any) -> CatalogColumn:
    return CatalogColumn(Column(name, kind, kind.value, nullable=nullable), **facts)


def propose(*columns: CatalogColumn, title: str = "orders", **facts: Any) -> TableProposal:
    found = {"columns": (ID, *columns), "keys": (KEY,), **facts}
    return propose_table(CatalogTable(title=title, sql=title, **found), title, {})


@pytest.mark.parametrize(
    "name",
    ["updated_at", "UpdatedAt", "LAST_MODIFIED", "lastModifiedDate", "order_updated_at", "UPDATEDAT", "mtime", "geaendert_am",
     "date_maj", "fecha_modificado", "sys_updated_on"],
)  # fmt: skip
def test_time_that_names_a_change_of_the_row_becomes_the_watermark(name: str) -> None:
    found = propose(time("created_at"), time(name))

    assert (found.watermark.values, found.strategy.values) == ((name,), ("timestamp+incrementing",))
    assert found.unknown[0].startswith(f"whether every writer sets {name}")


@pytest.mark.parametrize(
    "name", ["status_updated_at", "password_changed_at", "created_at", "paid_at", "next_run", "name"]
)
def test_time_of_a_part_of_the_row_or_of_another_event_is_no_watermark(name: str) -> None:
    assert propose(time(name)).watermark.values == ()


def test_column_that_the_database_sets_at_each_update_goes_before_any_name() -> None:
    found = propose(time("updated_at"), time("version_ts", moved_by="trigger t"))

    assert found.watermark.values == ("version_ts",)
    assert "trigger t sets it at each update" in found.watermark.why
    assert found.unknown == ("whether updated_at would be a better watermark",)


def test_indexed_and_not_null_columns_go_before_others() -> None:
    found = propose(time("modified", nullable=True), time("updated"), time("changed"), indexed=frozenset({"changed"}))

    assert found.watermark.values == ("changed",)


def test_time_of_change_that_may_be_null_is_joined_by_a_time_of_creation_of_the_same_kind() -> None:
    late = time("updated_at", nullable=True)

    assert propose(late, time("created_at")).watermark.values == ("updated_at", "created_at")
    assert propose(late, time("created_at", Kind.TIMESTAMP)).watermark.values == ("updated_at",)
    assert propose(late, time("created_at", nullable=True)).watermark.values == ("updated_at",)


def test_time_without_zone_and_number_that_may_be_a_time_are_said_to_be_unknown() -> None:
    number = CatalogColumn(Column("updated_ms", Kind.INTEGER, "bigint"))

    assert propose(time("updated_at", Kind.TIMESTAMP)).unknown[0].startswith("the zone of updated_at")
    found = propose(CatalogColumn(Column("updated", Kind.INTEGER, "bigint")), number)
    assert found.strategy.values == ("full",)
    assert [text.startswith("what updated (bigint) counts") for text in found.unknown] == [True]


def test_rows_that_only_have_a_time_of_creation_and_a_number_are_taken_for_added_only() -> None:
    found = propose(time("created_at"))

    assert (found.strategy.values, found.incrementing.values) == (("incrementing",), ("id",))
    assert "whether rows change" in found.unknown[0]
    assert propose().strategy.values == ("full",)
    unnumbered = CatalogColumn(ID.column)
    assert propose(time("created_at"), columns=(unnumbered, time("created_at"))).strategy.values == ("full",)


def test_large_postgresql_table_without_a_watermark_is_told_of_xmin() -> None:
    assert "xmin" in propose(rows=2_000_000, has_versions=True).strategy.why
    assert "xmin" not in propose(rows=20, has_versions=True).strategy.why


def test_key_is_the_primary_key_or_the_shortest_unique_index_over_columns_that_are_not_null() -> None:
    text = CatalogColumn(Column("code", Kind.TEXT, "text", nullable=False))
    long = UniqueKey(("code", "id"), is_primary=False, is_proof=True)
    by_text = UniqueKey(("code",), is_primary=False, is_proof=True)
    by_id = UniqueKey(("id",), is_primary=False, is_proof=True)
    nullable = UniqueKey(("id",), is_primary=False, is_proof=False)

    assert propose(text, keys=(by_id, long, UniqueKey(("code",), is_primary=True, is_proof=True))).key.values == (
        "code",
    )
    assert propose(text, keys=(long, by_text, by_id)).key.values == ("id",)
    assert propose(text, keys=(nullable, by_text)).key.values == ("code",)
    without = propose(text, keys=(nullable,))
    assert (without.key.values, without.hindrance[:14]) == ((), "no primary key")


def test_month_of_the_column_that_cuts_the_source_is_proposed_only_where_it_is_part_of_the_key() -> None:
    both = UniqueKey(("id", "at"), is_primary=True, is_proof=True)

    assert propose(time("at"), keys=(both,), ranged="at").partition_by.values == ("month(at)",)
    assert propose(time("at"), ranged="at").partition_by.values == ()
    assert propose(keys=(both,), ranged="id").partition_by.values == ()


@pytest.mark.parametrize("name", [")", "a(b", " at", "at "])
def test_month_of_a_column_that_the_config_has_no_spelling_for_is_not_proposed(name: str) -> None:
    key = UniqueKey(("id", name), is_primary=True, is_proof=True)

    assert propose(time(name), keys=(key,), ranged=name).partition_by.values == ()


def test_document_and_lines_count_every_table_once() -> None:
    proposals = [propose(time("updated_at")), propose(title="b"), *(propose(title=f"v{n}", keys=()) for n in range(12))]

    document = build_proposals_document(proposals)
    lines = describe_proposals(proposals)
    assert (len(document["tables"]), len(document["left_out"])) == (2, 12)  # type: ignore[arg-type]
    assert lines[0] == "2 tables proposed: 1 timestamp+incrementing, 1 full"
    assert (lines[1], lines[-1], len(lines)) == ("12 left out, as comments in the config:", "  and 2 more", 13)
