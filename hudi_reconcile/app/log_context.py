"""Which run and which table a log line is about. Whoever works names them; whoever writes lines asks. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class _Run:
    """The run of this process: threads, and a JVM's lines, belong to it too."""

    run_id: str | None = None


_TABLE: ContextVar[str | None] = ContextVar("table", default=None)


def name_run(run_id: str | None) -> None:
    """From now on lines are about this run; None: about no run."""
    _Run.run_id = run_id


def get_run() -> str | None:
    """The run that lines are about; None before one began."""
    return _Run.run_id


@contextmanager
def name_table(name: str) -> Iterator[None]:
    """Lines of the block are about this table, in this thread and in those that copy its context."""
    token = _TABLE.set(name)
    try:
        yield
    finally:
        _TABLE.reset(token)


def get_table() -> str | None:
    """The table that lines of this thread are about; None where they are about no single one."""
    return _TABLE.get()
