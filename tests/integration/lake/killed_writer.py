"""A writer that hangs in the middle of its commit until it is killed. Run as a process: path, operation."""

from __future__ import annotations

import sys
import time

from pyspark.sql import functions as F

from hudi_reconcile.lake import correct
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Frame
from hudi_reconcile.spark.session import SessionRequest, open_session
from tests.integration.lake.support import checkpoint, corrective, table_of, versions

SCHEMA = "id int, qty int, _hr_read_seq bigint"


def _after_a_while(value: int) -> int:
    time.sleep(300)
    return value


def main(path: str, operation: str) -> None:
    request = SessionRequest(
        master="local[1]", conf={"spark.sql.shuffle.partitions": "1", "spark.driver.memory": "1g"}, short=True
    )
    with open_session(request) as session:
        spark = session.spark
        lake = HudiLake(spark, path, name="orders", options={})
        slow = F.udf(_after_a_while, "int")
        spark.udf.register("slow", slow)
        with lake.lease("killed run"):
            if operation == "upsert":
                rows = spark.createDataFrame([(1, -1, 50), (7, -7, 50)], SCHEMA).withColumn("qty", slow("qty"))
                lake.upsert(Frame(rows), table_of(lake), checkpoint(50), {"run_id": "killed"})
            else:
                # Hangs in the validator: data files are written, the commit is not.
                pending = correct.write_pending_sql
                correct.write_pending_sql = lambda *given: pending(*given) + " and slow(1) = 1"
                expected = versions(lake, ("id",), (1,), (2,), (8,))
                batch = corrective(
                    spark, lake, SCHEMA, upserts=[(1, -1, 50), (8, -8, 50)], deletes="id = 2", expected=expected
                )
                lake.correct(batch, table_of(lake), checkpoint(50), {"run_id": "killed"})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
