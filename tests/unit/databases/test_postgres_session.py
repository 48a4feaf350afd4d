from __future__ import annotations

from hudi_reconcile.databases.postgres.session import is_poolers_refusal, pooler_signs, session_options

IN_FORCE = {
    "pid": 7, "default_transaction_read_only": "on", "TimeZone": "UTC", "DateStyle": "ISO, MDY", "lc_monetary": "C",
    "IntervalStyle": "iso_8601", "extra_float_digits": "1", "bytea_output": "hex", "row_security": "off",
    "client_encoding": "UTF8", "search_path": "pg_catalog", "standard_conforming_strings": "on", "jit": "off",
}  # fmt: skip


def test_session_of_its_own_with_its_settings_is_taken_as_it_is() -> None:
    assert pooler_signs(IN_FORCE, 7) == ""


def test_settings_that_are_not_in_force_and_a_second_session_give_a_pooler_away() -> None:
    lost = pooler_signs({**IN_FORCE, "TimeZone": "Europe/Berlin", "row_security": "on"}, 7)

    assert "not in force (TimeZone, row_security)" in lost
    assert "met two server sessions" in pooler_signs(IN_FORCE, 8)


def test_every_setting_that_is_asked_for_is_looked_at() -> None:
    asked = {one.split("=")[0] for one in session_options(2).split("-c ")[1:]}

    assert asked - {"lock_timeout", "statement_timeout"} == IN_FORCE.keys() - {"pid"}
    assert "statement_timeout=2000" in session_options(2)


def test_words_of_a_pooler_that_takes_no_settings_are_known() -> None:
    assert is_poolers_refusal("FATAL:  unsupported startup parameter: options")
    assert not is_poolers_refusal("FATAL: the database system is starting up")
