"""What other users of the machine can see of a run: nothing of its rows, its secrets and its settings."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROW, SETTING, SECRET, KEPT = "canary-of-a-row", "canary-of-a-setting", "canary-of-a-secret", "kept-in-the-environment"
# Sorts rows with the canary, says where it is, and waits; ends as a command does when it is told to.
RUN = """
import json, signal, sys
from hudi_reconcile.core.errors import Terminated
from hudi_reconcile.spark.session import SessionRequest, open_session

def stop(*_):
    raise Terminated
signal.signal(signal.SIGTERM, stop)
conf = {"spark.sql.shuffle.partitions": "2", "spark.shuffle.compress": "false", **json.loads(sys.argv[2])}
with open_session(SessionRequest(master="local[2]", conf=conf, hidden=frozenset({"SHOP_PASSWORD"}), short=True)) as session:
    spark = session.spark
    rows = spark.range(200).selectExpr("id", f"concat('{sys.argv[3]}', id) as note")
    options = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id", "hoodie.metadata.enable": "false"}
    if sys.argv[1]:
        rows.repartition(2, "note").write.format("hudi").options(**options).save(sys.argv[1])
        rows = spark.read.format("hudi").load(sys.argv[1])
    count = rows.repartition(2, "note").count()
    manager = spark._jvm.org.apache.spark.SparkEnv.get().securityManager()
    print(json.dumps({
        "rows": count, "scratch": str(session.scratch.path), "jvm": spark.sparkContext._gateway.proc.pid,
        "authenticates": manager.isAuthenticationEnabled(), "secret": manager.getSecretKey(),
    }), flush=True)
    sys.stdin.read()
"""


@dataclass(frozen=True, slots=True)
class Run:
    process: subprocess.Popen[str]
    told: dict[str, Any]

    @property
    def scratch(self) -> Path:
        return Path(self.told["scratch"])

    def of_jvm(self, name: str) -> str:
        """A file of the JVM under /proc."""
        return Path(f"/proc/{self.told['jvm']}/{name}").read_bytes().replace(b"\0", b"\n").decode()


@contextmanager
def run(folder: Path, *, lake: str = "", **conf: str) -> Iterator[Run]:
    """A process with a session that has sorted its rows, in a temporary folder that everybody may enter."""
    temp = folder / "temp"
    temp.mkdir(exist_ok=True)
    environ = os.environ | {"TMPDIR": str(temp), "SHOP_PASSWORD": SECRET, "AWS_REGION": KEPT}
    command = [sys.executable, "-c", RUN, lake, json.dumps(conf), ROW]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ, umask=0o022, cwd=folder
    ) as process:
        assert process.stdout is not None
        yield Run(process, json.loads(process.stdout.readline()))


def holds(folder: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_rows_secrets_and_settings_of_a_run_are_hidden_from_others_and_its_scratch_goes_when_it_is_stopped(
    tmp_path: Path,
) -> None:
    with run(tmp_path, **{"spark.hadoop.fs.s3a.secret.key": SETTING}) as one:
        assert one.told["rows"] == 200
        assert holds(one.scratch, ROW)  # what is hidden from others is there
        assert stat.S_IMODE(one.scratch.stat().st_mode) == 0o700
        if os.geteuid() == 0 and shutil.which("setpriv"):
            nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
            looked = subprocess.run([*nobody, "ls", str(one.scratch)], capture_output=True, check=False)
            assert looked.returncode != 0
        assert one.told["authenticates"]
        assert len(one.told["secret"]) >= 32
        command = one.of_jvm("cmdline")
        assert not any(text in command for text in (SETTING, SECRET, one.told["secret"]))
        environ = one.of_jvm("environ")
        assert KEPT in environ
        assert not any(text in environ for text in (SETTING, SECRET, one.told["secret"]))
        assert list(one.scratch.parent.iterdir()) == [one.scratch]
        one.process.send_signal(signal.SIGTERM)

    assert list((tmp_path / "temp").iterdir()) == []


def test_shuffle_files_hold_no_row_in_clear_where_spark_encrypts_them_and_go_with_the_run(tmp_path: Path) -> None:
    with run(tmp_path, lake=str(tmp_path / "lake"), **{"spark.io.encryption.enabled": "true"}) as one:
        assert one.told["rows"] == 200
        shuffled = list(one.scratch.rglob("shuffle_*.data"))
        assert shuffled
        assert not any(ROW.encode() in path.read_bytes() for path in shuffled)
        one.process.communicate()

    assert list((tmp_path / "temp").iterdir()) == []
    base_file = next((tmp_path / "lake").rglob("*.parquet"))
    assert stat.S_IMODE(base_file.stat().st_mode) == 0o644  # who shares the lake reads it as before
