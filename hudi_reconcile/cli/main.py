"""The command line as a whole: settings before the command's name, the command, and the exit code of its outcome.

The one place that turns an exception into output and an exit code.

Text for people goes to stderr; with `--format json` stdout gets one document as well. An exception that nobody foresaw
is `unverified` (3) with its traceback, never 1: exit 1 says that drift was found.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import click

from hudi_reconcile import __version__
from hudi_reconcile.app.log_context import name_run
from hudi_reconcile.app.stop import STOP, describe_stop, get_exit_code
from hudi_reconcile.cli import streams
from hudi_reconcile.cli.options import DEFAULT_CONFIG, Settings, profile_option, set_option
from hudi_reconcile.cli.registry import Commands, find_command
from hudi_reconcile.cli.streams import head
from hudi_reconcile.core.errors import ConfigError, ReconcileError, Terminated, UsageError, explain_full_disk
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.safe_text import defuse_commands, describe_trace, escape_controls

PROGRAM = "hudi-reconcile"
_COMPLETION = "_HUDI_RECONCILE_COMPLETE"
_LEVELS = {-1: logging.WARNING, 0: logging.INFO, 1: logging.DEBUG}
# Nobody read the output to its end, so nobody was told the outcome.
_NOT_DELIVERED = Outcome.UNVERIFIED.exit_code


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    """Print what this tool is and stands on. Starts neither Spark nor a JVM."""
    if not wanted or context.resilient_parsing:
        return
    from hudi_reconcile.app.host import list_versions  # noqa: PLC0415 - keeps --help light

    click.echo("\n".join((f"{PROGRAM} {__version__}", *map(escape_controls, list_versions(os.environ)))))
    context.exit()


@click.group(
    cls=Commands, name=PROGRAM, context_settings={"max_content_width": 120, "help_option_names": ["-h", "--help"]}
)
@click.option(
    "-c",
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    default=DEFAULT_CONFIG,
    show_default=True,
    metavar="FILE",
    help="The config.",
)
@click.option("-q", "--quiet", is_flag=True, help="Log warnings only.")
@click.option("-v", "--verbose", is_flag=True, help="Log what is being done, in detail.")
@profile_option
@set_option
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: stderr is JSON lines and nothing else, what Spark prints too.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Show the version, and Spark's, Hudi's and Java's as a session would use them.",
)  # fmt: skip
@click.pass_context
def group(
    context: click.Context,
    config_path: Path,
    *,
    quiet: bool,
    verbose: bool,
    log_format: str,  # noqa: ARG001 - stderr was set up by `run`, for errors of the command line itself
    profile: str | None,
    assignments: tuple[str, ...],
) -> None:
    """Find where a Hudi table has drifted from its source, and correct it with proof."""
    if quiet and verbose:
        raise UsageError("-q and -v exclude each other", fix="give one of them")
    streams.log_to_stderr(_LEVELS[int(verbose) - int(quiet)])
    context.obj = Settings(config_path, profile, assignments)


def main() -> NoReturn:
    """Run this process's command line; ends in SystemExit with the exit code of the outcome."""
    streams.take_stdout()
    STOP.listen()
    try:
        code = run(sys.argv[1:])
    except BaseException as error:  # noqa: BLE001 - telling of a failure failed too: a full disk, or our own bug. Never 1.
        _tell_least(error)
        code = Outcome.UNVERIFIED.exit_code
    sys.exit(code)


def _tell_least(error: BaseException) -> None:
    """What can be told where a report failed: the exception's class, then its places. Their words may quote rows."""
    streams.complain(f"error: {type(error).__name__} while a failure was told", level="error")
    with contextlib.suppress(Exception):  # an exception of a JVM that is gone has no text any more
        streams.complain(defuse_commands(describe_trace(error)), level="error")


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; nothing escapes, and every failure has been reported."""
    streams.begin(as_lines=_wants_json(arguments, "--log-format"))
    name_run(None)
    if _COMPLETION in os.environ or not {"-h", "--help", "--version"}.isdisjoint(arguments):
        streams.give_stdout_to_help()
    try:
        code = _exit_code(group.main(list(arguments), prog_name=PROGRAM, standalone_mode=False))
        streams.flush()
    except streams.ReaderGone:
        streams.silence()
        return _NOT_DELIVERED
    except SystemExit as exit_:
        if _COMPLETION in os.environ:
            return _completion_code(exit_, arguments)
        if streams.help_has_stdout():  # click leaves so where nobody reads its help
            streams.silence()
            return _NOT_DELIVERED
        return _report(exit_, arguments)  # left by a library: its 1 would look like drift
    except BaseException as error:  # noqa: BLE001 - the one place where all of them end; see `failure`
        return _report(error, arguments)
    return code


# --- helpers ---


def _report(error: BaseException, arguments: Sequence[str]) -> int:
    try:
        return report(
            describe_call_failure(error), command=find_command(arguments), as_json=_wants_json(arguments, "--format")
        )
    except streams.ReaderGone:
        streams.silence()
        return _NOT_DELIVERED


def _completion_code(ending: SystemExit, arguments: Sequence[str]) -> int:
    """How click left a completion: 0, or the shell is not one that it knows."""
    if not ending.code:
        return 0
    asked = os.environ[_COMPLETION]
    legal = " ".join(f"{shell}_source" for shell in ("bash", "zsh", "fish"))
    error = UsageError(f"no completion for {asked!r} (legal: {legal})", fix=f"{_COMPLETION}=bash_source {PROGRAM}")
    return _report(error, arguments)


def _exit_code(returned: object) -> int:
    if isinstance(returned, Outcome):
        return returned.exit_code
    if type(returned) is int:
        return returned
    raise TypeError(f"a command returned {type(returned).__name__} where an Outcome was due")


def _wants_json(arguments: Sequence[str], option: str) -> bool:
    wanted = False
    for word, following in zip(arguments, [*arguments, ""][1:], strict=True):
        if word == "--":
            break
        if word == option:
            wanted = following == "json"
        elif word.startswith(f"{option}="):
            wanted = word == f"{option}=json"
    return wanted


_HELP = "hudi-reconcile --help"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailure:
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


def describe_call_failure(error: BaseException) -> CallFailure:
    """What to tell about an exception."""
    match error:
        case ReconcileError():
            return _foreseen(error)
        case click.exceptions.NoArgsIsHelpError():
            return _failure(Outcome.USAGE, "UsageError", "a command is missing", _name_help(error))
        case click.UsageError():
            return _failure(Outcome.USAGE, "UsageError", error.format_message(), _name_help(error))
        case click.ClickException():
            return _failure(Outcome.USAGE, "UsageError", error.format_message(), _HELP)
        case click.Abort() if not isinstance(error.__context__, KeyboardInterrupt):
            message = "the question was not answered; nothing was written"
            return _failure(Outcome.REFUSED, "RefusedError", message, "answer it, or say --yes")
        case KeyboardInterrupt() | click.Abort():  # click makes an Abort of the first
            return _interruption(error.__context__ if isinstance(error.__context__, Terminated) else error)
        case _:
            full_disk = explain_full_disk(error)
            return _unforeseen(error) if full_disk is None else replace(_foreseen(full_disk), notes=_notes(error))


def report(failure: CallFailure, *, command: str | None, as_json: bool) -> int:
    """Tell people and, with `as_json`, scripts; return the exit code."""
    if failure.traceback:
        streams.complain(defuse_commands(failure.traceback), level="error")
    heading = f"{failure.count:,} problems in the config\n" if failure.count > 1 else ""
    streams.report_complaint(f"{heading}{failure.message}", failure.fix)
    for note in failure.notes:
        streams.complain(note)
    if as_json and not streams.document_is_out():
        streams.emit_json(build_failure_document(failure, command))
    return failure.exit_code


def build_failure_document(failure: CallFailure, command: str | None) -> dict[str, object]:
    """The JSON document of a failed call."""
    error: dict[str, object] = {"type": failure.type, "message": failure.message, "fix": failure.fix}
    if failure.problems:
        error["problems"] = list(failure.problems)
    if notes := [note for note in failure.notes if not note.startswith("::")]:  # but GitHub's commands
        error["notes"] = notes
    return head(command, failure.outcome, exit_code=failure.exit_code, error=error)


# --- helpers ---


def _foreseen(error: ReconcileError) -> CallFailure:
    failure = replace(_failure(error.outcome, error.type, error.message, error.fix), notes=_notes(error))
    if isinstance(error, ConfigError):
        return replace(failure, problems=error.problems, count=len(error.problems) + error.more)
    return failure


def _failure(outcome: Outcome, kind: str, message: str, fix: str) -> CallFailure:
    return CallFailure(outcome=outcome, exit_code=outcome.exit_code, type=kind, message=message, fix=fix)


def _name_help(error: click.UsageError) -> str:
    return f"{error.ctx.command_path} --help" if error.ctx is not None else _HELP


def _interruption(stop: BaseException) -> CallFailure:
    description = describe_stop(stop, "before the end")
    failure = _failure(Outcome.UNVERIFIED, description.type, description.message, description.fix)
    return replace(failure, exit_code=get_exit_code(stop))


def _unforeseen(error: BaseException) -> CallFailure:
    name = type(error).__name__
    return CallFailure(
        outcome=Outcome.UNVERIFIED,
        exit_code=Outcome.UNVERIFIED.exit_code,
        type=name,
        message=f"unexpected {name}; the traceback is on stderr",
        fix="report it with the traceback",
        traceback=f"Traceback, without the words of errors that may quote rows:\n{describe_trace(error)}",
        notes=_notes(error),
    )


def _notes(error: BaseException) -> tuple[str, ...]:
    return tuple(getattr(error, "__notes__", ()))
