"""The errors that people see, one class per exit code; everything else that escapes is a bug (exit 3).

    ReconcileError
      UsageError       2  the command line, the config, a missing driver or jar
        ConfigError    2  several problems of one config file, all at once
        NotBuiltError  2  in the contract, not in this version
        UnknownRunError 2 nothing in the lake names the run
      UnverifiedError  3  could not finish, or could not compare
        SourceError    3  the database did not answer as needed
        LakeError      3  the Hudi table or its storage did not
        SparkLostError 3  Spark's Java ended under the table
          ExecutorLostError 3  an executor of the cluster was lost
        TimeLimitError 3  the table, or the run, took longer than its `time_limit`
      IncompleteError  4  less was written than planned
        SupersededError 4 another writer won the race; nothing of ours was written
      RefusedError     5  a guard said no; nothing was written

Messages say what failed, on which table or path, expected and found; `fix` is the next thing to type.
They never hold a secret or a value of a row.

Beside them, the nearest legal spelling of an unknown name, for such messages. Pure.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from hudi_reconcile.core.outcome import Outcome

if TYPE_CHECKING:
    from hudi_reconcile.core.result_parts import Guard


class ReconcileError(Exception):
    """Root of all errors with a message for people. `outcome` decides the exit code."""

    outcome: ClassVar[Outcome] = Outcome.UNVERIFIED

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    @property
    def type(self) -> str:
        """The error's name as it stands in `result.json`."""
        return self.__class__.__name__


class UsageError(ReconcileError):
    """The call cannot be carried out as it was made."""

    outcome = Outcome.USAGE


class ConfigError(UsageError):
    """One or more problems in one config file, each with its place, and how many `more` there are than are told."""

    def __init__(self, problems: tuple[str, ...], *, fix: str, more: int = 0) -> None:
        super().__init__("\n".join((*problems, *((f"and {more:,} more",) if more else ()))), fix=fix)
        self.problems = problems
        self.more = more


class NotBuiltError(UsageError):
    """The contract names it, this version does not have it. Says so instead of pretending."""


class UnknownRunError(UsageError):
    """No commit of the table names the run."""


class UnverifiedError(ReconcileError):
    """The comparison could not be made or finished."""

    outcome = Outcome.UNVERIFIED


class SourceError(UnverifiedError):
    """The source database failed, refused or changed under the run."""


class LakeError(UnverifiedError):
    """The Hudi table or its storage failed."""


class SparkLostError(UnverifiedError):
    """Spark's Java ended while a table was worked on."""


class ExecutorLostError(SparkLostError):
    """An executor ended that held rows of a table's work alone; Spark itself goes on."""


class FullDiskError(UnverifiedError):
    """A disk had no room for what was to be written: evidence, the lake's files or Spark's own."""


# What the system says of ENOSPC and EDQUOT; Java repeats it, of whatever machine.
_FULL_DISK = {errno.ENOSPC: "No space left on device", errno.EDQUOT: "Disk quota exceeded"}


def explain_full_disk(error: BaseException, words: str = "") -> FullDiskError | None:
    """The error by name where a disk was full, by the system's number or by the `words` of Java's error; None of any other."""
    said = _FULL_DISK.get(error.errno or 0) if isinstance(error, OSError) else None
    said = said or next((text for text in _FULL_DISK.values() if text in words), None)
    if said is None:
        return None
    place = f" at {error.filename}" if isinstance(error, OSError) and error.filename else ""
    return FullDiskError(
        f"a disk is full{place} ({said})",
        fix="df -h: make room for `reports`, lake.path and spark.local.dir (TMPDIR), then run the same command again",
    )


class TimeLimitError(UnverifiedError):
    """A table was ended, or not begun, since its own `time_limit` or that of the run was over."""


class IncompleteError(ReconcileError):
    """A write ended with less than was planned."""

    outcome = Outcome.INCOMPLETE


class SupersededError(IncompleteError):
    """Another writer changed what we compared before our commit; our attempt left nothing behind."""


class RefusedError(ReconcileError):
    """A guard said no; nothing was written. `guards` are those that were asked, with their numbers."""

    outcome = Outcome.REFUSED

    def __init__(self, message: str, *, fix: str, guards: tuple[Guard, ...] = ()) -> None:
        super().__init__(message, fix=fix)
        self.guards = guards


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived. Not an Exception, so that no handler in between takes it for one and every `finally` runs.

    As SIGINT's does it makes py4j close the connection that it was waiting on: the late answer else is the next question's.
    """


STOPS = (KeyboardInterrupt,)


# Whether two words look alike takes the square of their length to say, for each of the legal ones.
_LONGEST, _MOST = 200, 2_000


def find_nearest_name(name: str, legal: Iterable[str]) -> str | None:
    """The legal name that looks most like this one; None where none comes near."""
    if len(name) > _LONGEST:
        return None
    near = [legal_name for legal_name in islice(legal, _MOST) if len(legal_name) <= _LONGEST]
    matches = get_close_matches(name, near, n=1, cutoff=0.6)
    return matches[0] if matches else None


def suggest_name(name: str, legal: Iterable[str]) -> str:
    """The end of a sentence that asks for the nearest legal name; nothing where none comes near.

    >>> suggest_name("ordres", ["orders", "items"]), suggest_name("x", ["orders"])
    ("; did you mean 'orders'?", '')
    """
    close = find_nearest_name(name, legal)
    return f"; did you mean {close!r}?" if close else ""


def fold(key: str) -> str:
    """A key as Spark's case-insensitive maps have it.

    >>> fold("sessionInitStatement")
    'sessioninitstatement'
    """
    return key.lower()


def find_respelled(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Keys that repeat one before them but for letter case, each with that one.

    >>> list(find_respelled(["a", "b", "A", "b"]))
    [('A', 'a'), ('b', 'b')]
    """
    first: dict[str, str] = {}
    for key in keys:
        if fold(key) in first:
            yield key, first[fold(key)]
        first.setdefault(fold(key), key)


def overlay_options(under: Mapping[str, str], over: Mapping[str, str]) -> dict[str, str]:
    """The options below, then those above: no other spelling of a key above stays, as one of the two would win by chance.

    >>> overlay_options({"opTions": "a", "b": "c"}, {"options": "d"})
    {'b': 'c', 'options': 'd'}
    """
    own = {fold(key) for key in over}
    return {**{key: value for key, value in under.items() if fold(key) not in own}, **over}
