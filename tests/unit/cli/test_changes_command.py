"""`changes`: what is refused before Spark is started, and an import that stays free of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hudi_reconcile.cli.main import run

CONFIG = """version: 1
source: {url: "postgresql+psycopg://reader@127.0.0.1:1/shop"}
tables:
  - {name: orders, source: {table: public.orders}, lake: {path: lake/orders}}
"""

IN_STEP = (
    *("-t", "orders", "--into", "postgresql://me@h/d", "--into-table", "t"),
    *("--consumer", "copy", "--commit-position"),
)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-t", "orders", "--type", "net"], "append-only"),
        (["-t", "orders"], "--type"),
        (["--type", "upsert"], "-t"),
        (["-t", "orders", "--path", "lake/orders", "--type", "upsert"], "one of both"),
        (["--path", "lake/orders", "--type", "upsert"], "--path reads no config"),
        (["--path", " ", "--type", "upsert"], "not a path"),
        (["--path", "s3a://AKIA7:hunter2/x@shop/orders", "--type", "upsert"], "holds credentials"),
        (["-t", "order", "--type", "upsert"], "did you mean 'orders'"),
        (["-t", "orders", "--type", "upsert", "--from", "yesterday"], "--from 'yesterday' is no instant"),
        (["-t", "orders", "--type", "upsert", "--to", "20261340000000000"], "--to '20261340000000000' is no instant"),
        (["-t", "orders", "--type", "upsert", "--format", "csv"], "ndjson"),
        (["-t", "orders", "--type", "upsert", "--from", "0001-01-01T00:00:00+14:00"], "is no instant"),
        (["-t", "orders", "--type", "upsert", "--from-log", "--from-files"], "contradict"),
        ([*IN_STEP, "--type", "upsert"], "not by upsert"),
        ([*IN_STEP, "--type", "min-delta", "--corrections-only"], "not by corrections alone"),
        ([*IN_STEP[:-1], "--type", "min-delta"], "--commit-position"),
        ([*IN_STEP[:-3], "--type", "min-delta"], "--consumer NAME"),
        (["-t", "orders", "--type", "min-delta", "--into", "postgresql://me@h/d"], "--into-table"),
        (["-t", "orders", "--type", "min-delta", "--into", "out", "--into-table", "t"], "together"),
        (["-t", "orders", "--type", "min-delta", "--into", "mysql+pymysql://me:hunter2@h/d"], "only a PostgreSQL"),
        (
            ["-t", "orders", "--type", "min-delta", "--into", "jdbc:postgresql://h/d?password=hunter2"],
            "only a PostgreSQL",
        ),
    ],
)
def test_wrong_call_is_usage_and_says_what_is_legal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    config = tmp_path / "reconcile.yaml"
    config.write_text(CONFIG)

    code = run(["-c", str(config), "changes", *arguments])

    found = capsys.readouterr()
    assert (code, found.out) == (2, "")
    assert says in found.err
    assert "hunter2" not in found.err


def test_importing_the_package_loads_neither_spark_nor_the_rooms() -> None:
    script = (
        "import sys, hudi_reconcile; hudi_reconcile.changes;"
        "print([name for name in sys.modules if name.startswith(('pyspark', 'py4j', 'hudi_reconcile.'))])"
    )

    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert found.stdout.strip() == "[]"
