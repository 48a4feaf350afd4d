"""Findings come back complete, filtered and in batches; what is missing on disk is an error."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.findings import choose_kinds, read_findings, sample_findings, sample_quotas

COUNTS = {"deleted": 6000, "late_arriving": 1, "pending": 3}


def write_part(path: Path, kinds: list[str], *, start: int = 0) -> None:
    lines = [json.dumps({"kind": kind, "key": {"id": start + n}}) for n, kind in enumerate(kinds)]
    rows = {"segment": [1] * len(kinds), "kind": kinds, "action": ["delete"] * len(kinds), "line": lines, "x": kinds}
    pq.write_table(pa.table(rows), path, row_group_size=1000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_part(tmp_path / "part-1.parquet", ["deleted"] * 3000 + ["pending"] * 3)
    write_part(tmp_path / "part-0.parquet", ["deleted"] * 3000 + ["late_arriving"], start=5000)
    (tmp_path / "_SUCCESS").touch()
    return tmp_path


def test_findings_without_kinds_are_all_drift_and_no_more(folder: Path) -> None:
    found = list(read_findings(folder, COUNTS, kinds=choose_kinds([])))

    assert Counter(one.kind for one in found) == {"deleted": 6000, "late_arriving": 1}
    assert len({one.line for one in found}) == 6001


def test_findings_of_a_kind_that_is_no_drift_are_listed_when_named(folder: Path) -> None:
    found = list(read_findings(folder, COUNTS, kinds=choose_kinds(["pending"])))

    assert [one.kind for one in found] == ["pending"] * 3
    assert json.loads(found[0].line) == {"kind": "pending", "key": {"id": 3000}}


def test_unknown_kind_is_refused_with_the_legal_ones() -> None:
    with pytest.raises(UsageError) as refused:
        choose_kinds(["delete"])

    assert all(kind in refused.value.fix for kind in (*DRIFT_KINDS, "pending", "settled", "moving"))


@pytest.mark.parametrize("change", [{"deleted": 6001}, {"deleted": 5999}, {"regressed": 1}])
def test_findings_that_do_not_add_up_to_the_result_are_an_error(folder: Path, change: dict[str, int]) -> None:
    with pytest.raises(EvidenceError, match="not complete"):
        list(read_findings(folder, COUNTS | change, kinds=choose_kinds([])))


def test_findings_of_a_clean_table_need_no_folder(tmp_path: Path) -> None:
    assert list(read_findings(tmp_path / "none", {"deleted": 0}, kinds=choose_kinds([]))) == []


def test_findings_in_a_damaged_file_are_a_named_error(folder: Path) -> None:
    (folder / "part-1.parquet").write_bytes(b"PAR1 nothing PAR1")

    with pytest.raises(EvidenceError, match=r"part-1\.parquet"):
        list(read_findings(folder, COUNTS, kinds=choose_kinds([])))


def test_findings_in_a_file_without_the_columns_are_a_named_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"kind": ["deleted"]}), tmp_path / "part-0.parquet")

    with pytest.raises(EvidenceError, match=r"part-0\.parquet"):
        list(read_findings(tmp_path, {"deleted": 1}, kinds=choose_kinds([])))


def test_sample_holds_each_kind_in_the_order_of_the_kinds(folder: Path) -> None:
    sample = sample_findings(folder, COUNTS, limit=4)

    assert [one.kind for one in sample] == ["late_arriving", "deleted", "deleted", "deleted"]


@given(st.dictionaries(st.sampled_from(DRIFT_KINDS), st.integers(0, 40)), st.integers(0, 30))
def test_sample_quotas_fill_the_limit_and_leave_no_kind_out(counts: dict[str, int], limit: int) -> None:
    quotas = sample_quotas(counts, limit)
    present = {kind for kind, rows in counts.items() if rows}

    assert sum(quotas.values()) == min(limit, sum(counts.values()))
    assert all(quotas[kind] <= counts[kind] for kind in quotas)
    assert limit < len(present) or {kind for kind, quota in quotas.items() if quota} == present
