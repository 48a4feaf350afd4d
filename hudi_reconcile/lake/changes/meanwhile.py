"""What others did to a table while its history was read: the cleaner, the archiver, a restore, a writer that began earlier."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_reconcile.core.change_range import BEGINNING, Commit, Cut, cut_of
from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.changes.commit_files import commit_of, is_compaction
from hudi_reconcile.lake.changes.looks import disturbed
from hudi_reconcile.lake.timeline import instant_of


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """The timeline of a table at `path` after rows around some commits were read.

    `commits` are those that were known when the reading began, and `writes` the requested times of all writes known then.
    """

    line: Timeline
    path: str
    commits: Sequence[Commit]
    writes: frozenset[str]

    def cut(self) -> Cut | None:
        """What is gone of the history by now. The cleaner may have passed all known commits: a later one is usable first then."""
        known = max((one.instant.requested for one in self.commits), default=BEGINNING)
        later = [Commit(instant_of(action)) for action in self.line.completed() if action.requested > known]
        return cut_of([*self.commits, *later], self.line.retained_from(), self.line.archived_upto())

    def check_undisturbed(self, asked: Sequence[Commit]) -> None:
        """Raises LakeError where others changed what files hold as of the commits asked for."""
        done = self.line.completed()
        new = [(one, json.loads(self.line.commit_json(one))) for one in done if one.requested not in self.writes]
        late = [commit_of(one, document) for one, document in new if not is_compaction(document)]
        why = disturbed(asked, {one.requested for one in (*done, *self.line.archived())}, late)
        if why is not None:
            raise LakeError(f"Hudi table {self.path}: {why}", fix="run it again")
