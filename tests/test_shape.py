"""Budgets of the house: small modules, short functions, few positional parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hudi_reconcile

PACKAGE = Path(__file__).resolve().parent.parent / "hudi_reconcile"
MODULES = sorted(PACKAGE.rglob("*.py"))
MODULE_LINES, FUNCTION_LINES, POSITIONAL_PARAMETERS = 300, 40, 5

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(module: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, Function):
            yield node


def name_of(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


def test_package_has_modules_to_measure() -> None:
    assert len(MODULES) > 10


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_module_keeps_its_budget_of_lines(module: Path) -> None:
    assert len(module.read_text("utf-8").splitlines()) <= MODULE_LINES


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_functions_keep_their_budgets(module: Path) -> None:
    too_long = {
        function.name: lines
        for function in functions(module)
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES
    }
    too_many = {
        function.name: count
        for function in functions(module)
        if (count := positional_parameters(function)) > POSITIONAL_PARAMETERS
    }

    assert (too_long, too_many) == ({}, {})


def positional_parameters(function: Function) -> int:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_module_says_what_it_is_for(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text("utf-8")))


def test_no_room_takes_the_name_of_a_public_function() -> None:
    # Importing hudi_reconcile.x sets the package's attribute x, whatever it was.
    assert [name for name in hudi_reconcile.__all__ if (PACKAGE / name).exists()] == []
