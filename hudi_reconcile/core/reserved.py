"""Hudi's options that nobody sets but this tool: another value would break what it promises. Pure."""

from __future__ import annotations

from collections.abc import Iterable

# Identity of rows, ordering, compare-and-set, the checkpoint, and that every row that was read is written as it was.
_RESERVED = (
    "hoodie.table.name", "hoodie.table.ordering.fields", "hoodie.table.precombine.field", "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields", "hoodie.table.cdc.", "hoodie.table.version", "hoodie.populate.meta.fields",
    "hoodie.datasource.write.operation", "hoodie.datasource.write.precombine.field", "hoodie.datasource.write.recordkey.",
    "hoodie.datasource.write.partitionpath.", "hoodie.datasource.write.table.type", "hoodie.datasource.write.keygenerator.",
    "hoodie.datasource.write.commitmeta.", "hoodie.datasource.write.payload.", "hoodie.datasource.write.reconcile.schema",
    "hoodie.datasource.write.hive_style_partitioning", "hoodie.datasource.write.drop.partition.columns",
    "hoodie.datasource.write.insert.drop.duplicates", "hoodie.datasource.insert.dup.policy", "hoodie.combine.before.",
    "hoodie.write.set.null.for.missing.columns", "hoodie.write.table.version", "hoodie.write.record.merge.", "hoodie.record.",
    "hoodie.payload.", "hoodie.precommit.validators", "hoodie.clean.failed.writes.policy",
    "hoodie.cleaner.policy.failed.writes", "hoodie.write.concurrency.mode", "hoodie.index.type", "hoodie.simple.index.update.",
    "hoodie.write.num.retries.on.conflict.failures", "hoodie.allow.empty.commit", "hoodie.allow.operation.metadata.field",
    "hoodie.parquet.outputtimestamptype", "hoodie.avro.schema", "hoodie.write.schema",
)  # fmt: skip


def reserved_of(options: Iterable[str]) -> list[str]:
    """Those of the options that the tool keeps for itself, sorted."""
    return sorted(key for key in options if key.startswith(_RESERVED))
