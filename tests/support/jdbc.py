"""Databases that live in Spark's own JVM, for tests: H2, Derby, DuckDB and HSQLDB, their drivers checked by sha256."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hudi_reconcile.spark.jars import (
    JarRequest,
    ResolverSettings,
    list_jar_folders,
    plan_jars,
    read_lock,
    resolve,
    verify,
)
from hudi_reconcile.spark.jvm import find_java
from tests.support.alone import alone

# Derby needs none: Spark brings its own 10.14, which its class loader finds before any other.
_LOCK = read_lock(
    """
com.h2database:h2:2.3.232      h2-2.3.232.jar         8dae62d22db8982c3dcb3826edb9c727c5d302063a67eef7d63d82de401f07d3
org.duckdb:duckdb_jdbc:1.3.2.0 duckdb_jdbc-1.3.2.0.jar f327f63e15e49b827966756d8ccc504f615e6abc382b131dcade415b4a920421
org.hsqldb:hsqldb:2.7.4        hsqldb-2.7.4.jar      5fab2bb4384ac06b762638c8fa2740c944b8d080e4796c0c6c2af8b90dd4e5ad
"""
)
_TAKERS = {
    "h2": "org.h2.Driver",
    "derby": "org.apache.derby.jdbc.EmbeddedDriver",
    "duckdb": "org.duckdb.DuckDBDriver",
    "hsqldb": "org.hsqldb.jdbc.JDBCDriver",
}


@dataclass(frozen=True, slots=True)
class JdbcDatabase:
    """A database of one product in a folder of its own. `made_with` are settings that only count when Derby makes it."""

    spark: SparkSession
    product: str
    folder: Path
    made_with: str = ""

    @property
    def url(self) -> str:
        return f"jdbc:{self.product}:{self.folder}/{self.product}_data"

    def execute(self, *statements: str) -> None:
        connection = self._connection(f";create=true{self.made_with}" if self.product == "derby" else "")
        try:
            for sql in statements:
                connection.createStatement().execute(sql)
        finally:
            connection.close()

    def query(self, sql: str) -> list[tuple[str | None, ...]]:
        """Rows as the driver's own text."""
        connection = self._connection("")
        try:
            result = connection.createStatement().executeQuery(sql)
            width = range(1, result.getMetaData().getColumnCount() + 1)
            rows = []
            while result.next():
                rows.append(tuple(result.getString(index) for index in width))
            return rows
        finally:
            connection.close()

    def version(self) -> str:
        """As the product's driver says it."""
        connection = self._connection("")
        try:
            return str(connection.getMetaData().getDatabaseProductVersion()).split(" ")[0]
        finally:
            connection.close()

    def _connection(self, settings: str) -> Any:
        jvm: Any = self.spark._jvm
        registry = jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry
        registry.register(_TAKERS[self.product])
        return registry.get(_TAKERS[self.product]).connect(self.url + settings, jvm.java.util.Properties())


def add_drivers(spark: SparkSession) -> None:
    """Put the drivers before the class loader of the running JVM, fetched where they are not here."""
    settings = ResolverSettings()
    with alone("jars"):
        plan = plan_jars(JarRequest(), _LOCK, list_jar_folders(os.environ, settings.folder))
        fetched = resolve(plan.missing, settings, find_java(os.environ)) if plan.missing else ()
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in verify((*fetched, *plan.present), _LOCK):
        loader.addURL(jvm.java.io.File(str(jar.path)).toURI().toURL())
