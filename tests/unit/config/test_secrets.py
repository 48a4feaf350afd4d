"""References and secrets: what they stand for, and that nothing shows it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from hudi_reconcile.app.project import Project
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.overlay import Overlay
from hudi_reconcile.config.secrets import Secret, Template, holds_secret, read_text_file
from hudi_reconcile.core.errors import ConfigError

CANARY = "hunter2-canary"


def secret(text: str, folder: Path = Path()) -> Secret:
    return Secret(Template.parse(text), "reconcile.yaml: source.password", folder)


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        ("${env:A}", {"A": "x"}, "x"),
        ("a${env:A}b${env:A}", {"A": "x"}, "axbx"),
        ("${env:A:-d}", {}, "d"),
        ("${env:A:-d}", {"A": ""}, "d"),
        ("${env:A:-}", {}, ""),
        ("${env:A:-a:-b}", {}, "a:-b"),
        ("$${env:A}", {}, "${env:A}"),
        ("${env:A}", {"A": "${env:B}"}, "${env:B}"),
        ("a$b{c}", {}, "a$b{c}"),
    ],
)
def test_reference_stands_for_the_variable_or_its_default(text: str, env: dict[str, str], expected: str) -> None:
    assert secret(text).reveal(env, read_text_file) == expected


@pytest.mark.parametrize("env", [{}, {"PW": ""}])
def test_variable_that_is_unset_or_empty_is_an_error_naming_key_and_variable(env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"source\.password: environment variable PW is not set, or empty"):
        secret("${env:PW}").reveal(env, read_text_file)


@pytest.mark.parametrize(
    ("content", "expected"),
    [("x", "x"), ("x\n", "x"), ("x\r\n", "x"), ("x\n\n", "x\n"), ("x\r", "x\r"), (" x ", " x "), ("", "")],
)
def test_file_secret_loses_one_line_end_and_nothing_else(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "pw").write_bytes(content.encode())

    assert secret("${file:pw}", tmp_path).reveal({}, read_text_file) == expected


@pytest.mark.parametrize("content", [None, b"\xff" + CANARY.encode(), CANARY.encode() * 10_000])
def test_file_that_cannot_be_taken_is_an_error_naming_the_file_only(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "pw").write_bytes(content)

    with pytest.raises(ConfigError, match=str(tmp_path / "pw")) as caught:
        secret("${file:pw}", tmp_path).reveal({}, read_text_file)

    assert CANARY not in str(caught.value) + caught.value.fix


@pytest.mark.parametrize(
    "text", ["${", "${A}", "${env:}", "${env:A B}", "${file:}", "${ENV:A}", "${env:A", "${env:A-b}"]
)
def test_malformed_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a reference that is known"):
        Template.parse(text)


def test_secret_shows_stars_however_it_is_printed() -> None:
    value = secret(CANARY)

    for text in (str(value), repr(value), f"{value}", f"{value:>5}", f"{[value]}", repr(value.template)):
        assert CANARY not in text
        assert "***" in text


def test_secret_keeps_its_value_through_a_copy() -> None:
    assert pickle.loads(pickle.dumps(secret(CANARY))) == secret(CANARY)  # noqa: S301 - our own bytes


def test_secret_written_into_the_config_itself_is_told_apart() -> None:
    assert secret("x").is_literal
    assert not secret("${env:A}").is_literal


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("spark.hadoop.fs.s3a.secret.key", CANARY, True),
        ("spark.hadoop.fs.s3a.encryption.key", CANARY, True),
        ("spark.hadoop.fs.s3a.server-side-encryption.key", CANARY, True),
        ("spark.hadoop.fs.gs.auth.service.account.private.key", CANARY, True),
        ("spark.hadoop.fs.gs.auth.service.account.private.key.id", CANARY, True),
        ("spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net", CANARY, True),
        ("spark.hadoop.fs.azure.sas.fixed.token.shop", CANARY, True),
        ("spark.hadoop.fs.oss.accessKeyId", CANARY, True),
        ("spark.executorEnv.AWS_SECRET_ACCESS_KEY", CANARY, True),
        ("spark.hadoop.x.api-key", CANARY, True),
        ("spark.hadoop.x.passphrase", CANARY, True),
        ("spark.ssl.keyPassword", CANARY, True),
        ("spark.driver.extraJavaOptions", f"-Xss1m -Djavax.net.ssl.trustStorePassword={CANARY}", True),
        ("spark.hadoop.fs.s3a.endpoint", "http://127.0.0.1:9000", False),
        ("spark.driver.extraJavaOptions", "-Xss1m -Duser.country=AT", False),
        ("hoodie.datasource.write.recordkey.field", "id", False),
        ("hoodie.keep.max.commits", "30", False),
        ("spark.sql.shuffle.partitions", "4", False),
    ],
)
def test_option_of_a_store_that_holds_a_secret_is_known_by_its_name_or_what_it_sets(
    option: str, value: str, *, expected: bool
) -> None:
    assert holds_secret(option, value) is expected


def test_project_in_a_notebook_shows_no_value_that_came_from_a_reference(tmp_path: Path) -> None:
    (tmp_path / "reconcile.yaml").write_text(f"""\
version: 1
source: {{url: "postgresql+psycopg://reader@127.0.0.1:5432/shop", password: "${{env:PW}}"}}
spark: {{conf: {{spark.hadoop.fs.s3a.secret.key: "${{env:PW}}", spark.hadoop.fs.s3a.access.key: {CANARY}}}}}
outputs:
  webhook: {{url: "https://hooks.example/${{env:PW}}"}}
  openlineage: {{namespace: shop, url: "https://lineage.example", api_key: "${{env:PW}}"}}
tables: [{{name: orders, source: {{table: orders, where: "id > 7 -- ${{env:PW}}"}}, lake: {{path: lake/orders}}}}]
""")

    config = load_config(tmp_path / "reconcile.yaml", {"PW": CANARY}, overlay=Overlay())

    assert config.spark.conf["spark.hadoop.fs.s3a.secret.key"] == CANARY
    for part in (
        Project(config, "reconcile.yaml"),
        config,
        config.source,
        config.spark,
        config.outputs,
        *config.tables,
    ):
        assert CANARY not in f"{part!r} {part}"
