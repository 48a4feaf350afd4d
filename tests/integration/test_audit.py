"""One story for the auditor: no artefact holds a masked value, and from a finding one comes to the commit and back."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.demo.postgres import PostgresServer
from tests.support.docs import ROOT, TOOL, commands
from tests.support.postgres import Database, fresh_database

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
CANARIES = ("canary", "31415926", "27182818", "14142135")
WHOLE = [
    *(f"mail-canary-{end}" for end in (5, 7, "new", "late")),
    *(f"phone-canary-{end}" for end in (6, 7, "new", "late")),
    *(f"note-canary-{end}" for end in (6, 7, "new", "late")),
    *("31415926.53", "27182818.28", "14142135.62"),
]
SEEN = ("seen-before", "seen-after", "seen-late")
RULES = [
    {"id": "one", "check": "unique", "columns": ["salary"]},
    {"id": "two", "check": "matches", "column": "Email", "regex": "^[^@]+@[^@]+$"},
    {"id": "three", "check": "total", "column": "salary", "severity": "warn"},
    {"id": "four", "check": "between", "column": "salary", "max": 1},
    {"id": "five", "check": "sql", "query": "SELECT order_id, `Email` FROM {batch} WHERE note IS NOT NULL"},
    {
        "id": "six",
        "check": "gx",
        "type": "expect_column_values_to_be_in_set",
        "kwargs": {"column": "note", "value_set": ["x"]},
    },
    {"id": "seven", "check": "in_set", "column": "phone_no", "values": ["x"]},
]
KEY = "0123456789abcdef-of-the-audit-log"


@dataclass(slots=True)
class Story:
    """What was done in the folder, and everything that was printed."""

    folder: Path
    printed: list[str] = field(default_factory=list)
    codes: list[tuple[str, int]] = field(default_factory=list)
    walked: dict[str, tuple[str, int]] = field(default_factory=dict)

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


def config_of(database: Database) -> dict[str, Any]:
    server = database.server
    table = {
        "name": "orders",
        "source": {"table": "public.orders"},
        "pull": {"strategy": "timestamp", "watermark": ["updated_at"]},
        "lake": {"path": "lake/orders"},
        "mask": {"NOTE": "hmac"},
        "policy": {"quarantine": False},
        "rules": "rules.yaml",
    }
    outputs = {
        "junit": "out/junit.xml",
        "prometheus": "out",
        "ndjson": "out/runs.ndjson",
        "openlineage": {"file": "out/lineage.ndjson", "namespace": "test"},
        "github": True,
    }
    url = f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{database.name}"
    source = {"url": url, "password": "${file:password}"}
    audit = {"key": "${file:audit_key}"}
    return {"version": 1, "source": source, "outputs": outputs, "audit": audit, "tables": [table]}


@pytest.fixture(scope="module")
def story(
    postgres_server: PostgresServer, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """Pull, drift, sweep, look at it in every way, apply, and a nightly run with rules that fail."""
    assert spark is not None
    folder = tmp_path_factory.mktemp("audit")
    with fresh_database(postgres_server) as database, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "out").mkdir()
        patch.setenv("GITHUB_STEP_SUMMARY", str(folder / "out" / "summary.md"))
        (folder / "password").write_text(database.server.password)
        (folder / "audit_key").write_text(KEY)
        (folder / "rules.yaml").write_text(json.dumps({"version": 1, "table": "orders", "rules": RULES}))
        (folder / "reconcile.yaml").write_text(json.dumps(config_of(database)))
        database.execute(TABLE, ROWS)
        told = Story(folder)
        head = told.json("pull")["audit_head"]
        database.execute(*DRIFT)
        told.call("-v", "sweep")
        for line in commands(ROOT / "docs" / "audit.md"):
            words = shlex.split(line.replace("HASH", head))
            assert words[0] == TOOL
            told.walked[line] = (told.call(*words[1:]), told.codes[-1][1])
        told.call("findings", "latest", "--format", "csv")
        told.call("findings", "latest")
        told.call("plan", "latest", "--format", "json")
        database.execute(
            "update orders set note = 'note-canary-last', \"Email\" = 'mail-canary-last' where order_id = 9"
        )
        told.call("-v", "run", "--apply")
        told.call("report", "latest", "-o", "out/page.html")
        told.call("report", "latest", "--index", "-o", "out/index.html")
        told.call("report", "latest", "--mail", "-o", "out/mail.html")
        first, *_, last = told.runs("sweep", "run")
        told.call("diff", first, last)
        yield told


def steps(story: Story, start: str) -> list[str]:
    return [out for line, (out, _) in story.walked.items() if line.startswith(f"{TOOL} {start}")]


def test_walk_of_the_document_leads_from_a_finding_to_the_commit_and_back(story: Story) -> None:
    assert [(line, code) for line, (_, code) in story.walked.items() if code] == []
    assert len(story.walked) > 10
    (finding,) = map(json.loads, steps(story, "findings")[0].splitlines())
    assert (finding["kind"], finding["key"]) == ("deleted", {"order_id": 7})
    sweep, apply = story.runs("sweep")[0], story.runs("apply")[0]
    plan = json.loads((story.folder / "reports" / sweep / "orders" / "plan.json").read_text())["plan_id"]
    assert plan in steps(story, "plan")[0]
    (table,) = story.result(apply)["tables"]
    assert (table["plan_id"], table["corrections"]["applied"]) == (plan, 4)

    document = story.json("audit", "lake")

    (commit,) = [one for one in document["commits"] if one["run_id"] == apply]
    assert (commit["kind"], commit["plan"], commit["sweep"]) == ("apply", plan, sweep)
    assert [commit["instant"]] == table["corrections"]["instants"]
    assert plan in steps(story, "audit lake")[0]
    kinds = [one["kind"] for one in document["commits"]]
    assert (kinds.count("apply"), kinds[-1], [one["flaws"] for one in document["commits"] if one["flaws"]]) == (
        2,
        "pull",
        [],
    )
    verified = story.json("audit", "verify", "--head", commit["audit_head"])
    assert (verified["flaws"], verified["published_line"]) == ([], commit["after_line"])
    assert verified["sealed"] == verified["lines"]
    assert story.result(apply)["provenance"]["audit_head_before"] == commit["audit_head"]


def test_log_whose_end_was_cut_off_is_told_by_the_lake(story: Story) -> None:
    log = story.folder / "reports" / "audit.jsonl"
    whole = log.read_bytes()
    try:
        log.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
        found = story.json("audit", "lake")
    finally:
        log.write_bytes(whole)

    assert found["exit_code"] == 1
    assert "cut off or rewritten" in str(found["commits"][0]["flaws"])
    assert found["commits"][-1]["flaws"] == []


def everything_of(story: Story) -> dict[str, str]:
    """All text that the tool wrote or printed; Parquet as its values."""
    found = {f"printed {number}": text for number, text in enumerate(story.printed)}
    ours = [story.folder / "reports", story.folder / "out"]
    for path in (path for one in ours for path in one.rglob("*") if path.is_file()):
        name = str(path.relative_to(story.folder))
        found[name] = path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            found[f"{name} values"] = f"{table.to_pylist()} {table.schema.metadata}"
    return found


def test_values_of_masked_columns_stand_in_no_artefact_and_those_of_others_do(story: Story) -> None:
    everything = everything_of(story)
    suffixes = {Path(name).suffix for name in everything}

    hashed = [kind(text.encode()).hexdigest() for text in WHOLE for kind in (hashlib.sha256, hashlib.md5, hashlib.sha1)]
    bad = [(name, one) for name, text in everything.items() for one in (*CANARIES, *hashed, KEY) if one in text]
    assert bad == []
    # The search does find what is not masked, in what people and scripts read.
    seen = {Path(name).suffix or name for name, text in everything.items() if any(one in text for one in SEEN)}
    assert {".html", ".parquet values"} <= seen
    assert {".html", ".json", ".jsonl", ".ndjson", ".xml", ".prom", ".md", ".parquet"} <= suffixes
    notes = next(table["notes"] for run in story.runs("sweep") for table in story.result(run)["tables"])
    assert any(
        note.startswith("masked, being named like personal data (redact): Email, phone_no, salary;") for note in notes
    )


def test_rules_on_masked_columns_ran_and_failed_and_show_keys_alone(story: Story) -> None:
    (table,) = story.result(story.runs("run")[0])["tables"]

    failed = {rule["id"]: rule["status"] for rule in table["rules"]}
    assert failed == {**dict.fromkeys(("one", "two", "four", "five", "six", "seven"), "fail"), "three": "pass"}
