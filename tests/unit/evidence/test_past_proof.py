"""Which content proof a sweep may stand on: the newest, as the audit log has it, or none at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.sweep.coverage import Coverage, Stretch
from hudi_reconcile.core.sweep.proof import ContentProof, ProvenSegment, Standing, build_proof_document
from hudi_reconcile.core.sweep.segments import RangeSegments, SegmentSet
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.audit_log import KeyRing, audit_key
from hudi_reconcile.evidence.files import hash_tree
from hudi_reconcile.evidence.history import find_past_proof
from hudi_reconcile.evidence.run_folder import write_proof
from hudi_reconcile.evidence.store import Store
from tests.unit.evidence.conftest import NOON_MICROS, SECOND

PROOF = ContentProof(
    Standing({"server": "1"}, 7),
    Coverage("s", RangeSegments("id", 0, 10, 4), None, (Stretch(0, 5, 5, "run"),)),
    SegmentSet((2,)),
    {1: ProvenSegment(3, 4, -5, 6)},
)
KEY = KeyRing(audit_key("0123456789abcdef-canary", "test"))


def write(store: Store, number: int, proof: ContentProof | None = PROOF, *, name: str = "orders", of: str = "") -> str:
    with store.begin(NOON_MICROS + number * SECOND) as folder:
        if proof is not None:
            write_proof(folder, name, build_proof_document(name, replace(proof, run_id=of or folder.run_id)))
        tables = (TableResult(name, Outcome.CLEAN),)
        folder.write_result(run_document(RunResult(folder.run_id, "sweep", "s", "e", tables)))
        folder.finish()
    return folder.run_id


def proof_path(store: Store, run_id: str) -> Path:
    return store.reports / run_id / "orders" / "proof.json"


def edit(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "open": []}))


def test_newest_proof_is_found_behind_runs_that_left_none_and_of_that_table_alone(store: Store) -> None:
    write(store, 1)
    newer = write(store, 2)
    write(store, 3, None)
    write(store, 4, name="items")

    assert find_past_proof(store, "orders") == (replace(PROOF, run_id=newer), "")
    assert find_past_proof(store, "carts") == (None, "")


@pytest.mark.parametrize(
    "damage",
    [
        edit,
        lambda path: path.unlink(),
        lambda path: path.write_text("{"),
        lambda path: shutil.rmtree(path.parent.parent),
    ],
)
def test_proof_that_is_not_what_the_log_has_of_it_is_none_and_no_older_one_takes_its_place(
    store: Store, damage: Callable[[Path], object]
) -> None:
    write(store, 1)
    run_id = write(store, 2)
    damage(proof_path(store, run_id))

    found, why = find_past_proof(store, "orders")

    assert found is None
    assert why.startswith(f"the content proof of run {run_id} is not believed: ")


def test_proof_that_is_put_into_a_run_or_of_another_run_is_not_believed(store: Store) -> None:
    good = write(store, 1)
    bare = write(store, 2, None)
    proof_path(store, bare).parent.mkdir(exist_ok=True)
    shutil.copy(proof_path(store, good), proof_path(store, bare))
    assert find_past_proof(store, "orders")[0] is None

    shutil.rmtree(proof_path(store, bare).parent)
    write(store, 3, of=good)
    assert find_past_proof(store, "orders")[0] is None


def test_folder_that_was_copied_by_itself_proves_nothing(store: Store, tmp_path: Path) -> None:
    run_id = write(store, 1)
    shutil.copytree(store.reports / run_id, tmp_path / "other" / run_id)

    found, why = find_past_proof(Store(tmp_path / "other"), "orders")

    assert (found, "no line of the audit log" in why) == (None, True)


def test_with_a_key_only_a_proof_of_a_sealed_line_counts(tmp_path: Path) -> None:
    sealed = Store(tmp_path / "reports", KEY)
    good = write(sealed, 1)
    assert find_past_proof(sealed, "orders")[0] is not None

    # Who has no key edits the proof, and writes a line of the run with the new hash.
    edit(proof_path(sealed, good))
    files = hash_tree(sealed.reports / good)
    lines = [json.loads(line) for line in (sealed.reports / "audit.jsonl").read_text().splitlines()]
    (sealed.reports / "audit.jsonl").unlink()
    told = {name: value for name, value in lines[-1].items() if name not in ("hash", "mac", "previous", "sealed_by")}
    audit_log.append(sealed.reports / "audit.jsonl", {**told, "files": files})

    assert find_past_proof(sealed, "orders")[0] is None
