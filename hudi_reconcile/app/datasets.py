"""A table's two sides as OpenLineage names datasets. Pure: nothing of a URL but engine, host, port and database."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from urllib.parse import urlsplit

from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.jdbc_url import is_jdbc
from hudi_reconcile.report.openlineage import Dataset, Ends

_ENGINES = {"postgresql": ("postgres", 5432), "mysql": ("mysql", 3306), "mariadb": ("mysql", 3306)}


def ends_of(config: Config, tables: tuple[TableConfig, ...]) -> Mapping[str, Ends]:
    """Both datasets of each table, by the table's name."""
    return {table.name: Ends(_source(config.source.url, table), _lake(table.lake.path)) for table in tables}


def _source(url: str, table: TableConfig) -> Dataset:
    name = (table.source.table or f"query of {table.name}").replace('"', "").replace("`", "")
    if is_jdbc(url):  # such URLs may hold anything
        return Dataset(":".join(url.split(":")[:2]), name)
    parts = urlsplit(url)
    engine, port = _ENGINES.get(parts.scheme.split("+")[0], (parts.scheme, 0))
    database = parts.path.strip("/")
    return Dataset(
        f"{engine}://{parts.hostname or ''}:{parts.port or port}", f"{database}.{name}" if database else name
    )


def _lake(path: str) -> Dataset:
    parts = urlsplit(path)
    if not parts.scheme or parts.scheme == "file":
        return Dataset("file", posixpath.normpath(parts.path or path))
    return Dataset(f"{parts.scheme}://{parts.netloc}", parts.path.strip("/"))
