"""How far the named consumers of changes are behind. Opens Spark and the lake; never the source, and writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from hudi_reconcile.app.clock import HostClock
from hudi_reconcile.app.engines import session_request
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.consumers import Lag, lag_of
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.lake.positions import Positions
from hudi_reconcile.spark.session import Session, open_session


def lags(config: Config, tables: Collection[str]) -> Mapping[str, tuple[Lag, ...]]:
    """Of each table, in the order of the config, its consumers by name; `tables` empty: of all.

    Raises UsageError for an unknown table, LakeError for a position that cannot be read.
    """
    chosen = [config.table(name) for name in tables] or config.tables
    with open_session(replace(session_request(config), short=True)) as session:
        return {table.name: _lags(session, table.lake.path) for table in chosen}


def _lags(session: Session, path: str) -> tuple[Lag, ...]:
    positions = Positions(session.spark, path).all()
    if not positions:
        return ()
    try:
        history = HudiHistory(session.spark, path)
        commits = history.commits()
        cut = history.cut(commits)
    except UsageError as error:
        return tuple(Lag(one.consumer, one.kind, one.instant, one.pending, why=error.message) for one in positions)
    now = HostClock().utc_micros()
    return tuple(lag_of(one, commits, cut, now) for one in positions)
