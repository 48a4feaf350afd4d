"""What a commit into an existing table is made of: its write options and its rows, whoever made the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.values import LakePin, LakeTable
from hudi_reconcile.lake import adopted
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.correct import Correction, prepare
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.foreign_table import ForeignTable
from hudi_reconcile.lake.frames import evaluating
from hudi_reconcile.lake.holdable import check_values
from hudi_reconcile.lake.options import WriteOptions, upsert_options
from hudi_reconcile.lake.schema import as_table
from hudi_reconcile.lake.table import METADATA_PARTITIONS
from hudi_reconcile.ports import Corrective, Frame


@dataclass(frozen=True, slots=True)
class Writer:
    """Prepares commits; makes none."""

    spark: SparkSession
    files: Files
    session: WriteOptions

    def options(self, table: LakeTable) -> dict[str, str]:
        """Options of a commit of full images. Raises RefusedError where another tool's table does not tell its own."""
        has_metadata_table = bool(Timeline(self.spark, table.path).properties().get(METADATA_PARTITIONS, ""))
        found = upsert_options(self.session, table, has_metadata_table=has_metadata_table)
        return found if table.foreign is None else {**found, **self._foreign(table).options(found)}

    def fitted(self, rows: Frame, table: LakeTable) -> DataFrame:
        """The rows in the table's exact schema. Raises LakeError that lists the differences."""
        frame = cast("DataFrame", rows)
        if table.foreign is not None:
            frame = self._foreign(table).images(frame)
        return as_table(frame, table.columns, table.path)

    def rows(self, rows: Frame, table: LakeTable, options: Mapping[str, str]) -> DataFrame:
        """The rows as they may be written with these options. Raises RefusedError for values that Hudi would mix up."""
        frame = self.fitted(rows, table)
        with evaluating(table.path):
            check_values(frame, table.record_key, table.partition_fields)
        if table.foreign is not None:
            self._foreign(table).refuse_moved(frame, options)
        return frame

    def correction(
        self, batch: Corrective, table: LakeTable, pin: LakePin, options: Mapping[str, str]
    ) -> tuple[Corrective, bool]:
        """The batch as the table takes it, and whether Hudi's merge would drop some of it: never in a table of ours."""
        if table.foreign is None:
            return batch, False
        found, sure = self._foreign(table).correction(batch, pin)
        self._foreign(table).refuse_moved(cast("DataFrame", found.upserts), options)
        return found, sure

    def prepared(self, batch: Corrective, table: LakeTable, known_seq: int) -> Correction:
        """The batch as one upsert writes it, its deletes marked. Raises RefusedError for values that Hudi would mix up."""
        with evaluating(table.path):
            found = prepare(batch, table, known_seq) if table.foreign is None else adopted.prepare(batch, table)
            check_values(found.rows, table.record_key, table.partition_fields)
        return found

    def _foreign(self, table: LakeTable) -> ForeignTable:
        return ForeignTable(self.spark, self.files, table)
