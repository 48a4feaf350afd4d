"""The guides of CONTRIBUTING, walked: each toy is added by a guide's own steps to a copy of the package, and works there."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from hudi_reconcile.core.sweep.drift import DRIFT_KINDS
from hudi_reconcile.core.tables.kinds import TRAITS, Kind
from hudi_reconcile.report.page.html import render_report
from tests.support.docs import ROOT
from tests.support.guides import PACKAGE, Walk, guide_files, guide_pages
from tests.support.toy_database import FILES, FOLDER
from tests.unit.report.stories import all_stories

SECTION = "A new section of the report"
RENDER = """
import sys
from hudi_reconcile.report.page.html import render_report
from tests.unit.report.stories import all_stories
story = all_stories()[sys.argv[1]]
sys.stdout.write(render_report(story.run, story.kept))
"""


def add_toy_section(walk: Walk) -> None:
    walk.insert(
        "report/page/sections.py",
        'def _reach(subject: Subject) -> str:\n    return str(subject.table["checkpoint"] or "")\n\n\n',
        before="# In the order of the page.",
    )
    walk.insert("report/page/sections.py", '    "reach": _reach,\n', before='"notes": _notes,')
    walk.add("report/templates/sections/reach.html", "<h3>Reach</h3>\n<p>Pulled up to <code>{{ shown }}</code></p>\n")


def test_section_that_is_added_by_the_guide_takes_its_two_files_and_stands_on_the_page(tmp_path: Path) -> None:
    walk, story = Walk.begin(tmp_path), all_stories()["drift"]
    before = walk.run("-c", RENDER, "drift").stdout

    add_toy_section(walk)
    page = walk.run("-c", RENDER, "drift").stdout

    section = "<h3>Reach</h3>\n<p>Pulled up to <code>2026-11-20T23:59:58.000412Z</code></p>\n"
    assert before == render_report(story.run, story.kept)
    assert page.count(section) == 1
    assert page.index("What was not compared") < page.index(section) < page.index("<h3>Evidence</h3>")
    assert shown_lines(page.replace(section, "")) == shown_lines(before)
    assert walk.touched == guide_files(SECTION, "reach")
    assert len(walk.touched) == 2


def shown_lines(page: str) -> list[str]:
    return [line for line in page.splitlines() if line]


def test_section_is_not_on_the_page_of_a_table_that_has_nothing_of_the_kind(tmp_path: Path) -> None:
    walk = Walk.begin(tmp_path)
    add_toy_section(walk)

    page = walk.run("-c", RENDER, "pulled").stdout

    assert "<h3>Pull</h3>" in page
    assert "Reach" not in page


DATABASE = "A new database"
CONFIG = """
version: 1
source: {url: "%s", jdbc: {%s}}
tables: [{name: orders, source: {table: orders, key: [id], where: "%s"}, lake: {path: lake}}]
"""
POSTGRES_SQL = "note <> '(' or $$(' $$ = note"  # refused where dollars quote nothing
ASK = """
import ast
import json
from functools import cache
from pathlib import Path
from hudi_reconcile.app.connections import choose_engine, request_session
from hudi_reconcile.app.outputs import name_datasets
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.spark.jars import list_locked_jars, plan_jars
from hudi_reconcile.sql.reads import rows_query

config = load_config(Path("reconcile.yaml"), {})
engine, note = choose_engine(config, "", lambda login: None), Column("a]b", Kind.TEXT, "text")
target = engine.jdbc()
jars = request_session(config).jars
print(json.dumps({
    "engine": type(engine).__name__,
    "place": engine.place,
    "rows": engine.dialect.limit_rows(rows_query(engine.dialect, "t", (note,), ()), 3),
    "text": engine.digests.canonical(ComparedColumn(0, note, "string")),
    "spark": [target.url, dict(target.properties), target.proof],
    "jars": [jar.file_name for jar in plan_jars(jars, list_locked_jars(), ()).missing],
    "lineage": [ends.source.namespace for ends in name_datasets(config, tuple(config.tables)).values()],
}))
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    walk = Walk.begin(tmp_path_factory.mktemp("toy"))
    for name, text in FILES.items():
        walk.add(f"databases/{FOLDER}/{name}", text)
    walk.change(
        "databases/registry.py",
        'FOLDERS: Final = ("postgres", "mysql")',
        f'FOLDERS: Final = ("postgres", "mysql", "{FOLDER}")',
    )
    return walk


def test_database_that_is_added_by_the_guide_takes_six_files_and_one_line(toy: Walk) -> None:
    assert toy.touched == guide_files(DATABASE, FOLDER)
    assert len(toy.added) <= 6
    assert toy.edited == {"databases/registry.py": 1}


@pytest.mark.parametrize("scheme", ["toy+psycopg", "toydb+psycopg"])
def test_database_that_was_added_is_read_from_its_url_to_its_statements(toy: Walk, scheme: str) -> None:
    config = CONFIG % (f"{scheme}://reader@far/shop?sslrootcert=/ca.pem", "toytimeout: 5", POSTGRES_SQL)
    (toy.place / "reconcile.yaml").write_text(config)

    valid = toy.run("-m", "hudi_reconcile", "config", "validate")
    asked = toy.run("-c", ASK)

    assert valid.returncode == 0, valid.stderr
    assert json.loads(asked.stdout or "{}") == {
        "engine": "ToyEngine",
        "place": "toy://far:26257/shop",
        "rows": "select [a]]b] as c0 from t fetch first 3 rows only",
        "text": "toy_text([a]]b])",
        "spark": [
            "jdbc:toy://far:26257/shop",
            {"toyTimeout": "5", "driver": "org.toy.Driver", "user": "reader", "toyPath": "-c toy_read_only=on",
             "sslmode": "verify-full", "sslrootcert": "/ca.pem"},
            "(select toy_setting('toy_read_only') = 'on')",
        ],
        "jars": ["hudi-spark3.5-bundle_2.12-1.2.0.jar", "postgresql-42.7.14.jar", "toy-jdbc-1.0.jar"],
        "lineage": ["toy://far:26257"],
    }, asked.stderr  # fmt: skip


@pytest.mark.parametrize(
    ("url", "jdbc", "said"),
    [
        ("toy+psycopg://u@far/d", "toyPath: x", "is set by the tool"),
        ("toy+psycopg://u@far/d", "init: x", "nothing that Toy may be told (legal: fetchsize, queryTimeout, ToyName,"),
        ("toy+psycopg://u@far/d?sslmode=require", "", "sslmode=require lets anybody on the way pose as the database"),
    ],
)  # fmt: skip
def test_config_of_a_database_that_was_added_is_held_to_its_lists(toy: Walk, url: str, jdbc: str, said: str) -> None:
    (toy.place / "reconcile.yaml").write_text(CONFIG % (url, jdbc, "id > 0"))

    done = toy.run("-m", "hudi_reconcile", "config", "validate")

    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("oracle+oracledb://u@127.0.0.1/d", "oracle is not read in this version (legal: postgresql, mysql, mariadb, toy, toydb,"),
        ("toy+psycopg://u@127.0.0.1/d?sslkey=x", "parameter sslkey is not allowed (legal: sslmode, sslrootcert)"),
        ("jdbc:toydb://127.0.0.1/d", "Toy is read with its own engine"),
    ],
)  # fmt: skip
def test_url_that_no_engine_reads_is_refused_with_the_databases_that_there_are(toy: Walk, url: str, said: str) -> None:
    (toy.place / "reconcile.yaml").write_text(CONFIG % (url, "", "id > 0"))

    done = toy.run("-m", "hudi_reconcile", "doctor")

    assert said in done.stdout + done.stderr
    assert done.returncode == 2


COLUMN_KIND, DRIFT_KIND = "A new kind of column", "A new kind of drift"


@cache
def words_of(path: Path) -> frozenset[str]:
    """The names and texts that code uses, in lower case; what docstrings and comments say does not count."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    told = {node.value for node in nodes if isinstance(node, ast.Expr)}
    found = (node.value for node in nodes if isinstance(node, ast.Constant) and node not in told)
    texts = {text.lower() for text in found if isinstance(text, str)}
    return frozenset(texts | {node.attr.lower() for node in nodes if isinstance(node, ast.Attribute)})


def files_with(word: str) -> set[str]:
    package = ROOT / PACKAGE
    return {str(path.relative_to(package)) for path in package.rglob("*.py") if word in words_of(path)}


def test_guide_to_a_kind_of_drift_names_the_files_that_know_every_kind_and_no_other() -> None:
    everywhere = set.intersection(*map(files_with, DRIFT_KINDS))

    assert guide_files(DRIFT_KIND) == everywhere
    assert len(everywhere) == 2


def test_guide_to_a_kind_of_column_names_the_files_that_know_the_kind_and_no_other() -> None:
    package = ROOT / PACKAGE
    known = {str(p.relative_to(package)) for p in package.rglob("*.py") if "Kind.UUID" in p.read_text("utf-8")}

    assert guide_files(COLUMN_KIND) == known | {"core/tables/kinds.py"}


KIND_ASK = """
import json
from dataclasses import replace
from hudi_reconcile.compare.findings import write_kind
from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.config.rules_load import parse_rules
from hudi_reconcile.core.sweep.drift import Facts, choose_repair, classify
from hudi_reconcile.report.page.html import render_report
from tests.unit.report.stories import all_stories

def problems(kind):
    try:
        parse_rules(f"version: 1\\ntable: t\\nrules: [{{id: a, check: drift, kinds: [{kind}]}}]\\n", "rules.yaml", "t")
    except ConfigError as error:
        return list(error.problems)
    return []


facts = Facts(in_source=True, lake_copies=1, equal=False, unchanged=True, source_micros=None, lake_micros=1, pending=None)
story = all_stories()["drift"]
table = story.run["tables"][0]
table = {**table, "findings": {**table["findings"], "unmarked": 4}}
print(json.dumps({
    "kinds": [classify(facts), classify(replace(facts, source_micros=1))],
    "repair": choose_repair(classify(facts)),
    "counted": list(table["findings"]),
    "rendered": write_kind(None),
    "rules": [problems("unmarked"), problems("unmaked")],
    "page": render_report({**story.run, "tables": [table]}, story.kept),
}))
"""


def add_toy_kind(walk: Walk) -> None:
    drift, findings = "core/sweep/drift.py", "compare/findings.py"
    walk.insert(drift, '    UNMARKED = "unmarked"\n', before='PENDING = "pending"')
    row = (
        '    FindingKind.UNMARKED: KindRule(meaning="Both have the row, and the source has lost its watermark.", '
        'action=RepairAction.UPSERT, correction="upsert", happened="They have lost their watermark.", cure="Ask who took it."),\n'
    )
    walk.insert(drift, row, before="FindingKind.PENDING: KindRule(")
    decision = "if facts.source_micros is None or facts.source_micros == facts.lake_micros:"
    walk.insert(
        drift,
        "    if facts.source_micros is None and facts.lake_micros is not None:\n        return FindingKind.UNMARKED\n",
        before=decision,
    )
    walk.insert(
        findings,
        '        ("source_micros is null and lake_micros is not null", FindingKind.UNMARKED),\n',
        before='("source_micros is null or source_micros = lake_micros", FindingKind.UPDATED_WITHOUT_WATERMARK),',
    )


def test_kind_of_drift_that_is_added_by_the_guide_takes_its_two_files_and_is_counted_and_shown(tmp_path: Path) -> None:
    walk = Walk.begin(tmp_path)
    add_toy_kind(walk)

    asked = walk.run("-c", KIND_ASK)

    assert asked.returncode == 0, asked.stderr
    told = json.loads(asked.stdout)
    assert (told["kinds"], told["repair"]) == (["unmarked", "updated_without_watermark"], "upsert")
    assert told["counted"] == [*DRIFT_KINDS, "unmarked"]
    assert "then 'unmarked'" in told["rendered"]
    assert "<code>unmarked</code>" in told["page"]
    assert "unmarked: 4 rows. They have lost their watermark." in told["page"]
    assert told["rules"][0] == []
    assert "unmarked" in str(told["rules"][1])
    assert walk.touched == guide_files(DRIFT_KIND)


@pytest.mark.parametrize(("guide", "word"), [(COLUMN_KIND, "uuid"), (DRIFT_KIND, "late_arriving")])
def test_guide_names_documents_and_tests_that_know_the_matter(guide: str, word: str) -> None:
    named = guide_pages(guide)

    assert named
    assert [name for name in named if word not in (ROOT / name).read_text("utf-8").lower()] == []


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_of_column_has_one_row(kind: Kind) -> None:
    assert kind in TRAITS
