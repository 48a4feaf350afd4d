"""MySQL and MariaDB, as `databases/registry.py` knows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.databases.registry import KnownDatabase
from hudi_reconcile.sql.connection_properties import COUNT, FLAG, TLS_KEYS, Driver

if TYPE_CHECKING:
    from hudi_reconcile.core.source.proposal import CatalogTable
    from hudi_reconcile.databases.base import Engine


def _open(connection: Connection) -> Engine:
    from hudi_reconcile.databases.mysql.engine import MysqlEngine  # noqa: PLC0415 - its drivers

    return MysqlEngine(connection)


def _survey(engine: Engine, schemas: tuple[str, ...]) -> Iterable[CatalogTable]:
    from hudi_reconcile.databases.mysql.survey import survey_mysql  # noqa: PLC0415

    return survey_mysql(engine, schemas)


_DRIVER = Driver(
    title="MySQL and MariaDB",
    classes=("org.mariadb.jdbc.Driver",),
    keys={"connectTimeout": COUNT, "socketTimeout": COUNT, "tcpKeepAlive": FLAG, "tcpKeepIdle": COUNT,
          "tcpKeepInterval": COUNT, "tcpKeepCount": COUNT, "useCompression": FLAG},
    own=frozenset({"user", "database", "initsql", "sessionvariables", "tinyint1isbit", "yearisdatetype", "allowlocalinfile",
                   "permitredirect", "permitmysqlscheme", "allowpublickeyretrieval", "serversslcert",
                   "restrictedauth"}) | TLS_KEYS,
)  # fmt: skip
DATABASE = KnownDatabase(
    dialect="mysql",
    schemes=("mysql", "mariadb"),
    example="mysql+pymysql://user@host:3306/database",
    port=3306,
    parameters=frozenset({"sslmode", "sslrootcert"}),
    driver=_DRIVER,
    open_engine=_open,
    # Spark, or a dialect that quotes as SQL-92 does, writes "name", which these servers read as the text 'name'.
    why_not_jdbc="jdbc:{product}: is not read: names quoted for it come back as values, row after row, without an error",
    sql="mysql",
    namespace="mysql",
    survey=_survey,
)
