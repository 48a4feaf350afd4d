"""PostgreSQL 13 and later as SQL text: names, types, literals, catalog queries, the safe bound. Sends nothing.

Type facts: PostgreSQL documentation chapter 8 and catalogs pg_type, pg_attribute (typmod of numeric is
`((precision << 16) | scale) + 4`; of time types the number of fraction digits, -1 where not declared).
"""

from __future__ import annotations

from hudi_reconcile.core.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.core.segments import KeyRange
from hudi_reconcile.core.window import Window, watermark_text

NAME = "postgresql"
JDBC_DRIVER = "org.postgresql.Driver"
# Sessions that a plain role cannot see in pg_stat_activity make the bound vanish silently (research: correctness 6b),
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
_SMALL_BITS = 16
_SCALE_SIGN = 1023
_BIGINT_LOW, _BIGINT_HIGH = -(2**63), 2**63 - 1
MOST_DIGITS = 38  # of a Spark and a Parquet decimal
_INTEGER_BITS = {"int2": _SMALL_BITS, "int4": 32, "int8": 64}
_READ_AS = {Kind.TEXT: "::text", Kind.CHAR: "::text", Kind.UUID: "::text", Kind.OTHER: "::text"}
_SUPPORTED = (
    "integer types, numeric(p,s), boolean, text, varchar, char, date, timestamp, timestamptz, uuid, bytea, real, double"
)


def quote(name: str) -> str:
    """An identifier, quoted. Raises ValueError for NUL, which no PostgreSQL name can hold."""
    if "\0" in name:
        raise ValueError("an identifier cannot hold NUL")
    return '"' + name.replace('"', '""') + '"'


def column_of(name: str, type_name: str, type_mod: int, *, declared: str, nullable: bool) -> Column:
    """The column's kind; OTHER, with the reason, where this version cannot compare it (domains, enums and arrays too)."""
    if type_name == "numeric":
        return _numeric(name, type_mod, declared=declared, nullable=nullable)
    kind = _PLAIN_KINDS.get(type_name)
    if kind is None:
        why = f"type {declared} is not compared yet (compared are: {_SUPPORTED})"
        return Column(name, Kind.OTHER, declared, nullable=nullable, why=why)
    digits = (type_mod if type_mod >= 0 else 6) if kind in CALENDAR_KINDS and kind is not Kind.DATE else None
    return Column(name, kind, declared, nullable=nullable, precision=digits, bits=_INTEGER_BITS.get(type_name))


def _numeric(name: str, type_mod: int, *, declared: str, nullable: bool) -> Column:
    if type_mod < 0:
        why = "numeric without precision does not fit a lake decimal without rounding"
        return Column(name, Kind.OTHER, declared, nullable=nullable, why=why)
    precision = ((type_mod - 4) >> 16) & 0xFFFF
    scale = (type_mod - 4) & 0x7FF
    if scale > _SCALE_SIGN:  # PostgreSQL 15 keeps negative scales in 11 bits
        scale -= 2048
    if not 0 <= scale <= precision <= MOST_DIGITS:
        why = f"{declared} does not fit a lake decimal of 38 digits"
        return Column(name, Kind.OTHER, declared, nullable=nullable, why=why)
    return Column(name, Kind.DECIMAL, declared, nullable=nullable, precision=precision, scale=scale)


def select_list(columns: tuple[Column, ...]) -> str:
    """The columns under positional names `c0, c1, …`: no odd name ever reaches Spark's parser.

    Text-like kinds are read as text, which for char(n) leaves out the padding; int2 as int4, since Hudi keeps no smallint.
    """
    parts = []
    for index, column in enumerate(columns):
        cast = "::int4" if column.bits == _SMALL_BITS else _READ_AS.get(column.kind, "")
        parts.append(f"{quote(column.name)}{cast} as c{index}")
    return ", ".join(parts)


def rows_query(table: str, columns: tuple[Column, ...], predicates: tuple[str, ...]) -> str:
    """SELECT of the columns with all predicates. `table` is already quoted."""
    where = " where " + " and ".join(f"({predicate})" for predicate in predicates) if predicates else ""
    return f"select {select_list(columns)} from {table}{where}"


def range_predicate(name: str, key_range: KeyRange) -> str:
    """Rows whose integer key lies in the range; open ends stay open, NULLs only where the range says so.

    `name` is SQL: a quoted column or one of the positional names of `select_list`.
    """
    parts = []
    if key_range.low is not None:
        parts.append(f"{name} >= {key_range.low}")
    if key_range.high is not None:
        parts.append(f"{name} < {key_range.high}")
    if not key_range.keys:
        return f"{name} is null"
    if not key_range.nulls:
        return " and ".join(parts) or f"{name} is not null"
    return "(" + " and ".join(parts) + f") or {name} is null" if parts else "true"


def ranges_query(
    table: str, columns: tuple[Column, ...], key: str, ranges: tuple[KeyRange, ...], predicates: tuple[str, ...]
) -> str:
    """SELECT of the rows whose integer key lies in any of many ranges, each once, served by the key's index.

    A join with the unnested edges lets every range use the index; OR-ed ranges collapse past some hundred (6.74 s against
    1.89 s for 1,000), and EXISTS over the edges scans the whole table. Open ends become the ends of bigint.
    """
    name = quote(key)
    keyed = [r for r in ranges if r.keys]
    lows = ",".join(str(_BIGINT_LOW if r.low is None else r.low) for r in keyed)
    lasts = ",".join(str(_BIGINT_HIGH if r.high is None else r.high - 1) for r in keyed)
    edges = f"unnest('{{{lows}}}'::bigint[], '{{{lasts}}}'::bigint[]) as hr_r(hr_low, hr_last)"
    where = " and ".join(
        f"({predicate})" for predicate in (*predicates, f"{name} between hr_r.hr_low and hr_r.hr_last")
    )
    parts = [f"select {select_list(columns)} from {edges}, {table} where {where}"] if keyed else []
    if any(r.nulls for r in ranges):
        parts.append(rows_query(table, columns, (*predicates, f"{name} is null")))
    return " union all ".join(parts)


def hash_predicate(names: tuple[str, ...], part: int, parts: int) -> str:
    """One of `parts` disjoint shares of the rows by a hash of the key; NULL parts hash like the empty text."""
    text = " || chr(31) || ".join(f"coalesce({name}::text, '')" for name in names)
    return f"(hashtext({text}) & 2147483647) % {parts} = {part}"


def window_predicate(window: Window, columns: dict[str, Column]) -> str | None:
    """Rows whose greatest non-null watermark lies in the open window; None where the window takes every row.

    Written per column, so that an index on the watermark can serve it: greatest > x means some column > x.
    """
    parts = []
    if window.after_micros is not None:
        above = [f"{quote(n)} > {_literal(columns[n], window.after_micros)}" for n in window.columns]
        parts.append("(" + " or ".join(above) + ")")
    if window.before_micros is not None:
        for name in window.columns:
            below = f"{quote(name)} < {_literal(columns[name], window.before_micros)}"
            alone = len(window.columns) == 1 and window.after_micros is not None  # NULL is not above it anyway
            parts.append(below if alone else f"({quote(name)} is null or {below})")
    return " and ".join(parts) or None


def _literal(column: Column, micros: int) -> str:
    return f"{column.kind.value} '{watermark_text(column.kind, micros)}'"


def uncarried_query(table: str, columns: tuple[Column, ...], predicates: tuple[str, ...]) -> str | None:
    """Counts, per calendar column, of values that the JDBC read would alter; None without such columns.

    The driver turns infinity into the year 9999, and days of 1582-10-05 to 1582-10-14 move by ten (research: correctness 6d).
    """
    calendar = [column for column in columns if column.kind in CALENDAR_KINDS]
    if not calendar:
        return None
    counts = ", ".join(
        f"count(*) filter (where {q} < date '0001-01-01' or {q} >= date '9999-12-31' + 1"
        f" or ({q} >= date '1582-10-05' and {q} < date '1582-10-15'))"
        for q in (quote(column.name) for column in calendar)
    )
    where = " where " + " and ".join(f"({predicate})" for predicate in predicates) if predicates else ""
    return f"select {counts} from {table}{where}"


MOMENT_QUERY = """
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as clock_micros,
       pg_current_snapshot()::text as snapshot,
       pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all,
       (select (extract(epoch from min(xact_start)) * 1000000)::bigint from pg_stat_activity
         where xact_start is not null and pid <> pg_backend_pid() and datname = current_database()
           and backend_type is distinct from 'autovacuum worker') as oldest_micros,
       (select (extract(epoch from min(prepared)) * 1000000)::bigint from pg_prepared_xacts
         where database = current_database()) as prepared_micros,
       pg_is_in_recovery() as is_replica
"""

TABLE_QUERY = """
select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name, c.relkind::text as relkind,
       (select oid from pg_database where datname = current_database()) as database_oid
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.oid = to_regclass(:name)
"""

COLUMNS_QUERY = """
select a.attname as name, t.typname as type_name, a.atttypmod as type_mod,
       format_type(a.atttypid, a.atttypmod) as declared, not a.attnotnull as nullable
  from pg_attribute a join pg_type t on t.oid = a.atttypid
 where a.attrelid = :oid and a.attnum > 0 and not a.attisdropped
 order by a.attnum
"""

# Unique, complete and immediate indexes only: a partial or deferred one proves nothing about a key.
UNIQUE_KEYS_QUERY = """
select i.indisprimary as is_primary,
       array(select a.attname::text from unnest(i.indkey[0:i.indnkeyatts - 1]) with ordinality k(num, pos)
               join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.num order by k.pos) as names,
       (select bool_and(a.attnotnull) from pg_attribute a
         where a.attrelid = i.indrelid and a.attnum = any (i.indkey)) as not_null
  from pg_index i
 where i.indrelid = :oid and i.indisunique and i.indisvalid and i.indimmediate
   and i.indpred is null and i.indexprs is null
 order by i.indisprimary desc
"""


def bound(clock: int, oldest: int | None, prepared: int | None, *, sees_all: bool) -> tuple[int, str]:
    """The safe upper bound in UTC microseconds, and in words how it was found (research: correctness 6b, variant F2)."""
    if not sees_all:
        return clock - BLIND_DELAY_MICROS, (
            "database clock minus 5 s: this role cannot see other sessions' transactions; "
            "GRANT pg_read_all_stats to it for an exact bound"
        )
    limits = [(clock - SLACK_MICROS, "database clock minus 2 s")]
    if oldest is not None:
        limits.append((oldest - SLACK_MICROS, "start of the oldest open transaction minus 2 s"))
    if prepared is not None:
        limits.append((prepared - PREPARED_AGE_MICROS, "oldest prepared transaction minus 15 min"))
    return min(limits)


def estimate_query(table: str, predicates: tuple[str, ...]) -> str:
    """The planner's own row estimate, which uses the table's size where it was never analysed (reltuples is -1 then)."""
    where = " where " + " and ".join(f"({predicate})" for predicate in predicates) if predicates else ""
    return f"explain (format json) select 1 from {table}{where}"


def count_query(table: str, predicates: tuple[str, ...]) -> str:
    """How many rows there are."""
    where = " where " + " and ".join(f"({predicate})" for predicate in predicates) if predicates else ""
    return f"select count(*) as rows from {table}{where}"


def extent_query(table: str, column: str, predicates: tuple[str, ...]) -> str:
    """Smallest and greatest value of an integer key column; an index answers it at once."""
    name = quote(column)
    where = " where " + " and ".join(f"({predicate})" for predicate in predicates) if predicates else ""
    return f"select min({name}) as low, max({name}) as high from {table}{where}"


def key_faults_query(table: str, key: tuple[str, ...], predicates: tuple[str, ...]) -> str:
    """Counts keys that occur twice and rows whose key is NULL throughout, and shows at most five of the former."""
    names = ", ".join(quote(name) for name in key)
    nulls = " and ".join(f"{quote(name)} is null" for name in key)
    where = " where " + " and ".join(f"({predicate})" for predicate in predicates) if predicates else ""
    shown = " || ', ' || ".join(f"coalesce({quote(name)}::text, 'NULL')" for name in key)
    return (
        f"with hr_k as (select {names}, count(*) as hr_n from {table}{where} group by {names})"
        f" select count(*) filter (where hr_n > 1) as duplicated,"
        f" coalesce(sum(hr_n) filter (where {nulls}), 0)::bigint as null_keys,"
        f" (select array_agg('(' || hr_t || ')') from (select {shown} as hr_t from hr_k where hr_n > 1 limit 5) s)"
        f" as sample from hr_k"
    )
