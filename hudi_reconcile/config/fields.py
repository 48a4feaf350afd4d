"""The field types that sections of the config share, and the base that reports every problem of a section at once.

Decides what one value may look like. It knows no section and reads no file; relative paths are set against the folder
that the loader passes as validation context. Messages of fields never repeat the text that they refuse: it may have come
from a secret. PURE: durations (`500ms 30s 10m 2h 7d`) and shares (`0.1%`), both ways, and plain scalars as YAML 1.2's core
schema reads them, to the last digit, with digits in groups of three (`1_000`), which people write and YAML 1.1 knew.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
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

from hudi_reconcile.config.secrets import HIDDEN, Secret, Template
from hudi_reconcile.core.errors import UsageError

DURATION_PATTERN = r"^[0-9]{1,9}(ms|s|m|h|d)$"
SHARE_PATTERN = r"^[0-9]{1,3}(\.[0-9]{1,9})?%$"

_UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_LONGEST = timedelta(days=36_500)


def parse_duration(text: str) -> timedelta:
    """The duration of a text such as `30s`. ValueError: no whole number with one of the units, or longer than 36500 days.

    >>> parse_duration("10m").total_seconds()
    600.0
    """
    match = re.fullmatch(DURATION_PATTERN, text, re.ASCII)
    if match is None:
        raise ValueError("not a duration; write a whole number and a unit: 500ms 30s 10m 2h 7d")
    unit = match.group(1)
    count = int(text[: -len(unit)])
    if count > _LONGEST // _UNITS[unit]:
        raise ValueError("longer than 36500d")
    return count * _UNITS[unit]


def duration_given(name: str, text: str) -> timedelta:
    """The duration that an option or argument of this name was given. Raises UsageError for another text."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{name} {text!r}: {error}", fix=f"for example {name} 10m") from None


def format_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back as the same duration; whole milliseconds only."""
    for unit, size in _UNITS.items():
        if duration and duration % size == timedelta(0):
            return f"{duration // size}{unit}"
    if duration:
        raise ValueError(f"not a whole number of milliseconds: {duration!r}")
    return "0s"


def parse_share(value: str | float) -> Decimal:
    """A share as a fraction between 0 and 1: `5%` is 0.05. A bare number is a fraction below 1.

    Bare numbers from 1 up are refused, since `1` may have been meant as 1% or as 100%.

    Raises:
        ValueError: not a share, or outside 0% to 100%.
    """
    if isinstance(value, str):
        if re.fullmatch(SHARE_PATTERN, value, re.ASCII) is None:
            raise ValueError("not a share; write a percentage: 0.1% 5% 100%")
        fraction = Decimal(value[:-1]) / 100
        if fraction > 1:
            raise ValueError("more than 100%")
        return fraction
    fraction = Decimal(value) if type(value) is int else plain_number(value)
    if not 0 <= fraction < 1:
        raise ValueError("not a share; write a percentage: 0.1% 5% 100%")
    return fraction


def format_share(fraction: Decimal) -> str:
    """The percentage that `parse_share` reads back as the same fraction."""
    return f"{(fraction * 100).normalize():f}%"


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

    def __repr__(self) -> str:  # no value: what a reference stands for is in no repr, which a notebook shows and keeps
        return f"{type(self).__name__}({HIDDEN})"

    __str__ = __repr__

    @model_validator(mode="wrap")
    @classmethod
    def _collect_all_findings(cls, raw: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        folder = info.context.folder if isinstance(info.context, Place) else Path()
        details = [
            InitErrorDetails(type=PydanticCustomError("rule", "{text}", {"text": text}), loc=location, input=None)
            for location, text in (cls.cross_findings(Raw(raw, folder)) if isinstance(raw, Mapping) else ())
        ]
        try:
            built = handler(raw)
        except ValidationError as error:
            raise ValidationError.from_exception_data(cls.__name__, [*_details(error), *details]) from error
        if details:
            raise ValidationError.from_exception_data(cls.__name__, details)
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
        return str(exact) if isinstance(value, WrittenFloat) else str(value)
    return str(value) if isinstance(value, int) else value


def _refuse_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", value):
        raise ValueError("holds a control character")
    return value


def _a_name(value: str) -> str:
    if not value.strip() or "\0" in value:
        raise ValueError("must not be empty, and no database has names with a NUL")
    return value


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+")


def local_path(value: object, info: ValidationInfo) -> object:
    """A path of this machine, from the config's folder on. Raises ValueError: blank, starts with `~`, or is a store's address."""
    if isinstance(value, Path):
        return info.context.folder / value if isinstance(info.context, Place) else value
    if not isinstance(value, str):
        return value
    if not value.strip() or "\0" in value:
        raise ValueError("not a path")
    if value.startswith("~"):
        raise ValueError("~ is not expanded; write the path in full")
    if address := _ADDRESS.match(value):  # else a folder of that name: in a pod the evidence would be gone with it
        raise ValueError(
            f"{address[0]} is no folder of this machine: write a local path, or where the store is mounted"
        )
    return info.context.folder / value if isinstance(info.context, Place) else Path(value)


def refuse_empty(values: _Items) -> _Items:
    """Refuse an empty list. Not `min_length`, which counts only the entries that are valid."""
    if not values:
        raise ValueError("must have at least one entry")
    return values


def refuse_repeats(values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a list that holds an entry twice."""
    if len(set(values)) < len(values):
        raise ValueError("holds an entry twice")
    return values


def wrap_secret(value: object, info: ValidationInfo, key: str) -> object:
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
Text = Annotated[str, StringConstraints(min_length=1), AfterValidator(_refuse_blank)]
# What a table or column is called at the source: databases allow control characters in it ("a\x1bb" in YAML).
SourceName = Annotated[str, StringConstraints(min_length=1), AfterValidator(_a_name)]
Names = Annotated[tuple[SourceName, ...], LAX, AfterValidator(refuse_repeats)]
SomeNames = Annotated[Names, AfterValidator(refuse_empty)]
OptionText = Annotated[str, BeforeValidator(option_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Options = dict[Text, OptionText]
LocalPath = Annotated[
    Path,
    BeforeValidator(local_path),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "minLength": 1}),
]


LONGEST_NUMBER = 400
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_THOUSANDS = re.compile(r"(?<![0-9_.])([0-9]{1,3}(?:_[0-9]{3})+)(?![0-9_])")
# Numbers to readers of YAML 1.1; to YAML 1.2 they are text.
_ELSEWHERE = re.compile(
    r"[-+]?0b[01_]+|[-+]0o[0-7_]+|[-+]0x[0-9a-fA-F_]+|0o[0-7_]+|0x[0-9a-fA-F_]+"
    r"|[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9_]+(?:[eE][-+]?[0-9]+)?"
)

# What YAML's scalars become; texts that look like dates stay texts, since no key takes a date.
Scalar = str | int | float | bool | None


class AmbiguousError(ValueError):
    """A scalar that could mean more than one thing, or costs more than it could mean."""


class WrittenFloat(float):
    """A float that says less than the file: `exact` is the number as it is written there."""

    exact: Decimal


def parse_scalar(text: str) -> Scalar:
    """What a scalar without quotes means.

    Raises:
        AmbiguousError: a number to some readers and a text to others, or a number longer than any that is of use. Python
            refuses integers of more than 4,300 digits (CVE-2020-10735), whose conversion takes quadratic time.

    >>> [parse_scalar(text) for text in ("010", "0x1F", "yes", "~", "1e3", "1_000")]
    [10, 31, 'yes', None, 1000.0, 1000]
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    text, written = _THOUSANDS.sub(lambda match: match[0].replace("_", ""), text), text
    is_int = _INT.fullmatch(text) is not None
    if not is_int and _FLOAT.fullmatch(text) is None:
        if _ELSEWHERE.fullmatch(text) is None:
            return written
        raise AmbiguousError(
            "is a number to some readers of YAML and text to others: put it in quotes, or write plain digits (1_000 is read)"
        )
    if len(text) > LONGEST_NUMBER:
        raise AmbiguousError(f"is a number of more than {LONGEST_NUMBER} characters; put it in quotes if it is text")
    if is_int:
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    return keep_number(text, float(text.replace(".inf", "inf").replace(".nan", "nan") if text[-1] in "fFnN" else text))


def keep_number(text: str, rounded: float) -> float:
    """The float that YAML reads, as `WrittenFloat` where the text says more than it.

    >>> keep_number("0.10", 0.1), keep_number("0.12345678901234567891", 0.12345678901234568).exact
    (0.1, Decimal('0.12345678901234567891'))
    """
    if not math.isfinite(rounded) and "n" in text.lower():
        return rounded
    try:
        exact = Decimal(text)
    except InvalidOperation:  # an exponent that no decimal has either
        exact = Decimal("NaN")
    if exact == Decimal(repr(rounded)):
        return rounded
    number = WrittenFloat(rounded)
    number.exact = exact
    return number


def exact_number(number: float) -> Decimal:
    """The number as the file has it.

    Raises:
        ValueError: infinite, no number, or nearer to 0 than any float.
    """
    decimal = number.exact if isinstance(number, WrittenFloat) else Decimal(repr(number))
    if not decimal.is_finite() or not math.isfinite(number) or (decimal and not number):
        raise ValueError("must be a finite number, and no nearer to 0 than 1e-300")
    return decimal


def plain_number(number: float) -> Decimal:
    """The number as the file has it, which a float holds to the last digit, so that it can be shown as it was written.

    Raises:
        ValueError: more digits than that, infinite, or no number.
    """
    decimal = Decimal(repr(float(number))) if math.isfinite(number) else Decimal("NaN")
    if isinstance(number, WrittenFloat) or decimal != Decimal(number if isinstance(number, int) else repr(number)):
        raise ValueError("must be a finite number of at most 17 digits")
    return decimal


def refuse_rounding(value: object) -> None:
    """Raises ValueError where a number in a value, or in lists and mappings below it, has more digits than a float holds."""
    if isinstance(value, WrittenFloat):
        raise ValueError(
            "a number has more than the 17 digits that Great Expectations keeps: use check: between or sql"
        )
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in below:
        refuse_rounding(member)
