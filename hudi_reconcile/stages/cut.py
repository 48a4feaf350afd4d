"""How the key space of a table is cut into segments, from its key and its extent."""

from __future__ import annotations

from hudi_reconcile.core.kinds import Kind
from hudi_reconcile.core.segments import HashBy, Segmentation, choose
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.ports import Source
from hudi_reconcile.stages.request import TableJob


def cut_of(job: TableJob, table: SourceTable, source: Source, *, md5: bool = False) -> Segmentation:
    """Key ranges where the first key column is an integer, hash buckets otherwise; a source serves only `md5` ones."""
    integer = table.key_columns[0].kind is Kind.INTEGER
    by: HashBy = "md5" if md5 else "xxhash64"
    return choose(table.key, source.extent(table), integer_key=integer, wanted=job.segments, by=by)
