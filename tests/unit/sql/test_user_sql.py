"""Texts that people write as `source.where` and `source.query`: what only reads is taken, whatever else is refused by name."""

from __future__ import annotations

import pytest

from hudi_reconcile.sql.user_columns import cast_types, find_compared_columns
from hudi_reconcile.sql.user_sql import add_schemas, is_decided_by_row, predicate_fault, query_fault, tables

POSTGRES = r"""
amount > 10 and created_at >= now() - interval '1 day'
status in ('a', 'b') or (a, b) in (select a, b from s.t)
payload ->> 'x' = 'y' and payload @> '{"a": 1}' and payload #>> '{a,b}' = 'x' and payload ? 'a'
jsonb_path_exists(payload, '$.a ? (@ > 1)') and payload ?| array['a', 'b']
x ~ '^a;b' and y !~* '(' and z ilike 'a%' and w similar to 'a%' and v ~~ '--'
name = 'it''s; fine'
name = E'a\'b;' and other = e'\\'
x = $$;$$ or x = $tag$ ) ; -- $tag$
x = any (array[1, 2]) and y = all ('{1,2}'::int[]) and tags && array['a'] and z[1] = 2
created_at at time zone 'UTC' > '2024-01-01'::timestamp and d = date'2024-01-01'
to_tsvector('english', body) @@ to_tsquery('a & b') and during @> now()
x operator(pg_catalog.=) 1 and public.f(x) = 2 and x::public.citext operator(public.=) 'a'
exists (select 1 from s.t where t.id = orders.id) and x is not distinct from 3
x > now() - make_interval(days := 10) and y > now() - make_interval(days => 10)
extract(epoch from x) > 3 and substring(x from 1 for 2) = 'a' and position('a' in x) > 0
case when a then b else c end and (r).f = 2 and x collate "C" = 'a' and "Order Items".x = 1
x = B'101' or x = X'1F' or x = U&'d\0061t' or (x, y) overlaps (a, b)
ip << inet '10/8' and p <-> point '(1,2)' < 3 and a % 2 = 0 and b # 1 = 0 and |/ x > 1
lo_price(x) = 1 and "user" = 2 and type = 'x' and date > '2020-01-01' and sleep = 1 and a$b = 2
a = 1 -- a note; with ( and ' in it
a /* a note; ) ' */ = 1
exists (select sleep.minutes from sleep, benchmark, release_lock r where benchmark.id = 1)
dblink_src.t.id = 2 and xp_level.x > 1
pg_current_logfile() is null or txid_current_if_assigned() is null or setseed(0.5) is null or lo_tax > 1 or ts_rank(a, b) > 1
""".strip().splitlines()
MYSQL = r"""
`a;b` = 1 and x regexp '^a' and y rlike 'a'
j ->> '$.a' = 'x' and json_contains(j, '1') and x member of ('[1]')
x > now() - interval 1 day and a <=> b and date_add(x, interval 1 day) > now()
x = 'a\'b;' or x = "double; 'quoted'" or x = 'say "' or x = 'it''s; ok' or x = _utf8mb4'a'
a = 1 # a note; with ) and '
a = 1 -- a note
binary x = 'a' and x div 2 = 1 and x mod 2 = 1 and a && b || !c xor d
match(x) against ('a' in boolean mode) and cast(x as unsigned) = 1 and convert(x using utf8mb4) = 'a'
x collate utf8mb4_bin = 'a' and x like 'a|%' escape '|' and x = 0x1F and timestampdiff(day, a, b) > 1
x in (select y from other where `key` = 1)
""".strip().splitlines()
ANY = [
    "a > 1 and b like '%x;%'",
    "\"Region\" = 'a' or x between 1 and 2",
    "x = X'1F'",
    "cast(a as date) >= date '2024-01-01'",
]
POSTGRES_EFFECTS = """
lo_from_bytea(0, 'x') > 0
pg_catalog.lo_from_bytea(0, 'x') > 0
ts_rewrite('a'::tsquery, $$select 'a'::tsquery, 'b'::tsquery$$) is null
exists (select 1 from public.crosstab('select 1') as c(a int, b int))
exists (select 1 from crosstab3('select 1'))
exists (select 1 from connectby('t', 'a', 'b', '1', 0) as c(a int, b int, l int))
exists (select 1 from xpath_table('a', 'b', 'c', 'd', 'true') as c(a int))
pg_stat_reset() is null
pg_stat_reset_shared('bgwriter') is null
pg_stat_statements_reset() is null
pg_file_unlink('x')
pg_file_write('x', 'y', true) > 0
pg_export_snapshot() is null
txid_current() > 0
pg_log_backend_memory_contexts(1)
pg_wal_replay_pause() is null
brin_summarize_new_values('i') > 0
pg_prewarm('t') > 0
dblink('x', 'select 1') is null
""".strip().splitlines()
MARIADB_EFFECTS = """
master_pos_wait('x', 4) > 0
master_gtid_wait('0-1-1') = 0
last_insert_id(5) = 5
release_all_locks() > 0
""".strip().splitlines()
DUCKDB_EFFECTS = """
exists (select 1 from '/etc/passwd')
exists (select 1 from 'x.csv')
exists (select 1 from "https://x/y.parquet")
exists (select 1 from glob('*'))
exists (select 1 from read_json_auto('x'))
exists (select 1 from read_ndjson_objects('x'))
exists (select 1 from parquet_scan('x'))
exists (select 1 from postgres_execute('a', 'b'))
getenv('HOME') = 'x'
""".strip().splitlines()


@pytest.mark.parametrize(
    ("product", "text"),
    [
        *(("postgresql", one) for one in POSTGRES),
        *(("mysql", one) for one in MYSQL),
        *(
            (product, one)
            for product in ("h2", "derby", "oracle", "sqlserver", "db2")
            for one in ANY
            if "X'" not in one
        ),
        ("h2", ANY[2]),
        ("sqlite", "glob('a*', x) and query = 1"),
        ("duckdb", 'exists (select 1 from "main"."Order.Items" where url = \'a.csv\')'),
        ("oracle", "dbms_lob.substr(x, 3) = 'abc' and dbms_random.value > 0"),
    ],
)
def test_condition_that_only_reads_is_taken(product: str, text: str) -> None:
    assert predicate_fault(text, product) == ""


@pytest.mark.parametrize(
    ("product", "text"),
    [
        ("postgresql", "true); set default_transaction_read_only = off; commit; drop table victim; select 1 where (true"),
        ("postgresql", "a; b"),
        ("postgresql", "a) or (b"),
        ("postgresql", "(a"),
        ("postgresql", "a /* no end"),
        ("postgresql", "a = 'no end"),
        ("postgresql", "set_config('default_transaction_read_only', 'off', false) is null"),
        ("postgresql", "pg_catalog . \"set_config\" ('a', 'b', true) = 'b'"),
        ("oracle", "utl_http.request('http://x') = ''"),
        ("postgresql", "pg_read_file('/etc/passwd') = '' or lo_import('/x') = 1 or dblink_exec('x') = ''"),
        ("postgresql", "a in (select 1 into b)"),
        ("postgresql", "exists (select 1 from x for update)"),
        ("postgresql", "exists (with d as (delete from x returning 1) select * from d)"),
        ("postgresql", "true union select 1"),
        ("postgresql", f"{'array[' * 40}1{']' * 40} = a"),  # would be read for hours
        ("postgresql", "a = 'x' b"),
        # What sqlglot and PostgreSQL read in two ways: a backslash, a second string of E'…', a dollar within a name, an operator
        # that begins a comment, a comment that ends at a carriage return, a blank that is none, names in escapes.
        ("postgresql", r"a = '\'; drop table x; --'"),
        ("postgresql", "a = E'x'\n'\\'' ; drop table x; --'"),
        ("postgresql", "a = a$$;$$"),
        ("postgresql", "a = 1$$;$$"),
        ("postgresql", "a ||/* ' */ ; drop table x; --'"),
        ("postgresql", "a /*+ ' */ ; drop table x; --'"),
        ("postgresql", "a -- x\r) ; drop table x"),
        ("postgresql", "a\u00a0= 1"),
        ("postgresql", r'a = U&"d\0061t"'),
        ("postgresql", "{# a #} true"),
        ("postgresql", "a = 'x' {\n +:\n''}"),  # at which sqlglot 30 stumbles
        ("mysql", "a = 1 /*!50000 or sleep(1) */"),
        ("mysql", "a = 1 /*M! or sleep(1) */"),
        ("mysql", "a /* /* */ or f() -- */"),
        ("mysql", "a = 1 --1) ; x"),
        ("mysql", "a ||/* ' */ ; drop table x -- '"),
        ("mysql", "1 into outfile '/tmp/x'"),
        ("mysql", "(select 1 into outfile '/tmp/x')"),
        ("mysql", "@x := 1"),
        ("mysql", "load_file('/etc/passwd') = '' or sleep(9)"),
        ("mysql", "exists (select /*+ SET_VAR(sql_mode = 'ANSI_QUOTES') */ 1 from t)"),
        ("mysql", "(select a from t lock in share mode) = 1"),
        ("mysql", r"a = 'x\'"),
        ("h2", "a = $$ -- $$ ) ; drop table x"),
        ("h2", r"a = 'x\' or 1 = 1 --'"),
        ("h2", "file_read('/etc/passwd') = ''"),
        ("derby", "a; drop table x"),
        ("h2", "abort_session(3)"),
        ("sqlserver", "x = next value for dbo.s"),
        *(("postgresql", one) for one in POSTGRES_EFFECTS),
        *(("mariadb", one) for one in MARIADB_EFFECTS),
        *(("duckdb", one) for one in DUCKDB_EFFECTS),
    ],
)  # fmt: skip
def test_condition_that_does_more_or_is_read_in_two_ways_is_refused(product: str, text: str) -> None:
    assert predicate_fault(text, product)


@pytest.mark.parametrize(
    "text",
    [
        "select * from t where id > 0 -- all: of 100%\n;",
        "with recursive a as (select 1 as n union all select n + 1 from a) select * from a",
        "(select 1 from a) union (select 2 from b) order by 1 limit 3",
        "select distinct on (a) a, count(*) filter (where b) over (order by c) from t group by grouping sets ((a), ())",
        "select * from a natural join b left join lateral (select 1) c on true, generate_series(1, 2) s",
        "values (1, 2), (3, 4)",
    ],
)
def test_query_that_only_reads_is_taken(text: str) -> None:
    assert query_fault(text, "postgresql") == ""


@pytest.mark.parametrize(
    "text",
    [
        "select id from orders) x limit 0; set x = off; commit; create table pwned (i int); select 1 from (select 1 as id",
        "select 1; delete from x",
        "delete from x returning *",
        "with x as (delete from a returning *) select * from x",
        "with x as (insert into a values (1) returning *) select * from x",
        "select a into b from c",
        "select 1 from a for no key update",
        "select id, set_config('default_transaction_read_only', 'off', false) as s from orders",
        "copy x to program 'id'",
        "create table x as select 1",
        "explain analyze select 1",
        "call f()",
        "do $$ begin end $$",
        "-- nothing",
    ],
)
def test_query_that_does_more_than_read_is_refused(text: str) -> None:
    assert query_fault(text, "postgresql")


def test_fault_repeats_no_value_of_the_text() -> None:
    assert "hunter2" not in predicate_fault("password = 'hunter2' and", "postgresql")


def test_tables_without_a_schema_get_theirs_and_not_a_letter_else_changes() -> None:
    query = (
        'with c as (select 1 from base -- orders\n) select "Items".a, \'orders\' from orders o join "Items" i using (x), s.z, '
        "lateral f(o.a) g, c where a in (select b from Base)"
    )
    found = tables(query, "postgresql")

    assert [one.text for one in found if one.is_bare] == ["base", "orders", '"Items"', "Base"]
    assert [one.text for one in found if not one.is_bare] == ["s.z"]
    schemas = {"base": '"p"', "orders": '"q"', '"Items"': '"p"'}
    assert add_schemas(query, found, schemas) == (
        'with c as (select 1 from "p".base -- orders\n) select "Items".a, \'orders\' from "q".orders o join "p"."Items" i using '
        "(x), s.z, lateral f(o.a) g, c where a in (select b from Base)"
    )
    assert tables("select id fro t", "postgresql") == ()


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("with orders as (select * from orders) select * from orders", [30]),
        ("with recursive r as (select 1 from a union all select 1 from r) select * from r", [35]),
        ("with a as (select 1 from b), b as (select 1 from a) select * from a, b", [25]),
        ("select 1 from a where exists (with a as (select 1) select 1 from a) and x in (select 1 from a)", [14, 92]),
        ('with "A" as (select 1) select * from a, "A"', [37]),
        ("with x as (with y as (select 1 from z) select 1 from y) select 1 from x, y", [36, 73]),
    ],
)
def test_bare_name_is_a_ctes_only_where_that_cte_is_seen(query: str, named: list[int]) -> None:
    assert [one.start for one in tables(query, "postgresql") if one.is_bare] == named


@pytest.mark.parametrize(
    ("product", "names"),
    [
        (
            "postgresql",
            "lock show rename execute refresh reset explain exec call declare prepare vacuum optimize comment replace",
        ),
        ("mysql", "comment execute"),
    ],
)
def test_column_named_as_a_command_is_a_column(product: str, names: str) -> None:
    texts = [text for name in names.split() for text in (f"{name} = 1", f"1 = {name}", f"o.{name} is null")]

    assert [(text, fault) for text in texts if (fault := predicate_fault(text, product))] == []
    assert predicate_fault("replace(note, 'a', 'b') > '1'", "mariadb") == ""


def test_name_or_operator_that_cannot_be_read_is_told_with_the_way_to_write_it() -> None:
    fault = predicate_fault("values = 1 and ip <<= '10.0.0.0/8'::cidr", "postgresql")

    assert 'quote a name that is a word of SQL ("values"), write an operator as operator(pg_catalog.<<=)' in fault
    assert predicate_fault("\"values\" = 1 and ip operator(pg_catalog.<<=) '10.0.0.0/8'::cidr", "postgresql") == ""
    assert "`values`" in predicate_fault("regexp = 1", "mariadb")


def test_columns_are_compared_unless_they_are_cast_or_their_operator_has_its_schema() -> None:
    text = (
        "email = 'a' and b::text = 'x' and c operator(public.=) 'y' and d is null and \"E\" in ('z') and g = any (tags)"
    )
    columns = ["email", "b", "c", "d", "E", "f", "tags"]

    assert find_compared_columns(text, "postgresql", columns) == ("email", "E", "tags")
    assert find_compared_columns(f"select d, f from t where {text}", "postgresql", columns) == ("email", "E", "tags")


@pytest.mark.parametrize("call", ["int(", "date(", "struct(", "["])
def test_calls_of_types_within_each_other_end_the_reading_at_once(call: str) -> None:
    text = call * 60 + "id" + ("]" if call == "[" else ")") * 60

    assert "nests" in predicate_fault(f"{text} > 1", "postgresql")
    assert "nests" in query_fault(f"select {text} from t", "mysql")


TAKEN_FOR_TEXT = """
strpos(email,'x')>0
nullif(email,'x') is null
coalesce(email,'')='x'
email::public.citext='x'
case email when 'x' then true end
case when id = 1 then email end = 'x'
row(email,1) = row('x',1)
(email, id) in (('x', 1))
email collate "C" = 'x'
regexp_match(email,'x') is not null
replace(email,'a','') <> 'x'
position('x' in email) > 0
split_part(email,'X',1) = 'x'
array_position(tags,'x') = 1
greatest(email,'x') = 'x'
(c).email = 'x'
c.email like 'x'
x in (select email from c)
x = (select email from c limit 1)
x = any (select email from c)
array(select email from c) = '{x}'
id in (select id from (select id, email as e from c) z where e = 'x')
id in (select id from (select id, email from c) z(a, m) where m = 'x')
id in (select id from (select * from c) z(a, m) where m = 'x')
id in (select id from c z(a, m) where m = 'x')
id in (with z as (select email as e from c) select 1 from z where e = 'x')
id in (with z(e) as (select email from c) select 1 from z where e = 'x')
id in (select 1 from (select name from b union all select email from c) z where name = 'x')
id in (select 1 from (select coalesce(email, '') from c) z where coalesce = 'x')
id in (select 1 from (select (select email from c limit 1)) z where email = 'x')
id in (select 1 from (select (select email from c limit 1) as y) z where y = 'x')
id in (select 1 from c, lateral (select c.email) z(m) where m = 'x')
id in (select a.id from c a join c b using (email))
id in (select a.id from c a natural join c b)
max(email) over () = 'x'
lag(email) over (order by id) = 'x'
'x' = any (tags)
tags && array['x']
tags[1] = 'x'
exists (select 1 from unnest(tags) t where t = 'x')
array[email] && array['x']
email is distinct from 'x'
email between 'a' and 'b'
min(email) = 'x'
email operator(public.||) 'x' = 'y' and email = 'x'
""".strip().splitlines()
SAID_HOW = """
email::text = 'x'
cast(email as varchar(3)) = 'x' and coalesce(email, '')::text = 'x' and email::pg_catalog.text = 'x'
tags::text[] && array['x']
email is not null and email is null
email operator(public.=) 'x'::public.citext and (email) operator(public.=) 'x'
public.f(email) = 1
lower(email) = 'x' and upper(email) = 'X' and length(email) > 1 and octet_length(email) > 1
email || 'a' = 'x' and concat(email, 'x') = 'y' and to_jsonb(email) = '1'
exists (select email from c)
id in (select id from (select id, email from c) z)
id in (select id from (select id, email as e from c) z where e::text = 'x' and e is not null)
id in (select id from (select id, email from c) z(a, m) where a = 'x')
id in (select id from c group by id, email order by email)
id in (select row_number() over (partition by email order by email) from c)
(select email from c limit 1)::text = 'x'
exists (select 1 from jsonb_to_recordset(x) as i(sku text) where i.sku = 'A1')
email::bpchar = 'x' and email::name = 'x' and email::"char" = 'x'
id in (select a.id from c a join c b using (id))
(case when id = 1 then email else 'x' end)::text = 'a'
count(distinct email) > 3
""".strip().splitlines()
HANDED_ON = """
select id, email from c
select * from c
select id, lower(email) email, email as e, coalesce(email, '') as m, case when id = 1 then email end from c
select distinct email from c
select distinct on (email) id, email from c order by email
select email, count(*) n from c group by email
select email from c union select email from c order by email
with c as (select * from public.c) select id, email from c where email is not null
select array_agg(email order by email), count(distinct email), string_agg(email, ', ') from c
select id from (select id, row_number() over (partition by email order by id) rn from c) x where rn = 1
select (select email from c limit 1) as x
select id, (c).email from c
""".strip().splitlines()


@pytest.mark.parametrize("text", TAKEN_FOR_TEXT)
def test_value_of_a_type_with_its_own_operators_is_found_wherever_the_path_would_choose_one(text: str) -> None:
    assert find_compared_columns(text, "postgresql", ["email", "tags"])
    assert find_compared_columns(f"select id from c where {text}", "postgresql", ["email", "tags"])


@pytest.mark.parametrize("text", [*SAID_HOW, *(f"select id, email from c where {one}" for one in SAID_HOW), *HANDED_ON])
def test_value_of_such_a_type_that_is_cast_or_only_handed_on_is_left_alone(text: str) -> None:
    assert find_compared_columns(text, "postgresql", ["email", "tags"]) == ()


def test_casts_to_such_a_type_are_found_by_its_name() -> None:
    text = "a::public.citext = b::\"Pub\".x[] and c::text = 'x' and d operator(public.=) 'x'::public.other"

    assert set(cast_types(text, "postgresql")) == {"public.citext", '"Pub".x', "public.other"}
    assert find_compared_columns(text, "postgresql", [], ["public.citext", "public.other"]) == ("public.citext",)


@pytest.mark.parametrize(
    "text",
    [
        "a = 1",
        "status in ('NEW', 'PAID') and not (b is null)",
        "id % 7 = 1 or note like 'x%'",
        "t.a between -1 and 2",
        "a",
    ],
)
def test_condition_that_its_row_alone_decides_is_known_as_such(text: str) -> None:
    assert is_decided_by_row(text, "postgresql")


@pytest.mark.parametrize(
    "text",
    [
        "until > now()", "until > current_timestamp", "until > current_date", "until > 'today'", "at < 'NOW'::timestamp",
        "at < timestamp 'yesterday'", "id in (select id from active)", "exists (select 1)", "f(a)", "random() < 0.5",
        "a = current_user", "a = (select 1)", "a = any(array(select 1))", "a @> b", "((",
    ],
)  # fmt: skip
def test_condition_that_may_change_without_its_row_is_not_taken_for_one_that_the_row_decides(text: str) -> None:
    assert not is_decided_by_row(text, "postgresql")
