"""Brings a catalog up to date with a lake table, by Hudi's own sync tools. Writes the catalog alone, and may be repeated.

Only schema and partitions that changed since the last sync are sent; a table that the catalog shows as it is costs a look at it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.lake.catalog_sync import CatalogSync, SyncOutcome
from hudi_reconcile.core.lake.failures import describe_causes
from hudi_reconcile.lake.bridge import Timeline, list_causes
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.table import METADATA_PARTITIONS, has_table

# A metastore that takes the connection and says nothing would hold a run seven times for Hive's 600 s; so it does three times
# for 60 s. What one try does not reach the next run's sync sends.
_PATIENCE = {
    "hive.metastore.client.socket.timeout": "60s",
    "hive.metastore.connect.retries": "1",
    "hive.metastore.failure.retries": "0",
}
_UNREACHED = "Could not connect to meta store"  # of Hive's client, whose other messages may hold a partition's value
_UNANSWERED = "SocketTimeoutException"
_LONGEST_SCHEMA = "spark.sql.sources.schemaStringLengthThreshold"


def sync_catalog(spark: SparkSession, path: str, sync: CatalogSync) -> SyncOutcome | None:
    """Run every tool, whether or not one before it failed; None where there is no table yet."""
    path = path.rstrip("/") or path
    try:
        if not has_table(Files(spark, path), path):
            return None
        properties = Timeline(spark, path).properties()
    except (Py4JError, LakeError) as error:
        return SyncOutcome(path, (_describe(error),), sync.forgives)
    failures, name = [], sync.name_table(properties)
    for tool in sync.tools:
        try:
            _run_tool(spark, path, tool, {**_facts(spark, properties), **sync.build_settings(properties)})
        except (Py4JError, PySparkException) as error:
            failures.append(f"{tool.rpartition('.')[2]}: {_describe(error)}")
    if not failures:  # else this session's catalog may be the one that does not answer
        _forget_reads(spark, name)
    return SyncOutcome(name, tuple(failures), sync.forgives)


def _run_tool(spark: SparkSession, path: str, tool: str, settings: dict[str, str]) -> None:
    jvm: Any = spark._jvm  # noqa: SLF001  py4j has no public door
    session: Any = spark._jsparkSession  # noqa: SLF001
    hadoop = session.sessionState().newHadoopConf()
    for key, value in _PATIENCE.items():
        if hadoop.get(key) is None:
            hadoop.set(key, value)
    properties = jvm.org.apache.hudi.common.config.TypedProperties()
    for key, value in settings.items():
        properties.setProperty(key, value)
    place = jvm.org.apache.hadoop.fs.Path(path)
    files = place.getFileSystem(hadoop)
    # With its scheme, since the metastore would give a bare path its own.
    full = files.makeQualified(place).toString()
    kind = settings.get("hoodie.datasource.hive_sync.base_file_format", "PARQUET")
    jvm.org.apache.hudi.sync.common.util.SyncUtilHelpers.runHoodieMetaSync(tool, properties, hadoop, files, full, kind)


def _forget_reads(spark: SparkSession, name: str) -> None:
    """Refresh the table in our session's catalog: Spark keeps the list of files that it made at the first read by name."""
    for table_name in (name, f"{name}_ro", f"{name}_rt"):  # those of a merge_on_read table
        with suppress(Py4JError, PySparkException):  # no catalog of this session's, or one that does not answer
            if spark.catalog.tableExists(table_name):
                spark.catalog.refreshTable(table_name)


def _facts(spark: SparkSession, properties: dict[str, str]) -> dict[str, str]:
    """What Hudi's writer adds to the table's properties."""
    return {
        "hoodie.meta_sync.spark.version": spark.version,
        "hoodie.datasource.hive_sync.schema_string_length_thresh": spark.conf.get(_LONGEST_SCHEMA) or "4000",
        "hoodie.meta.sync.metadata_file_listing": str(bool(properties.get(METADATA_PARTITIONS))).lower(),
    }


def _describe(error: Exception) -> str:
    if isinstance(error, Py4JJavaError):
        causes = list_causes(error)
        is_deaf = any(_UNREACHED in cause.message or cause.name == _UNANSWERED for cause in causes)
        return f"{describe_causes(causes)}{'; no metastore answers' if is_deaf else ''}"
    return error.message if isinstance(error, LakeError) else type(error).__name__
