"""What a Java error of a write to the lake means, and which of its words may be shown. Pure.

A message of Hudi's may hold a key or a value of a row, so one that speaks of rows, or repeats an error of another library,
is left out; the names of the classes always stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_reconcile.core.safe_text import escape_controls
from hudi_reconcile.core.source.jdbc import redact_settings

LOCKED_OUT = "HoodieLockException"
_CONFLICTS = frozenset({"HoodieValidationException", "HoodieWriteConflictException"})
_HUDI = "org.apache.hudi."
_PLAIN = frozenset({
    "AccessDeniedException", "ClassNotFoundException", "ConnectException", "NoClassDefFoundError", "NoSuchMethodException",
    "UnknownHostException", "UnsupportedFileSystemException",
})  # fmt: skip
_ROWS = re.compile(r"(?<!\.)(?:record|key|\brow|value|payload|schema)", re.IGNORECASE)
_LOCK_TAKEN = re.compile(r"unable to acquire the lock|acquired by others|already held", re.IGNORECASE)
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class JavaCause:
    """One link of a Java error's chain of causes: the class's full name, and its message."""

    full_name: str
    message: str = ""

    @property
    def name(self) -> str:
        """The class's short name."""
        return re.split(r"[.$]", self.full_name)[-1]

    @property
    def is_shown(self) -> bool:
        """Whether its message may be shown: Hudi's own that name no row, locks', and what is missing or out of reach."""
        if self.name == LOCKED_OUT or self.name in _PLAIN:
            return True
        return self.full_name.startswith(_HUDI) and _ROWS.search(self.message) is None


def describe_causes(causes: Sequence[JavaCause]) -> str:
    """The classes, outermost first, and after a colon the messages that may be shown, each once, without secrets.

    >>> describe_causes([JavaCause("org.apache.hudi.exception.HoodieLockException", "secret=x is held")])
    'HoodieLockException: secret=*** is held'
    """
    hidden = [cause.message for cause in causes if cause.message and not cause.is_shown]
    shown: list[str] = []
    for cause in causes:
        text = redact_settings(escape_controls((cause.message.splitlines() or [""])[0]))[:_LONGEST]
        if not text or not cause.is_shown or any(other in cause.message for other in hidden):
            continue
        if not any(text in other for other in shown):
            shown = [*(other for other in shown if other not in text), text]
    names = " <- ".join(cause.name for cause in causes)
    return f"{names}: {'; '.join(shown)}" if shown else names


def is_lock_taken(causes: Sequence[JavaCause]) -> bool:
    """True where another writer held the lock for as long as we waited: the last cause says so, and nothing failed below it."""
    if not any(cause.name == LOCKED_OUT for cause in causes):
        return False
    last = causes[-1]
    if last.name == "FileAlreadyExistsException":
        return True
    return last.name == LOCKED_OUT and _LOCK_TAKEN.search(last.message) is not None


def is_lost_race(causes: Sequence[JavaCause]) -> bool:
    """True where another writer came first: it changed the same files, or held the lock."""
    return is_lock_taken(causes) or any(cause.name in _CONFLICTS for cause in causes)


def is_lock_failure(causes: Sequence[JavaCause], provider: str) -> bool:
    """True where the lock provider itself does not work: it cannot be loaded, or refuses the storage, or does not answer."""
    if is_lock_taken(causes):
        return False
    return any(cause.name == LOCKED_OUT or (provider and provider in cause.message) for cause in causes)
