"""What a database quotes of a row is not repeated; names and grammar are, for they say what to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.safe_text import HIDDEN, UNREADABLE, redact_message


@pytest.mark.parametrize(
    "reason",
    [
        'ERROR: invalid input syntax for type integer: "geheim"',
        'invalid input syntax for type integer: "geheim',  # its first line alone
        'ERROR: value "geheim" is out of range for type integer',
        'ERROR: date/time field value out of range: "geheim"',
        'ERROR: column value "geheim" is out of range',
        'ERROR: invalid value "geheim" for "YYYY"',
        "Conversion failed when converting the varchar value 'geheim' to data type int.",
        "(conn=7) Incorrect DATETIME value: 'geheim'",
        'Data conversion error converting "geheim"',
        "duplicate entry ('geheim')",
    ],
)
def test_value_that_a_message_quotes_is_cut_off_and_the_rest_is_told(reason: str) -> None:
    said = redact_message(reason)

    assert "geheim" not in said
    assert len(said) > 8


@pytest.mark.parametrize(
    "reason",
    [
        'relation "orders" does not exist',
        'ERROR: column "amount" does not exist',
        'ERROR: syntax error at or near "form"',
        'FATAL: database "shop" does not exist',
        'ERROR: role "reader" is not permitted to log in',
        "ERROR: permission denied for table orders",
        "(conn=3) Unknown column 'x' in 'SELECT'",
        "Table 'shop.orders' doesn't exist",
        "You have an error in your SQL syntax; check the manual for the right syntax to use near 'form' at line 1",
        "terminating connection due to administrator command",
        "Can't connect to the server",
        "ORA-00942: table or view does not exist",
    ],
)
def test_message_of_names_and_grammar_is_told_whole(reason: str) -> None:
    assert redact_message(reason) == reason


def test_column_that_is_not_there_is_named_whatever_the_engines_words_where_its_state_says_so() -> None:
    reason = 'Column "NO_SUCH" not found; SQL statement:'

    assert redact_message(reason, state="42S22") == reason
    assert "NO_SUCH" not in redact_message(reason, state="42000")


def test_snapshot_that_is_gone_is_told_as_that() -> None:
    assert (
        redact_message('ERROR: invalid snapshot identifier: "00-1"', state="22023")
        == "ERROR: invalid snapshot identifier"
    )


@given(st.text(), st.sampled_from(["22P02", "22003", "23505", "P0001", "44000", "45000"]))
def test_state_of_a_data_exception_or_a_constraint_hides_the_whole_text(text: str, state: str) -> None:
    assert redact_message(text, state=state) in (UNREADABLE, HIDDEN)


def test_text_that_somebodys_own_function_raises_is_not_repeated() -> None:
    whole = "PSQLException: ERROR: geheim is odd\n  Where: PL/pgSQL function odd(text) line 1 at RAISE"

    assert redact_message("ERROR: geheim is odd", whole=whole) == HIDDEN
    assert redact_message("geheim", kind="java.sql.SQLIntegrityConstraintViolationException") == HIDDEN
    assert redact_message("geheim", kind="org.h2.jdbc.JdbcSQLDataException") == UNREADABLE
