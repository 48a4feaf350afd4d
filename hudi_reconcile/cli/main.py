"""The command line as a whole: settings before the command's name, the command, and the exit code of its outcome."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from hudi_reconcile import __version__
from hudi_reconcile.cli import streams
from hudi_reconcile.cli.failure import Terminated, failure_of, report
from hudi_reconcile.cli.options import DEFAULT_CONFIG, Settings
from hudi_reconcile.cli.registry import Commands, called_command
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome

PROGRAM = "hudi-reconcile"
_COMPLETION = "_HUDI_RECONCILE_COMPLETE"
_LEVELS = {-1: logging.WARNING, 0: logging.INFO, 1: logging.DEBUG}
# Nobody read the output to its end, so nobody was told the outcome.
_NOT_DELIVERED = Outcome.UNVERIFIED.exit_code


@click.group(cls=Commands, name=PROGRAM, context_settings={"max_content_width": 120})
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
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def group(context: click.Context, config_path: Path, *, quiet: bool, verbose: bool) -> None:
    """Find where a Hudi table has drifted from its source, and correct it with proof."""
    if quiet and verbose:
        raise UsageError("-q and -v exclude each other", fix="give one of them")
    verbosity = int(verbose) - int(quiet)
    streams.log_to_stderr(_LEVELS[verbosity])
    context.obj = Settings(config_path, verbosity)


def main() -> NoReturn:
    """Run this process's command line; ends in SystemExit with the exit code of the outcome."""
    streams.take_stdout()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = run(sys.argv[1:])
    except BaseException:  # noqa: BLE001 - telling of a failure failed too: a full disk, or our own bug. Never 1.
        with contextlib.suppress(OSError):
            traceback.print_exc()
        code = Outcome.UNVERIFIED.exit_code
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; nothing escapes, and every failure has been reported."""
    streams.begin()
    if _COMPLETION in os.environ or not {"--help", "--version"}.isdisjoint(arguments):
        streams.give_stdout_to_help()
    try:
        code = _exit_code(group.main(list(arguments), prog_name=PROGRAM, standalone_mode=False))
        streams.flush()
    except streams.ReaderGone:
        streams.silence()
        return _NOT_DELIVERED
    except SystemExit as exit_:
        if _COMPLETION in os.environ:
            raise
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
        return report(failure_of(error), command=called_command(arguments), as_json=_wants_json(arguments))
    except streams.ReaderGone:
        streams.silence()
        return _NOT_DELIVERED


def _exit_code(returned: object) -> int:
    if isinstance(returned, Outcome):
        return returned.exit_code
    if type(returned) is int:
        return returned
    raise TypeError(f"a command returned {type(returned).__name__} where an Outcome was due")


def _wants_json(arguments: Sequence[str]) -> bool:
    wanted = False
    for word, following in zip(arguments, [*arguments, ""][1:], strict=True):
        if word == "--":
            break
        if word == "--format":
            wanted = following == "json"
        elif word.startswith("--format="):
            wanted = word == "--format=json"
    return wanted


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal module's signature
    # A second one must not cut short what the first one made run; SIGKILL remains.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated
