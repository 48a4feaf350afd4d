"""What a sweep stands on before it looks: which source, scope, watermark, where digests are made, how keys are cut."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.cost import Choice
from hudi_reconcile.core.segments import Segmentation
from hudi_reconcile.core.standing import Standing
from hudi_reconcile.ports import Edges
from hudi_reconcile.stages.mode import choose_mode
from hudi_reconcile.stages.part import Portion, portion_of
from hudi_reconcile.stages.request import Part, TableJob
from hudi_reconcile.stages.scope import Scope
from hudi_reconcile.stages.watermarks import Watermark


@dataclass(frozen=True, slots=True)
class Ground:
    """Settled for the whole sweep."""

    scope: Scope
    watermark: Watermark
    mode: Choice
    portion: Portion
    standing: Standing

    @property
    def cut(self) -> Segmentation:
        """How the key space is cut."""
        return self.portion.cut


def ground_of(job: TableJob, scope: Scope, watermark: Watermark, edges: Edges, part: Part) -> Ground:
    """Choose where digests are made, and cut the keys of the part that is asked for."""
    mode = choose_mode(job, scope.table, scope.agreement, edges.source, part)
    portion = portion_of(
        job, part, scope, pushdown=mode.pushdown, source=edges.source, lake=edges.lake, clock=edges.clock
    )
    return Ground(scope, watermark, mode, portion, edges.source.standing())
