"""One story for the auditor: no artefact holds a masked value, and from a finding one comes to the commit and back."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import hudi_reconcile
from hudi_reconcile.cli.main import run
from hudi_reconcile.demo.postgres import PostgresServer
from hudi_reconcile.spark.session import get_jvm
from tests.support.browser import required_browser
from tests.support.canaries import artefacts_below, hashes, held_in, number_spellings, spellings
from tests.support.docs import ROOT, TOOL, commands
from tests.support.postgres import Database, fresh_database
from tests.support.receiver import SECRET, Receiver, receiver

# E-mail, phone and salary are masked for their names, note by the config; status is shown.
TABLE = """create table orders (order_id bigint primary key, status text, "Email" text, phone_no text, note text,
                                salary numeric(12, 2), updated_at timestamptz not null)"""
ROWS = """insert into orders select i, 'seen-before', 'mail-canary-' || i, 'phone-canary-' || i, 'note-canary-' || i, 31415926.53,
    timestamptz '2026-03-01 10:00:00+00' + i * interval '1 second' from generate_series(1, 60) i"""
DRIFT = (
    "update orders set status = 'seen-after', \"Email\" = 'mail-canary-new' where order_id = 5",
    "update orders set note = 'note-canary-new', salary = 27182818.28, phone_no = 'phone-canary-new' where order_id = 6",
    "delete from orders where order_id = 7",
    """insert into orders values (100, 'seen-late', 'mail-canary-late', 'phone-canary-late', 'note-canary-late', 14142135.62,
                                  '2026-03-01 09:00:00+00')""",
)
LAST_DRIFT = "update orders set note = 'note-canary-last', \"Email\" = 'mail-canary-last' where order_id = 9"
NUMBERS = tuple(map(Decimal, ("31415926.53", "27182818.28", "14142135.62")))
CANARIES = frozenset[str]().union(spellings("-canary-"), *map(number_spellings, NUMBERS))
WHOLE = [
    *(f"mail-canary-{end}" for end in (5, 7, "new", "late")),
    *(f"phone-canary-{end}" for end in (6, 7, "new", "late")),
    *(f"note-canary-{end}" for end in (6, 7, "new", "late")),
    *map(str, NUMBERS),
]
SEEN = ("seen-before", "seen-after", "seen-late")
RULES = [
    {"id": "one", "check": "matches", "column": "Email", "regex": "^[^@]+@[^@]+$"},
    {"id": "two", "check": "total", "column": "salary", "severity": "warn"},
    {"id": "three", "check": "between", "column": "salary", "max": 1},
    {"id": "four", "check": "sql", "query": "SELECT order_id, `Email` FROM {batch} WHERE note IS NOT NULL"},
]
KEY = "0123456789abcdef-of-the-audit-log"
LINEAGE_KEY = "fedcba9876543210-of-the-lineage"


@dataclass(slots=True)
class Story:
    """What was done in the folder, and everything that was printed or sent."""

    folder: Path
    printed: list[str] = field(default_factory=list)
    codes: list[tuple[str, int]] = field(default_factory=list)
    walked: list[tuple[str, str, int]] = field(default_factory=list)
    posted: list[tuple[str, bytes]] = field(default_factory=list)
    by_program: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=lambda: [KEY, LINEAGE_KEY, SECRET])

    def call(self, *words: str) -> str:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(list(words))
        self.codes.append((" ".join(words), code))
        self.printed += [out.getvalue(), err.getvalue()]
        return out.getvalue()

    def runs(self, *named: str) -> list[str]:
        """The ids of the runs of these commands, oldest first."""
        folders = sorted((self.folder / "reports").glob("*/result.json"))
        return [path.parent.name for path in folders if self.result(path.parent.name)["command"] in named]

    def result(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "reports" / run_id / "result.json").read_text())
        return found

    def json(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.call(*words, "--format", "json"))
        return found

    def walk(self, first_head: str, patch: pytest.MonkeyPatch) -> None:
        """Every command of the document, its placeholders filled in with what the commands before it told."""
        compared = self.result(self.runs("sweep")[0])["tables"][0]["lake"]["instant"]
        names = {"HASH": first_head, "INSTANT": compared}
        for line in commands(ROOT / "docs" / "audit.md"):
            tool, *words = (names.get(word, word) for word in shlex.split(line))
            assert tool == TOOL
            with patch.context() as elsewhere:
                if words[0] == "approve":
                    elsewhere.setattr("pwd.getpwuid", lambda _: SimpleNamespace(pw_name="alice"))
                out = self.call(*words)
            self.walked.append((line, out, self.codes[-1][1]))
            if words[:2] == ["audit", "lake"] and "json" in words:
                commit = json.loads(out)["commits"][0]
                names |= {"RUN": commit["run_id"], "SWEEP": commit["sweep"], "HASH": commit["audit_head"]}


def config_of(database: Database, policy: dict[str, Any], **table: Any) -> dict[str, Any]:
    server = database.server
    orders = {
        "name": "orders",
        "source": {"table": "public.orders"},
        "pull": {"strategy": "timestamp", "watermark": ["updated_at"]},
        "lake": {"path": "lake/orders"},
        "mask": {"NOTE": "hmac"},
        "policy": policy,
        "rules": "rules.yaml",
        **table,
    }
    outputs = {
        "junit": "out/junit.xml",
        "prometheus": "out",
        "ndjson": "out/runs.ndjson",
        "openlineage": {
            "file": "out/lineage.ndjson",
            "namespace": "test",
            "url": "${file:lineage}",
            "api_key": "${file:lineage_key}",
        },
        "github": True,
        "webhook": {"url": "${file:webhook}", "on": ["pulled", "drift", "corrected", "incomplete", "unverified"]},
    }
    url = f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{database.name}"
    source = {"url": url, "password": "${file:password}"}
    audit = {"key": "${file:audit_key}"}
    return {"version": 1, "source": source, "outputs": outputs, "audit": audit, "tables": [orders]}


def failing(database: Database) -> dict[str, Any]:
    """Two tables that cannot be read as asked: the one is refused on the control connection, the other inside of Spark."""
    config = config_of(database, {}, source={"table": "public.orders", "where": "note::int > 0"})
    (orders,) = config["tables"]
    query = {"query": "select order_id, note::int as number from public.orders", "key": ["order_id"]}
    bulk = {"name": "bulk", "source": query, "pull": {"strategy": "full"}, "lake": {"path": "lake/bulk"}}
    return {**config, "tables": [{**orders, "lake": {"path": "lake/failing"}}, bulk]}


def written(folder: Path, name: str, text: str | dict[str, Any]) -> None:
    (folder / name).write_text(text if isinstance(text, str) else json.dumps(text))


def begun(story: Story, database: Database, hook: Receiver) -> str:
    """Files, table and first pull; then the source drifts and is swept. Returns the head of the log after the pull."""
    folder = story.folder
    (folder / "out").mkdir()
    written(folder, "password", database.server.password)
    written(folder, "audit_key", KEY)
    written(folder, "webhook", hook.url)
    written(folder, "lineage", f"http://127.0.0.1:{hook.port}/events")
    written(folder, "lineage_key", LINEAGE_KEY)
    written(folder, "rules.yaml", {"version": 1, "table": "orders", "rules": RULES})
    written(folder, "reconcile.yaml", config_of(database, {"require_approval": True}))
    written(folder, "failing.yaml", failing(database))
    database.execute(TABLE, ROWS)
    head: str = story.json("pull")["audit_head"]
    database.execute(*DRIFT)
    story.call("-c", "failing.yaml", "-v", "pull")
    story.call("-v", "sweep")
    return head


def looked_at(story: Story) -> None:
    """The run of the walk and the nightly one, in every way that there is to look at them."""
    story.call("findings", "latest", "--format", "csv")
    story.call("findings", "latest")
    story.call("report", "latest", "-o", "out/page.html")
    story.call("report", "latest", "--index", "-o", "out/index.html")
    story.call("report", "latest", "--mail", "-o", "out/mail.html")
    first, *_, last = story.runs("sweep", "run")
    story.call("diff", first, last)
    story.call("config", "show")
    story.call("history")
    story.call("doctor")
    story.call("sweep", "--dry-run")
    story.call("--log-format", "json", "-v", "sweep")
    by_path = story.call("changes", "--path", "lake/orders", "--type", "min-delta", "--format", "ndjson")
    # Of a path no mask is known but those for names of personal data: the note is shown, and was asked for so.
    story.printed[-2] = by_path.replace("note-canary-", "note-")


def called_from_a_program(story: Story) -> None:
    """What a notebook shows of a project and of what its calls return."""
    project = hudi_reconcile.load("reconcile.yaml", overrides={"source.password": story.secrets[-1]})
    swept = hudi_reconcile.sweep(project)
    plans = hudi_reconcile.plan(project, swept.run_id)
    story.by_program = {
        "project": f"{project!r} {project.config!r} {project.config.source} {project.config.outputs}",
        "result": f"{swept!r} {swept.to_dict()} {dict(swept.tables)} {dict(plans)}",
        "page": swept._repr_html_(),
    }


@pytest.fixture(scope="module")
def story(
    postgres_server: PostgresServer,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    pytestconfig: pytest.Config,
) -> Iterator[Story]:
    """Pull, drift, sweep, the document's walk, and a nightly run with rules that fail and hold a correction back."""
    told = Story(tmp_path_factory.mktemp("audit"))
    with fresh_database(postgres_server) as database, pytest.MonkeyPatch.context() as patch, receiver(200) as hook:
        patch.chdir(told.folder)
        patch.setenv("GITHUB_STEP_SUMMARY", str(told.folder / "out" / "summary.md"))
        told.secrets.append(database.server.password)
        told.walk(begun(told, database, hook), patch)
        written(told.folder, "reconcile.yaml", config_of(database, {"quarantine": True}))
        database.execute(LAST_DRIFT)
        told.call("-v", "run", "--apply")
        looked_at(told)
        called_from_a_program(told)
        told.posted = list(zip(hook.paths, hook.bodies, strict=True))
        # The JVM writes past Python's stderr, and a thread of its own passes that on.
        get_jvm(spark).org.apache.logging.log4j.LogManager.getLogger("test").error("the JVM \x1b[31mlogged")
        capture, last_look = pytestconfig.pluginmanager.getplugin("capturemanager"), time.monotonic() + 30
        while "the JVM" not in told.printed[-1] and time.monotonic() < last_look:
            time.sleep(0.05)
            told.printed += capture.read_global_capture()
        ((total,),) = database.query("select sum(salary) from orders")
        told.secrets += number_spellings(total)
        yield told


def steps(story: Story, start: str) -> list[str]:
    return [out for line, out, _ in story.walked if line.startswith(f"{TOOL} {start}")]


def test_walk_of_the_document_leads_from_a_finding_to_the_commit_and_back(story: Story) -> None:
    assert [(line, code) for line, _, code in story.walked if code] == []
    assert len(story.walked) > 15
    (finding,) = map(json.loads, steps(story, "findings latest")[0].splitlines())
    assert (finding["kind"], finding["key"]) == ("deleted", {"order_id": 7})
    sweep, apply = story.runs("sweep")[0], story.runs("apply")[0]
    plan = json.loads((story.folder / "reports" / sweep / "orders" / "plan.json").read_text())["plan_id"]
    assert all(plan in shown for shown in steps(story, "plan"))
    (table,) = story.result(apply)["tables"]
    assert (table["plan_id"], table["corrections"]["applied"]) == (plan, 4)
    assert table["provenance"]["approved_by"].startswith("alice@example.com (alice@")
    page = (story.folder / "reports" / apply / "report.html").read_text()
    assert all(table["provenance"][who] in page for who in ("planned_by", "approved_by", "applied_by"))

    listed, document = steps(story, "audit lake")

    commit, *others = json.loads(document)["commits"]
    assert (commit["kind"], commit["run_id"], commit["plan"], commit["sweep"]) == ("apply", apply, plan, sweep)
    assert [commit["instant"]] == table["corrections"]["instants"]
    assert plan in listed
    assert [(one["kind"], one["flaws"]) for one in (commit, *others)] == [("apply", []), ("pull", [])]
    line = json.loads((story.folder / "reports" / "audit.jsonl").read_text().splitlines()[commit["line"] - 1])
    assert (line["run_id"], line["command"]) == (apply, "apply")
    (change,) = [one for one in map(json.loads, steps(story, "changes")[0].splitlines()) if one["op"] == "d"]
    assert (change["key"], change["before"]["status"], change["after"]) == (finding["key"], "seen-before", None)
    correction = {"run_id": apply, "plan_id": plan, "kind": "deleted"}
    assert (change["instant"], change["correction"]) == (commit["instant"], correction)
    assert finding in map(json.loads, steps(story, "findings SWEEP")[0].splitlines())
    assert f"line {commit['after_line']}" in steps(story, "audit verify --head")[1]
    assert story.result(apply)["provenance"]["audit_head_before"] == commit["audit_head"]


def test_log_whose_end_was_cut_off_is_told_by_the_lake(story: Story) -> None:
    log = story.folder / "reports" / "audit.jsonl"
    whole = log.read_bytes()
    try:
        log.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
        found = story.json("audit", "lake")
        verified = story.json("audit", "verify", "--lake", "-t", "orders")
    finally:
        log.write_bytes(whole)
    assert verified["exit_code"] == 1
    assert [one for one in verified["flaws"] if one["what"].startswith("table orders, commit ")]
    intact = story.json("audit", "verify", "--lake")
    assert (intact["flaws"], intact["lake_commits"]) == ([], len(found["commits"]))

    assert found["exit_code"] == 1
    assert "cut off or rewritten" in str(found["commits"][0]["flaws"])
    assert found["commits"][-1]["flaws"] == []


def test_lake_that_is_not_where_the_config_says_is_no_proof_of_the_log(story: Story) -> None:
    lake = story.folder / "lake" / "orders"
    away = lake.rename(story.folder / "away")
    try:
        found = story.json("audit", "verify", "--lake")
    finally:
        away.rename(lake)

    assert (found["exit_code"], found["lake_commits"]) == (1, 0)
    assert "there is no lake table at" in found["flaws"][-1]["what"]


def everything_of(story: Story) -> dict[str, str]:
    """All that the tool wrote, printed or sent; of the lake what stands beside its rows."""
    found = {f"printed {number}": text for number, text in enumerate(story.printed)}
    found |= {f"program {name}": text for name, text in story.by_program.items()}
    found |= {f"posted {number}": body.decode("latin-1") for number, (_, body) in enumerate(story.posted)}
    for one in ("reports", "out"):
        found |= artefacts_below(story.folder / one)
    found |= artefacts_below(story.folder / "lake" / "orders" / ".hoodie", without=".hoodie/metadata/")
    return found | {"corrected.html": (story.folder / "corrected.html").read_text()}


def test_values_of_masked_columns_stand_in_no_artefact_and_those_of_others_do(story: Story) -> None:
    everything = everything_of(story)
    suffixes = {Path(name).suffix for name in everything}

    assert held_in(everything, CANARIES.union(story.secrets, *map(hashes, WHOLE))) == []

    # The search does find what is not masked, in what people and scripts read.
    seen = {Path(name).suffix or name.split()[0] for name, _ in held_in(everything, SEEN)}
    assert {".html", ".parquet values", "printed"} <= seen
    assert {".html", ".json", ".jsonl", ".ndjson", ".xml", ".prom", ".md", ".parquet", ".commit"} <= suffixes
    assert held_in(everything, ["_hr.audit_head"])[0][0].startswith(".hoodie/timeline/")
    paths = Counter(path for path, _ in story.posted)
    assert set(paths) == {f"/{SECRET}", "/events"}
    assert min(paths.values()) >= 4
    assert held_in(everything, ["the JVM ?[31mlogged"])
    assert [name for name, _ in held_in(everything, ['"table": "orders", "message": ']) if name.startswith("printed ")]
    assert {name for name, _ in held_in(everything, [story.runs("sweep")[-1]])} >= {"program result", "program page"}
    assert [name for name, _ in held_in(everything, ["note-new"]) if name.startswith("printed ")]  # by its path
    assert "\x1b" not in "".join(story.printed)
    notes = next(table["notes"] for run in story.runs("sweep") for table in story.result(run)["tables"])
    masked = "masked, being named like personal data (redact): Email, phone_no, salary;"
    assert any(note.startswith(masked) for note in notes)
    assert any(f"note: {masked}" in text for text in story.printed)


def test_values_of_masked_columns_stand_in_no_pdf_and_those_of_others_do(story: Story) -> None:
    required_browser()
    sweep = story.runs("sweep")[0]
    story.call("report", sweep, "--pdf", "-o", "page.pdf")
    assert story.codes[-1][1] == 0
    (story.folder / "pdf").mkdir()
    (story.folder / "page.pdf").rename(story.folder / "pdf" / "page.pdf")

    found = dict(artefacts_below(story.folder / "pdf"))

    assert held_in(found, CANARIES.union(story.secrets, *map(hashes, WHOLE))) == []
    assert held_in(found, SEEN) == [("pdf/page.pdf text", word) for word in sorted(SEEN)]


def test_masks_hide_what_is_shown_and_change_nothing_of_what_is_compared_counted_and_written(
    story: Story, spark: SparkSession
) -> None:
    found = {one["key"]["order_id"]: one for one in map(json.loads, steps(story, "findings SWEEP")[0].splitlines())}

    assert {key: one["kind"] for key, one in found.items()} == {
        5: "updated_without_watermark", 6: "updated_without_watermark", 7: "deleted", 100: "late_arriving",
    }  # fmt: skip
    assert set(found[6]["columns"]) == {"phone_no", "note", "salary"}  # a row that differs in masked columns alone
    assert set(found[6]["source"]["values"]) == {"order_id", "status", "note", "updated_at"}
    assert found[6]["source"]["values"]["note"] != found[6]["lake"]["values"]["note"]
    assert found[6]["source"]["values"]["status"] == "seen-before"
    lake = spark.read.format("hudi").load(str(story.folder / "lake" / "orders"))
    (row,) = lake.where("order_id = 6").select("phone_no", "note", "salary").collect()
    assert tuple(row) == ("phone-canary-new", "note-canary-new", NUMBERS[1])


def test_value_that_the_database_quotes_in_its_error_is_not_repeated(story: Story) -> None:
    code = next(code for call, code in story.codes if call.startswith("-c failing.yaml"))

    errors = [table["error"] for table in story.result(story.runs("pull")[1])["tables"]]
    assert (code, [one["type"] for one in errors]) == (3, ["SourceError"] * 2)
    assert "a value could not be read as its type (SQLSTATE 22P02)" in errors[0]["message"]
    assert "invalid input syntax for type integer: …" in errors[1]["message"]


def test_correction_that_a_rule_holds_back_is_listed_by_its_key_alone(story: Story) -> None:
    (table,) = story.result(story.runs("run")[0])["tables"]

    assert (table["corrections"]["held"], table["corrections"]["applied"]) == (1, 0)
    (listed,) = [text for name, text in everything_of(story).items() if "/held/" in name and name.endswith(" values")]
    assert "'order_id': 9" in listed


def test_rules_on_masked_columns_ran_and_failed_and_show_keys_alone(story: Story) -> None:
    (table,) = story.result(story.runs("run")[0])["tables"]

    failed = {rule["id"]: rule["status"] for rule in table["rules"]}
    assert failed == {**dict.fromkeys(("one", "three", "four"), "fail"), "two": "pass"}
