"""Every command that the help lists can be loaded and asked for its own help, and nothing of the contract is missing."""

from __future__ import annotations

import click
import pytest

from hudi_reconcile.cli.main import group, run
from hudi_reconcile.cli.registry import COMMANDS

# Contract, section 3, and `state`: every command with its options and arguments.
CONTRACT = """
init [DIR] --from-props
doctor -t
config show
config validate
config schema
pull -t --full --props --dry-run
sweep -t --where-partition --budget --full --dry-run
findings RUN -t --kind --format
diff RUN1 RUN2 -t --kind --format
plan RUN -t
apply RUN -t --only --approve-deletes --yes --allow-empty-source
run -t --apply
state show -t
state set -t --checkpoint --yes
state reset -t --yes
check -t --fail-on
changes -t --type --from --to --format
report RUN -o
history -t
audit verify
jars list
jars fetch --to
demo --rows --keep
"""
LINES = [line.split() for line in CONTRACT.strip().splitlines()]


def named(words: list[str]) -> click.Command:
    command = COMMANDS[words[0]].load()
    if isinstance(command, click.Group):
        return command.commands[words[1]]
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_command_loads_and_its_help_has_a_sentence(name: str) -> None:
    command = COMMANDS[name].load()

    assert command.name == name
    assert isinstance(command, click.Group) is COMMANDS[name].is_group
    assert command.get_short_help_str(200).endswith(".")


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_command_of_the_contract_is_there_with_its_options(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = named(words)

    options = {spelling for parameter in command.params for spelling in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= options
    assert "--format" in options
    arguments = [word for word in words[1:] if word.isupper() or word.startswith("[")]
    assert [one.make_metavar(click.Context(command)) for one in command.params if isinstance(one, click.Argument)] == (
        arguments
    )
    path = [word for word in words if word.islower() and not word.startswith("-")]
    for asked in ("--help", "-h"):
        assert run([*path, asked]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: hudi-reconcile {' '.join(path)}")


def test_settings_before_the_command_are_those_of_the_contract() -> None:
    spellings = {spelling for parameter in group.params for spelling in parameter.opts}

    assert {"-c", "--config", "-q", "-v", "--version"} <= spellings
