"""Who makes a user namespace shows a process another user id than their files get: under other_login neither is taken for two."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudi_reconcile.app.approvals import check_duties
from hudi_reconcile.app.host import HostClock, find_actor, hides_user
from hudi_reconcile.app.store import plan_document
from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.cli.main import run
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.approvals import HiddenUserError
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Approved
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.files import hash_file
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.trust import list_approvals, list_misowned
from tests.unit.core.test_plan import PLAN

UNSHARE = ["unshare", "--user"]
BOB = 4242  # a user id that nobody here has
CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
tables:
  - {name: orders, source: {table: a}, lake: {path: a}, policy: {require_approval: true, approver: APPROVER}}
"""
FORBIDDEN = ("Operation not permitted", "No space left on device", "Invalid argument")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for approver in ("other_login", "other"):
        (tmp_path / f"{approver}.yaml").write_text(CONFIG.replace("APPROVER", approver))
    return tmp_path


@pytest.fixture
def plan(folder: Path) -> Plan:
    """A plan that a sweep of our own left."""
    return swept(folder, find_actor({}).uid)


@pytest.fixture
def namespace() -> None:
    """A kernel that lets users make namespaces."""
    made = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    if made.returncode and any(why in made.stderr for why in FORBIDDEN):
        pytest.skip(f"the kernel forbids user namespaces here: {made.stderr.strip()}")
    assert made.returncode == 0, made.stderr


@pytest.fixture
def host() -> None:
    """No namespace of our own: in a rootless container all of it is refused."""
    if hides_user():
        pytest.skip("the tests themselves run in a user namespace")


def swept(folder: Path, uid: str) -> Plan:
    now = HostClock().utc_micros()
    with Store(folder / "reports").begin(now) as building:
        part = building.findings_dir("orders") / "part-0.parquet"
        part.parent.mkdir()
        part.write_bytes(b"rows")
        files = {"findings/part-0.parquet": hash_file(part)}
        plan = replace(PLAN, run_id=building.run_id, created_micros=now, files=files)
        building.write_plan("orders", plan_document(plan))
        said = {"by": "alice", "login": "alice@desk", "uid": uid}
        done = (TableResult("orders", Outcome.DRIFT, plan_id=plan.plan_id),)
        building.write_result(run_document(RunResult(building.run_id, "sweep", "s", "e", done, said)))
        building.finish()
    return plan


def approve(folder: Path) -> Approved:
    """Bob's word, from this process, by a config that asks for a name alone."""
    assert run(["-c", str(folder / "other.yaml"), "approve", "latest", "--as", "bob"]) == 0
    return list(list_approvals(folder / "reports"))[-1]


def approve_hidden(folder: Path, config: str, shown: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hudi_reconcile", "-c", config, "approve", "latest", "--as", "bob"]
    return hidden(command, shown, folder)


def hidden(command: list[str], shown: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command in a user namespace that shows it an id."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    return subprocess.run(
        [*UNSHARE, shown, *command], capture_output=True, text=True, check=False, cwd=cwd, timeout=120, env=env
    )


def permit(folder: Path, plan: Plan) -> dict[str, str]:
    """What an apply of this plan makes of the words that were given."""
    config = load_config(folder / "other_login.yaml", {})
    building = cast("Any", SimpleNamespace(run_id="this-run"))
    return dict(
        check_duties(
            TableRun(config.tables[0], cast("Any", None), building, Store(config.reports), cast("Any", None)), plan
        )
    )


@pytest.mark.parametrize("shown", [f"--map-user={BOB}", "--map-current-user"])
@pytest.mark.usefixtures("namespace")
def test_approval_in_a_user_namespace_is_refused_by_name(folder: Path, plan: Plan, shown: str) -> None:
    done = approve_hidden(folder, "other_login.yaml", shown)

    assert (done.returncode, "a user namespace hides who" in done.stderr) == (5, True), done.stderr
    assert Store(folder / "reports").run_ids() == [plan.run_id]


@pytest.mark.usefixtures("namespace", "host")
def test_word_under_an_id_that_its_file_does_not_belong_to_does_not_count(folder: Path, plan: Plan) -> None:
    done = approve_hidden(folder, "other.yaml", f"--map-user={BOB}")  # a config of one's own asks less
    (word,) = list_approvals(folder / "reports")

    assert (done.returncode, word.uid.split("@")[0]) == (0, str(BOB))
    with pytest.raises(
        RefusedError, match=r"was approved by bob \(\S+\), whose files belong to another user id"
    ) as refused:
        permit(folder, plan)
    assert [(guard.name, guard.ok) for guard in refused.value.guards] == [("approval", False)]
    if os.geteuid() == 0:  # only root can make it what it says
        os.chown(folder / "reports" / Store(folder / "reports").run_ids()[0] / "result.json", BOB, -1)
        assert permit(folder, plan)["approved_by"].startswith("bob (")


@pytest.mark.usefixtures("plan")
def test_word_whose_file_is_gone_another_or_a_link_belongs_to_nobody(folder: Path) -> None:
    reports, word = folder / "reports", approve(folder)
    own = reports / Store(reports).run_ids()[0] / "result.json"
    assert list_misowned(reports) == frozenset()

    kept = own.read_bytes()
    own.write_bytes(kept + b" ")
    assert list_misowned(reports) == {word}
    own.unlink()
    assert list_misowned(reports) == {word}
    (folder / "elsewhere").write_bytes(kept)
    own.symlink_to(folder / "elsewhere")
    assert list_misowned(reports) == {word}


@pytest.mark.usefixtures("plan")
def test_word_that_stands_in_the_log_alone_belongs_to_nobody(folder: Path) -> None:
    """The log names an old run of bob's, whose file is his own and says nothing of this plan."""
    reports = folder / "reports"
    with Store(reports).begin(HostClock().utc_micros()) as building:
        done = (TableResult("orders", Outcome.APPROVED),)
        building.write_result(run_document(RunResult(building.run_id, "doctor", "s", "e", done)))
        building.finish()
    word = approve(folder)
    old, given = [json.loads(line) for line in (reports / "audit.jsonl").read_text().splitlines()][1:]
    (reports / "audit.jsonl").unlink()
    old["command"] = "approve"
    audit_log.append(reports / "audit.jsonl", {**old, "tables": given["tables"]})

    assert list(list_approvals(reports)) == [word]
    assert list_misowned(reports) == {word}


@pytest.mark.usefixtures("host")
def test_plan_whose_sweep_says_another_id_than_its_file_belongs_to_is_refused(folder: Path) -> None:
    plan = swept(folder, f"{BOB}@machine")
    approve(folder)

    with pytest.raises(RefusedError, match="does not say truly who made it") as refused:
        permit(folder, plan)
    assert refused.value.fix.startswith("sweep again")


@pytest.mark.usefixtures("namespace")
def test_apply_in_a_user_namespace_is_refused_by_name(folder: Path, plan: Plan) -> None:
    code = (
        "from pathlib import Path; from tests.unit.app import test_user_namespace as t; from hudi_reconcile.core.plan.plan "
        f"import parse; import json; t.permit(Path('{folder}'), parse(json.loads(Path('{folder}/reports/{plan.run_id}/orders"
        "/plan.json').read_text())))"
    )
    done = hidden([sys.executable, "-c", code], f"--map-user={BOB}", Path(__file__).resolve().parents[3])

    assert HiddenUserError.__name__ in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("text", "hidden"),
    [("         0          0 4294967295\n", False), ("0 0 1\n", True), ("1000 1000 1\n", True), ("", True),
     ("0 100000 65536\n", True), ("0 0 1000\n1000 1000 4294966295\n", True)],
)  # fmt: skip
def test_only_the_whole_map_of_a_host_hides_nobody(tmp_path: Path, text: str, *, hidden: bool) -> None:
    (tmp_path / "uid_map").write_text(text)

    assert hides_user(tmp_path / "uid_map") is hidden
    assert hides_user(tmp_path / "missing") is (sys.platform == "linux")
