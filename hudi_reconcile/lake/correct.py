"""A correction: upserts and deletes in one commit, made only if every key is still as it was compared.

Builds the batch and the two pre-commit validators. Deletes travel as rows whose ordering value is one that no other row
has (`hoodie.payload.delete.*`): no column is added, and a table that has nothing but its key works too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import cast
from uuid import uuid4

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import LakeError, NotBuiltError
from hudi_reconcile.core.tables.values import READ_SEQ, LakeColumn, LakeTable, count_parts
from hudi_reconcile.lake.schema import fit_to_table
from hudi_reconcile.lake.timeline import WrittenKeys
from hudi_reconcile.ports import Corrective

DELETE = "_hr_delete"
SEQNO = "_hr_seqno"
VALIDATOR = "org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator"


@dataclass(frozen=True, slots=True)
class DeleteMark:
    """A row whose `field` has this value, as text, is a delete."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class CorrectionBatch:
    """A batch as it is written, the versions it expects, what marks its deletes, and how many keys it writes."""

    rows: DataFrame
    expected: DataFrame
    mark: DeleteMark
    keys: WrittenKeys


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """What must be known of a batch before it is written."""

    rows: int
    keys: int
    greatest_seq: int | None
    upserts_without_seq: int
    keys_without_version: int
    upserts_of_doubled_keys: int
    new_keys: int

    @property
    def written(self) -> WrittenKeys:
        """By whether the lake has them."""
        return WrittenKeys(self.keys - self.new_keys, self.new_keys)


def prepare(batch: Corrective, table: LakeTable, known_seq: int) -> CorrectionBatch:
    """The batch in the table's exact schema, checked.

    Both frames are kept by the count of their facts: they are read several times, one in the middle of the commit, and must
    not move.

    Raises LakeError for other columns or a key that occurs twice, NotBuiltError for an upsert of a key the lake has twice.
    """
    rows, expected = keep_exact(batch, table)
    facts = count_batch_facts(rows, expected, table, READ_SEQ)
    check_facts(facts, table)
    marker = choose_tombstone_seq(facts.greatest_seq, known_seq)
    seq = F.when(F.col(DELETE), F.lit(marker).cast("bigint")).otherwise(F.col(READ_SEQ))
    return CorrectionBatch(
        rows.withColumn(READ_SEQ, seq).drop(DELETE), expected, DeleteMark(READ_SEQ, str(marker)), facts.written
    )


def choose_tombstone_seq(greatest_seq: int | None, known_seq: int) -> int:
    """The ordering value that marks a delete: above every value handed out, and one that no upsert of the batch has.

    The next pull may hand the same value out: on equal values the later write wins.
    """
    return max(greatest_seq or 0, known_seq) + 1


def check_facts(facts: BatchFacts, table: LakeTable) -> None:
    """Raises LakeError for a batch that is not well formed, NotBuiltError for one that Hudi cannot carry out as meant."""
    faults = {
        "keys occur twice in the batch": facts.rows - facts.keys,
        f"upserts have no {READ_SEQ}": facts.upserts_without_seq,
        "keys have no expected version": facts.keys_without_version,
    }
    problems = [f"{count} {what}" for what, count in faults.items() if count]
    if problems:
        raise LakeError(f"correction of {table.path}: {', '.join(problems)}", fix="sweep again")
    if facts.upserts_of_doubled_keys:
        raise NotBuiltError(
            f"correction of {table.path}: {facts.upserts_of_doubled_keys} keys to be updated are in the lake more than "
            "once; Hudi would update every copy",
            fix="delete these keys from the lake, then sweep again",
        )


def keep_exact(batch: Corrective, table: LakeTable) -> tuple[DataFrame, DataFrame]:
    """The rows and the versions in the table's exact types, in few parts; the first job over them materialises both."""
    rows, expected = select_exact_rows(batch, table), select_exact_versions(cast("DataFrame", batch.expected), table)
    if batch.rows is not None:
        parts = count_parts(batch.rows)
        rows, expected = rows.coalesce(parts), expected.coalesce(parts)
    return rows.localCheckpoint(eager=False), expected.localCheckpoint(eager=False)


def select_exact_rows(batch: Corrective, table: LakeTable) -> DataFrame:
    """Upserts and deletes in the table's own columns and types, told apart by `_hr_delete`."""
    upserts = fit_to_table(cast("DataFrame", batch.upserts), table.columns, table.path)
    # A key that the lake holds twice comes as two rows; one delete removes every copy.
    deletes = fit_to_table(cast("DataFrame", batch.deletes), table.columns, table.path).dropDuplicates(
        [*table.record_key]
    )
    return upserts.withColumn(DELETE, F.lit(False)).unionByName(deletes.withColumn(DELETE, F.lit(True)))


def select_exact_versions(expected: DataFrame, table: LakeTable) -> DataFrame:
    """The expected versions, the key in the lake's own types; one row per version."""
    types = {column.name: column for column in table.columns}
    wanted = (*(types[name] for name in table.record_key), LakeColumn(SEQNO, "string"))
    return fit_to_table(expected, wanted, table.path).distinct()


def count_batch_facts(rows: DataFrame, expected: DataFrame, table: LakeTable, seq: str) -> BatchFacts:
    """Count the batch against the expected versions, in one pass. `seq` is what no upsert may lack, as SQL."""
    # The key alone stands beside the facts, so that no column of the table can have their names.
    facts = (
        f"count(1) as rows, max(if({DELETE}, null, {seq})) as seq, count_if(not {DELETE} and {seq} is null) as blank, "
        f"max(not {DELETE}) as is_upserted"
    )
    batch = rows.groupBy(*table.record_key).agg(F.expr(f"struct({facts}) as _hr_batch"))
    copies = expected.groupBy(*table.record_key).agg(F.expr(f"count({SEQNO}) as _hr_copies"))
    joined = batch.alias("b").join(copies.alias("e"), match_keys("b", "e", table.record_key), "left")
    counted = (
        "coalesce(sum(_hr_batch.rows), 0L)",
        "count(1)",
        "max(_hr_batch.seq)",
        "coalesce(sum(_hr_batch.blank), 0L)",
        "count_if(_hr_copies is null)",
        "count_if(_hr_batch.is_upserted and _hr_copies > 1)",
        "count_if(_hr_copies = 0)",
    )
    return BatchFacts(*joined.agg(F.expr(f"struct({', '.join(counted)}) as facts")).collect()[0]["facts"])


def build_correction_options(
    table: LakeTable, view: str, mark: DeleteMark, clusterings: tuple[str, ...] = ()
) -> dict[str, str]:
    """Write options that delete by marker and refuse the commit unless every key is as expected and nobody else writes.

    `clusterings` are those that are planned: no writer, and Hudi itself refuses rows for the files that they will take.
    """
    queries = (f"{write_versions_sql(table, view)}#0", f"{write_pending_sql(table.path, clusterings)}#1")
    return {
        "hoodie.payload.delete.field": mark.field,
        "hoodie.payload.delete.marker": mark.text,
        "hoodie.precommit.validators": VALIDATOR,
        "hoodie.precommit.validators.single.value.sql.queries": ";".join(queries),
        # The commit is to be the correction alone: a failing compaction after it would hide its outcome.
        "hoodie.compact.inline": "false",
    }


@contextmanager
def read_without_index(spark: SparkSession) -> Iterator[None]:
    """What SQL reads of Hudi tables, it reads without any index, as `load` of this room does, for the length of a block.

    Validators run on threads of a pool that do not know Spark's jars: on a partitioned table with a metadata table the
    index's own query dies there. And an index must never hide the version of a row.
    """
    names = ("hoodie.enable.data.skipping", "hoodie.metadata.enable")
    before = {name: spark.conf.get(name, None) for name in names}
    for name in names:
        spark.conf.set(name, "false")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


@contextmanager
def register_expected(spark: SparkSession, expected: DataFrame) -> Iterator[str]:
    """The expected versions under a name of their own for the validators' SQL, which then reads files and no index."""
    view = f"_hr_expected_{uuid4().hex}"
    expected.createOrReplaceTempView(view)
    try:
        with read_without_index(spark):
            yield view
    finally:
        spark.catalog.dropTempView(view)


def match_keys(alias: str, other_alias: str, keys: tuple[str, ...]) -> SparkColumn:
    """The condition that two aliased frames hold the same key, NULL parts included."""
    return reduce(
        SparkColumn.__and__, (F.col(f"{alias}.`{name}`").eqNullSafe(F.col(f"{other_alias}.`{name}`")) for name in keys)
    )


def write_versions_sql(table: LakeTable, view: str) -> str:
    """How many expected versions are gone, or are there without being expected; 0 where nothing changed."""
    # Reads what is committed now, without our own files; row versions survive rewrites of the file and compaction.
    # Both directions: a version that is gone, and one that is there and was not expected. Hudi wants its table's
    # placeholder somewhere in the text.
    keys = ", ".join(f"`{name}`" for name in table.record_key)
    on = " and ".join(f"p.`{name}` <=> t.`{name}`" for name in table.record_key)
    rows = f"hudi_table_changes('{quote_path(table.path)}', 'latest_state', 'earliest')"
    lake = f"select {keys}, _hoodie_commit_seqno sn from {rows}"
    planned = f"select {keys}, {SEQNO} sn from {view} where {SEQNO} is not null"
    lake_versions = f"select t.* from ({lake}) t left semi join {view} p on {on}"
    return (
        f"select count(*) from ({planned}) p full outer join ({lake_versions}) t on {on} and p.sn = t.sn "
        "where (p.sn is null or t.sn is null) and 'x' <> '<TABLE_NAME>'"
    )


def write_pending_sql(path: str, clusterings: tuple[str, ...] = ()) -> str:
    """How many writers are in flight, our own included."""
    # Without the filter on actions a rollback or clean would count. Our own write is the 1.
    planned = "".join(f" and timestamp <> '{clustering}'" for clustering in clusterings)
    return (
        f"select count(*) from hudi_query_timeline('{quote_path(path)}', 'false') where action in "
        f"('commit', 'deltacommit', 'replacecommit', 'clustering') and state <> 'COMPLETED'{planned} and 'x' <> '<TABLE_NAME>'"
    )


def quote_path(path: str) -> str:
    """The path as it may stand in a validator's query. Raises LakeError for one that cannot."""
    # `;` and `#` part the validator's queries, so they cannot be in one.
    if set(path) & set("'\\;#"):
        raise LakeError(f"lake path {path} holds one of ' \\ ; # and cannot be corrected", fix="move the table")
    return path
