"""A JVM with the session's jars and no Spark session: for `doctor`, which asks JDBC drivers and starts nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hudi_reconcile.spark import gateway
from hudi_reconcile.spark.inventory import list_jars
from hudi_reconcile.spark.java import find_java
from hudi_reconcile.spark.scratch import scratch_folder
from hudi_reconcile.spark.session import SessionRequest
from hudi_reconcile.spark.settings import TIME_ZONE_OPTION, scratch_options


@contextmanager
def bare_jvm(request: SessionRequest, environ: Mapping[str, str] = os.environ) -> Iterator[Any]:
    """The JVM of this process where Spark runs already, else one for the length of the block. Fetches no jar.

    Raises:
        UsageError: no fitting Java, or a jar is missing or has other bytes.
    """
    from pyspark import SparkContext

    running = SparkContext._jvm if SparkContext._active_spark_context is not None else None  # noqa: SLF001
    if running is not None:
        yield running
        return
    jars = [str(jar.path) for jar in list_jars(request.jars, request.conf, environ) if jar.path is not None]
    with scratch_folder() as scratch:
        conf = {
            "spark.ui.enabled": "false",
            "spark.jars": ",".join(jars),
            "spark.driver.extraJavaOptions": f"{TIME_ZONE_OPTION} {scratch_options(str(scratch.path))}",
        }
        jvm = gateway.launch(conf, find_java(environ), scratch, request.hidden)
        try:
            yield jvm.gateway.jvm
        finally:
            gateway.end(jvm.gateway)
