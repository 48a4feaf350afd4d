"""PURE: values that know where they were written, merged layer by layer, and the problems of the whole, each at its own place.

It knows no key of the config. A layer lies over another: mappings are merged key by key, anything else is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hudi_reconcile.config.fields import Location
from hudi_reconcile.config.problems import FIX, MOST_SHOWN, key_text, shorten
from hudi_reconcile.config.yaml_document import Document, Problem
from hudi_reconcile.core.errors import ConfigError

# More lines than a file of 1 MiB has, so that a file's rank and a line make one number.
_LINES = 10_000_000
# The rank of what a call sets: after every file, and without lines.
CALL_RANK = 1_000_000


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Where a value was written: the file as people know it, its rank among the files, line and key there."""

    file: str
    rank: int
    line: int
    location: Location = ()

    @property
    def order(self) -> int:
        """Files by their rank, lines of a file by their number."""
        return self.rank * _LINES + self.line

    def enter(self, location: Location) -> ValueOrigin:
        """The same line, of a key below this one."""
        return ValueOrigin(self.file, self.rank, self.line, (*self.location, *location))

    def __str__(self) -> str:
        key = shorten(key_text(self.location))
        if self.rank == CALL_RANK:
            return f"{self.file} {key}"
        return f"{self.file}:{self.line}: {key}" if key else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Node:
    """A scalar, a mapping of nodes or a list of nodes, and where it was written."""

    value: object
    origin: ValueOrigin

    @property
    def branches(self) -> Mapping[str, Node]:
        """The nodes of a mapping by key; none where it is something else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """The nodes of a list; none where it is something else."""
        return tuple(self.value) if isinstance(self.value, list) else ()

    def text(self, key: str) -> str | None:
        """The text under a key of a mapping."""
        node = self.branches.get(key)
        return node.value if node is not None and isinstance(node.value, str) else None

    def put(self, key: str, node: Node) -> Node:
        """The mapping with this node under a key."""
        return Node({**self.branches, key: node}, self.origin)

    def drop(self, key: str) -> Node:
        """The mapping without a key."""
        return Node({name: node for name, node in self.branches.items() if name != key}, self.origin)


def read_node(document: Document, file: str, rank: int) -> Node:
    """The values of a document, each with its line."""
    return build_node(document.values, lambda here: ValueOrigin(file, rank, document.find_line(here), here))


def build_node(value: object, locate: Callable[[Location], ValueOrigin], here: Location = ()) -> Node:
    """Plain values as nodes; `locate` gives the origin of each key below."""
    if isinstance(value, Mapping):
        return Node({key: build_node(member, locate, (*here, key)) for key, member in value.items()}, locate(here))
    if isinstance(value, list | tuple):
        return Node([build_node(member, locate, (*here, index)) for index, member in enumerate(value)], locate(here))
    return Node(value, locate(here))


def merge(under: Node, over: Node, *, is_own: bool = False) -> Node:
    """`over` on `under`, mappings key by key.

    What a merged mapping lacks is lacking where that mapping was written: where the lower one was, as the profile lies over
    the file, or, with `is_own`, where the upper one was, as a table's own keys lie over the defaults of all tables.
    """
    if not (isinstance(under.value, dict) and isinstance(over.value, dict)):
        return over
    merged = dict(under.value)
    for key, node in over.value.items():
        merged[key] = merge(merged[key], node, is_own=is_own) if key in merged else node
    return Node(merged, over.origin if is_own else under.origin)


@dataclass(frozen=True, slots=True)
class PlacedProblem:
    """One thing wrong at the place where it was written. `tables` are those that have it from elsewhere."""

    origin: ValueOrigin
    text: str
    tables: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(self.tables[:_TABLES_SHOWN])
        more = f" and {len(self.tables) - _TABLES_SHOWN:,} more" if len(self.tables) > _TABLES_SHOWN else ""
        plural = "s" if len(self.tables) > 1 else ""
        return f"{self.origin}: {self.text}" + (f" (table{plural} {shown}{more})" if self.tables else "")


_TABLES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Layered:
    """A merged config as plain values, and the origin of each of them. `inherits` is true of what is shared by tables."""

    document: Document
    origins: Mapping[Location, ValueOrigin]
    inherits: Callable[[ValueOrigin], bool]

    def place(self, problem: Problem) -> PlacedProblem:
        """The problem where it was written. What is missing is missing in the nearest section that is not inherited."""
        location = problem.location
        origin = self.origins.get(location)
        if origin is not None:
            return PlacedProblem(origin, problem.text, self._table(location) if self.inherits(origin) else ())
        for end in range(len(location) - 1, -1, -1):
            origin = self.origins.get(location[:end])
            if origin is not None and (not self.inherits(origin) or location[:1] != ("tables",)):
                return PlacedProblem(origin.enter(location[end:]), problem.text)
        return PlacedProblem(self.origins[()].enter(location), problem.text)

    def _table(self, location: Location) -> tuple[str, ...]:
        """The name of the table that a location lies in."""
        if location[:1] != ("tables",):
            return ()
        name = self.document.find_value((*location[:2], "name"))
        return (name if isinstance(name, str) else key_text(location[:2]),)


def flatten(root: Node, inherits: Callable[[ValueOrigin], bool]) -> Layered:
    """The plain values of a tree, the order of each, and its origin."""
    origins: dict[Location, ValueOrigin] = {}
    values = _plain(root, (), origins)
    document = Document(values, {location: origin.order for location, origin in origins.items()})
    return Layered(document, origins, inherits)


def layered_error(problems: Iterable[PlacedProblem]) -> ConfigError:
    """All problems as one error, in the order of files and lines, each once; `MOST_SHOWN` in words."""
    tables_by_problem: dict[tuple[ValueOrigin, str], dict[str, None]] = {}
    texts: dict[ValueOrigin, str] = {}
    for problem in sorted(problems, key=lambda entry: not entry.text):
        # One without a sentence is beyond what is shown, unless its place has one.
        text = texts.setdefault(problem.origin, problem.text) if not problem.text else problem.text
        texts.setdefault(problem.origin, text)
        tables_by_problem.setdefault((problem.origin, text), {}).update(dict.fromkeys(problem.tables))
    merged = (PlacedProblem(origin, text, tuple(tables)) for (origin, text), tables in tables_by_problem.items())
    ordered = sorted(merged, key=lambda entry: (not entry.text, entry.origin.order))
    lines = dict.fromkeys(str(entry) for entry in ordered[:MOST_SHOWN])
    return ConfigError(tuple(lines), fix=FIX, more=max(0, len(ordered) - MOST_SHOWN))


# --- helpers ---


def _plain(node: Node, here: Location, origins: dict[Location, ValueOrigin]) -> object:
    origins[here] = node.origin
    if isinstance(node.value, dict):
        return {key: _plain(child, (*here, key), origins) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(child, (*here, index), origins) for index, child in enumerate(node.value)]
    return node.value
