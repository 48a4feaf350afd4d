"""`audit purge`: which old runs go, whether the config lets them, and their removal, said in the audit log."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta

from hudi_reconcile.app.actor import actor
from hudi_reconcile.app.clock import HostClock, utc_text
from hudi_reconcile.app.store import store_of
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.scalars import format_duration
from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.evidence.purge import Old, old_runs, purge


@dataclass(frozen=True, slots=True)
class Purged:
    """What was found and, where `head` is set, removed; `head` is the log's after it."""

    old: Old
    older_than: timedelta
    before_utc: str
    head: str | None


def run_purge(config: Config, older_than: timedelta | None, *, do: bool) -> Purged:
    """Find the runs that began longer ago than this (None: than the config's retention), and remove them if `do`.

    Raises:
        UsageError: no age was given and the config has none.
        RefusedError: a legal hold, an age below the retention, or evidence that is not what it was.
    """
    age = _age(config, older_than)
    store, now = store_of(config, os.environ), HostClock().utc_micros()
    before = now - age // timedelta(microseconds=1)
    old = old_runs(store, before)
    head = None
    if do:
        who = actor(os.environ)
        facts = {
            "outcome": "purged",
            "exit_code": 0,
            "started_utc": utc_text(now),
            "ended_utc": utc_text(now),
            "by": who.name,
            "login": who.login,
            "uid": who.uid,
            "older_than": format_duration(age),
        }
        head = purge(store, old, facts)
    return Purged(old, age, utc_text(before), head)


def _age(config: Config, older_than: timedelta | None) -> timedelta:
    retention = config.audit.retention
    if config.audit.hold:
        raise RefusedError("audit.hold is true: nothing is purged", fix="lift the hold in the config first")
    age = retention if older_than is None else older_than
    if age is None:
        raise UsageError(
            "how old is old? Neither --older-than nor audit.retention says",
            fix="for example: hudi-reconcile audit purge --older-than 365d",
        )
    if retention is not None and age < retention:
        raise RefusedError(
            f"audit.retention keeps runs for {format_duration(retention)}, and --older-than {format_duration(age)} is less",
            fix="name a longer time, or change audit.retention",
        )
    return age
