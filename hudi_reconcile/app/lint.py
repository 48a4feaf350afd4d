"""What `rules lint` does: every rules file read as `check` would, without a database, a lake or Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.app.clock import HostClock
from hudi_reconcile.app.rule_files import refuse_all, shown_path, with_something_to_hold
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.rules_load import load_rules
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ConfigError, UsageError
from hudi_reconcile.core.rule_doubts import doubt
from hudi_reconcile.core.rules import Gx, Rule, RuleSet, day_of


@dataclass(frozen=True, slots=True)
class Linted:
    """A rules file that is right, and what its author may have overlooked."""

    file: str
    table: str
    rules: int
    waivers: int
    notes: tuple[str, ...]

    @property
    def told(self) -> str:
        """What is in it, in words."""
        waivers = f", {self.waivers} waiver{'s' * (self.waivers != 1)}" if self.waivers else ""
        return f"table {self.table}, {self.rules} rule{'s' * (self.rules != 1)}{waivers}"

    @property
    def document(self) -> dict[str, object]:
        """The same for scripts."""
        return {
            "file": self.file, "table": self.table, "rules": self.rules, "waivers": self.waivers, "notes": list(self.notes)
        }  # fmt: skip


def lint_files(files: tuple[Path, ...], config: Config | None) -> tuple[Linted, ...]:
    """What the files hold; those of the config where none are named.

    Raises:
        ConfigError: anything is wrong with any of them; all problems at once.
        UsageError: the config names no rules file.
    """
    named: list[tuple[Path, TableConfig | None]] = [(path, None) for path in files]
    if config is not None:
        named = [(table.rules, table) for table in config.tables if table.rules is not None]
    if not named:
        raise UsageError("the config names no rules file", fix="name one: hudi-reconcile rules lint FILE")
    found: list[Linted] = []
    errors: list[ConfigError] = []
    for path, table in named:
        try:
            found.append(_linted(_loaded(path, table)))
        except ConfigError as error:
            errors.append(error)
    refuse_all(errors)
    return tuple(found)


def _loaded(path: Path, table: TableConfig | None) -> RuleSet:
    if table is None:
        return load_rules(path, shown=shown_path(path), table=None, doubt=_doubt)
    return with_something_to_hold(table, load_rules(path, shown=shown_path(path), table=table.name, doubt=_doubt))


def _linted(rules: RuleSet) -> Linted:
    today = day_of(HostClock().utc_micros())
    expired = [one for one in rules.waivers if not one.holds(today)]
    notes = tuple(f"the waiver of {one.rule} expired on {one.expires}: it waives nothing" for one in expired)
    return Linted(rules.file, rules.table, len(rules.rules), len(rules.waivers), notes)


def _doubt(rule: Rule) -> str | None:
    """Types and arguments of Great Expectations are known to itself only; it is loaded for them alone."""
    if not isinstance(rule.check, Gx):
        return doubt(rule.check)
    from hudi_reconcile.rules.gx import UnknownExpectationError, expectation  # noqa: PLC0415 - takes seconds to load

    try:
        expectation(rule.id, rule.check.type, rule.check.kwargs)
    except UnknownExpectationError as error:
        return str(error)
    return None
