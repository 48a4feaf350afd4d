"""PostgreSQL 13 and later: the canonical text of its values and what a digest is made of. Implements `sql/dialect.py:Digests`."""

from __future__ import annotations

from hudi_reconcile.core.tables.agreement import MICROS_DIGITS, ComparedColumn
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, TEXT_KINDS, Column, Kind
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.sql.dialect import Dialect

DIALECT: Dialect = dialect
_GREATEST = 2**63 - 1
_EPOCH_MICROS = 946_684_800_000_000  # PostgreSQL counts from 2000-01-01
_FLOAT_END, _FLOAT_LEAST = 2.0**128 - 2.0**103, 2.0**-150  # halfway to infinity and to zero: both round away
_IS_UTF8 = "(select getdatabaseencoding() = 'UTF8')"  # asked once a statement, not once a row


def canonical(item: ComparedColumn) -> str:
    """The canonical text. An infinite date or timestamp keeps its word: it equals nothing that the lake can hold."""
    name, kind = dialect.quote(item.column.name), item.column.kind
    if kind is Kind.BOOLEAN:
        return f"{name}::int::text"
    if kind is Kind.DECIMAL and item.digits is not None:
        cut = name if item.fraction_digits is None else f"trunc({name}, {item.fraction_digits})"
        return (
            f"{name}::text"
            if cut == name and item.digits[1] == item.column.scale
            else f"round({cut}, {item.digits[1]})::text"
        )
    if kind is Kind.BYTES:
        return f"encode({name}, 'hex')"
    if kind is Kind.DATE:
        return f"case when isfinite({name}) then ({name} - date '1970-01-01')::text else {name}::text end"
    if kind in CALENDAR_KINDS:  # extract() is a double before PostgreSQL 14, and slower since; the sent bytes are exact
        micros = f"({_bits(f'{kind}_send({name})')} + {_EPOCH_MICROS})"
        if item.fraction_digits is not None:
            step = 10 ** (MICROS_DIGITS - item.fraction_digits)
            micros = f"({divide_down(micros, step)} * {step})"
        return f"case when isfinite({name}) then {micros}::text else {name}::text end"
    if kind in (Kind.REAL, Kind.DOUBLE):
        value = _round_to_float(name) if item.as_float else f"{name}::float8"
        magnitude = f"({_bits(f'float8send({value})')} & {_GREATEST})::text"
        return f"case when {name} = 'NaN' then 'NaN' when {value} < 0 then '-' || {magnitude} else {magnitude} end"
    return dialect.read(item.column) if kind in TEXT_KINDS else f"{name}::text"


def _round_to_float(name: str) -> str:
    # PostgreSQL refuses what becomes infinite or zero; Spark does not.
    infinite = f"when abs({name}) >= {_FLOAT_END} and {name} <> 'NaN' then sign({name}) * float8 'infinity'"
    return f"(case {infinite} when abs({name}) <= {_FLOAT_LEAST} then 0 else {name}::float4::float8 end)"


def _bits(sent: str) -> str:
    return f"('x' || encode({sent}, 'hex'))::bit(64)::int8"


def octets(text: str, column: Column) -> str:
    """Bytes in UTF-8, whatever the database's own encoding; only text of people can hold more than ASCII."""
    if column.kind not in TEXT_KINDS:
        return f"octet_length({text})::text"
    return f"(case when {_IS_UTF8} then octet_length({text}) else octet_length(convert_to({text}, 'UTF8')) end)::text"


def join_texts(texts: tuple[str, ...]) -> str:
    """Texts, one after the other."""
    return " || ".join(texts)


def md5_number(text: str, hex_digits: int) -> str:
    """From the md5 of the UTF-8 bytes; converting only where the database has another encoding saves a third of the time."""
    md5 = f"case when {_IS_UTF8} then md5({text}) else md5(convert_to({text}, 'UTF8')) end"
    return f"('x' || left({md5}, {hex_digits}))::bit({hex_digits * 4})::int8"


def divide_down(number: str, divisor: int) -> str:
    """`/` cuts toward zero; -(number + 1) does not overflow at the smallest bigint."""
    return f"(case when {number} >= 0 then {number} / {divisor} else -1 - (-({number} + 1) / {divisor}) end)"


def remainder(number: str, divisor: int) -> str:
    """What is left of a number that is not negative."""
    return f"({number} % {divisor})"


def write_null_test(value: str) -> str:
    """True where the value is NULL itself: `is null` is true of a composite value whose fields are all NULL, too."""
    return f"{value} is not distinct from null"


def filler(octets: int) -> str:
    """One text of that length."""
    return f"select repeat('x', {octets}) as hr_x"


def keep_apart(select: str, *, narrow: bool) -> str:  # noqa: ARG001 - it keeps no rows, however wide
    """OFFSET keeps the planner from pulling the select up into the outer one."""
    return f"{select} offset 0"


# One row. A row of an ordinary table that changes is written anew, by a transaction with a number that the row never had: `xmin`.
# What makes rows read otherwise without writing them is among the facts (a column's missing value, an enum's labels) or a
# reason against it (an expression computed at each read, output functions outside pg_catalog). After a crash or a restore of
# the disk numbers could be given again: then the server was started again. `members` are a table's partitions and children.
_FACTS = """
with recursive members(oid) as (
  select {table}::regclass::oid union select i.inhrelid from pg_inherits i join members m on i.inhparent = m.oid),
shown as (
  select a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attgenerated, a.attmissingval::text as missing
    from pg_attribute a join members m on m.oid = a.attrelid
   where a.attnum > 0 and not a.attisdropped and a.attname = any ({columns}::name[])),
kinds(oid) as (
  select s.atttypid from shown s
  union select case when t.typtype = 'd' then t.typbasetype else t.typelem end
          from kinds k join pg_type t on t.oid = k.oid where t.typtype = 'd' or (t.typcategory = 'A' and t.typelem <> 0)),
types as (
  select t.oid, t.typname, t.typtype,
         t.typtype not in ('e', 'd') and t.typcategory <> 'A'
           and (t.typtype not in ('b', 'r', 'm') or t.typnamespace <> 'pg_catalog'::regnamespace) as is_odd,
         (select string_agg(e.enumlabel, ',' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels
    from kinds k join pg_type t on t.oid = k.oid)
select (select array_agg(why order by why) from (
          select 'the server is a replica' where pg_is_in_recovery()
          union select c.oid::regclass::text || ' keeps no versions of its rows'
            from members m join pg_class c on c.oid = m.oid left join pg_am a on a.oid = c.relam
           where c.relkind not in ('r', 'p') or (c.relkind = 'r' and a.amname <> 'heap')
          union select 'column ' || s.attname || ' is computed at each read' from shown s where s.attgenerated = 'v'
          union select 'type ' || t.typname || ' is written by functions outside pg_catalog' from types t where t.is_odd
        ) w(why)) as hr_odd,
       pg_snapshot_xmax(pg_current_snapshot())::text as hr_transactions,
       (select system_identifier::text from pg_control_system())
         || ' ' || case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as hr_server,
       extract(epoch from pg_postmaster_start_time())::text as hr_start,
       {table}::regclass::oid::text || ' ' || (select md5(string_agg(oid::text, ',' order by oid)) from members) as hr_table,
       (select md5(string_agg(concat_ws('|', attrelid, attnum, attname, atttypid, atttypmod, attgenerated, missing), ';'
                              order by attrelid, attnum)) from shown)
         || (select md5(string_agg(concat_ws('|', oid, typname, labels), ';' order by oid)) from types) as hr_catalog
"""


def version_facts(table: str, columns: tuple[str, ...]) -> str | None:
    """By the catalog and the server's own state. NULL facts, as on a replica, are those of a table that has `hr_odd`."""
    if table.startswith("("):
        return None
    names = ", ".join(_literal(name) for name in columns)
    return _FACTS.format(table=_literal(table), columns=f"array[{names}]")


def version_number() -> str:
    """`xmin` by its distance from a number of the same moment, hashed: half the time of its text. Never NULL.

    The distance of a row frozen by a server before 9.4 grows with each transaction: such a segment is compared each time.
    """
    return "hashint8extended((select age('1000'::xid)) - age(xmin)::int8, 0)"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
