"""The one place that turns an exception into output and an exit code.

Text for people goes to stderr; with `--format json` stdout gets one document as well. An exception that nobody foresaw
is `unverified` (3) with its traceback, never 1: exit 1 says that drift was found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import click

from hudi_reconcile.cli import streams
from hudi_reconcile.cli.documents import head
from hudi_reconcile.core.errors import ConfigError, ReconcileError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.terminal import without_commands
from hudi_reconcile.core.traces import trace_of

INTERRUPTED, TERMINATED = 130, 143
_HELP = "hudi-reconcile --help"


class Terminated(BaseException):
    """SIGTERM arrived. Not an Exception, so that no handler in between takes it for one and every `finally` runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a call failed: the contract's words and code, and the text for people.

    `problems` are those of a config file that are told, `count` is how many it has.
    `notes` are lines for stderr as they are, such as annotations for a CI server.
    """

    outcome: Outcome
    exit_code: int
    type: str
    message: str
    fix: str
    problems: tuple[str, ...] = ()
    count: int = 0
    traceback: str = ""
    notes: tuple[str, ...] = ()


def failure_of(error: BaseException) -> Failure:
    """What to tell about an exception."""
    match error:
        case ReconcileError():
            return _foreseen(error)
        case click.exceptions.NoArgsIsHelpError():
            return _failure(Outcome.USAGE, "UsageError", "a command is missing", _help_of(error))
        case click.UsageError():
            return _failure(Outcome.USAGE, "UsageError", error.format_message(), _help_of(error))
        case click.ClickException():
            return _failure(Outcome.USAGE, "UsageError", error.format_message(), _HELP)
        case click.Abort() if not isinstance(error.__context__, KeyboardInterrupt):
            message = "the question was not answered; nothing was written"
            return _failure(Outcome.REFUSED, "RefusedError", message, "answer it, or say --yes")
        case KeyboardInterrupt() | click.Abort():
            return _interruption("interrupted", INTERRUPTED)
        case Terminated():
            return _interruption("terminated", TERMINATED)
        case _:
            return _unforeseen(error)


def report(failure: Failure, *, command: str | None, as_json: bool) -> int:
    """Tell people and, with `as_json`, scripts; return the exit code."""
    if failure.traceback:
        streams.complain(without_commands(failure.traceback))
    heading = f"{failure.count:,} problems in the config\n" if failure.count > 1 else ""
    streams.complain_of(f"{heading}{failure.message}", failure.fix)
    for note in failure.notes:
        streams.complain(note)
    if as_json and not streams.document_is_out():
        streams.emit_json(document_of(failure, command))
    return failure.exit_code


def document_of(failure: Failure, command: str | None) -> dict[str, object]:
    """The JSON document of a failed call (contract §3)."""
    error: dict[str, object] = {"type": failure.type, "message": failure.message, "fix": failure.fix}
    if failure.problems:
        error["problems"] = list(failure.problems)
    return head(command, failure.outcome, exit_code=failure.exit_code, error=error)


# --- helpers ---


def _foreseen(error: ReconcileError) -> Failure:
    found = replace(_failure(error.outcome, error.type, error.message, error.fix), notes=_notes(error))
    if isinstance(error, ConfigError):
        return replace(found, problems=error.problems, count=len(error.problems) + error.more)
    return found


def _failure(outcome: Outcome, kind: str, message: str, fix: str) -> Failure:
    return Failure(outcome=outcome, exit_code=outcome.exit_code, type=kind, message=message, fix=fix)


def _help_of(error: click.UsageError) -> str:
    return f"{error.ctx.command_path} --help" if error.ctx is not None else _HELP


def _interruption(word: str, exit_code: int) -> Failure:
    return Failure(
        outcome=Outcome.UNVERIFIED,
        exit_code=exit_code,
        type="Interrupted",
        message=f"{word} before the end",
        fix="run the same command again; that is safe",
    )


def _unforeseen(error: BaseException) -> Failure:
    name = type(error).__name__
    return Failure(
        outcome=Outcome.UNVERIFIED,
        exit_code=Outcome.UNVERIFIED.exit_code,
        type=name,
        message=f"unexpected {name}; the traceback is on stderr",
        fix="report it with the traceback",
        traceback=f"Traceback, without the words of errors that may quote rows:\n{trace_of(error)}",
        notes=_notes(error),
    )


def _notes(error: BaseException) -> tuple[str, ...]:
    return tuple(getattr(error, "__notes__", ()))
