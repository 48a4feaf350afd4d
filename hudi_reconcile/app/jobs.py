"""From a table's config to what the stages and the source are asked for: plain values, and refusals of what cannot be.

Also which columns are shown where no source was asked: by the config and by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from hudi_reconcile import __version__
from hudi_reconcile.changefeed.lines import Mask
from hudi_reconcile.compare.findings import hmac_column
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import NotBuiltError
from hudi_reconcile.core.plan.guards import Policy
from hudi_reconcile.core.pull.source_lineage import digest_filter
from hudi_reconcile.core.result_parts import CompareSettings
from hudi_reconcile.core.source.jdbc import is_jdbc
from hudi_reconcile.core.source.server_load import LoadLimits, find_busy_reason
from hudi_reconcile.core.sweep.proof import ContentProof
from hudi_reconcile.core.tables.masking import SHOW, Masking, list_shown_names, note_masking
from hudi_reconcile.core.tables.partitions import list_whole_columns
from hudi_reconcile.core.tables.values import LakeTable, PartitionField, is_lake_name
from hudi_reconcile.databases.base import Engine, TableRequest
from hudi_reconcile.stages.job import (
    ColumnSettings,
    LakeSettings,
    PageLimits,
    Pause,
    ProofRequest,
    PullSettings,
    SourceSettings,
    SweepSettings,
    TableJob,
)


def refuse_not_built(config: Config, tables: tuple[TableConfig, ...]) -> None:
    """Raises NotBuiltError for every legal setting that this version does not carry out; nothing is silently ignored."""
    over_jdbc = tables if is_jdbc(config.source.url) else ()
    settings = [
        (f"tables[{table.name}].sweep.mode", "pushdown over jdbc:", "use auto or stream")
        for table in over_jdbc
        if table.sweep.mode == "pushdown"
    ] + [
        (f"tables[{table.name}].sweep.pause", "statements and lag over jdbc:", "use sweep.pause.file alone")
        for table in over_jdbc
        if table.sweep.pause is not None and (table.sweep.pause.statements, table.sweep.pause.lag) != (None, None)
    ]
    if settings:
        listed = "; ".join(f"{key}: {what}" for key, what, _ in settings)
        raise NotBuiltError(f"not in this version: {listed}", fix=f"{settings[0][0]}: {settings[0][2]}")


def build_job(table: TableConfig, run_id: str, *, audit_head: str = "") -> TableJob:
    """The table's settings for the stages. `audit_head` is for what may commit."""
    return TableJob(
        name=table.name,
        run_id=run_id,
        lake=LakeSettings(
            path=table.lake.path,
            type=table.lake.type,
            partition_by=tuple(_rename_column(field, table.compare.rename) for field in table.lake.partition_by),
            adopt=table.lake.adopt,
            change_log=table.lake.cdc_logging if table.lake.cdc else None,
        ),
        source=SourceSettings(
            table.source.where,
            is_query=table.source.query is not None,
            is_decided_by_row=_is_decided_by_row(table.source.where),
        ),
        pull=_pull_settings(table),
        columns=ColumnSettings(
            exclude=frozenset(table.compare.exclude),
            rename=dict(table.compare.rename),
            tolerance=dict(table.compare.tolerance),
            masking=derive_masking(table),
        ),
        sweep=SweepSettings(
            mode=table.sweep.mode,
            segments=None if table.sweep.segments == "auto" else table.sweep.segments,
            one_snapshot=table.sweep.snapshot == "shared",
            settle_seconds=table.sweep.settle.total_seconds(),
            settle_limit_seconds=table.sweep.settle_limit.total_seconds(),
        ),
        policy=Policy(
            table.policy.max_deletes, float(table.policy.max_delete_share), float(table.policy.max_upsert_share)
        ),
        savepoint=table.policy.savepoint,
        max_plan_age_micros=table.policy.max_plan_age // timedelta(microseconds=1),
        audit_head=audit_head,
    )


def _pull_settings(table: TableConfig) -> PullSettings:
    return PullSettings(
        strategy=table.pull.strategy,
        watermark=_watermark(table),
        incrementing=_incrementing(table),
        is_text_watermark=table.pull.watermark_text,
        overlap_micros=table.pull.overlap // timedelta(microseconds=1),
        pages=_pages(table),
        full_mode=table.pull.full_mode,
        on_error=table.pull.on_error,
    )


def _pages(table: TableConfig) -> PageLimits:
    stop = table.pull.stop_after
    return PageLimits(table.pull.limit, table.pull.most_pages, None if stop is None else stop.total_seconds())


def read_duty(table: TableConfig) -> float:
    """The share of the time that the first look of a sweep may read the source."""
    return float(table.sweep.max_duty)


def build_pause(table: TableConfig, engine: Engine) -> Pause | None:
    """When sweeps of the table let its source alone; None: never."""
    asked = table.sweep.pause
    if asked is None:
        return None
    lag_seconds = None if asked.lag is None else asked.lag.total_seconds()
    limits = LoadLimits(statements=asked.statements, lag_seconds=lag_seconds)
    return Pause(partial(_find_pause_reason, asked.file, limits, engine), asked.limit.total_seconds())


def _find_pause_reason(file: Path | None, limits: LoadLimits, engine: Engine) -> str:
    if file is not None and file.exists():
        return f"{file} is there"
    if limits.statements is None and limits.lag_seconds is None:
        return ""
    return find_busy_reason(limits, engine.server_load(), engine.place)


def request_proof(table: TableConfig, known: KnownProof, *, is_full: bool) -> ProofRequest | None:
    """Whether sweeps of the table stand on earlier ones; None where they never do. `known` gives the newest proof.

    A full sweep carries nothing, and proves what it compares for the next one.
    """
    asked = table.sweep
    if asked.proof == "never" or asked.rotation == 1:
        return None
    least = 0 if asked.proof == "always" else PROOF_ROWS
    return ProofRequest(
        asked.rotation, least, f"hudi-reconcile {__version__}", (lambda: (None, "")) if is_full else known
    )


def derive_masking(table: TableConfig) -> Masking:
    """Which of the table's columns are shown to nobody."""
    return Masking.of(table.mask, table.personal)


def describe_settings(table: TableConfig) -> CompareSettings:
    """What the config leaves out of the comparison or allows for, as the result names it."""
    tolerance = {name: float(limit) for name, limit in table.compare.tolerance.items()}
    return CompareSettings(tuple(table.compare.exclude), dict(table.compare.rename), tolerance)


def build_table_request(table: TableConfig) -> TableRequest:
    """What is asked of the source table."""
    by_version = table.pull.strategy == "xmin"
    return TableRequest(
        name=table.name,
        table=table.source.table or "",
        query=table.source.query,
        key=tuple(table.source.key or ()),
        columns=None if table.source.columns is None else tuple(table.source.columns),
        where=table.source.where,
        watermark=() if by_version else _watermark(table),
        by_version=by_version,
        incrementing=_incrementing(table),
        is_text_watermark=table.pull.watermark_text,
        partition_by=tuple(_choose_stem(field, table.compare.rename) for field in table.lake.partition_by),
        exclude=tuple(table.compare.exclude),
        rename=dict(table.compare.rename),
        hidden=frozenset(name for name, how in table.mask.items() if how != SHOW),
    )


def _watermark(table: TableConfig) -> tuple[str, ...]:
    if table.pull.strategy == "xmin":
        return ("xmin",)
    return () if table.pull.strategy == "incrementing" else tuple(table.pull.watermark)


def _incrementing(table: TableConfig) -> str | None:
    return table.pull.incrementing if "incrementing" in table.pull.strategy else None


def _rename_column(field: PartitionField, rename: dict[str, str]) -> PartitionField:
    if field.transform != "identity":
        return _choose_stem(field, rename)
    return replace(field, column=rename.get(field.column, field.column))


def _is_decided_by_row(where: str | None) -> bool:
    """Asked for the content proof, which PostgreSQL alone has."""
    if where is None:
        return True
    from hudi_reconcile.sql.user_sql import is_decided_by_row  # noqa: PLC0415 - keeps sqlglot out of configs without a filter

    return is_decided_by_row(where, "postgresql")


def _choose_stem(field: PartitionField, rename: dict[str, str]) -> PartitionField:
    """The field of the source's own column. `<column>_day` is a promise to readers, which only an unholdable name breaks."""
    if field.transform == "identity" or field.column not in rename or is_lake_name(field.column):
        return field
    return replace(field, stem=rename[field.column])


def describe_sides(table: TableConfig, source_at: str) -> dict[str, str]:
    """What the config compares with what, so that a later run knows whether it still is the same.

    `source_at` is the database, as `place_url` says it.

    Queries and filters may hold values of rows: they are told by a digest.
    """
    source = table.source
    name = source.table or f"query {digest_filter(source.query)}"
    where = f" where {digest_filter(source.where)}" if source.where else ""
    columns = "all columns" if source.columns is None else f"columns {', '.join(sorted(source.columns))}"
    key = f"key {', '.join(source.key)}" if source.key else "the catalog's key"
    return {
        "lake_path": table.lake.path, "source_at": source_at, "source_of": f"{name}{where}",
        "source_columns": columns, "source_key": key,
    }  # fmt: skip


PROOF_ROWS = 2_000_000  # `make bench` compares 1,000,000 rows in some two seconds: below, there is little to save
KnownProof = Callable[[], tuple[ContentProof | None, str]]


@dataclass(frozen=True, slots=True)
class LakeMasks:
    """The masked columns of a lake table, `hmac` or `redact` by lake name, and what to say of those masked for their names."""

    hidden: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def build_masks(self, key: bytes) -> Mapping[str, Mask]:
        """What is shown in place of the values; `key` is for `hmac`."""
        return {name: None if how == "redact" else partial(hmac_column, key=key) for name, how in self.hidden.items()}


def derive_lake_masks(table: TableConfig, lake: LakeTable) -> LakeMasks:
    """Which columns of the lake table are masked: those that a sweep masks, and what only the lake has by its name there."""
    sources = {lake_name: source for source, lake_name in table.compare.rename.items()}
    columns = {sources.get(column.name, column.name): column.name for column in lake.columns}
    derived = [field.lake_name for field in table.lake.partition_by]
    shown = list_shown_names(
        columns,
        key=[sources.get(name, name) for name in lake.record_key],
        moving=build_job(table, "").pull.moving,
        in_paths=[*list_whole_columns(table.lake.partition_by), *derived],
    )
    masking = derive_masking(table)
    hidden = {columns[name]: how for name, how in masking.select_masked(columns, shown).items()}
    return LakeMasks(hidden, note_masking(masking, columns, shown))
