"""Who may write where: our own output to stdout, everything else (logs, Spark, Ivy, the JVM, stray prints) to stderr.

The JVM inherits file descriptor 1, so that one is pointed at stderr and our output keeps a copy of the real stdout.
Without `take_stdout` (tests, embedding) output goes to whatever `sys.stdout` is.

PURE: what every JSON document on stdout starts with.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from typing import TextIO

from hudi_reconcile.cli.log_lines import ERROR, INFO, WARNING, LineHandler, LineWriter
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.safe_text import defuse_commands, escape_controls, escape_json


class ReaderGone(Exception):  # noqa: N818 - nothing went wrong here: whoever read stdout stopped
    """Nobody reads stdout any more. Told apart from a broken pipe to the JVM or the database."""


class _Output:
    """The one writer of stdout: whether its JSON document is out, and whether click prints help in this call."""

    def __init__(self) -> None:
        self.stream: TextIO | None = None
        self.document_written = False
        self.is_for_help = False

    def write(self, text: str) -> None:
        try:
            (self.stream or sys.stdout).write(text)
        except BrokenPipeError:
            raise ReaderGone from None

    def flush(self) -> None:
        try:
            (self.stream or sys.stdout).flush()
        except BrokenPipeError:
            raise ReaderGone from None


class _Errors:
    """How stderr is written in this call: as text (None), or by the one writer of JSON lines."""

    def __init__(self) -> None:
        self.lines: LineWriter | None = None


_STAGES = "hudi_reconcile.stages"
_OUT = _Output()
_ERR = _Errors()


def take_stdout() -> None:
    """Keep the real stdout for `emit`, point descriptor 1 at stderr, for children too. A second call does nothing."""
    if _OUT.stream is not None:
        return
    _open_if_closed(2, os.O_WRONLY)
    _open_if_closed(1, os.O_WRONLY)
    if sys.stdout is not None:  # None where the process was started with a closed descriptor
        sys.stdout.flush()
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    private = os.dup(1)
    os.dup2(2, 1)
    # Undecodable names become \udcNN, which is text to people and a legal escape in JSON.
    _OUT.stream = os.fdopen(private, "w", encoding="utf-8", errors="backslashreplace", newline="\n")
    sys.stdout = sys.stderr


def give_stdout_to_help() -> None:
    """Let click print help or completions to the real stdout; for calls that do nothing else."""
    _OUT.is_for_help = True
    if _OUT.stream is not None:
        sys.stdout = _OUT.stream


def help_has_stdout() -> bool:
    """True where this call was left to click's help or completion."""
    return _OUT.is_for_help


def begin(*, as_lines: bool = False) -> None:
    """Forget what an earlier run in this process has written. `as_lines`: stderr gets JSON lines, and nothing else."""
    _OUT.document_written = False
    _OUT.is_for_help = False
    _ERR.lines = None
    if as_lines:
        _ERR.lines = LineWriter()
        if _OUT.stream is not None:  # in a process of our own
            _ERR.lines.take_descriptors()


def emit(text: str) -> None:
    """Write text for people, one line end added, control characters made visible."""
    _OUT.write(f"{escape_controls(text)}\n")
    _OUT.flush()


def emit_json(document: Mapping[str, object]) -> None:
    """Write the one JSON document of this call."""
    _OUT.document_written = True
    # JSON escapes C0 alone; a terminal obeys more. All that is left of these stands inside of texts.
    _OUT.write(escape_json(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)) + "\n")
    _OUT.flush()


def emit_data(text: str) -> None:
    """Write machine-readable text (NDJSON, CSV) as it is, line ends included. Buffered until `flush`."""
    _OUT.write(text)


def flush() -> None:
    """Hand on what is buffered. Raises ReaderGone where nobody reads any more, as every write may."""
    _OUT.flush()


def document_is_out() -> bool:
    """True once this call has written its JSON document: a second one would make stdout unreadable."""
    return _OUT.document_written


def silence() -> None:
    """Drop what is still buffered for a reader that went away, so that the end of the process adds no noise."""
    if _OUT.stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _OUT.stream.fileno())
        os.close(nowhere)


def complain(text: str, *, level: str = INFO, table: str | None = None) -> None:
    """Write a line for people to stderr, control characters made visible. Nothing where stderr is gone.

    `level` and `table` are what a JSON line says; a text that begins with `warning:` is one.
    """
    if _ERR.lines is not None:
        _ERR.lines.write(WARNING if text.startswith("warning:") else level, text, table=table)
        return
    try:
        print(escape_controls(text), file=sys.stderr, flush=True)  # noqa: T201 - this is the one place that prints
    except OSError:
        return


def report_complaint(message: str, fix: str, *, table: str | None = None) -> None:
    """Write an error and its fix to stderr; texts of databases and files are no commands to a CI server."""
    complain(defuse_commands(f"error: {message}\nfix: {fix}"), level=ERROR, table=table)


def log_to_stderr(level: int) -> None:
    """Send this package's log records of a level and above to stderr."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if _ERR.lines is not None:
        handler = LineHandler(_ERR.lines)
    handler.setFormatter(_PrintableFormatter("%(message)s"))
    root = logging.getLogger()
    if not root.handlers:  # py4j logs to the root, with a traceback, which would make Python add a handler for all
        root.addHandler(logging.NullHandler())
    logger = logging.getLogger("hudi_reconcile")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logging.getLogger(_STAGES).setLevel(logging.NOTSET)
    progress = logging.getLogger("hudi_reconcile.progress")
    progress.handlers[:] = []
    progress.propagate, on_terminal = True, is_terminal()
    progress.setLevel(logging.NOTSET)
    if on_terminal and level == logging.INFO:  # a bar; -v has a line for each part instead, -q nothing
        progress.addHandler(_Bar())
        progress.propagate = False
        progress.setLevel(logging.DEBUG)


def hush_stages() -> None:
    """Leave out the lines of stages: what this call shows says them in its own words."""
    logging.getLogger(_STAGES).setLevel(logging.WARNING)


def is_terminal() -> bool:
    """True where stderr is text on a terminal: what is written over and over has a place there only."""
    return _ERR.lines is None and sys.stderr is not None and sys.stderr.isatty()


# --- helpers ---


class _Bar(logging.Handler):
    """One line of the terminal, written over and over; gone when the work is done."""

    def emit(self, record: logging.LogRecord) -> None:
        text = escape_controls(str(getattr(record, "bar", "")))
        try:
            sys.stderr.write("\r\x1b[K" + ("" if getattr(record, "is_last", True) else text))
            sys.stderr.flush()
        except OSError:
            return


class _PrintableFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return escape_controls(super().format(record))


def _open_if_closed(descriptor: int, flags: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        nowhere = os.open(os.devnull, flags)
        if nowhere != descriptor:
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def head(
    command: str | None,
    outcome: Outcome,
    *,
    exit_code: int | None = None,
    error: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The five fields that are always there; `exit_code` differs from the outcome's own after an interruption only."""
    return {
        "version": 1,
        "command": command,
        "outcome": outcome.value,
        "exit_code": outcome.exit_code if exit_code is None else exit_code,
        "error": error,
    }
