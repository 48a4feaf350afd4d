"""Reads one table by Spark's JDBC reader in parallel parts, which it plans, under positional names `c0, c1, …`.

`core/pull/read_plan` decides by what the catalog and, at most, a sample of one key column tell. Statistics that are absent,
stale or unreadable are no error: that is said, and the parts are cut another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import SourceError, overlay_options
from hudi_reconcile.core.pull.read_plan import (
    SERIAL_ROWS,
    Limits,
    Parts,
    PlannedPart,
    Ranked,
    ReadPlan,
    Statistics,
    plan,
    plan_by_rank,
)
from hudi_reconcile.core.sweep.segments import (
    GREATEST_KEY,
    LEAST_KEY,
    RangeSegments,
    Segmentation,
    SegmentSet,
    merge_ranges,
)
from hudi_reconcile.core.tables.key_encoding import BYTEWISE_KINDS, ORDERED_KINDS, KeyValue, parse_key
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, INCREMENTING_KINDS, Column, Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.base import Catalogued, Engine, JdbcTarget
from hudi_reconcile.sql import reads
from hudi_reconcile.sql.dialect import Dialect, Ranks
from hudi_reconcile.sql.reads import ALL

FETCH_ROWS = 2_000
_DAY_MICROS = 86_400_000_000
_HANDED_OVER = {
    (Kind.DATE, "string"): "date",
    (Kind.TIMESTAMP, "string"): "timestamp_ntz",
    (Kind.TIMESTAMPTZ, "string"): "timestamp_ntz",  # in UTC
    (Kind.REAL, "double"): "float",
}


@dataclass(frozen=True, slots=True)
class JdbcRead:
    """One read as it will be sent: the query, and one predicate per parallel part."""

    query: str
    predicates: tuple[str, ...]
    fetch_rows: int = FETCH_ROWS

    @property
    def statements(self) -> tuple[str, ...]:
        """The SQL text of every part, shortened; no row values stand in it, only segment edges."""
        return tuple(f"select * from ({self.query}) hr where {p[:400]}" for p in self.predicates)

    @staticmethod
    def of(plan: ReadPlan) -> JdbcRead:
        """The plan's read."""
        return JdbcRead(plan.sql, tuple(part.predicate for part in plan.parts), plan.fetch_rows)

    def part(self, number: int) -> JdbcRead:
        """One part of it."""
        return JdbcRead(self.query, (self.predicates[number],), self.fetch_rows)


def build_range_reads(
    dialect: Dialect,
    table: SourceTable,
    cut: RangeSegments,
    segments: SegmentSet,
    where: tuple[str, ...],
    *,
    lanes: int,
) -> tuple[JdbcRead, ...]:
    """Reads of some segments of a table whose key is cut into ranges, each served by the key's index.

    Many rows are read by `lanes` statements side by side, few by one. No two of them read the same key.
    """
    select = reads.select_list(dialect, table.read_columns)
    expected_rows = table.rows_estimate * len(segments.ids) // cut.count
    ranges = [merge_ranges(cut, part) for part in segments.divide(lanes if expected_rows >= SERIAL_ROWS else 1)]
    queries = [dialect.ranges_query(select, table.name, table.key[0], each, where) for each in ranges]
    return tuple(JdbcRead(query, (ALL,)) for query in queries)


def read(spark: SparkSession, target: JdbcTarget, plan: JdbcRead, columns: tuple[Column, ...]) -> DataFrame:
    """The rows, lazily: every use reads the source again, so a caller uses it once or materialises it."""
    witness = target.witness
    query = _require_settings(plan.query, target)
    properties = overlay_options({"fetchsize": str(plan.fetch_rows)}, target.properties)
    rows = spark.read.jdbc(
        url=target.url,
        table=f"({query}) hr",
        predicates=list(plan.predicates),
        properties=overlay_options(properties, {"preferTimestampNTZ": "true"}),
    )
    return _type_columns(rows if witness is None else _check_witness(rows, witness.expected), columns)


def _require_settings(query: str, target: JdbcTarget) -> str:
    """The query, of which no row comes unless its session has our settings."""
    witness, proof = target.witness, target.proof
    if witness is None and not proof:
        return query
    shown = "hr_0.*" if witness is None else f"hr_0.*, {witness.expression} as hr_w"
    return f"select {shown} from ({query}) hr_0{reads.where_clause((proof,) if proof else ())}"


def _check_witness(rows: DataFrame, expected: str) -> DataFrame:
    # A partition that was read outside the snapshot would mix two moments without an error.
    torn = F.raise_error(F.lit("a partition was read outside the shared snapshot")).cast("boolean")
    return rows.where(F.when(F.col("hr_w") == expected, F.lit(True)).otherwise(torn)).drop("hr_w")


def _type_columns(rows: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    # A dialect may hand over a calendar value as ISO text, and a real as a double, where its driver would alter them.
    # By position: databases that fold unquoted names to upper case call them C0, C1, …
    shown = []
    # A last column beyond these is the key that a part's predicate names; nobody asks for it, so it is not sent.
    for index, ((name, spark_type), column) in enumerate(zip(rows.dtypes, columns, strict=False)):
        wanted = _HANDED_OVER.get((column.kind, spark_type))
        value = "`" + name.replace("`", "``") + "`"
        shown.append(f"{value if wanted is None else f'cast({value} as {wanted})'} as c{index}")
    return rows.selectExpr(*shown)


def mark_value(columns: tuple[Column, ...], names: tuple[str, ...]) -> SparkColumn:
    """The greatest non-null watermark of a row: microseconds of its own wall clock, a number, or text."""
    values = [order_value(F.col(f"c{i}"), c) for i, c in enumerate(columns) if c.name in names]
    if not values:
        return F.lit(None).cast("bigint")
    return values[0] if len(values) == 1 else F.greatest(*values)


def order_value(value: SparkColumn, column: Column) -> SparkColumn:
    """A watermark as it is ordered."""
    if column.kind is Kind.DATE:
        return F.unix_date(value).cast("bigint") * _DAY_MICROS
    if column.kind in CALENDAR_KINDS:
        return F.unix_micros(value.cast("timestamp"))
    if column.kind in INCREMENTING_KINDS or column.kind is Kind.TEXT:
        return value
    raise ValueError(f"{column.kind} is no watermark")


@dataclass(frozen=True, slots=True)
class RowRequest:
    """A read: `where` are the configured predicates, `window` that of a pull; `hidden` columns may stand in no text."""

    table: SourceTable
    cut: Segmentation | None
    where: tuple[str, ...]
    window: str | None = None
    hidden: frozenset[str] = frozenset()


def plan_read(engine: Engine, wanted: RowRequest, limits: Limits) -> ReadPlan:
    """How all rows of the read come, each exactly once."""
    table = wanted.table
    is_window = wanted.window is not None
    where = wanted.where if wanted.window is None else (*wanted.where, wanted.window)
    expected = engine.estimate(table.name, where) if is_window else table.rows_estimate
    rows, catalogued = expected or 0, _read_catalog(engine, table)
    if catalogued.ranks is not None:
        return _planned_by_rank(engine, catalogued.ranks, wanted, where, rows=rows, limits=limits)
    key, named = table.key_columns[0], _name_keys(table)
    # New rows lie where the key's statistics do not: shares by hash are even all the same.
    edges = not is_window and key.name not in wanted.hidden
    statistics = gather_statistics(engine, StatisticsRequest(table, wanted.cut, wanted.where, rows, edges), catalogued)
    can_hash = engine.dialect.hash_predicate(named, 0, 2) is not None
    parts = plan(
        statistics,
        limits,
        columns=len(table.columns),
        can_hash=can_hash,
        can_range=edges,
    )
    if expected is None:
        parts = replace(parts, why=("how many rows the window holds is not known here: one part", statistics.why))
    return _build_read_plan(engine, where, table, parts, statistics.row_bytes)


def _build_read_plan(
    engine: Engine, where: tuple[str, ...], table: SourceTable, parts: Parts, row_bytes: float | None = None
) -> ReadPlan:
    dialect, key = engine.dialect, table.key_columns[0]
    if parts.how == "range":
        query = reads.part_query(dialect, table.name, table.read_columns, (key,), where)
    else:
        query = reads.rows_query(dialect, table.name, table.read_columns, where)
    predicates = reads.predicates(dialect, parts, key, _name_keys(table))
    each = tuple(PlannedPart(p, part.rows) for p, part in zip(predicates, parts.parts, strict=True))
    return ReadPlan(parts.how, parts.why, query, each, parts.fetch_rows, row_bytes)


# --- by rank: databases whose catalog tells nothing of the keys ---

RANKED_KEYS = 900  # of the 1,000 rows that a small statement gives
_SIEVED_ROWS = 50_000  # as many are ranked where a hash can choose them


def _planned_by_rank(
    engine: Engine, ranks: Ranks, wanted: RowRequest, where: tuple[str, ...], *, rows: int, limits: Limits
) -> ReadPlan:
    """Cut at ranked keys; whole or by hash where they cannot be ranked."""
    table, dialect = wanted.table, engine.dialect
    shown = takewhile(lambda column: column.name not in wanted.hidden, table.key_columns)
    key = ranks.columns(tuple(shown))
    ranking = Ranked(rows, f"{rows:,} rows counted", (), 1)
    if rows >= SERIAL_ROWS and key:
        ranking = _rank_keys(engine, ranks, table, key, where=where, rows=rows)
    can_hash = dialect.hash_predicate(_name_keys(table), 0, 2) is not None
    parts = plan_by_rank(ranking, limits, columns=len(table.columns), can_hash=can_hash)
    if parts.how != "rank":
        return _build_read_plan(engine, where, table, parts)
    query = reads.part_query(dialect, table.name, table.read_columns, key, where)
    each = (PlannedPart(ranks.predicate(key, parts.edges, at), part.rows) for at, part in enumerate(parts.parts))
    return ReadPlan(parts.how, parts.why, query, tuple(each), parts.fetch_rows)


def _rank_keys(
    engine: Engine, ranks: Ranks, table: SourceTable, key: tuple[Column, ...], *, where: tuple[str, ...], rows: int
) -> Ranked:
    """So many keys at even distances, of all rows or of those that a hash chooses; none where the database refuses."""
    one_in = max(1, rows // _SIEVED_ROWS)
    quoted = tuple((engine.dialect.quote(column.name), column) for column in table.key_columns)
    sieve = engine.dialect.hash_predicate(quoted, 0, one_in)
    ways = [(1, None)] if sieve is None else [(one_in, sieve), (1, None)]
    why = ""
    for share, sieved in ways:
        step = max(1, -(-rows // share // RANKED_KEYS))
        try:
            listed = engine.rows(ranks.query(table.name, key, where, step=step, sieve=sieved))
        except SourceError as error:
            why = f"keys could not be ranked ({error.message})"
            continue
        keys = tuple(ranks.edge(key, row) for row in listed)
        return Ranked(rows, f"{len(keys):,} keys ranked of {rows:,} rows", keys, step * share)
    return Ranked(rows, why, (), 1)


def _name_keys(table: SourceTable) -> tuple[tuple[str, Column], ...]:
    return tuple((f"c{table.columns.index(column)}", column) for column in table.key_columns)


SAMPLE_KEYS = 4_000
_LEAST_SAMPLE = 200


@dataclass(frozen=True, slots=True)
class StatisticsRequest:
    """What is read: the table, its segments (for the key's ends), the configured predicates, and the rows expected.

    `edges`: key ranges are wanted, so that a sample is worth its statement.
    """

    table: SourceTable
    cut: Segmentation | None
    where: tuple[str, ...]
    rows: int
    edges: bool = True


def gather_statistics(engine: Engine, asked: StatisticsRequest, catalog: Catalogued) -> Statistics:
    """The first key column's statistics: those that were found in the catalog, else a sample's, else only the key's ends."""
    key = asked.table.key_columns[0]
    low, high = _ends(asked.cut)
    known = Statistics(
        rows=asked.rows,
        why=catalog.why,
        row_bytes=catalog.row_bytes,
        rows_known=catalog.rows_known,
        bounds=_values(key, catalog.bounds),
        common=tuple((v, share) for text, share in catalog.common if (v := parse_key(key, text)) is not None),
        null_share=catalog.null_share,
        low=low,
        high=high,
    )
    if asked.rows < SERIAL_ROWS or not asked.edges or _is_query(asked.table) or not can_range(key, catalog):
        return replace(known, bounds=(), common=(), low=None, high=None)
    # A predicate leaves out rows of which the catalog's histogram knows nothing; the sample obeys it.
    if not asked.where and (len(known.bounds) > 1 or known.common):
        return known
    return _sample_keys(engine, asked, known, catalog.sampling)


def can_range(key: Column, catalog: Catalogued) -> bool:
    """Whether Python and the database agree on the order of these keys.

    MariaDB sorts uuids by their last group first, and takes some that it would not make for no uuids at all (MDEV-26664).
    """
    return key.kind in ORDERED_KINDS and (key.kind not in BYTEWISE_KINDS or catalog.is_bytewise)


# --- helpers ---


def _read_catalog(engine: Engine, table: SourceTable) -> Catalogued:
    if _is_query(table):
        return Catalogued("a query has no statistics")
    try:
        return engine.statistics(table)
    except SourceError as error:
        return Catalogued(f"the catalog's statistics could not be read ({error.message})")


def _is_query(table: SourceTable) -> bool:
    # To sample its keys would be to run it once more.
    return table.name.startswith("(")


def _sample_keys(engine: Engine, asked: StatisticsRequest, known: Statistics, sampling: str) -> Statistics:
    key = asked.table.key_columns[0]
    one_in = max(1, asked.rows // SAMPLE_KEYS)
    suffix = sampling.format(percent=f"{_percent(asked.rows):.4f}") if sampling and not asked.where else ""
    query = reads.sample_query(engine.dialect, asked.table.name, key, asked.where, one_in=one_in, suffix=suffix)
    ends = replace(known, bounds=(), common=(), rows_known=None, null_share=0.0)
    unchecked = "the key's ends, unchecked: parts may be uneven"
    if query is None:
        return replace(ends, why=f"{known.why}; {unchecked}")
    try:
        rows = engine.rows(query)
    except SourceError as error:
        return replace(ends, why=f"{known.why}; keys could not be sampled ({error.message}); {unchecked}")
    values = sorted(v for row in rows if (v := parse_key(key, str(row["hr_key"]))) is not None)
    if len(values) < _LEAST_SAMPLE:
        return replace(ends, why=f"{known.why}; a sample found {len(values)} keys; {unchecked}")
    return replace(ends, why=f"{known.why}; a sample of {len(values):,} keys", bounds=_thin_out(values))


def _percent(rows: int) -> float:
    # Whole pages are sampled, and the keys of one page are neighbours: more keys than a sample of single rows needs.
    return min(100.0, max(1.0, 100.0 * 10 * SAMPLE_KEYS / rows))


def _thin_out(values: Sequence[KeyValue]) -> tuple[KeyValue, ...]:
    step = max(1, len(values) // SAMPLE_KEYS)
    return (*values[:-1:step], values[-1])


def _values(key: Column, texts: tuple[str, ...]) -> tuple[KeyValue, ...]:
    return tuple(value for text in texts if (value := parse_key(key, text)) is not None)


def _ends(cut: Segmentation | None) -> tuple[int | None, int | None]:
    if not isinstance(cut, RangeSegments):
        return None, None
    return max(LEAST_KEY, cut.start), min(GREATEST_KEY, cut.start + cut.width * cut.count - 1)
