"""For all tests: marks follow from the fixtures a test asks for, so that nobody sets them by hand."""

from __future__ import annotations

import pytest

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
