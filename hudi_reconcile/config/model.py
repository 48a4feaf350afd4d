"""The config as a value: all sections but the tables' own, with every default of the contract.

Decides what is legal and what is meant. It reads no file and no environment; `load` does, and hands the text in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_serializer,
    model_validator,
)

from hudi_reconcile.config.fields import (
    LAX,
    Finding,
    LocalPath,
    Options,
    PositiveDuration,
    Raw,
    Section,
    Text,
    option_text,
    refuse_empty,
    wrap_secret,
)
from hudi_reconcile.config.partial import Partial, PartialSection
from hudi_reconcile.config.paths import (
    OWNERS_MODE,
    REPORTS,
    ReportsPath,
    StoreAddress,
    lake_path_findings,
    output_path_findings,
    reports_mode,
)
from hudi_reconcile.config.secrets import HIDDEN, Secret
from hudi_reconcile.config.selection import TableChoice, choose_tables, find_table
from hudi_reconcile.config.source import check_url, source_sql_findings, unverified_findings
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import find_respelled, fold
from hudi_reconcile.core.pull.retry import TABLE_RETRIES
from hudi_reconcile.core.source.jdbc import is_jdbc, read_product
from hudi_reconcile.databases.registry import driver_word, find_database, known_drivers
from hudi_reconcile.sql.connection_properties import class_problem, option_problems, url_problem


def _key(value: object, info: ValidationInfo) -> object:
    secret = wrap_secret(value, info, "audit.key")
    if isinstance(secret, Secret) and not secret.template.is_one_reference:
        raise ValueError(
            "must be ${file:PATH} or ${env:NAME} and nothing else: a key in the config is in every copy of it"
        )
    return secret


Key = Annotated[
    Secret,
    BeforeValidator(_key),
    PlainSerializer(lambda _: HIDDEN, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["${file:secrets/audit_key}", "${env:AUDIT_KEY}"]}),
]


class AuditConfig(Section):
    """The log of all runs, and how long they are kept."""

    key: Key | None = Field(None, description="${file:PATH} or ${env:NAME}: seals each line of the audit log (HMAC).")
    old_keys: Annotated[tuple[Key, ...], LAX] = Field((), description="Keys that older lines are sealed with.")
    unsealed_head: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(
        None, description="The log's head when it got its first key: lines up to it count though nothing seals them."
    )
    retention: PositiveDuration | None = Field(
        None, description="How long runs are kept, at least; `audit purge` obeys."
    )
    hold: bool = Field(default=False, description="true: `audit purge` removes nothing (legal hold).")


def _http(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ValueError("not a URL that starts with https:// or http://")
    return url


def _receiver(url: str) -> str:
    parts = urlsplit(_http(url))
    if parts.username or parts.password or parts.query:
        raise ValueError("holds more than an address; a key stands under `api_key`")
    return url if parts.path.strip("/") else f"{url.rstrip('/')}/{_LINEAGE_PATH}"


def _header(key: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise ValueError("not one line of ASCII, which is all that a header holds")
    return key


_LINEAGE_PATH = "api/v1/lineage"
ApiKey = Annotated[
    Text,
    AfterValidator(_header),
    PlainSerializer(lambda _: HIDDEN, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["${env:OPENLINEAGE_API_KEY}", "${file:secrets/openlineage}"]}),
]


class OpenLineageConfig(Section):
    """OpenLineage events: to a file, to a service, or both."""

    namespace: Text = Field(description="Namespace of the jobs.")
    file: LocalPath | None = Field(None, description="A file that gets one JSON line an event.")
    url: Annotated[Text, AfterValidator(_receiver)] | None = Field(
        None, description=f"A service that takes each event by POST; without a path, /{_LINEAGE_PATH} is meant."
    )
    api_key: ApiKey | None = Field(
        None, description="Sent to it as `Authorization: Bearer`, never printed; ${env:NAME} or ${file:PATH}."
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Events go somewhere, and a key is for a service."""
        if not raw.get("file") and not raw.get("url"):
            yield (), "needs `file`, `url` or both"
        if raw.get("api_key") and not raw.get("url"):
            yield ("api_key",), "is for `url`, which is not there"


WebhookUrl = Annotated[
    Text,
    AfterValidator(_http),
    PlainSerializer(lambda _: HIDDEN, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["${env:SLACK_WEBHOOK}", "${file:secrets/slack}"]}),
]
Ending = Literal["clean", "corrected", "pulled", "approved", "drift", "usage", "unverified", "incomplete", "refused"]


class WebhookConfig(Section):
    """One message a run, in the shape of Slack's incoming webhooks."""

    url: WebhookUrl = Field(description="Who has it may post, so it is never printed; ${env:NAME} or ${file:PATH}.")
    on: Annotated[tuple[Ending, ...], LAX, AfterValidator(refuse_empty)] = Field(
        ("drift", "unverified", "incomplete", "refused", "usage"), description="Outcomes of a run that are told."
    )


class OutputsConfig(Section):
    """Written after each run; each file is replaced whole. What cannot be written is a warning and changes no exit code."""

    junit: LocalPath | None = Field(None, description="JUnit XML of the newest run, a file.")
    prometheus: LocalPath | None = Field(
        None, description="Folder of node_exporter's textfile collector: one file a command and config."
    )
    ndjson: LocalPath | None = Field(None, description="A file that gets one JSON line a table and run.")
    openlineage: OpenLineageConfig | None = Field(
        None, description="OpenLineage events, to a file, to a service, or both."
    )
    webhook: WebhookConfig | None = Field(None, description="One message a run, in the shape of Slack's webhooks.")
    copy_to: StoreAddress | None = Field(
        None, description="A folder in a store that gets each finished run and the log, such as s3://bucket/evidence."
    )
    github: bool = Field(
        default=False, description="true: under GitHub Actions, the step's summary and one annotation a problem."
    )


_SOURCE_KEYS = frozenset({"url", "password", "driver"})


def _secret(value: object, info: ValidationInfo) -> object:
    return wrap_secret(value, info, "source.password")


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
    trust_properties: bool = Field(
        default=False,
        description="true: pass on any JDBC option, URL attribute and driver class; every report says so.",
    )
    insecure: bool = Field(
        default=False,
        description="true: the server's certificate need not be checked off this machine; every report says so.",
    )
    time_zone: Annotated[Text, AfterValidator(_zone)] = Field(
        "UTC", description="What a timestamp without zone means when it is compared with a clock."
    )
    max_connections: int = Field(4, ge=1, description="Connections to the source at the same time.")
    statement_timeout: PositiveDuration = Field(timedelta(minutes=5), description="Longest time of one statement.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """What the JDBC driver is told is on its list and the server is verified, unless the config says that nobody looked."""
        drivers = known_drivers()
        url, trusted = raw.text("url") or "", raw.get("trust_properties") is True
        options = {str(key): str(option_text(value)) for key, value in raw.section("jdbc").values.items()}
        for key, text in option_problems(drivers.get(driver_word(url)), options, trusted=trusted):
            yield ("jdbc", key), f"use `source.{fold(key)}`" if fold(key) in _SOURCE_KEYS else text
        if (
            is_jdbc(url)
            and find_database(url) is None
            and (problem := url_problem(url, read_product(url), trusted=trusted))
        ):
            yield ("url",), problem
        else:
            insecure = raw.get("insecure") is True
            yield from ((("url",), text) for text in unverified_findings(url, options, insecure=insecure))
        if (name := raw.text("driver")) and (problem := class_problem(name, drivers.values(), trusted=trusted)):
            yield ("driver",), problem


class SparkConfig(Section):
    """The Spark session."""

    master: Text | None = Field(
        "local[*]",
        description="Not set under spark-submit. null: join the session that spark-submit or a notebook made.",
    )
    conf: Options = Field({}, description="Further spark.* settings.")

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Settings are Spark's, and the master has its own key."""
        twice = dict(find_respelled(map(str, raw.keys("conf"))))
        for key in map(str, raw.keys("conf")):
            if fold(key) == "spark.master":
                yield ("conf", key), "use `spark: {master: …}`"
            elif re.fullmatch(r"spark\.[!-~]+", key) is None:
                yield ("conf", key), "must start with `spark.`, without blanks or letters beyond ASCII"
            elif key in twice:
                yield ("conf", key), f"is another spelling of {twice[key]}; Spark would take neither for the other"


class JarsConfig(Section):
    """Where the Hudi bundle and the JDBC drivers come from."""

    mode: Literal["auto", "packages", "paths"] = Field(
        "auto", description="auto: a local jar folder if there is one, else packages."
    )
    paths: Annotated[tuple[LocalPath, ...], LAX] = Field(
        (), description="Jar files, loaded beside the locked ones (mode paths: instead of them)."
    )
    executor_folder: Text | None = Field(
        None,
        description="Folder on every executor's machine that holds the same jars; they are loaded from there and not sent.",
    )

    @classmethod
    def cross_findings(cls, raw: Raw) -> Iterator[Finding]:
        """Mode `paths` needs paths. An executor's working folder is its own, so the folder of jars is named in full."""
        if raw.get("mode") == "paths" and not raw.get("paths"):
            yield ("mode",), "paths needs at least one entry in `jars.paths`"
        if (folder := raw.text("executor_folder")) is not None and re.fullmatch(r"/[^,:*?#%\s]*", folder) is None:
            yield ("executor_folder",), "must be a whole path such as /opt/hudi-jars, without blanks and , : * ? # %"


class RunConfig(Section):
    """The whole of a command's work."""

    time_limit: PositiveDuration | None = Field(
        None, description="Then what is worked on is ended, and no other table is begun: all of these are unverified."
    )
    retries: int = Field(
        TABLE_RETRIES,
        ge=0,
        le=10,
        description="How often a table is begun again whose connection broke or executor was lost.",
    )


_OWN = frozenset({("name",), ("lake", "path")})
TableDefaults = Annotated[Section, Partial(TableConfig, without=_OWN)]
TableOverlay = Annotated[Section, Partial(TableConfig, required=frozenset({"name"}))]


class ProfileConfig(PartialSection):
    """What is laid over the file when the profile is chosen. Its tables are those of the file, found by name."""

    source: Annotated[Section, Partial(SourceConfig)] = Field(default_factory=Section, description="As `source`.")
    spark: Annotated[Section, Partial(SparkConfig)] = Field(default_factory=Section, description="As `spark`.")
    jars: Annotated[Section, Partial(JarsConfig)] = Field(default_factory=Section, description="As `jars`.")
    reports: ReportsPath = Field(default_factory=lambda: Path(REPORTS), description="As `reports`.")
    run: Annotated[Section, Partial(RunConfig)] = Field(default_factory=Section, description="As `run`.")
    outputs: Annotated[Section, Partial(OutputsConfig)] = Field(default_factory=Section, description="As `outputs`.")
    audit: Annotated[Section, Partial(AuditConfig)] = Field(default_factory=Section, description="As `audit`.")
    defaults: TableDefaults = Field(default_factory=Section, description="As `defaults`.")
    tables: Annotated[tuple[TableOverlay, ...], LAX] = Field(
        default_factory=tuple, description="Keys of tables of the file, each with its `name`."
    )


class Config(Section):
    """A whole `reconcile.yaml`. Local paths are absolute when it came from `load_config`.

    There `defaults`, `include` and `profiles` have gone into the other keys: each table says all that holds for it.
    """

    version: Annotated[Literal[1], BeforeValidator(_whole)] = Field(description="Version of the config format.")
    source: SourceConfig = Field(description="The database that the lake follows.")
    spark: SparkConfig = Field(SparkConfig(), description="The Spark session.")
    jars: JarsConfig = Field(JarsConfig(), description="Where the Hudi bundle and the JDBC drivers come from.")
    reports: ReportsPath = Field(
        Path(REPORTS), description='Folder of the runs; {path: …, mode: "0750"} lets a group read them.'
    )
    run: RunConfig = Field(RunConfig(), description="The whole of a command's work.")
    outputs: OutputsConfig = Field(OutputsConfig(), description="Where else a run is told.")
    audit: AuditConfig = Field(AuditConfig(), description="The log of all runs, and how long they are kept.")
    tables: Annotated[tuple[TableConfig, ...], LAX, AfterValidator(refuse_empty)] = Field(description="The tables.")
    defaults: TableDefaults = Field(
        default_factory=Partial(TableConfig, without=_OWN).model,
        validate_default=False,
        exclude=True,
        description="Keys of a table that each table inherits: mappings are merged, lists replaced.",
    )
    include: Annotated[tuple[Text, ...], LAX] = Field(
        (), exclude=True, description="Files with further `tables`; paths start at this file."
    )
    profiles: dict[Text, ProfileConfig] = Field(
        {}, exclude=True, description="Name -> keys that are laid over this file: --profile NAME."
    )
    _reports_mode: int | None = PrivateAttr(None)
    _secret_variables: frozenset[str] = PrivateAttr(frozenset())
    _overlay: Mapping[str, str] = PrivateAttr({})

    @model_validator(mode="wrap")
    @classmethod
    def _keep_mode(cls, raw: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        built = handler(raw)
        if isinstance(raw, Mapping) and isinstance(raw.get("reports"), Mapping):
            built._reports_mode = reports_mode(raw["reports"])  # noqa: SLF001 - its own
        return built

    @field_serializer("reports")
    def _dump_reports(self, path: Path) -> str | dict[str, str]:
        return str(path) if self._reports_mode is None else {"path": str(path), "mode": f"{self._reports_mode:04o}"}

    @property
    def reports_mode(self) -> int:
        """The mode of the folders below `reports`."""
        return OWNERS_MODE if self._reports_mode is None else self._reports_mode

    @property
    def secret_variables(self) -> frozenset[str]:
        """The environment variables that the config's secrets come from."""
        return self._secret_variables

    @property
    def overlay(self) -> Mapping[str, str]:
        """What a call laid over the file, for evidence: the `profile`, and the keys of --`set`, not their values."""
        return self._overlay

    @property
    def late_secrets(self) -> tuple[Secret, ...]:
        """The secrets that are filled in when they are needed."""
        return tuple(
            secret for secret in (self.source.password, self.audit.key, *self.audit.old_keys) if secret is not None
        )

    def settle(self, secret_variables: frozenset[str], overlay: Mapping[str, str]) -> Config:
        """The same config, which knows where its secrets and its keys come from. Its layers are in the other keys now."""
        layers = {"defaults": type(self.defaults)(), "include": (), "profiles": {}}
        config = self.model_copy(update=layers)
        config._secret_variables, config._overlay = secret_variables, overlay  # noqa: SLF001 - its own
        return config

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
        master = raw.section("spark").text("master") or "local"  # null joins a session, whose jars are its own
        if raw.section("jars").get("executor_folder") is not None and re.fullmatch(r"local(\[.*\])?", master):
            yield ("jars", "executor_folder"), "says nothing without a cluster as `spark.master`"
        yield from source_sql_findings(raw)
        yield from lake_path_findings([table.section("lake").text("path") for table in tables], raw.folder)
        yield from output_path_findings(
            raw.section("outputs"), raw.text("reports") or raw.section("reports").text("path") or REPORTS, raw.folder
        )

    def table(self, name: str) -> TableConfig:
        """The table of that name.

        Raises:
            UsageError: there is none; names the nearest one and all that are legal.
        """
        return find_table(self.tables, name)

    def select(self, names: Sequence[str]) -> tuple[TableConfig, ...]:
        """The tables of `-t` in the order of the config, each once; all of them for no name.

        Raises:
            UsageError: a name that is not in the config.
        """
        return self.choose(TableChoice(tuple(names)))

    def choose(self, choice: TableChoice) -> tuple[TableConfig, ...]:
        """The tables of `-t`, `--tag` and `--exclude` in the order of the config, each once. Nothing chosen means all of them.

        Raises:
            UsageError: a name, pattern or tag that fits no table, or a choice that leaves none.
        """
        return choose_tables(self.tables, choice)
