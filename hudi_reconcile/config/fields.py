"""The field types that sections of the config share, and the base that reports every problem of a section at once.

Decides what one value may look like. It knows no section and reads no file; relative paths are set against the folder
that the loader passes as validation context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    PlainSerializer,
    Strict,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from hudi_reconcile.config.numbers import Written, exact_number
from hudi_reconcile.config.scalars import (
    DURATION_PATTERN,
    SHARE_PATTERN,
    format_duration,
    format_share,
    parse_duration,
    parse_share,
)
from hudi_reconcile.config.secrets import Secret, Template

Location = tuple[str | int, ...]
Finding = tuple[Location, str]
_Items = TypeVar("_Items", bound=tuple[object, ...])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a config was read from: the file's name as people typed it, and the folder that relative paths start at."""

    file: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Raw:
    """A mapping as YAML gave it, for rules between keys; values of a wrong type look absent."""

    values: Mapping[str, object]
    folder: Path = Path()

    def get(self, key: str) -> object:
        """Whatever stands under a key, None where nothing does."""
        return self.values.get(key)

    def section(self, key: str) -> Raw:
        """The mapping under a key; an empty one where something else stands there."""
        value = self.values.get(key)
        return Raw(value if isinstance(value, Mapping) else {}, self.folder)

    def sections(self, key: str) -> tuple[Raw, ...]:
        """One mapping for each entry of the list under a key, empty ones for entries that are none."""
        value = self.values.get(key)
        entries = value if isinstance(value, list | tuple) else ()
        return tuple(Raw(entry if isinstance(entry, Mapping) else {}, self.folder) for entry in entries)

    def keys(self, key: str) -> tuple[str, ...]:
        """The keys of the mapping under a key."""
        return tuple(self.section(key).values)

    def text(self, key: str) -> str | None:
        """The text under a key."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of the list under a key."""
        value = self.values.get(key)
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


class Section(BaseModel):
    """A mapping of the config: frozen, strict, no unknown keys, rules between keys reported beside wrong values."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        validate_default=True,
        hide_input_in_errors=True,
        arbitrary_types_allowed=True,
        allow_inf_nan=False,
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:  # noqa: ARG003 - most sections have no such rule
        """Problems between keys, each with its place below this section."""
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _everything_at_once(cls, raw: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        folder = info.context.folder if isinstance(info.context, Place) else Path()
        found = [
            InitErrorDetails(type=PydanticCustomError("rule", "{text}", {"text": text}), loc=location, input=None)
            for location, text in (cls.cross_findings(Raw(raw, folder)) if isinstance(raw, Mapping) else ())
        ]
        try:
            built = handler(raw)
        except ValidationError as error:
            raise ValidationError.from_exception_data(cls.__name__, [*_details(error), *found]) from error
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return built


def _details(error: ValidationError) -> Iterator[InitErrorDetails]:
    for line in error.errors(include_url=False, include_context=False, include_input=False):
        yield InitErrorDetails(
            type=PydanticCustomError("rule", "{text}", {"text": line["msg"].removeprefix("Value error, ")})
            if line["type"] in ("value_error", "rule")
            else PydanticCustomError(line["type"], "{text}", {"text": line["msg"]}),
            loc=line["loc"],
            input=None,
        )


# --- field types ---


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    return parse_duration(value if isinstance(value, str) else "")


def _more_than_nothing(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("must be longer than 0s")
    return value


def _share(value: object) -> Decimal:
    if isinstance(value, Decimal) and 0 <= value <= 1:
        return value
    return parse_share(value if isinstance(value, str | float | int) and not isinstance(value, bool) else "")


def option_text(value: object) -> object:
    """A flag or a number as the text that it is passed on as; anything else as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # An option is text: every digit counts, and no float has all of them.
        exact = exact_number(value)
        return str(exact) if isinstance(value, Written) else str(value)
    return str(value) if isinstance(value, int) else value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", value):
        raise ValueError("holds a control character")
    return value


def _a_name(value: str) -> str:
    if not value.strip() or "\0" in value:
        raise ValueError("must not be empty, and no database has names with a NUL")
    return value


def local_path(value: object, info: ValidationInfo) -> object:
    """A path of this machine, from the config's folder on. Raises ValueError: blank, or starts with `~`."""
    if isinstance(value, Path):
        return info.context.folder / value if isinstance(info.context, Place) else value
    if not isinstance(value, str):
        return value
    if not value.strip() or "\0" in value:
        raise ValueError("not a path")
    if value.startswith("~"):
        raise ValueError("~ is not expanded; write the path in full")
    return info.context.folder / value if isinstance(info.context, Place) else Path(value)


def not_empty(values: _Items) -> _Items:
    """Refuse an empty list. Not `min_length`, which counts only the entries that are valid."""
    if not values:
        raise ValueError("must have at least one entry")
    return values


def _no_repeats(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) < len(values):
        raise ValueError("holds an entry twice")
    return values


def secret_of(value: object, info: ValidationInfo, key: str) -> object:
    """A text as a secret that is filled in when it is needed; `key` is where people look for it."""
    if not isinstance(value, str):
        return value
    place = info.context if isinstance(info.context, Place) else Place("config", Path())
    return Secret(Template.parse(value), f"{place.file}: {key}", place.folder)


# YAML has lists only; what is frozen holds tuples.
LAX = Strict(strict=False)

Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "examples": ["500ms", "30s", "10m", "2h", "7d"]}),
]
PositiveDuration = Annotated[Duration, AfterValidator(_more_than_nothing)]
Share = Annotated[
    Decimal,
    BeforeValidator(_share),
    PlainSerializer(format_share, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": SHARE_PATTERN, "examples": ["0.1%", "5%"]},
                {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
            ]
        }
    ),
]
Text = Annotated[str, StringConstraints(min_length=1), AfterValidator(_not_blank)]
# What a table or column is called at the source: databases allow control characters in it ("a\x1bb" in YAML).
SourceName = Annotated[str, StringConstraints(min_length=1), AfterValidator(_a_name)]
Names = Annotated[tuple[SourceName, ...], LAX, AfterValidator(_no_repeats)]
SomeNames = Annotated[Names, AfterValidator(not_empty)]
OptionText = Annotated[
    str,
    BeforeValidator(option_text),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Options = dict[Text, OptionText]
LocalPath = Annotated[
    Path,
    BeforeValidator(local_path),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "minLength": 1}),
]
