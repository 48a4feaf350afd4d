"""One entry of `tables`: where its rows are, how they are pulled, kept, compared, swept and corrected.

Decides what such an entry may say, within itself. It knows neither the source's columns nor whether the lake exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema

from hudi_reconcile.config.fields import (
    LAX,
    Duration,
    Finding,
    LocalPath,
    Names,
    Options,
    Place,
    PositiveDuration,
    Raw,
    Section,
    Share,
    SomeNames,
    SourceName,
    Text,
    plain_number,
    refuse_repeats,
)
from hudi_reconcile.config.paths import resolve_lake_path
from hudi_reconcile.config.table_rules import (
    Strategy,
    default_strategy,
    format_partition,
    parse_partition,
    pull_findings,
    table_findings,
)
from hudi_reconcile.core.errors import UsageError, fold
from hudi_reconcile.core.lake.catalog_sync import flag_problems
from hudi_reconcile.core.lake.ownership import list_option_problems
from hudi_reconcile.core.tables.values import READ_SEQ, RECORD_KEY, ChangeLog, PartitionField, TableType

Mask = Literal["hmac", "redact", "show"]

NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$"
# What databases count rows with, what a list of segments takes in memory, and what Hudi keeps in 32 bits.
_MOST_ROWS, _MOST_SEGMENTS, _MOST_COMMITS, _MOST_STATEMENTS = 2**63 - 1, 1_000_000, 1_000_000, 1_000_000
_LARGEST_TOLERANCE = Decimal("1e300")
_RUN_FILES = frozenset({"result.json", "report.html"})


def folder_name(name: str) -> str:
    """The name, if it works as a folder's. Raises ValueError."""
    if re.fullmatch(NAME_PATTERN, name, re.ASCII) is None or name.endswith("."):
        raise ValueError("must work as a folder name: letters, digits, _ . -, at most 100, not ending in a dot")
    if name.lower() in _RUN_FILES:
        raise ValueError("is the name of a file in the run folder")
    return name


def _partition(value: object) -> object:
    return parse_partition(value) if isinstance(value, str) else value


def _lake_columns_differ(fields: tuple[PartitionField, ...]) -> tuple[PartitionField, ...]:
    names = [field.lake_name.lower() for field in fields]
    if len(set(names)) < len(names):
        raise ValueError("holds a column twice")
    return fields


def _tolerance(value: object) -> object:
    if isinstance(value, Decimal):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError("must be a number from 0 up")
    if Decimal(value).is_finite() and value > _LARGEST_TOLERANCE:
        raise ValueError("must be a number up to 1e300")
    return plain_number(value)


def _lake_path(path: str, info: ValidationInfo) -> str:
    return resolve_lake_path(path, info.context.folder) if isinstance(info.context, Place) else path


def _segments(value: object) -> object:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ValueError("must be auto or a whole number from 1 up")


def _fold_keys(options: dict[str, str]) -> dict[str, str]:
    """Keys as Spark hands them to Hudi, so that whoever looks for one finds it."""
    return {fold(key): value for key, value in options.items()}


LakePath = Annotated[Text, AfterValidator(_lake_path)]
Partition = Annotated[
    PartitionField,
    BeforeValidator(_partition),
    PlainSerializer(format_partition, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["region", "day(created_at)", "month(created_at)"]}),
]
Tolerance = Annotated[
    Decimal,
    BeforeValidator(_tolerance),
    PlainSerializer(float, return_type=float),
    WithJsonSchema({"type": "number", "minimum": 0}),
]


class SourceSection(Section):
    """Which rows and columns of the source belong to the table."""

    table: SourceName | None = Field(None, description="Source table; SQL-quoted names are allowed.")
    query: Text | None = Field(None, description="A SELECT instead of a table; bulk only: strategy full.")
    key: SomeNames | None = Field(None, description="Key columns. Default: the primary key.")
    columns: SomeNames | None = Field(None, description="Columns to carry. Default: all.")
    where: Text | None = Field(None, description="One predicate, used by pull and sweep alike.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """`table` or `query`, not both; a query has no primary key to fall back on."""
        table, query = raw.get("table"), raw.get("query")
        if (table is None) == (query is None):
            yield (), "needs exactly one of `table` and `query`"
        if table is None and query is not None and raw.get("key") is None:
            yield ("query",), "has no primary key; name the key columns with `key`"


class PullConfig(Section):
    """How rows reach the lake."""

    watermark: Names = Field((), description="Change-time columns; the greatest non-null value counts.")
    watermark_text: bool = Field(
        default=False, description="true: the watermark may be text, ISO dates or times that all look alike."
    )
    incrementing: SourceName | None = Field(None, description="A column that only grows.")
    strategy: Strategy = Field(
        default_factory=lambda given: default_strategy(given.get("watermark"), given.get("incrementing")),
        description="incrementing | timestamp | timestamp+incrementing | full | xmin (PostgreSQL's own number of a "
        "row's version; needs no column). Default: what the columns above allow.",
    )
    overlap: Duration = Field(timedelta(0), description="Re-read this much behind the checkpoint.")
    limit: Annotated[int, Field(ge=1, le=_MOST_ROWS)] | None = Field(
        None, description="Rows per page; pages repeat until the bound taken at the start is reached."
    )
    most_pages: Annotated[int, Field(ge=1)] | None = Field(None, description="Pages of one pull at most.")
    stop_after: PositiveDuration | None = Field(None, description="No page begins this long after the pull began.")
    on_error: Literal["fail", "full"] = Field("fail", description="full: read all where no window can be trusted.")
    full_mode: Literal["upsert", "overwrite"] | None = Field(
        None,
        description="What a full fetch does: upsert, or overwrite: what is gone at the source goes. Default: overwrite for "
        "strategy full, else upsert.",
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """A strategy needs its columns."""
        return pull_findings(raw)


class LakeConfig(Section):
    """The Hudi table."""

    path: LakePath = Field(description="Any Hadoop path; relative to this file where it has no scheme.")
    type: TableType = Field("copy_on_write", description="Hudi's table type, when a pull makes the table.")
    partition_by: Annotated[tuple[Partition, ...], LAX, AfterValidator(_lake_columns_differ)] = Field(
        (), description="Columns, or day(col) month(col) year(col)."
    )
    options: Annotated[Options, AfterValidator(_fold_keys)] = Field({}, description="Further hoodie.* options.")
    index: Literal["simple", "bloom"] = Field(
        "simple",
        description="How Hudi finds the rows of a commit in a table that `pull` made: simple reads the keys of all files, bloom "
        "asks the files' filters first, for large tables whose changes are near each other in key; without partitions only.",
    )
    adopt: bool = Field(
        default=False, description="true: write a table that another tool made; look at `doctor -t T` before."
    )
    cdc: bool = Field(default=False, description="true: Hudi's change log, for `changes`.")
    cdc_logging: ChangeLog = Field(
        "data_before_after",
        description="What the change log keeps: op_key_only | data_before | data_before_after. The answers are the same.",
    )
    keep_commits: int = Field(
        60,
        ge=1,
        le=_MOST_COMMITS,
        description="Commits that `changes` can go back over: as many as the slowest consumer may lag.",
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Options are Hudi's, and none of those that the tool sets itself."""
        options = {str(key): value for key, value in raw.section("options").values.items()}
        for key, text in (*list_option_problems(options), *flag_problems(options)):
            yield ("options", key), text
        if raw.get("index") == "bloom" and raw.get("partition_by"):
            # Hudi's global bloom index has kept both copies of a row that moved (apache/hudi 12128).
            why = "bloom finds rows in their own partition only, and a row that moves would be there twice; use simple"
            yield ("index",), why


class CompareConfig(Section):
    """What equality leaves out or allows for."""

    exclude: Names = Field((), description="Columns that are not compared.")
    rename: dict[SourceName, Text] = Field({}, description="Source name -> lake name.")
    tolerance: dict[SourceName, Tolerance] = Field(
        {}, description="Column -> greatest difference that counts as equal."
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Lake names are free, and differ by more than case."""
        seen: set[str] = set()
        for column in raw.keys("rename"):
            name = (raw.section("rename").text(column) or "").lower()
            if name in (READ_SEQ, RECORD_KEY) or name.startswith("_hoodie_"):
                yield ("rename", column), "is a name that the tool or Hudi keeps for itself"
            if name in seen:
                yield ("rename", column), "is the lake name of another column already; case does not count"
            seen.update({name} - {""})


def _more_than_no_share(value: Decimal) -> Decimal:
    if value <= 0:
        raise ValueError("must be more than 0%")
    return value


class PauseConfig(Section):
    """When a sweep lets its source alone, and goes on later."""

    file: LocalPath | None = Field(None, description="While this file is there, nothing more is read.")
    statements: int | None = Field(
        None, ge=0, le=_MOST_STATEMENTS, description="While the server runs more statements of others than this."
    )
    lag: PositiveDuration | None = Field(
        None,
        description="While a replica lags more than this: the one that is read, or the slowest of a PostgreSQL primary.",
    )
    limit: PositiveDuration = Field(
        timedelta(minutes=30), description="A longer pause ends the table's sweep, unverified."
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Something has to be able to begin a pause."""
        if all(raw.get(key) is None for key in ("file", "statements", "lag")):
            yield (), "needs `file`, `statements` or `lag`"


class SweepConfig(Section):
    """How the two sides are compared."""

    mode: Literal["auto", "pushdown", "stream"] = Field(
        "auto", description="auto | pushdown (digests inside the source) | stream (rows digested in Spark)"
    )
    segments: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=1, le=_MOST_SEGMENTS)], BeforeValidator(_segments)
    ] = Field("auto", description="Number of segments, or auto.")
    settle: Duration = Field(timedelta(0), description="Wait this long before the second look.")
    settle_limit: Duration = Field(
        timedelta(minutes=1), description="Look again at rows that change meanwhile for so long; 0s: not at all."
    )
    rotation: int = Field(
        7,
        ge=1,
        le=366,
        description="Sweeps, and days, within which each segment is compared across the engines; 1: all of them each time.",
    )
    proof: Literal["auto", "always", "never"] = Field(
        "auto",
        description="auto | always | never (carry segments of which neither side changed; auto: from 2,000,000 rows on)",
    )
    max_duty: Annotated[Share, AfterValidator(_more_than_no_share)] = Field(
        Decimal(1),
        description="Share of the time that the first look may read the source; below 100% it reads and rests.",
    )
    pause: PauseConfig | None = Field(
        None, description="Read in parts, and rest while a file is there or the server is busy with others."
    )
    snapshot: Literal["none", "shared"] = Field(
        "none", description="none | shared (PostgreSQL: all connections of a look see one moment)"
    )


class PolicyConfig(Section):
    """How much an apply may change without being asked again."""

    max_deletes: int = Field(1000, ge=0, le=_MOST_ROWS, description="Deletes beyond this need --approve-deletes.")
    max_delete_share: Share = Field(Decimal("0.05"), description="Deletes as a share of the lake's rows.")
    max_upsert_share: Share = Field(Decimal("0.2"), description="Upserts as a share of the lake's rows.")
    max_plan_age: Duration = Field(timedelta(days=1), description="An older plan is not applied; sweep again.")
    quarantine: bool = Field(
        default=False, description="true: corrections that break any row rule of severity error are held back."
    )
    savepoint: Literal["deletes", "always", "never"] = Field(
        "deletes", description="Which applies set a savepoint before they write: those that delete, all, or none."
    )
    require_approval: bool = Field(
        default=False, description="true: apply refuses a plan that nobody approved (hudi-reconcile approve)."
    )
    approver: Literal["other", "other_login", "any"] = Field(
        "other",
        description="Who may approve: another name than who made the plan and who applies it, another login, or anyone.",
    )


class TableConfig(Section):
    """One table, on both sides."""

    name: Annotated[Text, AfterValidator(folder_name)] = Field(description="Name in commands, results and folders.")
    source: SourceSection = Field(description="Rows and columns at the source.")
    pull: PullConfig = Field(PullConfig(), description="How rows reach the lake.")
    lake: LakeConfig = Field(description="The Hudi table.")
    compare: CompareConfig = Field(CompareConfig(), description="What equality leaves out or allows for.")
    sweep: SweepConfig = Field(SweepConfig(), description="How the two sides are compared.")
    policy: PolicyConfig = Field(PolicyConfig(), description="Guards of apply.")
    mask: dict[SourceName, Mask] = Field(
        {}, description="Column -> how its values are kept out of evidence and output; keys cannot be masked."
    )
    personal: Mask = Field(
        "redact", description="Columns named like personal data that `mask` does not name: hmac | redact | show."
    )
    rules: LocalPath | None = Field(None, description="Rules file of this table.")
    time_limit: PositiveDuration | None = Field(
        None, description="The table is ended, unverified, when a command worked on it so long; the others go on."
    )
    tags: Annotated[tuple[Text, ...], LAX, AfterValidator(refuse_repeats)] = Field(
        (), description="Words to choose tables by: --tag."
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Keys stay readable, carried and compared; a query is fetched in full."""
        return table_findings(raw)


def build_default_table(path: str, folder: Path) -> TableConfig:
    """The table at a lake path of which no config tells anything: every key has its default. It is named as its folder is.

    Raises UsageError where the text is no path; a relative one begins at `folder`.
    """
    try:
        place = resolve_lake_path(path, folder)
    except ValueError as error:
        raise UsageError(f"--path: {error}", fix="--path /lake/orders, or any URI that Hadoop reads") from None
    name = "table"
    with suppress(ValueError):  # what is no name of a table in a config stays in the path alone
        name = folder_name(place.rstrip("/").rpartition("/")[2])
    values = {"name": name, "source": {"table": name}, "lake": {"path": place}}
    return TableConfig.model_validate(values, context=Place("--path", folder))
