"""From a file to a `Config`: text, layers, references, validation, with every problem of all files in one error.

Acts on the config file, the files that it includes and those that `${file:…}` names; the environment is a parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from hudi_reconcile.config.compose import compose, find_bare_secrets, place_problems
from hudi_reconcile.config.fields import Location, Place
from hudi_reconcile.config.files import read_included, read_text
from hudi_reconcile.config.layers import PlacedProblem, ValueOrigin, layered_error, read_node
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.overlay import NO_OVERLAY, Overlay
from hudi_reconcile.config.problems import UNKNOWN_KEY, config_error, find_fatal_problems, locate_problems
from hudi_reconcile.config.secrets import (
    OPTION_SECTIONS,
    Environment,
    MissingReferenceError,
    ReadFile,
    Template,
    holds_secret,
    read_text_file,
)
from hudi_reconcile.config.yaml_document import Document, Problem, read_document

# Filled in by `Secret.reveal`; the second key, or all that is in its list.
_LAZY: frozenset[Location] = frozenset({("source", "password"), ("audit", "key"), ("audit", "old_keys")})
# What nobody else may know; of further values nobody but their reader knows whether they are secret.
_SECRET = _LAZY | {("outputs", "webhook", "url"), ("outputs", "openlineage", "api_key")}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A config, and how to print the values that came from references: with `***` in their place."""

    config: Config
    shown: dict[Location, str]


def load_config(
    path: Path, env: Environment, read_file: ReadFile = read_text_file, overlay: Overlay = NO_OVERLAY
) -> Config:
    """The config of a file. References are filled in, but for passwords and audit keys, which wait for `Secret.reveal`.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong; all problems at once.
        UsageError: there is no such profile.
    """
    return load_with_references(path, env, read_file, overlay).config


def load_with_references(
    path: Path, env: Environment, read_file: ReadFile = read_text_file, overlay: Overlay = NO_OVERLAY
) -> Loaded:
    """As `load_config`, with what `config show` needs to print no value that came from a reference."""
    return parse_config(read_text(path), Place(str(path), path.absolute().parent), env, read_file, overlay)


def is_secret(location: Location, value: object) -> bool:
    """True for a key whose value nobody else may know, by its place, by its name or by what it sets."""
    if location in _SECRET or location[:2] in _SECRET:
        return True
    return location[-2:-1] != () and location[-2] in OPTION_SECTIONS and holds_secret(str(location[-1]), value)


def parse_config(
    text: str, place: Place, env: Environment, read_file: ReadFile, overlay: Overlay = NO_OVERLAY
) -> Loaded:
    """The config of a text, with the files that it includes; `read_file` reads those named by `${file:…}`.

    Raises:
        ConfigError: anything in the text, in an included file or in what the call sets is wrong; all problems at once.
        UsageError: there is no such profile.
    """
    document = read_document(text)
    if fatal_problems := find_fatal_problems(document):
        raise config_error(list(dict.fromkeys([*document.problems, *fatal_problems])), place.file)
    main = read_node(document, place.file, 0)
    included = read_included(main, place, lambda path: _fill_path(path, place, env, read_file))
    layered, layer_problems = compose(main, included.tables, overlay)
    filler = _Filler(layered.document, place, env, read_file)
    values = filler.fill_config(layered.document.values)
    problems = list(filler.problems)
    placed = [
        PlacedProblem(ValueOrigin(place.file, 0, problem.line, problem.location), problem.text)
        for problem in document.problems
    ]
    placed += [*included.problems, *layer_problems, *find_bare_secrets(layered, is_secret)]
    try:
        config = Config.model_validate(values, context=place)
    except ValidationError as error:
        unfilled = {problem.location for problem in filler.problems}
        config_problems = locate_problems(error, layered.document, Config)
        # A value that stands for one that is missing is not judged; that its key is unknown stays true.
        problems += [
            problem
            for problem in config_problems
            if problem.location not in unfilled or problem.text.startswith(UNKNOWN_KEY)
        ]
        raise layered_error([*placed, *place_problems(layered, problems)]) from None
    if problems or placed:
        raise layered_error([*placed, *place_problems(layered, problems)])
    return Loaded(config.settle(frozenset(filler.secret_variables), overlay.facts), filler.shown)


# --- helpers ---


class _Filler:
    """Walks the values, fills references in, and keeps what to print instead of them."""

    def __init__(self, document: Document, place: Place, env: Environment, read_file: ReadFile) -> None:
        self._document, self._place, self._env, self._read_file = document, place, env, read_file
        self.problems: list[Problem] = []
        self.shown: dict[Location, str] = {}
        self.secret_variables: set[str] = set()

    def fill_config(self, values: object) -> object:
        """The values with references filled in; what has gone into other keys needs none, and a profile may lack them."""
        if not isinstance(values, dict):
            return self.fill(values, ())
        layers = {key: _drop_references(values[key]) for key in ("defaults", "profiles") if key in values}
        rest = {key: item for key, item in values.items() if key not in layers}
        return {**{key: self.fill(item, (key,)) for key, item in rest.items()}, **layers}

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
                self.shown[location] = template.hide()
            return template.fill(self._env, self._read_file, folder=self._place.folder)
        except (MissingReferenceError, ValueError) as error:
            self.problems.append(Problem(self._document.find_line(location), location, str(error)))
            return text


def _drop_references(value: object) -> object:
    """The values without keys that hold a reference: nothing is known of them yet. A name must be plain."""
    if isinstance(value, dict):
        return {
            name: _drop_references(member) for name, member in value.items() if name == "name" or not _is_open(member)
        }
    return [_drop_references(member) for member in value] if isinstance(value, list) else value


def _is_open(value: object) -> bool:
    return (
        any(_is_open(member) for member in value)
        if isinstance(value, list)
        else isinstance(value, str) and "${" in value
    )


def _fill_path(text: str, place: Place, env: Environment, read_file: ReadFile) -> str | None:
    """The path with its references filled in; None where they cannot be, which the filler tells."""
    try:
        return Template.parse(text).fill(env, read_file, folder=place.folder)
    except (MissingReferenceError, ValueError):
        return None
