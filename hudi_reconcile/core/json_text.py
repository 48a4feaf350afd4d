"""JSON that other programs wrote, as values: it may be of any shape. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any


def json_of(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: no JSON, an integer of more digits than Python reads, or nested deeper than it can follow.

    >>> json_of('{"a": [1]}')
    {'a': [1]}
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def avro_fields(schema: str) -> Iterator[tuple[str, list[Any]]]:
    """The fields of an Avro record schema, each with the types of its union; nothing of a text that is none.

    >>> list(avro_fields('{"fields": [{"name": "a", "type": ["null", "int"]}, {"name": "b", "type": "string"}, 3]}'))
    [('a', ['null', 'int']), ('b', ['string'])]
    """
    document: Any = None
    with suppress(ValueError):  # then nothing is known of any field
        document = json_of(schema)
    fields = document.get("fields") if isinstance(document, dict) else None
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict) and isinstance(field.get("name"), str) and "type" in field:
            types = field["type"]
            yield field["name"], types if isinstance(types, list) else [types]
