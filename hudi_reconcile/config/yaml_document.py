"""PURE: YAML text as plain values with the line of every key.

Refuses what a config has no use for, and what could hurt: tags, anchors and aliases, several documents, deep nesting,
duplicate keys, a very large text, very many values. It knows YAML and no key of the config. Messages repeat nothing of
the file but keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from hudi_reconcile.config.fields import AmbiguousError, Location, Scalar, parse_scalar

LARGEST_BYTES = 1_048_576
MOST_VALUES = 100_000
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: the line (1 is the first), the key's place in the config, and what to do."""

    line: int
    location: Location
    text: str


@dataclass(slots=True)
class Document:
    """What a config file says: its values, the line of each of them, and what is wrong with the text as YAML.

    `place` is the section that locations start at.
    """

    values: object = None
    lines: dict[Location, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    place: Location = ()

    def enter(self, place: Location) -> Document:
        """The same document, its locations starting at a section."""
        return Document(self.values, self.lines, self.problems, (*self.place, *place))

    def is_given(self, location: Location) -> bool:
        """True where the file has the key."""
        return (*self.place, *location) in self.lines

    def find_line(self, location: Location) -> int:
        """The line of a key, or of the nearest section around one that is not there."""
        location = (*self.place, *location)
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def find_value(self, location: Location) -> object:
        """The value as written; None where there is none."""
        here = self.values
        for step in (*self.place, *location):
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
    reader = _Reader(document)
    try:
        reader.read(text)
    except _EndError:
        pass
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = f"is not YAML: {error.problem or error.context}"
        reader.refuse(1 if mark is None else mark.line + 1, why)
    except YAMLError:
        reader.refuse(1, "is not YAML: it holds a character that text may not hold")
    if reader.refused:
        document.values = None
        document.problems[:] = reader.refused
    return document


# --- helpers ---


class _EndError(Exception):
    """What follows is not read: it would cost more than it could tell."""


class _Reader:
    """Makes values of the parser's events, each looked at once. `refused` is what makes the whole text useless."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._yaml = YAML(typ="safe", pure=True)
        self._events: Iterator[Event] = iter(())
        self._values_seen = 0
        self.refused: list[Problem] = []

    def read(self, text: str) -> None:
        self._events = self._yaml.parse(text)
        documents_seen = 0
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                documents_seen += 1
                if documents_seen > 1:
                    why = "another document starts here; a config is one document"
                    self.refuse(event.start_mark.line + 1, why)
                    raise _EndError
            elif isinstance(event, NodeEvent):
                self._document.values = self._value(event, ())
        if not documents_seen:
            self.refuse(1, "is empty; `hudi-reconcile init` writes a config to start from")

    def refuse(self, line: int, why: str) -> None:
        self.refused.append(Problem(line, (), why))

    def _value(self, event: Event, location: Location) -> object:
        line = event.start_mark.line + 1
        self._document.lines.setdefault(location, line)
        self._count(event, line)
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            if len(location) >= _DEEPEST:
                self.refuse(line, f"is nested deeper than {_DEEPEST} levels")
                raise _EndError
            return self._mapping(location) if isinstance(event, MappingStartEvent) else self._list(location)
        return self._scalar(event, location) if isinstance(event, ScalarEvent) else None

    def _count(self, event: Event, line: int) -> None:
        self._values_seen += 1
        if self._values_seen > MOST_VALUES:
            self.refuse(line, f"holds more than {MOST_VALUES:,} keys and values; no config does")
            raise _EndError
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
            self.refuse(line, "anchors and aliases (& and *) are not allowed; quote a text that starts so")
        elif getattr(event, "tag", None) is not None:
            self.refuse(line, "tags (!) are not allowed; quote a text that starts so")

    def _list(self, location: Location) -> list[object]:
        values: list[object] = []
        for event in self._events:
            if isinstance(event, SequenceEndEvent):
                break
            values.append(self._value(event, (*location, len(values))))
        return values

    def _mapping(self, location: Location) -> dict[str, object]:
        document, values = self._document, dict[str, object]()
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            line = event.start_mark.line + 1
            if not isinstance(event, ScalarEvent):
                document.problems.append(Problem(line, location, "a key must be a plain word"))
                self._value(event, (*location, ""))
                self._value(next(self._events), (*location, ""))
                continue
            self._count(event, line)
            key = str(event.value)
            here = (*location, key)
            if key in values:
                document.problems.append(Problem(line, here, f"is given twice, first on line {document.lines[here]}"))
                self._value(next(self._events), here)
                continue
            document.lines[here] = line
            values[key] = self._value(next(self._events), here)
        return values

    def _scalar(self, event: ScalarEvent, location: Location) -> Scalar:
        text = str(event.value)
        if not event.implicit[0]:  # in quotes, or a block
            return text
        try:
            return parse_scalar(text)
        except AmbiguousError as error:
            self._document.problems.append(Problem(event.start_mark.line + 1, location, str(error)))
            return None
