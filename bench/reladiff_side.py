"""reladiff 0.6.0 in a virtual environment of its own, PostgreSQL to PostgreSQL copy."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

VERSION = "reladiff[postgresql]==0.6.0"


def install(folder: Path) -> Path:
    """Make the environment once; returns its `reladiff`."""
    program = folder / "bin" / "reladiff"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run(
            [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", VERSION, "psycopg2-binary"], check=True
        )
    return program


def run(program: Path, url: str) -> tuple[float, int]:
    """Seconds of wall time, and the number of differing rows that it prints."""
    plain = url.replace("postgresql+psycopg://", "postgresql://")
    started = time.monotonic()
    done = subprocess.run(
        [str(program), plain, "orders", plain, "orders_copy", "-k", "order_id", "-c", "%", "-j", "4"],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - started
    if done.returncode:
        raise RuntimeError(f"reladiff failed: {done.stderr[-500:]}")
    keys = {line[2:].split(",")[0].strip(" ()'") for line in done.stdout.splitlines() if line[:1] in "+-"}
    return seconds, len(keys)
