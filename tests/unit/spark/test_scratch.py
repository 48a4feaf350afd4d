"""The scratch folder: nobody else's, gone at the end, and swept where a dead process left it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.spark.scratch import PREFIX, make_scratch, open_scratch
from hudi_reconcile.spark.settings import write_properties

# Says where its folder is, then waits; `child` holds the lock too, as the JVM does.
HOLDER = """
import subprocess, sys
from hudi_reconcile.spark.scratch import make_scratch
scratch = make_scratch()
(scratch.path / "rows").write_text("canary")
child = subprocess.Popen(["sleep", "60"], stdout=-3, stderr=-3, pass_fds=(scratch.lock,)) if "child" in sys.argv else None
print(scratch.path, child.pid if child else 0, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def hold(*words: str) -> tuple[subprocess.Popen[str], Path, int]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    path, child = process.stdout.readline().split()
    return process, Path(path), int(child)


def scratches(temp: Path) -> set[Path]:
    return set(temp.glob(f"{PREFIX}*"))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_scratch_folder_is_its_owners_alone_whatever_the_umask_and_gone_after_the_block(temp: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with open_scratch() as scratch:
            assert stat.S_IMODE(scratch.path.stat().st_mode) == 0o700
            (scratch.path / "rows").touch()
    finally:
        os.umask(before)

    assert scratches(temp) == set()


def test_scratch_folder_is_gone_after_a_failure(temp: Path) -> None:
    with pytest.raises(KeyError), open_scratch():
        raise KeyError

    assert scratches(temp) == set()


def test_scratch_removed_twice_closes_no_file_of_others() -> None:
    scratch = make_scratch()
    scratch.remove()
    with Path(os.devnull).open("rb") as other:  # takes the number of the lock
        scratch.remove()

        assert os.fstat(other.fileno())


def test_next_start_sweeps_what_a_killed_process_left_and_keeps_what_a_living_one_uses(temp: Path) -> None:
    living, kept, _ = hold()
    dead, left, _ = hold()
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    try:
        assert scratches(temp) == {kept, left}
        with open_scratch() as ours:
            assert scratches(temp) == {kept, ours.path}
        assert (kept / "rows").read_text() == "canary"
    finally:
        living.communicate()


def test_scratch_of_a_killed_process_is_kept_while_its_jvm_lives(temp: Path) -> None:
    dead, left, child = hold("child")
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    with open_scratch():
        assert left in scratches(temp)
    os.kill(child, signal.SIGKILL)
    while left in scratches(temp):  # the kernel lets go of the lock when the process is gone
        with open_scratch():
            pass

    assert scratches(temp) == set()


def test_sweep_follows_no_link_and_takes_no_folder_that_it_did_not_make(temp: Path) -> None:
    home = temp / "home"
    home.mkdir(0o700)
    (home / "precious").touch()
    (temp / f"{PREFIX}link").symlink_to(home)
    (temp / f"{PREFIX}open").mkdir(0o755)
    (temp / f"{PREFIX}file").touch()
    if os.geteuid() == 0:
        (temp / f"{PREFIX}others").mkdir(0o700)
        os.chown(temp / f"{PREFIX}others", 65534, 65534)
    before = scratches(temp)

    with open_scratch():
        pass

    assert scratches(temp) == before
    assert (home / "precious").exists()


def test_temporary_folder_that_takes_no_folder_is_a_named_error(temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(temp / "none"))

    with pytest.raises(UsageError, match="no scratch folder") as refused:
        make_scratch()

    assert "TMPDIR" in refused.value.fix


def read_as_java(text: str) -> dict[str, str]:
    lines = (line.partition("=") for line in text.splitlines())
    return {key.encode().decode("unicode_escape"): _joined(value) for key, _, value in lines}


def _joined(value: str) -> str:
    return value.encode().decode("unicode_escape").encode("utf-16", "surrogatepass").decode("utf-16")


@given(st.dictionaries(st.from_regex(r"spark\.[a-z.]{1,9}", fullmatch=True), st.text(), max_size=4))
def test_settings_come_out_of_a_properties_file_as_they_went_in(settings: dict[str, str]) -> None:
    text = write_properties(settings)

    assert text.isascii()
    assert len(text.splitlines()) == len(settings)
    assert read_as_java(text) == settings


@pytest.mark.parametrize(("name", "mode"), [("a,b", 0o700), ("shared", 0o777)])
def test_temporary_folder_in_which_rows_would_not_be_hidden_is_refused(
    temp: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: int
) -> None:
    (temp / name).mkdir()
    (temp / name).chmod(mode)
    monkeypatch.setattr("tempfile.tempdir", str(temp / name))

    with pytest.raises(UsageError, match=r"comma|in the place of ours"):
        make_scratch()
    assert scratches(temp / name) == set()


def test_temporary_folder_of_all_with_the_sticky_bit_is_taken(temp: Path) -> None:
    temp.chmod(0o1777)

    with open_scratch() as scratch:
        assert scratch.path.parent == temp
