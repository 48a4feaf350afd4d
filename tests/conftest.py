"""For all tests: marks follow from the fixtures a test asks for, and how far property tests search.

`HYPOTHESIS_PROFILE` names one of: `look` (new examples in each run), `gate` (the same examples in each run: a red gate
is then the change's own doing) and `hunt` (`make hunt`: twenty times as many new examples).
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# No deadline: a test that fails because the machine is busy says nothing of the code.
settings.register_profile("look", deadline=None)
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("hunt", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "look"))

_MARK_OF_FIXTURE = {
    "spark": "spark",
    "postgres_server": "postgres",
    "pg": "postgres",
    "maria_server": "mariadb",
    "maria": "mariadb",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in _MARK_OF_FIXTURE:
                item.add_marker(_MARK_OF_FIXTURE[fixture])
