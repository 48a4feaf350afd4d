"""The config as a value: sections `source`, `spark`, `jars`, `reports`, `tables`, with every default of the contract.

Decides what is legal and what is meant. It reads no file and no environment; `load` does, and hands the text in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema

from hudi_reconcile.config.audit import AuditConfig
from hudi_reconcile.config.fields import (
    LAX,
    Finding,
    LocalPath,
    Options,
    PositiveDuration,
    Raw,
    Section,
    Text,
    not_empty,
    secret_of,
)
from hudi_reconcile.config.outputs import OutputsConfig
from hudi_reconcile.config.paths import lake_path_findings, output_path_findings
from hudi_reconcile.config.secrets import HIDDEN, Secret
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.config.urls import check_url
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.spelling import nearest

_REPORTS = "reports"
_SOURCE_KEYS = frozenset({"url", "password", "driver"})
_TOOLS_KEYS = frozenset({"dbtable", "query", "partitioncolumn", "lowerbound", "upperbound", "numpartitions"})


def _secret(value: object, info: ValidationInfo) -> object:
    return secret_of(value, info, "source.password")


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("not a time zone of the IANA database, such as UTC or Europe/Vienna") from None
    return name


def _whole(value: object) -> object:
    # Python holds true and 1.0 equal to 1, and a literal check goes by equality.
    return value if type(value) is int else None


Password = Annotated[
    Secret,
    BeforeValidator(_secret),
    PlainSerializer(lambda _: HIDDEN, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["${env:SHOP_PASSWORD}", "${file:secrets/shop_password}"]}),
]


class SourceConfig(Section):
    """The database that the lake follows."""

    url: Annotated[Text, AfterValidator(check_url)] = Field(
        description="SQLAlchemy URL, or a jdbc: URL for any other engine with a JDBC driver. Without password."
    )
    password: Password | None = Field(None, description="${file:PATH} or ${env:NAME}; filled in when needed.")
    driver: Text | None = Field(None, description="JDBC driver class, for jdbc: URLs; known engines need none.")
    jdbc: Options = Field({}, description="Extra Spark JDBC options.")
    time_zone: Annotated[Text, AfterValidator(_zone)] = Field(
        "UTC", description="What a timestamp without zone means when it is compared with a clock."
    )
    max_connections: int = Field(4, ge=1, description="Connections to the source at the same time.")
    statement_timeout: PositiveDuration = Field(timedelta(minutes=5), description="Longest time of one statement.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Options that the tool sets itself are not given twice."""
        for key in raw.keys("jdbc"):
            if key.lower() in _SOURCE_KEYS:
                yield ("jdbc", key), f"use `source.{key.lower()}`"
            elif key.lower() in _TOOLS_KEYS:
                yield ("jdbc", key), "is set by the tool"


class SparkConfig(Section):
    """The Spark session."""

    master: Text = Field("local[*]", description="Not set under spark-submit.")
    conf: Options = Field({}, description="Further spark.* settings.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Settings are Spark's, and the master has its own key."""
        for key in raw.keys("conf"):
            if key == "spark.master":
                yield ("conf", key), "use `spark: {master: …}`"
            elif not key.startswith("spark."):
                yield ("conf", key), "must start with `spark.`"


class JarsConfig(Section):
    """Where the Hudi bundle and the JDBC drivers come from."""

    mode: Literal["auto", "packages", "paths"] = Field(
        "auto", description="auto: a local jar folder if there is one, else packages."
    )
    paths: Annotated[tuple[LocalPath, ...], LAX] = Field(
        (), description="Jar files, loaded beside the locked ones (mode paths: instead of them)."
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Mode `paths` needs paths."""
        if raw.get("mode") == "paths" and not raw.get("paths"):
            yield ("mode",), "paths needs at least one entry in `jars.paths`"


class Config(Section):
    """A whole `reconcile.yaml`. Local paths are absolute when it came from `load_config`."""

    version: Annotated[Literal[1], BeforeValidator(_whole)] = Field(description="Version of the config format.")
    source: SourceConfig = Field(description="The database that the lake follows.")
    spark: SparkConfig = Field(SparkConfig(), description="The Spark session.")
    jars: JarsConfig = Field(JarsConfig(), description="Where the Hudi bundle and the JDBC drivers come from.")
    reports: LocalPath = Field(Path(_REPORTS), description="Folder of the runs.")
    outputs: OutputsConfig = Field(OutputsConfig(), description="Where else a run is told.")
    audit: AuditConfig = Field(AuditConfig(), description="The log of all runs, and how long they are kept.")
    tables: Annotated[tuple[TableConfig, ...], LAX, AfterValidator(not_empty)] = Field(description="The tables.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Names and paths keep apart; names of tables that differ by case only share a folder on some disks."""
        tables = raw.sections("tables")
        seen: set[str] = set()
        for index, table in enumerate(tables):
            name = (table.text("name") or "").lower()
            if name in seen:
                yield ("tables", index, "name"), "is the name of another table already; case does not count"
            seen.update({name} - {""})
        yield from lake_path_findings([table.section("lake").text("path") for table in tables], raw.folder)
        yield from output_path_findings(raw.section("outputs"), raw.text("reports") or _REPORTS, raw.folder)

    def table(self, name: str) -> TableConfig:
        """The table of that name.

        Raises:
            UsageError: there is none; names the nearest one and all that are legal.
        """
        for table in self.tables:
            if table.name == name:
                return table
        legal = [table.name for table in self.tables]
        close = nearest(name, legal)
        raise UsageError(
            f"no table {name!r} in the config" + (f"; did you mean {close!r}?" if close else ""),
            fix=f"legal after -t: {', '.join(legal)}",
        )

    def select(self, names: Sequence[str]) -> tuple[TableConfig, ...]:
        """The tables of `-t` in the order of the config, each once; all of them for no name.

        Raises:
            UsageError: a name that is not in the config.
        """
        chosen = {self.table(name).name for name in names}
        return tuple(table for table in self.tables if not chosen or table.name in chosen)
