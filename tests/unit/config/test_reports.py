"""`reports` is a path, or a path with the mode of its folders; and the config knows which variables hold secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import Loaded, parse_config
from hudi_reconcile.config.show import shown_tree
from hudi_reconcile.core.errors import ConfigError

PLACE = Place("reconcile.yaml", Path("/srv"))
REST = """
version: 1
source: {url: "postgresql://reader@h/db", password: "${env:SHOP_PASSWORD}"}
tables:
  - {name: orders, source: {table: public.orders}, lake: {path: lake/orders}, pull: {strategy: full}}
"""


def load(text: str, **env: str) -> Loaded:
    return parse_config(REST + text, PLACE, env, lambda _: "")


@pytest.mark.parametrize(
    ("text", "path", "mode"),
    [
        ("", "/srv/reports", 0o700),
        ("reports: evidence", "/srv/evidence", 0o700),
        ("reports: {path: evidence}", "/srv/evidence", 0o700),
        ('reports: {mode: "0750"}', "/srv/reports", 0o750),
        ('reports: {path: "${env:PLACE}", mode: "2770"}', "/evidence", 0o2770),
    ],
)
def test_reports_are_a_path_and_a_mode_that_is_the_owners_alone_unless_said(text: str, path: str, mode: int) -> None:
    config = load(text, PLACE="/evidence").config

    assert (config.reports, config.reports_mode) == (Path(path), mode)


@pytest.mark.parametrize(
    "mode", ["'0777'", "'0702'", "'0650'", "'07'", "'0o750'", "0750", "750", "'rwx'", "'4750'", "true"]
)
def test_mode_that_lets_others_write_or_the_owner_not_is_refused(mode: str) -> None:
    with pytest.raises(ConfigError, match=r'reports: mode is the mode .* "0700" or "0750"'):
        load(f"reports: {{mode: {mode}}}")


@pytest.mark.parametrize("text", ["s3a://bucket/reports", "{path: 'hdfs://h/reports'}", "file:///srv/reports"])
def test_url_as_reports_is_refused_and_not_taken_for_a_local_folder(text: str) -> None:
    with pytest.raises(ConfigError, match="reports is a local or mounted folder"):
        load(f"reports: {text}")


def test_local_folder_with_a_colon_in_its_name_can_be_reports() -> None:
    assert load("reports: ./a:b").config.reports == Path("/srv/a:b")


def test_unknown_key_of_reports_is_refused_by_name_with_the_legal_ones() -> None:
    with pytest.raises(ConfigError, match="reports: unknown key 'modes'; legal: path, mode"):
        load('reports: {modes: "0750"}')


def test_reports_are_shown_as_they_are_given_and_a_reference_in_them_is_not() -> None:
    assert shown_tree(load("reports: evidence"))["reports"] == "/srv/evidence"
    shown = shown_tree(load('reports: {path: "${env:PLACE}", mode: "0750"}', PLACE="/evidence"))
    assert shown["reports"] == {"path": "***", "mode": "0750"}


def test_output_below_reports_is_refused_where_reports_have_a_mode_too() -> None:
    with pytest.raises(ConfigError, match="lies among the runs"):
        load('reports: {path: evidence, mode: "0750"}\noutputs: {ndjson: evidence/audit.jsonl}')


def test_config_knows_the_variables_of_its_secrets_and_no_others() -> None:
    text = 'audit: {key: "${env:AUDIT_KEY}"}\noutputs: {webhook: {url: "${env:HOOK}"}}\nreports: "${env:PLACE}"'

    config = load(text, HOOK="https://h/x", PLACE="/evidence").config

    assert config.secret_variables == {"SHOP_PASSWORD", "AUDIT_KEY", "HOOK"}


@pytest.mark.parametrize(
    "text",
    [
        "outputs: {junit: s3a://lake/junit.xml}",
        "jars: {mode: paths, paths: [s3a://lake/hudi.jar]}",
    ],
)
def test_store_is_no_local_path(text: str) -> None:
    with pytest.raises(ConfigError, match="is no folder of this machine"):
        load(text)


def test_local_path_may_hold_a_colon() -> None:
    assert load("reports: evidence/2026-11-23T10:00").config.reports == Path("/srv/evidence/2026-11-23T10:00")


@pytest.mark.parametrize(
    "address", ["s3://key:secret@bucket/runs", "s3://bucket?secret_key=x", "https://h/runs", "runs"]
)
def test_address_of_copies_is_a_folder_of_a_store_and_holds_no_key(address: str) -> None:
    with pytest.raises(ConfigError, match=r"outputs\.copy_to") as caught:
        load(f"outputs: {{copy_to: '{address}'}}")

    assert "secret@" not in str(caught.value)
