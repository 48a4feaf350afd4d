"""From a HoodieStreamer properties file to a `Config`: the table that it names, as `reconcile.yaml` would have it.

Decides what each property means here. Reads the one file; a password file is read when the password is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from hudi_reconcile.config.document import Document
from hudi_reconcile.config.fields import Location, Place
from hudi_reconcile.config.files import read_small
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.properties import PropertiesError, Property, parse_properties
from hudi_reconcile.config.props_keys import Wrong, sort_keys
from hudi_reconcile.config.props_tree import PropsTree, Tree
from hudi_reconcile.config.wording import error_of, problems_of
from hudi_reconcile.core.errors import ConfigError

_LARGEST_BYTES = 1_048_576
_FIX = "correct the lines above; docs/properties.md lists every key"


@dataclass(frozen=True, slots=True)
class FromProps:
    """What a properties file means: the config, and its tree as it may be written down. `notes` are for people.

    `clear_password` is true where the file holds the password itself: the tree then has a reference in its place.
    """

    config: Config
    tree: Tree
    notes: tuple[str, ...]
    clear_password: bool


def load_props(path: Path, reports: Path, *, incrementing: bool = False) -> FromProps:
    """The config of a properties file; runs go below `reports`.

    `incrementing`: the incremental column is a number that only grows, not a time; the file does not tell.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong; all problems at once.
    """
    return parse_props(_text(path), Place(str(path), path.absolute().parent), reports, incrementing=incrementing)


def parse_props(text: str, place: Place, reports: Path, *, incrementing: bool = False) -> FromProps:
    """As `load_props`, of a text. Touches no file."""
    try:
        found = sort_keys(parse_properties(text))
    except PropertiesError as error:
        raise _error([Wrong(error.line, "", str(error))], place) from None
    build = PropsTree(found, place, incrementing=incrementing)
    tree = build.tree()
    tree["reports"] = str(reports)
    if found.wrong:
        raise _error(found.wrong, place)
    config = _validated(tree, build, place)
    shown = build.to_write(tree, config.tables[0].lake.path)
    return FromProps(config, shown, tuple(build.notes), build.password is not None)


# --- helpers ---


def _validated(tree: Tree, build: PropsTree, place: Place) -> Config:
    try:
        return Config.model_validate(tree, context=place)
    except ValidationError as error:
        document = Document(values=tree, lines={location: one.line for location, one in build.origins.items()})
        raise _error(list(_wrongs(error, document, build.origins)), place) from None


def _wrongs(error: ValidationError, document: Document, origins: Mapping[Location, Property]) -> Iterator[Wrong]:
    for problem in problems_of(error, document, Config):
        location = problem.location
        while location and location not in origins:
            location = location[:-1]
        origin = origins.get(location)
        key = ".".join(str(step) for step in problem.location) if origin is None else origin.key
        yield Wrong(problem.line, key, problem.text)


def _text(path: Path) -> str:
    fix = "name the properties file: hudi-reconcile pull --props FILE"
    try:
        content = read_small(path, _LARGEST_BYTES)
    except FileNotFoundError:
        raise ConfigError((f"{path}: there is no such file",), fix=fix) from None
    except OSError as error:
        raise ConfigError((f"{path}: cannot be read: {error.strerror}",), fix=fix) from error
    if len(content) > _LARGEST_BYTES:
        raise ConfigError((f"{path}: is larger than 1 MiB; no properties file is",), fix=fix)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigError(
            (f"{path}:{line}: is not UTF-8 text",), fix="save the file as UTF-8, or write \\uXXXX"
        ) from None


def _error(wrong: list[Wrong], place: Place) -> ConfigError:
    return error_of(((one.line, one.key, one.text) for one in wrong), place.file, fix=_FIX)
