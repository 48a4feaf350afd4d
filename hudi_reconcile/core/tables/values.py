"""The values that stages hand to each other: tables, instants, checkpoints, moments. All frozen, all comparable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.tables.kinds import Column

TableType = Literal["copy_on_write", "merge_on_read"]
Ordering = Literal["tool", "event_time", "commit_time", "other"]
ChangeLog = Literal["op_key_only", "data_before", "data_before_after"]

READ_SEQ = "_hr_read_seq"
RECORD_KEY = "_hr_record_key"
GENERATED_KEY = "_hoodie_record_key"  # Hudi's own column, which every row has; the key of a table that names no columns
_LAKE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The column by which a frame says which of its rows a comparison of some partitions is about; without it, all are.
IN_SCOPE = "_hr_in_scope"


@dataclass(frozen=True, slots=True)
class Instant:
    """One completed action on the Hudi timeline. Both times are Hudi's text `yyyyMMddHHmmssSSS`.

    `requested` is what `as.of.instant` and `_hoodie_commit_time` use; `completed` is what people and change queries use.
    """

    requested: str
    completed: str


@dataclass(frozen=True, slots=True)
class LakePin:
    """A lake snapshot that a sweep names: everything up to `instant`.

    `in_flight` are the requested times of writers that had not completed at the pin. Hudi's `as.of.instant` compares
    requested times, so one of them that completes later changes what the pin shows.
    """

    instant: Instant
    in_flight: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column of the lake table: its name, case as stored, and Spark's simple type text.

    `fraction_digits` is how many digits of a second a timestamp column holds where that is known to be fewer than six.
    `stored` is what the files hold where Spark shows another type; None where it shows them as they are.
    """

    name: str
    type: str
    fraction_digits: int | None = None
    stored: str | None = None


def is_lake_name(name: str) -> bool:
    """Whether the lake can hold a column of this name: Hudi's Avro schema takes it, and it is neither Hudi's own nor ours.

    >>> [is_lake_name(name) for name in ("updated_at", "updated at", "_hoodie_x")]
    [True, False, False]
    """
    return bool(_LAKE_NAME.fullmatch(name)) and not name.startswith("_hoodie_") and name != RECORD_KEY


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One derived or plain partition column. `transform` is `identity`, `day`, `month` or `year` of `column`.

    `stem`, where there is one, is what the derived column's name begins with in place of the column's own.
    """

    column: str
    transform: Literal["identity", "day", "month", "year"] = "identity"
    stem: str = ""

    @property
    def lake_name(self) -> str:
        """The partition column's name in the lake."""
        return self.column if self.transform == "identity" else f"{self.stem or self.column}_{self.transform}"


@dataclass(frozen=True, slots=True)
class Foreign:
    """How a table that another tool made has to be written, by the table's own properties.

    `key_generator` is the short class name. `options` are the Hudi write options that every commit into it carries.
    `indexes` are the parts of its metadata table. `hindrances` say in words why no commit of ours is right; empty where
    one is.
    """

    key_generator: str
    options: Mapping[str, str] = field(default_factory=dict)
    indexes: tuple[str, ...] = ()
    hindrances: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PathForm:
    """How partition paths are written: `hive_style` as `region=eu` for `eu`, `encoded` as `%3D` for `=`."""

    hive_style: bool = False
    encoded: bool = False


@dataclass(frozen=True, slots=True)
class LakeTable:
    """What the Hudi table at a path is: its own properties, not the config's wishes. `foreign` is None for ours.

    `change_log` is what Hudi's change log (CDC) of the table keeps; None where the table has none. `spelled`: a column of the
    tool's own makes the record key tell every two keys apart.
    """

    path: str
    name: str
    type: TableType
    version: int
    columns: tuple[LakeColumn, ...]
    record_key: tuple[str, ...]
    partition_fields: tuple[str, ...]
    ordering_fields: tuple[str, ...]
    ordering: Ordering
    path_form: PathForm = PathForm()
    foreign: Foreign | None = None
    change_log: ChangeLog | None = None
    spelled: bool = False

    @property
    def has_generated_keys(self) -> bool:
        """True where the table has no record key of its own: Hudi generated a key for each row, which the row keeps."""
        return self.record_key == (GENERATED_KEY,)

    @property
    def owned(self) -> bool:
        """True where this tool created the table and owns its ordering field."""
        return self.ordering_fields == (READ_SEQ,)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far pulls are complete, as carried by a Hudi commit.

    `watermark_micros` is the greatest watermark pulled so far, below the bound, as microseconds since 1970-01-01 of the
    watermark's own wall clock (UTC for zoned kinds); None where no row carried one. `text` is the same for people.
    A watermark that is no clock is `watermark_value`, as text, instead. `incrementing` is the id column of a strategy that
    has one, `incrementing_value` the id reached (with a watermark: at that watermark); without one the watermark is empty.
    `read_seq` is the greatest `_hr_read_seq` handed out so far. `columns` are the lake names of the source's columns at the
    last pull, `dropped` those that only the lake has kept; both empty where an earlier version wrote the checkpoint.
    `where` is a digest of the filter and `timeline` the number of the server's history that the lake's rows were pulled with,
    `position` the ids of the server's transactions then, `as_of_micros` the source's time up to which the lake was brought
    (UTC); each None where that is not on record. `filled_where` is the filter of the last whole read and
    `read_timeline` the history that the last pull read, where these are not `where` and `timeline`.
    """

    strategy: str
    watermark: tuple[str, ...]
    watermark_micros: int | None
    text: str | None
    read_seq: int
    source_identity: str
    watermark_value: str | None = None
    incrementing: str | None = None
    incrementing_value: str | None = None
    columns: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    where: str | None = None
    timeline: str | None = None
    as_of_micros: int | None = None
    position: str | None = None
    filled_where: str | None = None
    read_timeline: str | None = None


@dataclass(frozen=True, slots=True)
class CheckpointAt:
    """A checkpoint and the instant of the commit that carries it."""

    checkpoint: Checkpoint
    instant: Instant


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A source table as it is read: quoted name, columns in the source's order, key.

    `identity` names server and table (system identifier, oid): a plan or checkpoint of another identity is foreign.
    `rows_estimate` comes from the catalog's statistics and may be 0 where there are none. `version` is the database's own
    number of each row's version, where pulls go by it: read after the columns, never written and never compared.
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    rows_estimate: int
    identity: str
    version: Column | None = None

    @property
    def read_columns(self) -> tuple[Column, ...]:
        """What a read of rows brings, in order: the columns, then the version where there is one."""
        return self.columns if self.version is None else (*self.columns, self.version)

    @property
    def columns_by_name(self) -> dict[str, Column]:
        """The same by their names."""
        return {column.name: column for column in self.read_columns}

    def column(self, name: str) -> Column:
        """The column of that name. Raises KeyError where there is none."""
        for column in self.read_columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The key's columns, in key order."""
        return tuple(self.column(name) for name in self.key)


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the source's own time, taken before rows are read.

    `clock_micros` is the database's clock in UTC. `bound_micros` is the safe upper bound in UTC: no transaction still
    open can commit a row whose clock-given watermark is below it. `bound_why` says how the bound was found.
    `snapshot` is the engine's own name of the moment. `version_bound` is the same bound in the database's own numbers of row
    versions: every transaction below it has ended. None where the database has no such numbers.
    `notes` are what a reader of the result must know about it. `replayed_micros` is the time up to which a replica is
    known to be as its primary, None where it shows all that it was sent, where it does not tell, and where the server is none.
    `stopped` says why a replica gets nothing any more; empty where it does, or does not tell.
    """

    clock_micros: int
    bound_micros: int
    bound_why: str
    snapshot: str
    version_bound: int | None = None
    notes: tuple[str, ...] = ()
    replayed_micros: int | None = None
    stopped: str = ""

    def reckon_as_of(self, earlier_micros: int | None) -> int | None:
        """The source's time up to which rows read now bring a lake that was brought to another before."""
        return reckon_as_of(earlier_micros, self.clock_micros, self.replayed_micros, is_replica=self.is_replica)

    @property
    def is_replica(self) -> bool:
        """The server replays another one's changes, and may lag."""
        return REPLICA in self.notes


_BLIND_MICROS = 5_000_000  # as for a role that sees no other session's transactions
_ROUNDED_MICROS = 2_000_000
REPLICA = Note(
    Stake.PROOF,
    "the server is a replica: the primary's open transactions cannot be seen here, and what is not replayed yet looks missing; "
    "read from the primary, or set pull.overlap above the longest transaction",
)

PEERS = Note(
    Stake.PROOF,
    "other servers commit rows here too (Galera, a group with several primaries): their open transactions cannot be seen here; "
    "set pull.overlap above the longest transaction",
)
SUBSCRIBER = Note(
    Stake.PROOF,
    "a subscription writes into this database, with times of its publisher, whose open transactions cannot be seen here; set "
    "pull.overlap above the longest of them and the subscription's lag",
)


def choose_replica_bound(clock_micros: int, replayed_micros: int | None) -> tuple[int, str]:
    """The bound in UTC microseconds on a replica, and in words how it was found.

    `replayed_micros` is the time up to which the replica is known to be as its primary was, None where it has replayed all
    that it was sent and tells no time: then the clock stands for it.
    """
    if replayed_micros is None:
        return (
            clock_micros - _BLIND_MICROS,
            "clock of a replica minus 5 s: the primary's open transactions cannot be seen here",
        )
    known = min(clock_micros, replayed_micros)
    return known - _BLIND_MICROS, (
        f"time up to which a replica is known to be as its primary ({(clock_micros - known) // 1_000_000:,} s behind the clock) "
        "minus 5 s: the primary's open transactions cannot be seen here"
    )


def reckon_as_of(
    earlier_micros: int | None, clock_micros: int, replayed_micros: int | None, *, is_replica: bool
) -> int | None:
    """The source's time up to which rows read now bring the lake; None where it is not known.

    A replica that shows all it was sent does not tell how old that is, so that what was known before stays.

    >>> reckon_as_of(None, 50, None, is_replica=False), reckon_as_of(None, 50, 40, is_replica=True)
    (50, 40)
    >>> reckon_as_of(30, 50, None, is_replica=True)
    30
    """
    if is_replica and replayed_micros is None:
        return earlier_micros
    return clock_micros if replayed_micros is None else min(clock_micros, replayed_micros)


_ROWS_PER_PART = 500


def count_parts(rows: int) -> int:
    """How many parts this many materialised rows need: each part costs every job over them milliseconds, whatever it holds.

    >>> count_parts(0), count_parts(6), count_parts(10_000)
    (1, 1, 20)
    """
    return max(1, -(-rows // _ROWS_PER_PART))


def is_older(as_of_micros: int | None, replayed_micros: int) -> bool:
    """True where a replica shows an older state than the lake was brought to; clocks and whole seconds are allowed for."""
    return as_of_micros is not None and as_of_micros > replayed_micros + _ROUNDED_MICROS


def is_behind(pulled_micros: int, replayed_micros: int | None) -> bool:
    """True where a replica may not show yet what pulls have brought: rows with watermarks up to `pulled_micros`, UTC.

    Never so for what was pulled from that replica, whose bound lies as far below what it had replayed.
    """
    return replayed_micros is not None and pulled_micros > replayed_micros - _BLIND_MICROS
