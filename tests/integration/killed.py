"""Commands in processes of their own, and SIGKILL to them and their JVMs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

from tests.integration.project import Project
from tests.support.kill_places import ROOT

PATIENCE_SECONDS = 180.0


def started(
    project: Project, *arguments: str, module: tuple[str, ...] = ("hudi_reconcile",)
) -> subprocess.Popen[bytes]:
    """The command in a process group of its own, with its own Spark."""
    command = [sys.executable, "-m", *module, "-c", str(project.write_config()), *arguments]
    with (project.folder / "killed.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, cwd=ROOT)


def killed_at(project: Project, place: int) -> None:
    """A pull of its own that SIGKILLs itself and its JVM at the place."""
    process = started(project, "pull", module=("tests.support.kill_places", str(place)))
    assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL, (project.folder / "killed.log").read_text()


def kill_when(process: subprocess.Popen[bytes], project: Project, before: set[str], sign: str) -> None:
    """SIGKILL to the process and its JVM as soon as a new file stands on the timeline whose name matches the sign."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while not any(re.search(sign, name) for name in timeline(project) - before):
        assert process.poll() is None, (project.folder / "killed.log").read_text()
        assert time.monotonic() < patience
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL


def timeline(project: Project) -> set[str]:
    """The names of the files on the timeline; none where there is no table yet."""
    folder = project.lake / ".hoodie" / "timeline"
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
