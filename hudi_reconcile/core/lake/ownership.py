"""Who writes a lake table: this tool alone, this tool on another's table, others beside it; and what follows from that. Pure.

Hudi records no writer's settings, but two things give a writer away: commits without a label of ours, and an instant in
flight without a heartbeat. Only writers beat whose `hoodie.clean.failed.writes.policy` is LAZY. With Hudi's defaults a
writer rolls back whoever is in flight beside it, or commits over what was committed meanwhile: rows go without an error.

A table is adopted on purpose (`lake.adopt: true`), never because a pull was pointed at it. What cannot be written right,
and options that would break what this tool promises, are refused by name before a row is read. Spark hands options on in
lower case, so they are compared so. A snapshot that the cleaner passed is named as that, and never read as if it had fewer
rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hudi_reconcile.core.errors import LakeError, RefusedError, find_respelled, fold, overlay_options
from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.tables.agreement import is_comparable
from hudi_reconcile.core.tables.schema_evolution import encode_columns
from hudi_reconcile.core.tables.values import READ_SEQ, LakeTable, PartitionField, SourceTable

NEWEST = 20  # commits that are looked at
SETTINGS = (
    "hoodie.write.concurrency.mode=optimistic_concurrency_control, hoodie.clean.failed.writes.policy=LAZY, "
    "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
)
_ADVICE = f"{SETTINGS} (on a store the provider that lake.options names)"


@dataclass(frozen=True, slots=True)
class Writers:
    """How many of the newest commits are not ours, and the instants in flight that have no heartbeat."""

    commits: int = 0
    foreign: int = 0
    without_heartbeat: tuple[str, ...] = ()


def warn_of_foreign_writer(writers: Writers) -> str:
    """What to say where somebody else commits to the table too; empty where nobody does."""
    if not writers.foreign:
        return ""
    return (
        f"{writers.foreign} of the newest {writers.commits} commits are another writer's; Hudi does not record with which "
        "settings, and with its defaults beside this tool rows are lost without an error"
    )


def describe_writers(writers: Writers) -> tuple[str, ...]:
    """The note of a run beside another writer, with the settings that the other one needs."""
    said = warn_of_foreign_writer(writers)
    return (Note(Stake.ROWS, f"{said}: it needs {_ADVICE}"),) if said else ()


def warn_of_silent_writer(silent: Collection[str]) -> str:
    """What to say where writers are in flight that keep no heartbeat; empty where none is."""
    if not silent:
        return ""
    return (
        f"a writer with Hudi's default settings is in flight, or died so ({', '.join(silent)}: no heartbeat); beside it rows "
        "are lost without an error"
    )


def refuse_silent(table: str, silent: Collection[str]) -> None:
    """Raises RefusedError where a writer without heartbeat is in flight: who commits first, loses rows or has them lost."""
    why = warn_of_silent_writer(silent)
    if why:
        named = " ".join(f"--dead-writer {instant}" for instant in silent)
        raise RefusedError(
            f"table {table}: {why}; nothing was written beside it",
            fix="let it end, then run the same command again; if it died, run it again (it rolls its instant back) or, where "
            f"it never will run again, pull or apply with {named}; and give it {_ADVICE}",
        )


def check_dead_writers(table: str, silent: Collection[str], named: Collection[str]) -> tuple[str, ...]:
    """The instants that the operator declared dead, oldest first. Raises RefusedError for one that is not in flight, or lives."""
    others = sorted(set(named) - set(silent))
    if others:
        raise RefusedError(
            f"table {table}: --dead-writer {', '.join(others)}: no instant in flight without a heartbeat; those are: "
            f"{', '.join(silent) or 'none'}",
            fix="name one of them, or leave the option out",
        )
    return tuple(sorted(set(named)))


_ORDERINGS = {
    "tool": f"event time, by {READ_SEQ} of this tool",
    "event_time": "event time: of two versions the one with the greater {fields} stays, whichever was written last",
    "commit_time": "commit time: the version that was written last stays",
}
_OLDER_LATER = (
    "rows whose {fields} is older than the lake's are corrected by writing their partitions anew (insert_overwrite), in the "
    "same one commit: an upsert would be dropped in silence"
)
# Hudi's record key is text: it cuts a zoned timestamp to milliseconds, writes the address of a binary value, and has
# several texts for one float.
_NO_KEYS = frozenset({"timestamp", "binary", "float", "double"})


@dataclass(frozen=True, slots=True)
class Adoption:
    """Why a pull and why an apply is refused, in words; empty where it is not. `apply` also holds for undo."""

    pull: tuple[str, ...] = ()
    apply: tuple[str, ...] = ()


def judge_adoption(table: LakeTable, source: SourceTable, partition_by: tuple[PartitionField, ...]) -> Adoption:
    """What stands against writing the table with rows of this source; nothing does where the table is ours.

    Columns are compared where the table's are known.
    """
    if table.foreign is None:
        return Adoption()
    derived = {field.lake_name: field.column for field in partition_by}
    named = {column.lake_name for column in source.columns} | set(derived)
    both = (
        *table.foreign.hindrances,
        *_list_unfilled("ordering field", table.ordering_fields, named),
        *_list_unfilled("partition field", table.partition_fields, named),
        *_unwritable(table, source),
        *(
            f"lake.partition_by makes {name}, which it does not have"
            for name in derived
            if name in _unknown(table, derived)
        ),
    )
    extra = [column.name for column in table.columns if column.name not in named]
    emptied = (f"a pull would empty {', '.join(extra)}, which the source does not have",) if extra else ()
    return Adoption(pull=(*both, *emptied), apply=both)


def _list_unfilled(what: str, fields: tuple[str, ...], named: set[str]) -> list[str]:
    return [f"its {what} {name} is no column of the source" for name in fields if name not in named]


def _unknown(table: LakeTable, names: Iterable[str]) -> set[str]:
    """Names that the table's columns are known to lack."""
    return set(names) - {column.name for column in table.columns} if table.columns else set()


def _unwritable(table: LakeTable, source: SourceTable) -> list[str]:
    lake = {column.name: column for column in table.columns}
    reasons = []
    for column in encode_columns(source, table).columns:
        there = lake.get(column.lake_name)
        if there is None:
            if table.columns:
                reasons.append(f"it has no column {column.lake_name} (leave it out with source.columns)")
        elif there.stored is not None:
            reasons.append(
                f"Spark shows its partition field {there.name} as {there.type}, its files hold {there.stored}"
            )
        elif not is_comparable(column.kind, there.type):
            reasons.append(f"{column.name} {column.declared} cannot be held by its {there.type}")
        elif there.fraction_digits is not None:
            reasons.append(f"its {there.name} holds milliseconds, and a write by Spark would make them microseconds")
        elif column.name in source.key and there.type in _NO_KEYS:
            reasons.append(f"its key {there.name} is a {there.type}, which a Hudi record key does not hold exactly")
    return reasons


def describe_table(table: LakeTable) -> tuple[str, ...]:
    """The table in plain lines: version and type, ordering, keys, indexes."""
    fields = ", ".join(table.ordering_fields) or "nothing"
    lines = [
        f"table version {table.version}, {table.type}; never upgraded by this tool",
        f"ordering: {_ORDERINGS[table.ordering].format(fields=fields)}",
    ]
    if table.foreign is None:
        return tuple(lines)
    by = f", partitioned by {', '.join(table.partition_fields)}" if table.partition_fields else ", not partitioned"
    lines.append(f"keys: {table.foreign.key_generator} from {', '.join(table.record_key)}{by}")
    kept = ", ".join(table.foreign.indexes)
    lines.append(
        f"index: {f'metadata table with {kept}; ' if kept else ''}Hudi records no index type (buckets are told from the file "
        "names); our commits find rows by a scan of all keys (SIMPLE, global where partitioned)"
    )
    return tuple(lines)


def describe_adoption(table: LakeTable, adoption: Adoption, *, adopt: bool) -> tuple[str, ...]:
    """What sweep, pull and apply do with a table of another tool, or why not."""
    lines = ["sweep: reads it"]
    for command, reasons in (("pull", adoption.pull), ("apply", adoption.apply)):
        if reasons:
            lines.append(f"{command}: refused: {'; '.join(reasons)}")
        elif not adopt:
            lines.append(f"{command}: refused until lake.adopt: true")
        else:
            lines.append(f"{command}: {_DONE[command]}")
    if adopt and not adoption.apply and table.ordering == "event_time":
        lines.append("apply: " + _OLDER_LATER.format(fields=", ".join(table.ordering_fields)))
    if not table.columns:
        lines.append("columns: not looked at here; the first pull or apply refuses by name what they cannot hold")
    return tuple(lines)


_DONE = {
    "pull": "upserts with the table's own key generator and ordering field, its version kept",
    "apply": "one commit of upserts and deletes, if no key changed since and nobody else writes",
}


# Identity of rows, ordering, compare-and-set, the checkpoint, where the table and its timeline are, and that every row that was
# read is written as it was. With Hudi's older names of the same options, which it reads as well (Hudi 1.2.0, ConfigProperty).
_RESERVED = (
    "hoodie.table.", "hoodie.base.path", "hoodie.base.file.format", "hoodie.populate.meta.fields",
    "hoodie.datasource.write.operation", "hoodie.datasource.write.precombine.field", "hoodie.datasource.write.recordkey.",
    "hoodie.datasource.write.partitionpath.", "hoodie.datasource.write.table.", "hoodie.datasource.write.keygenerator.",
    "hoodie.datasource.write.commitmeta.", "hoodie.datasource.write.payload.", "hoodie.datasource.write.reconcile.schema",
    "hoodie.datasource.write.hive_style_partitioning", "hoodie.datasource.write.drop.partition.columns",
    "hoodie.datasource.write.slash.separated.", "hoodie.datasource.write.record.merger.",
    "hoodie.datasource.write.schema.allow.auto.evolution.", "hoodie.datasource.overwrite.",
    "hoodie.datasource.write.insert.drop.duplicates", "hoodie.datasource.insert.dup.policy", "hoodie.combine.before.",
    "hoodie.bulkinsert.overwrite.", "hoodie.write.set.null.for.missing.columns", "hoodie.write.table.version",
    "hoodie.write.record.merge.", "hoodie.record.", "hoodie.write.partial.update.", "hoodie.write.complex.keygen.",
    "hoodie.payload.", "hoodie.compaction.payload.", "hoodie.compaction.record.merger.", "hoodie.precommit.validators",
    "hoodie.clean.failed.writes.policy", "hoodie.cleaner.policy.failed.writes", "hoodie.write.concurrency.mode",
    "hoodie.index.type", "hoodie.index.class", "hoodie.simple.index.update.",
    "hoodie.write.num.retries.on.conflict.failures", "hoodie.allow.empty.commit", "hoodie.allow.operation.metadata.field",
    "hoodie.parquet.outputtimestamptype", "hoodie.parquet.write.utc-timezone.", "hoodie.avro.schema", "hoodie.write.schema",
    "hoodie.timeline.path", "hoodie.timeline.history.path", "hoodie.timeline.layout.", "hoodie.archivelog.folder",
    "hoodie.write.rolling.metadata.",
    # Rows that failed would be left out of a commit that succeeds.
    "hoodie.write.ignore.failed", "hoodie.errortable.",
    # Code that stands between the rows and the files.
    "hoodie.write.merge.handle.", "hoodie.write.concat.handle.", "hoodie.compact.merge.handle.", "hoodie.writestatus.class",
    "hoodie.io.factory.", "hoodie.avro.write.support.", "hoodie.parquet.spark.row.write.support.",
)  # fmt: skip
# Of the table's family, but no property of the table: who cleans and compacts it.
_FREE = ("hoodie.table.services.", "hoodie.table.service.manager.")
_KEY = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)


def select_reserved(options: Iterable[str]) -> list[str]:
    """Those of the options that the tool keeps for itself, in whatever case, sorted."""
    return sorted(key for key in options if fold(key).startswith(_RESERVED) and not fold(key).startswith(_FREE))


def list_option_problems(options: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What is wrong with `lake.options`: key and text."""
    keys = tuple(options)
    reserved, twice = set(select_reserved(keys)), dict(find_respelled(keys))
    for key in keys:
        if _KEY.fullmatch(key) is None:
            yield key, "holds a character that no option of Hudi's has (legal: letters, digits and _ . -)"
        elif not key.startswith("hoodie."):
            yield key, "must start with `hoodie.`"
        elif fold(key) == "hoodie.index.type":
            yield key, "is set by the tool itself; choose it with lake.index"
        elif key in reserved:
            yield key, "is set by the tool itself: another value would break what it promises; remove it"
        elif key in twice:
            yield key, f"is another spelling of {twice[key]}; case does not count"


def override_options(ours: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """Our options, with the config's over those that it may set; reserved ones stay ours even where no check came before.

    >>> override_options({"hoodie.table.name": "a", "hoodie.keep.max.commits": "9"}, {"hoodie.Table.name": "b"})
    {'hoodie.table.name': 'a', 'hoodie.keep.max.commits': '9'}
    """
    reserved = set(select_reserved(overrides))
    return overlay_options(ours, {fold(key): value for key, value in overrides.items() if key not in reserved})


# "Please ensure sufficient commits are retained ..." is of Hudi's time travel, the other one of its storage.
_PASSED, _GONE = "sufficient commits are retained", re.compile(r"FileNotFoundException: [^\n]*\.(parquet|log)\b")
FIX = (
    "raise hoodie.clean.commits.retained in the job that cleans the table (Hudi's default: 10; this tool's: lake.options) "
    "above the commits that are made during a run; then run the same command again"
)


def find_cleaner_error(text: str) -> LakeError | None:
    """The named error where a Java exception's text says so; None for any other. Never shows that text.

    >>> find_cleaner_error("Please ensure sufficient commits are retained with cleaner").message
    'the cleaner passed the lake snapshot that was being read: its files are gone'
    >>> find_cleaner_error("NullPointerException") is None
    True
    """
    if _PASSED in text:
        return LakeError("the cleaner passed the lake snapshot that was being read: its files are gone", fix=FIX)
    if _GONE.search(text):
        return LakeError(
            "a file that was being read is gone: the cleaner passed the lake snapshot, or somebody removed it", fix=FIX
        )
    return None
