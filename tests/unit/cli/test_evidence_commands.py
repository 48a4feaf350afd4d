"""The commands that look at finished runs: right output, right exit code, nothing written but what was asked for."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudi_reconcile
from hudi_reconcile.app.store import plan_document
from hudi_reconcile.cli.main import run
from hudi_reconcile.evidence.store import Store
from tests.unit.core.test_plan import PLAN as MADE
from tests.unit.report.stories import FINDINGS, LEFT, PLAN, RUN_ID, Document, Story, all_stories, finding, in_lake

NOON_MICROS = 1_795_262_400_000_000
# The six findings of the story, and what makes them the nine that its result counts.
STORED = [
    *FINDINGS,
    finding("updated_without_watermark", {"order_id": 90050}, ["status"], in_lake(), in_lake()),
    *(finding("deleted", {"order_id": number}, [], None, in_lake()) for number in (77124, 77125)),
    *(finding("settled", {"order_id": number}, [], None, in_lake()) for number in (1, 2)),
]


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without config; its `reports` folder is what the commands then read."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports"


def write_run(reports: Path, story: Story, *, at: int = 0, stored: list[Document] | None = None) -> str:
    with Store(reports).begin(NOON_MICROS + at * 1_000_000) as folder:
        for name, plan in story.plans.items():
            folder.write_plan(name, written_plan(plan, folder.run_id))
        if stored is not None:
            write_findings(folder.findings_dir("orders"), stored)
        folder.write_result({**story.run, "run_id": folder.run_id})
        folder.finish()
    return folder.run_id


def written_plan(story: Document, run_id: str) -> Document:
    """The story's plan as a sweep writes it."""
    changed = {name: story[name] for name in ("table", "upserts", "deletes", "by_kind")}
    return plan_document(replace(MADE, run_id=run_id, **changed))


def write_findings(folder: Path, stored: list[Document]) -> None:
    folder.mkdir()
    rows = {name: [one[name] for one in stored] for name in ("kind", "action")}
    lines = [json.dumps(one) for one in stored]
    pq.write_table(pa.table({**rows, "line": lines, "segment": [0] * len(stored)}), folder / "part-00000.parquet")


@pytest.fixture
def swept(reports: Path) -> str:
    return write_run(reports, all_stories()["drift"], stored=STORED)


def hashes_of(folder: Path) -> Mapping[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def document_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.usefixtures("swept")
def test_findings_lists_every_drift_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["findings", "latest", "--format", "ndjson"])

    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert listed == STORED[:9]


@pytest.mark.usefixtures("swept")
def test_findings_of_a_kind_are_those_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["findings", "latest", "-t", "orders", "--kind", "settled", "--format", "csv"])

    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert code == 0
    assert [row["key"] for row in rows] == ['{"order_id":1}', '{"order_id":2}']


@pytest.mark.usefixtures("swept")
def test_findings_as_text_escape_what_a_terminal_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["findings", "latest"])

    out = capsys.readouterr().out
    assert code == 0
    assert len(out.splitlines()) == 10
    assert "\x1b" not in out


def test_findings_that_are_not_complete_on_disk_exit_3(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(reports, all_stories()["drift"], stored=STORED[:8])

    assert run(["findings", "latest"]) == 3
    assert "2 deleted of 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["findings", "latest", "--kind", "delete"], "late_arriving"),
        (["findings", "latest", "-t", "nope"], "use one of orders"),
        (["findings", "20200101T000000Z-000000"], "20261121T1"),
        (["plan", "latest", "-t", "nope"], "use one of orders"),
    ],
)
@pytest.mark.usefixtures("swept")
def test_unknown_names_exit_2_and_list_the_legal_ones(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(arguments) == 2
    assert said in capsys.readouterr().err


def test_findings_of_a_table_that_was_not_compared_say_so(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(reports, all_stories()["unverified"], stored=STORED)

    code = run(["findings", "latest", "-t", "payments"])

    assert code == 0
    assert "payments: not compared: 127.0.0.1:5432/shop did not answer" in capsys.readouterr().err


def write_apply(reports: Path, stored: Sequence[Document] = LEFT) -> str:
    """An apply that left what is `stored`."""
    story = all_stories()["incomplete"]
    with Store(reports).begin(NOON_MICROS) as folder:
        write_left(Path(folder.build_uncorrected_path("orders")[0].removeprefix("file://")), stored)
        folder.write_result({**story.run, "run_id": folder.run_id})
        folder.finish()
    return folder.run_id


def write_left(folder: Path, stored: Sequence[Document]) -> None:
    folder.mkdir()
    rows = {name: [one[name] for one in stored] for name in ("kind", "reason")}
    pq.write_table(pa.table({**rows, "line": [json.dumps(one) for one in stored]}), folder / "part-00000.parquet")


def test_uncorrected_rows_of_an_apply_are_listed_with_their_reasons(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = write_apply(reports)

    assert run(["findings", "latest", "--uncorrected", "--format", "ndjson"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == LEFT
    assert run(["findings", run_id, "--uncorrected"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "table   reason      action  kind           key             rules",
        "orders  superseded  delete  deleted        order_id=77123  -",
        "orders  moved       upsert  late_arriving  order_id=90001  ord-001",
    ]
    assert run(["findings", run_id, "--uncorrected", "--reason", "moved", "--format", "csv"]) == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert (row["key"], row["reason"], row["rules"]) == ('{"order_id":90001}', "moved", "ord-001")
    assert run(["findings", run_id, "--uncorrected", "--kind", "deleted", "--format", "csv"]) == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert row["reason"] == "superseded"


def test_rows_that_differ_beside_an_empty_list_of_what_was_left_are_told_with_the_way_to_see_them(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = all_stories()["incomplete"]
    (orders,) = story.run["tables"]
    none_left = {**orders["uncorrected"], "rows": 0, "by_reason": {}, "listed_rows": 0, "path": None}
    with Store(reports).begin(NOON_MICROS) as folder:
        table = {**orders, "uncorrected": none_left, "findings_left": {"late_arriving": 3}}
        folder.write_result({**story.run, "run_id": folder.run_id, "tables": [table]})
        folder.finish()

    assert run(["findings", "latest", "--uncorrected"]) == 0

    said = capsys.readouterr()
    assert said.out == ""
    assert "note: orders: 3 rows still differed when the touched segments were compared again" in said.err
    assert "sweep -t orders\n" in said.err


def test_uncorrected_rows_that_are_not_complete_on_disk_exit_3(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_apply(reports, LEFT[:1])

    assert run(["findings", "latest", "--uncorrected"]) == 3
    assert "holds 1 of 2 rows that result.json counts" in capsys.readouterr().err


def test_plan_that_was_refused_whole_is_listed_by_its_own_findings(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(reports, all_stories()["refused"])

    assert run(["findings", "latest", "--uncorrected"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "orders: guard max_deletes: limit 1000, found 4811; every row of the plan: hudi-reconcile" in said.err
    assert f" findings {RUN_ID}\n" in said.err


def test_table_of_an_apply_that_broke_off_without_a_list_is_named_beside_those_that_have_one(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = all_stories()["incomplete"]
    (orders,) = story.run["tables"]
    failure = {"type": "KeyError", "message": "unexpected KeyError", "fix": "report it"}
    broken = {**orders, "name": "items", "outcome": "unverified", "error": failure}
    del broken["uncorrected"]
    with Store(reports).begin(NOON_MICROS) as folder:
        write_left(Path(folder.build_uncorrected_path("orders")[0].removeprefix("file://")), LEFT)
        folder.write_result({**story.run, "run_id": folder.run_id, "tables": [orders, broken]})
        folder.finish()

    assert run(["findings", "latest", "--uncorrected"]) == 0
    assert "note: items: no list of what was left: unexpected KeyError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--uncorrected", "--reason", "lost"], "use one of superseded, not_committed"),
        (["--uncorrected", "--kind", "delete"], "late_arriving"),
        (["--uncorrected", "-t", "nope"], "use one of orders"),
        (["--reason", "moved"], "add --uncorrected"),
    ],
)
def test_unknown_reasons_exit_2_and_list_the_legal_ones(
    reports: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    write_apply(reports)

    assert run(["findings", "latest", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_night_that_applied_nothing_has_no_list_of_what_it_left(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(reports, all_stories()["rules failed"])

    assert run(["findings", "latest", "--uncorrected"]) == 2
    assert "tells of no corrections that were left" in capsys.readouterr().err


def test_report_shows_the_first_rows_that_an_apply_left_from_the_run_s_files(reports: Path, tmp_path: Path) -> None:
    run_id = write_apply(reports)

    assert run(["report", run_id, "-o", str(tmp_path / "page.html")]) == 0

    page = (tmp_path / "page.html").read_text()
    assert f" findings {run_id} --uncorrected</code>" in page
    assert "order_id=77123" in page


def test_latest_is_the_newest_sweep_even_after_a_pull(
    reports: Path, swept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(reports, all_stories()["pulled"], at=60)

    code = run(["plan", "latest", "--format", "json"])

    assert code == 0
    assert document_of(capsys)["run_id"] == swept


def test_plan_as_json_holds_the_plan_as_written(swept: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["plan", swept, "--format", "json"])

    document = document_of(capsys)
    assert (code, document["exit_code"], document["error"]) == (0, 0, None)
    assert document["plans"] == [written_plan(PLAN, swept)]


def test_plan_as_text_ends_in_the_command_to_apply_it(swept: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["plan", "latest"])

    assert capsys.readouterr().out.rstrip().endswith(f"apply {swept} -t orders")


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize(
    ("place", "value"), [(("steps", 0, "text"), "all is well"), (("expires_utc",), "2099-01-01"), (("deletes",), 0)]
)
def test_plan_that_was_edited_is_refused_or_shown_as_it_was_made(
    reports: Path,
    swept: str,
    place: tuple[Any, ...],
    value: object,
    capsys: pytest.CaptureFixture[str],
    *,
    logged: bool,
) -> None:
    path = reports / swept / "orders" / "plan.json"
    edited = json.loads(path.read_text())
    within = edited
    for part in place[:-1]:
        within = within[part]
    within[place[-1]] = value
    path.write_text(json.dumps(edited))
    if not logged:
        (reports / "audit.jsonl").unlink()

    code = run(["plan", swept, "--format", "json"])

    document = document_of(capsys)
    if logged or place == ("deletes",):
        assert (code, "was changed" in document["error"]["message"]) == (5, True)
    else:
        assert document["plans"] == [written_plan(PLAN, swept)]
    assert run(["plan", swept]) == code
    shown = capsys.readouterr().out
    assert "all is well" not in shown
    assert "2099" not in shown


def test_plan_of_another_run_is_refused(reports: Path, swept: str, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_run(reports, all_stories()["drift"], at=60)
    (reports / "audit.jsonl").unlink()
    (reports / other / "orders" / "plan.json").write_bytes((reports / swept / "orders" / "plan.json").read_bytes())

    assert run(["plan", other]) == 5
    assert f"the plan of run {swept}" in capsys.readouterr().err


def test_run_without_a_plan_exits_2(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(reports, all_stories()["clean"])

    assert run(["plan", "latest", "--format", "json"]) == 2
    assert "no plan (orders clean)" in document_of(capsys)["error"]["message"]


def test_report_is_rebuilt_from_the_runs_files_and_changes_none(
    reports: Path, swept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = hashes_of(reports)

    code = run(["report", "latest", "-o", "out.html"])

    page = Path("out.html").read_text("utf-8")
    assert code == 0
    assert capsys.readouterr().out == "out.html\n"
    assert "All 9." in page
    assert swept in page
    assert hashes_of(reports) == before


def test_report_without_a_name_is_named_after_the_run(swept: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["report", "latest", "--format", "json"])

    assert document_of(capsys)["path"] == f"report-{swept}.html"
    assert Path(f"report-{swept}.html").exists()


def test_report_shows_the_trend_up_to_its_run_and_none_of_later_ones(
    reports: Path, swept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    later = write_run(reports, all_stories()["clean"], at=60)
    write_run(reports, all_stories()["clean"], at=120)

    run(["report", swept, "-o", "first.html"])
    run(["report", later, "-o", "second.html"])

    first, second = (Path(name).read_text("utf-8") for name in ("first.html", "second.html"))
    assert "9 drifted rows in the only comparison so far." in first
    assert later not in first
    assert "Drifted rows over the last 2 comparisons: 0 to 9, 0 in the newest." in second
    assert capsys.readouterr().err == ""


def test_index_links_from_where_it_lies_to_the_newest_verdict_of_each_table(
    reports: Path, swept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pulled = write_run(reports, all_stories()["pulled"], at=60)
    Path("site").mkdir()

    codes = [run(["report", "latest", "--index", "-o", "site/index.html"]), run(["report", pulled, "--index"])]

    assert codes == [0, 0]
    assert capsys.readouterr().out.splitlines() == ["site/index.html", f"index-{pulled}.html"]
    assert f'href="../reports/{swept}/report.html#table-1"' in Path("site/index.html").read_text("utf-8")
    assert f'href="reports/{swept}/report.html#table-1"' in Path(f"index-{pulled}.html").read_text("utf-8")


def test_mail_of_a_run_is_its_verdict_without_style_sheet(swept: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["report", "latest", "--mail", "--format", "json"])

    path = document_of(capsys)["path"]
    assert (code, path) == (0, f"mail-{swept}.html")
    assert "9 rows of orders differ" in Path(path).read_text("utf-8")


@pytest.mark.usefixtures("swept")
def test_report_as_pdf_without_a_browser_exits_2_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HUDI_RECONCILE_CHROMIUM", str(tmp_path / "nothing"))

    code = run(["report", "latest", "--pdf", "--format", "json"])

    assert code == 2
    assert "apt-get install chromium" in document_of(capsys)["error"]["fix"]
    assert list(tmp_path.glob("*.pdf")) == []


def test_report_of_a_coverage_that_cannot_be_read_exits_3(
    reports: Path, swept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (reports / swept / "orders" / "coverage.json").write_text('{"version": 7}')
    (reports / "audit.jsonl").unlink()  # else the file is held against it first

    assert run(["report", "latest", "-o", "out.html"]) == 3
    assert "coverage.json cannot be read" in capsys.readouterr().err
    assert not Path("out.html").exists()


@pytest.mark.parametrize("where", ["reports/{}/new.html", "reports/{}/orders/../report.html", "nowhere/out.html"])
def test_report_into_a_run_or_nowhere_exits_2(swept: str, where: str) -> None:
    path = Path(where.format(swept))

    assert run(["report", "latest", "-o", str(path)]) == 2
    assert not path.exists()


def test_history_lists_runs_newest_first(reports: Path, swept: str, capsys: pytest.CaptureFixture[str]) -> None:
    pulled = write_run(reports, all_stories()["pulled"], at=60)

    code = run(["history"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line.split()[:3] for line in lines] == [[pulled, "pull", "pulled"], [swept, "sweep", "drift"]]
    assert lines[1].endswith("orders drift (late_arriving 1, updated_without_watermark 5, deleted 3)")


def test_history_has_a_line_for_each_table_of_a_run_and_json_what_it_took(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = all_stories()["unverified"]
    run_id = write_run(reports, story)
    names = [table["name"] for table in story.run["tables"]]

    assert run(["history"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    run(["history", "--format", "json"])
    (past,) = document_of(capsys)["runs"]

    assert head.startswith(f"{run_id}  sweep       unverified  3 tables: ")
    assert [line.strip().startswith(name) for line, name in zip(lines, names, strict=True)] == [True] * 3
    assert all(line.endswith(" s") for line in lines)
    assert [(one["name"], one["seconds"], one["pulled_rows"]) for one in past["tables"]] == [
        (table["name"], table["cost"]["seconds"], None) for table in story.run["tables"]
    ]
    assert [one["error"] for one in past["tables"]] == [
        table["error"] and table["error"]["type"] for table in story.run["tables"]
    ]


def test_history_as_json_of_a_table_is_one_document(swept: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["history", "-t", "orders", "--format", "json"])

    (past,) = document_of(capsys)["runs"]
    assert (past["run_id"], past["outcome"], past["tables"][0]["findings"]["deleted"]) == (swept, "drift", 3)


def test_history_of_a_table_ends_in_its_trend(reports: Path, swept: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(reports, all_stories()["drift"], at=60, stored=STORED)

    run(["history", "-t", "orders"])
    last = capsys.readouterr().out.splitlines()[-1]
    run(["history", "-t", "orders", "--format", "json"])
    trend = document_of(capsys)["trends"]["orders"]

    assert last.startswith(
        "orders: Drifted rows over the last 2 comparisons: 9 to 9, 9 in the newest. Last compared whole: "
    )
    assert ([point["drift"] for point in trend["points"]], trend["points"][0]["run_id"]) == ([9, 9], swept)


def test_commands_without_reports_or_config_say_what_to_do(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history"]) == 2
    assert "hudi-reconcile init" in capsys.readouterr().err
    assert not reports.exists()


def test_audit_verify_prints_the_head_and_finds_a_changed_file_and_a_cut_log(
    reports: Path, swept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(reports, all_stories()["pulled"], at=60)
    assert run(["audit", "verify", "--format", "json"]) == 0
    head = document_of(capsys)["head"]
    assert run(["audit", "verify", "--head", head]) == 0
    assert capsys.readouterr().out.startswith("intact: 2 lines")

    (reports / swept / "result.json").write_text("{}")

    assert run(["audit", "verify", "--head", "0" * 63 + "1"]) == 1
    shown = capsys.readouterr().out
    assert f"line 1, run {swept}: result.json was changed" in shown
    assert "log: the published head" in shown
    assert shown.splitlines()[-1].startswith("NOT INTACT: 2 lines")


@pytest.mark.usefixtures("swept")
def test_plan_to_approve_that_is_named_too_short_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["approve", "latest", "--as", "alice", "--plan", "5d0f"]) == 2
    assert "too short" in capsys.readouterr().err


def edit_result(reports: Path, run_id: str) -> None:
    path = reports / run_id / "result.json"
    path.write_text(path.read_text().replace('"drift"', '"clean"'))


def edit_findings(reports: Path, run_id: str) -> None:
    folder = reports / run_id / "orders" / "findings"
    (folder / "part-00000.parquet").unlink()
    folder.rmdir()
    write_findings(folder, [{**one, "key": {"order_id": 1}} for one in STORED])


@pytest.mark.parametrize("edit", [edit_result, edit_findings])
@pytest.mark.parametrize("command", [["findings"], ["report", "-o", "x.html"], ["report", "--mail", "-o", "x.html"]])
def test_run_whose_files_are_not_what_the_log_has_of_them_is_not_shown(
    swept: str, reports: Path, command: list[str], edit: Callable[[Path, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    edit(reports, swept)

    assert run([command[0], swept, *command[1:]]) == 5

    said = capsys.readouterr()
    assert said.out == ""
    assert "was changed since: it is not what the audit log has of it" in said.err
    assert "fix: look: hudi-reconcile audit verify" in said.err
    assert not Path("x.html").exists()


def test_findings_that_were_added_or_removed_are_refused(
    swept: str, reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = reports / swept / "orders" / "findings"
    (folder / "part-00001.parquet").write_bytes((folder / "part-00000.parquet").read_bytes())
    assert run(["findings", swept]) == 5
    (folder / "part-00000.parquet").unlink()
    (folder / "part-00001.parquet").unlink()
    assert run(["report", swept]) == 5
    assert "orders/findings/part-00000.parquet" in capsys.readouterr().err


def test_run_that_no_line_of_a_whole_log_names_is_shown(swept: str, reports: Path) -> None:
    edit_result(reports, swept)
    (reports / "audit.jsonl").unlink()

    assert run(["findings", swept]) == 0
    assert run(["history"]) == 0


def test_run_whose_line_was_edited_with_its_result_is_not_shown(swept: str, reports: Path) -> None:
    log = reports / "audit.jsonl"
    before = hashlib.sha256((reports / swept / "result.json").read_bytes()).hexdigest()
    edit_result(reports, swept)
    after = hashlib.sha256((reports / swept / "result.json").read_bytes()).hexdigest()
    log.write_text(log.read_text().replace(before, after))

    assert run(["report", swept]) == 5


def test_history_and_index_say_of_a_changed_run_that_it_was_changed(
    swept: str, reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = write_run(reports, all_stories()["drift"], at=1, stored=STORED)
    edit_result(reports, swept)

    assert run(["history"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert (first.split()[:3], second.split()[0]) == ([newer, "sweep", "drift"], swept)
    assert "its files were changed since: hudi-reconcile audit verify" in second
    assert "clean" not in second

    assert run(["report", newer, "--index", "-o", "index.html"]) == 0
    assert f"{swept}: its files were changed since" in Path("index.html").read_text()


def test_fix_of_a_call_with_another_config_names_that_config(
    swept: str, reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = 'version: 1\nsource: {url: "postgresql+psycopg://r@h/d"}\ntables:\n'
    (reports.parent / "shop.yaml").write_text(
        f"{config}  - {{name: orders, source: {{table: a}}, lake: {{path: a}}}}\n"
    )
    edit_result(reports, swept)

    assert run(["-c", "shop.yaml", "report", swept]) == 5

    assert "fix: look: hudi-reconcile -c shop.yaml audit verify" in capsys.readouterr().err


# For a child beside libraries of the lowest versions, where the product itself is not installed.
PRODUCT_IN_REACH = {**os.environ, "PYTHONPATH": str(Path(hudi_reconcile.__file__).parent.parent)}

LOOKS = ("history", "plan latest", "findings latest", "report latest", "audit verify", "diff latest")


@pytest.mark.parametrize("command", LOOKS)
def test_a_look_at_finished_runs_waits_for_no_spark_and_no_database_driver(reports: Path, command: str) -> None:
    write_run(reports, all_stories()["drift"], stored=STORED)
    code = (
        "import sys; from hudi_reconcile.cli.main import run; run(sys.argv[1:]);"
        "heavy = ('pyspark', 'py4j', 'sqlalchemy', 'psycopg', 'great_expectations', 'pandas');"
        "sys.exit('loaded: ' + ' '.join(name for name in heavy if name in sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()],
        capture_output=True,
        text=True,
        check=False,
        env=PRODUCT_IN_REACH,
    )

    assert done.stderr.splitlines()[-1] == "loaded: "


@pytest.mark.parametrize("command", [("history",), ("history", "--format", "json"), ("audit", "verify")])
def test_run_that_was_killed_and_is_not_ended_is_said_beside_the_list(
    reports: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    ended = write_run(reports, all_stories()["clean"])
    killed = (
        "import os; from pathlib import Path; from hudi_reconcile.evidence.store import Store\n"
        f"with Store(Path({str(reports)!r})).begin({NOON_MICROS + 9}) as folder:\n"
        " print(folder.run_id, flush=True), os.kill(os.getpid(), 9)"
    )
    child = subprocess.run(
        [sys.executable, "-c", killed], capture_output=True, text=True, check=False, env=PRODUCT_IN_REACH
    )
    run_id = child.stdout.strip()

    assert run(list(command)) == 0
    said = capsys.readouterr()
    assert f"run {run_id} was killed: the next command that works on tables ends its folder" in said.err
    assert (run_id in said.out, ended in said.out) == (False, command[0] == "history")
