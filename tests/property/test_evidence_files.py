"""Evidence that somebody damaged, in any byte or any field: each command names it, and none takes it for something else.

One process, whole command lines. A mutant that is accepted must be shown as the original is.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_reconcile.cli.main import run
from tests.support import fuzzed
from tests.unit.cli.test_forged_runs import SEALED, configure, store_in, sweep

EXAMPLES = settings().max_examples // 12
LEGAL = {0, 1, 2, 3, 5}
HUGE = 10**60
ODD: list[Any] = [
    None, True, -1, 0, HUGE, 2**63, 0.5, 1e308, "", "x", "\u202e\x1b[2J", "NaN", "9" * 6_000, "../../etc",
    [], {}, [[]], {"a": 1}, [None],
]  # fmt: skip


@dataclass(frozen=True, repr=False)
class Case:
    """A project with two sweeps, the newer approved; `outputs` is what each command says of it as it is."""

    folder: Path
    old: str
    new: str
    approval: str
    commands: tuple[tuple[str, ...], ...]
    outputs: dict[tuple[str, ...], tuple[int, str]]

    def __repr__(self) -> str:
        return self.folder.name

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002, FBT001 - as Hypothesis calls it
        printer.text(repr(self))


def call(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(words))
    return code, out.getvalue(), err.getvalue()


def made(folder: Path, audit: str) -> Case:
    configure(folder, audit, "{require_approval: true}")
    old, new = sweep(store_in(folder), 20), sweep(store_in(folder), 10)
    assert call("approve", new, "--as", "alice")[0] == 0
    approval = max(path.name for path in (folder / "reports").iterdir() if path.is_dir())
    commands: tuple[tuple[str, ...], ...] = (
        ("plan", new, "--format", "json"),
        ("findings", new, "--format", "csv"),
        ("history", "--format", "json"),
        ("history", "-t", "orders"),
        ("diff", old, new, "--format", "json"),
        ("report", new, "--mail", "-o", "page.html", "--format", "json"),
        ("report", new, "-o", "page.html", "--format", "json"),
        ("report", "latest", "--index", "-o", "page.html", "--format", "json"),
    )
    outputs = {words: shown(words)[:2] for words in commands}
    assert {code for code, _ in outputs.values()} == {0}
    return Case(folder, old, new, approval, commands, outputs)


def shown(words: tuple[str, ...]) -> tuple[int, str, str]:
    code, out, err = call(*words)
    page = Path("page.html")
    text = out + (page.read_text("utf-8") if page.exists() else "")
    page.unlink(missing_ok=True)
    return code, text, err


@pytest.fixture(scope="module")
def cases() -> Iterator[dict[str, Case]]:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUDIT_KEY", "canary-0123456789abcdef")
        found = {}
        for kind, audit in (("unkeyed", "{}"), ("keyed", SEALED)):
            (Path(name) / kind).mkdir()
            patch.chdir(Path(name) / kind)
            found[kind] = made(Path(name) / kind, audit)
        yield found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def mutated_json(document: Any, rng: Random) -> Any:
    """One place of a document replaced, removed, doubled or renamed."""
    *above, last = rng.choice([path for path in places(document) if path])
    copy = json.loads(json.dumps(document))
    within = copy
    for key in above:
        within = within[key]
    how = rng.choice(["replace", "remove", "double"])
    if how == "replace":
        within[last] = rng.choice(ODD)
    elif how == "remove":
        del within[last]
    elif isinstance(within, list):
        within.append(within[last])
    else:
        within[f"{last}2"] = within.pop(last)
    return copy


def mutated_bytes(original: bytes, rng: Random) -> bytes:
    place = rng.randint(0, len(original))
    end = min(len(original), place + rng.randint(0, 40))
    odd = [b"", b"\0", b"\xff\xfe", b"[" * 3_000, b'"', b"}", b"\n", b"\\ud800", b"9" * 5_000, b"NaN", original[:end]]
    new = rng.choice([*odd, rng.randbytes(rng.randint(0, 4))])
    return original[:place] + new + original[end:]


def dumped(document: Any) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def mutant_of(path: Path, rng: Random) -> bytes:
    original = path.read_bytes()
    if rng.random() < 0.5:
        return mutated_bytes(original, rng)
    if path.suffix != ".jsonl":
        return dumped(mutated_json(json.loads(original), rng))
    lines = original.splitlines(keepends=True)
    number = rng.randrange(len(lines))
    how = rng.choice(["field", "remove", "double", "move", "cut"])
    if how == "field":
        record = mutated_json(json.loads(lines[number]), rng)
        lines[number] = json.dumps(record, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    elif how == "remove":
        del lines[number]
    elif how == "double":
        lines.insert(number, lines[number])
    elif how == "move":
        lines.append(lines.pop(number))
    else:
        lines = lines[:number]
    return b"".join(lines)


@contextlib.contextmanager
def in_place_of(path: Path, mutant: bytes, *, log: bool) -> Iterator[None]:
    """The mutant where the file is; without the log the run's folder is by itself. All is as it was afterwards."""
    os.chdir(
        path.parents[3]
        if path.name in ("plan.json", "coverage.json")
        else path.parents[1 if path.suffix == ".jsonl" else 2]
    )
    kept = Path.cwd() / "kept"
    shutil.copytree("reports", kept, symlinks=True)
    try:
        path.write_bytes(mutant)
        if not log:
            Path("reports/audit.jsonl").unlink()
        yield
    finally:
        shutil.rmtree("reports")
        kept.rename("reports")


SUBJECTS: dict[str, Callable[[Case], str]] = {
    "plan.json": lambda case: f"{case.new}/orders/plan.json",
    "coverage.json": lambda case: f"{case.new}/orders/coverage.json",
    "result.json": lambda case: f"{case.new}/result.json",
    "approval": lambda case: f"{case.approval}/result.json",
    "audit.jsonl": lambda _: "audit.jsonl",
}


def told_apart(said: tuple[int, str], was: tuple[int, str], words: tuple[str, ...]) -> bool:
    """True where a command took a mutant for what the original is not."""
    code, text = said
    if code != 0 or said == was:
        return False
    if words[0] == "plan":  # approvals may count for less, never for more
        now, before = json.loads(text), json.loads(was[1])
        given = now["approvals"]["orders"]["given"]
        return now["plans"] != before["plans"] or given not in (None, [], before["approvals"]["orders"]["given"])
    if words[0] == "report" and re.search("earlier runs? (is|are) left out", text):
        return False  # the trend of a run that is believed says which others are not
    # These list what is not to be believed beside the rest.
    return (words[0] != "history" and "--index" not in words) or "audit verify" not in text


@pytest.mark.parametrize("kind", ["unkeyed", "keyed"])
@pytest.mark.parametrize("subject", SUBJECTS)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_damaged_evidence_beside_its_log_is_named_or_shown_as_it_was(
    cases: dict[str, Case], kind: str, subject: str, seed: int
) -> None:
    # The documents differ from run to run, with their ids and times: a seed means the same all the same.
    case, rng = cases[kind], Random(seed)  # noqa: S311 - no secret
    path = case.folder / "reports" / SUBJECTS[subject](case)
    original, mutant = path.read_bytes(), mutant_of(path, rng)
    chosen = {case.commands[0], *rng.choices(case.commands, k=2)}
    with in_place_of(path, mutant, log=True):
        for words in chosen:
            code, text, err = shown(words)
            assert (code in LEGAL, "Traceback" in err, "unexpected" in err) == (True, False, False), err
            assert not told_apart((code, text), case.outputs[words], words), (words, text)
            if subject == "plan.json" and words[0] == "plan" and mutant != original:
                assert code == 5
        code, out, err = call("audit", "verify")
        fuzzed.count(f"evidence: {subject}", f"exit {code}")
        assert (code, "Traceback" in err) in ((0, False), (1, False), (3, False)), err
        assert (code == 0) == (mutant == original), out


@pytest.mark.parametrize("subject", [one for one in SUBJECTS if one != "audit.jsonl"])
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_damaged_evidence_of_a_folder_by_itself_is_named_and_ends_in_no_traceback(
    cases: dict[str, Case], subject: str, seed: int
) -> None:
    case, rng = cases["unkeyed"], Random(seed)  # noqa: S311 - no secret
    path = case.folder / "reports" / SUBJECTS[subject](case)
    mutant = mutant_of(path, rng)
    chosen = {case.commands[0], *rng.choices(case.commands, k=3)}
    with in_place_of(path, mutant, log=False):
        for words in sorted(chosen, key=lambda one: one[0] == "plan"):
            if words[0] == "plan":
                for other in (case.old, case.approval):
                    shutil.rmtree(Path("reports") / other, ignore_errors=True)
            code, text, err = shown(words)
            assert (code in LEGAL, "Traceback" in err, "unexpected" in err) == (True, False, False), err
            fuzzed.count(f"evidence without its log: {subject}", f"exit {code}")
            if subject == "plan.json" and words[0] == "plan" and code == 0:
                assert json.loads(text)["plans"] == json.loads(case.outputs[words][1])["plans"]
