"""The suites of `rules/` are what `rules lint` takes, and their page names each of them with a config that is legal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hudi_reconcile.app.rules import lint_files
from hudi_reconcile.config.load import load_config
from tests.support.docs import ROOT, blocks

RULES = ROOT / "rules"
README = RULES / "README.md"
SUITES = sorted(RULES.glob("*.yaml"))


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: path.stem)
def test_suite_is_taken_by_lint_without_a_note(suite: Path) -> None:
    (linted,) = lint_files((suite,), None)

    assert (linted.table, linted.notes) == ("orders", ())
    assert linted.rules >= 5


def test_page_of_the_suites_links_each_of_them() -> None:
    text = README.read_text("utf-8")

    assert re.findall(r"^\| \[([\w.]+)\]\(\1\)", text, re.MULTILINE) == ["orders.yaml", "drift.yaml", "pii.yaml"]
    assert [path.name for path in SUITES] == ["drift.yaml", "orders.yaml", "pii.yaml"]
    assert len(text.splitlines()) <= 20


def test_config_beside_the_suites_is_legal_and_masks(tmp_path: Path) -> None:
    (block,) = blocks(README, "yaml")
    (table,) = YAML(typ="safe").load(block)["tables"]
    source = {"url": "postgresql+psycopg://reader@127.0.0.1:5432/shop"}
    (tmp_path / "reconcile.yaml").write_text(json.dumps({"version": 1, "source": source, "tables": [table]}))

    found = load_config(tmp_path / "reconcile.yaml", {}).tables[0]

    assert found.rules == tmp_path / "rules" / "pii.yaml"
    assert dict(found.mask) == {"note": "redact", "receipt": "hmac"}
