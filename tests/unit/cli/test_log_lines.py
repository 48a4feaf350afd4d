"""`--log-format json`: stderr is JSON lines and nothing else, whoever writes to it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.cli.log_lines import judge_level, spell_line
from hudi_reconcile.cli.main import run
from tests.unit.cli.test_process import NOISY

FIELDS = ["ts", "level", "run_id", "table", "message"]
LOGS = """
    import logging, warnings
    from hudi_reconcile.app.log_context import name_table, name_run
    log = logging.getLogger("hudi_reconcile")
    log.info("before")
    name_run("run-1")
    with name_table("orders"):
        log.warning("of a table")
    log.debug("not asked for")
""".strip()


def lines_of(text: str) -> list[dict[str, Any]]:
    """Every line of stderr, each a document with the five fields in order."""
    found = [json.loads(line) for line in text.splitlines()]
    assert all(list(one) == FIELDS for one in found)
    return found


def script(body: str, *options: str) -> list[str]:
    words = [*options, "--log-format", "json", "sweep", "--format", "json"]
    return [sys.executable, "-c", NOISY.replace("BODY", body), *words]


def ended(body: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(script(body, *options), capture_output=True, text=True, check=False)


def messages(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {line["message"]: line for line in lines_of(done.stderr)}


def test_noise_of_prints_descriptors_and_children_is_wrapped_into_lines() -> None:
    done = ended("emit_json({'rows': 1})")

    assert (done.returncode, json.loads(done.stdout)) == (1, {"rows": 1})
    noise = {"noise of a print", "noise of a descriptor", "noise of a child"}
    assert {message: line["level"] for message, line in messages(done).items()} == dict.fromkeys(noise, "info")


def test_line_names_run_and_table_from_when_they_are_known() -> None:
    found = messages(ended(LOGS))

    told = {
        name: (found[name]["level"], found[name]["run_id"], found[name]["table"]) for name in ("before", "of a table")
    }
    assert told == {"before": ("info", None, None), "of a table": ("warning", "run-1", "orders")}
    assert "not asked for" not in found


def test_time_of_a_line_is_utc_with_milliseconds() -> None:
    line = json.loads(spell_line(1_700_000_000.5, "info", "x"))

    assert line["ts"] == "2023-11-14T22:13:20.500Z"


@pytest.mark.parametrize(
    "body",
    ["raise ValueError('Ann')", "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
     "import warnings; warnings.warn('odd')", "os.write(2, b'no line end')", r"os.write(2, b'\xff\xfe\n\x1b[31mred\n')",
     "import atexit; atexit.register(print, 'at the end')", "os.write(2, b'x' * 300_000)",
     "subprocess.run(['sh', '-c', 'echo of a child >&2; echo again'])"],
)  # fmt: skip
def test_whatever_writes_to_stderr_leaves_nothing_but_lines(body: str) -> None:
    done = ended(body)

    assert lines_of(done.stderr)
    assert done.returncode in {1, 3}


def test_unforeseen_traceback_is_one_line_of_level_error_without_the_words_of_the_exception() -> None:
    done = ended("raise ValueError('Ann')")

    (trace,) = [line for line in lines_of(done.stderr) if "Traceback" in line["message"]]
    assert trace["level"] == "error"
    assert "Ann" not in done.stderr
    assert json.loads(done.stdout)["exit_code"] == 3


@pytest.mark.parametrize(
    "words",
    [["--log-format", "json", "swep"], ["--log-format=json", "--nope"], ["--log-format", "json", "-q", "-v", "jars"]],
)
def test_wrong_call_is_said_in_lines_too(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "hudi_reconcile", *words], capture_output=True, text=True, check=False)

    (line,) = lines_of(done.stderr)
    assert (done.returncode, line["level"], line["message"].startswith("error: ")) == (2, "error", True)


@pytest.mark.parametrize("words", [[], ["--log-format", "json"]])
def test_failure_that_cannot_be_told_is_named_without_the_words_of_an_exception(words: list[str]) -> None:
    body = "import hudi_reconcile.cli.main as m; m.report = None; raise ValueError('Ann')"
    command = [sys.executable, "-c", NOISY.replace("BODY", body), *words, "sweep"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, "Ann" in done.stderr) == (3, False)
    assert "ValueError" in done.stderr
    assert "TypeError: 'NoneType' object is not callable" in done.stderr


def test_last_lines_before_the_end_are_not_lost() -> None:
    done = ended("[os.write(2, b'line %d\\n' % n) for n in range(5000)]")

    assert [line["message"] for line in lines_of(done.stderr) if line["message"].startswith("line ")] == [
        f"line {number}" for number in range(5000)
    ]


def test_process_that_outlives_the_call_does_not_keep_it_from_ending() -> None:
    done = subprocess.run(
        script("subprocess.Popen(['sleep', '30'])"), capture_output=True, text=True, check=False, timeout=20
    )

    assert lines_of(done.stderr)


def test_line_without_an_end_becomes_several_and_nothing_of_it_is_lost() -> None:
    done = ended("os.write(2, b'x' * 2_500_000)")

    long = [line["message"] for line in lines_of(done.stderr) if set(line["message"]) == {"x"}]
    assert (len(long) > 1, sum(map(len, long))) == (True, 2_500_000)


def test_call_that_is_terminated_says_so_in_one_line_of_level_error() -> None:
    body = "emit_data('started\\n'); from hudi_reconcile.cli.streams import flush; flush(); time.sleep(60)"
    process = subprocess.Popen(script(body), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "started\n"
        process.terminate()
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()

    # Not the last line for certain: noise goes through a pipe, and its thread may come later.
    levels = [line["level"] for line in lines_of(err) if "terminated before the end" in line["message"]]
    assert (process.returncode, levels) == (143, ["error"])


def test_terminal_gets_lines_and_no_bar() -> None:
    body = "import logging; logging.getLogger('hudi_reconcile.progress').info('a part', extra={'bar': 'a bar'})"
    ours, theirs = pty.openpty()
    subprocess.run(script(body), stdout=subprocess.DEVNULL, stderr=theirs, check=False)
    os.close(theirs)
    text = os.read(ours, 100_000).decode()
    os.close(ours)

    assert "a part" in {line["message"] for line in lines_of(text)}
    assert "a bar" not in text


def test_text_of_a_log_without_the_option_is_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-c", str(tmp_path / "no.yaml"), "config", "show"]
    assert run(["--log-format", "text", *words]) == run(words) == 2

    said = capsys.readouterr().err.splitlines()
    assert said[:2] == said[2:]
    assert said[0].startswith("error: ")


@pytest.mark.parametrize(
    ("text", "before", "level"),
    [
        ("12:00:01 WARN Utils: a", "info", "warning"),
        ("26/01/31 12:00:01 ERROR Utils: a", "info", "error"),
        ("12:00:01 FATAL Utils: a", "info", "error"),
        ("12:00:01 INFO Utils: a", "error", "info"),
        ("\tat a.B.c(B.java:7)", "error", "error"),
        ("Caused by: a.B", "warning", "warning"),
        ("Traceback (most recent call last):", "info", "error"),
        ("resolving dependencies", "error", "info"),
    ],
)
def test_level_of_a_line_of_another_program(text: str, before: str, level: str) -> None:
    assert judge_level(text, before) == level


def test_line_that_a_ci_server_or_a_terminal_would_obey_is_text() -> None:
    line = spell_line(0, "info", "##[add-mask]x \x1b[31m\u202e")

    assert "##[" not in line
    assert json.loads(line)["message"].startswith("# #[add-mask]x \\x1b[31m")
