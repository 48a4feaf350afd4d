"""The order of the files, and a second writer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.second_writer import SecondWriter

# Files with many commands or processes of their own: begun first, or one process would end with one of them while the others
# are done. The small ones fill up what is left.
_LONGEST = (
    "test_stops.py",
    "test_object_store.py",
    "test_corrections.py",
    "test_cluster.py",
    "test_kill.py",
    "test_histories.py",
    "../conformance/test_engines.py",
    "source/test_jdbc_engines.py",
    "lake/test_lake_exactness.py",
    "lake/test_lake_corrections.py",
    "test_audit.py",
    "lake/test_lake_doubles.py",
    "spark/test_session.py",
    "test_main_path_cases.py",
    "test_strategies.py",
    "test_catalogs.py",
    "test_every_kind.py",
    "demo/test_demo.py",
    "source/test_jdbc_parts.py",
    "lake/test_lake_lease.py",
    "test_many_partitions.py",
    "test_second_writer.py",
    "test_time_limits.py",
    "test_paged_kills.py",
    "test_second_night.py",
    "test_evolution.py",
    "test_foreign_tables.py",
    "test_partial_sweeps.py",
    "test_rules.py",
    "test_main_path.py",
    "test_every_kind_mysql.py",
    "test_bad_input.py",
    "test_puller.py",
    "test_odd_keys.py",
    "test_hot_tables.py",
    "source/test_mysql.py",
    "spark/test_machine.py",
    "report/test_pages_in_a_browser.py",
    "test_changes.py",
    "changes/test_by_path.py",
    "changes/test_published_example.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, the others as they are found."""
    order = {name: place for place, name in enumerate(_LONGEST)}
    here = Path(__file__).parent
    items.sort(key=lambda item: order.get(os.path.relpath(item.path, here), len(order)))


@pytest.fixture(scope="session")
def second_writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecondWriter]:
    """A process of its own that writes to lake tables on command."""
    writer = SecondWriter(tmp_path_factory.mktemp("second"))
    yield writer
    writer.end()
