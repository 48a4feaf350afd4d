"""From a file to a `Config`: text, YAML, references, validation, with every problem of the file in one error.

Acts on two things only, the config file and the files that `${file:…}` names; the environment is a parameter.

PURE: what is wrong with a config, one sentence a problem: the key, what is legal there, the nearest spelling.

Values are repeated only where no secret can stand: a wrong value of a plain key, never one that came from a reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from hudi_reconcile.config.fields import Location, Place, Section
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import (
    Environment,
    MissingReferenceError,
    ReadFile,
    Template,
    read_small,
    read_text_file,
)
from hudi_reconcile.config.yaml_document import LARGEST_BYTES, Document, Problem, read_document
from hudi_reconcile.core.errors import ConfigError, nearest_name

# Filled in by `Secret.reveal`; the second key, or all that is in its list.
_LAZY: frozenset[Location] = frozenset({("source", "password"), ("audit", "key"), ("audit", "old_keys")})
# What nobody else may know; of further values nobody but their reader knows whether they are secret.
_SECRET = _LAZY | {("outputs", "webhook", "url"), ("outputs", "openlineage", "api_key")}
_FIX = "correct the lines above, then: hudi-reconcile config validate"
_WHERE = "name the config with -c FILE, or write one: hudi-reconcile init"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A config, and how to print the values that came from references: with `***` in their place."""

    config: Config
    shown: dict[Location, str]


def load_config(path: Path, env: Environment, read_file: ReadFile = read_text_file) -> Config:
    """The config of a file. References are filled in, but for passwords, which wait for `Secret.reveal`.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong; all problems at once.
    """
    return load_with_references(path, env, read_file).config


def load_with_references(path: Path, env: Environment, read_file: ReadFile = read_text_file) -> Loaded:
    """As `load_config`, with what `config show` needs to print no value that came from a reference."""
    return parse_config(text_of(path), Place(str(path), path.absolute().parent), env, read_file)


def parse_config(text: str, place: Place, env: Environment, read_file: ReadFile) -> Loaded:
    """The config of a text; only `read_file` touches files, and only those named by `${file:…}`.

    Raises:
        ConfigError: anything in the text is wrong; all problems at once.
    """
    document = read_document(text)
    problems = list(document.problems)
    if found := find_fatal_problems(document):
        raise config_error([*problems, *found], place.file)
    filler = _Filler(document, place, env, read_file)
    values = filler.fill(document.values, ())
    problems += filler.problems
    try:
        config = Config.model_validate(values, context=place)
    except ValidationError as error:
        unfilled = {problem.location for problem in filler.problems}
        told = problems_of(error, document, Config)
        # A value that stands for one that is missing is not judged; that its key is unknown stays true.
        problems += [found for found in told if found.location not in unfilled or found.text.startswith(UNKNOWN_KEY)]
        raise config_error(problems, place.file) from None
    if problems:
        raise config_error(problems, place.file)
    return Loaded(config.with_secret_variables(frozenset(filler.secret_variables)), filler.shown)


def text_of(path: Path, *, what: str = "config file", shown: str | None = None, fix: str = _WHERE) -> str:
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


# --- helpers ---


def find_fatal_problems(document: Document) -> list[Problem]:
    """What makes all further messages pointless: no mapping at all, or a version that may mean other keys."""
    if document.values is None and document.problems:
        return document.problems
    if not isinstance(document.values, dict):
        return [Problem(document.line_of(()), (), "expected a mapping that starts with `version: 1`")]
    version = document.values.get("version", 1)
    if type(version) is not int or version != 1:
        return [Problem(document.line_of(("version",)), ("version",), "this release knows version 1 only")]
    return []


class _Filler:
    """Walks the values, fills references in, and keeps what to print instead of them."""

    def __init__(self, document: Document, place: Place, env: Environment, read_file: ReadFile) -> None:
        self._document, self._place, self._env, self._read_file = document, place, env, read_file
        self.problems: list[Problem] = []
        self.shown: dict[Location, str] = {}
        self.secret_variables: set[str] = set()

    def fill(self, value: object, location: Location) -> object:
        if isinstance(value, dict):
            return {key: self.fill(item, (*location, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, (*location, index)) for index, item in enumerate(value)]
        return self._text(value, location) if isinstance(value, str) and "${" in value else value

    def _text(self, text: str, location: Location) -> str:
        try:
            template = Template.parse(text)
            if location in _SECRET or location[:2] in _SECRET:
                self.secret_variables |= template.variables
            if location[:2] in _LAZY:
                return text
            if template.has_references:
                self.shown[location] = template.shown()
            return template.fill(self._env, self._read_file, folder=self._place.folder)
        except (MissingReferenceError, ValueError) as error:
            self.problems.append(Problem(self._document.line_of(location), location, str(error)))
            return text


def config_error(problems: list[Problem], file: str, *, fix: str = _FIX) -> ConfigError:
    """All problems of one file as one error, in the order of its lines."""
    told = ((problem.line, key_text(problem.location), problem.text) for problem in problems)
    return error_of(told, file, fix=fix)


# Keys whose values may hold credentials, whatever their parent.
_NEVER_REPEATED = frozenset({"url", "password", "jdbc", "conf", "options", "where", "query", "audit"})
_LONGEST_REPEATED = 60
_LONGEST_KEY = 200
MOST_SHOWN = 200
UNKNOWN_KEY = "unknown key"

_EXPECTED = {
    "string_type": "expected text; put it in quotes",
    "dataclass_exact_type": "expected text, such as ${env:NAME}; put it in quotes",
    "dataclass_type": "expected text, such as ${env:NAME}; put it in quotes",
    "int_type": "expected a whole number",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list, such as [a, b]",
    "dict_type": "expected a mapping (key: value)",
    "model_type": "expected a mapping (key: value)",
    "string_too_short": "must not be empty",
    "is_instance_of": "expected text",
    "path_type": "expected text, a path",
}


def problems_of(error: ValidationError, document: Document, model: type[Section]) -> Iterator[Problem]:
    """The problems that validation found, each on the line of its key, in the order of the lines.

    Those beyond the first `MOST_SHOWN` are yielded without their sentence, which nobody will read and which takes its time.
    """
    found = []
    for line in error.errors(include_url=False, include_input=False, include_context=False):
        location = tuple(step for step in line["loc"] if step != "[key]")
        found.append((document.line_of(location), location, line["type"], line["msg"]))
    found.sort(key=lambda one: one[0])
    for place, location, kind, message in found[:MOST_SHOWN]:
        yield Problem(place, location, _sentence(kind, message, location, (document, model)))
    for place, location, kind, _ in found[MOST_SHOWN:]:
        yield Problem(place, location, UNKNOWN_KEY if kind == "extra_forbidden" else "")


def error_of(problems: Iterable[tuple[int, str, str]], file: str, *, fix: str) -> ConfigError:
    """Problems (line, key, text) of one file as one error, in the order of its lines, each once; `MOST_SHOWN` in words."""
    ordered = sorted(problems, key=lambda one: one[0])
    lines = dict.fromkeys(
        f"{file}:{line}: {shorten(key)}: {text}" if key else f"{file}:{line}: {text}"
        for line, key, text in ordered[:MOST_SHOWN]
    )
    return ConfigError(tuple(lines), fix=fix, more=max(0, len(ordered) - MOST_SHOWN))


def shorten(text: str) -> str:
    """The text as a message may repeat it: a key or a value may be as long as the file."""
    return text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}…"


def key_text(location: Location) -> str:
    """A key's place as people read it: `tables[0].pull.strategy`."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


# --- helpers ---


def _sentence(kind: str, message: str, location: Location, context: tuple[Document, type[Section]]) -> str:
    document, model = context
    if kind == "extra_forbidden":
        legal = tuple(legal_keys(model, location[:-1]))
        return f"{UNKNOWN_KEY}{suggestion(str(location[-1]), legal)} (legal: {', '.join(legal)})"
    if kind == "missing":
        return "is missing; start the file with `version: 1`" if location == ("version",) else "is missing"
    found = _found(document, location)
    if kind == "literal_error":
        legal = tuple(
            word.strip("'") for word in message.removeprefix("Input should be ").replace(" or ", ", ").split(", ")
        )
        value = document.value_at(location)
        close = suggestion(value, legal) if isinstance(value, str) and found else ""
        return f"expected {' | '.join(legal)}{found}{close}"
    if kind == "rule":
        return f"{message}{found}" if message.startswith(("not a", "must be", "more than")) else message
    if kind in ("model_type", "dict_type") and isinstance(document.value_at(location), str):
        # A whole URL, or a password on the wrong line, may stand here.
        found = ", found text"
    return f"{_EXPECTED.get(kind, message.replace('Input should', 'must'))}{found}"


def suggestion(word: str, legal: tuple[str, ...]) -> str:
    """The nearest legal word as the end of a sentence; nothing where none is near."""
    close = nearest_name(word.lower(), legal)
    return f"; did you mean {close!r}?" if close else ""


def _found(document: Document, location: Location) -> str:
    value = document.value_at(location)
    if value is None:
        return "" if not document.is_given(location) else ", found nothing"
    if not _NEVER_REPEATED.isdisjoint(str(step) for step in location):
        return ""
    if isinstance(value, bool):
        return f", found {str(value).lower()}"
    if isinstance(value, str):
        return "" if "${" in value or len(value) > _LONGEST_REPEATED else f", found {value!r}"
    shown = str(value) if isinstance(value, int | float) else ""
    return f", found {shown}" if 0 < len(shown) <= _LONGEST_REPEATED else ""


def legal_keys(model: type[Section], location: Location) -> Iterator[str]:
    """The keys that a section of the config may hold."""
    here = model
    for step in location:
        if isinstance(step, str) and step in here.model_fields:
            here = _section_in(here.model_fields[step].annotation) or here
    yield from here.model_fields


def _section_in(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section_in(part))), None)
