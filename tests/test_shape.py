"""Budgets of the house: modules that are neither scraps nor tomes, short functions, small values, one name for one class.

What breaks a budget today stands in a table below with its figure, which may fall and never rise.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median_low

import pytest

import hudi_reconcile

PACKAGE = Path(__file__).resolve().parent.parent / "hudi_reconcile"
MODULES = sorted(PACKAGE.rglob("*.py"))
MODULE_LINES, FUNCTION_LINES, POSITIONAL_PARAMETERS = 450, 40, 5
MEDIAN_LINES = range(120, 251)
SCRAP_LINES = 60
FIELDS, METHODS = 12, 12

# A format that other programs read is a module, however short; so is what runs `python -m`.
SCRAPS = {"__main__", "report/outputs/webhook", "stages/sweep/mode"}
LARGE_RECORDS = {
    "Checkpoint": 17, "LakeTable": 13, "Plan": 16, "Product": 21, "PullPlan": 14, "RuleResult": 14,
    "ServerFacts": 13, "Start": 13, "TableRequest": 14, "TableResult": 30, "ApplyWork": 20,
}  # fmt: skip
LARGE_CLASSES = {
    "Comparer": 29, "Engine": 20, "HudiLake": 29, "JdbcEngine": 18, "Lake": 29, "MysqlEngine": 14, "PostgresEngine": 14,
    "Source": 27, "SparkComparer": 29, "Store": 13, "TableSource": 27, "Timeline": 16, "Watermark": 16,
}  # fmt: skip

# `docs/style.md`: what is no verb and names no function, first or alone. `of` makes a value of its class: `SegmentSet.of`.
NO_VERBS = {
    "above", "after", "again", "around", "as", "at", "before", "below", "beside", "between", "by", "elsewhere", "for",
    "from", "how", "in", "meanwhile", "near", "not", "now", "of", "on", "only", "since", "still", "then", "there",
    "till", "to", "twice", "under", "until", "with", "within", "without",
}  # fmt: skip
PARTICIPLES = {
    "begun", "built", "done", "drawn", "found", "given", "gone", "held", "kept", "known", "lost", "made", "met",
    "proven", "said", "seen", "sent", "shown", "told",
}  # fmt: skip
NAMES_OF_NOTHING = {"found", "held", "left", "one", "told"}
VERBS_IN_ED = {"embed", "exceed", "feed", "need", "seed"}
CONSTRUCTORS = {"of", "of_values", "to_dict"}

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


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_function_is_named_by_no_participle_preposition_or_adverb(module: Path) -> None:
    values = {"property", "cached_property"}
    names = (one.name for one in functions(module) if not values & {ast.unparse(each) for each in one.decorator_list})

    assert [name for name in names if name not in CONSTRUCTORS and is_no_verb(name)] == []


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_local_is_named_by_a_noun(module: Path) -> None:
    assert NAMES_OF_NOTHING.isdisjoint(locals_of(ast.parse(module.read_text("utf-8"))))


def test_locals_of_functions_lambdas_and_comprehensions_are_all_seen() -> None:
    text = "class K:\n    k: int = 1\n"
    text += "def f(a, *b, c=lambda d: 0):\n    e = [0 for g in b]\n    with a as h:\n        i: int = (j := 1)"

    assert locals_of(ast.parse(text)) == set("abcdeghij")


def locals_of(tree: ast.Module) -> set[str]:
    fields = {id(node) for place in ast.walk(tree) if isinstance(place, ast.ClassDef) for line in place.body
              if isinstance(line, ast.Assign | ast.AnnAssign) for node in ast.walk(line)}  # fmt: skip
    names = {node.id for node in ast.walk(tree)
             if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields}  # fmt: skip
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_text_that_names_a_constant_of_its_module_in_braces_is_an_f_string(module: Path) -> None:
    assert forgotten_places(ast.parse(module.read_text("utf-8"))) == set()


def test_text_that_forgot_its_f_is_seen() -> None:
    text = 'A = 1\nB = f"{A}"\nC = "{A} and {b}"\nD = {"k": ("{C}", f"{A}{{C}}")}'

    assert forgotten_places(ast.parse(text)) == set("AC")


def forgotten_places(tree: ast.Module) -> set[str]:
    """Constants of a module that a text names in braces and does not fill in: such a text reaches a database as it stands."""
    constants = {node.id for node in ast.walk(tree)
                 if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.isupper()}  # fmt: skip
    filled = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    texts = [node.value for node in ast.walk(tree)
             if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in filled]  # fmt: skip
    return {name for name in constants for text in texts if f"{{{name}}}" in text}


def is_no_verb(name: str) -> bool:
    words = name.strip("_").split("_")
    is_participle = words[0] in PARTICIPLES or (words[0].endswith("ed") and words[0] not in VERBS_IN_ED)
    return words[0] in NO_VERBS or (len(words) == 1 and is_participle)


def test_names_that_are_no_verbs_are_known() -> None:
    assert [name for name in ("_told", "joined", "by_key", "_feed", "find_end") if is_no_verb(name)] == [
        "_told",
        "joined",
        "by_key",
    ]


def positional_parameters(function: Function) -> int:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_module_says_what_it_is_for(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text("utf-8")))


def test_no_room_takes_the_name_of_a_public_function() -> None:
    # Importing hudi_reconcile.x sets the package's attribute x, whatever it was.
    assert [name for name in hudi_reconcile.__all__ if (PACKAGE / name).exists()] == []


@cache
def modules() -> dict[str, ast.Module]:
    """Every module but the packages' own, by its path below the package without `.py`."""
    return {
        str(path.relative_to(PACKAGE))[:-3]: ast.parse(path.read_text("utf-8"))
        for path in MODULES
        if path.name != "__init__.py"
    }


def lines_of(module: str) -> int:
    return len((PACKAGE / f"{module}.py").read_text("utf-8").splitlines())


def importers(house: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Which modules import each module."""
    found: dict[str, set[str]] = {module: set() for module in house}
    for importer, tree in house.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hudi_reconcile"):
                path = (node.module or "").removeprefix("hudi_reconcile").lstrip(".").replace(".", "/")
                for name in (path, *(f"{path}/{one.name}" for one in node.names)):
                    found.get(name, set()).add(importer)
    return found


def public_classes(house: dict[str, ast.Module]) -> Iterator[tuple[str, ast.ClassDef]]:
    for module, tree in house.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield module, node


def is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.dump(decorator) for decorator in node.decorator_list)


def test_median_module_is_neither_a_scrap_nor_a_tome() -> None:
    assert median_low(sorted(map(lines_of, modules()))) in MEDIAN_LINES


def test_module_of_few_lines_has_more_than_one_importer() -> None:
    house = modules()
    users = importers(house)

    assert {module for module in house if lines_of(module) < SCRAP_LINES and len(users[module]) < 2} == SCRAPS


def test_dataclass_has_few_fields() -> None:
    found = {
        node.name: count
        for _, node in public_classes(modules())
        if is_dataclass(node) and (count := sum(isinstance(one, ast.AnnAssign) for one in node.body)) > FIELDS
    }

    assert found == LARGE_RECORDS


def test_class_has_few_public_methods() -> None:
    found = {
        node.name: count
        for _, node in public_classes(modules())
        if (count := sum(isinstance(one, ast.FunctionDef) and not one.name.startswith("_") for one in node.body))
        > METHODS
    }

    assert found == LARGE_CLASSES


def test_name_of_a_public_class_stands_once() -> None:
    counted = Counter(node.name for _, node in public_classes(modules()))

    assert {name for name, count in counted.items() if count > 1} == set()
