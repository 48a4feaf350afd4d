"""The lease of one table held for the length of a block: taken, cleared of what a killed process left, kept up, given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hudi_reconcile.lake import lease_file, recover
from hudi_reconcile.lake.bridge import Timeline, timeline_now
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.table import has_table, is_ours
from hudi_reconcile.lake.write import Target


@contextmanager
def held(target: Target, files: Files, owner: str, *, adopt: bool = False) -> Iterator[Callable[[], None]]:
    """Hold the lease, and give what to call before a write: it raises SupersededError where the lease was lost meanwhile.

    An interrupted process leaves it: only the lease of a dead one lets the next clear up at once. A table that another tool
    made is cleared only where it is adopted.
    """
    path = target.path
    taken = lease_file.take(files, path, owner, timeline_now(target.spark))
    with lease_file.given_back(files, path, taken):
        if has_table(files, path) and (adopt or is_ours(Timeline(target.spark, path).properties())):
            with lease_file.Renewal(files, path, taken.heir):
                recover.clear(target, files, taken.dead)
        lease_file.cleared(files, path, taken)
        with lease_file.Renewal(files, path, taken.lease) as renewal:
            yield renewal.refuse_lost
