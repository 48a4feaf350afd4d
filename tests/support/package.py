"""A package by its source text: modules, imports, classes and functions. Nothing in it is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
Graph = Mapping[str, frozenset[str]]


@dataclass(frozen=True, kw_only=True)  # no slots: what is computed once is kept
class Module:
    """One file. `name` is dotted and begins with the package's; that of an `__init__` is its folder's."""

    name: str
    is_init: bool
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def stem(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def rooms(self) -> tuple[str, ...]:
        """The folders from the package down to the module."""
        return tuple(self.name.split(".")[1 : None if self.is_init else -1])

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions, methods and nested ones included."""
        return tuple(node for node in ast.walk(self.tree) if isinstance(node, Function))

    @cached_property
    def classes(self) -> tuple[ast.ClassDef, ...]:
        return tuple(node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))

    @cached_property
    def imports(self) -> tuple[tuple[str, str], ...]:
        """All imports as (module, name), those inside functions included; the name is empty for `import module`."""
        return tuple(self._imports())

    def _imports(self) -> Iterator[tuple[str, str]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = self.name.split(".") if self.is_init else self.name.split(".")[:-1]
                base = above[: len(above) + 1 - node.level] if node.level else []
                origin = ".".join([*base, *([node.module] if node.module else [])])
                yield from ((origin, alias.name) for alias in node.names)


@dataclass(frozen=True, kw_only=True)
class Package:
    """All modules below a folder, by name."""

    name: str
    modules: Mapping[str, Module]

    @cached_property
    def graph(self) -> Graph:
        """The modules that each module imports."""
        return {name: frozenset(self._loaded(module)) - {name} for name, module in self.modules.items()}

    @cached_property
    def importers(self) -> Graph:
        """The modules that import each module; an import through an `__init__` counts for the module that defines the name."""
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for name, module in self.modules.items():
            for origin, imported in () if module.is_init else module.imports:
                definer = self._definer(origin, imported)
                if definer is not None and definer != name:
                    found[definer].add(name)
        return {name: frozenset(by) for name, by in found.items()}

    def _loaded(self, module: Module) -> Iterator[str]:
        for origin, imported in module.imports:
            below = f"{origin}.{imported}"
            if below in self.modules:
                yield below
            elif origin in self.modules:
                yield origin

    def _definer(self, origin: str, imported: str) -> str | None:
        """The module that defines a name, found through every `__init__` that re-exports it."""
        seen: set[str] = set()
        while f"{origin}.{imported}" not in self.modules:
            if origin not in self.modules or origin in seen:
                return None
            seen.add(origin)
            onward = [one for one, name in self.modules[origin].imports if name == imported]
            if not (self.modules[origin].is_init and onward):
                return origin
            origin = onward[0]
        return f"{origin}.{imported}"


def read_package(folder: Path) -> Package:
    """Read the package in a folder. Raises FileNotFoundError if it is none."""
    if not (folder / "__init__.py").is_file():
        raise FileNotFoundError(f"{folder} is no package: it holds no __init__.py")
    modules = [_read_module(folder, path) for path in sorted(folder.rglob("*.py"))]
    return Package(name=folder.name, modules={module.name: module for module in modules})


def find_circles(graph: Graph) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others.

    >>> find_circles({"a": frozenset({"b"}), "b": frozenset({"a", "c"}), "c": frozenset()})
    [['a', 'b']]
    """
    ways = {name: _reach(graph, name) for name in graph}
    circles = {tuple(sorted(one for one in ways[name] if name in ways[one])) for name in graph if name in ways[name]}
    return [list(circle) for circle in sorted(circles)]


def _reach(graph: Graph, start: str) -> frozenset[str]:
    reached: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return frozenset(reached)


def _read_module(folder: Path, path: Path) -> Module:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    is_init = parts[-1] == "__init__"
    return Module(name=".".join(parts[:-1] if is_init else parts), is_init=is_init, text=path.read_text("utf-8"))
