"""An object store for tests: an S3 on this machine, the jars of `s3a://`, and the ZooKeeper that keeps writers apart on it.

As a program it is the command line, held before it writes a page: `python -m tests.support.object_store FOLDER ARGUMENT…`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pyspark

from hudi_reconcile.cli.main import run
from hudi_reconcile.core.lake.locks import PROVIDER, ZOOKEEPER_LOCK
from hudi_reconcile.demo.postgres import free_port
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.spark.jars import ResolverSettings, cache_folder, fetch, read_lock
from hudi_reconcile.spark.jvm import find_java
from tests.support.alone import alone
from tests.support.kill_places import ROOT
from tests.support.second_writer import Gate

BUCKET = "lake"
_LOCK = Path(__file__).with_name("s3.lock")
_START_SECONDS = 60
_ZOOKEEPER = """clientPortAddress=127.0.0.1
clientPort={port}
dataDir={folder}
tickTime=500
admin.enableServer=false
"""


def store_jars() -> list[Path]:
    """The jars of `s3a://`, fetched as the tool fetches its own, each with the hash of the lock."""
    folder = cache_folder(os.environ).parent / "test-jars"
    with alone("jars"):
        jars = fetch(read_lock(_LOCK.read_text()), folder, ResolverSettings(), lambda: find_java(os.environ))
    return [jar.path for jar in jars]


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """One bucket that answers, and a ZooKeeper beside it."""

    port: int
    zookeeper_port: int

    @property
    def conf(self) -> dict[str, str]:
        """The settings with which Spark reaches it."""
        options = {
            "endpoint": f"http://127.0.0.1:{self.port}",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "access.key": "reader",
            "secret.key": "${file:s3-secret}",
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in options.items()}

    def lock_options(self, table: str) -> dict[str, str]:
        """`lake.options` that keep writers of the table apart."""
        options = {
            "url": f"127.0.0.1:{self.zookeeper_port}",
            "base_path": "/hudi",
            "lock_key": table,
            "session_timeout_ms": "3000",  # a killed holder's lock falls after it
        }
        return {PROVIDER: ZOOKEEPER_LOCK, **{f"hoodie.write.lock.zookeeper.{name}": it for name, it in options.items()}}

    def client(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            region_name="us-east-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )

    def get(self, key: str) -> str:
        return str(self.client().get_object(Bucket=BUCKET, Key=key)["Body"].read().decode())

    def put(self, key: str, text: str) -> None:
        self.client().put_object(Bucket=BUCKET, Key=key, Body=text.encode())

    def names(self, prefix: str = "") -> set[str]:
        """The names of all objects below a prefix."""
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return {one["Key"] for page in pages for one in page.get("Contents", ())}


@contextmanager
def any_store(folder: Path) -> Iterator[ObjectStore]:
    """Both servers, on loopback alone, for the length of a block."""
    store = ObjectStore(free_port(), free_port())
    settings = folder / "zoo.cfg"
    settings.write_text(_ZOOKEEPER.format(port=store.zookeeper_port, folder=folder / "zookeeper"))
    java, jars = find_java(os.environ).home / "bin" / "java", Path(pyspark.__file__).parent / "jars"
    moto = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(store.port)]
    zookeeper = [str(java), "-Xmx64m", "-cp", f"{jars}/*", "org.apache.zookeeper.server.ZooKeeperServerMain"]
    with ExitStack() as stack:
        stack.enter_context(run_server(moto, folder / "moto.log"))
        stack.enter_context(run_server([*zookeeper, str(settings)], folder / "zookeeper.log"))
        _until_made(store)
        yield store


@contextmanager
def run_server(command: Sequence[str], log: Path) -> Iterator[None]:
    """A process for the length of a block; all that it says goes into the log."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _until_made(store: ObjectStore) -> None:
    patience = time.monotonic() + _START_SECONDS
    while True:
        try:
            made = urllib.request.Request(f"http://127.0.0.1:{store.port}/{BUCKET}", method="PUT")
            urllib.request.urlopen(made).close()  # noqa: S310 - of this machine
        except OSError:
            assert time.monotonic() < patience, "the object store did not answer"
            time.sleep(0.1)
        else:
            return


def on_host(name: str) -> list[str]:
    """What makes a command run on a host of that name, as far as a lease can tell."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    known = 'hosts=$(mktemp) && echo "127.0.0.1 localhost $0" > "$hosts" && mount --bind "$hosts" /etc/hosts'
    return ["unshare", *user, "--uts", "--mount", "sh", "-c", f'hostname "$0" && {known} && exec "$@"', name]


def begin(config: Path, *arguments: str, host: str, log: Path, hold: Gate | None = None) -> subprocess.Popen[str]:
    """A command in a process of its own on a host of that name; it stops at the gate before it writes a page."""
    module = ["hudi_reconcile"] if hold is None else ["tests.support.object_store", str(hold.folder)]
    command = [*on_host(host), sys.executable, "-m", *module, "-c", str(config), *arguments]
    with log.open("w") as output:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output, text=True, cwd=ROOT)


def _upsert_at(gate: Gate) -> Callable[..., Any]:
    upsert = HudiLake.upsert

    def held(lake: HudiLake, *arguments: Any) -> Any:
        gate.stop()(0)
        return upsert(lake, *arguments)

    return held


if __name__ == "__main__":
    setattr(HudiLake, "upsert", _upsert_at(Gate(Path(sys.argv[1]))))  # noqa: B010 - a method of a class is replaced
    sys.exit(run(sys.argv[2:]))
