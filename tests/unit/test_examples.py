"""The examples: every call is one that the tool takes, every file is what it says it is, and the pytest gate gates."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from hudi_reconcile import __version__
from hudi_reconcile.cli.main import group
from hudi_reconcile.cli.registry import COMMANDS
from tests.support.docs import ROOT, TOOL
from tests.unit.report.stories import all_stories

EXAMPLES = ROOT / "examples"


def calls(path: Path) -> Iterator[list[str]]:
    """The tool's arguments wherever a line of the file calls it."""
    text = path.read_text("utf-8")
    if path.suffix == ".properties":  # its calls stand in comments, each before what it does
        text = re.sub(rf"(?m)^# +({TOOL} .*?)  .*$", r" \1", text)
    if path.suffix == ".py":
        text = text.replace('f"{TOOL}', f" {TOOL} -c x").replace(
            '["hudi-reconcile", "-c", config, "check"', f"{TOOL} check "
        )
    text = re.sub(r"args: \[(.*)\]", lambda found: found.group(1).replace(",", ""), text)
    for line in text.splitlines():
        found = re.search(rf"(?:^|[\s/]){TOOL} ((?:-c|-q|-v|rules|check|run|audit|pull|init) .*)$", line)
        if found and not line.lstrip().startswith(("#", "TOOL")):
            yield shlex.split(re.split(r'[")]|, "--format', found.group(1))[0])


FILES = [path for path in sorted(EXAMPLES.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
CALLS = [(path.name, call) for path in FILES for call in calls(path)]


@pytest.mark.parametrize(("file", "call"), CALLS, ids=[f"{name}: {' '.join(call)}" for name, call in CALLS])
def test_call_of_an_example_is_one_that_the_tool_takes(file: str, call: list[str]) -> None:
    assert file
    with group.make_context(TOOL, list(call)) as context:
        word, *rest = context._protected_args + context.args
        command: click.Command = COMMANDS[word].load()
        if isinstance(command, click.Group):
            command, rest = command.commands[rest[0]], rest[1:]

        assert command.make_context(word, rest, parent=context).command is command


def test_every_example_calls_the_tool() -> None:
    silent = {"README.md", "hudi-reconcile.timer", "Dockerfile"}
    elsewhere = {
        "reconcile_checks.py",
        "morning_after.ipynb",
    }  # they call functions: test_example_hosts.py, test_python.py

    assert {name for name, _ in CALLS} == {path.name for path in FILES} - silent - elsewhere


def test_files_are_of_their_kind() -> None:
    for path in FILES:
        if path.suffix in (".yaml", ".yml"):
            assert isinstance(YAML(typ="safe").load(path), dict)
        elif path.suffix in (".service", ".timer"):
            parser = configparser.ConfigParser(interpolation=None)
            parser.read(path)
            assert "Unit" in parser.sections()
        elif path.suffix == ".ipynb":
            notebook = json.loads(path.read_text("utf-8"))
            assert (
                notebook["nbformat"],
                [cell.get("outputs", []) for cell in notebook["cells"] if cell.get("outputs")],
            ) == (4, [])
        elif path.suffix == ".py":
            compile(path.read_text("utf-8"), str(path), "exec")


def workflow() -> dict[str, Any]:
    return dict(YAML(typ="safe").load(EXAMPLES / "ci" / "github-actions.yml"))


def pull_request_jobs(found: dict[str, Any]) -> list[str]:
    """The jobs that a pull request starts: all that do not say otherwise."""
    return [name for name, job in found["jobs"].items() if job.get("if") != "github.event_name != 'pull_request'"]


def test_workflow_gives_a_pull_request_no_secret_and_starts_nothing_with_the_rights_of_its_target() -> None:
    found = workflow()
    text = (EXAMPLES / "ci" / "github-actions.yml").read_text("utf-8")

    assert set(found["on"]) == {"pull_request", "push", "schedule"}
    assert (found["on"]["push"], found["permissions"], "pull_request_target" in text) == (
        {"branches": ["main"]},
        {},
        False,
    )
    assert pull_request_jobs(found) == ["lint"]
    assert "secrets" not in str(found["jobs"]["lint"])
    assert "environment" not in found["jobs"]["lint"]
    assert found["jobs"]["check"]["environment"] == "data-quality"
    assert text.count("secrets.") == 1


def test_workflow_pins_what_it_runs_and_bounds_what_that_may_do() -> None:
    found = workflow()
    text = (EXAMPLES / "ci" / "github-actions.yml").read_text("utf-8")
    steps = [step for job in found["jobs"].values() for step in job["steps"]]
    used = [line.strip() for line in text.splitlines() if "uses:" in line]

    assert [
        line for line in used if not re.fullmatch(r"- uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
    ] == []
    assert len(used) == len([step for step in steps if "uses" in step]) > 5
    assert f"'hudi-reconcile=={__version__}'" in text
    assert [
        step["run"] for step in steps if "pip" in step.get("run", "") and "--require-hashes" not in step["run"]
    ] == []
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []  # an expression in a script is code
    checkouts = [step for step in steps if "checkout@" in step.get("uses", "")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False] * len(found["jobs"])
    for job in found["jobs"].values():
        assert job["permissions"] == {"contents": "read"}
        assert job["timeout-minutes"] <= 60
        assert not job["runs-on"].endswith("-latest")
    assert found["concurrency"]["group"]


def directives() -> list[tuple[str, str]]:
    """The service's settings."""
    text = (EXAMPLES / "nightly" / "hudi-reconcile.service").read_text("utf-8")
    return re.findall(r"^([A-Za-z]+)=(.*)$", text, re.MULTILINE)


def test_systemd_service_has_no_rights_but_those_it_needs() -> None:
    found = dict(directives())
    yes = [
        "NoNewPrivileges",
        "PrivateTmp",
        "PrivateDevices",
        "ProtectHome",
        "RestrictSUIDSGID",
        "LockPersonality",
        "RestrictRealtime",
        "RestrictNamespaces",
        "ProtectClock",
        "ProtectControlGroups",
        "ProtectHostname",
        "ProtectKernelLogs",
        "ProtectKernelModules",
        "ProtectKernelTunables",
        "RemoveIPC",
    ]

    assert [name for name in yes if found.get(name) != "yes"] == []
    assert {name: found[name] for name in ("CapabilityBoundingSet", "AmbientCapabilities", "ProtectSystem", "UMask")} == {
        "CapabilityBoundingSet": "", "AmbientCapabilities": "", "ProtectSystem": "strict", "UMask": "0077"
    }  # fmt: skip
    assert found["SystemCallFilter"] == "@system-service"
    assert found["RestrictAddressFamilies"] == "AF_INET AF_INET6 AF_UNIX"
    assert found["ReadWritePaths"] == found["WorkingDirectory"]
    assert found["User"] not in ("", "root")
    assert {"MemoryMax", "TasksMax", "LoadCredential"} <= set(found)
    assert "MemoryDenyWriteExecute" not in found  # a JVM makes code at run time


def test_kubernetes_job_runs_as_nobody_on_a_root_that_it_cannot_write() -> None:
    job = YAML(typ="safe").load(EXAMPLES / "kubernetes" / "cronjob.yaml")["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]

    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
    }  # fmt: skip
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert job["activeDeadlineSeconds"] > 0
    assert {"memory", "ephemeral-storage"} <= set(container["resources"]["limits"])
    assert re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", container["image"])
    assert not any("valueFrom" in one for one in container["env"])  # secrets are files
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert volumes["scratch"]["emptyDir"]["sizeLimit"]
    assert volumes["secrets"]["secret"]["defaultMode"] & 0o007 == 0
    places = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    assert places[{one["name"]: one["value"] for one in container["env"]}["TMPDIR"]] == "scratch"
    assert {one["name"] for one in container["volumeMounts"]} == set(volumes)


def test_container_is_built_by_hashes_runs_as_a_user_and_holds_no_secret() -> None:
    text = (EXAMPLES / "container" / "Dockerfile").read_text("utf-8")
    words = re.findall(r"^([A-Z]+) (.*)$", text.replace("\\\n", " "), re.MULTILINE)
    said = {word: [rest for name, rest in words if name == word] for word, _ in words}

    assert all(re.search(r"@sha256:[0-9a-f]{64}$", one) for one in said["FROM"])
    assert said["USER"] == ["10001:10001"]
    assert [word for word, _ in words].index("USER") > max(at for at, (word, _) in enumerate(words) if word == "RUN")
    assert not {"ADD", "ARG"} & set(said)
    assert not re.search(r"password|secret|token", " ".join(rest for _, rest in words), re.IGNORECASE)
    installs = [one for rest in said["RUN"] for one in rest.split("&&") if "pip install" in one]
    assert all("--require-hashes" in one or "--no-index" in one for one in installs)
    for option in ("--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--tmpfs /scratch:rw,exec"):
        assert option in text


def gate(folder: Path, document: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """The pytest gate beside a tool that answers with a document."""
    (folder / "answer.json").write_text(json.dumps(document))
    tool = folder / TOOL
    tool.write_text(f"#!{sys.executable}\nprint(open({str(folder / 'answer.json')!r}).read())\nraise SystemExit(1)\n")
    tool.chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "--rootdir", str(folder)]
    test = EXAMPLES / "ci" / "test_data_quality.py"
    return subprocess.run([*call, str(test)], env=environ, cwd=folder, capture_output=True, text=True, check=False)


def test_pytest_gate_has_a_test_for_each_rule_that_ends_as_the_rule_did(tmp_path: Path) -> None:
    done = gate(tmp_path, dict(all_stories()["checked"].run))

    assert done.returncode == 1
    assert re.search(r"3 failed, 2 passed, 1 skipped", done.stdout), done.stdout
    assert "email matches <script>.*@: 1200 failed rows. ask the <b>shop</b> team" in done.stdout


def test_pytest_gate_ends_with_the_tools_exit_code_where_nothing_could_be_asked(tmp_path: Path) -> None:
    error = {"type": "UsageError", "message": "no rules", "fix": "name a file"}

    done = gate(tmp_path, {"version": 1, "command": "check", "outcome": "usage", "exit_code": 2, "error": error})

    assert done.returncode == 2
    assert "no rules" in done.stdout + done.stderr


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    units = EXAMPLES / "nightly"
    service = (units / "hudi-reconcile.service").read_text()
    (tmp_path / "hudi-reconcile.timer").write_text((units / "hudi-reconcile.timer").read_text())

    def verified(text: str) -> str:
        (tmp_path / "hudi-reconcile.service").write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", text))
        call = ["systemd-analyze", "verify", "hudi-reconcile.service", "hudi-reconcile.timer"]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
        return "\n".join(line for line in done.stderr.splitlines() if "hudi-reconcile" in line)

    assert verified(service) == ""
    assert "Unknown key" in verified(service.replace("TimeoutStopSec", "TimeoutStop"))
