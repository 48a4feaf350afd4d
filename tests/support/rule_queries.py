"""Queries of rules: those that a rule may ask, and those that reach beyond its table. Columns: id, v, a, ts, amount."""

from __future__ import annotations

from typing import Any

NOT_NULL = "expect_column_values_to_not_be_null"
GETENV = "reflect('java.lang.System', 'getenv', 'CANARY_ENV')"

LEGAL = (
    "SELECT id FROM {batch} WHERE v = 'PAID' AND ts IS NULL;",
    (
        "WITH a AS (SELECT * FROM {batch}), u AS (SELECT 1 k) SELECT a.id, row_number() OVER w n, sum(id) OVER (PARTITION BY a.v"
        " ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM a JOIN (VALUES (1, 'a'), (2, upper('b'))) v(x, y)"
        " ON v.x = a.id LATERAL VIEW explode(array(1)) t AS y WINDOW w AS (PARTITION BY a.v ORDER BY a.id)"
    ),
    "SELECT id FROM {batch} WHERE id IN (SELECT row_number() OVER w FROM {batch} WINDOW w AS (ORDER BY id))",
    "SELECT a.id FROM {batch} a JOIN {batch} b ON a.v = b.v AND a.id < b.id",
    "SELECT * FROM {batch} NATURAL JOIN {batch}",
    "SELECT b.id, t.col1 FROM {batch} b JOIN (VALUES 1, 2) t ON true, range(3) r",
    "SELECT DISTINCT b.* FROM {batch} b LEFT ANTI JOIN (SELECT v FROM {batch} GROUP BY ALL) c USING (v) SORT BY id",
    "SELECT * FROM {batch} TABLESAMPLE (10 PERCENT)",
    "TABLE {batch}",
    "FROM {batch} SELECT id WHERE id > 1",
    (
        "SELECT /*+ BROADCAST(b), REPARTITION(3) */ v, count(*), max(id) FILTER (WHERE id > 1) FROM {batch} b GROUP BY v"
        " HAVING count(*) > 1 ORDER BY 1 LIMIT 10 OFFSET 2"
    ),
    "(SELECT id FROM {batch}) UNION ALL SELECT id FROM {batch} EXCEPT SELECT id FROM {batch} INTERSECT SELECT 1",
    "SELECT * FROM (SELECT id, v FROM {batch}) PIVOT (sum(id) FOR v IN ('a', 'b'))",
    "SELECT * FROM (SELECT id, id i2, v FROM {batch}) UNPIVOT INCLUDE NULLS ((val, w) FOR n IN ((id, i2) AS x))",
    "SELECT v, id, sum(id), grouping_id() FROM {batch} GROUP BY CUBE (v, id)",
    "SELECT v, id, sum(id) FROM {batch} GROUP BY GROUPING SETS ((v), (id))",
    "SELECT * FROM {batch} b, LATERAL (SELECT b.id + 1 x) l, LATERAL explode(a) q(z)",
    (
        "SELECT id FROM {batch} b WHERE EXISTS (WITH z AS (SELECT id FROM {batch}) SELECT 1 FROM z WHERE z.id = b.id)"
        " AND id IN (SELECT id FROM {batch}) AND id > (SELECT avg(id) FROM {batch}) AND (id, v) IN (SELECT id, v FROM {batch})"
    ),
    (
        "SELECT transform(a, (x, i) -> x + i) q, cast(id AS decimal(10, 2)) r, CASE WHEN id BETWEEN 1 AND 2 THEN 1 ELSE 2 END s,"
        " v LIKE 'a%' ESCAPE '/' t, v RLIKE 'x{1,2}$' u, v LIKE ANY ('a', 'b') w, v NOT LIKE ALL ('a', 'b')"
        " x FROM {batch} /* {} */"
    ),
    (
        "SELECT id FROM {batch} WHERE ts < now() - INTERVAL 2 HOURS OR datediff(current_date, ts) > 2"
        " OR ts > current_timestamp() + make_interval(1) OR timestampdiff(DAY, ts, now()) > 1 -- x"
    ),
    (
        "SELECT trim(BOTH 'x' FROM v), substring(v FROM 1 FOR 2), position('a' IN v), overlay(v PLACING 'x' FROM 1), struct(v).v,"
        " map('a', 1)['a'], try_cast(v AS int), first(v) OVER (ORDER BY id), lag(v, 1, 'x') IGNORE NULLS OVER (ORDER BY id),"
        " percentile_cont(0.5) WITHIN GROUP (ORDER BY id) OVER (PARTITION BY v) FROM {batch}"
    ),
    (
        "SELECT count(DISTINCT v), any_value(v), collect_set(v)[0], approx_percentile(id, array(0.5D), 100), mode(v),"
        " regexp_extract(max(v), '(a)', 1), from_json(max(v), 'a int').a, parse_url(max(v), 'HOST')"
        " FROM {batch}"
    ),
    "SELECT window.start, count(*) FROM {batch} GROUP BY window(ts, '1 hour')",
    "SELECT id, x FROM {batch} LATERAL VIEW OUTER posexplode(a) t AS p, x",
    "SELECT stack(2, id, 1L) AS x FROM {batch}",
    "SELECT nvl(v, '') AS user, 1 AS version, 'it''s ${5' AS price FROM {batch}",
    "SELECT id FROM {batch} WHERE rand() < 0.5",
)

# What the text alone shows: a config error with its line.
SEEN_AT_LOAD = (
    f"SELECT id FROM {{batch}} WHERE {GETENV} = 'x'",
    "SELECT id FROM {batch} WHERE `REFLECT` /**/ ('java.lang.System', 'getenv', 'CANARY_ENV') = 'x'",
    "SELECT id FROM {batch} WHERE java_method('java.lang.System', 'getenv', 'CANARY_ENV') = 'x'",
    "SELECT try_reflect('java.lang.System', 'getenv', 'CANARY_ENV') FROM {batch}",
    "SELECT b.id FROM {batch} b JOIN text.`SECRET_FILE` t ON t.value LIKE 'CANARY%'",
    "SELECT b.id FROM {batch} b JOIN parquet.`SECRET_FILE` t",
    "SELECT b.id FROM {batch} b JOIN other",
    "SELECT b.id FROM {batch} b JOIN spark_catalog.default.t",
    "SELECT b.id FROM {batch} b JOIN global_temp.t",
    "SELECT b.id FROM {batch} b JOIN tmp_view t",
    "SELECT b.id FROM {batch} b JOIN `_HR_batch` t",
    "SELECT /* {batch} */ * FROM other",
    "SELECT * FROM x{batch}",
    "SELECT * FROM text.`{batch}`",
    "WITH a AS (SELECT * FROM {batch}) SELECT * FROM a, default.a",
    f"WITH u AS (SELECT {GETENV}) SELECT id FROM {{batch}}",
    "WITH u AS (SELECT * FROM text.`SECRET_FILE`) SELECT * FROM u, {batch}",
    "SELECT id FROM {batch} WHERE EXISTS (WITH u AS (SELECT * FROM text.`SECRET_FILE`) SELECT * FROM u)",
    f"SELECT id FROM {{batch}} WHERE id IN (SELECT length({GETENV}) FROM {{batch}})",
    f"SELECT * FROM {{batch}} LATERAL VIEW explode(array({GETENV})) t AS x",
    "SELECT * FROM {batch} LATERAL VIEW reflect('a', 'b') t AS x",
    f"SELECT sum(id) OVER (PARTITION BY {GETENV}) FROM {{batch}}",
    f"SELECT sum(id) OVER w FROM {{batch}} WINDOW w AS (PARTITION BY {GETENV})",
    "SELECT sum(id) OVER w FROM {batch} WINDOW w AS (PARTITION BY (SELECT max(value) FROM text.`SECRET_FILE`))",
    f"SELECT id FROM {{batch}} WHERE id IN (SELECT max(id) OVER w FROM {{batch}} WINDOW w AS (PARTITION BY {GETENV}))",
    f"SELECT * FROM {{batch}} JOIN (VALUES ({GETENV})) t",
    f"SELECT * FROM {{batch}} LIMIT length({GETENV})",
    f"SELECT /*+ REPARTITION({GETENV}) */ * FROM {{batch}}",
    f"SELECT * FROM {{batch}}, range(length({GETENV}))",
    f"SELECT transform(a, x -> {GETENV}) FROM {{batch}}",
    f"SELECT max(id) FROM {{batch}} GROUP BY GROUPING SETS (({GETENV}))",
    f"SELECT max(id) FILTER (WHERE {GETENV} = 'a') FROM {{batch}} HAVING {GETENV} = 'a' ORDER BY {GETENV}",
    f"SELECT percentile(id, length({GETENV})) FROM {{batch}}",
    "SELECT * FROM {batch} a, LATERAL (SELECT * FROM text.`SECRET_FILE`) b",
    "SELECT * FROM hudi_query('SECRET_FILE', 'snapshot'), {batch}",
    "SELECT * FROM sql_keywords(), {batch}",
    "SELECT * FROM IDENTIFIER('oth' || 'er'), {batch}",
    "SELECT input_file_name(), input_file_block_start() FROM {batch}",
    "SELECT current_user FROM {batch}",
    "SELECT session_user() FROM {batch}",
    "SELECT current_catalog(), version() FROM {batch}",
    "SELECT xpath_string('<!DOCTYPE a SYSTEM \"file:///SECRET_FILE\"><a>&k;</a>', 'a') FROM {batch}",
    "SELECT raise_error(v) FROM {batch}",
    f"SELECT * FROM {{batch}} TIMESTAMP AS OF {GETENV}",
    "SELECT user() FROM {batch}",
)
# Of Great Expectations: its type, the arguments, and where they are refused.
LEGAL_EXPECTATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "unexpected_rows_expectation",
        {"unexpected_rows_query": "SELECT id FROM {batch} WHERE id > 9 AND v RLIKE 'x{{1}}'"},
    ),
    (NOT_NULL, {"column": "id", "condition_parser": "spark", "row_condition": "id > 1 AND v LIKE '%1'", "notes": "n"}),
    (
        NOT_NULL,
        {
            "column": "id",
            "condition_parser": "great_expectations",
            "row_condition": 'col("id") > 1',
            "meta": {"x": [1]},
        },
    ),
    (
        NOT_NULL,
        {
            "column": "id",
            "row_condition": {
                "type": "or",
                "conditions": [
                    {"type": "nullity", "column": {"name": "id"}, "is_null": False},
                    {"type": "comparison", "column": {"name": "v"}, "operator": "IN", "parameter": ["a'b", 'c"d']},
                ],
            },
        },
    ),
    (
        "expect_column_values_to_match_json_schema",
        {
            "column": "j",
            "json_schema": {
                "properties": {"id": {"type": "integer"}, "a": {"$ref": "#/definitions/x"}},
                "definitions": {"x": {"type": "integer"}},
            },
        },
    ),
    ("expect_multicolumn_values_to_be_equal", {"column_list": ["id", "id"]}),
    ("expect_column_values_to_be_between", {"column": "id", "min_value": 0, "max_value": {"$PARAMETER": "1 + 5"}}),
)
REFUSED_EXPECTATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(
        ("unexpected_rows_expectation", {"unexpected_rows_query": query})
        for query in (
            f"SELECT id FROM {{batch}} WHERE {GETENV} = 'x'",
            "SELECT id FROM {batch} JOIN text.`SECRET_FILE` t",
            "SELECT id FROM {batch} WHERE '{batch.__class__}' <> ''",
            "SELECT id FROM {batch} WHERE '{batch!r}' <> '{other}'",
            "SELECT id FROM {batch} WHERE '${{env:CANARY_ENV}}' = 'x'",
            "SELECT id FROM tmp_view2",
        )
    ),
    *(
        (NOT_NULL, {"column": "id", "condition_parser": "spark", "row_condition": condition})
        for condition in (
            f"{GETENV} = 'x'",
            f"1 = 1) AND ({GETENV} = 'x'",
            "id IN (SELECT length(value) FROM text.`SECRET_FILE`)",
            "'${env:CANARY_ENV}' = 'x'",
            {"type": "pass_through", "pass_through_filter": f"{GETENV} = 'x'"},
            {
                "type": "and",
                "conditions": [
                    {"type": "or", "conditions": [{"type": "pass_through", "pass_through_filter": f"{GETENV} = 'x'"}]}
                ],
            },
            {"type": "sql", "sql": f"{GETENV} = 'x'"},
            {"type": "comparison", "column": {"name": "id` = 1 OR `id"}, "operator": "==", "parameter": 1},
            {"type": "comparison", "column": {"name": "id"}, "operator": "==", "parameter": {"a": 1}},
        )
    ),
    ("expect_query_results_to_match_comparison", {"base_query": "a", "comparison_query": "b"}),
    ("expect_table_row_count_to_equal_other_table", {"other_table_name": "other"}),
    ("expect_column_values_to_match_json_schema", {"column": "j", "json_schema": {"$ref": "file:///SECRET_FILE"}}),
    (
        "expect_column_values_to_match_json_schema",
        {"column": "j", "json_schema": {"anyOf": [{"$dynamicRef": "http://h/x"}]}},
    ),
    (
        "expect_column_values_to_match_json_schema",
        {"column": "j", "json_schema": {"$id": "file:///etc/", "$ref": "#/x"}},
    ),
    (
        "expect_multicolumn_sum_to_equal",
        {"column_list": ["id", "id, 0) + reflect('a', 'b') + coalesce(id"], "sum_total": 1},
    ),
)

# A text that is no table and no function, but holds what Spark puts in for it.
VARIABLES = (
    "SELECT id FROM {batch} WHERE '${env:CANARY_ENV}' LIKE 'CANARY%'",
    "SELECT id FROM {batch} WHERE '${system:user.home}' LIKE '/%'",
    "SELECT id FROM {batch} WHERE '${spark.master}' LIKE 'local%'",
)
# What only Spark's own reading shows: the rule cannot run.
SEEN_BY_SPARK = (
    "SELECT id FROM {batch}) UNION ALL SELECT * FROM (SELECT id FROM {batch}",
    "SELECT id FROM {batch} WHERE canary_udf() = 'x'",
    "SELECT default.f(1), a.b.c.f(1) FROM {batch}",
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv', 'CANARY_ENV') FROM {batch}",
    "SELECT TRANSFORM(id) USING 'cat' AS (x string) FROM {batch}",
    "FROM {batch} INSERT OVERWRITE DIRECTORY 'gone' USING parquet SELECT *",
    "SELECT :x FROM {batch}",
)
