"""A standalone Spark cluster on this machine; its workers have mount namespaces of their own: they see no evidence.

Spark's own Master and Worker, from pyspark's jars, on loopback alone.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from hudi_reconcile.demo.postgres import free_port
from hudi_reconcile.spark.jvm import find_java

_START_SECONDS = 90.0
_HOME = Path(pyspark.__file__).parent
_EXECUTOR = b"CoarseGrainedExecutorBackend"
# As in sessions over few rows: none of these JVMs lives long enough for the second compiler to pay.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
QUICK_CONF = {"spark.driver.extraJavaOptions": _QUICK, "spark.executor.extraJavaOptions": _QUICK}


@dataclass(slots=True)
class SparkCluster:
    """A master with workers. `conf` is what a session needs beside its master."""

    port: int
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    @property
    def conf(self) -> Mapping[str, str]:
        return {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "600m",
            "spark.driver.memory": "800m",
            "spark.ui.enabled": "false",
            **QUICK_CONF,
        }


def executors_below(folder: Path) -> list[int]:
    """The processes of the executors whose workers' folders lie below that one."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # it ended, or is another user's
            is_executor = entry.name.isdecimal() and _EXECUTOR in (entry / "cmdline").read_bytes()
            if is_executor and (entry / "cwd").readlink().is_relative_to(folder):
                found.append(int(entry.name))
    return found


def kill_executors(folder: Path) -> None:
    """SIGKILL to all of them; the workers start others."""
    for pid in executors_below(folder):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def any_cluster(folder: Path, hidden: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A cluster for the length of a block. In the workers' namespaces `hidden` is an empty folder of their own.

    Where the machine allows no mount namespaces the test fails: it is not skipped.
    """
    cluster = SparkCluster(free_port(), folder)
    java = [str(find_java(os.environ).home / "bin" / "java"), "-Xmx256m", *_QUICK.split(), "-cp", f"{_HOME}/jars/*"]
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(_HOME), "SPARK_SCALA_VERSION": "2.12"}
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(cluster.port)]
    with ExitStack() as stack:
        stack.enter_context(_process([*java, *master, "--webui-port", "0"], folder / "master.log", environ))
        _until_said(folder / "master.log", r"Starting Spark master at")
        for number in range(workers):
            worker = [
                "org.apache.spark.deploy.worker.Worker",
                "--host",
                "127.0.0.1",
                "--cores",
                "1",
                "--memory",
                "800m",
            ]
            work = ["--webui-port", "0", "--work-dir", str(folder / f"work{number}"), cluster.master]
            command = [*_apart(hidden), *java, *worker, *work]
            log = folder / f"worker{number}.log"
            cluster.workers.append(stack.enter_context(_process(command, log, environ)))
            _until_said(log, r"Successfully registered with master")
        yield cluster


def _apart(hidden: Path) -> Sequence[str]:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    mount = 'mount -t tmpfs tmpfs "$0" && exec "$@"'
    return ["unshare", *user, "--mount", "--propagation", "private", "sh", "-c", mount, str(hidden)]


@contextmanager
def _process(command: Sequence[str], log: Path, environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environ, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _until_said(log: Path, words: str) -> None:
    patience = time.monotonic() + _START_SECONDS
    while not re.search(words, log.read_text(errors="replace")):
        assert time.monotonic() < patience, log.read_text(errors="replace")[-3000:]
        time.sleep(0.1)
