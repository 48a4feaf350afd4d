"""References and secrets: what they stand for, and that nothing shows it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from hudi_reconcile.config.secrets import Secret, Template, read_text_file
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
