"""The list of planned faults and the tests that prove them agree, and every test that is named is there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests import faults
from tests.support import fault_count

ROOT = Path(__file__).parent.parent.parent
ENTRIES = sorted({entry for tests in (*faults.FAULTS.values(), *faults.MUTANTS.values()) for entry in tests})


@cache
def functions_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_planned_fault_has_its_tests_or_names_what_is_missing() -> None:
    planned = faults.planned()

    assert list(faults.FAULTS) == list(planned.faults)
    assert len(planned.faults) == 57
    without = {number for number, tests in faults.FAULTS.items() if not tests}
    assert without <= set(faults.MISSING) <= set(planned.faults)
    assert all(len(why.split()) > 5 for why in faults.MISSING.values())


def test_every_rule_has_a_mutant() -> None:
    assert list(faults.MUTANTS) == list(faults.planned().rules)
    assert all(faults.MUTANTS.values())


@pytest.mark.parametrize("entry", ENTRIES)
def test_named_test_is_there(entry: str) -> None:
    path, name = entry.split("::")

    assert name.split("[")[0] in functions_in(path)


def test_fault_passes_where_every_parameter_of_every_test_passed_and_else_says_why() -> None:
    entries = ("a.py::one", "a.py::two[x]")
    good = {"a.py::one[1]": "passed", "a.py::one[2]": "passed", "a.py::two[x]": "passed", "a.py::two[y]": "failed"}

    assert fault_count.verdict(entries, good) == "passed"
    assert fault_count.verdict(entries, good | {"a.py::one[2]": "skipped"}) == "passed, skipped: a.py::one"
    assert fault_count.verdict(entries, {"a.py::one": "passed"}) == "not run: a.py::two[x]"
    assert fault_count.verdict((), good) == "no test"
