"""How often Python asks the JVM, and how many jobs Spark runs of it.

A call is about a fifth of a millisecond in which nothing else is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

_FREED = "m\n"  # Python's garbage collector tells of an object that it dropped: at any time, so not counted


@contextmanager
def counted_calls(spark: SparkSession) -> Iterator[Counter[str]]:
    """Counts `calls` and Spark's `jobs` within the block; those of other threads too."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = int(scheduler.numTotalJobs())
    gateway: Any = spark.sparkContext._gateway
    client, found = gateway._gateway_client, Counter[str]()
    send = client.send_command

    def counted(command: str, *arguments: Any, **named: Any) -> Any:
        found["calls"] += not command.startswith(_FREED)
        return send(command, *arguments, **named)

    client.send_command = counted
    try:
        yield found
    finally:
        del client.send_command
        found["jobs"] = int(scheduler.numTotalJobs()) - before
