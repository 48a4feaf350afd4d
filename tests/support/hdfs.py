"""An HDFS for tests: a name node and a data node of Hadoop's own, of the version that PySpark brings, on loopback alone."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from hudi_reconcile.demo.postgres import free_port
from hudi_reconcile.spark.jars import ResolverSettings, cache_folder, fetch, read_lock
from hudi_reconcile.spark.jvm import find_java
from tests.support.alone import alone
from tests.support.object_store import run_server

# The daemons; what they stand on is in PySpark's own jars.
_LOCK = Path(__file__).with_suffix(".lock")
_START_SECONDS = 120
_NODE = "org.apache.hadoop.hdfs.server"


@dataclass(frozen=True, slots=True)
class Hdfs:
    """A file system that answers at `url`."""

    port: int
    web_port: int

    @property
    def url(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}"

    def names(self, folder: str) -> set[str]:
        """What a folder holds; nothing where it is not there."""
        try:
            found = self._ask(f"{folder}?op=LISTSTATUS")["FileStatuses"]["FileStatus"]
        except urllib.error.HTTPError:
            return set()
        return {one["pathSuffix"] for one in found}

    def _ask(self, query: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/webhdfs/v1{query}", timeout=90) as answer:
            return json.load(answer)

    def _has_data_node(self) -> bool:
        query = "jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/{query}", timeout=90) as answer:
                (state,) = json.load(answer)["beans"]
        except (OSError, ValueError):
            return False
        return bool(state["NumLiveDataNodes"] == 1 and state["FSState"] == "Operational")


@contextmanager
def any_hdfs(folder: Path) -> Iterator[Hdfs]:
    """Both daemons for the length of a block."""
    found = Hdfs(free_port(), free_port())
    java = find_java(os.environ)
    with alone("jars"):
        jars = cache_folder(os.environ).parent / "test-jars"
        (jar,) = fetch(read_lock(_LOCK.read_text()), jars, ResolverSettings(), lambda: java)
    loopback = {f"dfs.datanode.{name}": "127.0.0.1:0" for name in ("address", "http.address", "ipc.address")}
    settings = {
        "fs.defaultFS": found.url,
        "dfs.namenode.http-address": f"127.0.0.1:{found.web_port}",
        "dfs.namenode.name.dir": f"{folder}/names",
        "dfs.datanode.data.dir": f"{folder}/data",
        "dfs.replication": "1",
        "dfs.namenode.safemode.extension": "0",
        **loopback,
    }
    xml = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    for name in ("core-site.xml", "hdfs-site.xml"):
        (folder / name).write_text(f"<configuration>{xml}</configuration>")
    classes = f"{folder}:{Path(pyspark.__file__).parent}/jars/*:{jar.path}"
    daemon = [str(java.home / "bin" / "java"), "-Xmx256m", "-cp", classes]
    name_node = [*daemon, f"{_NODE}.namenode.NameNode"]
    subprocess.run([*name_node, "-format", "-nonInteractive"], check=True, capture_output=True)
    with ExitStack() as stack:
        stack.enter_context(run_server(name_node, folder / "name.log"))
        stack.enter_context(run_server([*daemon, f"{_NODE}.datanode.DataNode"], folder / "data.log"))
        deadline = time.monotonic() + _START_SECONDS
        while not found._has_data_node():
            assert time.monotonic() < deadline, (folder / "name.log").read_text()[-3000:]
            time.sleep(0.3)
        yield found
