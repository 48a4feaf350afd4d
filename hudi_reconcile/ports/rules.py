"""What the stages ask of the engine that runs rules on a table's rows, and of the host's clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hudi_reconcile.core.rules.rules import Rule
from hudi_reconcile.core.rules.verdict import FailedKeys, Measured, Totals
from hudi_reconcile.ports.lake import Frame

HELD_RULES = "_hr_rules"  # the column beside the keys of held corrections


@dataclass(frozen=True, slots=True)
class KeysTarget:
    """Where the keys of a rule's failed rows go.

    `key` are the lake's names, `folder` is to be made, `path` is what the result calls it, `rows` how many are expected.
    """

    key: tuple[str, ...]
    folder: str
    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class QuarantinedRows:
    """Corrections that must not be written, and how many break which rule.

    `keys` are their record keys, under the lake's names, with the ids of the broken rules as `HELD_RULES`.
    """

    keys: Frame
    by_rule: Mapping[str, int]


class Quarantine(Protocol):
    """The rules that hold corrections back."""

    def hold_rows(self, images: Frame, key: tuple[str, ...]) -> QuarantinedRows:
        """Those of these full lake images that break a rule, listed in the run's folder; NULLs break `not_null` only.

        Raises RefusedError where a rule cannot be asked of them.
        """
        ...


class RowFiles(Protocol):
    """Evidence's rows, as Parquet in a folder of this machine, wherever Spark runs."""

    def save(self, rows: Frame, folder: str, count: int, order: Sequence[str] = ()) -> int:
        """Write the rows, `count` as far as is known, ordered by these columns, into a folder beside what is there.

        Returns how many rows the folder holds afterwards.
        """
        ...

    def load(self, files: Collection[str]) -> Frame:
        """The rows of these files, all of one schema."""
        ...


class RuleEngine(Protocol):
    """Runs rules on frames where they are; counts and small samples come back, rows do not."""

    def measure(self, rows: Frame, rules: tuple[Rule, ...]) -> Mapping[str, Measured]:
        """What was counted for each rule, by its id; one that cannot run says why and hides no other."""
        ...

    def save_keys(self, rows: Frame, rule: Rule, target: KeysTarget) -> FailedKeys | None:
        """Write the keys of every failed row as Parquet; None where the rule names no rows.

        A row stands there as often as it failed. Raises UnverifiedError where they cannot be read.
        """
        ...

    def sum_column(self, rows: Frame, column: str) -> Totals:
        """The column's exact sum and its ends, NULLs left out. Raises UnverifiedError where they cannot be had."""
        ...


class Clock(Protocol):
    """The host's clock, for display and waiting; correctness uses the source's and the lake's clocks."""

    def utc_micros(self) -> int:
        """Microseconds since 1970, UTC."""
        ...

    def monotonic_seconds(self) -> float:
        """For durations: never set back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait this long."""
        ...
