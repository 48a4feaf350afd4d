"""Exceptions become output and exit codes in one way only, as text and as JSON."""

from __future__ import annotations

import json

import click
import pytest

from hudi_reconcile.cli import registry
from hudi_reconcile.cli.main import run
from hudi_reconcile.cli.options import Settings, format_option, pass_settings
from hudi_reconcile.cli.streams import ReaderGone, emit_json
from hudi_reconcile.core.errors import (
    ConfigError,
    ExecutorLostError,
    FullDiskError,
    IncompleteError,
    LakeError,
    NotBuiltError,
    ReconcileError,
    RefusedError,
    SourceError,
    SparkLostError,
    SupersededError,
    Terminated,
    TimeLimitError,
    UnknownRunError,
    UnverifiedError,
    UsageError,
)
from hudi_reconcile.core.outcome import Outcome

Raised = list[BaseException | object]


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Raised:
    """How the command `sweep` ends: the exception to raise, or the value to return."""
    box: Raised = []

    @click.command()
    @format_option
    def sweep(output_format: str) -> object:  # noqa: ARG001 - looked at by `run` itself
        if isinstance(box[0], BaseException):
            raise box[0]
        return box[0]

    entries = {**registry.COMMANDS, "sweep": _Ready("sweep", "none:none", "")}
    monkeypatch.setattr(registry, "COMMANDS", entries)
    monkeypatch.setattr(_Ready, "command", sweep, raising=False)
    return box


class _Ready(registry.Entry):
    command: click.Command

    def load(self) -> click.Command:
        return self.command


ERRORS = [
    (UsageError, "usage", 2),
    (NotBuiltError, "usage", 2),
    (UnknownRunError, "usage", 2),
    (UnverifiedError, "unverified", 3),
    (SourceError, "unverified", 3),
    (LakeError, "unverified", 3),
    (SparkLostError, "unverified", 3),
    (ExecutorLostError, "unverified", 3),
    (FullDiskError, "unverified", 3),
    (TimeLimitError, "unverified", 3),
    (IncompleteError, "incomplete", 4),
    (SupersededError, "incomplete", 4),
    (RefusedError, "refused", 5),
]


def subclasses(of: type[ReconcileError]) -> set[type[ReconcileError]]:
    return {of, *(below for child in of.__subclasses__() for below in subclasses(child))}


def test_table_of_errors_below_covers_every_class_there_is() -> None:
    known = {kind for kind in subclasses(ReconcileError) if kind.__module__ == "hudi_reconcile.core.errors"}

    assert known == {ReconcileError, ConfigError, *(kind for kind, _, _ in ERRORS)}


@pytest.mark.parametrize(("kind", "outcome", "code"), ERRORS)
def test_known_error_is_text_on_stderr_with_its_exit_code(
    ending: Raised, capsys: pytest.CaptureFixture[str], kind: type[ReconcileError], outcome: str, code: int
) -> None:
    ending.append(kind("orders: no such thing", fix="look again"))

    assert run(["sweep"]) == code

    assert Outcome(outcome).exit_code == code
    assert capsys.readouterr() == ("", "error: orders: no such thing\nfix: look again\n")


@pytest.mark.parametrize("spelling", [["--format", "json"], ["--format=json"]])
@pytest.mark.parametrize(("kind", "outcome", "code"), ERRORS)
def test_known_error_with_format_json_is_one_document_on_stdout(  # noqa: PLR0917 - a table and a fixture
    ending: Raised,
    capsys: pytest.CaptureFixture[str],
    kind: type[ReconcileError],
    outcome: str,
    code: int,
    spelling: list[str],
) -> None:
    ending.append(kind("orders: no such thing", fix="look again"))

    assert run(["sweep", *spelling]) == code

    assert json.loads(capsys.readouterr().out) == {
        "version": 1,
        "command": "sweep",
        "outcome": outcome,
        "exit_code": code,
        "error": {"type": kind.__name__, "message": "orders: no such thing", "fix": "look again"},
    }


def test_full_disk_is_named_with_its_place_and_no_traceback(ending: Raised, capsys: pytest.CaptureFixture[str]) -> None:
    ending.append(OSError(28, "No space left on device", "/runs/result.json"))

    assert run(["sweep", "--format", "json"]) == 3

    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["type"] == "FullDiskError"
    assert "error: a disk is full at /runs/result.json (No space left on device)\nfix: df -h" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "error",
    [LakeError("gone", fix="pull it"), ValueError("bug"), OSError(28, "No space left on device")],
)
def test_lines_that_outputs_left_with_the_error_are_on_stderr_once(
    ending: Raised, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    error.add_note("::error title=orders%3A unverified::gone")
    ending.append(error)

    assert run(["sweep"]) == 3

    lines = capsys.readouterr().err.splitlines()
    assert lines.count("::error title=orders%3A unverified::gone") == 1


@pytest.mark.parametrize(
    "error", [LakeError("gone\n::stop-commands::x", fix="::y"), TypeError("a\n ::stop-commands::x")]
)
def test_error_text_is_no_workflow_command(
    ending: Raised, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    ending.append(error)

    run(["sweep"])

    err = capsys.readouterr().err
    assert "| ::stop-commands::x" in err
    assert not [line for line in err.splitlines() if line.strip().startswith("::")]


def test_command_within_a_line_of_an_error_or_an_annotation_is_broken_up(
    ending: Raised, capsys: pytest.CaptureFixture[str]
) -> None:
    error = LakeError("gone ##[add-mask]x", fix="y ##vso[task.complete]")
    error.add_note("::error title=orders::gone ##[stop-commands]z")
    ending.append(error)

    for call in (["sweep"], ["sweep", "--format", "json"]):
        run(call)
        said = "".join(capsys.readouterr())
        assert "##[" not in said
        assert "##vso[" not in said
        assert "::error title=orders::gone # #[stop-commands]z" in said


def test_several_config_problems_are_counted_and_listed(ending: Raised, capsys: pytest.CaptureFixture[str]) -> None:
    ending.append(ConfigError(("c.yaml:1: a", "c.yaml:2: b"), fix="mend them"))

    assert run(["sweep", "--format", "json"]) == 2

    out, err = capsys.readouterr()
    assert err == "error: 2 problems in the config\nc.yaml:1: a\nc.yaml:2: b\nfix: mend them\n"
    assert json.loads(out)["error"]["problems"] == ["c.yaml:1: a", "c.yaml:2: b"]


@pytest.mark.parametrize(
    "error", [ValueError("row 7"), AssertionError(), MemoryError(), SystemExit(1), SystemExit(0), OSError(32, "row 7")]
)
def test_unforeseen_exception_is_unverified_with_its_traceback_and_its_text_stays_out_of_the_document(
    ending: Raised, capsys: pytest.CaptureFixture[str], error: BaseException
) -> None:
    ending.append(error)

    assert run(["sweep", "--format", "json"]) == 3

    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["outcome"], document["exit_code"]) == ("unverified", 3)
    assert "row 7" not in out
    assert err.startswith("Traceback")
    assert "error: unexpected" in err


def aborted_by(cause: type[BaseException]) -> BaseException:
    try:
        try:
            raise cause  # noqa: TRY301 - click raises so
        except cause:
            raise click.Abort from None
    except click.Abort as abort:
        return abort


@pytest.mark.parametrize(
    ("error", "code", "outcome"),
    [
        (KeyboardInterrupt(), 130, "unverified"),
        (aborted_by(KeyboardInterrupt), 130, "unverified"),
        (Terminated(), 143, "unverified"),
        (aborted_by(EOFError), 5, "refused"),
    ],
)
def test_interruption_has_its_own_exit_code_and_an_unanswered_question_is_refused(
    ending: Raised, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, outcome: str
) -> None:
    ending.append(error)

    assert run(["sweep", "--format", "json"]) == code

    document = json.loads(capsys.readouterr().out)
    assert (document["exit_code"], document["outcome"]) == (code, outcome)


def test_control_characters_in_a_message_are_made_visible(ending: Raised, capsys: pytest.CaptureFixture[str]) -> None:
    ending.append(UsageError("table \x1b[31mred\x1b[0m \u202eabc\r\x9b", fix="x\x07"))

    run(["sweep"])

    assert capsys.readouterr().err == "error: table \\x1b[31mred\\x1b[0m \\u202eabc\\r\\x9b\nfix: x\\x07\n"


def test_json_on_stdout_says_the_same_without_a_character_that_a_terminal_obeys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = {"key": "a\x1b[31m\x7f\x9b31m\u202eb\u2066\tn\n\u00fc", "list": ["\x85"]}
    emit_json(document)

    out = capsys.readouterr().out
    assert json.loads(out) == document
    assert [letter for letter in out if not letter.isprintable() and letter != "\n"] == []
    assert "\u00fc" in out


@pytest.mark.parametrize(("returned", "code"), [(outcome, outcome.exit_code) for outcome in Outcome])
def test_returned_outcome_is_the_exit_code(ending: Raised, returned: Outcome, code: int) -> None:
    ending.append(returned)

    assert run(["sweep"]) == code


def test_command_that_returns_nothing_is_never_success(ending: Raised, capsys: pytest.CaptureFixture[str]) -> None:
    ending.append(None)

    assert run(["sweep"]) == 3
    assert "where an Outcome was due" in capsys.readouterr().err


def test_reader_that_went_away_is_quiet_and_no_success(ending: Raised, capsys: pytest.CaptureFixture[str]) -> None:
    ending.append(ReaderGone())

    assert run(["sweep"]) == 3
    assert capsys.readouterr() == ("", "")


def test_failure_after_the_document_is_out_writes_no_second_one(
    ending: Raised, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    @format_option
    @pass_settings
    def late(settings: Settings, output_format: str) -> None:  # noqa: ARG001 - not looked at
        emit_json({"version": 1})
        raise RefusedError("too late", fix="x")

    ending.append(None)
    _Ready.command = late

    assert run(["sweep", "--format", "json"]) == 5
    assert json.loads(capsys.readouterr().out) == {"version": 1}
