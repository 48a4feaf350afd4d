from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan.plan import Plan, Requirement, parse
from hudi_reconcile.core.plan.steps import build_plan_document, list_steps
from hudi_reconcile.core.result_parts import Guard

PLAN = Plan(
    run_id="r1",
    table="orders",
    created_micros=1_700_000_000_000_000,
    lake_path="/lake/orders",
    lake_instant="20260101000000000",
    source_identity="postgresql:1/2/public.orders",
    source_snapshot="10:10:",
    key=("id",),
    columns=("id", "note"),
    segmentation={"kind": "range", "column": "id", "start": 0, "width": 10, "count": 3},
    by_kind={"deleted": 2, "late_arriving": 1},
    upserts=1,
    deletes=2,
    guards=(Guard("max_deletes", 10, 2, ok=True, fix="x"),),
    requirements=(Requirement("lake_path", "/lake/orders"),),
    files={"findings/part-0.parquet": "ab" * 32},
)
OTHER: dict[str, Any] = {
    "run_id": "r2",
    "table": "order",
    "created_micros": 1_700_000_000_000_001,
    "lake_path": "/lake/orders2",
    "lake_instant": "20260101000000001",
    "source_identity": "postgresql:1/3/public.orders",
    "source_snapshot": "10:11:",
    "key": ("id", "note"),
    "columns": ("note", "id"),
    "segmentation": {"kind": "range", "column": "id", "start": 0, "width": 10, "count": 4},
    "by_kind": {"deleted": 1, "late_arriving": 2},
    "upserts": 2,
    "deletes": 3,
    "guards": (Guard("max_deletes", 10, 2, ok=False, fix="x"),),
    "requirements": (Requirement("lake_path", "/lake/orders2"),),
    "files": {"findings/part-0.parquet": "ac" * 32},
}


def written(plan: Plan = PLAN) -> dict[str, Any]:
    text = json.dumps(build_plan_document(plan, created_utc="2023-11-14T22:13:20Z", expires_utc="2023-11-15T22:13:20Z"))
    found: dict[str, Any] = json.loads(text)
    return found


def test_plan_file_reads_back_as_the_same_plan() -> None:
    assert parse(written()) == PLAN


def test_plan_file_names_its_version_id_and_steps() -> None:
    found = written()

    assert (found["version"], found["plan_id"]) == (1, PLAN.plan_id)
    assert [step["step"] for step in found["steps"]] == [step.step for step in list_steps(PLAN)]


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Plan)])
def test_plan_id_changes_with_every_field(field: str) -> None:
    assert dataclasses.replace(PLAN, **{field: OTHER[field]}).plan_id != PLAN.plan_id


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("upserts",), 2),
        (("deletes",), 1),
        (("lake", "path"), "/lake/order"),
        (("source", "identity"), "x"),
        (("guards", 0, "limit"), 1000),
        (("guards", 0, "ok"), False),
        (("files", "findings/part-0.parquet"), "00"),
        (("segmentation", "count"), 4),
        (("plan_id",), "0" * 64),
    ],
)
def test_plan_edited_by_hand_is_refused(path: tuple[str | int, ...], value: object) -> None:
    found = written()
    place: Any = found
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value

    with pytest.raises(RefusedError, match="was changed"):
        parse(found)


@pytest.mark.parametrize("lost", ["run_id", "lake", "guards", "files", "plan_id"])
def test_plan_that_lost_a_field_is_refused(lost: str) -> None:
    found = written()
    del found[lost]

    with pytest.raises(RefusedError, match="was changed"):
        parse(found)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_plan_of_another_version_is_refused(version: object) -> None:
    with pytest.raises(RefusedError, match="version"):
        parse({**written(), "version": version})


@pytest.mark.parametrize(
    ("field", "value"),
    [("lake", None), ("lake", "x"), ("guards", [1]), ("guards", 3), ("key", None), ("segmentation", 5), ("files", [1])],
)
def test_plan_with_a_field_of_another_type_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(RefusedError):
        parse({**written(), field: value})


def test_plan_expires_24_hours_after_it_was_made() -> None:
    assert PLAN.expires_micros - PLAN.created_micros == 24 * 3600 * 1_000_000


def test_explanation_counts_what_the_plan_counts() -> None:
    texts = {step.step.value: step.text for step in list_steps(PLAN)}

    assert "3 keys" in texts["recheck"]
    assert "upsert 1 rows, delete 2 rows" in texts["commit"]
