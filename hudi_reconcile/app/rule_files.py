"""The rules files that the config names, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hudi_reconcile.config.rules_load import FIX, load_rules
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.core.rule_verdict import can_hold
from hudi_reconcile.core.rules import RuleSet

RuleSets = Mapping[str, RuleSet]


def rule_sets(tables: tuple[TableConfig, ...]) -> RuleSets:
    """The rules of the tables that have a file. Raises ConfigError with the problems of all files at once."""
    found: dict[str, RuleSet] = {}
    errors: list[ConfigError] = []
    for table in tables:
        if table.rules is not None:
            try:
                rules = load_rules(table.rules, shown=shown_path(table.rules), table=table.name)
                found[table.name] = with_something_to_hold(table, rules)
            except ConfigError as error:
                errors.append(error)
    refuse_all(errors)
    return found


def refuse_all(errors: Sequence[ConfigError]) -> None:
    """Raises ConfigError with the problems of all files, where there are any."""
    if errors:
        problems = tuple(problem for error in errors for problem in error.problems)
        raise ConfigError(problems, fix=FIX, more=sum(error.more for error in errors))


def with_something_to_hold(table: TableConfig, rules: RuleSet) -> RuleSet:
    """The rules. Raises ConfigError where `policy.quarantine` goes by them and none of them can hold a correction back."""
    if table.policy.quarantine and not any(map(can_hold, rules.rules)):
        why = "has no not_null, between, in_set or matches of severity error: `policy.quarantine` holds nothing back"
        raise ConfigError((f"{rules.file}:1: {why}",), fix="add such a rule, or remove `quarantine` from the policy")
    return rules


def shown_path(path: Path) -> str:
    """The path as people in the working folder would type it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
