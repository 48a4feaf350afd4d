"""PURE: every key of the config as a page: type, default, meaning, and the version that it came with; made of the model itself.

`python -m hudi_reconcile.config.reference > docs/configuration.md` writes the page; a test holds the two together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, cast

from pydantic.fields import FieldInfo

from hudi_reconcile.config.fields import Section, format_duration, format_share
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.partial import find_section

FIRST_VERSION = "0.1.0"  # of every key that names no other: Field(…, json_schema_extra={"since": "0.2.0"})
_LAYERS = ("defaults", "profiles")  # whose keys are those of the sections that they stand for
_HEAD = """\
# Every key of the config

Made of the tool's own model, by `python -m hudi_reconcile.config.reference > docs/configuration.md`. `hudi-reconcile init` writes
a config that shows every key, `hudi-reconcile config schema` prints the JSON Schema for editors, and `hudi-reconcile config show`
your config with every default.

Wherever a text is due, `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}` may stand; `$${` is a plain `${`. Durations:
`500ms 30s 10m 2h 7d`. Shares: `0.1%`. A key that is not here is an error that names the nearest one.
"""


def reference_page() -> str:
    """The page, sections in the order of the model."""
    return _HEAD + "".join(f"\n## {title}\n\n{text}" for title, text in _sections(Config, ""))


def key_paths(section: type[Section] = Config, place: str = "") -> Iterator[str]:
    """Every key by its dotted path, `[]` after a list, outer ones first; of layers the key alone."""
    for name, field in section.model_fields.items():
        path = f"{place}{name}"
        yield path
        inner = find_section(field.annotation, field.metadata)
        if inner is not None and name not in _LAYERS:
            yield from key_paths(inner, f"{path}{_mark_list(field)}.")


# --- helpers ---


def _sections(section: type[Section], place: str) -> Iterator[tuple[str, str]]:
    properties = section.model_json_schema(mode="validation")["properties"]
    fields = section.model_fields.items()
    yield (
        f"`{place}`" if place else "The file",
        (f"{section.__doc__}\n\n" if place else "")
        + "| key | type | default | meaning | since |\n|---|---|---|---|---|\n"
        + "".join(_row(name, field, properties[name]) for name, field in fields),
    )
    for name, field in fields:
        inner = find_section(field.annotation, field.metadata)
        if inner is not None and name not in _LAYERS:
            yield from _sections(inner, f"{place}.{name}{_mark_list(field)}".lstrip("."))


def _row(name: str, field: FieldInfo, schema: Mapping[str, Any]) -> str:
    inner = find_section(field.annotation, field.metadata)
    kind = (
        _type(schema) if inner is None or name in _LAYERS else ("list of mappings" if _mark_list(field) else "mapping")
    )
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    cells = (f"`{name}`", kind, _default(field), field.description or "", str(extra.get("since", FIRST_VERSION)))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _mark_list(field: FieldInfo) -> str:
    return "[]" if "tuple" in str(field.annotation) else ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return "by other keys" if field.annotation is not None and not _is_section(field) else ""
    default = field.default
    if isinstance(default, Section) or _is_section(field):
        return "" if default is not None else "`null`"
    return f"`{_plain(default)}`"


def _is_section(field: FieldInfo) -> bool:
    return find_section(field.annotation, field.metadata) is not None


def _plain(value: object) -> str:
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, Decimal):
        return format_share(value)
    if value is None or isinstance(value, bool | int | list | tuple | dict):
        return json.dumps(value).replace('"', "")
    return str(value)


def _type(schema: Mapping[str, Any]) -> str:
    """The type in words, of its JSON Schema."""
    if "anyOf" in schema:
        kinds = [_type(variant) for variant in schema["anyOf"]]
        return kinds[0] if kinds[:1] == ["share"] else " or ".join(kinds)
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema['items'])}"
        case "object" | None:
            inner = schema.get("additionalProperties")
            is_open = isinstance(inner, dict) and "$ref" not in inner
            return f"mapping to {_type(cast('Mapping[str, Any]', inner))}" if is_open else "mapping"
        case "integer" | "number" as kind:
            least = f" from {schema['minimum']} up" if "minimum" in schema else ""
            return ("whole number" if kind == "integer" else "number") + least
        case list():
            return "text"
        case kind:
            return _name_text_type(schema, str(kind))


def _name_text_type(schema: Mapping[str, Any], kind: str) -> str:
    pattern = str(schema.get("pattern", ""))
    if pattern.endswith("(ms|s|m|h|d)$"):
        return "duration"
    if pattern.endswith("%$"):
        return "share"
    return {"string": "text", "boolean": "`true`, `false`", "null": "`null`"}.get(kind, kind)


if __name__ == "__main__":
    print(reference_page(), end="")  # noqa: T201 - what the page is made with
