"""Keys that the lake holds more than once, reduced to their right row in one commit.

Hudi's upsert writes a row into every copy, and its delete on merge_on_read removes one of two copies of a file. So the
partitions that hold a copy are written anew without the copies (`insert_overwrite`): readers see the state before or
the state after. Nothing at all may have been committed since the rows were read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.tables.values import LakeTable
from hudi_reconcile.lake.correct import (
    SEQNO,
    VALIDATOR,
    match_keys,
    quote_path,
    select_exact_versions,
    write_pending_sql,
    write_versions_sql,
)
from hudi_reconcile.lake.schema import fit_to_table
from hudi_reconcile.lake.timeline import WrittenKeys
from hudi_reconcile.ports import Corrective

_PARTITION = "_hoodie_partition_path"
MOST_PARTITIONS = 1_000


@dataclass(frozen=True, slots=True)
class Replacement:
    """All rows that the replaced partitions hold afterwards, the versions that were expected, and the partitions' paths.

    `keys`: how many keys are put right; all others stay as they were.
    """

    rows: DataFrame
    expected: DataFrame
    partitions: tuple[str, ...]
    keys: WrittenKeys


def build_replacement(
    batch: Corrective,
    table: LakeTable,
    now: DataFrame,
    unmerged_rows: DataFrame | None,
    options: Mapping[str, str],
) -> Replacement:
    """The partitions of `now` that hold a copy, or take a right row, without the copies, and the right rows.

    `unmerged_rows` is every row in the files, where logs may hide some of them; `options` are the table's own. Raises
    RefusedError where the partitions cannot be named to Hudi.
    """
    expected = select_exact_versions(cast("DataFrame", batch.expected), table).localCheckpoint()
    keys = expected.select(*table.record_key).distinct().alias("k")
    same = match_keys("t", "k", table.record_key)
    right = fit_to_table(cast("DataFrame", batch.upserts), table.columns, table.path)
    there = now if unmerged_rows is None else unmerged_rows
    partitions = _partitions(keys, right, table, there)
    if options.get("hoodie.index.type") == "BUCKET" or not partitions:
        _refuse_unplaced(keys, right, table, there)
    check_partitions(partitions, table)
    others = now.where(F.col(_PARTITION).isin(*partitions)).alias("t").join(keys, same, "left_anti")
    kept = fit_to_table(
        others.select(*[F.col(f"`{column.name}`") for column in table.columns]), table.columns, table.path
    )
    return Replacement(kept.unionByName(right), expected, partitions, _count_written(expected, table))


def _partitions(keys: DataFrame, right: DataFrame, table: LakeTable, file_rows: DataFrame) -> tuple[str, ...]:
    """The partitions to replace: each that files have a copy in, and each that a right row goes into.

    One that Hudi replaces and that is not among these would lose all its other rows.
    """
    if not table.partition_fields:
        return ("",)
    copies = file_rows.alias("t").join(keys, match_keys("t", "k", table.record_key), "left_semi")
    paths = copies.select(_PARTITION)
    if table.foreign is not None:
        alike = match_keys("t", "r", table.partition_fields)
        paths = paths.union(file_rows.alias("t").join(right.alias("r"), alike, "left_semi").select(_PARTITION))
    return tuple(sorted(row[0] for row in paths.distinct().limit(MOST_PARTITIONS + 1).collect()))


def _refuse_unplaced(keys: DataFrame, right: DataFrame, table: LakeTable, file_rows: DataFrame) -> None:
    """Rows of new keys, in a table whose paths are made of times: whether their partition is there already, nobody can tell.

    Where no partition is named Hudi would replace it; and a second file of one bucket would make the table unreadable.
    """
    if table.foreign is None or not table.foreign.key_generator.startswith("Timestamp"):
        return
    copies = file_rows.alias("t").join(keys, match_keys("t", "k", table.record_key), "left_semi")
    new = right.alias("r").join(copies.alias("t"), match_keys("r", "t", table.record_key), "left_anti")
    unplaced = (
        new.alias("r").join(file_rows.alias("t"), match_keys("r", "t", table.partition_fields), "left_anti").count()
    )
    if unplaced:
        raise RefusedError(
            f"Hudi table {table.path}: {unplaced} new rows go into partitions whose paths are made of times, and partitions "
            "have to be written anew",
            fix="let the tool that made the table insert them (or apply --only delete first), then sweep again",
        )


def _count_written(expected: DataFrame, table: LakeTable) -> WrittenKeys:
    by_key = expected.groupBy(*table.record_key).agg(F.count(SEQNO).alias("_hr_copies"))
    counts = by_key.agg(F.count(F.when(F.col("_hr_copies") > 0, 1)), F.count(F.when(F.col("_hr_copies") == 0, 1)))
    return WrittenKeys(*counts.collect()[0])


def check_partitions(partitions: tuple[str, ...], table: LakeTable) -> None:
    """Raises RefusedError for more partitions than are rewritten for doubled keys, or for a name that holds a comma."""
    if len(partitions) > MOST_PARTITIONS:
        raise RefusedError(
            f"Hudi table {table.path}: doubled keys are spread over more than {MOST_PARTITIONS} partitions, each of which "
            "would be written anew",
            fix="write the table anew into another lake.path (pull --full), or repair it in parts: sweep and apply again",
        )
    if any("," in partition for partition in partitions):
        raise RefusedError(
            f"Hudi table {table.path}: a partition that holds doubled keys has a comma in its path, which Hudi takes for two",
            fix="pull into a new lake.path with another partition_by",
        )


def refuse_clustering(path: str, planned: tuple[str, ...]) -> None:
    """Raises RefusedError beside a planned clustering: it writes the files anew that it was planned for, whatever replaced them.

    Hudi 1.2 keeps upserts out of such files, and not a partition that is replaced: both would be read
    (https://github.com/apache/hudi/issues/18830).
    """
    if planned:
        raise RefusedError(
            f"Hudi table {path}: clustering {', '.join(planned)} is planned and not completed, and this correction has "
            "to write whole partitions anew; nothing was written",
            fix="let it complete, or roll it back, then apply again",
        )


def replace_options(table: LakeTable, view: str, replacement: Replacement, known: Collection[str]) -> dict[str, str]:
    """Write options that replace just these partitions, and refuse where a write was completed that is not one of `known`.

    `known` are the requested times of the completed writes that were there when the partitions were read.
    """
    queries = (
        f"{write_versions_sql(table, view)}#0",
        f"{_write_since_sql(table.path, known)}#0",
        f"{write_pending_sql(table.path)}#1",
    )
    options = {
        "hoodie.precommit.validators": VALIDATOR,
        "hoodie.precommit.validators.single.value.sql.queries": ";".join(queries),
        "hoodie.compact.inline": "false",
        # Two rows of one key outside the plan stay two; each row stays what it was.
        "hoodie.combine.before.insert": "false",
        "hoodie.merge.allow.duplicate.on.inserts": "true",
    }
    if not table.partition_fields:
        return {**options, "hoodie.datasource.write.operation": "insert_overwrite_table"}
    # Named, so that a partition is replaced even where no row is left in it.
    paths = {"hoodie.static.overwrite.partition.paths": ",".join(replacement.partitions)}
    return {**options, **paths, "hoodie.datasource.write.operation": "insert_overwrite"}


def _write_since_sql(path: str, known: Collection[str]) -> str:
    # By name and not by time: the clock of another host may be behind.
    names = ", ".join(f"'{instant}'" for instant in sorted(known))
    return (
        f"select count(*) from hudi_query_timeline('{quote_path(path)}', 'false') where action in "
        f"('commit', 'deltacommit', 'replacecommit') and state = 'COMPLETED' and timestamp not in ({names}) "
        "and 'x' <> '<TABLE_NAME>'"
    )
