"""Tells others of a finished run: files for CI servers, monitoring and log shippers, OpenLineage events, webhooks.

The run is on disk by then: what cannot be written or sent is said, and changes no exit code. Addresses and keys are
secrets, so that no message repeats them.

A post has one deadline for name look-up, connection, TLS, request and answer: a socket's own timeout holds for one read,
and a service that drips a byte a second could hold a run for ever. A receiver that is down is given up after a few tries of
one event.
"""

from __future__ import annotations

import json
import os
import posixpath
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from hudi_reconcile.config.model import Config, OutputsConfig
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.pull.retry import wait_seconds
from hudi_reconcile.core.source.jdbc import is_jdbc
from hudi_reconcile.databases.registry import place_url
from hudi_reconcile.evidence.files import EvidenceError, read_bytes, replace_file
from hudi_reconcile.report.outputs.github import render_summary, render_workflow_commands
from hudi_reconcile.report.outputs.junit import render_junit
from hudi_reconcile.report.outputs.openlineage import Dataset, Ends, render_openlineage
from hudi_reconcile.report.outputs.prometheus import MetricsFile, name_metrics, render_prometheus
from hudi_reconcile.report.outputs.webhook import build_message

Document = Mapping[str, Any]
_SUMMARY = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True, slots=True)
class OutputFile:
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
    for file in _files(outputs, run, environ, ends):
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            _append(file.path, file.text) if file.is_appended else replace_file(file.path, file.text.encode())
        except OSError as error:
            said.append(f"warning: outputs.{file.output}: {file.path} could not be written: {error.strerror}")
        except ReconcileError as error:
            said.append(f"warning: outputs.{file.output}: {error.message}")
    said += _post_outputs(outputs, run, ends)
    if outputs.github and _SUMMARY in environ:
        said += render_workflow_commands(run)
    return tuple(said)


def _post_outputs(outputs: OutputsConfig, run: Document, ends: Mapping[str, Ends]) -> Iterator[str]:
    """Tell services; each is told whatever became of the others."""
    hook, lineage = outputs.webhook, outputs.openlineage
    if hook is not None and run["outcome"] in hook.on and (refusal := post(hook.url, json.dumps(build_message(run)))):
        yield f"warning: outputs.webhook: {refusal.why}"
    if lineage is not None and lineage.url is not None:
        events = render_openlineage(run, lineage.namespace, ends).splitlines()
        if why := send(events, lineage.url, lineage.api_key):
            yield f"warning: outputs.openlineage: {why}"


def _files(
    outputs: OutputsConfig, run: Document, environ: Mapping[str, str], ends: Mapping[str, Ends]
) -> Iterator[OutputFile]:
    if outputs.junit is not None:
        yield OutputFile("junit", outputs.junit, render_junit(run))
    if outputs.prometheus is not None:
        yield _metrics(outputs.prometheus, run, ends)
    if outputs.ndjson is not None:
        yield OutputFile("ndjson", outputs.ndjson, render_json_lines(run), is_appended=True)
    if (lineage := outputs.openlineage) is not None and lineage.file is not None:
        yield OutputFile(
            "openlineage", lineage.file, render_openlineage(run, lineage.namespace, ends), is_appended=True
        )
    if outputs.github and (target := environ.get(_SUMMARY)):
        yield OutputFile("github", Path(target), render_summary(run), is_appended=True)


def _metrics(folder: Path, run: Document, ends: Mapping[str, Ends]) -> OutputFile:
    """The file of this command, config and profile; what this run did not come to learn stays as the file has it."""
    # Not resolved: a link to the config may lead elsewhere after each deployment.
    config = os.path.abspath(run["provenance"].get("config", "reconcile.yaml"))  # noqa: PTH100
    if profile := run["provenance"].get("profile"):
        config = f"{config}#{profile}"
    path = folder / name_metrics(run["command"], config)
    before = ""
    with suppress(OSError, UnicodeDecodeError, EvidenceError):  # others may write there, a FIFO too
        before = read_bytes(path).decode("utf-8")
    zone = next((table_ends.zone for table_ends in ends.values()), "UTC")
    return OutputFile("prometheus", path, render_prometheus(run, MetricsFile(config, zone, before)))


def render_json_lines(run: Document) -> str:
    """One JSON line a table: what `result.json` says of it, with the run that says so."""
    about = {key: run[key] for key in ("version", "run_id", "command", "started_utc", "ended_utc")}
    documents = ({**about, "table": table["name"], **table} for table in run["tables"])
    return "".join(json.dumps(document, ensure_ascii=True, allow_nan=False) + "\n" for document in documents)


def _append(path: Path, text: str) -> None:
    with open(path, "a", encoding="utf-8", newline="\n", opener=_open_unblocked) as file:
        file.write(text)


def _open_unblocked(path: str, flags: int) -> int:
    """A descriptor to write by. A FIFO in the file's place that nobody reads is an error, and never waited for."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


TIMEOUT_SECONDS = 10.0
_TOO_MANY, _SERVER_ERROR = 429, 500


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Why a document was not taken. `may_pass`: the other side may take it later."""

    why: str
    may_pass: bool


def post(
    url: str, document: str, headers: Mapping[str, str] | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
) -> NotTaken | None:
    """Send one JSON document, once; None where the other side took it in time. Never raises, never names the address.

    An answer is its status and headers; a body is not read.
    """
    call = _Call(timeout_seconds)
    request = partial(Request, url, document.encode(), {**(headers or {}), "Content-Type": "application/json"})
    # Daemon: neither a name look-up, which nothing can interrupt, nor a service keeps the process from ending.
    thread = Thread(target=call.make, args=(request,), name="post", daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    return call.end()


# --- helpers ---


class _NoRedirect(HTTPRedirectHandler):
    """What is sent is meant for the address of the config, and for no other."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Never."""


@dataclass(slots=True)
class _Call:
    """One post in a thread of its own. `end` says what came of it by then, and breaks off what is still under way."""

    timeout_seconds: float
    _connections: list[HTTPConnection] = field(default_factory=list)
    _found: NotTaken | None = None
    _is_over: bool = False
    _lock: Lock = field(default_factory=Lock)

    def make(self, request: partial[Request]) -> None:
        refusal = self._send(request)
        with self._lock:
            if not self._is_over:
                self._is_over, self._found = True, refusal

    def end(self) -> NotTaken | None:
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._found = NotTaken(f"no answer within {self.timeout_seconds:g} s", may_pass=True)
        for connection in self._connections:
            if (line := connection.sock) is not None:
                with suppress(OSError):  # closed by now
                    line.shutdown(socket.SHUT_RDWR)
        return self._found

    def _send(self, request: partial[Request]) -> NotTaken | None:
        try:
            opener = build_opener(_NoRedirect, _Plain(self._connections), _Secure(self._connections))
            with opener.open(request(method="POST"), timeout=self.timeout_seconds):
                return None
        except HTTPError as error:
            error.close()
            may_pass = error.code == _TOO_MANY or error.code >= _SERVER_ERROR
            return NotTaken(f"the other side answered {error.code}", may_pass)
        except (URLError, HTTPException, OSError, ValueError) as error:
            reason = getattr(error, "reason", None)
            name = type(reason if isinstance(reason, Exception) else error).__name__
            return NotTaken(f"no answer ({name})", may_pass=not isinstance(error, ValueError))


class _Plain(HTTPHandler):
    """Keeps the connection that it opens, so that somebody else can break it off."""

    def __init__(self, opened: list[HTTPConnection]) -> None:
        super().__init__()
        self._opened = opened

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_open_connection, self._opened, HTTPConnection), req)


class _Secure(HTTPSHandler):
    """As `_Plain`, with TLS that verifies certificate and name: the default of Python's."""

    def __init__(self, opened: list[HTTPConnection]) -> None:
        super().__init__()
        self._opened = opened

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_open_connection, self._opened, HTTPSConnection), req)


def _open_connection(
    opened: list[HTTPConnection], kind: type[HTTPConnection], host: str, **settings: float
) -> HTTPConnection:
    opened.append(kind(host, **settings))  # type: ignore[arg-type]
    return opened[-1]


TRIES = 3
TOTAL_SECONDS = 60.0


def send(
    events: Sequence[str],
    url: str,
    api_key: str | None,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    total_seconds: float = TOTAL_SECONDS,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Send each event; empty where all were taken, else how many were not, and why. Never raises.

    What may pass (no answer, 429, 5xx) is tried three times; an event may then arrive twice, under the same run id. One that
    is refused for good hinders no other. After `total_seconds` no further one is begun.
    """
    until = clock() + total_seconds
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    refused: list[str] = []
    for number, event in enumerate(events):
        if clock() >= until:
            refused += [f"no time was left after {total_seconds:g} s"] * (len(events) - number)
            break
        refusal = _try_until_taken(lambda event=event: post(url, event, headers, timeout_seconds=timeout_seconds), wait)  # type: ignore[misc]
        if refusal is None:
            continue
        refused.append(refusal.why)
        if refusal.may_pass:
            refused += [refusal.why] * (len(events) - number - 1)
            break
    if not refused:
        return ""
    return f"{len(refused)} of {len(events)} events were not taken: {'; '.join(dict.fromkeys(refused))}"


def _try_until_taken(act: Callable[[], NotTaken | None], wait: Callable[[float], None]) -> NotTaken | None:
    refusal = act()
    for attempt in range(1, TRIES):
        if refusal is None or not refusal.may_pass:
            break
        wait(wait_seconds(attempt))
        refusal = act()
    return refusal


def name_datasets(config: Config, tables: tuple[TableConfig, ...]) -> Mapping[str, Ends]:
    """Both datasets of each table, by the table's name."""
    zone = config.source.time_zone
    return {table.name: Ends(_source(config.source.url, table), _lake(table.lake.path), zone) for table in tables}


def _source(url: str, table: TableConfig) -> Dataset:
    name = (table.source.table or f"query of {table.name}").replace('"', "").replace("`", "")
    if is_jdbc(url):  # such URLs may hold anything
        return Dataset(":".join(url.split(":")[:2]), name)
    server, _, database = place_url(url).rpartition("/")
    return Dataset(server, f"{database}.{name}" if database else name)


def _lake(path: str) -> Dataset:
    parts = urlsplit(path)
    if not parts.scheme or parts.scheme == "file":
        return Dataset("file", posixpath.normpath(parts.path or path))
    return Dataset(f"{parts.scheme}://{parts.netloc}", parts.path.strip("/"))
