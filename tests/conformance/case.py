"""An engine's table of cells, filled and changed, in a project that reads it, under settings that nobody would wish for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol, cast

import pytest

from tests.conformance.cells import Sql
from tests.conformance.product import Product
from tests.integration.project import Project
from tests.support.jdbc import JdbcDatabase, add_drivers
from tests.support.mariadb import MariaDatabase
from tests.support.postgres import Database

INSERTED_AT_ONCE = 20
# What a session would begin with, were it not for ours.
_POSTGRES_UNFRIENDLY = {
    "timezone": "Asia/Kolkata", "datestyle": "SQL, DMY", "intervalstyle": "sql_standard", "bytea_output": "escape",
    "extra_float_digits": "-5", "xmloption": "document", "standard_conforming_strings": "off",
}  # fmt: skip
_MARIA_UNFRIENDLY = {
    "sql_mode": "ANSI_QUOTES,ORACLE,PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,NO_UNSIGNED_SUBTRACTION",
    "time_zone": "+05:30", "character_set_server": "latin1", "collation_connection": "latin1_german2_ci",
    "div_precision_increment": "0", "sql_select_limit": "10", "group_concat_max_len": "4", "lc_time_names": "de_DE",
}  # fmt: skip


class Runs(Protocol):
    """A database of the tests."""

    def execute(self, *statements: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Case:
    """An engine's table, in a project that reads it."""

    product: Product
    database: Runs
    project: Project

    @property
    def table(self) -> str:
        return f"{self.product.quote}cells{self.product.quote}"

    def value(self, name: str, value: Any) -> str:
        if value is None:
            return "null"
        (field,) = (field for field in self.product.columns if field.name == name)
        return value.text if isinstance(value, Sql) else self.product.literal(field, value)

    def fill(self) -> None:
        quote = self.product.quote
        columns = ", ".join(f"{quote}{field.name}{quote} {field.declared}" for field in self.product.columns)
        made = [f"create table {self.table} ({quote}id{quote} int not null primary key, {columns})"]
        rows = [(number, before) for number, (before, _) in enumerate(self.product.rows())]
        for names, group in groupby(rows, key=lambda row: tuple(row[1])):
            made += self._inserts(names, list(group))
        self.database.execute(*made)

    def _inserts(self, names: tuple[str, ...], rows: list[tuple[int, dict[str, Any]]]) -> Iterator[str]:
        quote = self.product.quote
        into = ", ".join(f"{quote}{name}{quote}" for name in ("id", *names))
        for start in range(0, len(rows), INSERTED_AT_ONCE):
            values = ", ".join(
                f"({number}, {', '.join(self.value(name, row[name]) for name in names)})"
                for number, row in rows[start : start + INSERTED_AT_ONCE]
            )
            yield f"insert into {self.table} ({into}) values {values}"

    def change(self) -> None:
        quote = self.product.quote
        self.database.execute(
            *(
                f"update {self.table} set {', '.join(f'{quote}{n}{quote} = {self.value(n, v)}' for n, v in after.items())}"
                f" where {quote}id{quote} = {number}"
                for number, (_, after) in enumerate(self.product.rows())
            )
        )


def case_of(product: Product, request: pytest.FixtureRequest, folder: Path, server: Any = None) -> Case:
    """The engine's table, on the server that all tests have, or on another one's database."""
    captured: pytest.CaptureFixture[str] = request.getfixturevalue("capsys")
    if product.name.startswith("PostgreSQL"):
        database: Any = server or request.getfixturevalue("latin_pg" if product.latin != "utf-8" else "pg")
        project = Project.of(folder, database, captured)
    elif product.name == "MariaDB":
        database = server or request.getfixturevalue("maria")
        project = Project.of(folder, database, captured)
        server = database.server
        project.source["url"] = f"mariadb+pymysql://{server.user}@{server.host}:{server.port}/{database.name}"
    else:
        spark = request.getfixturevalue("spark")
        add_drivers(spark)
        database = JdbcDatabase(spark, product.name.lower(), folder)
        project = Project(folder, cast("Any", database), captured)
        project.source = {"url": database.url}
    project.settings = {
        "name": "cells",
        "source": {"table": f"{product.quote}cells{product.quote}"},
        "pull": {"strategy": "full"},
        "lake": {"path": "lake/cells", "type": "copy_on_write"},
        "policy": {"max_upsert_share": "100%", "max_delete_share": "100%"},
    }
    return Case(product, database, project)


@contextmanager
def unfriendly(database: Runs) -> Iterator[None]:
    if isinstance(database, MariaDatabase):
        with database.unfriendly(**_MARIA_UNFRIENDLY):
            yield
        return
    if isinstance(database, Database):
        database.execute(*(f"alter database {database.name} set {k} = '{v}'" for k, v in _POSTGRES_UNFRIENDLY.items()))
    try:
        yield
    finally:
        if isinstance(database, Database):
            database.execute(f"alter database {database.name} reset all")
