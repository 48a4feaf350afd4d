"""The report in `reports/sample` is one that the present code reads and renders, and tells nothing of where it was made."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest

from hudi_reconcile.app.archive import RunArchive
from hudi_reconcile.app.host import find_actor
from hudi_reconcile.evidence.files import hash_file
from tests.support.canaries import artefacts_below
from tests.support.docs import ROOT
from tests.support.sample import BY, LOGIN, PLACE, TABLE, UID, archive_of, neutral, page_of

SAMPLE = ROOT / "reports" / "sample"
MOST_BYTES = 600_000
# Folders of people and machines, addresses with a port, and names at a host. What may stand there is in the sample's own words.
_TRACE = re.compile(
    r"/(?:tmp|home|root|Users|var|private|work|opt|mnt|usr|srv)/[\w./-]*"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}\b|\blocalhost\b|\w[\w.-]*@[\w.-]+"
)
_OWN = (PLACE, LOGIN, UID)


def traces(text: str, *, is_raw: bool = False) -> set[str]:
    """What tells of the machine that wrote the text, and of this one. Raw bytes may look like an address by chance."""
    found = {one for one in _TRACE.findall("" if is_raw else text) if not one.startswith(_OWN)}
    who = find_actor(os.environ)
    here = (who.login, who.uid, str(ROOT), str(Path.home()) + "/", tempfile.gettempdir() + "/")
    return found | {one for one in here if one in text}


@pytest.fixture
def archive(tmp_path: Path) -> RunArchive:
    return archive_of(SAMPLE, tmp_path)


def test_page_of_the_sample_is_the_one_that_its_files_give() -> None:
    assert page_of(SAMPLE) == (SAMPLE / "report.html").read_bytes(), "make sample-page"


def test_sample_is_a_run_with_drift_that_the_present_reader_takes(archive: RunArchive) -> None:
    (past,) = archive.history(())

    assert (past.command, past.outcome, past.why) == ("run", "drift", "")
    assert {kind: rows for kind, rows in past.tables[0].findings.items() if rows} == {
        "late_arriving": 1, "updated_without_watermark": 5, "deleted": 3
    }  # fmt: skip
    assert len(list(archive.findings("latest", tables=(), kinds=()).lines)) == 9


def test_plan_of_the_sample_is_whole_and_binds_its_findings(archive: RunArchive) -> None:
    planned = archive.plans("latest", tables=())
    (plan,) = planned.plans

    assert plan["plan_id"] == planned.run["tables"][0]["plan_id"]
    assert plan["files"]
    assert {name: hash_file(SAMPLE / TABLE / name) for name in plan["files"]} == plan["files"]


def test_sample_judges_the_rules_that_the_suite_has_now(archive: RunArchive) -> None:
    rules = archive.plans("latest", tables=()).run["tables"][0]["rules"]
    suite = (ROOT / "rules" / "orders.yaml").read_text("utf-8")

    assert [rule["id"] for rule in rules] == re.findall(r"id: ([\w-]+)", suite)
    assert {rule["status"] for rule in rules} == {"pass", "fail"}


def test_sample_is_small_and_tells_nothing_of_a_machine() -> None:
    artefacts = dict(artefacts_below(SAMPLE))

    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) <= MOST_BYTES
    told = {name: traces(text, is_raw=name.endswith(".parquet")) for name, text in artefacts.items()}
    assert {name: found for name, found in told.items() if found} == {}
    assert BY in artefacts["sample/result.json"]


@pytest.mark.parametrize(
    "trace", [str(ROOT), "/tmp/shop-1/lake", "/home/jo/x", "127.0.0.1:5432", "jo@build-7", find_actor(os.environ).uid]
)
def test_trace_of_a_machine_is_seen_and_goes_where_it_is_named(trace: str) -> None:
    text = f'{{"path": "{trace}/orders"}}'

    assert traces(text) != set()
    assert traces(neutral(text, {trace: PLACE})) == set()
