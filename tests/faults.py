"""Which tests prove which fault of `docs/faults.md`, and which kill the mutant of which rule. `make faults` runs and counts them.

A fault whose proof lacks a part says which under `MISSING`: it is not counted as passed, whatever its tests do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "faults.md"
_ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \|$", re.MULTILINE)
_RULE = re.compile(r"^- (.+)$", re.MULTILINE)

_PULL, _PAGES = "tests/unit/stages/test_pull.py", "tests/unit/stages/test_pull_pages.py"
_SWEEP, _APPLY = "tests/unit/stages/test_sweep.py", "tests/unit/stages/test_apply.py"
_ABSENCE = "tests/unit/stages/test_absence.py"
_AGAIN = "tests/unit/stages/test_apply_again.py"
_HISTORY, _EDITED = "tests/property/test_core_history.py", "tests/property/test_core_mutants.py"
_MOMENT, _PARTS = "tests/integration/source/test_moment_and_rows.py", "tests/integration/source/test_parts.py"
_LATE = "tests/integration/source/test_postgres_replica.py"
_NETWORK, _SNAPSHOT = "tests/integration/source/test_network.py", "tests/integration/source/test_one_snapshot.py"
_ENGINE, _MYSQL = "tests/integration/source/test_engine.py", "tests/integration/source/test_mysql.py"
_CORRECT, _LEASE = "tests/integration/lake/test_lake_corrections.py", "tests/integration/lake/test_lake_lease.py"
_EXACT, _MAIN = "tests/integration/lake/test_lake_exactness.py", "tests/integration/test_main_path.py"
_KILL, _CASES = "tests/integration/test_kill.py", "tests/integration/test_main_path_cases.py"
_DIGESTS, _OPTIONS = "tests/integration/compare/test_digests.py", "tests/unit/lake/test_options.py"
_FINDINGS = "tests/integration/compare/test_findings.py"
_COMMITS = "tests/integration/lake/test_lake_commits.py"
_DOUBLES = "tests/integration/test_corrections.py"
_EVOLVE = "tests/unit/stages/test_evolve.py"
_SCOPE = "tests/unit/stages/test_scope.py"
_GUARDS = "tests/unit/core/test_guards.py"
_BESIDE, _SILENT = "tests/unit/stages/test_beside.py", "tests/integration/lake/test_lake_beside.py"
_REPLAYED, _LAGGING = "tests/unit/stages/test_replayed.py", "tests/integration/source/test_mysql_replica.py"
_WRITERS = "tests/long/test_second_writer.py"
_PROCESSES = (
    "tests/integration/test_second_writer.py::"
    "test_apply_is_superseded_beside_another_process_in_flight_and_waited_for_by_one_that_starts_before_its_commit"
)
_CATALOGS = "tests/integration/test_catalogs.py"
_TOMBSTONES = "tests/integration/lake/test_lake_tombstones.py"
_LOST = "tests/unit/stages/test_lost_lease.py"
_STANDING = "tests/unit/stages/test_standing.py"
_PINS = "tests/integration/lake/test_lake_pins.py"
_STORY = f"{_MAIN}::test_late_commit_silent_updates_and_deletes_are_found_repaired_and_proved"
_HISTORIES = f"{_HISTORY}::test_histories_keep_the_invariants"

FAULTS: Mapping[str, Sequence[str]] = {
    "S1": (f"{_MOMENT}::test_open_transaction_holds_the_bound_below_its_start", _STORY, _HISTORIES),
    "S2": (f"{_MOMENT}::test_transaction_that_has_not_written_yet_holds_the_bound_below_its_start",),
    "S4": (
        "tests/integration/source/test_catalog.py::test_sequences_that_hand_out_more_than_one_id_at_once_are_known",
        "tests/unit/app/test_doctor_checks.py::test_incrementing_column_is_judged_beside_the_watermark",
        f"{_PAGES}::test_incrementing_pull_reads_ids_above_the_checkpoint_and_tells_what_it_cannot_see",
    ),
    "S6": (_STORY, f"{_SWEEP}::test_each_change_is_found_under_its_kind"),
    "S7": (_STORY, f"{_SWEEP}::test_each_change_is_found_under_its_kind"),
    "S8": (
        f"{_SWEEP}::test_row_absent_at_the_first_look_and_back_at_the_second_is_settled",
        f"{_APPLY}::test_row_to_be_deleted_that_is_there_again_is_moved_and_kept",
        _HISTORIES,
    ),
    "S9": (
        "tests/property/test_core_pages.py::test_pages_of_a_still_table_hold_every_row_below_the_bound_once",
        "tests/property/test_core_pages.py::test_beside_writers_and_kills_no_row_that_stays_below_the_bound_is_lost",
    ),
    "S10": (
        f"{_PULL}::test_rows_one_microsecond_apart_are_each_pulled_once",
        f"{_MOMENT}::test_window_tells_rows_apart_that_are_one_microsecond_apart",
        "tests/property/test_core_window.py::test_watermark_text_is_read_back_as_the_same_microsecond",
    ),
    "S11": (
        f"{_PULL}::test_bound_of_a_local_watermark_stays_before_wall_times_that_come_twice",
        "tests/conformance/test_engines.py::test_java_runs_in_utc_whatever_the_zone_of_the_machine",
        f"{_ENGINE}::test_session_refuses_to_write_and_speaks_utc",
        "tests/integration/spark/test_session.py::test_running_session_without_a_needed_setting_is_refused_by_name",
        f"{_EXACT}::test_every_type_survives_creation_upsert_compaction_and_correction_exactly",
    ),
    "S13": (
        f"{_PULL}::test_bound_is_taken_before_rows_are_read_and_rows_are_read_once",
        f"{_MOMENT}::test_pull_stages_what_it_counts",
    ),
    "S15": (
        f"{_PULL}::test_checkpoint_of_another_source_is_refused",
        f"{_PAGES}::test_clock_that_went_back_behind_the_checkpoint_is_refused_with_the_seconds",
        f"{_PULL}::test_clock_that_went_back_a_little_is_told_once",
        f"{_PULL}::test_server_that_is_promoted_while_its_rows_are_read_is_not_pulled_from",
        f"{_PULL}::test_full_pull_of_another_source_goes_on_from_its_own_rows_though_it_was_stopped_after_a_page",
        f"{_STANDING}::test_ids_that_a_restored_server_gives_out_again_are_told_and_times_are_not",
        f"{_APPLY}::test_source_that_shrank_since_the_sweep_is_refused_before_it_deletes_on",
        f"{_STANDING}::test_rows_that_are_gone_under_another_filter_or_history_are_deleted_by_their_own_word_only_and_then_no_more_asked",
        f"{_STANDING}::test_rows_that_a_restored_server_sets_back_wait_for_the_word_too_and_changed_rows_do_not",
        f"{_STANDING}::test_server_whose_ids_go_on_deletes_as_ever_and_one_that_was_set_back_by_its_word_only",
        f"{_STANDING}::test_server_that_was_set_back_and_has_caught_up_by_other_transactions_is_not_forgotten",
        f"{_LAGGING}::test_replica_says_how_far_it_is_behind_that_it_has_stopped_and_to_whom_it_does_not_tell",
        f"{_ENGINE}::test_servers_timeline_and_the_filters_digest_are_told",
    ),
    "S16": (
        f"{_SWEEP}::test_plan_from_a_replica_has_a_guard_against_its_deletes",
        f"{_APPLY}::test_deletes_of_a_replica_are_refused_and_allowed_by_their_own_word_and_upserts_go_through",
        "tests/unit/core/test_replica.py::test_bound_of_a_replica_lies_five_seconds_below_clock_and_replay",
        f"{_REPLAYED}::test_replica_behind_the_checkpoint_deletes_nothing_and_says_why",
        f"{_REPLAYED}::test_replica_that_shows_an_older_state_than_the_lake_was_brought_to_deletes_nothing",
        f"{_REPLAYED}::test_replica_that_has_stopped_is_neither_pulled_from_nor_believed",
        f"{_LATE}::test_replica_that_is_sent_the_log_late_is_believed_as_far_as_it_was_sent_and_no_further",
        f"{_LAGGING}::test_replica_says_how_far_it_is_behind_that_it_has_stopped_and_to_whom_it_does_not_tell",
    ),
    "S19": (
        f"{_SNAPSHOT}::test_parts_and_counts_of_one_look_see_one_moment_whatever_is_committed_meanwhile",
        "tests/unit/stages/test_one_snapshot.py::test_change_in_the_middle_of_a_look_is_not_seen_by_that_look",
    ),
    "S20": (f"{_SNAPSHOT}::test_snapshot_whose_owner_died_fails_every_read_and_is_never_another_moment",),
    "S21": (
        f"{_SNAPSHOT}::test_part_that_is_read_without_a_transaction_is_torn_and_known_by_its_witness",
        "tests/unit/databases/test_registry.py::test_users_jdbc_options_cannot_undo_what_correctness_needs",
    ),
    "S24": (
        f"{_CASES}::test_empty_source_is_drift_that_only_its_own_word_applies",
        f"{_APPLY}::test_empty_source_is_refused_with_the_right_count_and_allowed_by_its_own_word",
    ),
    "S26": (
        f"{_SWEEP}::test_table_that_is_altered_or_swapped_during_the_sweep_is_unverified_and_plans_nothing",
        f"{_APPLY}::test_schema_that_changed_since_the_plan_is_refused_with_both_and_may_be_accepted",
        f"{_EVOLVE}::test_column_that_comes_in_during_a_sweep_leaves_it_unverified_and_without_a_plan",
        f"{_EVOLVE}::test_column_that_changes_between_pages_ends_the_pull_before_a_row_is_cut_to_its_old_type",
    ),
    "S27": (
        f"{_ENGINE}::test_rows_that_a_policy_would_hide_from_the_role_are_an_error_and_never_left_out",
        f"{_ENGINE}::test_missing_privilege_tells_whom_to_grant",
        f"{_SWEEP}::test_read_that_lost_rows_is_unverified_and_plans_nothing",
        f"{_ABSENCE}::test_delete_of_a_row_that_every_read_lacked_is_not_made",
    ),
    "S29": (
        f"{_PARTS}::test_parts_are_even_and_hold_every_row_once",
        "tests/unit/core/test_segments.py::test_key_that_cannot_be_ranged_is_cut_by_hash_of_all_its_columns",
        f"{_MYSQL}::test_keys_that_differ_in_bytes_are_different_keys",
    ),
    "S31": (
        "tests/property/test_core_canon.py::test_different_rows_have_different_texts_and_digests",
        f"{_DIGESTS}::test_digest_changes_with_every_smallest_change_and_is_the_same_on_both_sides",
        f"{_DIGESTS}::test_values_swapped_between_two_rows_of_a_segment_do_not_cancel",
        f"{_DIGESTS}::test_row_that_the_lake_holds_twice_and_the_source_lacks_elsewhere_does_not_cancel",
    ),
    "S33": (f"{_APPLY}::test_one_column_that_differs_in_too_many_rows_is_refused_by_its_name",),
    "L1": (
        f"{_CORRECT}::test_correction_of_a_key_that_another_writer_touched_is_superseded_and_leaves_the_table_writable",
        f"{_APPLY}::test_row_that_another_writer_changed_since_the_sweep_is_superseded_and_left_alone",
        _HISTORIES,
    ),
    "L2": (
        f"{_SWEEP}::test_lake_is_pinned_before_the_source_is_read_at_both_looks",
        f"{_APPLY}::test_keys_are_read_again_lake_first_before_anything_is_written",
    ),
    "L4": (
        f"{_CORRECT}::test_correction_beside_a_writer_in_flight_is_superseded_and_does_not_touch_it",
        "tests/unit/lake/test_recover.py::test_instant_without_heartbeat_is_never_called_dead",
        f"{_APPLY}::test_apply_beside_a_writer_with_default_settings_in_flight_is_refused_and_beside_others_commits_says_so",
        "tests/unit/app/test_doctor_writers.py::test_writer_in_flight_is_one_with_default_settings_where_it_has_no_heartbeat",
        f"{_BESIDE}::test_pull_beside_a_silent_writer_writes_nothing_and_says_how_to_go_on",
        f"{_BESIDE}::test_silent_writer_that_begins_while_rows_are_read_is_not_written_beside",
        f"{_SILENT}::test_instant_without_heartbeat_is_seen_until_it_is_rolled_back_and_then_all_may_write",
        f"{_OPTIONS}::test_option_that_the_tool_owns_cannot_be_set",
    ),
    "L5": (
        f"{_CORRECT}::test_writer_that_begins_while_a_correction_is_under_way_waits_for_its_commit_and_finds_its_rows",
        _PROCESSES,
        f"{_WRITERS}::test_writer_with_default_settings_that_began_before_our_instant_and_commits_while_we_write_loses_no_row[copy_on_write]",
        f"{_APPLY}::test_superseded_plan_heals_with_the_next_sweep",
    ),
    "L6": (
        f"{_EXACT}::test_image_that_was_read_before_a_correction_and_is_written_after_it_does_not_win",
        f"{_APPLY}::test_commit_carries_the_pulls_checkpoint_on_and_raises_the_read_sequence",
    ),
    "L7": (
        f"{_TOMBSTONES}::test_row_that_comes_back_older_than_its_delete_that_only_a_log_holds_is_written_beside_all_others",
        f"{_APPLY}::test_write_that_the_lake_swallowed_is_failed_and_never_corrected",
        f"{_FINDINGS}::test_planned_keys_are_ready_moved_or_superseded_and_only_ready_ones_are_written",
    ),
    "L8": (
        f"{_CORRECT}::test_correction_of_a_key_that_another_writer_touched_is_superseded_and_leaves_the_table_writable",
        f"{_APPLY}::test_key_that_another_writer_wins_for_itself_is_superseded_and_the_rest_is_written_in_a_second_attempt",
        f"{_APPLY}::test_writer_in_flight_supersedes_all_and_the_reason_says_that_the_same_apply_may_be_run_again",
    ),
    "L9": (
        f"{_APPLY}::test_apply_under_another_lease_is_refused",
        f"{_SWEEP}::test_row_that_a_stale_writer_brings_back_after_its_delete_is_found_again",
        _HISTORIES,
    ),
    "L10": (
        f"{_APPLY}::test_commit_carries_the_pulls_checkpoint_on_and_raises_the_read_sequence",
        f"{_COMMITS}::test_lake_created_then_upserted_shows_the_newest_images_and_the_newest_checkpoint",
        f"{_PULL}::test_lost_checkpoint_is_refused_and_full_heals_it",
    ),
    "L12": (
        f"{_PINS}::test_pin_whose_files_the_cleaner_took_does_not_hold_and_cannot_be_loaded_again",
        "tests/integration/lake/test_lake_undo.py::test_correction_whose_rows_from_before_were_cleaned_is_refused_and_deletes_nothing",
        "tests/unit/spark/test_failures.py::test_snapshot_that_the_cleaner_took_is_the_lakes_and_names_the_setting",
        "tests/unit/spark/test_settings.py::test_settings_against_correctness_are_refused_all_at_once",
    ),
    "L13": (
        f"{_EXACT}::test_commit_whose_answer_is_lost_is_found_and_one_that_was_not_made_leaves_nothing",
        f"{_APPLY}::test_kill_after_the_commit_is_seen_by_the_next_apply",
        f"{_AGAIN}::test_key_that_moved_before_a_killed_commit_is_told_by_the_next_apply",
        f"{_AGAIN}::test_error_after_the_commit_is_in_a_result_that_names_it_and_undo_finds_it",
    ),
    "L15": (
        "tests/integration/lake/test_lake_doubles.py::test_doubled_keys_become_the_one_right_row_or_none_in_one_commit",
        f"{_DOUBLES}::test_doubled_keys_are_repaired_and_the_other_corrections_taken_back_once",
        f"{_DIGESTS}::test_row_that_the_lake_holds_twice_and_the_source_lacks_elsewhere_does_not_cancel",
    ),
    "L20": (
        "tests/unit/lake/test_table.py::test_timestamps_that_are_stored_as_milliseconds_are_known_from_the_tables_own_schema",
        "tests/unit/core/test_agreement.py::test_timestamps_are_cut_where_the_lake_is_known_to_hold_fewer_digits",
        "tests/unit/core/test_agreement.py::test_decimals_are_cut_only_where_the_lake_has_fewer_digits_after_the_point",
        f"{_SCOPE}::test_hidden_digits_make_the_table_unverified_with_their_number_and_both_fixes",
    ),
    "P1": (
        f"{_KILL}::test_apply_killed_in_the_middle_of_its_commit_or_just_after_ends_right_when_run_again",
        f"{_LEASE}::test_process_killed_while_it_clears_up_after_another_leaves_both_to_the_next",
        f"{_LEASE}::test_writer_killed_in_its_commit_leaves_a_table_that_the_next_one_finds_right_and_can_write",
        f"{_PULL}::test_kill_before_the_commit_leaves_checkpoint_and_rows_as_they_were",
        _HISTORIES,
    ),
    "P2": (
        f"{_KILL}::test_apply_killed_in_the_middle_of_its_commit_or_just_after_ends_right_when_run_again",
        f"{_APPLY}::test_kill_after_the_commit_is_seen_by_the_next_apply",
        f"{_APPLY}::test_apply_killed_between_its_two_commits_is_finished_by_the_next_which_knows_the_first",
        f"{_AGAIN}::test_write_that_the_lake_swallowed_is_failed_although_its_apply_was_killed_before_it_read_back",
        "tests/unit/stages/test_undo.py::test_what_a_killed_run_wrote_is_taken_back_by_its_run_id_alone",
    ),
    "P3": (
        f"{_KILL}::test_process_killed_between_plan_and_apply_changes_nothing",
        "tests/unit/evidence/test_store.py::test_run_of_a_killed_process_is_cleaned_up_by_the_next_and_never_seen",
        "tests/unit/evidence/test_store.py::test_run_that_dies_between_log_and_rename_is_published_by_the_next",
    ),
    "P5": (f"{_PARTS}::test_part_whose_backend_is_killed_is_read_again_and_no_row_twice",),
    "P6": (f"{_MOMENT}::test_pull_stages_what_it_counts",),
    "P10": (
        f"{_LEASE}::test_lease_keeps_a_second_process_out_and_is_given_back_whatever_happens",
        f"{_APPLY}::test_apply_under_another_lease_is_refused",
        f"{_APPLY}::test_second_apply_writes_nothing_and_says_already_applied",
        f"{_AGAIN}::test_incomplete_apply_is_incomplete_when_it_is_run_again",
        f"{_LOST}::test_apply_that_lost_its_lease_writes_nothing_and_the_checkpoint_does_not_fall",
        f"{_LEASE}::test_process_killed_while_it_clears_up_after_another_leaves_both_to_the_next",
    ),
    "P11": (
        f"{_APPLY}::test_plan_older_than_a_day_is_refused",
        f"{_APPLY}::test_counts_of_what_became_of_the_plan_add_up",
        f"{_APPLY}::test_row_that_the_source_changed_since_the_sweep_is_moved_and_left_alone",
    ),
    "P13": (f"{_DIGESTS}::test_segment_of_many_rows_is_summed_without_overflow",),
    "N1": (f"{_NETWORK}::test_slow_answers_change_nothing",),
    "N2": (
        f"{_NETWORK}::test_connection_that_is_reset_in_the_middle_of_the_rows_is_read_again_and_no_row_twice",
        f"{_SWEEP}::test_read_that_lost_rows_is_unverified_and_plans_nothing",
        f"{_ABSENCE}::test_delete_of_a_row_that_came_back_after_the_sweep_and_that_the_recheck_missed_has_moved",
        "tests/integration/source/test_named.py::test_rows_of_postgres_are_named_by_keys_of_every_kind_and_gone_ones_are_not",
    ),
    "N3": (f"{_NETWORK}::test_answers_that_never_come_end_in_an_error_after_the_statements_own_time",),
    "N5": (
        f"{_PARTS}::test_part_whose_backend_is_killed_is_read_again_and_no_row_twice",
        f"{_PARTS}::test_part_that_never_comes_ends_in_an_error_that_names_it",
        f"{_ENGINE}::test_statement_beyond_its_time_is_cancelled_and_named",
    ),
    "N6": (
        "tests/integration/app/test_doctor.py::test_pooler_in_between_fails_with_the_way_past_it",
        "tests/unit/databases/test_postgres_session.py::test_settings_that_are_not_in_force_and_a_second_session_give_a_pooler_away",
    ),
    "C1": (f"{_APPLY}::test_keys_that_hardly_meet_are_refused_as_a_wrong_mapping",),
    "C2": (
        "tests/integration/test_bad_input.py::test_key_that_occurs_twice_is_refused_with_a_sample",
        f"{_FINDINGS}::test_planned_keys_are_ready_moved_or_superseded_and_only_ready_ones_are_written",
        "tests/integration/source/test_catalog.py::test_unique_index_over_nullable_columns_proves_nothing",
        f"{_SWEEP}::test_keys_that_name_no_row_are_refused",
    ),
    "C3": (
        f"{_STANDING}::test_rows_that_are_gone_under_another_filter_or_history_are_deleted_by_their_own_word_only_and_then_no_more_asked",
        f"{_STANDING}::test_plan_of_another_filter_or_history_is_refused_before_anything_is_read",
        f"{_SCOPE}::test_settings_in_force_are_named",
        f"{_GUARDS}::test_deletes_beyond_the_limits_are_refused_without_and_allowed_with_the_plans_number",
    ),
    "C4": (
        "tests/unit/databases/test_registry.py::test_jdbc_url_of_mysql_is_refused_with_the_reason_and_the_way_out",
        f"{_MYSQL}::test_every_type_is_read_exactly_from_an_unfriendly_server",
    ),
    "C5": (
        f"{_MYSQL}::test_every_type_is_read_exactly_from_an_unfriendly_server",
        "tests/unit/databases/test_mysql_dialect.py::test_column_is_read_so_that_the_driver_cannot_alter_it",
    ),
    "K1": (
        f"{_CATALOGS}::test_commands_beside_a_metastore_that_is_down_say_that_their_commits_stand_and_end_soon",
        f"{_CATALOGS}::test_readers_of_a_catalog_get_new_columns_partitions_and_corrected_rows_after_each_command",
        "tests/unit/app/test_catalog.py::test_failed_sync_ends_a_run_with_3_and_leaves_a_refusal_what_it_is",
    ),
    "K2": (
        f"{_CATALOGS}::test_metastore_that_takes_the_connection_and_says_nothing_is_tried_once_unless_the_user_wants_more",
    ),
    "H1": (
        f"{_APPLY}::test_plan_of_another_place_is_refused",
        f"{_CASES}::test_plans_are_carried_out_once_unchanged_for_their_own_table_and_within_limits",
    ),
    "H2": (
        "tests/property/test_core_plan.py::test_plan_with_a_flipped_byte_is_refused_or_says_the_same",
        "tests/unit/core/test_plan.py::test_plan_edited_by_hand_is_refused",
    ),
    "H3": (
        f"{_GUARDS}::test_wrong_approval_is_refused_even_where_the_limits_allow_the_deletes",
        f"{_APPLY}::test_approved_deletes_beyond_the_limit_are_carried_out",
    ),
}

MISSING: Mapping[str, str] = {}


def _of_histories(mutant: str) -> str:
    return f"{_HISTORY}::test_histories_find_a_planted_bug[{mutant}]"


def _of_rules(rule: str) -> str:
    return f"{_HISTORY}::test_histories_find_a_rule_that_is_taken_out[{rule}]"


def _of_edits(mutant: str) -> str:
    return f"{_EDITED}::test_edited_rule_is_noticed[{mutant}]"


def _of_processes(rule: str, kind: str) -> str:
    return f"{_WRITERS}::test_rule_that_is_taken_away_is_noticed[{rule}-{kind}]"


MUTANTS: Mapping[str, Sequence[str]] = {
    "no compare-and-set": (_of_histories("no compare-and-set"),),
    "confirm re-uses the first read": (_of_histories("confirms with the first read"),),
    "source before lake at confirm": (
        _of_edits("source before lake at confirm"),
        _of_edits("source before lake at recheck"),
    ),
    "no conflict check": (_of_histories("no conflict check"),),
    "no checkpoint in our commit": (_of_histories("forgets the checkpoint"), _of_edits("no checkpoint in our commit")),
    "clean because candidates vanished": (_of_histories("clean because candidates vanished"),),
    "stale plan applied": (_of_histories("no recheck"), _of_edits("stale plan applied")),
    "delete after an incomplete read": (
        f"{_HISTORY}::test_histories_find_deletes_after_an_incomplete_read",
        _of_edits("delete after an incomplete read"),
        _of_edits("the deletes' keys are not asked for"),
        _of_rules("delete of a row that every read of the apply lacked"),
    ),
    "wrong partition path": (
        _of_edits("wrong partition path"),
        f"{_CORRECT}::test_row_looked_for_in_the_wrong_partition_would_be_noticed",
    ),
    "plan applied twice": (_of_edits("plan applied twice"), _of_rules("plan written twice")),
    "no lock from our instant to our commit": (_of_processes("no lock", "copy_on_write"),),
    "no pre-commit validators": (_of_processes("no pre-commit validators", "merge_on_read"),),
    "no check at our commit of the files that others wrote": (_of_processes("no check of files", "copy_on_write"),),
    "refused instant left behind": (_of_processes("refused instant left behind", "merge_on_read"),),
    "undo writes over rows that others touched": (_of_histories("undo overwrites what others touched"),),
    "plan that was undone applied again": (
        _of_rules("plan applied again that was undone"),
        _of_edits("undone plan applied again"),
    ),
    "clean though two reads of one state differ": (
        _of_edits("row that one of two reads of the same state lacked is settled"),
    ),
    "clean though the second read lost a row that the lake lacks": (
        f"{_HISTORY}::test_histories_find_a_second_read_that_loses_what_the_lake_lacks",
    ),
    "deleted though the source still counts the row": (_of_edits("row that every read lost is deleted"),),
    "clean though the first read of a busy source lost a row that the lake lacks": (
        _of_edits("segments that came short are not read again"),
        _of_edits("rows that both reads lacked are no loss"),
    ),
}


@dataclass(frozen=True, slots=True)
class Planned:
    """What `docs/faults.md` lists: faults by their number, and the rules whose absence must be noticed."""

    faults: Mapping[str, str]
    rules: Sequence[str]


def planned() -> Planned:
    """The document's lists, in its order."""
    text = DOCUMENT.read_text("utf-8")
    return Planned(dict(_ROW.findall(text)), _RULE.findall(text))


def names(nodeid: str, entry: str) -> bool:
    """Whether an entry names this test: itself, or all of its parameters."""
    return nodeid == entry or nodeid.startswith(f"{entry}[")
