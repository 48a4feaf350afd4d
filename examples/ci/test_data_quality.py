"""One test for each rule: `pytest test_data_quality.py`, with RECONCILE_CONFIG naming the config."""

import json
import os
import subprocess

import pytest


def checked():
    config = os.environ.get("RECONCILE_CONFIG", "reconcile.yaml")
    command = ["hudi-reconcile", "-c", config, "check", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    if "tables" not in document:
        pytest.exit(
            f"{document['error']['message']}\nfix: {document['error']['fix']}", returncode=document["exit_code"]
        )
    return document["tables"]


TABLES = checked()
RULES = [pytest.param(rule, id=f"{table['name']}-{rule['id']}") for table in TABLES for rule in table["rules"]]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table["name"])
def test_table_was_checked(table):
    assert table["error"] is None
    assert table["rules"]


@pytest.mark.parametrize("rule", RULES)
def test_rule_holds(rule):
    if rule["status"] == "waived":
        pytest.skip(f"waived until {rule['waiver']['expires']}: {rule['waiver']['reason']}")
    assert rule["status"] == "pass", f"{rule['what']}: {rule['failed_rows']} failed rows. {rule['why']}"
