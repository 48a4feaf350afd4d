"""What PostgreSQL is asked of its catalog: tables, columns, keys, rights, indexes, statistics. Pure text."""

from __future__ import annotations

# The first of some names that is a relation's. Names come as data, and are quoted here (`relation`), never by the server.
TABLE_QUERY = """
select c.oid, n.nspname::text as schema_name, c.relname::text as table_name, c.relkind::text as relkind,
       quote_ident(n.nspname) = n.nspname as plain_schema, quote_ident(c.relname) = c.relname as plain_table,
       (select oid from pg_database where datname = current_database()) as database_oid
  from unnest(cast(:names as text[])) with ordinality hr_n(name, place)
  join pg_class c on c.oid = to_regclass(hr_n.name)
  join pg_namespace n on n.oid = c.relnamespace
 order by hr_n.place limit 1
"""

# The name of type `t`: bare where it is PostgreSQL's own, `domain NAME` where it stands for such a one, else with its schema.
# Who owns a type may own casts of it, too; casts of a domain are those of its base type.
TYPE_NAME = """(
  with recursive hr_b(oid, base) as (
    select t.oid, t.typbasetype union all select o.oid, o.typbasetype from hr_b join pg_type o on o.oid = hr_b.base)
  select case when t.typnamespace = 'pg_catalog'::regnamespace then t.typname::text
              when o.typnamespace = 'pg_catalog'::regnamespace then 'domain ' || o.typname
              else n.nspname || '.' || t.typname end
    from hr_b join pg_type o on o.oid = hr_b.oid join pg_namespace n on n.oid = t.typnamespace
   where hr_b.base = 0)"""

# NOT NULL is no promise where old rows were never checked (PostgreSQL 18's NOT VALID), nor of the rows of a foreign table.
_IS_UNCHECKED = """exists (select 1 from pg_constraint k where k.conrelid = a.attrelid and k.contype = 'n' and not k.convalidated
                                            and a.attnum = any (k.conkey))"""
# Nor of a parent's children by inheritance, or its foreign partitions: their rows are read along with its own.
_HAS_OTHERS_ROWS = """(c.relkind not in ('r', 'p')
        or (c.relkind = 'r' and exists (select 1 from pg_inherits h where h.inhparent = c.oid))
        or exists (select 1 from pg_partition_tree(c.oid) m join pg_class f on f.oid = m.relid where f.relkind = 'f'))"""

COLUMNS_QUERY = f"""
select a.attname as name, {TYPE_NAME} as type_name, a.atttypmod as type_mod, t.typtype::text as type_type,
       format_type(a.atttypid, a.atttypmod) as declared,
       (not a.attnotnull or {_HAS_OTHERS_ROWS} or {_IS_UNCHECKED}) as nullable
  from pg_attribute a join pg_type t on t.oid = a.atttypid join pg_class c on c.oid = a.attrelid
 where a.attrelid = :oid and a.attnum > 0 and not a.attisdropped
 order by a.attnum
"""

# Unique, complete and immediate indexes only: a partial or deferred one proves nothing about a key. Nor does one of a parent
# by inheritance, whose children's rows are read along with its own: there NULL is not ruled out, so that keys are counted.
UNIQUE_KEYS_QUERY = f"""
select i.indisprimary as is_primary,
       array(select a.attname::text from unnest(i.indkey[0:i.indnkeyatts - 1]) with ordinality k(num, pos)
               join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.num order by k.pos) as names,
       (select bool_and(a.attnotnull and not {_IS_UNCHECKED}) from pg_attribute a
         where a.attrelid = i.indrelid and a.attnum = any (i.indkey))
       and not exists (select 1 from pg_inherits h join pg_class p on p.oid = h.inhparent
                        where h.inhparent = i.indrelid and p.relkind <> 'p') as is_proof
  from pg_index i
 where i.indrelid = :oid and i.indisunique and i.indisvalid and i.indimmediate
   and i.indpred is null and i.indexprs is null
 order by i.indisprimary desc
"""

# Columns of some tables, and types, that are an extension's which PostgreSQL also takes for one of its own, by themselves or
# through domains, elements and fields: under our path such a type's operators are not found, and its values would be compared as
# that other one, without an error. `op_schema` is where its `=` is.
OTHER_TEXT_QUERY = """
with recursive hr_t(name, is_column, oid) as (
  select a.attname::text, true, a.atttypid
    from unnest(cast(:names as text[])) hr_n(name)
    join pg_attribute a on a.attrelid = to_regclass(hr_n.name) and a.attnum > 0 and not a.attisdropped
  union
  select hr_n.name, false, to_regtype(hr_n.name)::oid from unnest(cast(:types as text[])) hr_n(name)
  union
  select hr_p.name, hr_p.is_column, hr_p.oid from hr_t join pg_type t on t.oid = hr_t.oid cross join lateral (
    select hr_t.name, hr_t.is_column, t.typbasetype as oid where t.typtype = 'd'
    union all select hr_t.name, hr_t.is_column, t.typelem where t.typcategory = 'A'
    union all select a.attname::text, true, a.atttypid from pg_attribute a
               where a.attrelid = nullif(t.typrelid, 0) and a.attnum > 0 and not a.attisdropped) hr_p)
select distinct hr_t.name, hr_t.is_column, format_type(b.oid, null) as type,
       quote_ident(coalesce((select min(n.nspname::text) from pg_operator p join pg_namespace n on n.oid = p.oprnamespace
                              where p.oprleft = b.oid and p.oprright = b.oid and p.oprname = '='), m.nspname)) as op_schema
  from hr_t
  join pg_type b on b.oid = hr_t.oid and b.typnamespace <> 'pg_catalog'::regnamespace
  join pg_namespace m on m.oid = b.typnamespace
  join pg_cast x on x.castsource = b.oid and x.castcontext = 'i'
  join pg_type o on o.oid = x.casttarget and o.typnamespace = 'pg_catalog'::regnamespace
 order by 1
"""

# `asks`: what the text of a view, and of views below it, calls that knows who reads: rows may be hidden without a word.
# `runs`: functions of people (no superuser, not us) in indexes, statistics, partition keys and constraints of what is read:
# where one is called with constants, the planner calls it in the reader's session, whatever the path (eval_const_expressions).
RIGHTS_QUERY = """
select has_table_privilege(c.oid, 'SELECT') as can_read,
       has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
         and not (select rolsuper from pg_roles where rolname = current_user) as can_write,
       array(
         with recursive hr_v(oid) as (
           select c.oid where c.relkind = 'v'
           union
           select v.oid from hr_v join pg_rewrite r on r.ev_class = hr_v.oid
             join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
             join pg_class v on v.oid = d.refobjid and v.relkind = 'v')
         select n.nspname || '.' || p.proname || '()'
           from hr_v join pg_rewrite r on r.ev_class = hr_v.oid
           join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
           join pg_proc p on p.oid = d.refobjid and p.prosecdef
           join pg_namespace n on n.oid = p.pronamespace
         union
         select lower(m[1]) from hr_v, regexp_matches(pg_get_viewdef(hr_v.oid),
           '\\m(current_user|session_user|current_role|current_setting|pg_has_role|has_\\w+_privilege)\\M', 'gi') m
         order by 1) as asks,
       array(
         with recursive hr_r(oid) as (
           select c.oid
           union
           select b.oid from hr_r cross join lateral (
             select i.inhrelid from pg_inherits i where i.inhparent = hr_r.oid
             union all
             select d.refobjid from pg_class v join pg_rewrite r on r.ev_class = v.oid
               join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
              where v.oid = hr_r.oid and v.relkind = 'v') b(oid)),
         hr_o(kind, oid) as (
           select 'pg_class'::regclass, oid from hr_r
           union all select 'pg_class'::regclass, i.indexrelid from hr_r join pg_index i on i.indrelid = hr_r.oid
           union all select 'pg_statistic_ext'::regclass, s.oid from hr_r join pg_statistic_ext s on s.stxrelid = hr_r.oid
           union all select 'pg_constraint'::regclass, k.oid from hr_r join pg_constraint k on k.conrelid = hr_r.oid)
         select distinct n.nspname || '.' || p.proname || '()'
           from hr_o join pg_depend d on d.classid = hr_o.kind and d.objid = hr_o.oid
           left join pg_operator o on d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid
           join pg_proc p on p.oid = case d.refclassid when 'pg_proc'::regclass then d.refobjid else o.oprcode::oid end
           join pg_namespace n on n.oid = p.pronamespace and n.nspname <> 'pg_catalog'
           join pg_roles w on w.oid = p.proowner and not w.rolsuper and w.rolname <> current_user
          order by 1) as runs
  from pg_class c
 where c.oid = :oid
"""
INDEXES_QUERY = """
select c.relkind::text as relkind,
       array(select distinct a.attname::text from pg_index i
               join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
              where i.indrelid = c.oid and i.indisvalid and i.indpred is null) as indexed,
       (select jsonb_object_agg(a.attname, s.seqcache)
          from pg_attribute a
          left join pg_attrdef v on v.adrelid = a.attrelid and v.adnum = a.attnum
          join pg_depend d on (d.classid = 'pg_attrdef'::regclass and d.objid = v.oid and d.refclassid = 'pg_class'::regclass)
            or (d.deptype = 'i' and d.classid = 'pg_class'::regclass and d.refobjid = a.attrelid and d.refobjsubid = a.attnum)
          join pg_sequence s on s.seqrelid in (d.objid, d.refobjid)
         where a.attrelid = c.oid and s.seqcache > 1) as id_cache
  from pg_class c
 where c.oid = :oid
"""

# One row: the table, its rows as last analysed, the width of the columns that are read, and the key column's own statistics.
# pg_stats shows only what the role may read. Text is sorted by its bytes under the C locale of libc, in UTF-8; uuids always are.
STATISTICS_QUERY = """
select c.relkind::text as relkind, c.reltuples::bigint as rows_known, w.row_bytes,
       s.null_frac as null_share, s.histogram_bounds::text::text[] as bounds,
       s.most_common_vals::text::text[] as common, s.most_common_freqs as shares,
       a.atttypid = 'uuid'::regtype or current_setting('server_encoding') = 'UTF8' and (
         (l.collprovider = 'c' and l.collcollate in ('C', 'POSIX')) or
         (l.collprovider = 'd' and d.datcollate in ('C', 'POSIX')
           and coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') = 'c')) as is_bytewise
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_database d on d.datname = current_database()
  left join pg_attribute a on a.attrelid = c.oid and a.attname = :key
  left join pg_collation l on l.oid = a.attcollation
  left join lateral (
    select null_frac, histogram_bounds, most_common_vals, most_common_freqs from pg_stats
     where schemaname = n.nspname and tablename = c.relname and attname = :key order by inherited desc limit 1) s on true
  left join lateral (
    select sum(width)::float8 as row_bytes from (
      select max(avg_width) as width from pg_stats
       where schemaname = n.nspname and tablename = c.relname and attname = any (:columns) group by attname) each) w on true
 where c.oid = to_regclass(:name)
"""

# --- all tables at once, for a proposal -----------------------------------------------------------------------------

# Tables and views that people made: no partition (its parent stands for it), no temporary one, none of an extension.
_SURVEYED = """
with hr_s as (
  select c.*, n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where c.relkind in ('r', 'p', 'm', 'v', 'f') and not c.relispartition and c.relpersistence <> 't'
     and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and has_schema_privilege(n.oid, 'USAGE')
     and not exists (select from pg_depend d
                      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
     and {schemas})
"""
_SURVEYS = {
    "tables": """
select c.oid, c.nspname::text as schema_name, c.relname::text as table_name, c.relkind::text as relkind,
       quote_ident(c.nspname) = c.nspname as plain_schema, quote_ident(c.relname) = c.relname as plain_table,
       c.reltuples::bigint as rows, c.relispopulated as is_filled, has_table_privilege(c.oid, 'SELECT') as can_read,
       row_security_active(c.oid) as hides_rows, current_user::text as role,
       (select a.attname::text from pg_partitioned_table p join pg_attribute a on a.attrelid = p.partrelid
           and a.attnum = p.partattrs[0]
         where p.partrelid = c.oid and p.partstrat = 'r' and p.partnatts = 1) as ranged
  from hr_s c order by c.nspname, c.relname
""",
    "columns": f"""
select a.attrelid as oid, a.attname::text as name, {TYPE_NAME} as type_name, a.atttypmod as type_mod,
       t.typtype::text as type_type, format_type(a.atttypid, a.atttypmod) as declared, not a.attnotnull as nullable,
       a.attidentity <> '' or coalesce(v.text ~* '^nextval\\(', false) as numbered,
       coalesce(v.text ~* '\\m(now|current_timestamp|localtimestamp|(clock|transaction|statement)_timestamp)\\M', false) as clock
  from hr_s c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join lateral (select pg_get_expr(d.adbin, d.adrelid) as text from pg_attrdef d
                      where d.adrelid = a.attrelid and d.adnum = a.attnum) v on true
 order by a.attrelid, a.attnum
""",
    "keys": f"""
select i.indrelid as oid, i.indisprimary as is_primary,
       array(select a.attname::text from unnest(i.indkey[0:i.indnkeyatts - 1]) with ordinality k(num, pos)
               join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.num order by k.pos) as names,
       (select bool_and(a.attnotnull and not {_IS_UNCHECKED}) from pg_attribute a
         where a.attrelid = i.indrelid and a.attnum = any (i.indkey[0:i.indnkeyatts - 1])) as is_proof
  from hr_s c join pg_index i on i.indrelid = c.oid
 where i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
 order by i.indrelid, i.indisprimary desc, i.indexrelid
""",
    "indexed": """
select distinct i.indrelid as oid, a.attname::text as name
  from hr_s c join pg_index i on i.indrelid = c.oid
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
 where i.indisvalid and i.indpred is null
""",
    # What a trigger before each update of a row assigns, by its text; the extension moddatetime names its column.
    "moved": """
select distinct t.tgrelid as oid, t.tgname::text as trigger,
       case when p.proname = 'moddatetime' then encode(rtrim(t.tgargs, '\\x00'::bytea), 'escape') else lower(m[1]) end as name
  from hr_s c join pg_trigger t on t.tgrelid = c.oid join pg_proc p on p.oid = t.tgfoid
  left join lateral regexp_matches(p.prosrc, '\\mnew\\s*\\.\\s*"?(\\w+)"?\\s*:?=', 'gi') m on p.proname <> 'moddatetime'
 where (t.tgtype & 19) = 19 and t.tgenabled in ('O', 'A') and not t.tgisinternal and t.tgqual is null and t.tgattr = ''
""",
}


def survey_query(what: str, schemas: tuple[str, ...]) -> str:
    """What the catalog tells of every table of some schemas, of all that are not the server's own where none is named.

    `what` is one of `tables`, `columns`, `keys`, `indexed`, `moved`; each but the first names its table by `oid`.
    """
    named = ", ".join(f"convert_from(decode('{name.encode().hex()}', 'hex'), 'UTF8')" for name in schemas)
    return _SURVEYED.format(schemas=f"n.nspname in ({named})" if schemas else "true") + _SURVEYS[what]
