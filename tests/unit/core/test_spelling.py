from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import find_nearest_name


@pytest.mark.parametrize(
    ("typed", "meant"), [("updated_ta", "updated_at"), ("upated_at", "updated_at"), ("zzz", None), ("", None)]
)
def test_nearest_name_is_offered_only_where_one_comes_near(typed: str, meant: str | None) -> None:
    assert find_nearest_name(typed, ["updated_at", "order_id", "status"]) == meant
