"""PURE: YAML text as plain values with the line of every key.

Refuses what a config has no use for, and what could hurt: tags, anchors and aliases, several documents, deep nesting,
duplicate keys, a very large text. It knows YAML and no key of the config. Messages repeat nothing of the file but keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    NodeEvent,
)
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hudi_reconcile.config.fields import Location
from hudi_reconcile.config.numbers import number_of

LARGEST_BYTES = 1_048_576
_DEEPEST = 20
_PLAIN_TAGS = ("null", "bool", "int", "float")

# What YAML's scalars become; texts that look like dates stay texts, since no key takes a date.
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: the line (1 is the first), the key's place in the config, and what to do."""

    line: int
    location: Location
    text: str


@dataclass(slots=True)
class Document:
    """What a config file says: its values, the line of each of them, and what is wrong with the text as YAML."""

    values: object = None
    lines: dict[Location, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line_of(self, location: Location) -> int:
        """The line of a key, or of the nearest section around one that is not there."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def value_at(self, location: Location) -> object:
        """The value as written; None where there is none."""
        here = self.values
        for step in location:
            match here, step:
                case Mapping(), str():
                    here = here.get(step)
                case list(), int() if step < len(here):
                    here = here[step]
                case _:
                    return None
        return here


def read_document(text: str) -> Document:
    """The document of a YAML text. Where the text cannot be taken at all, `values` is None and `problems` says why."""
    document = Document()
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_BYTES:
        document.problems.append(Problem(1, (), "is larger than 1 MiB; no config is"))
        return document
    reader = YAML(typ="safe", pure=True)
    try:
        document.problems.extend(_refusals(reader.parse(text)))
        root = None if document.problems else YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = f"is not YAML: {error.problem or error.context}"
        document.problems.append(Problem(1 if mark is None else mark.line + 1, (), why))
        return document
    except YAMLError:
        document.problems.append(Problem(1, (), "is not YAML: it holds a character that text may not hold"))
        return document
    if isinstance(root, Node):
        document.values = _value(document, root, (), reader)
    elif not document.problems:
        document.problems.append(Problem(1, (), "is empty; `hudi-reconcile init` writes a config to start from"))
    return document


# --- helpers ---


def _refusals(events: Iterable[Event]) -> list[Problem]:
    found: list[Problem] = []
    depth, documents_seen = 0, 0
    for event in events:
        line = event.start_mark.line + 1
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if isinstance(event, DocumentStartEvent):
            if documents_seen:
                found.append(Problem(line, (), "another document starts here; a config is one document"))
            documents_seen += 1
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
            found.append(
                Problem(line, (), "anchors and aliases (& and *) are not allowed; quote a text that starts so")
            )
        elif isinstance(event, NodeEvent) and getattr(event, "tag", None) is not None:
            found.append(Problem(line, (), "tags (!) are not allowed; quote a text that starts so"))
        if depth > _DEEPEST:
            found.append(Problem(line, (), f"is nested deeper than {_DEEPEST} levels"))
            break
    return found


def _value(document: Document, node: Node, location: Location, reader: YAML) -> object:
    document.lines.setdefault(location, node.start_mark.line + 1)
    if isinstance(node, MappingNode):
        return _mapping(document, node, location, reader)
    if isinstance(node, SequenceNode):
        return [_value(document, item, (*location, index), reader) for index, item in enumerate(node.value)]
    return _scalar(node, reader)


def _mapping(document: Document, node: MappingNode, location: Location, reader: YAML) -> dict[str, object]:
    values: dict[str, object] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, ScalarNode):
            document.problems.append(Problem(line, location, "a key must be a plain word"))
            continue
        key = str(key_node.value)
        here = (*location, key)
        if key in values:
            document.problems.append(Problem(line, here, f"is given twice, first on line {document.lines[here]}"))
            continue
        document.lines[here] = line
        values[key] = _value(document, value_node, here, reader)
    return values


def _scalar(node: Node, reader: YAML) -> Scalar:
    tag = str(node.tag).removeprefix("tag:yaml.org,2002:")
    if tag not in _PLAIN_TAGS:
        return str(node.value)
    value: Scalar = reader.constructor.construct_object(node)
    return number_of(str(node.value), value) if isinstance(value, float) else value
