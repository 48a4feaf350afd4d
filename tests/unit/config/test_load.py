"""Every kind of config error: named on its line, with its key, and all of a file at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import load_config, parse_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.core.errors import ConfigError, UsageError
from hudi_reconcile.core.tables.values import PartitionField

CANARY = "hunter2-canary"

GOOD = """\
version: 1
source:
  url: postgresql+psycopg://reader@127.0.0.1:5432/shop
  password: ${env:SHOP_PASSWORD}
tables:
  - name: orders
    source: {table: public.orders, key: [order_id]}
    pull: {strategy: timestamp, watermark: [updated_at]}
    lake: {path: lake/orders}
"""


def load(text: str, env: dict[str, str] | None = None) -> Config:
    return parse_config(text, Place("reconcile.yaml", Path("/base")), env or {}, read_text_file).config


def problems(text: str, env: dict[str, str] | None = None) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(text, env)
    return caught.value.problems


def with_line(number: int, line: str) -> str:
    """The good config with one line replaced."""
    lines = GOOD.splitlines()
    lines[number - 1] = line
    return "\n".join(lines) + "\n"


def with_more(text: str) -> str:
    """The good config with lines added to its table; the first is line 10."""
    return GOOD + text


def test_config_with_the_least_keys_has_the_defaults_of_the_contract() -> None:
    table = load(GOOD).tables[0]

    dump = load(GOOD).model_dump(mode="json")

    assert dump["source"] | {"url": "", "password": ""} == {
        "url": "",
        "password": "",
        "driver": None,
        "jdbc": {},
        "trust_properties": False,
        "insecure": False,
        "time_zone": "UTC",
        "max_connections": 4,
        "statement_timeout": "5m",
    }
    assert dump["spark"] == {"master": "local[*]", "conf": {}}
    assert dump["jars"] == {"mode": "auto", "paths": [], "executor_folder": None}
    assert (dump["run"], dump["tables"][0]["time_limit"]) == ({"time_limit": None, "retries": 2}, None)
    assert dump["tables"][0]["policy"] == {
        "max_deletes": 1000,
        "max_delete_share": "5%",
        "max_upsert_share": "20%",
        "max_plan_age": "1d",
        "quarantine": False,
        "savepoint": "deletes",
        "require_approval": False,
        "approver": "other",
    }
    assert dump["tables"][0]["sweep"] == {
        "mode": "auto",
        "segments": "auto",
        "settle": "0s",
        "settle_limit": "1m",
        "rotation": 7,
        "proof": "auto",
        "max_duty": "100%",
        "pause": None,
        "snapshot": "none",
    }
    assert dump["tables"][0]["compare"] == {"exclude": [], "rename": {}, "tolerance": {}}
    assert (table.lake.type, table.lake.partition_by, table.lake.options, table.lake.cdc) == (
        "copy_on_write",
        (),
        {},
        False,
    )
    assert (table.pull.limit, table.pull.on_error, table.mask, table.rules) == (None, "fail", {}, None)


@pytest.mark.parametrize(
    ("pull", "strategy"),
    [
        ("{}", "full"),
        ("{watermark: [a]}", "timestamp"),
        ("{incrementing: b}", "incrementing"),
        ("{watermark: [a], incrementing: b}", "timestamp+incrementing"),
        ("{watermark: [a], strategy: full}", "full"),
        ("{strategy: xmin, limit: 10}", "xmin"),
    ],
)
def test_strategy_left_out_is_what_the_columns_allow(pull: str, strategy: str) -> None:
    assert load(with_line(8, f"    pull: {pull}")).tables[0].pull.strategy == strategy


def test_relative_paths_start_at_the_config_and_paths_with_a_scheme_stay() -> None:
    config = load(with_line(9, "    lake: {path: s3a://bucket/orders}\n    rules: rules/orders.yaml") + "\n")

    assert config.reports == Path("/base/reports")
    assert config.tables[0].rules == Path("/base/rules/orders.yaml")
    assert config.tables[0].lake.path == "s3a://bucket/orders"
    assert load(GOOD).tables[0].lake.path == "/base/lake/orders"


def test_partition_entries_become_fields_with_the_lakes_column_names() -> None:
    lake = load(with_line(9, "    lake: {path: x, partition_by: [region, month(created_at)]}")).tables[0].lake

    assert lake.partition_by == (PartitionField("region"), PartitionField("created_at", "month"))
    assert [field.lake_name for field in lake.partition_by] == ["region", "created_at_month"]


def test_options_take_plain_yaml_values_as_the_text_that_spark_expects() -> None:
    spark = "spark: {conf: {spark.a: true, spark.b: 4, spark.c: 0.5, spark.d: x}}"

    assert load(with_line(1, f"version: 1\n{spark}")).spark.conf == {
        "spark.a": "true",
        "spark.b": "4",
        "spark.c": "0.5",
        "spark.d": "x",
    }


WRONG = [
    (2, "sorce:", 2, "sorce: unknown key; did you mean 'source'?"),
    (3, "  url: nowhere", 3, "source.url: not a database URL"),
    (3, f"  url: postgresql://u:{CANARY}@h/d", 3, "source.url: holds a password"),
    (3, f"  url: jdbc:postgresql://h/d?user=u&password={CANARY}", 3, "source.url: holds a password"),
    (3, f"  url: jdbc:postgresql://h/d?user=u&pass%77ord={CANARY}", 3, "source.url: holds a password"),
    (3, f"  url: jdbc:sqlserver://h;user=u;Password={CANARY}", 3, "source.url: holds a password"),
    (3, f"  url: jdbc:oracle:thin:u/{CANARY}@//h:1521/d", 3, "source.url: holds a password"),
    (3, f"  url: jdbc:tibero:thin:u/{CANARY}@h:8629:d", 3, "source.url: holds a password"),
    (3, f"  url: jdbc:teradata://h/USER=u,PASSWORD={CANARY}", 3, "source.url: holds a password"),
    (3, f"  url: jdbc:db2://h:50000/d:password={CANARY};", 3, "source.url: holds a password"),
    (4, "  password: 12345", 4, "source.password: expected text"),
    (4, "  pasword: x", 4, "source.pasword: unknown key; did you mean 'password'?"),
    (4, "  max_connections: 0", 4, "source.max_connections: must be greater than or equal to 1, found 0"),
    (4, "  max_connections: true", 4, "source.max_connections: expected a whole number, found true"),
    (4, "  max_connections: 1.0", 4, "source.max_connections:"),
    (4, "  max_connections: '4'", 4, "source.max_connections: expected a whole number, found '4'"),
    (4, "  statement_timeout: 5 min", 4, "source.statement_timeout: not a duration"),
    (4, "  statement_timeout: 0s", 4, "source.statement_timeout: must be longer than 0s"),
    (4, "  statement_timeout: 300", 4, "source.statement_timeout: not a duration"),
    (9, "    lake: {path: lake/orders}\n    time_limit: 0s", 10, "tables[0].time_limit: must be longer than 0s"),
    (9, "    lake: {path: lake/orders}\n    time_limit: soon", 10, "tables[0].time_limit: not a duration"),
    (9, "    lake: {path: lake/orders}\nrun: {time_limit: 0ms}", 10, "run.time_limit: must be longer than 0s"),
    (9, "    lake: {path: lake/orders}\nrun: {limit: 2h}", 10, "run.limit: unknown key"),
    (4, "  time_zone: Europe/Wien", 4, "source.time_zone: not a time zone"),
    (4, f"  jdbc: {{Password: {CANARY}}}", 4, "source.jdbc.Password: use `source.password`"),
    (4, "  jdbc: {dbTable: x}", 4, "source.jdbc.dbTable: is set by the tool"),
    (5, "spark: {conf: {master: x}}\ntables:", 5, "spark.conf.master: must start with `spark.`"),
    (5, "spark: {conf: {spark.master: x}}\ntables:", 5, "spark.conf.spark.master: use"),
    (5, "jars: {executor_folder: /j}\ntables:", 5, "jars.executor_folder: says nothing without a cluster"),
    (5, "spark: {master: 'local[2]'}\njars: {executor_folder: /j}\ntables:", 6, "jars.executor_folder: says nothing"),
    (5, "spark: {master: null}\njars: {executor_folder: /j}\ntables:", 6, "jars.executor_folder: says nothing"),
    (
        5,
        "spark: {master: yarn}\njars: {executor_folder: jars}\ntables:",
        6,
        "jars.executor_folder: must be a whole path",
    ),
    (5, "spark: {master: yarn}\njars: {executor_folder: '/a:/b'}\ntables:", 6, "jars.executor_folder: must be a whole"),
    (5, "spark:\ntables:", 5, "spark: expected a mapping (key: value), found nothing"),
    (5, "jars: {mode: paths}\ntables:", 5, "jars.mode: paths needs"),
    (
        5,
        "jars: {mode: atuo}\ntables:",
        5,
        "jars.mode: expected auto | packages | paths, found 'atuo'; did you mean 'auto'?",
    ),
    (5, "reports: ~/x\ntables:", 5, "reports: ~ is not expanded"),
    (6, "  - name: ../orders", 6, "tables[0].name: must work as a folder name"),
    (6, "  - name: orders.", 6, "tables[0].name: must work as a folder name"),
    (6, "  - name: Result.json", 6, "tables[0].name: is the name of a file"),
    (6, "  - nmae: orders", 6, "tables[0].nmae: unknown key; did you mean 'name'?"),
    (7, "    source: {}", 7, "tables[0].source: needs exactly one of `table` and `query`"),
    (7, "    source: {table: a, query: b, key: [k]}", 7, "tables[0].source: needs exactly one"),
    (7, "    source: {query: SELECT 1, key: [k]}", 7, "tables[0].source.query: is read in full only"),
    (7, "    source: {query: SELECT 1}", 7, "tables[0].source.query: has no primary key"),
    (7, "    source: {table: a, key: []}", 7, "tables[0].source.key: must have at least one entry"),
    (7, "    source: {table: a, key: [k, k]}", 7, "tables[0].source.key: holds an entry twice"),
    (7, "    source: {table: a, key: k}", 7, "tables[0].source.key: expected a list, such as [a, b], found 'k'"),
    (7, "    source: {table: a, key: [1]}", 7, "tables[0].source.key[0]: expected text; put it in quotes, found 1"),
    (7, "    source: {table: a, key: [k], columns: [b]}", 7, "tables[0].source.columns: leaves out `k`, a key column"),
    (7, "    source: {table: ' '}", 7, "tables[0].source.table: must not be empty"),
    (8, "    pull: {strategy: timestamp}", 8, "tables[0].pull.strategy: timestamp needs `watermark`"),
    (8, "    pull: {strategy: incrementing}", 8, "tables[0].pull.strategy: incrementing needs `incrementing`"),
    (8, "    pull: {strategy: xmin, watermark: [a]}", 8, "tables[0].pull.watermark: says nothing beside strategy xmin"),
    (8, "    pull: {watermark: [at], stop_after: 1h}", 8, "tables[0].pull.stop_after: needs `limit`"),
    (8, "    pull: {watermark: [at], most_pages: 2}", 8, "tables[0].pull.most_pages: needs `limit`"),
    (8, "    pull: {strategy: xmin, overlap: 1s}", 8, "tables[0].pull.overlap: says nothing beside strategy xmin"),
    (8, "    pull: {strategy: timestmp, watermark: [a]}", 8, "did you mean 'timestamp'?"),
    (8, "    pull: {limit: 0}", 8, "tables[0].pull.limit: must be greater than or equal to 1"),
    (9, "    lake: {}", 9, "tables[0].lake.path: is missing"),
    (9, "    lake: {path: x, cdc: yes}", 9, "tables[0].lake.cdc: expected true or false, found 'yes'"),
    (9, "    lake: {path: x, partition_by: [week(a)]}", 9, "tables[0].lake.partition_by[0]: unknown transform; legal:"),
    (9, "    lake: {path: x, partition_by: [day(a), A_DAY]}", 9, "tables[0].lake.partition_by: holds a column twice"),
    (4, "  pasword: ${file:nowhere}", 4, "source.pasword: unknown key; did you mean 'password'?"),
    (9, "    lake: {path: x, options: {hoodie.index.type: BLOOM}}", 9, "hoodie.index.type: is set by the tool itself"),
    (9, "    lake: {path: x, index: bucket}", 9, "tables[0].lake.index: "),
    (
        9,
        "    lake: {path: x, index: bloom, partition_by: [a]}",
        9,
        "tables[0].lake.index: bloom finds rows in their own",
    ),
    (9, "    lake: {path: x, options: {cleaner: x}}", 9, "tables[0].lake.options.cleaner: must start with `hoodie.`"),
]


@pytest.mark.parametrize(("number", "line", "at", "message"), WRONG)
def test_wrong_line_is_named_with_its_number_its_key_and_no_secret(
    number: int, line: str, at: int, message: str
) -> None:
    found = problems(with_line(number, line))

    assert any(problem.startswith(f"reconcile.yaml:{at}: ") and message in problem for problem in found)
    assert CANARY not in "\n".join(found)


def test_columns_named_like_personal_data_make_no_config_fail_wherever_they_stand() -> None:
    text = with_line(7, "    source: {table: t, key: [email]}").replace("watermark: [updated_at]", "watermark: [birth]")
    text = text.replace("lake: {path: lake/orders}", "lake: {path: lake/orders, partition_by: [name]}")

    table = load(text + "    mask: {EMAIL: show, birth: show, name: show}\n    personal: hmac\n").tables[0]

    assert (load(text).tables[0].personal, table.personal) == ("redact", "hmac")
    assert dict(table.mask) == {"EMAIL": "show", "birth": "show", "name": "show"}


def test_mask_on_a_partition_column_is_refused_since_paths_would_show_it() -> None:
    partitions = "[region, day(Born), year(hired)]"
    masks = "{born: redact, Region: hmac, note: redact, hired: redact}"
    lake = f"    lake: {{path: x, partition_by: {partitions}}}\n    mask: {masks}"

    found = [problem for problem in problems(with_line(9, lake)) if "partition column" in problem]

    assert [problem.split(": ")[1] for problem in found] == ["tables[0].mask.born", "tables[0].mask.Region"]


WRONG_MORE = [
    ("    mask: {order_id: hmac}", "tables[0].mask.order_id: is a key column"),
    ("    mask: {Updated_At: redact}", "tables[0].mask.Updated_At: is a watermark column"),
    ("    mask: {email: sha}", "tables[0].mask.email: expected hmac | redact | show, found 'sha'"),
    ("    mask: {email: redact, EMAIL: show}", "tables[0].mask.EMAIL: is email once more"),
    ("    quarantine: {}", "tables[0].quarantine: unknown key (legal: name, source"),
    ("    rules: 3", "tables[0].rules: expected text"),
    ("    compare: {exclude: [order_id]}", "tables[0].compare.exclude[0]: is a key column"),
    ("    compare: {rename: {a: _hoodie_x}}", "tables[0].compare.rename.a: is a name that the tool or Hudi keeps"),
    ("    compare: {rename: {a: _hr_read_seq}}", "tables[0].compare.rename.a: is a name that the tool or Hudi keeps"),
    ("    compare: {rename: {a: x, b: X}}", "tables[0].compare.rename.b: is the lake name of another column"),
    ("    compare: {tolerance: {a: -1}}", "tables[0].compare.tolerance.a: must be a number from 0 up"),
    (
        "    compare: {tolerance: {order_id: 1}}",
        "tables[0].compare.tolerance.order_id: is a key column; it is compared",
    ),
    ("    compare: {tolerance: {UPDATED_AT: 1}}", "tables[0].compare.tolerance.UPDATED_AT: is a watermark column"),
    ("    compare: {tolerance: {a: 1}, exclude: [a]}", "tables[0].compare.tolerance.a: is left out by `exclude`"),
    ("    compare: {tolerance: {a: .inf}}", "tables[0].compare.tolerance.a: must be a"),
    ("    compare: {tolerance: {a: x}}", "tables[0].compare.tolerance.a: must be a number from 0 up"),
    ("    sweep: {segments: 0}", "tables[0].sweep.segments: must be auto or a whole number from 1 up, found 0"),
    ("    sweep: {settle: -1s}", "tables[0].sweep.settle: not a duration"),
    ("    policy: {max_delete_share: 5}", "tables[0].policy.max_delete_share: not a share"),
    ("    policy: {max_upsert_share: 101%}", "tables[0].policy.max_upsert_share: more than 100%"),
    ("    policy: {max_deletes: -1}", "tables[0].policy.max_deletes: must be greater than or equal to 0"),
    ("    policy: {quarantine: true}", "tables[0].policy.quarantine: holds nothing back: name the rules file under"),
    ("    lake: {path: y}", "tables[0].lake: is given twice, first on line 9"),
    ("  - {name: ORDERS, source: {table: a}, lake: {path: y}}", "tables[1].name: is the name of another table"),
    ("  - {name: b, source: {table: a}, lake: {path: ./lake/orders/}}", "tables[1].lake.path: is, or lies inside"),
    ("  - {name: b, source: {table: a}, lake: {path: 'file:///base/lake/orders/x'}}", "tables[1].lake.path: is, or"),
    ("  - {name: b, source: {table: a}, lake: {path: lake}}", "tables[1].lake.path: is, or lies inside or around"),
    ("  - orders", "tables[1]: expected a mapping (key: value), found text"),
]


@pytest.mark.parametrize(("line", "message"), WRONG_MORE)
def test_wrong_addition_to_the_tables_is_named_on_its_line(line: str, message: str) -> None:
    assert any(problem.startswith(f"reconcile.yaml:10: {message}") for problem in problems(with_more(line)))


@pytest.mark.parametrize(
    ("output", "place"),
    [
        ("{junit: reports/audit.jsonl}", "junit"),
        ("{prometheus: ./reports/../reports}", "prometheus"),
        ("{ndjson: /base/reports/20261121T132616Z-400a1c/runs.ndjson}", "ndjson"),
        ("{openlineage: {namespace: n, file: reports/.tmp-1/lineage.ndjson}}", "openlineage.file"),
    ],
)
def test_output_among_the_files_of_the_runs_is_refused_on_its_line(output: str, place: str) -> None:
    text = GOOD.rstrip() + f"\noutputs: {output}\n"

    (problem,) = problems(text)

    assert problem.startswith(f"reconcile.yaml:{len(text.splitlines())}: outputs.{place}: lies among the runs")


def test_output_beside_the_runs_is_legal_in_their_folder_too() -> None:
    outputs = load(GOOD.rstrip() + "\noutputs: {junit: reports/junit.xml, ndjson: out/reports/audit.ndjson}\n").outputs

    assert (outputs.junit, outputs.ndjson) == (Path("/base/reports/junit.xml"), Path("/base/out/reports/audit.ndjson"))


def test_lake_paths_that_only_begin_alike_are_legal() -> None:
    more = "  - {name: b, source: {table: a}, lake: {path: lake/orders2}}"

    assert [table.name for table in load(with_more(more)).tables] == ["orders", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "reconcile.yaml:1: is empty"),
        ("# nothing\n", "reconcile.yaml:1: is empty"),
        ("- 1\n", "reconcile.yaml:1: expected a mapping that starts with `version: 1`"),
        ("version: 2\nfoo: 1\n", "reconcile.yaml:1: version: this release knows version 1 only"),
        ("version: true\n", "reconcile.yaml:1: version: this release knows version 1 only"),
        ("a: 1\nb: c: d\n", "reconcile.yaml:2: is not YAML: mapping values are not allowed here"),
        ("version: 1\nx: \x07\n", "reconcile.yaml:1: is not YAML"),
        ("version: 1\n---\nversion: 1\n", "reconcile.yaml:2: another document starts here"),
        ("version: 1\nsource: &a {}\n", "reconcile.yaml:2: anchors and aliases"),
        ("version: 1\nsource: *hunter2-canary\n", "reconcile.yaml:2: anchors and aliases"),
        ("version: 1\nsource: !hunter2-canary x\n", "reconcile.yaml:2: tags (!) are not allowed"),
        ("version: 1\nsource: !!python/object:os.system x\n", "reconcile.yaml:2: tags (!) are not allowed"),
        ("version: 1\nx: " + "[" * 2000 + "]" * 2000, "reconcile.yaml:2: is nested deeper than 20 levels"),
        ("#" * 1_100_000, "reconcile.yaml:1: is larger than 1 MiB"),
    ],
)
def test_text_that_is_no_config_is_refused_with_one_message(text: str, expected: str) -> None:
    found = problems(text)

    assert len(found) == 1
    assert found[0].startswith(expected)
    assert CANARY not in found[0]


def test_missing_sections_are_all_named_at_once() -> None:
    assert [problem.split(" ", 1)[1] for problem in problems("spark: {}\n")] == [
        "version: is missing; start the file with `version: 1`",
        "source: is missing",
        "tables: is missing",
    ]


def test_problems_of_all_sections_and_between_keys_come_at_once_in_the_order_of_lines() -> None:
    text = (
        with_line(3, "  url: x").replace("strategy: timestamp", "strategy: incrementing") + "    mask: {order_id: x}\n"
    )

    found = problems(text)

    assert [problem.split(": ")[0] for problem in found] == [f"reconcile.yaml:{line}" for line in (3, 8, 10, 10)]


IDLE = [
    ("timestamp", "watermark: [at], incrementing: id", "incrementing"),
    ("timestamp+incrementing", "watermark: [at], incrementing: id, overlap: 1m", None),
    ("timestamp", "watermark: [at], overlap: 1m", None),
    ("incrementing", "watermark: [at], incrementing: id", "watermark"),
    ("incrementing", "incrementing: id, overlap: 1m", "overlap"),
    ("incrementing", "incrementing: id, overlap: 0s", None),
    ("full", "overlap: 1m", "overlap"),
    ("full", "incrementing: id", "incrementing"),
    ("full", "watermark: [at], overlap: 0s, limit: 5", None),
    ("xmin", "overlap: 1m", "overlap"),
]


@pytest.mark.parametrize(("strategy", "keys", "idle"), IDLE)
def test_key_that_the_strategy_does_not_look_at_is_an_error_at_its_place(
    strategy: str, keys: str, idle: str | None
) -> None:
    text = MINIMAL.format(pull=f"pull: {{strategy: {strategy}, {keys}}}")

    if idle is None:
        assert load(text).tables[0].pull.strategy == strategy
    else:
        (problem,) = problems(text)
        assert f"tables[0].pull.{idle}: says nothing beside strategy {strategy}, which" in problem


ALONE = [
    ("pull: {overlap: 1m}", "pull.overlap", "strategy full, which reads every row; remove it, or name `pull.watermark`"),
    ("pull: {incrementing: id, overlap: 1m}", "pull.overlap", "strategy incrementing, which goes by a number"),
    ("pull: {watermark_text: true}", "pull.watermark_text", "`pull.watermark`; remove it, or name the text column"),
    ("pull: {strategy: xmin, watermark_text: true}", "pull.watermark_text", "beside strategy xmin, which goes by"),
    ("lake: {path: lake, cdc_logging: data_before}", "lake.cdc_logging", "`lake.cdc`; remove it, or add `cdc: true`"),
    (
        "policy: {approver: any}",
        "policy.approver",
        "`policy.require_approval`; remove it, or add `require_approval: true`",
    ),
    ("compare: {tolerance: {price: 1}}", "compare.tolerance.price", "`source.columns` leaves out; remove it, or add"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "key", "said"), ALONE)
def test_key_that_says_nothing_without_another_is_an_error_that_names_both(given: str, key: str, said: str) -> None:
    text = MINIMAL.format(pull=given)
    if given.startswith("lake"):
        text = text.replace(", lake: {path: lake}", "", 1)

    (problem,) = problems(text)

    assert f"tables[0].{key}: " in problem
    assert said in problem


@pytest.mark.parametrize(
    "given",
    [
        "pull: {watermark: [at], overlap: 1m, watermark_text: true}",
        "pull: {strategy: full, watermark: [at], watermark_text: true}",
        "pull: {overlap: 0s, watermark_text: false, strategy: full, on_error: full}",
        "policy: {approver: any, require_approval: true}",
        "policy: {approver: other}",
        "compare: {tolerance: {AMOUNT: 1}, exclude: [gone], rename: {gone: c7}}",
    ],
)
def test_key_that_says_something_or_only_its_default_is_legal(given: str) -> None:
    assert load(MINIMAL.format(pull=given)).tables[0].name == "orders"


MINIMAL = """\
version: 1
source: {{url: "postgresql+psycopg://reader@127.0.0.1/shop"}}
tables:
  - {{name: orders, source: {{table: orders, key: [id], columns: [id, at, amount]}}, {pull}, lake: {{path: lake}}}}
"""


def test_mask_on_a_column_that_source_columns_does_not_carry_is_an_error() -> None:
    wrong = MINIMAL.format(pull="mask: {emial: hmac}")
    (problem,) = problems(wrong)

    assert "tables[0].mask.emial: is none of the columns that `source.columns` carries" in problem
    assert load(MINIMAL.format(pull="mask: {AMOUNT: hmac}")).tables[0].mask == {"AMOUNT": "hmac"}
    assert load(wrong.replace(", columns: [id, at, amount]", "")).tables[0].source.columns is None


def test_alias_bomb_is_refused_before_it_is_built() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [{f'*{a}, ' * 9}*{a}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )

    assert all("anchors and aliases" in problem for problem in problems("version: 1\n" + bomb))


def test_references_are_filled_in_for_any_text() -> None:
    text = with_line(3, "  url: postgresql://reader@${env:HOST}:${env:PORT:-5432}/$${x}")

    assert load(text, {"HOST": "db"}).source.url == "postgresql://reader@db:5432/${x}"


def test_password_that_arrives_through_a_reference_into_the_url_is_refused_without_being_shown() -> None:
    found = problems(with_line(3, "  url: postgresql://reader:${env:PW}@h/d"), {"PW": CANARY})

    assert found[0].startswith("reconcile.yaml:3: source.url: holds a password")
    assert CANARY not in found[0]


@pytest.mark.parametrize(
    "line", ["  statement_timeout: ${env:PW}", "  max_connections: ${env:PW}", "  time_zone: ${env:PW}"]
)
def test_value_from_a_reference_is_never_part_of_a_message(line: str) -> None:
    assert CANARY not in "\n".join(problems(with_line(4, line), {"PW": CANARY}))


@pytest.mark.parametrize("key", ["statement_timeout", "max_connections", "time_zone"])
def test_default_of_a_reference_is_never_part_of_a_message(key: str) -> None:
    found = problems(with_line(4, f"  {key}: ${{env:NOT_SET:-{CANARY}}}"))

    assert found[0].startswith(f"reconcile.yaml:4: source.{key}: ")
    assert CANARY not in "\n".join(found)


def test_missing_variable_is_the_only_problem_of_its_key() -> None:
    assert problems(with_line(4, "  statement_timeout: ${env:NOT_SET}")) == (
        "reconcile.yaml:4: source.statement_timeout: environment variable NOT_SET is not set, or empty",
    )


@pytest.mark.parametrize("version", [True, 1.0, "1", 2, None])
def test_model_itself_takes_the_number_1_as_version_and_nothing_equal_to_it(version: object) -> None:
    source = {"url": "postgresql://h/d"}
    tables = [{"name": "a", "source": {"table": "a"}, "lake": {"path": "a"}}]

    assert Config.model_validate({"version": 1, "source": source, "tables": tables}).version == 1
    with pytest.raises(ValidationError):
        Config.model_validate({"version": version, "source": source, "tables": tables})


def test_missing_variable_of_a_plain_key_is_named_once_with_key_and_line() -> None:
    assert problems(with_line(5, "reports: ${env:REPORTS}/x\ntables:")) == (
        "reconcile.yaml:5: reports: environment variable REPORTS is not set, or empty",
    )


def test_unknown_kind_of_reference_is_refused_with_the_legal_ones() -> None:
    found = problems(with_line(4, f"  password: ${{vault:{CANARY}}}"))

    assert found[0].startswith("reconcile.yaml:4: source.password: not a reference that is known; legal: ${env:NAME}")
    assert CANARY not in found[0]


def test_password_waits_until_it_is_needed() -> None:
    password = load(GOOD).source.password

    assert password is not None
    with pytest.raises(
        ConfigError, match=r"reconcile.yaml: source.password: environment variable SHOP_PASSWORD is not set"
    ):
        password.reveal({}, read_text_file)
    assert password.reveal({"SHOP_PASSWORD": CANARY}, read_text_file) == CANARY


def test_secret_is_in_no_repr_dump_or_text_of_the_config() -> None:
    config = load(with_line(4, f"  password: {CANARY}"))

    assert config.source.password is not None
    assert config.source.password.reveal({}, read_text_file) == CANARY
    for text in (
        repr(config),
        str(config),
        config.model_dump_json(),
        str(config.model_dump()),
        f"{config.source.password}",
    ):
        assert CANARY not in text
        assert "***" in text


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_file_that_cannot_be_read_is_a_config_error_with_its_path(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "reconcile.yaml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError, match=str(path)):
        load_config(path, {})


def test_folder_in_place_of_a_config_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path, {})


def test_select_without_names_gives_every_table_and_with_names_the_configs_order() -> None:
    config = load(with_more("  - {name: b, source: {table: b}, lake: {path: lake/b}}"))

    assert [table.name for table in config.select([])] == ["orders", "b"]
    assert [table.name for table in config.select(["b", "orders", "b"])] == ["orders", "b"]


def test_unknown_table_is_a_usage_error_with_the_nearest_and_the_legal_names() -> None:
    with pytest.raises(UsageError, match="did you mean 'orders'") as caught:
        load(GOOD).table("order")

    assert caught.value.fix == "legal after -t: orders"
