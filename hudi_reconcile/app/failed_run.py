"""Tells the outputs of a run that an error ended before its folder was there.

Without that CI, monitoring and chat would go on showing the run before it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hudi_reconcile import __version__
from hudi_reconcile.app.clock import HostClock, utc_text
from hudi_reconcile.app.datasets import ends_of
from hudi_reconcile.app.outputs import deliver
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.config.trust import sentences
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import Failure, RunResult, TableResult, run_document
from hudi_reconcile.evidence.names import run_id_at


@contextmanager
def told_to_outputs(
    command: str, config: Config, config_file: str, tables: tuple[TableConfig, ...]
) -> Iterator[dict[str, TableResult]]:
    """An error that leaves the block is delivered as the result of every table, then raised as it was.

    The block puts the results that stand already into the mapping that it gets: what they tell is kept. The run has an id
    of its own, which no folder has. Lines for stderr go with the error as its notes. No outcome, and no exit code, changes.
    """
    started, known = HostClock().utc_micros(), dict[str, TableResult]()
    try:
        yield known
    except Exception as error:
        result = RunResult(
            run_id_at(started, secrets.randbits(12)),
            command,
            utc_text(started),
            utc_text(HostClock().utc_micros()),
            tuple(_failed(table.name, known, error) for table in tables),
            {"tool": __version__, "config": config_file},
            sentences(config),
        )
        for line in _delivered(config, tables, run_document(result)):
            error.add_note(line)
        raise


def _failed(name: str, known: Mapping[str, TableResult], error: Exception) -> TableResult:
    """What stands of the table, ended by the error. Its outcome is the error's, as the exit code will be."""
    outcome, failure = Outcome.UNVERIFIED, _unforeseen(error)
    if isinstance(error, ReconcileError):
        outcome, failure = error.outcome, Failure(error.type, error.message, error.fix)
    return replace(known.get(name, TableResult(name, outcome)), outcome=outcome, error=failure)


def _unforeseen(error: Exception) -> Failure:
    kind = type(error).__name__
    return Failure(kind, f"unexpected {kind}; the traceback is on stderr of the run", "report it with the traceback")


def _delivered(config: Config, tables: tuple[TableConfig, ...], run: Mapping[str, Any]) -> tuple[str, ...]:
    """As `deliver`; a bug in there must not hide the error that is to be told."""
    try:
        return deliver(config.outputs, run, os.environ, ends_of(config, tables))
    except Exception as bug:  # noqa: BLE001 - said, and the first error is raised
        return (f"warning: outputs: unexpected {type(bug).__name__}; not all of them were told",)
