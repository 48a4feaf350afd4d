"""Hostile rules files: refused with exit 2, or read as they mean."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from hudi_reconcile.config.rules_load import parse_rules
from hudi_reconcile.core.rules.rules import InSet, Rule, Total, ValueRange
from tests.property.test_fuzz_config import NASTY, number_of, tree_of
from tests.support.fuzzed import parsed, told

RICH = """\
version: 1
table: orders
rules:
  - {id: ord-1, check: not_null, column: customer_id, quarantine: true}
  - {id: ord-2, check: unique, columns: [order_id, line]}
  - {id: ord-3, check: between, column: amount, min: 0.10, max: 1000000, severity: warn, allow: 0.1%}
  - {id: ord-4, check: in_set, column: status, values: [NEW, 1, 1.50, true], allow: 3}
  - {id: ord-5, check: matches, column: email, regex: "^[^@]+@[^@]+$", why: ask}
  - {id: ord-6, check: drift, kinds: [late_arriving, deleted], max_age: 2h}
  - {id: ord-7, check: total, column: amount, tolerance: 0.01}
  - {id: ord-8, check: freshness, max_age: 26h}
waivers:
  - {rule: ord-3, reason: T-1, owner: finance, expires: 2026-12-01}
"""
SMALL = ["0", "1", "9", "a", "_", "x", "", " ", "#", "'", ".", "e", "-", ",", "]", "%"]
EDIT = st.tuples(st.sampled_from(range(len(RICH))), st.integers(0, 3), st.sampled_from(SMALL) | st.sampled_from(NASTY))
PLACES = [at for at, char in enumerate(RICH) if RICH[at : at + 2] == ": "]


def refused_or_meant(subject: str, text: str) -> None:
    if "gx" in text:  # Great Expectations takes seconds to load; what it is given is not read here
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rules.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        ran = told(subject, "rules", "lint", str(path), "--format", "json", legal=(0, 2))
    if ran.code == 2:
        assert json.loads(ran.out)["error"]["type"] == "ConfigError"
        return
    rules = parse_rules(text, "r", None)
    tree = tree_of(YAML(typ="safe", pure=True).compose(text))
    assert [one.id for one in rules.rules] == [one["id"][1] for one in tree["rules"]]
    assert [(one.rule, str(one.expires)) for one in rules.waivers] == [
        (one["rule"][1], one["expires"][1]) for one in tree.get("waivers", [])
    ]
    for rule, written in zip(rules.rules, tree["rules"], strict=True):
        holds(rule, written)


def holds(rule: Rule, written: dict[str, Any]) -> None:
    match rule.check:
        case ValueRange(_, least, most):
            assert [value_of(written.get(end, ("null", ""))) for end in ("min", "max")] == [least, most]
        case InSet(_, values):
            assert [value_of(one) for one in written["values"]] == list(values)
        case Total(_, tolerance):
            assert tolerance == value_of(written.get("tolerance", ("int", "0")))
    if "allow" in written:
        tag, text = written["allow"]
        number = number_of(tag, text)
        assert number in (None, rule.allow.rows, rule.allow.share)
        assert number is not None or Decimal(text[:-1]) / 100 == rule.allow.share


def value_of(scalar: tuple[str, str]) -> object:
    tag, text = scalar
    if tag == "null":
        return None
    if tag == "bool":
        return text.lower() == "true"
    number = number_of(tag, text)
    return text if number is None else number


def test_rich_rules_are_read_as_they_mean() -> None:
    refused_or_meant("rules: as they are", RICH)
    assert parsed("rules: as they are", lambda: parse_rules(RICH, "r", "orders")) is not None


@given(st.lists(EDIT, min_size=1, max_size=3))
def test_rules_of_changed_text_are_refused_or_read_as_they_mean(edits: list[tuple[int, int, str]]) -> None:
    text = RICH
    for at, length, put in edits:
        text = text[:at] + put + text[at + length :]

    refused_or_meant("rules: text", text)


@given(st.sampled_from(PLACES), st.sampled_from(NASTY) | st.integers().map(str) | st.floats().map(str))
def test_rules_of_any_value_at_any_key_are_refused_or_read_as_they_mean(at: int, value: str) -> None:
    end = min(found for stop in (",", "}", "]", "\n") if (found := RICH.find(stop, at)) > 0)

    refused_or_meant("rules: values", f"{RICH[:at]}: {value}{RICH[end:]}")
