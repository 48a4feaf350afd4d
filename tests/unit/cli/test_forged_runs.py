"""Who can write the reports folder and has no key makes nobody believe a run, by no command and no way to lose the log."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hudi_reconcile.app.commands import read_plans
from hudi_reconcile.app.host import HostClock, find_actor, hides_user
from hudi_reconcile.app.rules import read_newest_comparison
from hudi_reconcile.app.store import open_store, plan_document
from hudi_reconcile.cli.main import run
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan.plan import parse
from hudi_reconcile.core.sweep import coverage
from hudi_reconcile.core.sweep.coverage import Coverage, Stretch
from hudi_reconcile.core.sweep.segments import RangeSegments
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.audit_log import AuditKey, AuditKeyError
from hudi_reconcile.evidence.files import EvidenceError, hash_file
from hudi_reconcile.evidence.history import find_known_columns, find_newest_comparison, list_past_coverage
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.trust import UntrustedError, list_approvals
from tests.unit.cli.test_evidence_commands import STORED, write_findings
from tests.unit.core.test_plan import PLAN
from tests.unit.report.stories import all_stories

KEY = "canary-0123456789abcdef"
CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
audit: AUDIT
tables:
  - {name: orders, source: {table: a}, lake: {path: a}, policy: POLICY}
"""
SEALED = "{key: '${env:AUDIT_KEY}'}"
MINUTE = 60_000_000
COVERED = Coverage("s", RangeSegments("id", 0, 10, 4), None, (Stretch(0, 2, 5, "run"),))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUDIT_KEY", KEY)
    configure(tmp_path)
    return tmp_path


def configure(folder: Path, audit_: str = SEALED, policy: str = "{}") -> None:
    (folder / "reconcile.yaml").write_text(CONFIG.replace("AUDIT", audit_).replace("POLICY", policy))


def store_in(folder: Path) -> Store:
    return open_store(load_config(folder / "reconcile.yaml", {}), os.environ)


def now_micros() -> int:
    return HostClock().utc_micros()


def sweep(store: Store, minutes_ago: int, *, by: str = "svc") -> str:
    """A sweep with findings, a plan and coverage, as a sweep leaves them."""
    story = all_stories()["drift"]
    at = now_micros() - minutes_ago * MINUTE
    with store.begin(at) as building:
        write_findings(building.findings_dir("orders"), STORED)
        parts = building.findings_dir("orders")
        files = {f"findings/{path.name}": hash_file(path) for path in parts.iterdir()}
        plan = replace(PLAN, run_id=building.run_id, created_micros=at, upserts=6, deletes=3, files=files)
        building.write_plan("orders", plan_document(plan))
        building.write_coverage("orders", coverage.build_coverage_document("orders", COVERED))
        who = {"by": by, "login": f"{by}@batch", "uid": "77@batch"}
        building.write_result({**story.run, "run_id": building.run_id, "provenance": who})
        building.finish()
    return building.run_id


@pytest.fixture
def swept(folder: Path) -> tuple[str, str]:
    """Two sweeps, both sealed; the newer one's plan is what the attacker wants another one of."""
    store = store_in(folder)
    return sweep(store, 20), sweep(store, 10)


def forge(folder: Path, run_id: str) -> None:
    """A plan without what has to hold at apply, by the tool's own code: its id is right."""
    path = folder / "reports" / run_id / "orders" / "plan.json"
    plan = parse(json.loads(path.read_text()))
    path.write_text(json.dumps(plan_document(replace(plan, requirements=(), guards=())), indent=2))


def lines_of(folder: Path) -> list[bytes]:
    return (folder / "reports" / "audit.jsonl").read_bytes().splitlines(keepends=True)


def write_log(folder: Path, lines: list[bytes]) -> None:
    (folder / "reports" / "audit.jsonl").write_bytes(b"".join(lines))


def chained(records: list[dict[str, Any]]) -> list[bytes]:
    """A log as anybody can write it: every hash is right, and nothing is sealed."""
    previous, lines = "0" * 64, []
    for seq, one in enumerate(records, start=1):
        record = {name: value for name, value in one.items() if name not in ("mac", "key_id")}
        record |= {"seq": seq, "previous": previous}
        previous = audit_log.record_hash(record)
        lines.append(audit_log.write_canonical({**record, "hash": previous}) + b"\n")
    return lines


def with_forged_files(folder: Path) -> list[dict[str, Any]]:
    """The records with the hashes that the files have now."""
    records = [json.loads(line) for line in lines_of(folder)]
    for one in records:
        one["files"] = {name: hash_file(folder / "reports" / one["run_id"] / name) for name in one["files"]}
    return records


def cut_last(folder: Path) -> None:
    write_log(folder, lines_of(folder)[:-1])


def delete(folder: Path) -> None:
    (folder / "reports" / "audit.jsonl").unlink()


def empty(folder: Path) -> None:
    write_log(folder, [])


def write_anew(folder: Path) -> None:
    write_log(folder, chained(with_forged_files(folder)))


def write_anew_under_the_last_seal(folder: Path) -> None:
    """All anew and unsealed; the next honest run then seals what it finds."""
    write_anew(folder)
    with store_in(folder).begin(now_micros()) as building:
        building.write_result({**all_stories()["pulled"].run, "run_id": building.run_id})
        building.finish()


def add_unsealed(folder: Path) -> None:
    old = lines_of(folder)
    forged = {**with_forged_files(folder)[-1], "seq": len(old), "previous": json.loads(old[-2])["hash"]}
    for name in ("mac", "key_id", "hash"):
        forged.pop(name)
    write_log(folder, [*old[:-1], audit_log.write_canonical({**forged, "hash": audit_log.record_hash(forged)}) + b"\n"])


def name_a_key_of_ones_own(folder: Path) -> None:
    """A seal under a key id that nobody has: it cannot be told from a wrong one."""
    old = lines_of(folder)
    forged = {**with_forged_files(folder)[-1], "key_id": "0123456789abcdef", "mac": "ab" * 32}
    forged.pop("hash")
    write_log(folder, [*old[:-1], audit_log.write_canonical({**forged, "hash": audit_log.record_hash(forged)}) + b"\n"])


def say_seal_with_letters_of_no_hash(folder: Path) -> None:
    old = lines_of(folder)
    forged = {**with_forged_files(folder)[-1], "mac": "\u00e9\ud800"}
    forged.pop("hash")
    write_log(folder, [*old[:-1], audit_log.write_canonical({**forged, "hash": audit_log.record_hash(forged)}) + b"\n"])


WAYS = [
    cut_last,
    delete,
    empty,
    write_anew,
    write_anew_under_the_last_seal,
    add_unsealed,
    name_a_key_of_ones_own,
    say_seal_with_letters_of_no_hash,
]
COMMANDS = [
    ["plan", "RUN"],
    ["approve", "RUN", "--as", "alice"],
    ["apply", "RUN", "--yes"],
    ["undo", "RUN", "--yes"],
    ["findings", "RUN"],
    ["report", "RUN", "-o", "x.html"],
    ["report", "RUN", "--mail", "-o", "x.html"],
    ["diff", "OLD", "RUN"],
    ["diff", "RUN", "OLD"],
    ["plan", "latest"],
]


@pytest.mark.parametrize("lose", WAYS)
def test_run_without_a_line_that_the_key_made_is_refused_by_every_command(
    folder: Path, swept: tuple[str, str], lose: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = swept
    forge(folder, new)
    lose(folder)
    log = (folder / "reports" / "audit.jsonl").read_bytes() if lose != delete else None

    for command in COMMANDS:
        assert (command, run([{"RUN": new, "OLD": old}.get(word, word) for word in command])) == (command, 5)
        said = capsys.readouterr()
        assert "audit verify" in said.err
        assert "Traceback" not in said.err
        assert said.out == ""
    assert not (folder / "x.html").exists()
    assert log is None or (folder / "reports" / "audit.jsonl").read_bytes() == log  # nothing began a new chain on it

    assert run(["history"]) == 0
    listed = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "unreadable" in listed[new]
    assert "drift (" not in listed[new]


@pytest.mark.parametrize("lose", WAYS)
def test_later_runs_go_on_from_nothing_that_the_key_does_not_prove(
    folder: Path, swept: tuple[str, str], lose: Callable[[Path], None]
) -> None:
    forge(folder, swept[1])
    lose(folder)
    store = store_in(folder)
    table = load_config(folder / "reconcile.yaml", {}).table("orders")

    assert all(one.run_id != swept[1] for found in list_past_coverage(store, "orders") for one in found.stretches)
    assert find_known_columns(store, "orders").changes == ()
    with pytest.raises(UntrustedError):
        find_newest_comparison(store, "orders")
    compared = read_newest_comparison(store, table, "")
    assert compared is not None
    assert "cannot be trusted" in compared.gap or "changed since" in compared.gap
    if lose == name_a_key_of_ones_own:  # a line on top of it would have to be sealed with the key that it names
        with pytest.raises(AuditKeyError, match="the last line"):
            store.begin(now_micros())
        return
    with store.begin(now_micros()) as building:  # and nothing else stops one
        building.abandon()


def test_runs_that_the_key_proves_are_shown_beside_those_that_it_does_not(
    folder: Path, swept: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    cut_last(folder)

    assert run(["plan", swept[0]]) == 0
    assert run(["findings", swept[0]]) == 0
    assert run(["audit", "verify"]) == 1
    assert f"run {swept[1]}: no line of the log names this run" in capsys.readouterr().out


def test_folder_that_was_copied_is_shown_with_the_log_of_where_it_came_from_and_refused_without(
    folder: Path, swept: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = folder / "elsewhere"
    shutil.copytree(folder / "reports" / swept[0], elsewhere / "reports" / swept[0])
    shutil.copy(folder / "reconcile.yaml", elsewhere)
    config = ["-c", "elsewhere/reconcile.yaml"]

    assert run([*config, "plan", swept[0]]) == 5
    assert "needs the audit.jsonl of where it came from" in capsys.readouterr().err
    shutil.copy(folder / "reports" / "audit.jsonl", elsewhere / "reports")
    assert run([*config, "plan", swept[0]]) == 0


def test_runs_from_before_the_key_count_once_the_config_names_the_head_of_then(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, "{}")
    before = sweep(store_in(folder), 30)
    head = audit_log.read_tail(folder / "reports" / "audit.jsonl").head
    configure(folder)
    after = sweep(store_in(folder), 10)

    assert (run(["plan", before]), run(["plan", after])) == (5, 0)
    assert "audit.unsealed_head" in capsys.readouterr().err
    assert run(["audit", "verify"]) == 0
    assert f"1 line is not sealed: audit.unsealed_head: {head}" in capsys.readouterr().out
    configure(folder, f"{{key: '${{env:AUDIT_KEY}}', unsealed_head: {head}}}")
    assert (run(["plan", before]), run(["plan", after]), run(["audit", "verify"])) == (0, 0, 0)
    assert "not sealed" not in capsys.readouterr().out

    forge(folder, before)
    write_log(folder, [*chained(with_forged_files(folder)[:1]), *lines_of(folder)[1:]])
    assert (run(["plan", before]), run(["plan", after]), run(["audit", "verify"])) == (5, 0, 1)
    assert "the head that audit.unsealed_head names is not in the log" in capsys.readouterr().out


def test_log_that_ends_with_the_head_that_the_config_names_is_whole_and_its_approvals_count(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, "{}")
    day = 24 * 60
    sweep(store_in(folder), 400 * day)
    sweep(store_in(folder), 10)
    assert run(["approve", "latest", "--as", "alice"]) == 0
    head = audit_log.read_tail(folder / "reports" / "audit.jsonl").head
    configure(folder, f"{{key: '${{env:AUDIT_KEY}}', unsealed_head: {head}}}")

    store = store_in(folder)
    assert [one.by for one in list_approvals(store.reports, store.keys)] == ["alice"]
    assert (run(["audit", "verify"]), run(["audit", "purge", "--older-than", "100d"])) == (0, 0)
    assert "not sealed" not in capsys.readouterr().out


def test_log_without_a_key_whose_end_was_cut_proves_no_run_after_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, "{}")
    old, new = (sweep(store_in(folder), minutes) for minutes in (20, 10))
    forge(folder, new)
    cut_last(folder)

    assert [run([command, new]) for command in ("plan", "findings", "report")] == [5, 5, 5]
    assert "its end was cut off" in capsys.readouterr().err
    assert run(["plan", old]) == 0

    delete(folder)
    assert (run(["plan", old]), run(["apply", new, "--yes"])) == (5, 5)
    assert "other runs are there, and no audit log" in capsys.readouterr().err
    shutil.rmtree(folder / "reports" / new)
    assert run(["plan", old]) == 0  # a folder by itself, such as one that was copied


@pytest.mark.parametrize("text", [b"", b"{", b"no json", b"[" * 100_000, b'{"version": 1}', b"\xff\xfe"])
def test_plan_that_is_no_plan_any_more_or_is_gone_is_refused(
    folder: Path, swept: tuple[str, str], text: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "reports" / swept[1] / "orders" / "plan.json"
    path.write_bytes(text)
    assert [run([command, swept[1], *more]) for command, *more in (["plan"], ["apply", "--yes"])] == [5, 5]
    path.unlink()
    assert run(["plan", swept[1]]) == 5
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["evil", "evil.parquet", "k=1/evil", "_SUCCESS"])
def test_file_beside_the_findings_that_the_plan_was_made_of_is_refused(
    folder: Path, swept: tuple[str, str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = folder / "reports" / swept[1] / "orders" / "findings"
    (findings / name).parent.mkdir(exist_ok=True)
    shutil.copy(findings / "part-00000.parquet", findings / name)

    assert [run(words) for words in (["apply", swept[1], "--yes"], ["approve", swept[1], "--as", "alice"])] == [5, 5]
    assert capsys.readouterr().err.count("findings") >= 2
    with pytest.raises(RefusedError):
        read_plans(load_config(folder / "reconcile.yaml", {}), swept[1], ())


def other(store: Store, story: str, minutes_ago: int, **change: Any) -> str:
    """A run of another kind, as one of the stories tells it."""
    with store.begin(now_micros() - minutes_ago * MINUTE) as building:
        building.write_result({**all_stories()[story].run, "run_id": building.run_id, **change})
        building.finish()
    return building.run_id


@pytest.mark.parametrize("hide", [shutil.rmtree, lambda path: path.rename(path.with_name(f".tmp-{path.name}"))])
@pytest.mark.parametrize("sealed", [SEALED, "{}"])
def test_run_whose_folder_is_gone_is_missing_and_no_older_one_takes_its_place(
    folder: Path, hide: Callable[[Path], None], sealed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, sealed)
    table = load_config(folder / "reconcile.yaml", {}).table("orders")
    clean = other(store_in(folder), "clean", 30)
    drifted = sweep(store_in(folder), 10)
    hide(folder / "reports" / drifted)
    store = store_in(folder)

    with pytest.raises(UntrustedError, match=f"run {drifted} is missing"):
        find_newest_comparison(store, "orders")
    compared = read_newest_comparison(store, table, "")
    assert compared is not None
    assert f"run {drifted} is missing" in compared.gap  # the drift rule is an error, and passes on no older sweep
    for command in (
        ["plan", "latest"],
        ["approve", "latest", "--as", "a"],
        ["findings", drifted],
        ["report", "latest"],
    ):
        assert (command, run(command)) == (command, 5)
        said = capsys.readouterr().err
        assert f"run {drifted} is missing" in said
        assert "sweep" in said or "the next run" in said
    assert run(["history"]) == 0
    listed = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "folder is missing" in listed[drifted]
    assert "clean" in listed[clean]

    again = sweep(store_in(folder), 1)
    assert run(["plan", "latest"]) == 0  # a newer run takes its place
    found = find_newest_comparison(store_in(folder), "orders")
    assert found is not None
    assert found.run_id == again


def test_run_that_is_missing_stands_in_the_way_of_no_command_that_it_was_not_for(folder: Path) -> None:
    sweep(store_in(folder), 20)
    shutil.rmtree(folder / "reports" / other(store_in(folder), "corrected", 10, command="apply"))

    assert run(["plan", "latest"]) == 0


def test_coverage_of_before_a_run_that_is_missing_does_not_count(folder: Path) -> None:
    sweep(store_in(folder), 30)
    gone = other(store_in(folder), "pulled", 20)
    assert list_past_coverage(store_in(folder), "orders") == (COVERED,)

    shutil.rmtree(folder / "reports" / gone)  # it may have made the table anew

    assert list_past_coverage(store_in(folder), "orders") == ()


def test_runs_that_were_purged_are_not_missing_also_where_the_log_got_its_key_later(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, "{}")
    day = 24 * 60
    for days in (400, 390):
        sweep(store_in(folder), days * day)
    assert run(["audit", "purge", "--older-than", "395d", "--yes"]) == 0
    configure(folder)
    after = sweep(store_in(folder), 10)
    assert run(["audit", "purge", "--older-than", "100d", "--yes"]) == 0

    assert store_in(folder).run_ids() == [after]
    assert (run(["plan", "latest"]), run(["audit", "verify"])) == (0, 0)
    assert "missing" not in capsys.readouterr().out


@pytest.mark.parametrize("at", [0, 1, 2])
def test_purge_that_somebody_without_the_key_wrote_hides_no_run(folder: Path, swept: tuple[str, str], at: int) -> None:
    lines = lines_of(folder)
    gone = [{"run_id": swept[1], "hash": json.loads(lines[1])["hash"]}]
    (forged,) = chained([{"command": "purge", "run_id": None, "tables": [], "purged": gone}])
    write_log(folder, [*lines[:at], forged, *lines[at:]])
    shutil.rmtree(folder / "reports" / swept[1])

    assert swept[1] in store_in(folder).run_ids()
    with pytest.raises(UntrustedError):
        find_newest_comparison(store_in(folder), "orders")


def test_link_to_a_folder_beside_the_findings_is_refused(folder: Path, swept: tuple[str, str]) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "reports" / swept[1] / "orders" / "findings" / "k=1").symlink_to(folder / "elsewhere")

    assert [run([command, swept[1]]) for command in ("findings", "report")] == [3, 3]


def test_link_that_leads_nowhere_in_the_folder_of_a_purged_run_goes_with_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    purge = ["audit", "purge", "--older-than", "100d", "--yes"]
    old = sweep(store_in(folder), 60 * 24 * 400)
    sweep(store_in(folder), 10)
    assert run(purge) == 0
    (folder / "reports" / old).mkdir()
    (folder / "reports" / old / "x").symlink_to("/nonexistent")

    assert run(purge) == 0
    assert not (folder / "reports" / old).exists()
    assert "Traceback" not in capsys.readouterr().err


def test_key_that_was_replaced_seals_nothing_after_the_new_one_and_approves_nothing(
    folder: Path, swept: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEW_KEY", "new-0123456789abcdef")
    configure(folder, "{key: '${env:NEW_KEY}', old_keys: ['${env:AUDIT_KEY}']}", "{require_approval: true}")
    assert (run(["plan", swept[0]]), run(["audit", "verify"])) == (0, 0)  # lines of before the change count
    store = store_in(folder)
    with pytest.raises(RefusedError, match="under a key that was replaced"):
        list(list_approvals(store.reports, store.keys))
    _, newer = sweep(store_in(folder), 5), sweep(store_in(folder), 4)
    assert (run(["plan", newer]), run(["plan", swept[0]]), run(["audit", "verify"])) == (0, 0, 0)
    assert list(list_approvals(store.reports, store.keys)) == []

    forge(folder, newer)
    leaked = AuditKey(KEY.encode())
    forged = {name: value for name, value in with_forged_files(folder)[-1].items() if name not in ("mac", "hash")}
    forged["key_id"] = leaked.key_id
    forged["mac"] = leaked.mac(audit_log.write_sealed_text(forged))
    write_log(
        folder,
        [*lines_of(folder)[:-1], audit_log.write_canonical({**forged, "hash": audit_log.record_hash(forged)}) + b"\n"],
    )
    capsys.readouterr()
    assert (run(["plan", newer]), run(["audit", "verify"])) == (5, 1)
    assert "forged with the old key" in capsys.readouterr().out
    with pytest.raises(RefusedError, match="not as it was written"):
        list(list_approvals(store.reports, store.keys))


def test_blank_line_that_an_editor_left_is_to_be_removed_and_costs_no_run(folder: Path, swept: tuple[str, str]) -> None:
    lines = lines_of(folder)
    write_log(folder, [*lines, b"\n"])
    with pytest.raises(EvidenceError) as refused:
        store_in(folder).begin(now_micros())
    assert "remove what was added" in refused.value.fix

    write_log(folder, lines)
    sweep(store_in(folder), 1)

    assert run(["plan", swept[1]]) == 0


@pytest.mark.parametrize(("ahead", "code"), [(4, 0), (6, 5), (60 * 24 * 300, 5)])
def test_plan_of_the_future_is_not_approved(
    folder: Path, ahead: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, policy="{require_approval: true}")
    run_id = sweep(store_in(folder), -ahead)

    assert run(["approve", run_id, "--as", "alice"]) == code
    assert ("minutes from now" in capsys.readouterr().err) == (code == 5)


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, str], None]:
    """Be another user to the kernel and the user database."""

    def become(uid: int, name: str) -> None:
        monkeypatch.setattr("os.geteuid", lambda: uid)
        monkeypatch.setattr("pwd.getpwuid", lambda _: SimpleNamespace(pw_name=name))

    return become


def approve_as(name: str) -> int:
    return run(["approve", "latest", "--as", name])


@pytest.mark.skipif(hides_user(), reason="the tests themselves run in a user namespace")
@pytest.mark.parametrize("variable", ["LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"])
def test_other_login_is_the_users_id_and_no_variable_makes_it_another(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    as_user: Callable[[int, str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure(folder, policy="{require_approval: true, approver: other_login}")
    as_user(1000, "alice")
    me = find_actor({})
    with store_in(folder).begin(now_micros() - MINUTE) as building:
        story = all_stories()["drift"]
        write_findings(building.findings_dir("orders"), STORED)
        files = {f"findings/{path.name}": hash_file(path) for path in building.findings_dir("orders").iterdir()}
        plan = replace(PLAN, run_id=building.run_id, created_micros=now_micros(), files=files)
        building.write_plan("orders", plan_document(plan))
        who = {"by": me.name, "login": me.login, "uid": me.uid}
        building.write_result({**story.run, "run_id": building.run_id, "provenance": who})
        building.finish()
    monkeypatch.setenv(variable, "bob")

    assert approve_as("bob") == 5
    assert "and bob (alice@" in capsys.readouterr().err
    as_user(1000, "bob")  # another entry of the same id
    assert approve_as("bob") == 5
    as_user(1001, "bob")
    assert approve_as("bob") == 0
    (said,) = [json.loads(line)["tables"][0].get("approval") for line in lines_of(folder)][1:]
    assert (said["by"], said["login"].split("@")[0], said["uid"].split("@")[0]) == ("bob", "bob", "1001")


def test_user_without_an_entry_is_named_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("pwd.getpwuid", missing)

    assert find_actor({"HUDI_RECONCILE_AS": "night", "LOGNAME": "x"}).login.startswith("uid1000@")
