"""Stderr as JSON lines and nothing else: our own records, and each line that Spark, Ivy, a child or a stray print leaves there.

In a process of its own, descriptors 1 and 2 become a pipe: whoever writes to them, the JVM too, writes into it, and a thread
makes a JSON line of each line. What we know the level, run and table of never goes that way.

PURE: how a line is spelled, and of which level a line of another program is.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import select
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from time import time
from types import MappingProxyType

from hudi_reconcile.app.log_context import get_run, get_table
from hudi_reconcile.core.safe_text import escape_controls, escape_json

INFO, WARNING, ERROR = "info", "warning", "error"
_LOG4J = re.compile(r"(?:\d\d/\d\d/\d\d )?\d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
_LEVELS = {"TRACE": "debug", "DEBUG": "debug", "INFO": INFO, "WARN": WARNING, "ERROR": ERROR, "FATAL": ERROR}
_CONTINUES = re.compile(r"\s+\S|Caused by: |then:$")
_BEGINS_TRACE = re.compile(r"Traceback \(most recent call last\)|Exception in thread |Exception ignored in")
_MORE = ("stage", "seconds")
NOTHING: Mapping[str, object] = MappingProxyType({})
_IDLE_SECONDS = 0.3  # a prompt has no line end
_END_SECONDS = 2.0
_CHUNK_BYTES = 65_536
_MOST_BYTES = 1_000_000  # a longer line becomes several


def spell_line(
    seconds: float,
    level: str,
    message: str,
    *,
    run_id: str | None = None,
    table: str | None = None,
    more: Mapping[str, object] = NOTHING,
) -> str:
    """One JSON line, without its end. `seconds` are since 1970, UTC; `more` are fields of this line alone."""
    when = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line: dict[str, object] = {
        "ts": when,
        "level": level,
        "run_id": run_id,
        "table": table,
        "message": escape_controls(message),
    }
    line |= more
    return escape_json(json.dumps(line, ensure_ascii=False))


def judge_level(text: str, before: str) -> str:
    r"""The level of a line that another program printed; a stack trace has the level of the line before it.

    >>> judge_level("12:00:01 WARN Utils: a", "info"), judge_level("\tat a.B.c(B.java:7)", "error")
    ('warning', 'error')
    """
    if match := _LOG4J.match(text):
        return _LEVELS[match[1]]
    if _BEGINS_TRACE.match(text):
        return ERROR
    return before if _CONTINUES.match(text) else INFO


class LineWriter:
    """Writes JSON lines to stderr as it was when this was made; never raises where nobody reads them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._thread: threading.Thread | None = None

    def write(
        self,
        level: str,
        message: str,
        *,
        table: str | None = None,
        seconds: float | None = None,
        more: Mapping[str, object] = NOTHING,
    ) -> None:
        """Write one line. The run, and the table where none is given, are those of the work that is under way."""
        now = time() if seconds is None else seconds
        line = spell_line(now, level, message, run_id=get_run(), table=table or get_table(), more=more)
        self._put(f"{line}\n")

    def take_descriptors(self) -> None:
        """Turn what anyone writes to descriptor 1 or 2 into JSON lines, until the process ends. A second call does nothing."""
        if self._descriptor is not None:
            return
        sys.stderr.flush()
        self._descriptor = os.dup(2)
        read_end, write_end = os.pipe()
        os.dup2(write_end, 2)
        os.dup2(write_end, 1)
        os.close(write_end)
        self._thread = threading.Thread(target=self._pump, args=(read_end,), name="log-lines", daemon=True)
        self._thread.start()
        atexit.register(self._end)  # after those who register later: what they print is still a line

    def _end(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        if self._thread is not None:  # a child that outlives us keeps the pipe open
            self._thread.join(_END_SECONDS)

    def _put(self, text: str) -> None:
        with self._lock, suppress(OSError, ValueError):
            if self._descriptor is None:
                sys.stderr.write(text)
                sys.stderr.flush()
                return
            view = memoryview(text.encode("utf-8", "backslashreplace"))
            while view:
                view = view[os.write(self._descriptor, view) :]

    def _pump(self, read_end: int) -> None:
        rest, level, is_open = b"", INFO, True
        while is_open:
            idle = bool(rest) and not select.select([read_end], [], [], _IDLE_SECONDS)[0]
            chunk = b"" if idle else os.read(read_end, _CHUNK_BYTES)
            is_open = idle or bool(chunk)
            *lines, rest = re.split(rb"[\r\n]+", rest + chunk)
            if rest and (not chunk or len(rest) > _MOST_BYTES):
                lines, rest = [*lines, rest], b""
            for line in filter(None, lines):
                text = line.decode("utf-8", "replace")
                level = judge_level(text, level)
                self.write(level, text)
        os.close(read_end)


class LineHandler(logging.Handler):
    """This package's log records as JSON lines."""

    def __init__(self, writer: LineWriter) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record; `table`, `stage` and `seconds` may be given by `extra`."""
        more = {name: value for name in _MORE if (value := getattr(record, name, None)) is not None}
        table, level = getattr(record, "table", None), record.levelname.lower()
        self._writer.write(level, self.format(record), table=table, seconds=record.created, more=more)
