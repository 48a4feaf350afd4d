"""A document's leaves as rows of a table: what, and its text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_WORDS = {"sql": "SQL", "jdbc": "JDBC", "url": "URL", "utc": "UTC", "id": "id", "sha256": "sha256", "t": "T", "s": "S"}
_CODE = ("sql", "statement", "query", "sha256", "snapshot", "instant", "plan_id", "digest", "jars", "conf")


@dataclass(frozen=True, slots=True)
class Fact:
    """One row: what, and its text. `code` is set in a fixed-width face with its lines kept."""

    label: str
    text: str
    code: bool = False


def list_facts(document: Mapping[str, Any], *, prefix: str = "") -> Iterator[Fact]:
    """The leaves of a document in its order; lists of texts are numbered, empty values left out."""
    for name, value in document.items():
        yield from _facts(f"{prefix}{name}", value)


def spell_label(path: str) -> str:
    """A field's path in words.

    >>> spell_label("spark_version"), spell_label("jars/postgresql-42.7.jar")
    ('Spark version', 'Jars: postgresql-42.7.jar')
    """
    head, *below = path.split("/", 1)
    words = " ".join(_WORDS.get(word, word) for word in head.split("_"))
    first = words[:1].upper() + words[1:]
    return f"{first}: {below[0]}" if below else first


def _facts(path: str, value: Any) -> Iterator[Fact]:
    if value is None or value in ("", [], {}):
        return
    if isinstance(value, Mapping):
        yield from list_facts(value, prefix=f"{path}/")
    elif isinstance(value, (list, tuple)):
        value = [
            "\n".join(f"{name} {part}" for name, part in item.items()) if isinstance(item, Mapping) else item
            for item in value
        ]
        for number, item in enumerate(value, start=1):
            yield from _facts(f"{path}/{number}" if len(value) > 1 else path, item)
    else:
        text = str(value)
        yield Fact(spell_label(path), text, code="\n" in text or any(word in path.lower() for word in _CODE))
