"""Figures of the house. `make shape` prints them; `--json` adds the names behind them, `--root` measures another checkout.

Read from the source text of `hudi_reconcile/`. A room is a folder directly below it; percentiles are by nearest rank.

modules: files other than `__init__`
packages: `__init__` files
lines: lines of all these files, blank lines and comments included
module_lines: lines per module, `__init__` files left out: p50, p90, max
satellites: modules under 60 lines with one importer, except ports, `__main__`; imports through an `__init__` count for the origin
circles: groups of modules that import each other, counting imports inside functions and for type checking
dataclasses: classes with the decorator `dataclass`
wide_dataclasses: dataclasses with more than 12 fields of their own
largest_dataclass: the dataclass with the most fields
positional_dataclasses: dataclasses with more than 3 fields that can be passed by position
wide_classes: classes with more than 12 public methods of their own, properties included
functions: functions and methods, private and nested ones included
function_lines: lines per function, from `def` to its end: p50, p90, max
public_functions: module functions and methods of public classes without a leading underscore, properties left out
verb_percent: share of these that begin with a word of `verbs.txt` not followed by `of`, or with `is`, `holds` and return bool
shared_class_names: public names of top-level classes that occur more than once
shared_stems: module names that occur in more than one room

Observed while a sweep and an apply run over `tests/fakes`, which replaces database, Spark and lake. Calls made by the
fakes and by imports are left out. Counted until the comparer first receives the rows of both sides: `hops`, distinct pairs of
modules of which one calls the other; `calls` from one module into another; modules `entered`; and on the `way`: on the
stack when that happens.

sweep_from_stage: a sweep, starting at the function of the stages
apply_from_stage: an apply, starting at the function of the stages
sweep_from_cli: a sweep, starting at the entry point of the process
apply_from_cli: an apply, starting at the entry point of the process
records_of_apply: frozen dataclasses of `stages`, and of plan and apply in `core`, created or passed in `apply_from_stage`
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from typing import TypeGuard

from tests.support.docs import ROOT
from tests.support.package import Function, Package, find_circles, read_package

PACKAGE = "hudi_reconcile"
SMALL_LINES, MOST_FIELDS, MOST_POSITIONS, MOST_METHODS = 60, 12, 3, 12
VERBS = Path(__file__).with_name("verbs.txt")
HOPS = ("sweep_from_stage", "apply_from_stage", "sweep_from_cli", "apply_from_cli", "records_of_apply")
_PREDICATES = frozenset(
    {"are", "can", "did", "does", "had", "has", "is", "may", "must", "should", "was", "were", "would"}
)
_PROPERTIES = frozenset({"property", "cached_property", "setter", "deleter"})


class HopsError(Exception):
    """A sweep or an apply could not be followed; the message says what was missing or how the run ended."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: a number or several named ones, and the names of what was counted where there is something to fix."""

    name: str
    value: float | Mapping[str, int]
    names: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The value as the table has it."""
        if isinstance(self.value, Mapping):
            return "  ".join(f"{name} {number:,}" for name, number in self.value.items())
        return f"{self.value:,}"


def measure_package(package: Package) -> list[Figure]:
    """The figures of the source text, in the order of their definitions."""
    modules = [module for module in package.modules.values() if not module.is_init]
    small, circles = find_satellites(package), find_circles(package.graph)
    return [
        Figure("modules", len(modules)),
        Figure("packages", len(package.modules) - len(modules)),
        Figure("lines", sum(module.lines for module in package.modules.values())),
        Figure("module_lines", percentiles(module.lines for module in modules)),
        Figure("satellites", len(small), small),
        Figure("circles", len(circles), [" - ".join(circle) for circle in circles]),
        *measure_classes(package),
        *measure_functions(package),
        *measure_names(package),
    ]


def find_satellites(package: Package) -> list[str]:
    """Small modules that only one other module imports."""
    return [
        name
        for name, by in package.importers.items()
        if len(by) == 1
        and not (module := package.modules[name]).is_init
        and module.stem != "__main__"
        and "ports" not in module.rooms
        and module.lines < SMALL_LINES
    ]


def measure_classes(package: Package) -> Iterator[Figure]:
    """Sizes of dataclasses and classes."""
    classes = [(f"{module.name}.{node.name}", node) for module in package.modules.values() for node in module.classes]
    fields = {name: list_fields(node) for name, node in classes if is_dataclass(node)}
    widths = sorted(((len(found), name) for name, found in fields.items()), key=lambda one: (-one[0], one[1]))
    wide = [f"{name}: {width}" for width, name in widths if width > MOST_FIELDS]
    positional = {name: sum(given.values()) for name, given in fields.items()}
    loose = [f"{name}: {count}" for name, count in positional.items() if count > MOST_POSITIONS]
    methods = {name: len({one.name for one in node.body if is_public(one)}) for name, node in classes}
    busy = [f"{name}: {count}" for name, count in methods.items() if count > MOST_METHODS]
    yield Figure("dataclasses", len(fields))
    yield Figure("wide_dataclasses", len(wide), wide)
    yield Figure("largest_dataclass", {name.rpartition(".")[2]: width for width, name in widths[:1]})
    yield Figure("positional_dataclasses", len(loose), loose)
    yield Figure("wide_classes", len(busy), busy)


def measure_functions(package: Package) -> Iterator[Figure]:
    """Lengths of functions, and how many names begin with a verb."""
    functions = [node for module in package.modules.values() for node in module.functions]
    yield Figure("functions", len(functions))
    yield Figure("function_lines", percentiles((node.end_lineno or 0) - node.lineno + 1 for node in functions))
    public = [(module, node) for module in package.modules.values() for node in list_public(module.tree.body)]
    others = [f"{module.name}.{node.name}" for module, node in public if not is_verb(node)]
    yield Figure("public_functions", len(public))
    yield Figure("verb_percent", round(100 * (1 - len(others) / len(public)), 1) if public else 0.0, others)


def measure_names(package: Package) -> Iterator[Figure]:
    """Names that are used more than once."""
    classes, rooms = defaultdict[str, list[str]](list), defaultdict[str, set[str]](set)
    for module in package.modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(module.name)
        if not module.is_init:
            rooms[module.stem].add(module.rooms[0] if module.rooms else "")
    shared = [f"{name}: {', '.join(where)}" for name, where in sorted(classes.items()) if len(where) > 1]
    stems = [f"{stem}: {', '.join(sorted(where))}" for stem, where in sorted(rooms.items()) if len(where) > 1]
    yield Figure("shared_class_names", len(shared), shared)
    yield Figure("shared_stems", len(stems), stems)


def percentiles(numbers: Iterable[int]) -> dict[str, int]:
    """Median, 90th percentile and greatest, each a number that occurs.

    >>> percentiles(range(1, 11))
    {'p50': 5, 'p90': 9, 'max': 10}
    """
    found = sorted(numbers) or [0]
    return {f"p{share}": found[ceil(len(found) * share / 100) - 1] for share in (50, 90)} | {"max": found[-1]}


def is_dataclass(node: ast.ClassDef) -> bool:
    """Whether the class has the decorator."""
    return any(_last_word(one) == "dataclass" for one in node.decorator_list)


def list_fields(node: ast.ClassDef) -> dict[str, bool]:
    """The fields of the class body, and whether each can be passed by position."""
    by_position = not any(_keyword(one, "kw_only", value=True) for one in node.decorator_list)
    fields: dict[str, bool] = {}
    for line in node.body:
        if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)):
            continue
        kind = _last_word(line.annotation)
        if kind == "KW_ONLY":
            by_position = False
        elif kind not in ("ClassVar", "InitVar"):
            aside = _keyword(line.value, "init", value=False) or _keyword(line.value, "kw_only", value=True)
            fields[line.target.id] = by_position and not aside
    return fields


def list_public(body: Iterable[ast.stmt]) -> Iterator[Function]:
    """Public functions of a module, and public methods of its public classes; properties are values."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from list_public(node.body)
        elif is_public(node) and not any(_last_word(one) in _PROPERTIES for one in node.decorator_list):
            yield node


def is_public(node: ast.stmt) -> TypeGuard[Function]:
    """Whether it is a function whose name has no leading underscore."""
    return isinstance(node, Function) and not node.name.startswith("_")


def is_verb(function: Function) -> bool:
    """Whether the name begins with a verb: an imperative, or a third person that returns bool."""
    first, *more = function.name.rstrip("_").split("_")
    if more[:1] == ["of"]:
        return False
    tells = function.returns is not None and ast.unparse(function.returns) == "bool"
    return first in read_verbs() or (tells and (first in _PREDICATES or not _bases(first).isdisjoint(read_verbs())))


@cache
def read_verbs() -> frozenset[str]:
    """The words of the list."""
    lines = VERBS.read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _bases(word: str) -> set[str]:
    """What a word may be the third person of."""
    ends = (("s", ""), ("es", ""), ("ies", "y"))
    return {word.removesuffix(end) + base for end, base in ends if word.endswith(end)}


def _last_word(node: ast.expr) -> str:
    """`dataclass` of `@dataclasses.dataclass(frozen=True)`, `ClassVar` of `typing.ClassVar[int]`."""
    match node:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last_word(inner)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _keyword(node: ast.expr | None, name: str, *, value: bool) -> bool:
    """Whether a call has this argument with this value."""
    given = node.keywords if isinstance(node, ast.Call) else []
    return any(one.arg == name and isinstance(one.value, ast.Constant) and one.value.value is value for one in given)


def measure_hops() -> list[Figure]:
    """The figures of a sweep and an apply, measured in a process of their own. Raises HopsError."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.support.hops", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HopsError((done.stderr.strip().splitlines() or ["the process ended without a word"])[-1])
        return [Figure(*one) for one in json.loads((Path(folder) / "hops.json").read_text("utf-8"))]


def render(figures: Sequence[Figure], *, as_json: bool) -> str:
    """The figures as a table, or as a JSON document."""
    if as_json:
        return json.dumps({one.name: {"value": one.value, "names": list(one.names)} for one in figures}, indent=2)
    width = max(len(one.name) for one in figures)
    return "\n".join(f"{one.name:{width}}  {one.text}" for one in figures)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; exit 2 if there is no package, 1 if a sweep or an apply could not be followed."""
    parser = argparse.ArgumentParser(prog="shape", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document, with the names behind the figures"
    )
    parser.add_argument("--root", type=Path, metavar="PATH", help="measure another checkout by its source text alone")
    asked = parser.parse_args(arguments)
    try:
        figures = measure_package(read_package((asked.root or ROOT) / PACKAGE))
    except FileNotFoundError as error:
        print(f"{error}; --root takes the folder that holds {PACKAGE}/", file=sys.stderr)  # noqa: T201
        return 2
    trouble = None
    try:
        figures += [] if asked.root else measure_hops()
    except HopsError as error:
        trouble = error
    print(render(figures, as_json=asked.json))  # noqa: T201
    if trouble is not None:
        print(f"no hops were measured: {trouble}", file=sys.stderr)  # noqa: T201
    return int(trouble is not None)


if __name__ == "__main__":
    raise SystemExit(main())
