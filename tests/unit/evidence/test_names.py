"""Names below the reports folder are safe as file names and sort as the runs did."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.evidence.run_folder import build_run_id, is_run_id, name_table_folder

TENTH_OF_A_SECOND = 100_000
MICROS = st.integers(min_value=0, max_value=4_000_000_000_000_000)
SAFE = set(string.ascii_letters + string.digits + "_.-")


@given(MICROS, st.integers(min_value=0), st.integers(min_value=0))
def test_run_ids_of_later_runs_sort_later(now: int, first: int, second: int) -> None:
    earlier, later = build_run_id(now, first), build_run_id(now + TENTH_OF_A_SECOND, second)

    assert earlier < later
    assert is_run_id(earlier)


def test_run_id_shows_the_utc_second_and_ends_in_hex() -> None:
    assert build_run_id(1_795_267_576_250_000, 0xA1C) == "20261121T132616Z-400a1c"


@pytest.mark.parametrize("text", ["latest", "../20261121T132616Z-3f9a1c", "20261121T132616Z-3f9a1c\n", ""])
def test_run_id_of_another_form_is_none(text: str) -> None:
    assert not is_run_id(text)


@pytest.mark.parametrize("name", ["orders", "Order_Items", "v1.orders"])
def test_table_folder_of_a_plain_name_is_the_name(name: str) -> None:
    assert name_table_folder(name) == name


@given(st.text(max_size=300))
def test_table_folder_is_always_one_short_safe_path_part(name: str) -> None:
    folder = name_table_folder(name)

    assert set(folder) <= SAFE
    assert 1 <= len(folder) <= 80
    assert not folder.startswith((".", "-"))
    assert folder not in {"result.json", "report.html"}


@given(st.text(max_size=60), st.text(max_size=60))
def test_table_folder_differs_for_names_that_differ(first: str, second: str) -> None:
    assert (name_table_folder(first) == name_table_folder(second)) == (first == second)
