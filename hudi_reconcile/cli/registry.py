"""Which commands there are, in families, and where each lives. A command's module is imported when it is called."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import click

from hudi_reconcile.cli import streams
from hudi_reconcile.core.errors import ReconcileError, suggest_name
from hudi_reconcile.core.result_queries import add_config

_ROOM: Final = "hudi_reconcile.cli.commands"


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: its name, `module:attribute` below this room, and its line in the help."""

    name: str
    target: str
    help: str
    is_group: bool = False

    def load(self) -> click.Command:
        """Import the command."""
        module, attribute = self.target.split(":")
        command: click.Command = getattr(import_module(f"{_ROOM}.{module}"), attribute)
        return command


FAMILIES: Final[tuple[tuple[str, tuple[Entry, ...]], ...]] = (
    (
        "Set up",
        (
            Entry("init", "setup:init", "Write a commented config; or one that a catalog proposes."),
            Entry("doctor", "setup:doctor", "Check every precondition, one line each, with the fix."),
            Entry("config", "setup:config", "Show or check the config; its JSON Schema.", is_group=True),
            Entry("rules", "rules:rules", "Check the rules files; their JSON Schema.", is_group=True),
            Entry("jars", "setup:jars", "List or fetch the jars that Spark needs.", is_group=True),
            Entry("demo", "setup:demo", "The whole story on an embedded PostgreSQL and a Hudi table."),
        ),
    ),
    (
        "Work",
        (
            Entry("pull", "work:pull", "Bring new and changed rows into the lake."),
            Entry("sweep", "work:sweep", "Compare source and lake; write a plan, never the lake."),
            Entry("plan", "archive:plan", "Show what apply would do, and the guards."),
            Entry("approve", "audit:approve", "Approve a plan; the audit log records who did."),
            Entry("apply", "work:apply", "Carry out a plan in one commit, and verify it."),
            Entry("undo", "work:undo", "Take an apply back: one commit, only what nobody touched since."),
            Entry("run", "work:run", "Pull, sweep, apply if asked, rules, report: the nightly entry."),
            Entry("state", "work:state", "Show or set the checkpoint of a table.", is_group=True),
            Entry("check", "rules:check", "Run the rules alone: the CI gate."),
        ),
    ),
    (
        "Look",
        (
            Entry("findings", "archive:findings", "List every finding of a run."),
            Entry("diff", "archive:diff", "Show which findings came, went and stayed between two runs."),
            Entry("changes", "changes:changes", "List what changed in a table, and what was a correction."),
            Entry("report", "archive:report", "Rebuild the HTML report from a run's files."),
            Entry("history", "archive:history", "List runs and their outcomes, newest first."),
            Entry(
                "audit",
                "audit:audit",
                "Verify the log and the commits of all runs; delete old runs.",
                is_group=True,
            ),
        ),
    ),
)

COMMANDS: Final = {entry.name: entry for _, entries in FAMILIES for entry in entries}


class Commands(click.Group):
    """A group that knows its commands by name and line of help, and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """The command of a name; imports its module."""
        entry = COMMANDS.get(cmd_name)
        return entry.load() if entry else None

    def invoke(self, ctx: click.Context) -> object:
        """Run the called command. A pipe that broke on the way keeps its traceback: click would leave with a bare 1.

        The commands that an error's fix names get the config file of this call.
        """
        try:
            return super().invoke(ctx)
        except ReconcileError as error:
            profile = getattr(ctx.obj, "profile", None)
            error.fix = add_config(error.fix, str(ctx.params["config_path"]), profile)
            raise
        except OSError as error:
            if error.errno != errno.EPIPE:
                raise
            if streams.help_has_stdout():
                raise streams.ReaderGone from error
            raise ConnectionError("a connection to the JVM, the database or a child process broke") from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The called command and its arguments; an unknown name is answered with the nearest and all legal ones."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}{suggest_name(args[0], COMMANDS)} (legal: {', '.join(COMMANDS)})")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """The families, without importing any of them."""
        for title, entries in FAMILIES:
            with formatter.section(title):
                formatter.write_dl([(entry.name, entry.help) for entry in entries])


def find_command(arguments: Sequence[str]) -> str | None:
    """The command that a command line calls, such as `sweep` or `config show`; None where none can be made out."""
    words = iter(arguments)
    for word in words:
        if word in ("-c", "--config", "--log-format", "--profile", "--set"):
            next(words, None)
        elif not word.startswith("-"):
            entry = COMMANDS.get(word)
            below = next(words, "-") if entry is not None and entry.is_group else "-"
            return None if entry is None else word if below.startswith("-") else f"{word} {below}"
    return None
