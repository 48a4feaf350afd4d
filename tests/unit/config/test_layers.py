"""`defaults`, `include`, `profiles` and `--set`: what comes out of them, and each problem at the place where it was written."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from hudi_reconcile.config.load import Loaded, load_with_references
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.overlay import Overlay
from hudi_reconcile.config.show import shown_tree, write_yaml
from hudi_reconcile.config.trust import sentences
from hudi_reconcile.core.errors import ConfigError, UsageError

CANARY = "hunter2-canary"
SECONDS = 20
HEAD = """\
version: 1
source: {url: "postgresql+psycopg://reader@127.0.0.1:5432/shop", password: "${env:PW}"}
"""
TABLES = """\
tables:
  - {name: orders, source: {table: orders}, lake: {path: lake/orders}}
  - {name: users, source: {table: users}, lake: {path: lake/users}, sweep: {settle: 1s}}
"""
PROFILES = """\
profiles:
  prod:
    source: {url: "postgresql+psycopg://reader@${env:PROD_HOST}/shop?sslmode=verify-full", max_connections: 8}
    reports: /var/reports
    defaults: {sweep: {settle: 9s}}
    tables:
      - {name: users, source: {where: "id > 7"}, lake: {type: merge_on_read}, tags: [big]}
  dev: {reports: {mode: "0750"}}
"""


class Files:
    """A folder with a config and what it includes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.folder / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def loaded(
        self, text: str, *assignments: str, profile: str | None = None, env: dict[str, str] | None = None
    ) -> Loaded:
        self.write(reconcile=text)
        overlay = Overlay.of(profile, assignments)
        return load_with_references(self.folder / "reconcile.yaml", env or {}, overlay=overlay)

    def load(
        self, text: str, *assignments: str, profile: str | None = None, env: dict[str, str] | None = None
    ) -> Config:
        return self.loaded(text, *assignments, profile=profile, env=env).config

    def problems(self, text: str, *assignments: str, profile: str | None = None) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            self.load(text, *assignments, profile=profile, env={"PROD_HOST": "db"})
        return [one.replace(f"{self.folder}/", "") for one in caught.value.problems]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_table_inherits_what_it_does_not_say_itself(files: Files) -> None:
    defaults = """\
defaults:
  sweep: {settle: 5s, mode: stream}
  policy: {max_deletes: 7}
  lake: {type: merge_on_read, options: {hoodie.a: 1, hoodie.b: 2}}
  mask: {email: hmac}
  tags: [night]
"""
    tables = TABLES.replace("lake/users}", "lake/users, options: {hoodie.b: 3}}, mask: {phone: redact}, tags: [day]")

    orders, users = files.load(HEAD + defaults + tables).tables

    assert (orders.sweep.settle.seconds, orders.sweep.mode, users.sweep.settle.seconds) == (5, "stream", 1)
    assert (users.sweep.mode, users.policy.max_deletes, orders.policy.max_deletes) == ("stream", 7, 7)
    assert (orders.lake.type, orders.lake.path) == ("merge_on_read", str(files.folder / "lake/orders"))
    assert users.lake.options == {"hoodie.a": "1", "hoodie.b": "3"}
    assert users.mask == {"email": "hmac", "phone": "redact"}
    assert (orders.tags, users.tags) == (("night",), ("day",))


def test_default_that_says_nothing_in_a_table_is_not_inherited_by_it_and_an_own_key_is_refused(files: Files) -> None:
    defaults = """\
defaults:
  pull: {overlap: 10m, watermark_text: true}
  lake: {cdc_logging: op_key_only}
  policy: {approver: any}
  compare: {tolerance: {amount: 1}}
"""
    tables = """\
tables:
  - {name: whole, source: {table: w, key: [id], columns: [id]}, lake: {path: lake/w}}
  - name: moving
    source: {table: m}
    pull: {watermark: [at]}
    lake: {path: lake/m, cdc: true}
    policy: {require_approval: true}
"""

    whole, moving = files.load(HEAD + defaults + tables).tables
    (refused,) = files.problems(HEAD + defaults + tables.replace("path: lake/w}", "path: lake/w}, pull: {overlap: 5m}"))

    assert (whole.pull.strategy, whole.pull.overlap, whole.pull.watermark_text) == ("full", timedelta(0), False)
    assert (whole.lake.cdc_logging, whole.policy.approver, whole.compare.tolerance) == (
        "data_before_after",
        "other",
        {},
    )
    assert (moving.pull.overlap, moving.pull.watermark_text) == (timedelta(minutes=10), True)
    assert (moving.lake.cdc_logging, moving.policy.approver) == ("op_key_only", "any")
    assert dict(moving.compare.tolerance) == {"amount": 1}
    assert "tables[0].pull.overlap: says nothing beside strategy full" in refused


def test_default_tolerance_of_a_column_that_a_reference_names_is_inherited(files: Files) -> None:
    tables = 'tables: [{name: a, source: {table: a, key: [id], columns: [id, "${env:SUM}"]}, lake: {path: lake/a}}]\n'

    config = files.load(HEAD + "defaults: {compare: {tolerance: {amount: 1}}}\n" + tables, env={"SUM": "amount"})

    assert dict(config.tables[0].compare.tolerance) == {"amount": 1}


def test_wrong_default_is_told_once_on_its_own_line(files: Files) -> None:
    defaults = """\
defaults:
  name: all
  lake: {path: lake}
  sweep: {setle: 5s}
  policy: {max_deletes: many}
"""

    found = files.problems(HEAD + defaults + TABLES)

    assert [one.partition(" (")[0] for one in found] == [
        "reconcile.yaml:4: defaults.name: unknown key",
        "reconcile.yaml:5: defaults.lake.path: unknown key",
        "reconcile.yaml:6: defaults.sweep.setle: unknown key; did you mean 'settle'?",
        "reconcile.yaml:7: defaults.policy.max_deletes: expected a whole number, found 'many'",
    ]


def test_name_and_lake_path_of_the_defaults_are_inherited_by_no_table(files: Files) -> None:
    tables = "tables:\n  - {source: {table: t}}\n"

    found = files.problems(HEAD + "defaults: {name: all, lake: {path: lake}}\n" + tables)

    assert [one.partition(" (")[0] for one in found][2:] == [
        "reconcile.yaml:5: tables[0].lake.path: is missing",
        "reconcile.yaml:5: tables[0].name: is missing",
    ]


def test_key_that_the_file_lacks_is_missing_there_and_not_in_the_profile(files: Files) -> None:
    text = "version: 1\nsource: {password: x}\n" + TABLES + "profiles: {p: {source: {max_connections: 3}}}\n"

    assert files.problems(text, profile="p") == ["reconcile.yaml:2: source.url: is missing"]


def test_default_that_does_not_fit_some_tables_names_them(files: Files) -> None:
    tables = "tables:\n" + "".join(
        f"  - {{name: t{n}, source: {{table: t, key: [{'id' if n else 'no'}]}}, lake: {{path: l/{n}}}}}\n"
        for n in range(6)
    )

    (found,) = files.problems(HEAD + "defaults: {mask: {id: hmac}}\n" + tables)

    assert found.startswith("reconcile.yaml:3: defaults.mask.id: is a key column")
    assert found.endswith("(tables t1, t2, t3 and 2 more)")


def test_key_that_a_table_lacks_is_missing_in_the_table_and_not_in_the_defaults(files: Files) -> None:
    defaults = "defaults: {lake: {type: merge_on_read}}\n"

    assert files.problems(HEAD + defaults + TABLES.replace(", lake: {path: lake/users}", "")) == [
        "reconcile.yaml:6: tables[1].lake.path: is missing"
    ]


def test_included_tables_follow_the_own_ones_in_the_order_of_the_files(files: Files) -> None:
    one = "  - {{name: {0}, source: {{table: {0}}}, lake: {{path: lake/{0}}}, rules: rules/{0}.yaml}}\n"
    files.write(
        more__shop=f"version: 1\ninclude: [more/deep.yaml]\ntables:\n{one.format('a')}",
        more__deep=f"tables:\n{one.format('b')}",
        other=f"tables:\n{one.format('c')}",
    )

    config = files.load(HEAD + "defaults: {sweep: {settle: 5s}}\ninclude: [more/shop.yaml, other.yaml]\n" + TABLES)

    assert [table.name for table in config.tables] == ["orders", "users", "a", "b", "c"]
    assert [table.sweep.settle.seconds for table in config.tables] == [5, 1, 5, 5, 5]
    assert config.tables[2].lake.path == str(files.folder / "lake/a")
    assert config.tables[2].rules == files.folder / "rules/a.yaml"


def test_file_may_have_no_tables_of_its_own(files: Files) -> None:
    files.write(shop=TABLES)

    assert len(files.load(HEAD + "include: [shop.yaml]\n").tables) == 2
    assert len(files.load(HEAD + "include: ['${env:PART}.yaml']\n", env={"PART": "shop"}).tables) == 2


def test_problems_of_included_files_have_their_own_file_line_and_key(files: Files) -> None:
    files.write(
        more__a=TABLES.replace("orders", "x").replace("settle: 1s", "setle: 1s").replace("users", "ORDERS"),
        more__b="version: 2\ntabels: []\ntables: 3\n",
        more__c="- a\n",
        more__d="tables: [\n",
        more__e="include: [reconcile.yaml, more/a.yaml, 3]\n",
    )
    names = ", ".join(f"more/{name}.yaml" for name in ("a", "b", "c", "d", "none", "e"))

    found = files.problems(HEAD + f"include: [{names}]\n" + TABLES.replace("lake:", "lak:", 1))

    assert [one.partition(" (legal")[0] for one in found] == [
        "reconcile.yaml:3: include[4]: more/none.yaml: there is no such included file",
        "reconcile.yaml:5: tables[0].lake: is missing",
        "reconcile.yaml:5: tables[0].lak: unknown key; did you mean 'lake'?",
        "more/a.yaml:3: tables[1].sweep.setle: unknown key; did you mean 'settle'?",
        "more/a.yaml:3: tables[1].name: is the name of another table already; case does not count",
        "more/b.yaml:1: version: this release knows version 1 only",
        "more/b.yaml:2: tabels: unknown key; did you mean 'tables'?",
        "more/b.yaml:3: tables: expected a list, such as [a, b]",
        "more/c.yaml:1: expected a mapping with `tables:`, a list as in the config",
        "more/d.yaml:2: is not YAML: expected the node content, but found '<stream end>'",
        "more/e.yaml:1: include[2]: expected text, a path",
        "more/e.yaml:1: include[0]: reconcile.yaml is read already (reconcile.yaml); a file is included once",
        "more/e.yaml:1: include[1]: more/a.yaml is read already (more/a.yaml); a file is included once",
    ]


def test_file_that_includes_itself_or_is_named_twice_is_read_once(files: Files) -> None:
    files.write(a="include: [b.yaml]\n", b="include: [a.yaml]\n", more__x="")

    found = files.problems(HEAD + "include: [more/../a.yaml, ./reconcile.yaml]\n" + TABLES)

    assert found == [
        "reconcile.yaml:3: include[1]: ./reconcile.yaml is read already (reconcile.yaml); a file is included once",
        "b.yaml:1: include[0]: a.yaml is read already (more/../a.yaml); a file is included once",
    ]


def test_profile_lies_over_the_file_and_its_tables_over_those_of_the_same_name(files: Files) -> None:
    plain = files.load(HEAD + TABLES + PROFILES)
    config = files.load(HEAD + TABLES + PROFILES, profile="prod", env={"PROD_HOST": "db"})

    assert (config.source.max_connections, plain.source.max_connections) == (8, 4)
    assert (config.source.url, config.reports) == (
        "postgresql+psycopg://reader@db/shop?sslmode=verify-full",
        Path("/var/reports"),
    )
    orders, users = config.tables
    assert (orders.sweep.settle.seconds, users.sweep.settle.seconds) == (9, 1)
    assert (users.source.table, users.source.where, users.lake.type, users.tags) == (
        "users",
        "id > 7",
        "merge_on_read",
        ("big",),
    )
    assert config.source.password is not None
    assert plain.tables[1].source.where is None


@pytest.mark.parametrize(
    ("file", "path", "mode"),
    [
        ("", "reports", 0o750),
        ("reports: runs\n", "runs", 0o750),
        ('reports: {path: runs, mode: "0770"}\n', "runs", 0o750),
    ],
)
def test_mode_of_the_reports_in_a_profile_keeps_the_path_of_the_file(
    files: Files, file: str, path: str, mode: int
) -> None:
    config = files.load(HEAD + file.replace("0770", "0755") + TABLES + PROFILES, profile="dev")

    assert (config.reports, config.reports_mode) == (files.folder / path, mode)


def test_path_of_the_reports_in_a_profile_keeps_the_mode_of_the_file(files: Files) -> None:
    text = HEAD + 'reports: {path: runs, mode: "0750"}\n' + TABLES + "profiles: {p: {reports: other}}\n"

    config = files.load(text, profile="p")

    assert (config.reports, config.reports_mode) == (files.folder / "other", 0o750)


def test_time_limits_are_inherited_and_laid_over_as_any_key(files: Files) -> None:
    text = (
        HEAD
        + "run: {time_limit: 2h}\ndefaults: {time_limit: 30m}\n"
        + TABLES
        + "profiles: {p: {run: {time_limit: 3h}}}\n"
    )

    plain, profile = files.load(text), files.load(text, "tables.users.time_limit=5m", profile="p")

    assert (plain.run.time_limit, profile.run.time_limit) == (timedelta(hours=2), timedelta(hours=3))
    assert [table.time_limit for table in plain.tables] == [timedelta(minutes=30)] * 2
    assert [table.time_limit for table in profile.tables] == [timedelta(minutes=30), timedelta(minutes=5)]
    assert files.load(text, "run.time_limit=90s").run.time_limit == timedelta(seconds=90)


def test_unknown_profile_names_those_that_there_are(files: Files) -> None:
    with pytest.raises(UsageError, match="no profile 'prd' in the config; did you mean 'prod'") as caught:
        files.load(HEAD + TABLES + PROFILES, profile="prd")
    assert caught.value.fix == "legal after --profile: prod, dev"

    with pytest.raises(UsageError, match="no profile 'prod'") as none:
        files.load(HEAD + TABLES, profile="prod")
    assert none.value.fix == "write it under `profiles:` in the config"


def test_profile_is_checked_also_where_it_is_not_chosen(files: Files) -> None:
    profiles = f"""\
profiles:
  a: {{sorce: {{}}, source: {{max_connections: no, url: "postgresql://u:{CANARY}@h/d"}}, version: 1, include: [x]}}
  b:
    tables:
      - {{pull: {{limit: x}}}}
      - {{name: users, lake: {{pth: x}}}}
    defaults: {{name: x}}
  source: {{spark: {{mster: x}}}}
"""

    found = files.problems(HEAD + TABLES + profiles)

    assert [one.partition(" (legal")[0].partition("; take")[0] for one in found] == [
        "reconcile.yaml:7: profiles.a.source.url: holds a password",
        "reconcile.yaml:7: profiles.a.source.max_connections: expected a whole number, found 'no'",
        "reconcile.yaml:7: profiles.a.sorce: unknown key; did you mean 'source'?",
        "reconcile.yaml:7: profiles.a.version: unknown key",
        "reconcile.yaml:7: profiles.a.include: unknown key",
        "reconcile.yaml:10: profiles.b.tables[0].name: is missing",
        "reconcile.yaml:10: profiles.b.tables[0].pull.limit: expected a whole number, found 'x'",
        "reconcile.yaml:11: profiles.b.tables[1].lake.pth: unknown key; did you mean 'path'?",
        "reconcile.yaml:12: profiles.b.defaults.name: unknown key",
        "reconcile.yaml:13: profiles.source.spark.mster: unknown key; did you mean 'master'?",
    ]
    assert CANARY not in "\n".join(found)


def test_table_that_only_a_profile_knows_is_refused(files: Files) -> None:
    text = HEAD + TABLES + "profiles:\n  p:\n    tables: [{name: usrs}, {name: users}, {name: users}]\n"

    assert files.problems(text, profile="p") == [
        "reconcile.yaml:8: profiles.p.tables[0].name: no such table in the file, and a profile adds none; did you mean 'users'?",
        "reconcile.yaml:8: profiles.p.tables[2].name: is the name of another table of the profile already",
    ]


def test_reference_of_a_profile_that_is_not_chosen_is_not_needed(files: Files) -> None:
    assert files.load(HEAD + TABLES + PROFILES + '  new: {source: {statement_timeout: "${env:NEW}"}}\n').tables
    (found,) = files_without_host(files)
    assert found.endswith("profiles.prod.source.url: environment variable PROD_HOST is not set, or empty")


def files_without_host(files: Files) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        files.load(HEAD + TABLES + PROFILES, profile="prod")
    return caught.value.problems


SET = [
    ("source.max_connections=2", lambda config: config.source.max_connections, 2),
    ("defaults.sweep.settle=5s", lambda config: [t.sweep.settle.seconds for t in config.tables], [5, 1]),
    ("tables.users.sweep.settle=7s", lambda config: [t.sweep.settle.seconds for t in config.tables], [0, 7]),
    ("spark.conf.spark.sql.a=x", lambda config: config.spark.conf, {"spark.sql.a": "x"}),
    ("spark={conf: {spark.b: 2}}", lambda config: config.spark.conf, {"spark.b": "2"}),
    ("spark.master=local[1]", lambda config: config.spark.master, "local[1]"),
    ("tables.orders.tags=[a, b]", lambda config: config.tables[0].tags, ("a", "b")),
    ("tables.orders.source.where=id = 7", lambda config: config.tables[0].source.where, "id = 7"),
    ("defaults.mask.a.b=hmac", lambda config: config.tables[1].mask, {"a.b": "hmac"}),
    ("source.driver=", lambda config: config.source.driver, None),
    ('reports.mode="0750"', lambda config: (config.reports.name, config.reports_mode), ("reports", 0o750)),
    ("source.time_zone=${env:TZ_HERE}", lambda config: config.source.time_zone, "Europe/Vienna"),
]


@pytest.mark.parametrize(("assignment", "look", "value"), SET, ids=[one[0] for one in SET])
def test_key_of_the_command_line_is_read_as_in_the_file(
    files: Files, assignment: str, look: Any, value: object
) -> None:
    assert look(files.load(HEAD + TABLES, assignment, env={"TZ_HERE": "Europe/Vienna"})) == value


def test_set_is_stronger_than_the_profile_and_the_last_of_a_key_counts(files: Files) -> None:
    text, env = HEAD + TABLES + PROFILES, {"PROD_HOST": "db"}

    config = files.load(
        text, "source.max_connections=3", "source.max_connections=5", "reports=here", profile="prod", env=env
    )

    assert (config.source.max_connections, config.reports) == (5, files.folder / "here")


def test_name_with_dots_is_one_table(files: Files) -> None:
    tables = TABLES.replace("name: users", "name: a").replace("name: orders", "name: a.pull")

    config = files.load(HEAD + tables, "tables.a.pull.pull.limit=3", "tables.a.pull.source.key=[k]", *LIMITED)

    assert [table.pull.limit for table in config.tables] == [3, None]


LIMITED = ("tables.a.pull.pull.incrementing=id",)


@pytest.mark.parametrize(
    ("assignment", "problem"),
    [
        ("source.max_conections=2", "source.max_conections: unknown key; did you mean 'max_connections'? (legal: url"),
        ("sorce.url=x", "sorce: unknown key; did you mean 'source'? (legal: version"),
        ("source.max_connections=two", "source.max_connections: expected a whole number, found 'two'"),
        ("source.max_connections.x=2", "source.max_connections.x: expected a whole number"),
        ("defaults.sweep.setle=5s", "defaults.sweep.setle: unknown key; did you mean 'settle'?"),
        ("defaults.sweep.settle=5", "defaults.sweep.settle: not a duration"),
        ("tables.usrs.pull.limit=1", "tables.usrs: no such table; did you mean 'users'? (legal: orders, users)"),
        ("tables.users.pull.limt=1", "tables.users.pull.limt: unknown key; did you mean 'limit'?"),
        ("tables.users={pull: {limit: x}}", "tables.users.pull.limit: expected a whole number, found 'x'"),
        ("include=[a.yaml]", "include: cannot be set by a call; write it into the config"),
        ("profiles.a.reports=x", "profiles: cannot be set by a call; write it into the config"),
        ("jars.paths=[", "jars.paths: is not YAML:"),
        ("jars.mode=*x", "jars.mode: anchors and aliases (& and *) are not allowed"),
        ("source.time_zone=${env:NOT_SET}", "source.time_zone: environment variable NOT_SET is not set, or empty"),
        (f"source.password={CANARY}", "source.password: is a secret, and other users can read a command line"),
        (f"source={{password: {CANARY}}}", "source.password: is a secret, and other users can read a command line"),
        (f"source.password=${{env:X:-{CANARY}}}", "source.password: is a secret, and other users can read a command"),
        (f"audit.key={CANARY}", "audit.key: is a secret, and other users can read a command line"),
        (f"outputs.webhook.url=https://h/{CANARY}", "outputs.webhook.url: is a secret"),
        (f"spark.conf.spark.x.secret.key={CANARY}", "spark.conf.spark.x.secret.key: is a secret"),
        ("spark.conf.spark.x.secret.key=5", "spark.conf.spark.x.secret.key: is a secret"),
        (f"source.url=postgresql://u:{CANARY}@h/d", "source.url: holds a password"),
    ],
)
def test_wrong_key_or_value_of_the_command_line_is_told_as_in_the_file_and_repeats_no_secret(
    files: Files, assignment: str, problem: str
) -> None:
    found = files.problems(HEAD + TABLES, assignment)

    assert any(one.startswith(f"--set {problem}") for one in found), found
    assert CANARY not in "\n".join(found)


@pytest.mark.parametrize("assignment", ["source.url", "=x", " =x", CANARY])
def test_assignment_without_key_or_value_is_usage(assignment: str) -> None:
    with pytest.raises(UsageError, match="--set takes KEY=VALUE") as caught:
        Overlay.of(None, [assignment])
    assert CANARY not in caught.value.message + caught.value.fix


def test_problems_of_all_layers_come_at_once_in_the_order_of_files_and_lines(files: Files) -> None:
    files.write(more="tables: [{nme: x}]\n")
    text = HEAD + "defaults: {a: 1}\ninclude: [more.yaml]\nb: 1\n" + TABLES + "profiles:\n  p: {c: 1}\n"

    found = files.problems(text, "d=1", profile="p")

    assert [": ".join(one.split(": ")[:2]).partition(" (")[0] for one in found] == [
        "reconcile.yaml:3: defaults.a",
        "reconcile.yaml:5: b",
        "reconcile.yaml:10: profiles.p.c",
        "more.yaml:1: tables[0].name",
        "more.yaml:1: tables[0].source",
        "more.yaml:1: tables[0].lake",
        "more.yaml:1: tables[0].nme",
        "--set d: unknown key",
    ]


TRUSTED = [
    ("jdbc: {sessionInitStatement: x}", "source.jdbc.sessionInitStatement: is set by the tool"),
    ("jdbc: {loggerFile: x}", "source.jdbc.loggerFile: "),
    ("driver: com.evil.Driver", "source.driver: "),
    ('url: "postgresql+psycopg://reader@db.example:5432/shop?sslmode=disable"', "source.url: "),
]


@pytest.mark.parametrize(("key", "problem"), TRUSTED)
def test_no_layer_is_a_way_around_what_the_driver_may_be_told(files: Files, key: str, problem: str) -> None:
    name, _, value = key.partition(": ")

    in_profile = files.problems(HEAD + TABLES + f"profiles: {{p: {{source: {{{key}}}}}}}\n", profile="p")
    on_command_line = files.problems(HEAD + TABLES, f"source.{name}={value}")

    assert any(f": profiles.p.{problem}" in one for one in in_profile), in_profile
    assert any(one.startswith(f"--set {problem}") for one in on_command_line), on_command_line


TABLE_RULES = [
    ("lake: {options: {hoodie.table.name: x}}", "lake.options.hoodie.table.name: is set by the tool itself"),
    ("source: {where: 'true; drop table x'}", "source.where: "),
    ("mask: {id: hmac}", "mask.id: is a key column"),
    ("compare: {exclude: [id]}", "compare.exclude[0]: is a key column"),
]


@pytest.mark.parametrize(("key", "problem"), TABLE_RULES)
def test_no_layer_is_a_way_around_what_a_table_may_say(files: Files, key: str, problem: str) -> None:
    tables = TABLES.replace("source: {table: orders}", "source: {table: orders, key: [id]}")
    name, _, value = key.partition(": ")
    files.write(more="tables:\n" + tables.split("\n")[1] + "\n")
    included = files.folder / "more.yaml"
    included.write_text(
        included.read_text("utf-8").replace("name: orders", "name: more").replace("lake/orders}", "lake/more}")
        + (f"    {key}\n" if name in ("mask", "compare") else ""),
        encoding="utf-8",
    )

    assert any(f": defaults.{problem}" in one for one in files.problems(f"{HEAD}defaults: {{{key}}}\n{tables}"))
    profile = f"profiles: {{p: {{tables: [{{name: orders, {key}}}]}}}}\n"
    assert any(
        f": profiles.p.tables[0].{problem}" in one for one in files.problems(HEAD + tables + profile, profile="p")
    )
    assert any(
        one.startswith(f"--set tables.orders.{problem}")
        for one in files.problems(HEAD + tables, f"tables.orders.{name}={value}")
    )


@pytest.mark.parametrize("by_profile", [True, False])
def test_check_that_a_layer_gives_up_is_said_as_one_of_the_file(files: Files, *, by_profile: bool) -> None:
    url = "postgresql+psycopg://reader@db.example/shop?sslmode=disable"
    profile = f'profiles: {{p: {{source: {{insecure: true, trust_properties: true, url: "{url}"}}}}}}\n'
    assignments = ("source.insecure=true", "source.trust_properties=true", f"source.url={url}")

    config = files.load(HEAD + TABLES + profile, profile="p") if by_profile else files.load(HEAD + TABLES, *assignments)

    told = sentences(config)
    assert [one.split()[0] for one in told] == ["source.trust_properties", "source.insecure"]


def test_two_tables_on_one_lake_path_are_refused_whichever_layer_says_so(files: Files) -> None:
    profile = "profiles: {p: {tables: [{name: users, lake: {path: lake/orders/x}}]}}\n"

    (by_profile,) = files.problems(HEAD + TABLES + profile, profile="p")
    (by_command,) = files.problems(HEAD + TABLES, "tables.users.lake.path=lake/orders")

    said = "lake.path: is, or lies inside or around, the lake path of another table"
    assert by_profile == f"reconcile.yaml:6: profiles.p.tables[0].{said}"
    assert by_command == f"--set tables.users.{said}"


def test_secrets_of_every_layer_are_never_shown(files: Files) -> None:
    env = {"PW": CANARY, "PROD_HOST": CANARY, "S3": CANARY, "WHERE": f"note = '{CANARY}'"}
    files.write(more="tables: [{name: m, source: {table: m, where: '${env:WHERE}'}, lake: {path: lake/m}}]\n")
    (files.folder / "where").write_text(f"note = '{CANARY}'", encoding="utf-8")
    text = HEAD + "include: [more.yaml]\ndefaults: {source: {where: '${file:where}'}}\n" + TABLES + PROFILES

    loaded = files.loaded(
        text, "spark.conf.spark.secret=${env:S3}", "source.password=${file:pw}", profile="prod", env=env
    )

    tables = {table.name: table.source.where for table in loaded.config.tables}
    assert tables == {"orders": f"note = '{CANARY}'", "users": "id > 7", "m": f"note = '{CANARY}'"}
    tree: Any = shown_tree(loaded)
    assert CANARY not in write_yaml(tree)
    assert [table["source"]["where"] for table in tree["tables"]] == ["***", "id > 7", "***"]
    assert tree["source"]["url"] == "postgresql+psycopg://reader@***/shop?sslmode=verify-full"
    assert list(tree) == ["version", "source", "spark", "jars", "reports", "run", "outputs", "audit", "tables"]
    assert loaded.config.secret_variables == frozenset()


def test_variable_of_a_secret_is_known_from_whichever_layer_it_comes(files: Files) -> None:
    text = HEAD + TABLES + "profiles: {p: {source: {password: '${env:OTHER}'}}}\n"

    assert files.load(text).secret_variables == {"PW"}
    assert files.load(text, profile="p").secret_variables == {"OTHER"}


def test_shown_config_is_a_config_of_the_same_meaning(files: Files) -> None:
    text = HEAD.replace(', password: "${env:PW}"', "") + "defaults: {sweep: {settle: 5s}, tags: [x]}\n" + TABLES
    loaded = files.loaded(text + PROFILES, "source.max_connections=3")

    again = files.load(write_yaml(shown_tree(loaded)))

    assert again.model_dump() == loaded.config.model_dump()
    assert again.tables == loaded.config.tables


def test_values_of_a_program_are_taken_as_they_are_secrets_too(files: Files) -> None:
    files.write(reconcile=HEAD + TABLES + PROFILES)
    values = {
        "source.max_connections": 3,
        "tables.orders.tags": ["a"],
        "source.password": CANARY,
        "spark.conf.spark.a": "b",
    }
    overlay = Overlay.of_values("prod", values)

    loaded = load_with_references(files.folder / "reconcile.yaml", {"PROD_HOST": "db"}, overlay=overlay)

    assert (loaded.config.source.max_connections, loaded.config.tables[0].tags) == (3, ("a",))
    assert loaded.config.source.password is not None
    assert loaded.config.source.password.reveal({}, lambda _: "") == CANARY
    assert CANARY not in write_yaml(shown_tree(loaded)) + repr(loaded.config) + str(loaded.config.overlay)


def test_wrong_value_of_a_program_is_named_by_its_key(files: Files) -> None:
    files.write(reconcile=HEAD + TABLES)
    overlay = Overlay.of_values(None, {"source.max_conections": 3, "tables.usrs.tags": []})

    with pytest.raises(ConfigError) as caught:
        load_with_references(files.folder / "reconcile.yaml", {}, overlay=overlay)

    assert [one.partition(" (")[0] for one in caught.value.problems] == [
        "overrides source.max_conections: unknown key; did you mean 'max_connections'?",
        "overrides tables.usrs: no such table; did you mean 'users'?",
    ]


def many(files: Files, count: int) -> str:
    """A config of many tables in ten included files, which inherit defaults; under a heading of three lines."""
    for part in range(10):
        names = (f"t{number}" for number in range(part, count, 10))
        lines = (
            f"  - {{name: {one}, source: {{table: {one}, key: [id]}}, lake: {{path: l/{one}}}}}\n" for one in names
        )
        files.write(**{f"part{part}": "tables:\n" + "".join(lines)})
    return HEAD + f"include: [{', '.join(f'part{part}.yaml' for part in range(10))}]\n"


def test_thousand_tables_are_read_in_time(files: Files) -> None:
    text = many(files, 1_000) + "defaults: {sweep: {settle: 5s}, pull: {watermark: [updated_at]}, tags: [x]}\n"
    began = process_time()

    config = files.load(text, "tables.t999.sweep.settle=7s")

    assert len(config.tables) == 1_000
    assert {table.name for table in config.tables if table.sweep.settle.seconds != 5} == {"t999"}
    # On a machine with nothing else to do it takes a tenth of it.
    assert process_time() - began < SECONDS


def test_default_that_fits_none_of_a_thousand_tables_is_one_problem_in_time(files: Files) -> None:
    began = process_time()

    (found,) = files.problems(many(files, 1_000) + "defaults: {mask: {id: hmac}}\n")

    assert found.endswith("it cannot be masked (tables t0, t10, t20 and 997 more)")
    assert process_time() - began < SECONDS
