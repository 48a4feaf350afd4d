"""PURE: what every JSON document on stdout starts with (contract §3)."""

from __future__ import annotations

from collections.abc import Mapping

from hudi_reconcile.core.outcome import Outcome


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
