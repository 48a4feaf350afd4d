"""Decides which of Hudi's sync tools update the catalog of a lake table, and what a failed sync means. Pure.

The options are Hudi's own, in `lake.options`. Hudi's writer would sync within each write: under the table's lock for as long
as a metastore does not answer, and never where there is nothing to write, so that a failed sync would stay. Its sync is
switched off, and the same tools run once after the work with the table (ADR 32).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import fold
from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import UNSYNCED, Failure

HIVE_TOOL = "org.apache.hudi.hive.HiveSyncTool"
GLUE_TOOL = "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"
URIS = "hoodie.datasource.hive_sync.metastore.uris"
MODE = "hoodie.datasource.hive_sync.mode"
_SWITCHES = ("hoodie.datasource.meta.sync.enable", "hoodie.datasource.hive_sync.enable")
_TOOLS = "hoodie.meta.sync.client.tool.class"
_FORGIVES = "hoodie.datasource.hive_sync.ignore_exceptions"
_DATABASE, _TABLE = "hoodie.datasource.hive_sync.database", "hoodie.datasource.hive_sync.table"
_OF_TOOLS = (
    "hoodie.datasource.hive_sync.", "hoodie.datasource.meta.sync.", "hoodie.datasource.meta_sync.", "hoodie.meta.sync.",
    "hoodie.meta_sync.",
)  # fmt: skip
_FLAGS = frozenset({"true", "false"})


@dataclass(frozen=True, slots=True)
class CatalogSync:
    """The classes of Hudi's sync tools, and the user's `lake.options`. `forgives`: a failure is a note, and no error."""

    tools: tuple[str, ...]
    options: Mapping[str, str]
    forgives: bool = False

    @property
    def mode(self) -> str:
        """How HiveSyncTool reaches Hive, in lower case; empty where nothing is said."""
        return self.options.get(MODE, "").lower()

    def name_table(self, properties: Mapping[str, str]) -> str:
        """The table's name in the catalog; `properties` are those of the Hudi table."""
        database = self.options.get(_DATABASE) or properties.get("hoodie.database.name") or "default"
        return f"{database}.{self.options.get(_TABLE) or properties.get('hoodie.table.name', '')}"

    def build_settings(self, properties: Mapping[str, str]) -> dict[str, str]:
        """What the tools are given: what the table says of itself, and over it the user's options.

        HiveSyncTool would write an error that it ignores into a log, and report success: which are ignored is decided here.
        """
        return {**properties, **self.options, _FORGIVES: "false"}


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """The outcome of one sync: the table's name in the catalog, and one message for each tool that failed."""

    name: str
    failures: tuple[str, ...] = ()
    forgiven: bool = False


def choose_sync(options: Mapping[str, str]) -> CatalogSync | None:
    """What `lake.options` ask for, in the lower case in which the config has them; None where no sync is switched on.

    >>> choose_sync({"hoodie.datasource.hive_sync.enable": "true"}).tools
    ('org.apache.hudi.hive.HiveSyncTool',)
    >>> choose_sync({"hoodie.datasource.hive_sync.enable": "false"}) is None
    True
    """
    if not any(_is_on(options, key) for key in _SWITCHES):
        return None
    named = (options.get(_TOOLS) or HIVE_TOOL).split(",")
    glue = [GLUE_TOOL] if options.get(MODE, "").lower() == "glue" else []  # as Hudi's own writer chooses
    tools = tuple(dict.fromkeys(name for tool in (*named, *glue) if (name := tool.strip())))
    return CatalogSync(tools, options, _is_on(options, _FORGIVES))


def leave_out_sync(options: Mapping[str, str]) -> dict[str, str]:
    """The options for Hudi's writer, which then syncs nothing itself, and gets no password of a catalog.

    >>> leave_out_sync({"hoodie.datasource.hive_sync.enable": "true", "hoodie.keep.max.commits": "9"})
    {'hoodie.keep.max.commits': '9'}
    """
    return {key: value for key, value in options.items() if not key.startswith(_OF_TOOLS)}


def add_sync_outcome(result: TableResult, sync: SyncOutcome | None) -> TableResult:
    """Add the outcome of the catalog sync to a table's result.

    A failed one is an error, exit 3, where all else went well, as readers who ask the catalog may lack rows. With Hudi's own
    `ignore_exceptions`, or beside another ending, it is a note. Either says that the commits stand.
    """
    if sync is None:
        return result
    if not sync.failures:
        return replace(result, notes=(*result.notes, f"catalog: {sync.name} shows the table as this run left it"))
    message = (
        f"{_describe_commits(result)} in the lake and stands, but {sync.name} in the catalog was not brought up to date: "
        f"{'; '.join(sync.failures)}; readers who ask the catalog may lack new columns and partitions"
    )
    fix = f"hudi-reconcile doctor -t {result.name}, then hudi-reconcile pull -t {result.name}: it syncs without new rows too"
    if sync.forgiven or result.outcome.exit_code != 0:
        return replace(result, notes=(*result.notes, Note(Stake.ROWS, f"{message}: {fix}")))
    error = Failure(UNSYNCED, f"table {result.name}: {message}", fix)
    return replace(result, outcome=Outcome.UNVERIFIED, error=error)


def _describe_commits(result: TableResult) -> str:
    pulled = None if result.pull is None else result.pull.instant
    instants = dict.fromkeys(instant for instant in (pulled, *result.corrections.instants) if instant)
    return f"commit {', '.join(instants)} is" if instants else "what was committed before is"


def flag_problems(options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What is wrong with switches in `lake.options`: key and text. One that is no switch would be read as off.

    >>> list(flag_problems({"hoodie.datasource.meta.sync.enable": "yes"}))
    [('hoodie.datasource.meta.sync.enable', 'is neither true nor false')]
    """
    for key, value in options.items():
        if fold(key) in (*_SWITCHES, _FORGIVES) and str(value).lower() not in _FLAGS:
            yield key, "is neither true nor false"


def _is_on(options: Mapping[str, str], key: str) -> bool:
    return options.get(key, "").lower() == "true"
