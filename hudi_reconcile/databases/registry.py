"""Every database with an engine of its own, by its folder; and what the tool knows of it before it is asked.

`databases/<folder>/__init__.py` describes its database as a value. Nothing here opens a connection or loads a driver, so that a
config is judged without either. What no folder here reads is reached by its own JDBC driver (`databases/jdbc`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.source.jdbc import is_jdbc, read_product, strip_url
from hudi_reconcile.sql.connection_properties import DRIVERS, Driver

if TYPE_CHECKING:  # a config is read without them
    from hudi_reconcile.core.source.proposal import CatalogTable
    from hudi_reconcile.databases.base import Engine

FOLDERS: Final = ("postgres", "mysql")
# Of what follows a JDBC URL's place, the one setting that says which database it is.
_DATABASE_SETTING = re.compile(r"[;?&/,]database(?:name)?=([^;?&/,]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDatabase:
    """One kind of database.

    `schemes` begin its SQLAlchemy URLs, of which `example` is one, with `parameters` as all that one may say of TLS. `own_root`
    is the file below the home folder in which its driver looks for root certificates by itself. `sql` is the name by which
    `sql/user_sql.py` reads `source.where`, `namespace` the one in OpenLineage. `why_not_jdbc`: why a `jdbc:` URL is refused.
    Without `survey`, `init --from-database` cannot propose its tables.
    """

    dialect: str
    schemes: tuple[str, ...]
    example: str
    port: int
    parameters: frozenset[str]
    driver: Driver
    open_engine: Callable[[Connection], Engine]
    why_not_jdbc: str
    sql: str
    namespace: str
    own_root: str = ""
    survey: Callable[[Engine, tuple[str, ...]], Iterable[CatalogTable]] | None = None


@lru_cache(maxsize=1)
def list_databases() -> Mapping[str, KnownDatabase]:
    """All of them by their folders."""
    return {folder: import_module(f"{__package__}.{folder}").DATABASE for folder in FOLDERS}


def read_scheme(url: str) -> str:
    """What the URL begins with, without the driver's name; of a `jdbc:` URL the product.

    >>> read_scheme("MariaDB+pymysql://reader@host/shop"), read_scheme("jdbc:H2:/data/shop")
    ('mariadb', 'h2')
    """
    return read_product(url) if is_jdbc(url) else url.partition(":")[0].partition("+")[0].lower()


def find_database(url: str) -> KnownDatabase | None:
    """The database that a URL names, also by a `jdbc:` URL; None where none here has an engine of its own."""
    scheme = read_scheme(url)
    return next((database for database in list_databases().values() if scheme in database.schemes), None)


def place_url(url: str) -> str:
    """Which database a source's URL means, as it spells it and OpenLineage names the server: no login, no other settings.

    Raises UsageError for what is no URL.

    >>> place_url("postgresql+psycopg://reader@DB.example/shop?sslmode=require")
    'postgres://db.example:5432/shop'
    >>> place_url("jdbc:h2:tcp://reader@db/shop;IFEXISTS=TRUE")
    'jdbc:h2:db/shop'
    >>> place_url("jdbc:sqlserver://db;encrypt=true;databaseName=shop")
    'jdbc:sqlserver://db database shop'
    """
    if is_jdbc(url):
        named = _DATABASE_SETTING.search(url)
        return strip_url(url) + (f" database {named[1]}" if named else "")
    known = find_database(url)
    try:
        parts = urlsplit(url)
        port = parts.port or (known.port if known else 0)
    except ValueError as error:
        raise UsageError("source.url is not a URL", fix="correct its host or port") from error
    engine = known.namespace if known else parts.scheme
    return f"{engine}://{parts.hostname or ''}:{port}/{parts.path.strip('/')}"


def find_own_jars(url: str) -> str:
    """The folder of the source whose own jars (its `jars.lock`, where it has one) this URL needs; empty for a `jdbc:` URL."""
    url_database = None if is_jdbc(url) else find_database(url)
    return next((folder for folder, database in list_databases().items() if database is url_database), "")


def driver_word(url: str) -> str:
    """The key in `known_drivers` of what reads this URL, if anything does.

    >>> driver_word("mariadb+pymysql://reader@host/shop"), driver_word("jdbc:H2:/data/shop")
    ('mysql', 'h2')
    """
    database = find_database(url)
    return database.dialect if database else read_scheme(url)


def known_drivers() -> dict[str, Driver]:
    """What each driver may be told: of the databases here by their dialects, of the others by the product in their URLs."""
    return {**{database.dialect: database.driver for database in list_databases().values()}, **DRIVERS}


def refuse_own_by_jdbc(url: str) -> None:
    """Raises UsageError for a `jdbc:` URL of a database that is read by an engine of its own."""
    database = find_database(url) if is_jdbc(url) else None
    if database is not None:
        raise UsageError(
            f"source.url: {database.why_not_jdbc.format(product=read_product(url))}", fix=f"write {database.example}"
        )
