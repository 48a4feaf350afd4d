"""The JVM side of Hudi through py4j: metaclient, commit metadata, rollback of one instant, and what a failure there means.

Only this module calls Hudi's Java classes for the timeline; their names change between releases. It decides nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.lake.failures import JavaCause, describe_causes
from hudi_reconcile.core.safe_text import parse_json

WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
CLUSTERING = "clustering"
# Table services finish under the action of a write but change no row.
_SERVICES = frozenset({"COMPACT", "LOG_COMPACT", "CLUSTER"})


@dataclass(frozen=True, slots=True)
class TimelineAction:
    """One entry of the timeline. `completed` is None while it is requested or in flight.

    `line` is Hudi's own list of such entries, in which this one has its `place`.
    """

    requested: str
    completed: str | None
    action: str
    line: Any = field(compare=False, repr=False, default=None)
    place: int = field(compare=False, repr=False, default=0)

    @property
    def java(self) -> Any:
        """Hudi's own object for this entry; each access is a call to the JVM."""
        return self.line.get(self.place)


class Timeline:
    """The timeline of one table as it was when this object was made."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jsc: Any = spark._jsc  # noqa: SLF001  py4j has no public door
        self._open(spark._jvm, jsc.hadoopConfiguration(), path)  # noqa: SLF001

    @classmethod
    def open_in_bare_jvm(cls, jvm: Any, path: str) -> Timeline:
        """The same without a Spark session."""
        timeline = cls.__new__(cls)
        timeline._open(jvm, jvm.org.apache.hadoop.conf.Configuration(), path)  # noqa: SLF001  another constructor
        return timeline

    def _open(self, jvm: Any, hadoop: Any, path: str) -> None:
        conf = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(hadoop)
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder().setConf(conf).setBasePath(path)
        self._path, self._jvm = path, jvm
        try:
            self._client = retry_missing_table(builder.setLoadActiveTimelineOnLoad(True).build)
            self._active = self._client.getActiveTimeline()
        except Py4JJavaError as error:
            raise build_unreadable_error(path, "its timeline", error) from error

    def pending(self) -> tuple[TimelineAction, ...]:
        """Everything requested or in flight, oldest first."""
        actions = list_actions(self._active.filterInflightsAndRequested())
        return tuple(
            replace(action, action=CLUSTERING) if self._plans_clustering(action) else action for action in actions
        )

    def list_planned_compactions(self) -> Mapping[str, frozenset[tuple[str, str]]]:
        """The file groups (partition path and file id) of each pending compaction, by its requested time.

        Raises LakeError where a plan cannot be read.
        """
        groups_by_plan: dict[str, set[tuple[str, str]]] = {}
        utils = self._jvm.org.apache.hudi.common.util.CompactionUtils
        try:
            for find in (utils.getAllPendingCompactionOperations, utils.getAllPendingLogCompactionOperations):
                for group, plan in dict(find(self._client)).items():
                    place = str(group.getPartitionPath()), str(group.getFileId())
                    groups_by_plan.setdefault(str(plan.getLeft()), set()).add(place)
        except Py4JJavaError as error:
            raise build_unreadable_error(self._path, "a compaction's plan", error) from error
        return {requested: frozenset(groups) for requested, groups in groups_by_plan.items()}

    def _plans_clustering(self, action: TimelineAction) -> bool:
        # Up to table version 6 a clustering is requested as what it ends as, a replacement; its plan tells them apart.
        if action.action != "replacecommit":
            return False
        utils = self._jvm.org.apache.hudi.common.util.ClusteringUtils
        try:
            return bool(utils.isClusteringInstant(self._active, action.java, self._client.getInstantGenerator()))
        except Py4JJavaError as error:
            raise build_unreadable_error(self._path, f"instant {action.requested}", error) from error

    def list_completed(self) -> tuple[TimelineAction, ...]:
        """Completed writes (table services included), newest completion first."""
        done = list_actions(self._active.getCommitsTimeline().filterCompletedInstants())
        return tuple(sorted(done, key=lambda action: action.completed or "", reverse=True))

    def rollbacks(self) -> frozenset[str]:
        """Requested times of the rollbacks that were planned or made, but for archived ones."""
        return frozenset(rollback.requested for rollback in list_actions(self._active.getRollbackTimeline()))

    def is_service(self, action: TimelineAction) -> bool:
        """True where the completed action is a compaction or a clustering."""
        return str(self._active.readCommitMetadata(action.java).getOperationType()) in _SERVICES

    def metadata(self, key: str, *, archived: bool, newest: int | None = None) -> Iterator[tuple[str, TimelineAction]]:
        """The key's values on completed commits that carry it, newest first; of so many commits, or of all.

        Raises LakeError for a damaged instant.
        """
        line = self._load_archived() if archived else self._active
        commits = line.getCommitsTimeline().filterCompletedInstants()
        actions = sorted(list_actions(commits), key=lambda action: action.completed or "", reverse=True)
        for action in actions[:newest]:
            try:
                value = commits.readCommitMetadata(action.java).getMetadata(key)
            except Py4JJavaError as error:
                raise build_unreadable_error(self._path, f"instant {action.requested}", error) from error
            if value is not None:
                yield str(value), action

    def commit_json(self, action: TimelineAction) -> str:
        """A completed write's metadata as JSON, with the file groups that it wrote and replaced."""
        utils = self._jvm.org.apache.hudi.common.table.timeline.TimelineUtils
        try:
            return str(utils.getCommitMetadata(action.java, self._active).toJsonString())
        except Py4JJavaError as error:
            raise build_unreadable_error(self._path, f"instant {action.requested}", error) from error

    def find_retained(self) -> str | None:
        """The requested time from which on the cleaner left every file version; None where none ever ran.

        A cleaner that does not keep by commits does not say; then only what came after it is sure. One that is under way
        may have removed its files already.
        """
        line = self._active.getCleanerTimeline()
        try:
            times = [self._find_retained(line, clean) for clean in list_actions(line)]
        except Py4JJavaError as error:
            raise build_unreadable_error(self._path, "what the cleaner kept", error) from error
        return max(times, default=None)

    def _find_retained(self, line: Any, clean: TimelineAction) -> str:
        if clean.completed is not None:
            return str(line.readCleanMetadata(clean.java).getEarliestCommitToRetain() or "") or clean.requested
        plan = self._jvm.org.apache.hudi.common.util.CleanerUtils.getCleanerPlan(self._client, clean.java)
        kept = plan.getEarliestInstantToRetain()
        return clean.requested if kept is None else str(kept.getTimestamp())

    def list_archived(self) -> tuple[TimelineAction, ...]:
        """Completed writes that were moved to the archive."""
        line = self._client.getArchivedTimeline().getCommitsTimeline().filterCompletedInstants()
        active = {action.requested for action in self.list_completed()}
        return tuple(action for action in list_actions(line) if action.requested not in active)

    def archived_upto(self) -> str | None:
        """The newest completion time of a write that was moved to the archive; None where none was."""
        return find_newest_completion(self.list_archived(), self.list_completed())

    def _load_archived(self) -> Any:
        line = self._client.getArchivedTimeline()
        line.loadCompletedInstantDetailsInMemory()
        return line

    def savepoints(self) -> dict[str, str]:
        """Requested times of the instants that have a savepoint, and who made it."""
        line = self._active.getSavePointTimeline().filterCompletedInstants()
        try:
            return {
                savepoint.requested: str(line.readSavepointMetadata(savepoint.java).getSavepointedBy())
                for savepoint in list_actions(line)
            }
        except Py4JJavaError as error:
            raise build_unreadable_error(self._path, "a savepoint", error) from error

    def drop_unfinished_savepoint(self, requested: str) -> None:
        """Remove what a killed process left of a savepoint at this instant: Hudi would refuse to make it again."""
        for savepoint in list_actions(self._active.getSavePointTimeline().filterInflightsAndRequested()):
            if savepoint.requested == requested:
                self._active.deletePending(savepoint.java)

    def has_cleaned(self, requested: str) -> bool:
        """True where the cleaner has removed, or begun to remove, files that the snapshot at this instant needs."""
        plans = self._jvm.org.apache.hudi.common.util.CleanerUtils
        try:
            for clean in list_actions(self._active.getCleanerTimeline()):
                if clean.requested <= requested:
                    continue  # planned before the snapshot was there: what it needs, the plan kept
                kept = plans.getCleanerPlan(self._client, clean.java).getEarliestInstantToRetain()
                # A plan by file versions keeps nothing for any instant.
                if kept is None or str(kept.getTimestamp()) > requested:
                    return True
        except Py4JJavaError as error:
            raise build_unreadable_error(self._path, "a plan of its cleaner", error) from error
        return False

    def lock(self, name: str, options: Mapping[str, str]) -> Any:
        """Hudi's own manager of the table's lock, by the lock's options. It does not hold the lock yet."""
        config = _config(self._jvm, self._path, name, options)
        return self._jvm.org.apache.hudi.client.transaction.lock.LockManager(config, self._client.getStorage())

    def properties(self) -> dict[str, str]:
        """The table's own properties, as in `hoodie.properties`."""
        # As one text: Java would be asked for each name and each value.
        mapper = self._jvm.com.fasterxml.jackson.databind.ObjectMapper()
        properties = parse_json(str(mapper.writeValueAsString(self._client.getTableConfig().getProps())))
        return {str(name): value for name, value in properties.items() if isinstance(value, str)}


def find_newest_completion(archived: Iterable[TimelineAction], active: Iterable[TimelineAction]) -> str | None:
    """When the last archived write completed; at the latest, where the archive of an old release does not say. Pure."""
    oldest = min((write.completed or write.requested for write in active), default="")
    return max((write.completed or max(write.requested, oldest) for write in archived), default=None)


def list_actions(line: Any) -> tuple[TimelineAction, ...]:
    """All instants of a timeline of Hudi's, in the order of that timeline."""
    instants = line.getInstants()
    # As one text: to ask each instant takes four calls, and a table that is pulled each night has a hundred of them.
    actions = parse_instants(str(instants.toString()))
    if actions is None:
        actions = tuple(map(_name_instant, map(instants.get, range(instants.size()))))
    return tuple(replace(action, line=instants, place=place) for place, action in enumerate(actions))


def _name_instant(java: Any) -> TimelineAction:
    done = java.getCompletionTime() if java.isCompleted() else None
    return TimelineAction(str(java.requestedTime()), None if done is None else str(done), str(java.getAction()))


_INSTANT = re.compile(r"\[(==>)?(\d+)__(?:(\d+)__)?([a-z]+)__(REQUESTED|INFLIGHT|COMPLETED)\]")


def parse_instants(text: str) -> tuple[TimelineAction, ...] | None:
    """The instants that Hudi printed as this text; None where the text is not in the form of Hudi 1.2.0. Pure.

    >>> planned, made = "[==>20260102__clean__REQUESTED]", "[20260101__20260103__commit__COMPLETED]"
    >>> parse_instants(f"[{planned}, {made}]")  # doctest: +NORMALIZE_WHITESPACE
    (TimelineAction(requested='20260102', completed=None, action='clean'),
    TimelineAction(requested='20260101', completed='20260103', action='commit'))
    """
    if not (text.startswith("[") and text.endswith("]")):
        return None
    actions = []
    for part in text[1:-1].split(", ") if text != "[]" else ():
        match = _INSTANT.fullmatch(part)
        if match is None or (match[1] is None) != (match[5] == "COMPLETED"):
            return None
        actions.append(TimelineAction(match[2], match[3] if match[1] is None else None, match[4]))
    return tuple(actions)


def skip_probes(spark: SparkSession) -> None:
    """Keep Hudi's object size meter from starting JVMs of its own to look into this one; it estimates well without."""
    for name in ("jol.skipHotspotSAAttach", "jol.skipDynamicAttach"):
        spark._jvm.java.lang.System.setProperty(name, "true")  # type: ignore[union-attr]  # noqa: SLF001


def read_timeline_clock(spark: SparkSession) -> str:
    """Now as an instant of the timeline: the JVM's wall clock, as Hudi itself takes it."""
    jvm: Any = spark._jvm  # noqa: SLF001
    return str(jvm.java.text.SimpleDateFormat("yyyyMMddHHmmssSSS").format(jvm.java.util.Date()))


def roll_back(spark: SparkSession, path: str, name: str, requested: str) -> bool:
    """Roll one instant that never completed back. LAZY: an EAGER client would roll back every other writer too."""
    with _write_client(spark, path, name, {}) as client:
        return bool(client.rollback(requested))


@contextmanager
def _write_client(spark: SparkSession, path: str, name: str, further: Mapping[str, str]) -> Iterator[Any]:
    jvm: Any = spark._jvm  # noqa: SLF001
    jsc: Any = spark._jsc  # noqa: SLF001
    table = Timeline(spark, path).properties()
    properties = {
        "hoodie.clean.failed.writes.policy": "LAZY",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.auto.upgrade": "false",
        # What the table has of a metadata table stays as it is.
        "hoodie.metadata.enable": str(bool(table.get("hoodie.table.metadata.partitions"))).lower(),
        "hoodie.metadata.auto.delete.partitions": "false",
    }
    if "hoodie.table.version" in table:
        properties["hoodie.write.table.version"] = table["hoodie.table.version"]
    context = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(jsc)
    config = _config(jvm, path, name, {**properties, **further})
    client = jvm.org.apache.hudi.client.SparkRDDWriteClient(context, config)
    try:
        yield client
    finally:
        client.close()


def _config(jvm: Any, path: str, name: str, options: Mapping[str, str]) -> Any:
    properties = jvm.java.util.Properties()
    for key, value in options.items():
        properties.setProperty(key, value)
    builder = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder()
    return builder.withPath(path).forTable(name).withProps(properties).build()


@dataclass(frozen=True, slots=True)
class Savepoints:
    """Makes and removes savepoints of one table. `metadata_table` must say what the table has, or it would be changed."""

    spark: SparkSession
    path: str
    name: str
    metadata_table: bool

    def make(self, requested: str, user: str, comment: str) -> None:
        """Keep what the table shows at this instant from being cleaned. Raises LakeError where Hudi refuses."""
        self._act(lambda client: client.savepoint(requested, user, comment), f"a savepoint at {requested}")

    def remove(self, requested: str) -> None:
        """Let what only this savepoint kept be cleaned. Raises LakeError where Hudi refuses."""
        self._act(lambda client: client.deleteSavepoint(requested), f"the removal of savepoint {requested}")

    def _act(self, action: Callable[[Any], object], what: str) -> None:
        further = {"hoodie.metadata.enable": str(self.metadata_table).lower()}
        try:
            with _write_client(self.spark, self.path, self.name, further) as client:
                action(client)
        except Py4JJavaError as error:
            raise LakeError(
                f"Hudi table {self.path}: {what} failed ({describe_failure(error)})",
                fix="hudi-reconcile doctor, or policy.savepoint: never",
            ) from error


def has_classes(spark: SparkSession, names: Sequence[str]) -> bool:
    """Whether the session's class path holds every one of these classes; False for none."""
    jvm: Any = spark._jvm  # noqa: SLF001
    if not names:
        return False
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return all(loader.getResource(name.replace(".", "/") + ".class") is not None for name in names)


_DOCTOR = "hudi-reconcile doctor"


def list_causes(error: Py4JJavaError) -> tuple[JavaCause, ...]:
    """A Java error's cause chain, outermost first. The messages may hold row values: show them by `describe_failure` alone."""
    causes: list[JavaCause] = []
    java = error.java_exception
    while java is not None and len(causes) < 50:  # noqa: PLR2004  a cycle of causes would never end
        causes.append(JavaCause(str(java.getClass().getName()), str(java.getMessage() or "")))
        java = java.getCause()
    return tuple(causes)


def list_cause_names(error: Py4JJavaError) -> tuple[str, ...]:
    """Short class names of a Java error's cause chain, outermost first."""
    return tuple(cause.name for cause in list_causes(error))


def describe_failure(error: Py4JJavaError) -> str:
    """The chain's class names, and Hudi's messages that hold neither a row's value nor a secret."""
    return describe_causes(list_causes(error))


def build_unreadable_error(path: str, what: str, error: Py4JJavaError) -> LakeError:
    """The error for a table whose parts cannot be read. One that was listed and is gone is what a writer archived meanwhile."""
    names = list_cause_names(error)
    fix = f"run it again; where it stays: {_DOCTOR}" if "FileNotFoundException" in names else _DOCTOR
    return LakeError(f"Hudi table {path}: {what} cannot be read ({describe_failure(error)})", fix=fix)


def has_partial_rows(spark: SparkSession, path: str, log_files: Iterable[str]) -> bool:
    """True where one of these log files holds rows without all their columns, as Spark's MERGE INTO writes them.

    `log_files` are paths below the table's. Of each block only the header is read. Raises LakeError where a file cannot be read.
    """
    jvm: Any = spark._jvm  # noqa: SLF001
    jsc: Any = spark._jsc  # noqa: SLF001
    hudi = jvm.org.apache.hudi
    mark = hudi.common.table.log.block.HoodieLogBlock.HeaderMetadataType.IS_PARTIAL
    try:
        conf = hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(jsc.hadoopConfiguration())
        storage = hudi.storage.HoodieStorageUtils.getStorage(path, conf)
        headers = (header for log_file in log_files for header in _headers(hudi, storage, f"{path}/{log_file}"))
        return any(header.get(mark) == "true" for header in headers)
    except Py4JJavaError as error:
        raise build_unreadable_error(path, "a log file", error) from error


def _headers(hudi: Any, storage: Any, path: str) -> Iterator[Any]:
    file = hudi.common.model.HoodieLogFile(hudi.storage.StoragePath(path))
    reader = hudi.common.table.log.HoodieLogFormat.newReader(storage, file, None)
    try:
        while reader.hasNext():
            yield reader.next().getLogBlockHeader()
    finally:
        reader.close()


T = TypeVar("T")
PAUSES_SECONDS = (0.1, 0.3, 1.0, 2.0)
_GONE = "TableNotFoundException"


def retry_missing_table(act: Callable[[], T], pause: Callable[[float], None] = time.sleep) -> T:
    """What `act` gives of a table that is there, tried again for some seconds where Hudi finds no table.

    Seen in `make writers`: an apply whose commit stood could not read it back, since another writer began just then. Raises
    what `act` raises otherwise, and that error where it stays.
    """
    for seconds in PAUSES_SECONDS:
        try:
            return act()
        except Py4JJavaError as error:
            if _GONE not in str(error.java_exception):
                raise
        pause(seconds)
    return act()
