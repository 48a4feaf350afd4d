"""One table of another tool, as commits of ours go into it: its options, its images, and the sure way for a correction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.values import LakePin, LakeTable
from hudi_reconcile.lake import adopted
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.frames import evaluating, newest, pinned, unmerged
from hudi_reconcile.lake.probe import bucket_options, key_options, sample_of
from hudi_reconcile.ports import Corrective

_HASHING = ".hoodie/.bucket_index/consistent_hashing_metadata"


@dataclass(frozen=True, slots=True)
class ForeignTable:
    """A table that another tool made, adopted for writing."""

    spark: SparkSession
    files: Files
    table: LakeTable

    def options(self, planned: Mapping[str, str]) -> dict[str, str]:
        """Write options beside the planned ones that the table's rows and files ask for.

        Raises RefusedError where they cannot be found out.
        """
        table = self.table
        if self.files.exists(f"{table.path}/{_HASHING}"):
            raise RefusedError(
                f"Hudi table {table.path}: its files are buckets of consistent hashing, whose number changes by itself",
                fix="let the tool that made the table write it, or pull into a new lake.path",
            )
        with evaluating(table.path):
            sample = sample_of(newest(self.spark, table.path), table)
            found = key_options(self.spark, table, planned, sample)
            return {**found, **bucket_options(self.spark, table, planned, sample)}

    def images(self, rows: DataFrame) -> DataFrame:
        """Source images as the table's columns, every one with what orders it."""
        with evaluating(self.table.path):
            found = adopted.images(rows, self.table)
            adopted.refuse_unordered(found, self.table)
        return found

    def refuse_moved(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Raises RefusedError for rows that leave their partition, where Hudi would keep the old copy: buckets."""
        if options.get("hoodie.index.type") != "BUCKET":
            return
        with evaluating(self.table.path):
            moved = adopted.moved_rows(rows, self.table, newest(self.spark, self.table.path))
        if moved:
            raise RefusedError(
                f"Hudi table {self.table.path}: {moved} rows would leave their partition, and its files are buckets: the "
                "old copies would stay",
                fix="delete these rows from the lake with the tool that made it, then sweep again",
            )

    def correction(self, batch: Corrective, pin: LakePin) -> tuple[Corrective, bool]:
        """The batch with the table's own images, and whether Hudi's merge would drop some of it."""
        path, table = self.table.path, self.table
        with evaluating(path):
            now = pinned(self.spark, path, pin)
            found = adopted.as_adopted(batch, table, now)
            adopted.refuse_unordered(cast("DataFrame", found.upserts), table)
            seen = adopted.Shown(now, unmerged(self.spark, path) if table.type == "merge_on_read" else None)
            sure = adopted.mark_field(table) is None or adopted.overtaken_rows(found, table, seen) > 0
        return found, sure
