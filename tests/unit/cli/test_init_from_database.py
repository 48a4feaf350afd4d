"""`init --from-database`, as far as no database is needed: what a call must name, and what is never written or printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudi_reconcile.cli.main import run
from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.overlay import NO_OVERLAY
from hudi_reconcile.config.proposals import read_base
from hudi_reconcile.config.secrets import read_text_file

URL = "postgresql+psycopg://reader@127.0.0.1:1/shop"
SECRET = "never-shown"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from-database", "--no-input"], "--url postgresql+psycopg://reader@db:5432/shop"),
        (["--from-database"], "--password-ref '${env:SHOP_PASSWORD}'"),
        (["--from-database", "--url", URL, "--password-ref", SECRET], "write '${env:NAME}' or '${file:PATH}'"),
        (["--from-database", "--url", URL, "--password-ref", f"${{env:X:-{SECRET}}}"], "write '${env:NAME}'"),
        (["--from-database", "--url", f"postgresql+psycopg://reader:{SECRET}@db/shop"], "holds a password"),
        (["--from-database", "--url", URL, "--set", f"source.password={SECRET}"], "is a secret, and other users"),
        (["--from-database", "--url", URL, "--set", "source.tyme_zone=UTC"], "did you mean"),
        (["--from-database", "--url", URL, "--from-props", "x"], "exclude each other"),
        (["--from-database", "--password-ref", "${env:X}"], "--password-ref goes with --url"),
        (["--url", URL], "--url is for --from-database"),
        (["--schema", "sales"], "--schema is for --from-database"),
        (["-t", "a"], "--table is for --from-database"),
    ],
)
def test_call_that_names_no_database_or_a_secret_is_usage_and_says_what_to_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["init", "new", *words, "--format", "json"]) == 2

    told = capsys.readouterr()
    error = json.loads(told.out)["error"]
    assert said in error["message"] + error["fix"]
    assert SECRET not in told.out + told.err
    assert list(tmp_path.iterdir()) == []


def test_config_that_is_there_is_not_overwritten_and_the_database_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reconcile.yaml").write_text("version: 1\n")

    assert run(["init", "--from-database", "--url", URL]) == 2
    assert "never overwrites: reconcile.yaml" in capsys.readouterr().err
    # Of another folder, the file's source is meant: it has none.
    assert run(["init", "new", "--from-database"]) == 2
    assert "source: is missing" in capsys.readouterr().err


def test_source_of_a_config_keeps_its_references_moves_its_paths_and_loses_its_secrets(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    text = f"""\
version: 1
source:
  url: jdbc:h2:/data/shop
  password: {SECRET}
  jdbc: {{user: reader, password_file: x}}
  trust_properties: true
jars: {{mode: paths, paths: [drivers/h2.jar, /opt/x.jar]}}
spark: {{conf: {{spark.app.name: "${{file:name.txt}}", spark.x.secret: {SECRET}}}}}
reports: elsewhere
"""
    old.mkdir()
    (old / "name.txt").write_text("shop")

    base = read_base(text, Place("old/reconcile.yaml", old), {}, read_text_file, NO_OVERLAY, folder=new)

    assert base.tree["source"] == {
        "url": "jdbc:h2:/data/shop",
        "password": "${env:HUDI_RECONCILE_SOURCE_PASSWORD}",
        "jdbc": {"user": "reader", "password_file": "${env:HUDI_RECONCILE_SOURCE_JDBC_PASSWORD_FILE}"},
        "trust_properties": True,
    }
    assert base.tree["jars"] == {"mode": "paths", "paths": [str(old / "drivers/h2.jar"), "/opt/x.jar"]}
    assert base.tree["spark"] == {
        "conf": {
            "spark.app.name": f"${{file:{old}/name.txt}}",
            "spark.x.secret": "${env:HUDI_RECONCILE_SPARK_CONF_SPARK_X_SECRET}",
        }
    }
    assert len(base.notes) == 3
    assert SECRET not in f"{base.tree}{base.notes}"
    assert "reports" not in base.tree
