"""PostgreSQL 13 and later as SQL text: names, types, literals, the catalog, the safe bound, `xmin`. Sends nothing.

Type facts: PostgreSQL documentation chapter 8 and catalogs pg_type, pg_attribute (typmod of numeric is
`((precision << 16) | scale) + 4`; of time types the number of fraction digits, -1 where not declared).

`xmin` has 32 bits and starts again after 4 billion transactions; the server's own counter has 64. A row that a snapshot
sees was written below the snapshot's xmax, so its number is the greatest one below xmax that ends in the same 32 bits. For
a row that is not frozen this is exact: its age is below 2^31. A frozen row keeps its `xmin` (since 9.4) and may be older by
whole rounds: it is then taken for newer, never for older, so it is read once more and never passed over.
"""

from __future__ import annotations

import re

from hudi_reconcile.core.pull.cursor import watermark_text
from hudi_reconcile.core.sweep.segments import KeyRange
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.sql import reads

NAME = "postgresql"
RANGES_AT_ONCE = 1_000
MODULO: str | None = "mod({a}, {b})"
# Sessions that a plain role cannot see in pg_stat_activity make the bound vanish silently,
# so without pg_read_all_stats the bound is the clock minus this delay, and the result says so.
BLIND_DELAY_MICROS = 5_000_000
SLACK_MICROS = 2_000_000
# A transaction prepared now may have begun this much earlier: pg_prepared_xacts knows only when it was prepared.
PREPARED_AGE_MICROS = 15 * 60 * 1_000_000

_PLAIN_KINDS = {
    "int2": Kind.INTEGER,
    "int4": Kind.INTEGER,
    "int8": Kind.INTEGER,
    "bool": Kind.BOOLEAN,
    "text": Kind.TEXT,
    "varchar": Kind.TEXT,
    "bpchar": Kind.CHAR,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.TIMESTAMPTZ,
    "uuid": Kind.UUID,
    "bytea": Kind.BYTES,
    "float4": Kind.REAL,
    "float8": Kind.DOUBLE,
}
# As text a float is the same for each reader of ours: the shortest that names its value (documentation 8.1.3).
_ZEROS = {"float4": "0::float4", "float8": "0::float8"}
KEY_TEXTS = frozenset({Kind.REAL, Kind.DOUBLE})
_SMALL_BITS = 16
_SCALE_SIGN = 1023
_BIGINT_LOW, _BIGINT_HIGH = -(2**63), 2**63 - 1
MOST_DIGITS = 38  # of a Spark and a Parquet decimal
_INTEGER_BITS = {"int2": _SMALL_BITS, "int4": 32, "int8": 64}
_READ_AS = {Kind.TEXT: "::text", Kind.CHAR: "::text", Kind.UUID: "::text", Kind.OTHER: "::text"}
# What their text names depends on the reader's search_path, or on the moment.
_NAMES_ONLY = frozenset({"regclass", "regproc", "regprocedure", "regoper", "regoperator", "regtype", "regrole",
                         "regnamespace", "regcollation", "regconfig", "regdictionary", "refcursor"})  # fmt: skip
_PSEUDO = "p"
_QUOTED_PART = re.compile(r'"(?:[^"]|"")*"')
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")


def quote(name: str) -> str:
    """An identifier, quoted. Raises ValueError for NUL, which no PostgreSQL name can hold."""
    if "\0" in name:
        raise ValueError("an identifier cannot hold NUL")
    return '"' + name.replace('"', '""') + '"'


def is_bare(name: str) -> bool:
    """Whether a SQL-quoted name says no schema."""
    return "." not in _QUOTED_PART.sub("", name)


def relation(schema: str, table: str, *, plain: tuple[bool, bool]) -> str:
    """A table's name as SQL. `plain`: whether schema and table need no quotes by the server's word, which is not all that counts.

    >>> relation("public", "orders", plain=(True, True)), relation("public", "a; drop", plain=(True, True))
    ('public.orders', 'public."a; drop"')
    """
    parts = zip((schema, table), plain, strict=True)
    return ".".join(name if bare and _PLAIN_NAME.fullmatch(name) else quote(name) for name, bare in parts)


def classify_column(
    name: str, type_name: str, type_mod: int, *, declared: str, nullable: bool, type_type: str = "b"
) -> Column:
    """The column's kind: OWN_TEXT for arrays, enums, ranges, domains and all that no lake type holds exactly.

    `type_name` is `catalog.TYPE_NAME`, `type_type` pg_type.typtype. OTHER, with the reason, where a value's text does
    not say what the value is.
    """
    declared = declared.removeprefix("public.")  # as people write it, whatever our session's path
    if type_name == "numeric":
        return _numeric(name, type_mod, declared=declared, nullable=nullable)
    kind = _PLAIN_KINDS.get(type_name, Kind.OWN_TEXT)
    if type_name in _NAMES_ONLY or type_type == _PSEUDO:
        why = f"the text of type {declared} depends on who reads it"
        return Column(name, Kind.OTHER, declared, nullable=nullable, why=why, native=type_name)
    digits = (type_mod if type_mod >= 0 else 6) if kind in CALENDAR_KINDS and kind is not Kind.DATE else None
    bits = _INTEGER_BITS.get(type_name)
    return Column(name, kind, declared, nullable=nullable, precision=digits, bits=bits, native=type_name)


def _numeric(name: str, type_mod: int, *, declared: str, nullable: bool) -> Column:
    precision = ((type_mod - 4) >> 16) & 0xFFFF
    scale = (type_mod - 4) & 0x7FF
    if scale > _SCALE_SIGN:  # PostgreSQL 15 keeps negative scales in 11 bits
        scale -= 2048
    if type_mod < 0 or not 0 <= scale <= precision <= MOST_DIGITS:
        return Column(name, Kind.NUMBER, declared, nullable=nullable, native="numeric")
    return Column(name, Kind.DECIMAL, declared, nullable=nullable, precision=precision, scale=scale, native="numeric")


def read(column: Column) -> str:
    """The column as the JDBC driver is to read it.

    Text-like kinds are read as text, which for char(n) leaves out the padding; int2 as int4, since Hudi keeps no smallint.
    Text twins of what Hudi or JDBC would alter are spelled as a finding's key would be, so that one value has one text.
    """
    if column.system:
        return number()
    name = quote(column.name)
    if column.bits == _SMALL_BITS:
        return f"{name}::int4"
    if column.kind is Kind.OWN_TEXT:
        return _own_text(name, column.native)
    # The zeros at a number's end are not data, and trim_scale knows NaN and infinity.
    return f"trim_scale({name})::text" if column.kind is Kind.NUMBER else f"{name}{_READ_AS.get(column.kind, '')}"


def _own_text(name: str, native: str) -> str:
    if native in _ZEROS:  # a key: -0 and 0, one value of a unique index, have one text
        return f"({name} + {_ZEROS[native]})::text"
    if native == "bytea":
        return f"encode({name}, 'hex')"
    if native == "timestamptz":  # to_char writes 44 BC as 0044: such years keep the server's own text
        iso = f"to_char({name} at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
        return f"case when isfinite({name}) and {name} >= '0001-01-01 00:00:00+00' then {iso} else {name}::text end"
    return _plain_text(name, native)


def _plain_text(name: str, native: str) -> str:
    """As the server spells it; what is outside pg_catalog by its output function, which `concat` calls.

    The type's owner may have planted a cast to text, which runs as whoever writes `::text` (CREATE CAST, pg_cast).
    """
    if "." not in native:
        return f"{name}::text"
    # A row of NULLs only is NULL to IS NULL, but not here.
    return f"case when {name} is distinct from null then concat({name}) end"


def text(expression: str) -> str:
    """The expression as text."""
    return f"({expression})::text"


def exact(name: str, column: Column) -> str:
    """As it is: PostgreSQL groups text by its bytes unless a collation is not deterministic; json has no equality."""
    if column.kind in (Kind.TEXT, Kind.CHAR):
        return f'{name} collate "C"'
    if column.kind is not Kind.OWN_TEXT:
        return name
    return (_own_text if column.native in _ZEROS else _plain_text)(name, column.native)


def limit_rows(select: str, rows: int) -> str:
    """The select with at most that many rows."""
    return f"{select} limit {rows}"


def ranges_query(select: str, table: str, key: str, ranges: tuple[KeyRange, ...], predicates: tuple[str, ...]) -> str:
    """SELECT of the rows whose integer key lies in any of many ranges, each once, served by the key's index.

    A join with the unnested edges lets every range use the index; OR-ed ranges collapse past some hundred (6.74 s against
    1.89 s for 1,000), and EXISTS over the edges scans the whole table. Open ends become the ends of bigint.
    """
    name = quote(key)
    keyed = [r for r in ranges if r.keys]
    lows = ",".join(str(_BIGINT_LOW if r.low is None else r.low) for r in keyed)
    lasts = ",".join(str(_BIGINT_HIGH if r.high is None else r.high - 1) for r in keyed)
    edges = f"unnest('{{{lows}}}'::bigint[], '{{{lasts}}}'::bigint[]) as hr_r(hr_low, hr_last)"
    inside = reads.where_clause((*predicates, f"{name} between hr_r.hr_low and hr_r.hr_last"))
    parts = [f"select {select} from {edges}, {table}{inside}"] if keyed else []
    if any(r.nulls for r in ranges):
        parts.append(f"select {select} from {table}{reads.where_clause((*predicates, f'{name} is null'))}")
    return " union all ".join(parts)


def hash_predicate(columns: tuple[tuple[str, Column], ...], part: int, parts: int) -> str:
    """One of `parts` disjoint shares of the rows by a hash of the key; NULL parts hash like the empty text.

    By the bytes: columns of different collations leave their joined text without one, and such a text has no hash.
    """
    joined = " || chr(31) || ".join(f"coalesce({_plain_text(name, column.native)}, '')" for name, column in columns)
    return f'(hashtext(({joined}) collate pg_catalog."C") & 2147483647) % {parts} = {part}'


def literal(column: Column, micros: int) -> str:
    """A watermark of that column's kind."""
    return f"{column.kind.value} '{watermark_text(column.kind, micros)}'"


def bytes_literal(hexed: str) -> str:
    """Bytes, of their hex digits."""
    return f"'\\x{hexed}'::bytea"


def says(column: Column, quoted: str) -> str:
    """As it is read: a value that the type does not know, an enum's for example, would be an error."""
    return f"{read(column)} = {quoted}"


def find_altered(column: Column) -> str | None:
    """Calendar values and NaN decimals, which the JDBC read would alter or stumble over.

    The driver turns infinity into the year 9999, and days of 1582-10-05 to 1582-10-14 move by ten.
    """
    name = quote(column.name)
    if column.kind is Kind.DECIMAL:
        return f"{name} = 'NaN'"
    if column.kind not in CALENDAR_KINDS:
        return None
    return (
        f"{name} < date '0001-01-01' or {name} >= date '9999-12-31' + 1"
        f" or ({name} >= date '1582-10-05' and {name} < date '1582-10-15')"
    )


# A replica shows what it was sent, and does not know what it was not: of a primary that it hears late, all that it has may be
# replayed. Where it has replayed all that its primary had at its last word (`latest_end_lsn`), the primary's clock at that word
# (`last_msg_send_time`, at most half of wal_receiver_timeout ago) says as of when it is the same.
# https://www.postgresql.org/docs/current/monitoring-stats.html, pg_stat_wal_receiver
MOMENT_QUERY = """
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as clock_micros,
       pg_current_snapshot()::text as snapshot, pg_last_wal_replay_lsn()::text as replayed_lsn,
       pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all,
       (select count(*) from pg_stat_activity
         where state = 'disabled' and pid <> pg_backend_pid() and datname = current_database()) as silent_sessions,
       (select (extract(epoch from min(xact_start)) * 1000000)::bigint from pg_stat_activity
         where xact_start is not null and pid <> pg_backend_pid() and datname = current_database()
           and backend_type is distinct from 'autovacuum worker') as oldest_micros,
       (select (extract(epoch from min(prepared)) * 1000000)::bigint from pg_prepared_xacts
         where database = current_database()) as prepared_micros,
       pg_is_in_recovery() as is_replica, exists (select 1 from pg_subscription_rel) as is_subscriber,
       case when pg_is_in_recovery() then (extract(epoch from coalesce(
              greatest(pg_last_xact_replay_timestamp(),
                       (select last_msg_send_time from pg_stat_wal_receiver
                         where status = 'streaming' and latest_end_lsn <= pg_last_wal_replay_lsn())),
              pg_postmaster_start_time())) * 1000000)::bigint
       end as replayed_micros
"""

# Without that right a session's state is NULL, and a number of those that are seen would be too small. A replica that has
# replayed all that it received is not behind, however old the last transaction is.
LOAD_QUERY = """
select pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all,
       (select count(*) from pg_stat_activity
         where state = 'active' and backend_type = 'client backend'
           and application_name not like 'hudi-reconcile %') as statements,
       case when not pg_is_in_recovery()
              then (select coalesce(extract(epoch from max(replay_lag)), 0) from pg_stat_replication)
            when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
            else extract(epoch from clock_timestamp() - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))
       end::float8 as lag_seconds
"""


def bound(
    clock: int, oldest: int | None, prepared: int | None, *, sees_all: bool, silent_sessions: int = 0
) -> tuple[int, str]:
    """The safe upper bound in UTC microseconds, and in words how it was found.

    `silent_sessions` do not tell when their transactions began: `track_activities` is off for them.
    """
    if not sees_all:
        return clock - BLIND_DELAY_MICROS, (
            "database clock minus 5 s: this role cannot see other sessions' transactions; "
            "GRANT pg_read_all_stats to it for an exact bound"
        )
    limits = [(clock - SLACK_MICROS, "database clock minus 2 s")]
    if silent_sessions:
        why = (
            f"database clock minus 5 s: track_activities is off for {silent_sessions} sessions, whose transactions nobody sees; "
            "turn it on, or set pull.overlap above the longest of them"
        )
        limits = [(clock - BLIND_DELAY_MICROS, why)]
    if oldest is not None:
        limits.append((oldest - SLACK_MICROS, "start of the oldest open transaction minus 2 s"))
    if prepared is not None:
        limits.append((prepared - PREPARED_AGE_MICROS, "oldest prepared transaction minus 15 min"))
    return min(limits)


def estimate_query(table: str, predicates: tuple[str, ...]) -> str:
    """The planner's own row estimate, which uses the table's size where it was never analysed (reltuples is -1 then)."""
    return f"explain (format json) select 1 from {table}{reads.where_clause(predicates)}"


XMIN = "xmin"
# Of all rows, whatever the table calls its columns: no PostgreSQL column can be named so.
COLUMN = Column(XMIN, Kind.INTEGER, "xid", nullable=False, bits=64, native="xid", system=True)

_NEWEST = "(select pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)"
_MASK = 2**32 - 1
_FIRST_NORMAL = 3  # below: made by initdb, or frozen by a server before 9.4; older than all


def number(xid: str = XMIN, newest: str = _NEWEST) -> str:
    """The 64-bit number of a 32-bit one. `newest` is the greatest that any visible row can have."""
    plain = f"{xid}::text::bigint"
    return f"case when {plain} < {_FIRST_NORMAL} then {plain} else {newest} - (({newest} - {plain}) & {_MASK}) end"


def version_bound(snapshot: str) -> int:
    """Every transaction below it has ended: the xmin of a snapshot `xmin:xmax:list`, in 64 bits, prepared ones included.

    >>> version_bound("759:763:759,761")
    759
    """
    return int(snapshot.partition(":")[0])


# One row. What the numbers hang on beside the system id: the timeline (a promoted or restored server may give the same numbers
# out again) and the table's own oid (a table swapped in under the name brings rows with old numbers). `others` are members of
# the table that keep no xmin of this server: foreign tables, other storage.
STANDING_QUERY = """
with recursive members(oid) as (
  select cast(:oid as oid) union select i.inhrelid from pg_inherits i join members m on i.inhparent = m.oid)
select pg_is_in_recovery() as is_replica,
       case when pg_is_in_recovery() then null else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as timeline,
       array(select c.oid::regclass::text from members m join pg_class c on c.oid = m.oid
               left join pg_am a on a.oid = c.relam
              where c.relkind not in ('r', 'p') or (c.relkind = 'r' and a.amname <> 'heap') order by 1) as others
"""
