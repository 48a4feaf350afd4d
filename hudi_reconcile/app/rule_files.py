"""The rules files that the config names, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hudi_reconcile.config.rules_load import FIX, load_rules
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.core.rules import RuleSet

RuleSets = Mapping[str, RuleSet]


def rule_sets(tables: tuple[TableConfig, ...]) -> RuleSets:
    """The rules of the tables that have a file. Raises ConfigError with the problems of all files at once."""
    found: dict[str, RuleSet] = {}
    problems: list[str] = []
    for table in tables:
        if table.rules is not None:
            try:
                found[table.name] = load_rules(table.rules, shown=shown_path(table.rules), table=table.name)
            except ConfigError as error:
                problems += error.problems
    if problems:
        raise ConfigError(tuple(problems), fix=FIX)
    return found


def shown_path(path: Path) -> str:
    """The path as people in the working folder would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
