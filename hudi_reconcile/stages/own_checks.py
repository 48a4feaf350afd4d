"""The checks that look beyond the lake's rows: drift (the newest comparison), total (both sides), freshness (the checkpoint)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import InvalidOperation

from hudi_reconcile.core.errors import UnverifiedError
from hudi_reconcile.core.kinds import TOLERANCE_KINDS, Column
from hudi_reconcile.core.masking import AS_NAMED, Masking
from hudi_reconcile.core.rule_verdict import Measured
from hudi_reconcile.core.rules import Drift, Freshness, Total, duration_text
from hudi_reconcile.core.spelling import nearest
from hudi_reconcile.core.totals import BothTotals, Totals
from hudi_reconcile.core.values import Checkpoint, CheckpointAt, SourceTable
from hudi_reconcile.ports import Frame, RuleEngine, Source

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Compared:
    """What the newest comparison of the table found. `gap` is why it cannot be relied on, empty where it can.

    `rows` is the size of the larger side. `ended_utc` is empty where the run is this one. `corrected_by` is
    the run of an apply of its plan, where `findings` are those which that left.
    """

    run_id: str
    findings: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0
    gap: str = ""
    ended_utc: str = ""
    corrected_by: str = ""


def drift(check: Drift, compared: Compared | None, now_micros: int, *, table: str) -> Measured:
    """Findings of the kinds in the newest comparison. None, none that is whole, or one too old is a problem and never 0."""
    fix = f"compare first: hudi-reconcile sweep -t {table}"
    if compared is None:
        return Measured(problem="there is no sweep of this table to look at", fix=fix)
    if compared.gap:
        return Measured(problem=f"run {compared.run_id} says nothing of the whole table: {compared.gap}", fix=fix)
    age = _since(compared.ended_utc, now_micros)
    if check.max_age is not None and age > check.max_age:
        why = f"run {compared.run_id} compared {_age(age)} ago, which is more than {duration_text(check.max_age)}"
        return Measured(problem=why, fix=fix)
    found = {kind: compared.findings.get(kind, 0) for kind in check.kinds}
    told = ", ".join(f"{kind} {rows}" for kind, rows in found.items() if rows)
    ago = f", {_age(age)} ago," if compared.ended_utc else ""
    by = f"and the apply of its plan, run {compared.corrected_by}, left" if compared.corrected_by else "found"
    detail = f"run {compared.run_id}{ago} {by} {told or 'none of them'}"
    return Measured(sum(found.values()), max(compared.rows, sum(found.values())), detail=detail)


@dataclass(frozen=True, slots=True)
class Summed:
    """Where a total is taken: the source, and the lake's rows. `masking`: sums of masked columns are not shown."""

    source: Source
    engine: RuleEngine
    rows: Frame
    masking: Masking = AS_NAMED


def total(check: Total, where: Summed) -> Measured:
    """The column's sum on both sides, exactly. Raises UnverifiedError where either cannot be had."""
    described = where.source.describe()
    column = _source_column(described, check.column)
    in_lake = where.engine.total(where.rows, column.lake_name)
    texts = where.source.total(described, column.name)
    try:
        both = BothTotals(column.lake_name, Totals.parse(texts), in_lake)
        apart = abs(both.difference)
        within = apart <= check.tolerance
    except InvalidOperation:
        raise UnverifiedError(f"the source's sum of {column.name} is no finite number", fix="look at it") from None
    if where.masking.how(column.name, column.lake_name):
        return Measured(int(not within), 1)
    detail = f"source {both.source.sum:f}, lake {in_lake.sum:f}, difference {apart:f}"
    return Measured(int(not within), 1, detail=detail, totals=both)


def freshness(check: Freshness, found: CheckpointAt | None, now_micros: int, *, source: Source, table: str) -> Measured:
    """The age of the greatest watermark pulled so far, by the host's clock.

    A watermark without zone is read in the config's `source.time_zone`. Raises UnverifiedError where there is none.
    """
    if found is None:
        raise UnverifiedError("the lake carries no checkpoint of ours", fix=f"hudi-reconcile pull -t {table}")
    watermark = _utc_micros(found.checkpoint, source)
    if watermark is None:
        why = "the pull has no watermark that is a time, so nothing tells how old the data is"
        raise UnverifiedError(why, fix=f"name tables[{table}].pull.watermark, or use check: sql")
    age = timedelta(microseconds=now_micros - watermark)
    return Measured(int(age > check.max_age), 1, detail=f"watermark {found.checkpoint.text} is {_age(age)} old")


# --- helpers ---


def _since(ended_utc: str, now_micros: int) -> timedelta:
    if not ended_utc:
        return timedelta(0)
    return timedelta(microseconds=now_micros) - (datetime.fromisoformat(ended_utc) - _EPOCH)


def _source_column(described: SourceTable, name: str) -> Column:
    """The source's column of a lake name, or of its own name where it has another in the lake."""
    found = next((one for one in described.columns if one.lake_name == name), None)
    found = found or next((one for one in described.columns if one.name == name), None)
    if found is None:
        close = nearest(name, [one.lake_name for one in described.columns])
        hint = f"; did you mean {close!r}?" if close else ""
        raise UnverifiedError(f"the source table has no column {name!r}{hint}", fix="correct the rule")
    if found.kind not in TOLERANCE_KINDS:
        raise UnverifiedError(f"column {name} is {found.declared}: only numbers have a sum", fix="correct the rule")
    return found


def _utc_micros(checkpoint: Checkpoint, source: Source) -> int | None:
    micros, text = checkpoint.watermark_micros, checkpoint.text or ""
    if micros is None and checkpoint.watermark_value is not None:
        try:
            moment = datetime.fromisoformat(checkpoint.watermark_value)
        except ValueError:
            return None
        naive = moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta(0))
        micros = (naive - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001 - of one clock, both
        text = "Z" if moment.tzinfo is not None else ""
    if micros is None or text.endswith("Z"):
        return micros
    return micros - source.zone_offset_micros(micros)


def _age(age: timedelta) -> str:
    """Days, hours and minutes.

    >>> _age(timedelta(hours=30, minutes=5)), _age(timedelta(seconds=-3))
    ('30 h 5 min', '0 h 0 min')
    """
    minutes = max(age, timedelta(0)) // timedelta(minutes=1)
    return f"{minutes // 60} h {minutes % 60} min"
