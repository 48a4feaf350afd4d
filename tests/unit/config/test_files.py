"""Files that people name: regular ones and pipes are read, within limits; whatever else stands there is a named error."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from hudi_reconcile.cli.main import run
from hudi_reconcile.config import secrets
from hudi_reconcile.config.secrets import read_small, read_text_file

CONFIG = """\
version: 1
source: {url: postgresql+psycopg://reader@h/d}
tables: [{name: orders, source: {table: orders}, lake: {path: lake}}]
"""


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def unix_socket(folder: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(folder / "s"))
    return folder / "s"


THINGS: list[tuple[Callable[[Path], Path], str]] = [
    (lambda folder: folder, "is a folder, not a file"),
    (lambda _: Path("/dev/zero"), "is a device or a socket, not a file"),
    (unix_socket, "is a device or a socket, not a file"),
    (fifo, "is a pipe that was not written to its end within 0.2 s"),
]


@pytest.mark.parametrize(("make", "why"), THINGS)
def test_what_is_no_file_is_a_named_error_in_every_place_and_never_waited_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], Path],
    why: str,
) -> None:
    monkeypatch.setattr(secrets, "PIPE_SECONDS", 0.2)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    path = make(tmp_path / "there")
    (tmp_path / "rules.yaml").write_text(CONFIG.replace("lake: {path: lake}", f"lake: {{path: l}}, rules: {path}"))
    (tmp_path / "secret.yaml").write_text(
        CONFIG.replace("tables: ", f'spark: {{master: "${{file:{path}}}"}}\ntables: ')
    )

    for words in (
        ["-c", str(path), "config", "validate"],
        ["-c", "secret.yaml", "config", "validate"],
        ["-c", "rules.yaml", "rules", "lint"],
        ["rules", "lint", str(path)],
        ["pull", "--props", str(path), "--dry-run"],
        ["init", "--from-props", str(path)],
    ):
        assert run(words) == 2, words
        told = capsys.readouterr().err
        assert why in told, words
        assert "Traceback" not in told


def test_config_may_come_through_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = fifo(tmp_path)
    writer = Thread(target=path.write_text, args=(CONFIG,))
    writer.start()

    assert run(["-c", str(path), "config", "validate"]) == 0

    writer.join()
    assert "ok (1 table: orders)" in capsys.readouterr().out


def test_pipe_that_never_ends_is_read_no_further_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "PIPE_SECONDS", 0.2)
    read_end, write_end = os.pipe()
    os.write(write_end, b"x" * 5_000)
    try:
        assert read_small(Path(f"/dev/fd/{read_end}"), 1_000) == b"x" * 1_001
        with pytest.raises(TimeoutError, match=r"not written to its end within 0\.2 s"):
            read_small(Path(f"/dev/fd/{read_end}"), 100_000)
    finally:
        os.close(read_end)
        os.close(write_end)


def test_secret_of_more_than_64_kib_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"x" * 65_537)

    with pytest.raises(OSError, match="larger than 64 KiB"):
        read_text_file(tmp_path / "s")
