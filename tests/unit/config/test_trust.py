"""What a config gives up is said first, wherever the run is told: validate, doctor, result, text, report, mail, summary, chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudi_reconcile.app.doctor.checks import checks
from hudi_reconcile.cli.main import run
from hudi_reconcile.cli.render import render_run
from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import parse_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.secrets import read_text_file
from hudi_reconcile.config.selection import TableChoice
from hudi_reconcile.config.trust import list_trust, sentences
from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.report.dry_run import pull_plan_text
from hudi_reconcile.report.outputs.github import render_summary
from hudi_reconcile.report.outputs.webhook import build_message
from hudi_reconcile.report.page.html import build_mail, render_mail, render_report
from hudi_reconcile.report.page.sections import RunDocuments

CONFIG = """\
version: 1
source: {url: "jdbc:derby:/nowhere/shop"%s}
tables:
  - {name: orders, source: {table: orders}, lake: {path: lake}}
"""
TRUSTING = CONFIG % ", trust_properties: true"
CAREFUL = CONFIG % ""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reconcile.yaml").write_text(TRUSTING, encoding="utf-8")
    return tmp_path


def load(text: str) -> Config:
    return parse_config(text, Place("reconcile.yaml", Path("/base")), {}, read_text_file).config


def finished(trust: tuple[str, ...]) -> RunResult:
    return RunResult("20261121T132616Z-3f9a1c", "pull", "s", "e", (TableResult("orders", Outcome.PULLED),), {}, trust)


def test_config_that_leaves_every_check_on_gives_nothing_up() -> None:
    assert list_trust(load(CAREFUL)) == ()


def test_code_that_spark_loads_unhashed_is_said_too() -> None:
    (found,) = list_trust(load(CAREFUL + "spark: {conf: {spark.jars.packages: 'a:b:1', spark.executor.memory: 2g}}\n"))

    assert (found.key, "spark.jars.packages" in found.sentence, found.fix) == (
        "spark.conf", True, "list the files in jars.paths instead",
    )  # fmt: skip


def test_jars_that_executors_load_by_their_name_alone_are_said_too() -> None:
    (found,) = list_trust(load(CAREFUL + "spark: {master: yarn}\njars: {executor_folder: /opt/jars}\n"))

    assert (found.key, "/opt/jars" in found.sentence) == ("jars.executor_folder", True)


def test_every_face_of_a_run_says_first_what_was_not_checked() -> None:
    (said,) = sentences(load(TRUSTING))
    result = finished((said,))
    document = run_document(result)
    page = render_report(document, RunDocuments())

    assert said.startswith("source.trust_properties is true")
    assert document["trust"] == [said]
    assert render_run(result).startswith(f"NOT CHECKED  {said}\nPULLED  ")
    assert pull_plan_text([], (said,)).startswith(f"NOT CHECKED  {said}\nDRY RUN")
    assert 0 < page.index(said) < page.index('id="verdict"')
    mail = render_mail(build_mail(document, {}))
    assert 0 < mail.index(said) < mail.index("<h1")
    assert "Not checked" in render_summary(document).splitlines()[2]
    assert f"NOT CHECKED {said}" in build_message(document)["text"]


def test_run_that_gave_nothing_up_and_one_of_an_older_version_say_nothing() -> None:
    document = run_document(finished(()))
    older = {name: value for name, value in document.items() if name != "trust"}

    for one in (document, older):
        assert "Not checked" not in render_report(one, RunDocuments()) + render_mail(
            build_mail(one, {})
        ) + render_summary(one)
        assert "NOT CHECKED" not in build_message(one)["text"]


@pytest.mark.usefixtures("home")
def test_validate_and_doctor_say_what_the_config_gives_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "validate"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("NOT CHECKED  source.trust_properties is true: ")
    assert second == "reconcile.yaml: ok (1 table: orders)"

    assert run(["config", "validate", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["trust"] == [first.removeprefix("NOT CHECKED  ")]
    warned = next(one for one in checks(Path("reconcile.yaml"), TableChoice()) if one.name == "source.trust_properties")
    assert (warned.status, warned.detail) == ("warn", first.removeprefix("NOT CHECKED  "))
    assert warned.fix


POSTGRES = """\
version: 1
source: {url: "postgresql+psycopg://reader@%s"%s}
tables:
  - {name: orders, source: {table: orders}, lake: {path: lake}}
"""


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "db.example/shop",
            "source.insecure is true: TLS is not verified; nothing proves that db.example is the database",
        ),
        ("db.example/shop?sslmode=require", "source.insecure is true: TLS is not verified"),
        ("localhost.evil.example/shop?sslmode=disable", "source.insecure is true: no TLS"),
        ("db.example/shop?sslmode=verify-full", ""),
        ("127.0.0.1/shop?sslmode=disable", ""),
        ("[::1]/shop", ""),
    ],
)
def test_server_that_nobody_verifies_is_said_and_one_that_is_verified_is_not(url: str, said: str) -> None:
    found = list_trust(load(POSTGRES % (url, ", insecure: true")))

    assert [one.key for one in found] == ["source.insecure"] * bool(said)
    assert "".join(one.sentence for one in found).startswith(said)


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca"])
def test_weak_mode_off_this_machine_is_a_config_error_with_its_line_and_the_way_out(mode: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(POSTGRES % (f"db.example/shop?sslmode={mode}", ""))

    (problem,) = refused.value.problems
    assert problem.startswith(f"reconcile.yaml:2: source.url: sslmode={mode} ")
    assert "insecure: true" in problem
    load(POSTGRES % (f"127.0.0.1/shop?sslmode={mode}", ""))
    load(POSTGRES % (f"db.example/shop?sslmode={mode}", ", insecure: true"))


def test_jdbc_url_that_leaves_its_server_unchecked_needs_the_word_and_an_unknown_one_is_said() -> None:
    unchecked = CONFIG.replace("jdbc:derby:/nowhere/shop", "jdbc:teradata://db/SSLMODE=REQUIRE")
    with pytest.raises(ConfigError, match=r"leaves the server unchecked .sslmode."):
        load(unchecked % "")
    (told,) = sentences(load(unchecked % ", insecure: true"))
    assert told.startswith("source.insecure is true: TLS off or not checked")

    (given,) = list_trust(load(unchecked % ", insecure: true"))
    assert given.fix.startswith("remove source.insecure")

    (given,) = list_trust(load(CONFIG.replace("derby:/nowhere/shop", "sap://hana:39015/") % ""))
    assert given.sentence.startswith("source.url: TLS not known (jdbc)")
    assert given.fix == "verify the server by the driver's own settings (docs/jdbc.md)"
    assert sentences(load(CONFIG.replace("derby:/nowhere/shop", "teradata://db/SSLMODE=VERIFY-FULL") % "")) == ()
