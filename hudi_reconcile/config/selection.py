"""PURE: which tables of a config a command works on: `-t` patterns, `--tag` and `--exclude`, and what is wrong with them.

Values of one option add up (`-t a -t b`: both), different options narrow (`-t 'shop_*' --tag nightly`: those of both).
What matches nothing is an error and never an empty set: a command that does nothing would look like one that found nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol, TypeVar

from hudi_reconcile.core.errors import UsageError, suggest_name


class Selectable(Protocol):
    """What a selection has to know of a table."""

    @property
    def name(self) -> str:
        """Its name in the config."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags in the config."""


_Table = TypeVar("_Table", bound=Selectable)


@dataclass(frozen=True, slots=True)
class TableChoice:
    """What a command line says of tables: names or patterns to take, tags to take, names or patterns to leave out."""

    patterns: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that are named one by one, without a wildcard."""
        return tuple(pattern for pattern in self.patterns if not is_pattern(pattern))

    def takes(self, *names: str) -> bool:
        """Whether a table with these names is chosen, whatever its tags."""
        taken = not self.patterns or any(matches(pattern, name) for pattern in self.patterns for name in names)
        return taken and not any(matches(pattern, name) for pattern in self.excludes for name in names)

    @property
    def _options(self) -> tuple[tuple[str, str], ...]:
        options = (("-t", self.patterns), ("--tag", self.tags), ("--exclude", self.excludes))
        return tuple((option, value) for option, values in options for value in values)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The choice as arguments of a command line."""
        return tuple(word for option in self._options for word in option)

    def __str__(self) -> str:
        return " ".join(f"{option} {value!r}" for option, value in self._options)


def is_pattern(text: str) -> bool:
    """True for a text with `*` or `?`, which no table's name can hold.

    >>> is_pattern("shop_*"), is_pattern("orders")
    (True, False)
    """
    return "*" in text or "?" in text


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern, or a name, stands for a name. `[` has a meaning to fnmatch, and none here."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def choose_tables(tables: Sequence[_Table], choice: TableChoice) -> tuple[_Table, ...]:
    """The chosen tables in their order, each once; all of them where the choice says nothing.

    Raises:
        UsageError: a name, pattern or tag that fits no table, or a choice that leaves none.
    """
    names = [table.name for table in tables]
    taken = {name for pattern in choice.patterns for name in _matching("-t", pattern, names)}
    left_out = {name for pattern in choice.excludes for name in _matching("--exclude", pattern, names)}
    for tag in choice.tags:
        _require_tag(tag, tables)
    chosen = tuple(
        table
        for table in tables
        if (not choice.patterns or table.name in taken)
        and (not choice.tags or not set(choice.tags).isdisjoint(table.tags))
        and table.name not in left_out
    )
    if tables and not chosen:
        raise UsageError(f"{choice} leaves no table", fix=f"leave out one of them; the tables are {', '.join(names)}")
    return chosen


def find_table(tables: Sequence[_Table], name: str) -> _Table:
    """The table of that name.

    Raises:
        UsageError: there is none; names the nearest one and all that are legal.
    """
    for table in tables:
        if table.name == name:
            return table
    raise _unknown("-t", name, [table.name for table in tables])


# --- helpers ---


def _matching(option: str, pattern: str, names: Sequence[str]) -> list[str]:
    """The names that a pattern, or a name, stands for: at least one."""
    matching_names = [name for name in names if matches(pattern, name)]
    if matching_names:
        return matching_names
    if is_pattern(pattern):
        raise UsageError(f"no table matches {option} {pattern!r}", fix=f"legal after {option}: {', '.join(names)}")
    raise _unknown(option, pattern, names)


def _unknown(option: str, name: str, names: Sequence[str]) -> UsageError:
    return UsageError(
        f"no table {name!r} in the config{suggest_name(name, names)}",
        fix=f"legal after {option}: {', '.join(names)}",
    )


def _require_tag(tag: str, tables: Sequence[Selectable]) -> None:
    known = tuple(dict.fromkeys(table_tag for table in tables for table_tag in table.tags))
    if tag in known:
        return
    raise UsageError(
        f"no table has the tag {tag!r}{suggest_name(tag, known)}",
        fix=f"legal after --tag: {', '.join(known)}" if known else "give a table tags in the config: tags: [nightly]",
    )
