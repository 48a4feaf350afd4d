"""One PostgreSQL table as the stages see it: description, moment, faults, rows. Implements `ports.Source`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.kinds import Kind
from hudi_reconcile.core.segments import KeyExtent, Segmentation, SegmentSet
from hudi_reconcile.core.values import Moment, SourceTable
from hudi_reconcile.core.window import Window
from hudi_reconcile.ports import Frame, KeyFaults, Staged
from hudi_reconcile.source.catalog import describe
from hudi_reconcile.source.engine import ControlPlane
from hudi_reconcile.source.frames import JdbcRead, parts_for, plan_read, read, watermark_micros
from hudi_reconcile.source.request import TableRequest
from hudi_reconcile.sql.dialects import postgres

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PostgresSource:
    """Reads one table. Small queries go through the control plane, rows through Spark; nothing is ever written."""

    def __init__(self, plane: ControlPlane, request: TableRequest, spark: SparkSession | None, *, zone: str) -> None:
        self._plane = plane
        self._request = request
        self._spark = spark
        self._zone = ZoneInfo(zone)
        self._reads: list[str] = []
        self._proven_key = False

    def describe(self) -> SourceTable:
        """Columns, key and identity as they are now."""
        table, self._proven_key = describe(self._plane, self._request)
        return table

    def moment(self) -> Moment:
        """The database's clock and the safe bound, in one statement of its own before any row is read."""
        row = self._plane.one(postgres.MOMENT_QUERY)
        bound, why = postgres.bound(
            row["clock_micros"], row["oldest_micros"], row["prepared_micros"], sees_all=row["sees_all"]
        )
        return Moment(row["clock_micros"], bound, why, row["snapshot"])

    def zone_offset_micros(self, utc_micros: int) -> int:
        """How far the configured zone is ahead of UTC at that time."""
        moment = (_EPOCH + timedelta(microseconds=utc_micros)).astimezone(self._zone)
        offset = moment.utcoffset() or timedelta(0)
        return offset // timedelta(microseconds=1)

    def extent(self, table: SourceTable) -> KeyExtent:
        """The integer key's range, and how many rows to expect."""
        first = table.key_columns[0]
        if first.kind is not Kind.INTEGER:
            return KeyExtent(None, None, self._estimate(table))
        row = self._plane.one(postgres.extent_query(table.name, first.name, self._request.predicates))
        return KeyExtent(row["low"], row["high"], self._estimate(table))

    def rows_now(self, table: SourceTable) -> int:
        """The table's own count of the rows that are compared."""
        return int(self._plane.one(postgres.count_query(table.name, self._request.predicates))["rows"])

    def key_faults(self, table: SourceTable) -> KeyFaults:
        """No query where a unique index over NOT NULL columns already rules faults out."""
        if self._proven_key:
            return KeyFaults(0, 0, ())
        row = self._plane.one(postgres.key_faults_query(table.name, table.key, self._request.predicates))
        return KeyFaults(row["duplicated"], row["null_keys"], tuple(row["sample"] or ()))

    def uncarried(self, table: SourceTable, window: Window | None) -> tuple[str, ...]:
        """Calendar columns with values that the JDBC read would alter."""
        sql = postgres.uncarried_query(table.name, table.columns, self._where(table, window))
        if sql is None:
            return ()
        counts = list(self._plane.one(sql).values())
        names = [c.name for c in table.columns if c.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)]
        return tuple(name for name, count in zip(names, counts, strict=True) if count)

    def rows(self, table: SourceTable, segmentation: Segmentation, segments: SegmentSet | None = None) -> Frame:
        """Rows of all segments, or of some."""
        plan = plan_read(table, segmentation, segments, where=self._where(table, None), parts=self._parts(table))
        return Frame(self._read(plan))

    def staged(
        self, table: SourceTable, segmentation: Segmentation, window: Window, below_micros: int | None
    ) -> Staged:
        """Read a pull's window exactly once: rows, count and checkpoint come from the same materialised read.

        A part of it that gets lost fails the pull; it is never read a second time (localCheckpoint cuts the lineage).
        """
        where = self._where(table, window)
        parts = self._parts(table) if window.after_micros is None else 1
        if parts == 1:
            plan = JdbcRead(postgres.rows_query(table.name, table.columns, where), ("true",))
        else:
            plan = plan_read(table, segmentation, None, where=where, parts=parts)
        frame = self._read(plan).localCheckpoint(eager=True)
        micros = watermark_micros(table.columns, window.columns)
        usable = micros if below_micros is None else F.when(micros < F.lit(below_micros), micros)
        row = frame.agg(
            F.count(F.lit(1)).alias("rows"),
            F.max(usable).alias("greatest"),
            F.sum(F.when(micros.isNull(), 1).otherwise(0)).alias("nulls"),
        ).collect()[0]
        nulls = int(row["nulls"] or 0) if window.columns else 0
        return Staged(Frame(frame), int(row["rows"]), row["greatest"], nulls)

    def statements(self) -> tuple[str, ...]:
        """Every SQL text sent so far: small queries, then row reads."""
        return (*self._plane.sent, *self._reads)

    def _where(self, table: SourceTable, window: Window | None) -> tuple[str, ...]:
        found = self._request.predicates
        if window is None:
            return found
        predicate = postgres.window_predicate(window, {column.name: column for column in table.columns})
        return found if predicate is None else (*found, predicate)

    def _parts(self, table: SourceTable) -> int:
        cores = self._session().sparkContext.defaultParallelism
        return parts_for(self._estimate(table), max_connections=self._plane.connection.max_connections, cores=cores)

    def _estimate(self, table: SourceTable) -> int:
        return table.rows_estimate

    def _read(self, plan: JdbcRead) -> DataFrame:
        self._reads += plan.statements
        return read(self._session(), self._plane.connection, plan)

    def _session(self) -> SparkSession:
        if self._spark is None:
            raise SourceError("rows were asked for without a Spark session", fix="this is a bug: please report it")
        return self._spark
