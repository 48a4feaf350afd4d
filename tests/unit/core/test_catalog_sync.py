"""Which catalog a table's options ask for, and what a failed sync makes of a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.lake.catalog_sync import (
    GLUE_TOOL,
    HIVE_TOOL,
    CatalogSync,
    SyncOutcome,
    add_sync_outcome,
    choose_sync,
    leave_out_sync,
)
from hudi_reconcile.core.notes import count_open
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult, build_table_document
from hudi_reconcile.core.result_parts import Corrections, Failure, Pulled
from hudi_reconcile.core.result_queries import is_wholly_corrected, restore_result_without_plan
from hudi_reconcile.report.words.verdict import write_verdict

ON = "hoodie.datasource.meta.sync.enable"
HIVE_ON = "hoodie.datasource.hive_sync.enable"
TOOLS = "hoodie.meta.sync.client.tool.class"
MODE = "hoodie.datasource.hive_sync.mode"
IGNORED = "hoodie.datasource.hive_sync.ignore_exceptions"
FAILED = SyncOutcome("shop.orders", ("HiveSyncTool: HoodieHiveSyncException",))
PULLED = TableResult("orders", Outcome.PULLED, pull=Pulled(7, "incremental", "1", "8", "20260101000000000", pages=1))
CORRECTED = TableResult(
    "orders",
    Outcome.CORRECTED,
    findings={"deleted": 2},
    corrections=Corrections(deletes=2, applied=2, instants=("20260101000000001",)),
    verified_at="20260101000000001",
)


@pytest.mark.parametrize(
    ("options", "tools"),
    [
        ({}, None),
        ({ON: "false", HIVE_ON: "FALSE", TOOLS: GLUE_TOOL}, None),
        ({ON: "true"}, (HIVE_TOOL,)),
        ({HIVE_ON: "True"}, (HIVE_TOOL,)),
        ({ON: "true", TOOLS: f"{GLUE_TOOL}, their.Tool,"}, (GLUE_TOOL, "their.Tool")),
        ({ON: "true", MODE: "GLUE"}, (HIVE_TOOL, GLUE_TOOL)),
    ],
)
def test_tools_are_those_that_hudis_writer_would_run(options: dict[str, str], tools: tuple[str, ...] | None) -> None:
    sync = choose_sync(options)

    assert (None if sync is None else sync.tools) == tools


def test_writer_gets_no_option_of_a_catalog_and_all_others() -> None:
    others = {"hoodie.write.lock.provider": "p", "hoodie.metadata.enable": "true", "hoodie.datasource.write.x": "y"}
    of_catalogs = {ON: "true", MODE: "hms", TOOLS: HIVE_TOOL, "hoodie.datasource.hive_sync.password": "secret"}

    assert leave_out_sync({**others, **of_catalogs, "hoodie.meta_sync.spark.version": "3"}) == others


def test_name_in_the_catalog_is_the_options_else_the_tables_own() -> None:
    own = {"hoodie.table.name": "orders", "hoodie.database.name": "theirs"}
    named = CatalogSync((), {"hoodie.datasource.hive_sync.database": "shop", "hoodie.datasource.hive_sync.table": "o"})

    assert CatalogSync((), {}).name_table(own) == "theirs.orders"
    assert CatalogSync((), {}).name_table({"hoodie.table.name": "orders"}) == "default.orders"
    assert named.name_table(own) == "shop.o"


def test_tools_report_errors_that_the_options_ignore_and_users_win_over_the_tables_properties() -> None:
    sync = choose_sync({ON: "true", IGNORED: "true", "hoodie.datasource.hive_sync.table": "o"})

    assert sync is not None
    assert sync.forgives
    found = sync.build_settings({"hoodie.datasource.hive_sync.table": "t", "hoodie.table.name": "orders"})
    assert (found[IGNORED], found["hoodie.datasource.hive_sync.table"], found["hoodie.table.name"]) == (
        "false",
        "o",
        "orders",
    )


def test_result_without_a_catalog_stays_and_one_that_was_synced_says_so() -> None:
    assert add_sync_outcome(PULLED, None) is PULLED
    synced = add_sync_outcome(PULLED, SyncOutcome("shop.orders"))
    assert (synced.outcome, synced.error, count_open(synced.notes)) == (Outcome.PULLED, None, 0)
    assert "shop.orders" in synced.notes[0]


@pytest.mark.parametrize("result", [PULLED, CORRECTED], ids=["pull", "apply"])
def test_failed_sync_after_all_went_well_is_an_error_that_names_the_commit_which_stands(result: TableResult) -> None:
    found = add_sync_outcome(result, FAILED)

    assert found.outcome is Outcome.UNVERIFIED
    assert found.error is not None
    assert found.error.type == "CatalogSyncError"
    instant = "20260101000000000" if result is PULLED else "20260101000000001"
    assert f"commit {instant} is in the lake and stands" in found.error.message
    assert "shop.orders" in found.error.message
    assert (found.pull, found.corrections, found.findings) == (result.pull, result.corrections, result.findings)
    said = write_verdict({"command": "pull", "outcome": "unverified", "tables": [build_table_document(found)]})
    assert said == "The lake is as this run left it, but the catalog may not show that: orders."


def test_failed_sync_that_is_ignored_is_a_note_that_a_person_must_see() -> None:
    found = add_sync_outcome(PULLED, replace(FAILED, forgiven=True))

    assert (found.outcome, found.error, count_open(found.notes)) == (Outcome.PULLED, None, 1)
    assert "is in the lake and stands" in found.notes[0]


@pytest.mark.parametrize("outcome", [Outcome.DRIFT, Outcome.INCOMPLETE, Outcome.REFUSED, Outcome.UNVERIFIED])
def test_failed_sync_hides_no_other_ending(outcome: Outcome) -> None:
    before = replace(CORRECTED, outcome=outcome, error=Failure("LakeError", "the disk is full", "free some"))

    found = add_sync_outcome(before, FAILED)

    assert (found.outcome, found.error, count_open(found.notes)) == (outcome, before.error, 1)


def test_corrections_are_whole_and_leave_nothing_to_an_apply_though_the_catalog_lags() -> None:
    document = build_table_document(add_sync_outcome(CORRECTED, FAILED))

    assert is_wholly_corrected(document)
    assert restore_result_without_plan(document, "run") is None


def test_verdict_tells_tables_that_only_the_catalog_lacks_from_those_that_were_not_compared() -> None:
    stale = build_table_document(add_sync_outcome(replace(PULLED, name="items"), FAILED))
    other = build_table_document(TableResult("orders", Outcome.UNVERIFIED, error=Failure("LakeError", "gone", "look")))

    said = write_verdict({"command": "pull", "outcome": "unverified", "tables": [stale, other]})

    assert said == "The lake is as this run left it, but the catalog may not show that: items. Not pulled: orders."
