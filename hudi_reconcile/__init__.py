"""Reconciliation and data-quality auditor for Apache Hudi: pull, sweep, plan, apply, prove.

The commands for programs are here (docs/python.md): `load` reads a config; `pull`, `sweep`, `plan`, `apply`, `run` and `check`
take what it returns, `changes` asks what happened to a table, and `feed` hands it on. Types: the stub beside this file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__version__ = "0.1.0"
_COMMANDS = ("apply", "check", "load", "plan", "pull", "run", "sweep")
__all__ = ["__version__", "changes", "feed", *_COMMANDS]  # noqa: PLE0604 - they are texts


def __getattr__(name: str) -> Any:
    """A command, imported when it is asked for: importing this package loads neither Spark nor a database's driver."""
    if name == "feed":
        return import_module("hudi_reconcile.app.change_consumers").feed_frames
    if name not in _COMMANDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("hudi_reconcile.app.project"), name)


def changes(
    table: str | None = None,
    type: str | None = None,  # noqa: A002 - as the command line's --type
    from_: str = "earliest",
    to: str = "latest",
    *,
    path: str | None = None,
    config: object = "reconcile.yaml",
    **further: Any,
) -> DataFrame:
    """What changed in a table, of the config or at a path, between two instants, as a Spark frame (docs/change-queries.md).

    Args:
        table: its name in the config.
        type: `append-only`, `upsert`, `min-delta` or `full-delta`.
        from_: exclusive; a Hudi instant (completion time), an ISO time in UTC, `earliest` or `latest`.
        to: inclusive; as `from_`.
        path: a Hudi table by its path or URI, in place of `table`: no config is read.
        config: the config file, or a project that `load` has read.
        **further: `corrections_only`, `soft_deletes`, and `reader` (`log` or `files`), as the command's options.

    Returns:
        Columns `op` (`i`, `u`, `d`; `upsert`), `key`, `before`, `after` (structs of the table's columns in their own types,
        NULL where there is no row), `instant` (completion time), `correction` (struct `run_id`, `plan_id`, `kind`, or NULL). No
        order; `mask` hides only what is printed. In the running Spark, or in one that is started for it and stays.

    Raises:
        UsageError: there is no such table or instant, or the answer would not be exact; `fix` says what to ask instead.
    """
    # By name: every room may import this module, so it may import none; importing it stays free of Spark.
    app: Any = import_module("hudi_reconcile.app.changes")
    answer: DataFrame = app.answer_changes(table, path, type, config, {"from_": from_, "to": to, **further})
    return answer
