"""Properties on the command line, as far as no Spark is needed: wrong calls, and the config that `init` makes of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudi_reconcile.app.setup import build_props_call
from hudi_reconcile.cli.main import run

PROPS = """
hoodie.streamer.jdbc.url=jdbc:postgresql://127.0.0.1:1/shop
hoodie.streamer.jdbc.user=reader
hoodie.streamer.jdbc.password=geheim
hoodie.streamer.jdbc.table.name=public.orders
hoodie.table.name=orders
hoodie.base.path=lake/orders
"""
INCREMENTAL = f"{PROPS}hoodie.streamer.jdbc.incr.pull=true\nhoodie.streamer.jdbc.table.incr.column.name=at\n"


@pytest.mark.parametrize("text", [PROPS, INCREMENTAL])
def test_config_of_a_properties_file_is_valid_and_holds_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.properties").write_text(text)

    assert run(["init", "--from-props", "orders.properties"]) == 0

    told = capsys.readouterr()
    written = (tmp_path / "reconcile.yaml").read_text()
    assert "geheim" not in f"{written}{told}"
    assert "set HUDI_RECONCILE_SOURCE_PASSWORD" in told.err
    assert ("at is taken for a time" in told.err) is (text is INCREMENTAL)
    assert run(["config", "validate"]) == 2
    assert "HUDI_RECONCILE_SOURCE_PASSWORD is not set" in capsys.readouterr().err
    monkeypatch.setenv("HUDI_RECONCILE_SOURCE_PASSWORD", "geheim")
    assert run(["config", "validate"]) == 0
    assert run(["init", "--from-props", "orders.properties"]) == 2


def test_properties_and_a_config_exclude_each_other_and_errors_are_one_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.properties"
    wrong.write_text("hoodie.streamer.jdbc.ulr=x\n")

    assert run(["-c", "other.yaml", "pull", "--props", str(wrong), "--format", "json"]) == 2
    assert "so -c has no meaning" in json.loads(capsys.readouterr().out)["error"]["message"]
    assert run(["pull", "--props", str(wrong), "--format", "json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert "did you mean 'hoodie.streamer.jdbc.url'" in error["message"]
    assert run(["pull", "--props", str(tmp_path / "none"), "--format", "json"]) == 2


@pytest.mark.parametrize("words", [["set", "--checkpoint", "2026-01-01"], ["reset"]])
def test_checkpoint_is_not_set_unasked_where_nobody_can_be_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    config = tmp_path / "reconcile.yaml"
    assert run(["init", str(tmp_path)]) == 0
    capsys.readouterr()

    assert run(["-c", str(config), "state", *words, "-t", "orders", "--format", "json"]) == 5

    assert "add --yes" in json.loads(capsys.readouterr().out)["error"]["fix"]


@pytest.mark.parametrize("words", [["--full"], []])
def test_pull_by_properties_that_is_typed_again_names_the_file_and_what_it_was_given(
    tmp_path: Path, words: list[str]
) -> None:
    file = tmp_path / "orders.properties"
    file.write_text(PROPS)

    call, _ = build_props_call(file, tmp_path / "reports", (), full="--full" in words)

    assert [*call.options] == ["--props", str(file), *words]
