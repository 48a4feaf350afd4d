"""PURE: sections of which any key may be missing: what `defaults` and `profiles` may say, derived from the sections themselves.

A partial section checks each value that is there as the whole one does, and knows the same keys. Rules between keys wait
for the whole, since what one layer lacks another may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, get_args

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema

from hudi_reconcile.config.fields import Location, Section

_NOTHING: frozenset[Location] = frozenset()


class PartialSection(Section):
    """Base of all of them. Keys that are not there are None."""

    model_config: ClassVar[ConfigDict] = ConfigDict(validate_default=False)


@dataclass(frozen=True, slots=True)
class Partial:
    """An annotation: what stands here is a part of that section."""

    whole: type[Section]
    required: frozenset[str] = frozenset()
    without: frozenset[Location] = _NOTHING

    @property
    def model(self) -> type[Section]:
        """The partial section."""
        return _derive(self.whole, self.required, self.without)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.model)


def find_section(annotation: object, metadata: Sequence[object] = ()) -> type[Section] | None:
    """The section that a field holds, alone, in a list or as the values of a mapping; None where it holds none."""
    for marker in metadata:
        if isinstance(marker, Partial):
            return marker.model
    parts = get_args(annotation)
    for part in parts:
        if isinstance(part, Partial):
            return part.model
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next((section for part in parts if (section := find_section(part))), None)


# --- helpers ---


@lru_cache
def _derive(model: type[Section], required: frozenset[str], without: frozenset[Location]) -> type[Section]:
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if (name,) in without:
            continue
        below = frozenset(location[1:] for location in without if location[0] == name)
        kind: Any = _part(field.annotation, below)
        if field.metadata:
            kind = Annotated[(kind, *field.metadata)]
        said = field.description
        value = Field(description=said) if name in required else Field(default_factory=_nothing, description=said)
        fields[name] = (kind, value)
    prefix = "Shared" if without else "Partial"
    section: type[Section] = create_model(f"{prefix}{model.__name__}", __base__=PartialSection, **fields)
    return section


def _part(annotation: Any, without: frozenset[Location]) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return _derive(annotation, frozenset(), without)
    section = next(
        (part for part in get_args(annotation) if isinstance(part, type) and issubclass(part, Section)), None
    )
    return annotation if section is None else _derive(section, frozenset(), without) | None


def _nothing() -> None:
    return None
