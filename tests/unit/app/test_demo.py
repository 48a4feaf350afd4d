"""A demo whose step gives something else must not end well."""

from __future__ import annotations

import pytest

from hudi_reconcile.app.demo import DemoError, _expect


def test_step_that_gives_something_else_is_named_with_both_figures_and_exits_3() -> None:
    with pytest.raises(DemoError, match=r"sweep gave something else: deleted: expected 3, found 2$") as caught:
        _expect("sweep", {"deleted": 3, "outcome": "drift"}, {"deleted": 2, "outcome": "drift", "regressed": 0})

    assert (caught.value.outcome.exit_code, caught.value.type) == (3, "DemoError")


def test_step_that_lacks_a_figure_is_not_taken_for_right() -> None:
    with pytest.raises(DemoError, match="rows: expected 1, found None"):
        _expect("pull", {"rows": 1}, {})


def test_step_that_gives_what_it_must_passes() -> None:
    _expect("apply", {"applied": 9}, {"applied": 9})
