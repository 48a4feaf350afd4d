"""A change query as programs ask it: what is refused before Spark is started."""

from __future__ import annotations

import pytest

import hudi_reconcile
from hudi_reconcile.core.errors import UsageError


@pytest.mark.parametrize("end", ["from_", "to"])
def test_end_of_a_range_that_is_no_text_is_refused_by_its_name(end: str) -> None:
    with pytest.raises(UsageError, match=f"^{end} is None, and no text$") as raised:
        hudi_reconcile.changes(path="/lake/orders", type="min-delta", **{end: None})  # type: ignore[arg-type]

    assert "'latest'" in raised.value.fix
