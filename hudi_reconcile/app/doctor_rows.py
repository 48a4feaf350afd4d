"""What `doctor` counts in a source table: rows that the watermark hides from pulls. A few counts, and no row is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hudi_reconcile.app.doctor_checks import Check, failed
from hudi_reconcile.app.jobs import job_of, request_of
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ReconcileError, UsageError
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.source.engine import Engine
from hudi_reconcile.source.table_source import TableSource
from hudi_reconcile.stages.pull_start import sign_notes
from hudi_reconcile.stages.watermarks import watermark_of

_MOST_SCANNED_ROWS = 1_000_000


def row_checks(engine: Engine, table: TableConfig, found: SourceTable, *, zone: str) -> Iterator[Check]:
    """NULL watermarks and times ahead of the clock, with their numbers; nothing where the config's columns are refused."""
    job, request = job_of(table, "doctor"), request_of(table)
    name = f"{table.name}: rows"
    try:
        watermark = watermark_of(job, found)
    except UsageError:
        return  # said by the checks of the table
    if not watermark.moving or job.strategy == "xmin":  # which is never NULL, and no clock
        return
    try:
        held = engine.indexes(request)
        is_indexed = held is not None and bool(held.leading & set(watermark.order.columns))
        if not is_indexed and found.rows_estimate > _MOST_SCANNED_ROWS:
            detail = f"NULLs and times ahead were not counted: no known index, about {found.rows_estimate:,} rows"
            yield Check(name, "warn", detail, "the next pull counts them and says so")
            return
        source = TableSource(engine, request, None, zone=zone)
        source.describe()  # from here on the filter's tables have their schemas
        now = watermark.now(engine.moment(), source.zone_offset_micros)
        signs = source.signs(found, watermark.order, reached=None, now=now)
    except ReconcileError as error:
        yield failed(name, error)
        return
    fix = f"after pulls: hudi-reconcile sweep -t {table.name}"
    # Index and sequence have their own lines.
    for note in sign_notes(watermark, replace(signs, is_indexed=None, id_cache=1)):
        yield Check(name, "warn", note, fix)
