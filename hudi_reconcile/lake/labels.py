"""What our commits on a table's active timeline say of themselves: which run made them, by which plan, after which audit line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from hudi_reconcile.core.values import Instant
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.metadata import PREFIX
from hudi_reconcile.lake.timeline import instant_of

KIND, RUN, PLAN, SWEEP, UNDO, HEAD = NAMES = ("kind", "run_id", "plan", "sweep", "undo", "audit_head")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One commit of ours. `labels` holds those of `NAMES` that it carries."""

    instant: Instant
    labels: Mapping[str, str]


def labelled_commits(spark: SparkSession, path: str) -> tuple[Labelled, ...]:
    """Our commits that are not archived yet, newest completion first. Raises LakeError for a timeline that cannot be read."""
    line = Timeline(spark, path)
    found: dict[Instant, dict[str, str]] = {}
    for name in NAMES:
        for text, action in line.metadata(PREFIX + name, archived=False):
            found.setdefault(instant_of(action), {})[name] = text
    newest = sorted(found.items(), key=lambda one: one[0].completed, reverse=True)
    return tuple(Labelled(instant, labels) for instant, labels in newest if KIND in labels)
