"""Tells others of a run: files for CI servers, monitoring and log shippers, and GitHub's own ways.

The run is on disk by then. What cannot be written is said and changes no exit code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.app.lineage import send
from hudi_reconcile.app.posting import post
from hudi_reconcile.config.outputs import OutputsConfig
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.evidence.files import replace_file
from hudi_reconcile.report.github import summary, workflow_commands
from hudi_reconcile.report.junit import junit
from hudi_reconcile.report.openlineage import Ends, openlineage
from hudi_reconcile.report.prometheus import prometheus
from hudi_reconcile.report.webhook import message

Document = Mapping[str, Any]
_SUMMARY = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True, slots=True)
class Written:
    """A file to be written: replaced whole, or longer by the text."""

    output: str
    path: Path
    text: str
    is_appended: bool = False


def deliver(
    outputs: OutputsConfig, run: Document, environ: Mapping[str, str], ends: Mapping[str, Ends]
) -> tuple[str, ...]:
    """Write what the config asks for; returns lines for stderr: GitHub's annotations, and what could not be written."""
    said: list[str] = []
    for one in _files(outputs, run, environ, ends):
        try:
            one.path.parent.mkdir(parents=True, exist_ok=True)
            _append(one.path, one.text) if one.is_appended else replace_file(one.path, one.text.encode())
        except OSError as error:
            said.append(f"warning: outputs.{one.output}: {one.path} could not be written: {error.strerror}")
        except ReconcileError as error:
            said.append(f"warning: outputs.{one.output}: {error.message}")
    said += _posted(outputs, run, ends)
    if outputs.github and _SUMMARY in environ:
        said += workflow_commands(run)
    return tuple(said)


def _posted(outputs: OutputsConfig, run: Document, ends: Mapping[str, Ends]) -> Iterator[str]:
    """Tell services; each is told whatever became of the others."""
    hook, lineage = outputs.webhook, outputs.openlineage
    if hook is not None and run["outcome"] in hook.on and (found := post(hook.url, json.dumps(message(run)))):
        yield f"warning: outputs.webhook: {found.why}"
    if lineage is not None and lineage.url is not None:
        events = openlineage(run, lineage.namespace, ends).splitlines()
        if why := send(events, lineage.url, lineage.api_key):
            yield f"warning: outputs.openlineage: {why}"


def _files(
    outputs: OutputsConfig, run: Document, environ: Mapping[str, str], ends: Mapping[str, Ends]
) -> Iterator[Written]:
    if outputs.junit is not None:
        yield Written("junit", outputs.junit, junit(run))
    if outputs.prometheus is not None:
        yield Written("prometheus", outputs.prometheus / f"hudi_reconcile_{run['command']}.prom", prometheus(run))
    if outputs.ndjson is not None:
        yield Written("ndjson", outputs.ndjson, lines(run), is_appended=True)
    if (lineage := outputs.openlineage) is not None and lineage.file is not None:
        yield Written("openlineage", lineage.file, openlineage(run, lineage.namespace, ends), is_appended=True)
    if outputs.github and (target := environ.get(_SUMMARY)):
        yield Written("github", Path(target), summary(run), is_appended=True)


def lines(run: Document) -> str:
    """One JSON line a table: what `result.json` says of it, with the run that says so."""
    about = {key: run[key] for key in ("version", "run_id", "command", "started_utc", "ended_utc")}
    told = ({**about, "table": table["name"], **table} for table in run["tables"])
    return "".join(json.dumps(one, ensure_ascii=True, allow_nan=False) + "\n" for one in told)


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(text)
