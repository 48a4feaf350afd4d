"""What of a lake table's columns is shown where no source was asked: by the config, and by the columns' names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from hudi_reconcile.app.jobs import job_of, masking_of
from hudi_reconcile.change_queries.lines import Mask
from hudi_reconcile.compare.spelling import hmac_column
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.masking import masking_notes, shown_names
from hudi_reconcile.core.partitions import in_full
from hudi_reconcile.core.values import LakeTable


@dataclass(frozen=True, slots=True)
class LakeMasks:
    """The masked columns of a lake table, `hmac` or `redact` by lake name, and what to say of those masked for their names."""

    hidden: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def shown(self, key: bytes) -> Mapping[str, Mask]:
        """What is shown in place of the values; `key` is for `hmac`."""
        return {name: None if how == "redact" else partial(hmac_column, key=key) for name, how in self.hidden.items()}


def lake_masks(table: TableConfig, lake: LakeTable) -> LakeMasks:
    """Which columns of the lake table are masked: those that a sweep masks, and what only the lake has by its name there."""
    sources = {lake_name: source for source, lake_name in table.compare.rename.items()}
    columns = {sources.get(one.name, one.name): one.name for one in lake.columns}
    derived = [field.lake_name for field in table.lake.partition_by]
    shown = shown_names(
        columns,
        key=[sources.get(name, name) for name in lake.record_key],
        moving=job_of(table, "").moving,
        in_paths=[*in_full(table.lake.partition_by), *derived],
    )
    masking = masking_of(table)
    hidden = {columns[name]: how for name, how in masking.of_columns(columns, shown).items()}
    return LakeMasks(hidden, masking_notes(masking, columns, shown))
