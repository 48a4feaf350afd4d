"""From a file to a `Config`: text, YAML, references, validation, with every problem of the file in one error.

Acts on two things only, the config file and the files that `${file:…}` names; the environment is a parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from hudi_reconcile.config import wording
from hudi_reconcile.config.document import LARGEST_BYTES, Document, Problem, read_document
from hudi_reconcile.config.fields import Location, Place
from hudi_reconcile.config.files import read_small
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import Environment, MissingReferenceError, ReadFile, Template, read_text_file
from hudi_reconcile.config.wording import UNKNOWN_KEY, key_text, problems_of
from hudi_reconcile.core.errors import ConfigError

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
    if found := pointless(document):
        raise error_of([*problems, *found], place.file)
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
        raise error_of(problems, place.file) from None
    if problems:
        raise error_of(problems, place.file)
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


def pointless(document: Document) -> list[Problem]:
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


def error_of(problems: list[Problem], file: str, *, fix: str = _FIX) -> ConfigError:
    """All problems of one file as one error, in the order of its lines."""
    told = ((problem.line, key_text(problem.location), problem.text) for problem in problems)
    return wording.error_of(told, file, fix=fix)
