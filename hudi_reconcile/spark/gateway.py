"""Starts and ends the JVM. What it prints never reaches stdout: it is held back while it starts, then goes to stderr.

Knows nothing of sessions, jars or tables.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.java import JavaRuntime
from hudi_reconcile.spark.properties import as_properties
from hudi_reconcile.spark.scratch import Scratch

_STDERR = 2
_TAIL_LINES = 400
_SHOWN_LINES = 4
_END_SECONDS = 20
# Hudi sizes objects with a library that says at the first write that it may not look deeper; it works without.
_NOISE = (b"# WARNING: Unable to get Instrumentation.", b"# WARNING: Unable to attach Serviceability Agent.")
_RESOLVER_SIGNS = ("unresolved dependenc", "UNRESOLVED DEPENDENCIES", "module not found", "FAILED DOWNLOADS")
RESOLVER_FIX = (
    "set DEFAULT_ARTIFACT_REPOSITORY to a Maven mirror, or spark.conf: {spark.jars.ivySettings: FILE}; then"
    " `hudi-reconcile jars fetch` brings the jars once and later starts need no network."
    " Offline: jars: {mode: paths, paths: [...]}"
)


class JvmOutput:
    """Reads what the JVM prints, keeps the end of it, and passes it on to stderr once told to."""

    def __init__(self, read_end: int) -> None:
        self._lines: deque[bytes] = deque(maxlen=_TAIL_LINES)
        self._passing_on = threading.Event()
        self._thread = threading.Thread(target=self._pump, args=(read_end,), name="jvm-output", daemon=True)
        self._thread.start()

    def pass_on(self) -> None:
        """From now on every line goes to stderr, without known noise; what came before stays with `tail`."""
        self._passing_on.set()

    def tail(self) -> str:
        """The last lines, after the JVM closed its output or a moment has passed."""
        self._thread.join(timeout=1)
        return b"".join(tuple(self._lines)).decode("utf-8", "replace")

    def _pump(self, read_end: int) -> None:
        with os.fdopen(read_end, "rb") as stream:
            for line in stream:
                self._lines.append(line)
                if self._passing_on.is_set() and not line.startswith(_NOISE):
                    os.write(_STDERR, line)


@dataclass(frozen=True, slots=True)
class Jvm:
    """A running JVM that answers through py4j."""

    gateway: Any
    output: JvmOutput


def launch(conf: Mapping[str, str], java: JavaRuntime, scratch: Scratch, hidden: Collection[str] = ()) -> Jvm:
    """A JVM with Spark on its class path and these settings; no Spark context yet.

    The settings go by a file that only this user may read, for every user of the machine sees command lines. `hidden`
    are the variables that the JVM does not get: those that hold secrets.

    Raises:
        UsageError: it ended before it answered, or the user has no name.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    refuse_nameless(os.geteuid())
    read_end, write_end = os.pipe()
    output = JvmOutput(read_end)
    settings = scratch.path / "spark.properties"
    try:
        with _environment(
            JAVA_HOME=str(java.home), PYSPARK_SUBMIT_ARGS=submit_arguments(settings, conf), **dict.fromkeys(hidden)
        ):
            # The folder's lock goes along: it holds as long as the JVM lives, whatever becomes of this process.
            options = {"stdout": write_end, "stderr": write_end, "pass_fds": (scratch.lock,)}
            gateway = launch_gateway(None, options)  # type: ignore[no-untyped-call]  # pyspark left it bare
    except PySparkRuntimeError as error:
        if error.getErrorClass() != "JAVA_GATEWAY_EXITED":
            raise
        os.close(write_end)
        raise explain_exit(output.tail(), conf.get("spark.jars.packages")) from error
    finally:
        settings.unlink(missing_ok=True)
    os.close(write_end)
    return Jvm(gateway=gateway, output=output)


def refuse_nameless(user_id: int, find: Callable[[int], object] = pwd.getpwuid) -> None:
    """Raises UsageError for a user id without an account, over which Hadoop ends in a NullPointerException."""
    try:
        find(user_id)
    except KeyError:
        raise UsageError(
            f"user id {user_id} has no account here, and Hadoop asks for its name",
            fix=f"run as a user that has one (runAsUser), or add to /etc/passwd: job:x:{user_id}:{user_id}::/:/bin/false",
        ) from None


def end(gateway: Any) -> None:
    """Stop the JVM and wait until its process is gone. Harmless when it is gone already."""
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    gateway.shutdown()
    if process is None:  # not ours: started by spark-submit
        return
    if process.stdin is not None:
        process.stdin.close()  # the JVM of pyspark-shell ends when its stdin does
    try:
        process.wait(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def explain_exit(tail: str, packages: str | None) -> UsageError:
    """Why the JVM ended before it answered: the resolver, or anything else, with the lines that tell.

    >>> explain_exit("unresolved dependency: a#b;1: not found", "a:b:1").message
    "Spark's resolver could not fetch a:b:1: unresolved dependency: a#b;1: not found"
    """
    shown = telling_lines(tail)
    if any(sign in tail for sign in _RESOLVER_SIGNS):
        return UsageError(f"Spark's resolver could not fetch {packages or 'a jar'}: {shown}", fix=RESOLVER_FIX)
    return UsageError(
        f"Java ended before Spark answered (JAVA_GATEWAY_EXITED): {shown or 'it printed nothing'}",
        fix="check spark.conf (memory, java options) and: hudi-reconcile doctor",
    )


def telling_lines(tail: str) -> str:
    """The few lines of a JVM's output that name the trouble, on one line, without credentials in addresses."""
    signs = re.compile(
        r"unresolved dependency|Exception|^Error|ERROR|Could not|Unrecognized|Invalid|heap", re.MULTILINE
    )
    lines = dict.fromkeys(line.strip(" \t:") for line in tail.splitlines() if signs.search(line))
    return re.sub(r"//[^/@\s]*@", "//***@", " | ".join(list(lines)[:_SHOWN_LINES]))


def submit_arguments(settings: Path, conf: Mapping[str, str]) -> str:
    """Write the settings behind those that spark-submit would read by itself; the arguments with which it reads them."""
    args = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    base = _spark_defaults()
    if "--properties-file" in args[:-1]:  # spark-submit takes one such file: the user's goes before ours
        at = args.index("--properties-file")
        base = Path(args[at + 1])
        del args[at : at + 2]
    before = base.read_text("utf-8") if base is not None and base.is_file() else ""
    descriptor = os.open(settings, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{before}\n{as_properties(conf)}")
    return shlex.join(["--properties-file", str(settings), *args])


def _spark_defaults() -> Path | None:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    return Path(folder) / "spark-defaults.conf" if folder else None


@contextmanager
def _environment(**values: str | None) -> Iterator[None]:
    # launch_gateway takes the environment from this process and from nowhere else. None: not there.
    before = {name: os.environ.get(name) for name in values}
    _put(values)
    try:
        yield
    finally:
        _put(before)


def _put(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
