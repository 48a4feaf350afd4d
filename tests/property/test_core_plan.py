"""A plan reads back as it was written, and a changed byte of it is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan.plan import Plan, Requirement, parse
from hudi_reconcile.core.plan.steps import build_plan_document
from hudi_reconcile.core.result_parts import Guard

text = st.text(max_size=8)
counts = st.integers(0, 10**9)
guards = st.builds(Guard, text, st.one_of(counts, st.floats(0.01, 0.99)), counts, st.booleans(), text)
plans = st.builds(
    Plan,
    run_id=text, table=text, created_micros=counts, lake_path=text, lake_instant=text, source_identity=text,
    source_snapshot=text, key=st.tuples(text), columns=st.tuples(text, text),
    segmentation=st.dictionaries(text, counts, max_size=2), by_kind=st.dictionaries(text, counts, max_size=2),
    upserts=counts, deletes=counts, guards=st.tuples(guards), requirements=st.tuples(st.builds(Requirement, text, text)),
    files=st.dictionaries(text, text, max_size=2),
)  # fmt: skip


def written(plan: Plan) -> str:
    return json.dumps(build_plan_document(plan, created_utc="then", expires_utc="later"), ensure_ascii=True)


@settings(max_examples=40)
@given(plans)
def test_plan_reads_back_as_it_was_written(plan: Plan) -> None:
    assert parse(json.loads(written(plan))) == plan


@settings(max_examples=40)
@given(plans, plans)
def test_two_plans_share_an_id_only_where_they_are_equal(one: Plan, other: Plan) -> None:
    assert (one.plan_id == other.plan_id) == (one == other)


@settings(max_examples=40)
@given(plans, st.data())
def test_plan_with_a_flipped_byte_is_refused_or_says_the_same(plan: Plan, data: st.DataObject) -> None:
    original = written(plan)
    place = data.draw(st.integers(0, len(original) - 1))
    changed = original[:place] + chr(data.draw(st.integers(32, 126))) + original[place + 1 :]
    try:
        found = json.loads(changed)
    except ValueError:
        return
    if not isinstance(found, dict):
        return
    try:
        read = parse(found)
    except RefusedError:
        return
    assert read == plan


def test_flipped_digit_of_the_delete_count_is_refused() -> None:
    plan = Plan("r", "t", 0, "p", "i", "s", "x", ("k",), ("k",), {}, {}, 1, 2, (), (), {})

    with pytest.raises(RefusedError, match="was changed"):
        parse(json.loads(written(plan).replace('"deletes": 2', '"deletes": 3')))
