"""What only a whole process shows: descriptors, signals, what is imported for the help."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAVY = ("pyspark", "py4j", "sqlalchemy", "pydantic", "ruamel", "great_expectations", "jinja2")

# A stand-in for `sweep` that makes noise in every way that Spark, Ivy, the JVM and libraries do.
NOISY = """
import os, subprocess, sys, time
import click
from hudi_reconcile.cli import registry
from hudi_reconcile.cli.main import main
from hudi_reconcile.cli.options import format_option
from hudi_reconcile.cli.streams import emit_json, emit_data
from hudi_reconcile.core.outcome import Outcome

@click.command()
@format_option
def sweep(output_format):
    print("noise of a print")
    os.write(1, b"noise of a descriptor\\n")
    subprocess.run(["sh", "-c", "echo noise of a child"], check=True)
    BODY
    return Outcome.DRIFT

class Ready(registry.Entry):
    def load(self):
        return sweep

registry.COMMANDS["sweep"] = Ready("sweep", "none:none", "")
main()
"""


def script(body: str) -> list[str]:
    return [sys.executable, "-c", NOISY.replace("BODY", body), "sweep", "--format", "json"]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["swep"]])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from hudi_reconcile.cli.main import run; run(sys.argv[1:]);"
        f"sys.exit(str([name for name in {HEAVY} if name in sys.modules]))"
    )

    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == "[]"


def test_help_loads_few_modules() -> None:
    # What takes time in a start is loading; a count does not depend on what else the machine does.
    code = "import sys; from hudi_reconcile.cli.main import run; run(['--help']); sys.exit(str(len(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert int(done.stderr.splitlines()[-1]) < 200


def test_noise_of_prints_descriptors_and_children_goes_to_stderr() -> None:
    done = subprocess.run(script("emit_json({'rows': 1})"), capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert json.loads(done.stdout) == {"rows": 1}
    assert {"noise of a print", "noise of a descriptor", "noise of a child"} <= set(done.stderr.splitlines())


def test_failure_in_the_midst_of_noise_is_one_document_on_stdout() -> None:
    done = subprocess.run(script("raise ValueError('x')"), capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["type"] == "ValueError"


def test_name_that_is_no_unicode_is_still_valid_json() -> None:
    done = subprocess.run(script(r"emit_json({'path': '\udc80'})"), capture_output=True, text=True, check=False)

    assert json.loads(done.stdout) == {"path": "\udc80"}


def _heeds_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell that starts the tests in the background has it ignored


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signal_runs_the_cleanup_and_ends_with_its_code(number: signal.Signals, code: int) -> None:
    body = """
    try:
        emit_data('started\\n'); from hudi_reconcile.cli.streams import flush; flush()
        time.sleep(60)
    finally:
        os.write(2, b'cleaned\\n')
    """.strip()
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(script(body), preexec_fn=_heeds_interrupts, **pipes)  # noqa: PLW1509 - no thread runs here
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "started\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()

    assert process.returncode == code
    assert "cleaned" in err
    assert json.loads(out)["exit_code"] == code


def test_reader_that_leaves_early_gets_no_traceback_and_no_success() -> None:
    command = script("emit_data('x' * 10_000_000)")

    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()

    assert process.wait(20) == 3
    assert "Traceback" not in err
    assert "error:" not in err
    process.stderr.close()


def test_pipe_that_breaks_elsewhere_is_not_taken_for_a_reader_that_left() -> None:
    done = subprocess.run(script("raise BrokenPipeError(32, 'x')"), capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert "BrokenPipeError" in done.stderr
    assert json.loads(done.stdout)["outcome"] == "unverified"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full", ">/dev/full 2>&1"])
def test_closed_or_full_output_never_ends_in_a_verdict_that_is_wrong(tmp_path: Path, closed: str) -> None:
    expected = {3} if "full" in closed else {2}

    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "hudi_reconcile", "-c", str(tmp_path / "no"),
         "config", "show", "--format", "json"],
        capture_output=True,
        check=False,
    )  # fmt: skip

    assert done.returncode in expected


def test_commands_that_work_load_great_expectations_only_where_a_rule_runs() -> None:
    code = (
        "import sys; import hudi_reconcile.app.commands, hudi_reconcile.rules.engine;"
        "sys.exit(str([name for name in ('great_expectations', 'pandas', 'scipy') if name in sys.modules]))"
    )

    found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert found.stderr.strip() == "[]"
