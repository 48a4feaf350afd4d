"""How busy a source is with others, and whether a sweep has to let it alone for that. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """Statements of others that run now, and how far the slowest replica is behind.

    None where the server does not tell; `untold` says why, and what would let it.
    """

    statements: int | None
    lag_seconds: float | None
    untold: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimits:
    """How busy a source may be while it is read; None sets no limit."""

    statements: int | None
    lag_seconds: float | None


def find_busy_reason(limits: LoadLimits, load: ServerLoad, place: str) -> str:
    """Why the source has to be let alone; empty where it may be read.

    Raises UsageError for a limit on what the server does not tell: it would never hold.

    >>> find_busy_reason(LoadLimits(statements=20, lag_seconds=None), ServerLoad(25, None), "db:5432/shop")
    'db:5432/shop runs 25 statements of others, more than 20'
    """
    if limits.statements is not None:
        if load.statements is None:
            raise _untold("statements", load, place)
        if load.statements > limits.statements:
            return f"{place} runs {load.statements} statements of others, more than {limits.statements}"
    if limits.lag_seconds is not None:
        if load.lag_seconds is None:
            raise _untold("lag", load, place)
        if load.lag_seconds > limits.lag_seconds:
            return f"a replica is {load.lag_seconds:.0f} s behind, more than {limits.lag_seconds:g} s ({place})"
    return ""


def _untold(key: str, load: ServerLoad, place: str) -> UsageError:
    return UsageError(
        f"sweep.pause.{key} cannot be kept: {place} does not tell: {load.untold}",
        fix=f"do as it says, or take sweep.pause.{key} out; sweep.pause.file works everywhere",
    )
