"""Reads the files that a config is made of: its own text, and those that it includes, each once.

Acts on these files only. An included file has `tables`, and may include further ones; every path starts at the folder of
the main config, wherever it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.layers import Node, PlacedProblem, ValueOrigin, read_node
from hudi_reconcile.config.problems import UNKNOWN_KEY, shorten
from hudi_reconcile.config.secrets import read_small
from hudi_reconcile.config.yaml_document import LARGEST_BYTES, Document, read_document
from hudi_reconcile.core.errors import ConfigError, suggest_name

_WHERE = "name the config with -c FILE, or write one: hudi-reconcile init"
_LEGAL = ("version", "include", "tables")
Fill = Callable[[str], str | None]


def read_text(path: Path, *, what: str = "config file", shown: str | None = None, fix: str = _WHERE) -> str:
    """The text of a file that people write, or of a pipe; at most a little over what `read_document` takes.

    Raises:
        ConfigError: it cannot be read, is no file (see `read_small`), or is not UTF-8.
    """
    name = shown or str(path)
    try:
        return read_small(path, LARGEST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError((f"{name}: there is no such {what}",), fix=fix) from None
    except OSError as error:
        raise ConfigError((f"{name}: cannot be read: {error.strerror}",), fix=fix) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError((f"{name}:{line}: is not UTF-8 text",), fix="save the file as UTF-8") from None
    except ValueError:  # a NUL, or what is no character
        raise ConfigError((f"{name!a}: no file has such a name",), fix=fix) from None


def read_included(main: Node, place: Place, fill: Fill) -> Included:
    """The tables of every file that a config includes, in the order of their names in it, and all that is wrong with them.

    `fill` gives a path with its references filled in; None where it cannot, which is told elsewhere.
    """
    included_files = Included(place, fill)
    included_files.known[_identity(place.folder / Path(place.file).name)] = ValueOrigin(place.file, 0, 1)
    included_files.read(main.branches.get("include"))
    return included_files


@dataclass(slots=True)
class Included:
    """What was read: tables, problems, and which files are known already."""

    place: Place
    fill: Fill
    tables: list[Node] = field(default_factory=list)
    problems: list[PlacedProblem] = field(default_factory=list)
    known: dict[Path, ValueOrigin] = field(default_factory=dict)

    def read(self, listed: Node | None) -> None:
        """Read the files of a list; what each of them includes comes right after it."""
        waiting = list(() if listed is None else listed.items)
        while waiting:
            entry = waiting.pop(0)
            name = self.fill(entry.value) if isinstance(entry.value, str) and entry.value.strip() else None
            root = None if name is None else self._file(entry.origin, name)
            if root is not None:
                self._take(root)
                waiting[:0] = self._further(root)

    def _file(self, origin: ValueOrigin, name: str) -> Node | None:
        """The values of a file; None where it cannot be read, or was read before."""
        path = self.place.folder / name
        first = self.known.get(_identity(path))
        if first is not None:
            self._refuse(origin, f"{shorten(name)} is read already ({first.file}); a file is included once")
            return None
        shown = str(Path(self.place.file).parent / name)
        rank = len(self.known)
        self.known[_identity(path)] = ValueOrigin(shown, rank, 1)
        try:
            document = read_document(read_text(path, what="included file", shown=shown))
        except ConfigError as error:
            self._refuse(origin, error.message)
            return None
        self.problems += [
            PlacedProblem(ValueOrigin(shown, rank, problem.line, problem.location), problem.text)
            for problem in document.problems
        ]
        return None if document.values is None and document.problems else self._read_mapping(document, shown, rank)

    def _read_mapping(self, document: Document, file: str, rank: int) -> Node | None:
        """The mapping of an included file; what else it holds is told."""
        root = read_node(document, file, rank)
        if not isinstance(document.values, dict):
            self._refuse(root.origin, "expected a mapping with `tables:`, a list as in the config")
            return None
        for key, node in root.branches.items():
            if key not in _LEGAL:
                legal = f"(legal in an included file: {', '.join(_LEGAL)})"
                self._refuse(node.origin, f"{UNKNOWN_KEY}{suggest_name(key.lower(), _LEGAL)} {legal}")
        version = root.branches.get("version")
        if version is not None and (type(version.value) is not int or version.value != 1):
            self._refuse(version.origin, "this release knows version 1 only")
        return root

    def _take(self, root: Node) -> None:
        tables = root.branches.get("tables")
        if tables is not None and not isinstance(tables.value, list):
            self._refuse(tables.origin, "expected a list, such as [a, b]")
        self.tables += () if tables is None else tables.items

    def _further(self, root: Node) -> list[Node]:
        listed = root.branches.get("include")
        if listed is None:
            return []
        if not isinstance(listed.value, list):
            self._refuse(listed.origin, "expected a list, such as [a, b]")
        for node in listed.items:
            if not isinstance(node.value, str) or not node.value.strip():
                self._refuse(node.origin, "expected text, a path")
        return list(listed.items)

    def _refuse(self, origin: ValueOrigin, text: str) -> None:
        self.problems.append(PlacedProblem(origin, text))


# --- helpers ---


def _identity(path: Path) -> Path:
    """The file behind a path, by whatever name."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
