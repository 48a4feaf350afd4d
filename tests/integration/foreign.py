"""Hudi tables as other tools make them: by Spark's writer with HoodieStreamer's traces, or by Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from tests.integration.project import Project

KEYGEN = "org.apache.hudi.keygen."
STREAMER = "deltastreamer.checkpoint.key"
# Quick writes; nothing of it is kept in the table.
_QUICK = {
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.compact.inline": "false",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.insert.shuffle.parallelism": "2",
}
ROWS = (
    "select cast(id as bigint) order_id, date_add(date'2025-01-01', cast(id % 3 as int)) day, "
    "if(id % 2 = 0, 'north', 'south') region, concat('n', id) note, cast(id as decimal(10,2)) amount, "
    "timestamp'2025-01-01' + make_interval(0, 0, 0, 0, 0, 0, id) updated_at, "
    "concat('2025-0', id % 3 + 1, '-01') born from range(1, 21)"
)


@dataclass(frozen=True, slots=True)
class Maker:
    """One kind of table: its settings as its own tool gives them, at creation and in every commit.

    `sql` is what stands between `create table … using hudi` and its location, for a table that Spark SQL makes.
    """

    name: str
    type: str
    version: int
    ordering: str | None
    key: tuple[str, ...] = ("order_id",)
    options: Mapping[str, str] = field(default_factory=dict)
    lake_options: Mapping[str, str] = field(default_factory=dict)
    more_columns: tuple[str, ...] = ()
    sql: str = ""

    def write(self, rows: DataFrame, path: str, **more: str) -> None:
        """One upsert of the tool's own."""
        ordering = {} if self.ordering is None else {"hoodie.datasource.write.precombine.field": self.ordering}
        rows.selectExpr("*", *self.more_columns).write.format("hudi").options(
            **{
                **_QUICK,
                "hoodie.table.name": properties(path).get("hoodie.table.name", "orders"),
                "hoodie.datasource.write.table.type": self.type.upper(),
                "hoodie.write.table.version": str(self.version),
                "hoodie.write.auto.upgrade": "false",
                "hoodie.datasource.write.operation": "upsert",
                "hoodie.datasource.write.recordkey.field": ",".join(self.key),
                "hoodie.metadata.enable": "false",
                **ordering,
                **self.options,
                **more,
            }
        ).mode("append").save(path)

    def make(
        self, spark: SparkSession, project: Project, rows: str = ROWS, checkpoint: str = "2025-01-01 00:00:20"
    ) -> None:
        """The table, and on merge_on_read a log file with the first three rows as they were."""
        project.settings["lake"] |= {"type": self.type, "options": dict(self.lake_options)}
        project.settings["source"]["key"] = list(self.key)
        if self.sql:
            name = f"made_by_sql_{uuid4().hex}"
            spark.sql(f"create table {name} using hudi {self.sql} location '{project.lake}' as {rows}")
            spark.sql(f"update {name} set note = note where order_id <= 3")
            return
        self.write(spark.sql(rows), str(project.lake), **left_by_streamer(checkpoint))
        if self.type == "merge_on_read":
            self.write(spark.sql(rows).where("order_id <= 3"), str(project.lake))


def left_by_streamer(checkpoint: str) -> dict[str, str]:
    """As HoodieStreamer leaves its checkpoint: on the commit's own metadata."""
    return {"hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer.", STREAMER: checkpoint}


def source_table(project: Project) -> None:
    """The same twenty rows at the source."""
    project.database.execute(
        "create table orders (order_id bigint primary key, day date, region text, note text, amount numeric(10,2), "
        "updated_at timestamp, born text)",
        "insert into orders select i, date '2025-01-01' + (i % 3)::int, case when i % 2 = 0 then 'north' else 'south' end, "
        "'n' || i, i, timestamp '2025-01-01' + i * interval '1 second', '2025-0' || i % 3 + 1 || '-01' "
        "from generate_series(1, 20) i",
    )


def properties(path: str) -> dict[str, str]:
    """What the table's own properties say, as any other tool reads them; empty where there is no table yet."""
    file = Path(path) / ".hoodie" / "hoodie.properties"
    lines = file.read_text().splitlines() if file.exists() else []
    return dict(line.split("=", 1) for line in lines if "=" in line)


def version_of(project: Project) -> str:
    """The table's version."""
    return properties(str(project.lake))["hoodie.table.version"]
