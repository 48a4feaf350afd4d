"""Every database with an engine of its own, by its folder; and what the tool knows of it before it is asked.

`databases/<folder>/__init__.py` describes its database as a value. Nothing here opens a connection or loads a driver, so that a
config is judged without either. What no folder here reads is reached by its own JDBC driver (`databases/jdbc`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.source.jdbc import is_jdbc, read_product
from hudi_reconcile.sql.connection_properties import DRIVERS, Driver

if TYPE_CHECKING:  # a config is read without them
    from hudi_reconcile.core.source.proposal import CatalogTable
    from hudi_reconcile.databases.base import Engine

FOLDERS: Final = ("postgres", "mysql")


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
    return next((one for one in list_databases().values() if scheme in one.schemes), None)


def find_own_jars(url: str) -> str:
    """The folder of the source whose own jars (its `jars.lock`, where it has one) this URL needs; empty for a `jdbc:` URL."""
    found = None if is_jdbc(url) else find_database(url)
    return next((folder for folder, one in list_databases().items() if one is found), "")


def driver_word(url: str) -> str:
    """The key in `known_drivers` of what reads this URL, if anything does.

    >>> driver_word("mariadb+pymysql://reader@host/shop"), driver_word("jdbc:H2:/data/shop")
    ('mysql', 'h2')
    """
    found = find_database(url)
    return found.dialect if found else read_scheme(url)


def known_drivers() -> dict[str, Driver]:
    """What each driver may be told: of the databases here by their dialects, of the others by the product in their URLs."""
    return {**{one.dialect: one.driver for one in list_databases().values()}, **DRIVERS}


def refuse_own_by_jdbc(url: str) -> None:
    """Raises UsageError for a `jdbc:` URL of a database that is read by an engine of its own."""
    found = find_database(url) if is_jdbc(url) else None
    if found is not None:
        raise UsageError(
            f"source.url: {found.why_not_jdbc.format(product=read_product(url))}", fix=f"write {found.example}"
        )
