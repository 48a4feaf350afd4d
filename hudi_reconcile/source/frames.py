"""The data plane's reads: rows of one table by Spark's JDBC reader, in parallel parts, under positional names `c0, c1, …`."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.kinds import CALENDAR_KINDS, INCREMENTING_KINDS, Column, Kind
from hudi_reconcile.core.parts import ReadPlan
from hudi_reconcile.core.segments import RangeSegments, SegmentSet, ranges
from hudi_reconcile.core.spelling import overlaid
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.source.engine import JdbcTarget
from hudi_reconcile.sql import statements
from hudi_reconcile.sql.dialect import Dialect
from hudi_reconcile.sql.parts import ALL

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


def ranges_read(
    dialect: Dialect, table: SourceTable, cut: RangeSegments, segments: SegmentSet, where: tuple[str, ...]
) -> JdbcRead:
    """Some segments of a table whose key is cut into ranges: in one statement, served by the key's index."""
    select = statements.select_list(dialect, table.read_columns)
    return JdbcRead(dialect.ranges_query(select, table.name, table.key[0], ranges(cut, segments), where), (ALL,))


def read(spark: SparkSession, target: JdbcTarget, plan: JdbcRead, columns: tuple[Column, ...]) -> DataFrame:
    """The rows, lazily: every use reads the source again, so a caller uses it once or materialises it."""
    witness = target.witness
    query = _proven(plan.query, target)
    properties = overlaid({"fetchsize": str(plan.fetch_rows)}, target.properties)
    rows = spark.read.jdbc(
        url=target.url,
        table=f"({query}) hr",
        predicates=list(plan.predicates),
        properties=overlaid(properties, {"preferTimestampNTZ": "true"}),
    )
    return _typed(rows if witness is None else _witnessed(rows, witness.expected), columns)


def _proven(query: str, target: JdbcTarget) -> str:
    """The query, of which no row comes unless its session has our settings."""
    witness, proof = target.witness, target.proof
    if witness is None and not proof:
        return query
    shown = "hr_0.*" if witness is None else f"hr_0.*, {witness.expression} as hr_w"
    return f"select {shown} from ({query}) hr_0{statements.where((proof,) if proof else ())}"


def _witnessed(rows: DataFrame, expected: str) -> DataFrame:
    # A partition that was read outside the snapshot would mix two moments without an error.
    torn = F.raise_error(F.lit("a partition was read outside the shared snapshot")).cast("boolean")
    return rows.where(F.when(F.col("hr_w") == expected, F.lit(True)).otherwise(torn)).drop("hr_w")


def _typed(rows: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    # A dialect may hand over a calendar value as ISO text, and a real as a double, where its driver would alter them.
    # By position: databases that fold unquoted names to upper case call them C0, C1, …
    shown = []
    # A last column beyond these is the key that a part's predicate names; nobody asks for it, so it is not sent.
    for index, ((name, found), column) in enumerate(zip(rows.dtypes, columns, strict=False)):
        wanted = _HANDED_OVER.get((column.kind, found))
        value = F.col(name) if wanted is None else F.col(name).cast(wanted)
        shown.append(value.alias(f"c{index}"))
    return rows.select(*shown)


def mark_value(columns: tuple[Column, ...], names: tuple[str, ...]) -> SparkColumn:
    """The greatest non-null watermark of a row: microseconds of its own wall clock, a number, or text."""
    values = [in_order(F.col(f"c{i}"), c) for i, c in enumerate(columns) if c.name in names]
    if not values:
        return F.lit(None).cast("bigint")
    return values[0] if len(values) == 1 else F.greatest(*values)


def in_order(value: SparkColumn, column: Column) -> SparkColumn:
    """A watermark as it is ordered."""
    if column.kind is Kind.DATE:
        return F.unix_date(value).cast("bigint") * _DAY_MICROS
    if column.kind in CALENDAR_KINDS:
        return F.unix_micros(value.cast("timestamp"))
    if column.kind in INCREMENTING_KINDS or column.kind is Kind.TEXT:
        return value
    raise ValueError(f"{column.kind} is no watermark")
