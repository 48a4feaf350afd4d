"""Further versions of the engines that have servers: from the folder that CONFORMANCE_SERVERS names, and none without it.

Each of its folders holds `bin/postgres` or `bin/mariadbd`. `docs/support.md` says which were tried, and where such
programs are found.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.demo.postgres import run_postgres
from tests.conformance.fields import PRODUCTS
from tests.conformance.product import Product
from tests.conformance.server_fields import MARIADB, POSTGRES, POSTGRES_13
from tests.support.jdbc import JdbcDatabase
from tests.support.mariadb import MariaDatabase, fresh_maria, run_maria
from tests.support.postgres import Database, fresh_database

_WITH_INFINITY = 14  # as a numeric


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """An engine, and the folder of a server's programs; None: the one that all tests have."""

    product: Product
    programs: Path | None = None

    @property
    def name(self) -> str:
        """What the test is called."""
        return self.product.name if self.programs is None else f"{self.product.name} in {self.programs.parts[-2]}"

    @property
    def ways(self) -> list[tuple[str, str]]:
        """Modes, each with ANSI on and off; of a further version, or where CONFORMANCE_ANSI says so, with it off."""
        both = (
            ("true", "false") if self.programs is None and os.environ.get("CONFORMANCE_ANSI") != "off" else ("false",)
        )
        return [(mode, ansi) for mode in self.product.modes for ansi in both]


def engine_versions() -> list[EngineVersion]:
    """What runs here, and each further server of the folder."""
    root = os.environ.get("CONFORMANCE_SERVERS")
    at = Path(root or "/nowhere")
    found = [path for name in ("mariadbd", "postgres") for path in sorted(at.glob(f"*/bin/{name}"))]
    return [*map(EngineVersion, PRODUCTS), *(EngineVersion(_product(path), path.parent) for path in found)]


def _product(program: Path) -> Product:
    if program.name == "mariadbd":
        return MARIADB
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return POSTGRES_13 if int(re.findall(r"\d+", said)[0]) < _WITH_INFINITY else POSTGRES


@contextmanager
def served(one: EngineVersion) -> Iterator[Any]:
    """A fresh database of a server of these programs; None where it is the one that all tests have."""
    if one.programs is None:
        yield None
    elif one.product is not MARIADB:
        with run_postgres(bin_dir=one.programs) as server, fresh_database(server) as database:
            yield database
    else:
        base = one.programs.parent
        (install,) = base.glob("*/mariadb-install-db")
        with run_maria(one.programs / "mariadbd", install, base=base) as maria, fresh_maria(maria) as found:
            yield found


def version_of(database: Any) -> str:
    """The server's version, or the driver's product's, as it says itself."""
    if isinstance(database, JdbcDatabase):
        return database.version()
    sql = {Database: "show server_version", MariaDatabase: "select version()"}[type(database)]
    return str(database.query(sql)[0][0]).split("-")[0].split(" ")[0]
