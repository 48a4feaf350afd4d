"""What a corrective commit tells of the keys it was made for: how many it wrote, and what became of the others. Pure.

The commit is all that a killed apply leaves, so the counts are in it. They are known before: a commit is made whole or not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.json_text import json_of

WRITTEN = "written"  # by this commit, or by one before it of the same plan and part
LEFT = "left"  # for the second of two commits


def counts_text(counts: Mapping[str, int]) -> str:
    """Canonical JSON, without what is none.

    >>> counts_text({"written": 2, "moved": 1, "held": 0})
    '{"moved":1,"written":2}'
    """
    return json.dumps({name: rows for name, rows in counts.items() if rows}, sort_keys=True, separators=(",", ":"))


def parse_counts(text: str) -> Mapping[str, int]:
    """The counts that `counts_text` wrote. Raises LakeError for any other text."""
    try:
        found = json_of(text)
    except ValueError as error:
        raise _unreadable() from error
    if not isinstance(found, dict) or not all(type(rows) is int and rows >= 0 for rows in found.values()):
        raise _unreadable()
    return found


def _unreadable() -> LakeError:
    return LakeError(
        "the counts of a corrective commit cannot be read",
        fix="run the version of hudi-reconcile that wrote them, or sweep again",
    )
