"""PURE: what a call lays over its config file: a profile by name, and single keys as `--set KEY=VALUE` writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hudi_reconcile.config.fields import Location
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.partial import find_section
from hudi_reconcile.config.yaml_document import read_document
from hudi_reconcile.core.errors import UsageError, suggest_name

# Files are read, and a profile is taken, before keys are set.
_NOT_SET = ("include", "profiles")
COMMAND_LINE = "--set"


@dataclass(frozen=True, slots=True)
class Setting:
    """One key, as dotted path, and its value. `problems` is what is wrong with the value as YAML."""

    key: str
    value: object
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overlay:
    """The profile that a call names, and the keys that it sets, the last of a key counting.

    `source` is what people know the keys by; those of a command line are read by other users as well.
    """

    profile: str | None = None
    settings: tuple[Setting, ...] = ()
    source: str = COMMAND_LINE

    @classmethod
    def of(cls, profile: str | None, assignments: Sequence[str]) -> Overlay:
        """The overlay of `--profile NAME` and `--set KEY=VALUE`. Raises UsageError: no `=`, or no key."""
        return cls(profile, tuple(read_setting(text) for text in assignments))

    @classmethod
    def of_values(cls, profile: str | None, values: Mapping[str, object]) -> Overlay:
        """The overlay of a profile and of keys with plain values, for programs."""
        return cls(profile, tuple(Setting(key, value) for key, value in values.items()), "overrides")

    @property
    def facts(self) -> Mapping[str, str]:
        """What evidence says of it: the profile's name, and which keys were set."""
        keys = ", ".join(dict.fromkeys(setting.key for setting in self.settings))
        return {name: value for name, value in (("profile", self.profile), ("set", keys)) if value}


NO_OVERLAY = Overlay()


def read_setting(text: str) -> Setting:
    """The setting of `KEY=VALUE`; the value is one YAML value, as behind the colon in the file, and nothing is null.

    Raises:
        UsageError: no `=`, or nothing before it. The message does not repeat the value.
    """
    key, equals, written = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(
            "--set takes KEY=VALUE", fix="for example --set source.max_connections=2, or --set defaults.sweep.settle=5s"
        )
    document = read_document(written if written.strip() else "null")
    return Setting(key.strip(), document.values, tuple(problem.text for problem in document.problems))


@dataclass(frozen=True, slots=True)
class SettingTarget:
    """Where a setting belongs: its location in the config, the same as people write it, and why it may not be set."""

    location: Location
    shown: Location
    problem: str = ""


def locate_setting(key: str, tables: Sequence[str]) -> SettingTarget:
    """The place of a dotted key. A table is named, not counted: `tables.orders.pull.limit`.

    Below `conf`, `jdbc`, `options`, `mask` and the like the rest is one key, dots and all. An unknown word is a place
    too: validation names it.
    """
    first, _, rest = key.partition(".")
    if first in _NOT_SET:
        return SettingTarget((first,), (first,), "cannot be set by a call; write it into the config")
    if first != "tables" or not rest:
        location = _walk(key, ())
        return SettingTarget(location, location)
    # A name may hold dots: the longest that fits is meant.
    name = max((table for table in tables if f"{rest}.".startswith(f"{table}.")), key=len, default=None)
    if name is None:
        word = rest.partition(".")[0]
        text = f"no such table{suggest_name(word, tables)} (legal: {', '.join(tables)})"
        return SettingTarget((), ("tables", word), text)
    inner = rest.removeprefix(name).removeprefix(".")
    below = _walk(inner, ("tables",)) if inner else ()
    return SettingTarget(("tables", tables.index(name), *below), ("tables", name, *below))


# --- helpers ---


def _walk(key: str, place: Location) -> Location:
    """The words of a key, as far as sections go; what is left is one word."""
    here = Config if not place else find_section(Config.model_fields["tables"].annotation)
    steps: list[str | int] = []
    while key:
        if here is None:
            steps.append(key)
            break
        word, _, key = key.partition(".")
        steps.append(word)
        field = here.model_fields.get(word)
        if field is None:
            break
        here = find_section(field.annotation, field.metadata)
    return tuple(steps)
