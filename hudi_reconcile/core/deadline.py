"""When work must have ended, by which key of the config, and how that is told. Pure: the clock's reading is a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.errors import TimeLimitError

RUN_KEY = "run.time_limit"


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a time limit. `at_seconds` is by the host's monotonic clock, `key` and `text` are the config's."""

    key: str
    text: str
    at_seconds: float

    def left_seconds(self, now_seconds: float) -> float:
        """How long it is until then; 0 from then on."""
        return max(0.0, self.at_seconds - now_seconds)

    def is_over(self, now_seconds: float) -> bool:
        """Whether it has come."""
        return now_seconds >= self.at_seconds


def find_first_deadline(*deadlines: Deadline | None) -> Deadline | None:
    """The one that comes first, of equals the first named; None where there is none."""
    return min(
        (deadline for deadline in deadlines if deadline is not None),
        key=lambda deadline: deadline.at_seconds,
        default=None,
    )


def name_table_limit(table: str) -> str:
    """What a table's own limit is called.

    >>> name_table_limit("orders")
    'tables[orders].time_limit'
    """
    return f"tables[{table}].time_limit"


def build_unfinished_error(deadline: Deadline, table: str) -> TimeLimitError:
    """A table was worked on when its time was over."""
    if deadline.key == RUN_KEY:
        return _run_error(deadline, f"table {table} was ended before it was done")
    return TimeLimitError(
        f"table {table} was ended before it was done: {deadline.key} of {deadline.text} is over",
        fix=f"raise {deadline.key}, or narrow the work: pull.limit (pages that are done stay), source.where, or "
        "sweep --budget",
    )


def build_unbegun_error(deadline: Deadline, table: str) -> TimeLimitError:
    """The run's time was over before a table's turn."""
    return _run_error(deadline, f"table {table} was not begun")


def _run_error(deadline: Deadline, what: str) -> TimeLimitError:
    return TimeLimitError(
        f"{what}: {deadline.key} of {deadline.text} is over",
        fix=f"raise {deadline.key}, or narrow the work: choose tables by -t or --tag, or more at a time by --jobs",
    )
