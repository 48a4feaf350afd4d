"""The data plane's reads: rows of one table by Spark's JDBC reader, in parallel parts, under positional names `c0, c1, …`."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.core.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.core.segments import RangeSegments, Segmentation, SegmentSet, ranges, spread
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.source.engine import session_options
from hudi_reconcile.sql.dialects import postgres

FETCH_ROWS = 2_000
SERIAL_ROWS = 50_000  # below this many rows a second connection costs more than it saves
_DAY_MICROS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class JdbcRead:
    """One read as it will be sent: the query, and one predicate per parallel part."""

    query: str
    predicates: tuple[str, ...]

    @property
    def statements(self) -> tuple[str, ...]:
        """The SQL text of every part, shortened; no row values stand in it, only segment edges."""
        return tuple(f"select * from ({self.query}) hr where {p[:400]}" for p in self.predicates)


def plan_read(
    table: SourceTable,
    segmentation: Segmentation,
    segments: SegmentSet | None,
    *,
    where: tuple[str, ...],
    parts: int,
) -> JdbcRead:
    """How to read all segments, or only some: key ranges where the key can be ranged, whole shares by hash otherwise.

    A hash segment is computed in Spark, so the source cannot serve one alone: the whole table comes and Spark filters.
    """
    query = postgres.rows_query(table.name, table.columns, where)
    names = tuple(f"c{table.columns.index(column)}" for column in table.key_columns)
    if isinstance(segmentation, RangeSegments):
        if segments is not None:
            some = ranges(segmentation, segments)
            return JdbcRead(postgres.ranges_query(table.name, table.columns, table.key[0], some, where), ("true",))
        return JdbcRead(query, tuple(postgres.range_predicate(names[0], r) for r in spread(segmentation, parts)))
    if parts == 1:
        return JdbcRead(query, ("true",))
    return JdbcRead(query, tuple(postgres.hash_predicate(names, part, parts) for part in range(parts)))


def read(spark: SparkSession, connection: Connection, plan: JdbcRead) -> DataFrame:
    """The rows, lazily: every use reads the source again, so a caller uses it once or materialises it."""
    return spark.read.jdbc(
        url=jdbc_url(connection),
        table=f"({plan.query}) hr",
        predicates=list(plan.predicates),
        properties=jdbc_properties(connection),
    )


def jdbc_url(connection: Connection) -> str:
    """The JDBC URL; TLS parameters only, everything else is a property."""
    tls = "".join(f"{'&' if i else '?'}{name}={value}" for i, (name, value) in enumerate(connection.tls))
    return f"jdbc:postgresql://{connection.host}:{connection.port}/{connection.database}{tls}"


def jdbc_properties(connection: Connection) -> dict[str, str]:
    """Driver and reader properties; the user's extra ones cannot undo ours.

    fetchsize above 0 makes pgjdbc use a cursor instead of loading all rows; timestamps without zone stay without one.
    """
    properties = dict(connection.jdbc_options)
    properties.update(
        {
            "driver": postgres.JDBC_DRIVER,
            "user": connection.user,
            "fetchsize": str(FETCH_ROWS),
            "preferTimestampNTZ": "true",
            "prepareThreshold": "-1",  # binary values from the first row on: half the time of parsing text, same values
            "ApplicationName": "hudi-reconcile",
            "options": session_options(connection.statement_timeout_seconds),
            "connectTimeout": "10",
            "tcpKeepAlive": "true",
        }
    )
    if connection.password:
        properties["password"] = connection.password
    return properties


def parts_for(rows_estimate: int, *, max_connections: int, cores: int) -> int:
    """How many parallel parts a full read takes."""
    if rows_estimate < SERIAL_ROWS:
        return 1
    return max(1, min(max_connections, cores))


def watermark_micros(columns: tuple[Column, ...], names: tuple[str, ...]) -> SparkColumn:
    """The greatest non-null watermark of a row in microseconds of its own wall clock."""
    values = [_micros(F.col(f"c{i}"), c.kind) for i, c in enumerate(columns) if c.name in names]
    if not values:
        return F.lit(None).cast("bigint")
    return values[0] if len(values) == 1 else F.greatest(*values)


def _micros(value: SparkColumn, kind: Kind) -> SparkColumn:
    if kind is Kind.DATE:
        return F.unix_date(value).cast("bigint") * _DAY_MICROS
    if kind in CALENDAR_KINDS:
        return F.unix_micros(value.cast("timestamp"))
    raise ValueError(f"{kind} is no watermark")
