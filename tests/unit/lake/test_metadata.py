"""The checkpoint on the timeline: read back as written, or refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.tables.values import Checkpoint
from hudi_reconcile.lake.timeline import commit_metadata, format_checkpoint, parse_checkpoint

CHECKPOINT = Checkpoint("timestamp", ("updated_at",), 17, "2026-01-01", 4, "sys:1/oid:2")
MICROS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))


@given(
    st.builds(
        Checkpoint,
        st.text(),
        st.lists(st.text()).map(tuple),
        MICROS,
        st.one_of(st.none(), st.text()),
        st.integers(0, 2**63 - 1),
        st.text(),
        *[st.none() | st.text()] * 3,
        *[st.lists(st.text()).map(tuple)] * 2,
        *[st.none() | st.text()] * 2,
        MICROS,
        st.none() | st.text(),
    )
)
def test_checkpoint_is_read_back_as_it_was_written(checkpoint: Checkpoint) -> None:
    assert parse_checkpoint(format_checkpoint(checkpoint)) == checkpoint


def test_checkpoint_of_an_earlier_version_is_still_read_and_a_plain_one_still_written_so() -> None:
    text = (
        '{"read_seq":4,"source_identity":"sys:1/oid:2","strategy":"timestamp","text":"2026-01-01","version":1,'
        '"watermark":["updated_at"],"watermark_micros":17}'
    )

    assert parse_checkpoint(text) == CHECKPOINT
    assert format_checkpoint(CHECKPOINT) == text


def document(**changes: Any) -> str:
    found = json.loads(format_checkpoint(CHECKPOINT)) | changes
    return json.dumps({key: value for key, value in found.items() if value != "remove"})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no JSON"),
        ("[1]", "no JSON object"),
        (document(version=2), "version 2"),
        (document(version="remove"), "version None"),
        (document(read_seq="remove"), "keys"),
        (document(surplus=1), "surplus"),
        (document(as_of_micros="1"), "as_of_micros is no integer"),
        (document(timeline=1), "timeline is no text"),
        (document(read_seq="4"), "read_seq"),
        (document(read_seq=True), "read_seq"),
        (document(watermark_micros=1.5), "watermark_micros"),
        (document(watermark="updated_at"), "watermark"),
        (document(strategy=None), "strategy"),
        (document(incrementing_value=7), "incrementing_value is no text"),
        (document(columns="note"), "columns is no list of names"),
        (document(dropped=[7]), "dropped is no list of names"),
    ],
)
def test_checkpoint_of_another_shape_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(LakeError, match=named):
        parse_checkpoint(text)


def test_commit_carries_labels_under_our_prefix_and_refuses_those_it_sets_itself() -> None:
    assert commit_metadata(CHECKPOINT, {"plan": "p"}) == {
        "_hr.plan": "p",
        "_hr.checkpoint": format_checkpoint(CHECKPOINT),
    }
    for label in ("checkpoint", "commit"):
        with pytest.raises(LakeError, match=f"_hr.{label}"):
            commit_metadata(CHECKPOINT, {label: "x"})
