"""Hudi's options that nobody sets but this tool: another value would break what it promises. Pure.

Spark hands a writer's options on in lower case whatever they were written in, so they are compared and merged so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from hudi_reconcile.core.spelling import fold, overlaid, respelled

# Identity of rows, ordering, compare-and-set, the checkpoint, where the table and its timeline are, and that every row that was
# read is written as it was. With Hudi's older names of the same options, which it reads as well (Hudi 1.2.0, ConfigProperty).
_RESERVED = (
    "hoodie.table.", "hoodie.base.path", "hoodie.base.file.format", "hoodie.populate.meta.fields",
    "hoodie.datasource.write.operation", "hoodie.datasource.write.precombine.field", "hoodie.datasource.write.recordkey.",
    "hoodie.datasource.write.partitionpath.", "hoodie.datasource.write.table.", "hoodie.datasource.write.keygenerator.",
    "hoodie.datasource.write.commitmeta.", "hoodie.datasource.write.payload.", "hoodie.datasource.write.reconcile.schema",
    "hoodie.datasource.write.hive_style_partitioning", "hoodie.datasource.write.drop.partition.columns",
    "hoodie.datasource.write.slash.separated.", "hoodie.datasource.write.record.merger.",
    "hoodie.datasource.write.schema.allow.auto.evolution.", "hoodie.datasource.overwrite.",
    "hoodie.datasource.write.insert.drop.duplicates", "hoodie.datasource.insert.dup.policy", "hoodie.combine.before.",
    "hoodie.bulkinsert.overwrite.", "hoodie.write.set.null.for.missing.columns", "hoodie.write.table.version",
    "hoodie.write.record.merge.", "hoodie.record.", "hoodie.write.partial.update.", "hoodie.write.complex.keygen.",
    "hoodie.payload.", "hoodie.compaction.payload.", "hoodie.compaction.record.merger.", "hoodie.precommit.validators",
    "hoodie.clean.failed.writes.policy", "hoodie.cleaner.policy.failed.writes", "hoodie.write.concurrency.mode",
    "hoodie.index.type", "hoodie.index.class", "hoodie.simple.index.update.",
    "hoodie.write.num.retries.on.conflict.failures", "hoodie.allow.empty.commit", "hoodie.allow.operation.metadata.field",
    "hoodie.parquet.outputtimestamptype", "hoodie.parquet.write.utc-timezone.", "hoodie.avro.schema", "hoodie.write.schema",
    "hoodie.timeline.path", "hoodie.timeline.history.path", "hoodie.timeline.layout.", "hoodie.archivelog.folder",
    "hoodie.write.rolling.metadata.",
    # Rows that failed would be left out of a commit that succeeds.
    "hoodie.write.ignore.failed", "hoodie.errortable.",
    # Code that stands between the rows and the files.
    "hoodie.write.merge.handle.", "hoodie.write.concat.handle.", "hoodie.compact.merge.handle.", "hoodie.writestatus.class",
    "hoodie.io.factory.", "hoodie.avro.write.support.", "hoodie.parquet.spark.row.write.support.",
)  # fmt: skip
# Of the table's family, but no property of the table: who cleans and compacts it.
_FREE = ("hoodie.table.services.", "hoodie.table.service.manager.")
_KEY = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)


def reserved_of(options: Iterable[str]) -> list[str]:
    """Those of the options that the tool keeps for itself, in whatever case, sorted."""
    return sorted(key for key in options if fold(key).startswith(_RESERVED) and not fold(key).startswith(_FREE))


def lake_option_problems(options: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What is wrong with `lake.options`: key and text."""
    keys = tuple(options)
    reserved, twice = set(reserved_of(keys)), dict(respelled(keys))
    for key in keys:
        if _KEY.fullmatch(key) is None:
            yield key, "holds a character that no option of Hudi's has (legal: letters, digits and _ . -)"
        elif not key.startswith("hoodie."):
            yield key, "must start with `hoodie.`"
        elif key in reserved:
            yield key, "is set by the tool itself: another value would break what it promises; remove it"
        elif key in twice:
            yield key, f"is another spelling of {twice[key]}; case does not count"


def with_overrides(ours: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """Our options, with the config's over those that it may set; reserved ones stay ours even where no check came before.

    >>> with_overrides({"hoodie.table.name": "a", "hoodie.keep.max.commits": "9"}, {"hoodie.Table.name": "b"})
    {'hoodie.table.name': 'a', 'hoodie.keep.max.commits': '9'}
    """
    reserved = set(reserved_of(overrides))
    return overlaid(ours, {fold(key): value for key, value in overrides.items() if key not in reserved})
