"""The invented runs of `stories.py`, by ending."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.unit.report.stories import Story, all_stories


@pytest.fixture(scope="session")
def stories() -> Mapping[str, Story]:
    return all_stories()
