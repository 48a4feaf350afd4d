"""For all tests: marks follow from the fixtures a test asks for, and how far property tests search.

`HYPOTHESIS_PROFILE` names one of: `look` (new examples in each run), `gate` (the same examples in each run: a red gate
is then the change's own doing) and `hunt` (`make hunt`: twenty times as many new examples).
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings

from tests.support import fault_count, fuzzed, real_parts

pytest.register_assert_rewrite("tests.contracts", "tests.integration.histories")

# One of each in a process, whichever folders its tests are in.
postgres_server, pg = real_parts.postgres_server, real_parts.pg
maria_server, maria = real_parts.maria_server, real_parts.maria
spark_session, spark = real_parts.spark_session, real_parts.spark

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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults", action="store_true", help="only the tests that tests/faults.py names, and their count")


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--faults"):
        terminalreporter.section("faults")
        for line in fault_count.lines(outcomes_of(terminalreporter))[0]:
            terminalreporter.write_line(line)
    if lines := fuzzed.table():
        terminalreporter.section("fuzzed inputs")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker's counts of fuzzed inputs, which came home with it."""
    fuzzed.add(getattr(node, "workeroutput", {}).get(fuzzed.KEY, {}))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A fault whose test was skipped or did not run is no success."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[fuzzed.KEY] = fuzzed.counts()
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    asked = session.config.getoption("--faults") and not session.config.getoption("collectonly")
    if asked and reporter is not None and not fault_count.lines(outcomes_of(reporter))[1]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def outcomes_of(reporter: TerminalReporter) -> dict[str, str]:
    """Every test's outcome; the worst where there are several."""
    worse_last = {"passed": fault_count.GOOD, "skipped": "skipped", "failed": "failed", "error": "error"}
    stats = reporter.stats
    return {report.nodeid: outcome for name, outcome in worse_last.items() for report in stats.get(name, [])}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--faults"):
        items[:], others = fault_count.chosen(items, config.rootpath)
        config.hook.pytest_deselected(items=others)
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in _MARK_OF_FIXTURE:
                item.add_marker(_MARK_OF_FIXTURE[fixture])
