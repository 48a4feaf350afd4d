"""Two runs' findings: each is gained, lost or kept, and once."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.sweep.drift import compare_findings

FINDINGS = st.dictionaries(
    st.tuples(st.sampled_from(["deleted", "regressed"]), st.integers(0, 20) | st.sampled_from(["0", "1", "é"])),
    st.integers(0, 3),
)


def lines(found: dict[tuple[str, int | str], int], *, reverse: bool = False) -> list[tuple[str, str]]:
    listed = []
    for (kind, key), value in found.items():
        parts = {"a": key, "b": None}
        shown = dict(reversed(parts.items())) if reverse else parts
        listed.append((kind, json.dumps({"kind": kind, "key": shown, "source": value}, ensure_ascii=reverse)))
    return listed


@given(FINDINGS, FINDINGS)
def test_findings_are_gained_kept_or_lost_by_kind_and_key_whatever_their_values(
    before: dict[tuple[str, int | str], int], after: dict[tuple[str, int | str], int]
) -> None:
    earlier, later = lines(before, reverse=True), lines(after)

    found = list(compare_findings(lambda: earlier, later))

    told = {change: [one.line for one in found if one.change == change] for change in ("gained", "kept", "lost")}
    assert told == {
        "gained": [line for (line, key) in zip((one for _, one in later), after, strict=True) if key not in before],
        "kept": [line for (line, key) in zip((one for _, one in later), after, strict=True) if key in before],
        "lost": [line for (line, key) in zip((one for _, one in earlier), before, strict=True) if key not in after],
    }
